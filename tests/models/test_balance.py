"""Chains of operators as balanced trees."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.logic import Formula, equivalent
from possibleworlds.logic.alphabet import LETTERS, N_OPERATORS, decode, encode
from possibleworlds.models.trees.balance import MIN_CHAIN, balance
from possibleworlds.models.trees.forest import Forest
from tests.conftest import formulas


def balanced(rpn: str, restore: bool = False) -> str:
    return decode(np.array(balance(encode(rpn), restore), np.uint8))


@given(formulas(st.sampled_from("abcde"), full=False))
def test_a_balanced_formula_means_the_same(f: Formula) -> None:
    g = Formula(tuple(balanced("".join(f.rpn))))
    assert equivalent(f, g)
    if f.operators < MIN_CHAIN - 1:  # no chain is rewritten
        assert balanced("".join(g.rpn)) == "".join(g.rpn)
        symbols = [sorted("&" if s == ">" else s for s in formula.rpn) for formula in (f, g)]
        assert symbols[0] == symbols[1]  # but for a > (b > c), which is (a & b) > c
        variables = [[s for s in formula.rpn if s.isalpha()] for formula in (f, g)]
        assert variables[0] == variables[1]  # in their order


def random_rpn(rng: random.Random, operators: int, names: str) -> str:
    if not operators:
        return rng.choice(names)
    op, left = rng.choice("~&|>"), rng.randrange(operators)
    if op == "~":
        return random_rpn(rng, operators - 1, names) + op
    return random_rpn(rng, left, names) + random_rpn(rng, operators - 1 - left, names) + op


def test_long_formulas_mean_the_same() -> None:
    rng = random.Random(0)
    rewritten = 0
    for _ in range(400):
        rpn = random_rpn(rng, rng.randrange(10, 90), LETTERS[: rng.randint(2, 10)])
        other = balanced(rpn)
        rewritten += len(other) != len(rpn)
        assert equivalent(Formula(tuple(rpn)), Formula(tuple(other)))
        restored = balanced(rpn, restore=True)
        assert equivalent(Formula(tuple(rpn)), Formula(tuple(restored)))
        without = [text.replace("&~~", "&") for text in (other, restored)]
        assert without[0] == without[1]
    assert rewritten > 50


def test_only_long_chains_are_restored() -> None:
    assert balanced("abcdefg||||||", restore=True) == balanced("abcdefg||||||")
    chain = "a~b~&~~c~d~&~~&~~e~f~&~~g~h~&~~&~~&~~~"
    assert balanced("abcdefgh|||||||p>", restore=True) == chain + "p>"
    assert balanced("abcdefgh|||||||~q&", restore=True) == (
        "a~b~&~~c~&~~d~e~&~~&~~f~g~&~~h~q&~~&~~&~~"  # one chain with q
    )


def test_a_chain_is_the_same_in_every_notation() -> None:
    v = LETTERS[:9]
    by_and = "abc&&de&fg&&hi&&&"
    by_implication = v[0] + "".join(f"{x}~>~" for x in v[1:])  # ~(~(a > ~b) > ~c) ...
    by_or = v[0] + "~" + "".join(f"{x}~|" for x in v[1:]) + "~"  # ~(~a | ~b | ...)
    curried = "".join(v) + "~" + ">" * 8 + "~"  # ~(a > (b > ... > ~i))
    expected = balanced(by_and)
    assert expected == "ab&c&de&&fg&hi&&&"
    for rpn in (by_implication, by_or, curried):
        assert balanced(rpn) == expected


def test_equal_members_of_a_long_chain_are_kept_once() -> None:
    assert balanced("a" + "a&" * 20) == "a"
    assert balanced("ab>" + "ab>&" * 20 + "a|") == "ab>a|"
    assert balanced("a" + "a~|" * 20) == "a~a&~"
    assert balanced("aa&") == "aa&"  # short, as in the training data


def test_chains_to_either_side_become_as_low_as_can_be_and_take_little_time() -> None:
    n = 5_000
    rng = random.Random(0)
    members = ["".join(rng.sample(LETTERS, 4)) + "|>>" for _ in range(n)]  # a > (b > (c | d))
    left = members[0] + "".join(f"{m}&" for m in members[1:])
    right = "".join(members) + "&" * (n - 1)
    mixed = members[0] + "".join(f"{m}{rng.choice(['&', '~>~'])}" for m in members[1:])
    curried = "".join(members) + "a" + ">" * n
    rows = [encode(rpn) for rpn in (left, right, mixed, curried)]
    forest = Forest(np.concatenate(rows), np.cumsum([0, *map(len, rows)])).balanced
    roots = forest.offsets[1:] - 1
    assert max(forest.height[roots]) <= 13 + 4
    assert (forest.code >= N_OPERATORS).sum() >= 4 * 4 * 0.9 * n


def test_what_no_law_moves_stays() -> None:
    deep = "a" + "~" * 40 + "bc>d>e>&"
    assert balanced(deep) == deep
