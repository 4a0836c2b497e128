"""The kernel in C; `kernel/module.c` says what the functions do."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

ENGINES: tuple[str, ...]

def plan(
    code: Array,
    offsets: Array,
    formula: Array,
    variables: Array,
    domain_size: int,
    /,
) -> bytes: ...
def sizes(
    engine: int,
    plan: bytes,
    n: int,
    d: int,
    k: int,
    kept: bool,
    grad_scores: bool,
    grad_worlds: bool,
    grad_parameters: bool,
    /,
) -> tuple[int, int, int]: ...
def run(
    engine: int,
    plan: bytes,
    n: int,
    d: int,
    k: int,
    worlds: Array,
    w4: Array,
    w1: Array,
    b1: Array,
    wf: Array,
    units: Array | None,
    scratch: Array,
    scores: Array | None,
    grad_scores: Array | None,
    grad_worlds: Array | None,
    grad_parameters: Array | None,
    first_block: int,
    last_block: int,
    /,
) -> None: ...
def lstm(
    engine: int,
    d: int,
    sizes: Array,
    symbols: Array,
    table: Array,
    w: Array,
    gates: Array,
    cells: Array,
    hidden: Array,
    last: Array | None,
    scratch: Array,
    grad_last: Array | None,
    grad_table: Array | None,
    grad_w: Array | None,
    /,
) -> None: ...
def treelstm(
    engine: int,
    d: int,
    groups: Array,
    arguments: Array,
    w_not: Array,
    w_binary: Array,
    biases: Array,
    x: Array,
    gates: Array,
    hidden: Array,
    cells: Array,
    scratch: Array,
    grad_hidden: Array | None,
    grad_cells: Array | None,
    /,
) -> None: ...
def treenet(
    engine: int,
    d: int,
    groups: Array,
    arguments: Array,
    w13: Array,
    b13: Array,
    w2: Array,
    x: Array,
    hidden: Array,
    scales: Array,
    vectors: Array,
    scratch: Array,
    grad_vectors: Array | None,
    grad_w13: Array | None,
    grad_b13: Array | None,
    grad_w2: Array | None,
    /,
) -> None: ...
