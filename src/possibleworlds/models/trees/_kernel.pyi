"""The kernel in C; `kernel/module.c` says what the functions do."""

from typing_extensions import Buffer

ENGINES: tuple[str, ...]

def plan(
    code: Buffer,
    offsets: Buffer,
    formula: Buffer,
    variables: Buffer,
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
    of_scores: bool,
    of_worlds: bool,
    of_parameters: bool,
    /,
) -> tuple[int, int, int]: ...
def run(
    engine: int,
    plan: bytes,
    n: int,
    d: int,
    k: int,
    worlds: Buffer,
    w4: Buffer,
    w1: Buffer,
    b1: Buffer,
    wf: Buffer,
    units: Buffer | None,
    scratch: Buffer,
    scores: Buffer | None,
    of_scores: Buffer | None,
    of_worlds: Buffer | None,
    of_parameters: Buffer | None,
    first_block: int,
    last_block: int,
    /,
) -> None: ...
