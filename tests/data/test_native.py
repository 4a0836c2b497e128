"""The generator in C does just what numpy and Python do, and takes nothing that would hurt."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from possibleworlds.data import native
from possibleworlds.data.files import format_rows
from possibleworlds.data.fourtuples import matches
from possibleworlds.data.generation import ROWS_TOGETHER, Pruner, Split, generate_units
from possibleworlds.data.groups import SIDE, sample_groups
from possibleworlds.data.keys import row_keys
from possibleworlds.data.sample import PADDING, random_words, sample_codes, truth_words
from tests.conftest import DATA_FORMULAS
from tests.sanitize import run_with_sanitizers

kernel: Any = native.kernel
pytestmark = pytest.mark.skipif(not kernel, reason="the generator in C is not built here")
T = TypeVar("T")


def both(compute: Callable[[], T]) -> tuple[T, T]:
    """Compute something in C, and in numpy and Python."""
    in_c = compute()
    native.kernel = None
    try:
        return in_c, compute()
    finally:
        native.kernel = kernel


SIZES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 26)), min_size=1)


@given(st.integers(0, 1000), SIZES)
def test_formulas_and_their_truth_values_are_the_same(
    seed: int, sizes: list[tuple[int, int]]
) -> None:
    operators, variables = np.array(sizes).T

    def sample() -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        codes = sample_codes(rng, operators, variables)
        return codes, rng.random()

    (codes, then), (reference, then_too) = both(sample)
    assert codes.tolist() == reference.tolist()
    assert then == then_too, "as many random numbers are drawn"
    for n_words in (1, 3):
        columns = random_words(np.random.default_rng(1), 26, n_words)
        words, reference = both(partial(truth_words, codes, columns))
        assert words.tolist() == reference.tolist()


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([(1, 3), (1, 10), (9, 10)]), st.integers(1, 12))
def test_groups_are_matched_the_same(seed: int, variables: tuple[int, int], operators: int) -> None:
    for group in sample_groups(np.random.default_rng(seed), 3, variables, (0, operators)):
        in_c, reference = both(partial(matches, group))
        assert in_c == reference


ROWS = st.lists(st.tuples(DATA_FORMULAS, DATA_FORMULAS, st.integers(0, 1)), min_size=1)


@given(ROWS)
def test_lines_and_keys_are_the_same(rows: list[tuple[str, str, int]]) -> None:
    lines, reference = both(lambda: format_rows(rows))
    assert lines == reference
    keys, expected = both(lambda: row_keys((a, b) for a, b, _ in rows))
    assert keys == expected


@pytest.mark.parametrize(
    "split",
    [
        Split("train", 200, tilt=0.1),
        Split("train", 200, operators=(15, 20)),
        Split("train", 200, (1, 16), (11, 30), tilt=-0.2),
        Split("train", 200, (3, 6), exact_variables=True),
        Split("train", 200, method="naive"),
        Split("train", 40, (11, 14), (10, 15), "mutated"),
        Split("train", 40, (8, 8), method="sat"),
    ],
    ids=lambda split: f"{split.method}-{split.variables}-{split.operators}",
)
def test_the_bytes_of_a_split_are_the_same(split: Split) -> None:
    def generated() -> str:
        pruner = Pruner("formulas", [split])
        return "".join(generate_units(split, 5, pruner, 1, format_rows))

    in_c, reference = both(generated)
    assert in_c == reference
    assert in_c.count("\n") == split.rows
    assert split.rows % ROWS_TOGETHER[split.method] == 0


def test_deep_formulas_are_written() -> None:
    deep = "a" + "~" * 5000 + "b>" * 5000
    (line, keys), reference = both(lambda: (format_rows([(deep, "a", 0)]), row_keys([(deep, "a")])))
    assert (line, keys) == reference


def test_it_can_be_turned_off() -> None:
    program = "from possibleworlds.data import native; print(native.kernel)"
    environment = {**os.environ, "POSSIBLEWORLDS_NATIVE": "0"}
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, env=environment, text=True).strip() == "None"


def test_sizes_and_numbers_out_of_bounds_are_refused() -> None:
    codes, operators = np.zeros((5, 2), np.uint8), np.array([2, 1], np.int32)
    variables = np.array([3, 4], np.float32)

    def draw(n: int) -> Any:
        return np.full((2, n), 0.5, np.float32)

    kernel.sample(codes, operators, variables, draw)
    assert PADDING in codes
    for arguments in [
        (codes[1:], operators, variables, draw),
        (codes, operators[:1], variables, draw),
        (codes, operators[:0], variables[:0], draw),
        (codes, np.array([2, -1], np.int32), variables, draw),
        (codes, operators, np.array([3, 27], np.float32), draw),
        (codes, operators, np.array([3, 0], np.float32), draw),
        (codes, operators, variables, lambda n: draw(n + 1)),
        (codes, operators, variables, lambda n: draw(n) * 2),
        (codes, operators, variables, lambda n: draw(n) * np.float32(np.nan)),
    ]:
        with pytest.raises(ValueError, match=r"arrays of other sizes|random numbers"):
            kernel.sample(*arguments)
    with pytest.raises(ZeroDivisionError):
        kernel.sample(codes, operators, variables, lambda n: draw(n // 0))


@pytest.mark.parametrize("code", [[], [4, 4], [0], [4, 1], [1, 4, 4], [4, 4, 4, 1], [4, 31], [29]])
def test_what_is_no_formula_has_no_truth_values(code: list[int]) -> None:
    codes, words = np.array([[4] * len(code), code], np.uint8).T.copy(), np.zeros((2, 3), np.uint64)
    columns = random_words(np.random.default_rng(0), 25, 3)
    with pytest.raises(ValueError, match="not a formula"):
        kernel.truth(codes, columns, words, 3)


def test_arrays_of_other_sizes_are_refused() -> None:
    words = np.zeros((4, 3), np.uint64)
    for codes, columns, n in [
        (np.zeros(5, np.uint8), words, 3),
        (np.zeros(4, np.uint8), words.ravel()[1:], 3),
        (np.zeros(4, np.uint8), words, 5),
        (np.zeros(4, np.uint8), words, 0),
    ]:
        with pytest.raises(ValueError, match="arrays of other sizes"):
            kernel.truth(codes, columns, words, n)
    for side in (0, -1, 5, 1 << 40):
        with pytest.raises(ValueError, match="two sides"):
            kernel.match(words, side, 100)
    assert kernel.match(np.zeros((2 * SIDE, 0), np.uint64), SIDE, 100) == []


@pytest.mark.parametrize(
    "rpn", ["", "~", "ab", "a&", "&ab", "ab&&", "a=", "A", "1", "ä", "a\0", "ab=~"]
)
def test_what_is_no_formula_is_not_written(rpn: str) -> None:
    for rows in ((rpn, "a"), ("a", rpn)):
        with pytest.raises(ValueError, match="not a formula"):
            kernel.line(*rows, 1)
    with pytest.raises(TypeError):
        kernel.line("a", 1, 1)
    if not set(rpn) <= set("~&|>ab"):
        with pytest.raises(ValueError, match="not a formula"):
            kernel.keys("a", rpn)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sanitizers are preloaded the way of Linux")
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    source = Path(native.__file__).with_suffix(".c")
    run_with_sanitizers("possibleworlds.data._native", [source], Path(__file__), tmp_path)
