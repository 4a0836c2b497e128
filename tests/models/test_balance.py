"""Runs of one operator as balanced trees."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.logic import Formula, equivalent
from possibleworlds.logic.alphabet import N_OPERATORS, decode, encode
from possibleworlds.models.trees.balance import balance
from possibleworlds.models.trees.forest import Forest
from tests.conftest import formulas


def balanced(formula: Formula) -> Formula:
    codes = balance(encode("".join(formula.rpn)))
    return Formula(tuple(decode(np.array(codes, np.uint8))))


@given(formulas(st.sampled_from("abcde"), full=False))
def test_a_balanced_formula_means_the_same_and_is_balanced_once_and_for_all(f: Formula) -> None:
    g = balanced(f)
    assert equivalent(f, g)
    assert balanced(g) == g
    symbols = [sorted("&" if s == ">" else s for s in formula.rpn) for formula in (f, g)]
    assert symbols[0] == symbols[1]  # but for a > (b > c), which is (a & b) > c
    variables = [[s for s in formula.rpn if s.isalpha()] for formula in (f, g)]
    assert variables[0] == variables[1]  # in their order


def test_chains_to_either_side_become_as_low_as_can_be_and_take_linear_time() -> None:
    n = 30_000
    left, right = "a" + "b&" * (n - 1), "a" * n + "&" * (n - 1)
    within = "ab>" + "cd|&" * (n - 1)
    implications = "a" * (n + 1) + ">" * n
    rows = [encode(rpn) for rpn in (left, right, within, implications)]
    forest = Forest(np.concatenate(rows), np.cumsum([0, *map(len, rows)])).balanced
    roots = forest.offsets[1:] - 1
    assert forest.height[roots].tolist() == [15, 15, 16, 16]
    assert (forest.code >= N_OPERATORS).sum() == 5 * n + 1


def test_what_no_law_moves_stays() -> None:
    deep = "a" + "~" * 40 + "bc>d>e>&"
    assert "".join(balanced(Formula(tuple(deep))).rpn) == deep
