from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.data.groups import SIDE, sample_groups
from possibleworlds.data.sample import random_words, sample_codes, spell, table_words, truth_words
from possibleworlds.logic import Formula, entails
from possibleworlds.logic.truth import evaluate_bits, table_columns


def sampled(seed: int, operators: list[int], variables: list[int]) -> list[str]:
    rng = np.random.default_rng(seed)
    codes = sample_codes(rng, np.array(operators), np.array(variables))
    names = ["abcdefghijklmnopqrstuvwxyz"[:count] for count in variables]
    return " ".join(spell(codes, names)).split()


@given(
    st.integers(0, 1000), st.lists(st.tuples(st.integers(0, 30), st.integers(1, 26)), min_size=1)
)
def test_formulas_have_the_operators_and_variables_asked_for(
    seed: int, sizes: list[tuple[int, int]]
) -> None:
    rpns = sampled(seed, [n for n, _ in sizes], [v for _, v in sizes])
    for rpn, (operators, variables) in zip(rpns, sizes, strict=True):
        formula = Formula(tuple(rpn))
        assert formula.operators == operators
        assert set(formula.variables) <= set("abcdefghijklmnopqrstuvwxyz"[:variables])


def test_operators_splits_and_leaves_are_uniform() -> None:
    count = 40_000
    formulas = [Formula(tuple(rpn)) for rpn in sampled(0, [5] * count, [3] * count)]
    roots = Counter(formula.root for formula in formulas)
    assert all(abs(roots[op] / count - 1 / 4) < 0.01 for op in "~&|>")
    left_sizes = Counter(f.children[0].operators for f in formulas if f.root == "&")
    assert all(abs(left_sizes[n] / roots["&"] - 1 / 5) < 0.02 for n in range(5))
    assert {f.children[0].operators for f in formulas if f.root == "~"} == {4}
    leaves = Counter(s for f in formulas for s in f.rpn if s in "abc")
    assert all(abs(leaves[v] / leaves.total() - 1 / 3) < 0.01 for v in "abc")


@given(st.integers(0, 1000), st.integers(1, 9), st.integers(0, 15))
def test_words_hold_the_truth_table(seed: int, variables: int, operators: int) -> None:
    rng = np.random.default_rng(seed)
    codes = sample_codes(rng, np.full(3, operators), np.full(3, variables))
    names = "abcdefghi"[:variables]
    rpns = spell(codes, [names])[0].split()
    rows = 1 << max(6, variables)
    columns = dict(zip(names, table_columns(max(6, variables)), strict=False))
    for rpn, words in zip(rpns, truth_words(codes, table_words(max(6, variables))), strict=True):
        bits = int.from_bytes(words.astype("<u8").tobytes(), "little")
        assert bits == evaluate_bits(rpn, columns, (1 << rows) - 1)


def test_random_words_differ_between_variables() -> None:
    words = random_words(np.random.default_rng(0), 26, 16)
    assert words.shape == (26, 16)
    assert len(np.unique(words)) == 26 * 16


@pytest.mark.parametrize("variables", [(1, 3), (6, 10), (9, 13), (20, 26)])
def test_what_a_group_says_of_entailment_is_true(variables: tuple[int, int]) -> None:
    for group in sample_groups(np.random.default_rng(0), 1, variables, (1, 12)):
        lefts = [Formula(tuple(group.left(i))) for i in range(SIDE)]
        rights = [Formula(tuple(group.right(j))) for j in range(SIDE)]
        for i in range(0, SIDE, 7):
            for j in range(SIDE):
                assert group.entails(i, j) == entails(lefts[i], rights[j], "minisat22")
        for i in range(SIDE):
            assert group.contradictions[i] == entails(lefts[i], "⊥", "minisat22")
            assert group.tautologies[i] == entails("⊤", rights[i], "minisat22")
