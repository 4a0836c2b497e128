"""The local search beside which networks are measured finds countermodels, and nothing else."""

from random import Random

import pytest

import possibleworlds as pw
from benchmarks.walksat import clauses_of, walksat
from possibleworlds.data.pairs import Pair
from possibleworlds.logic import Formula

SETS = {
    "paper": pw.generate(200, seed=5),
    "hard": pw.generate(100, variables=(5, 10), operators=(15, 20), seed=5),
    "3-CNF": pw.generate(40, method="sat", variables=(12, 12), seed=5),
}


def value(formula: Formula, model: dict[str, bool]) -> bool:
    """Evaluate a formula by what its operators mean in Python."""
    stack: list[bool] = []
    for symbol in formula.rpn:
        if symbol == "~":
            stack.append(not stack.pop())
        elif symbol in "&|>":
            b, a = stack.pop(), stack.pop()
            stack.append({"&": a and b, "|": a or b, ">": b or not a}[symbol])
        else:
            stack.append(model[symbol])
    return stack[0]


@pytest.mark.parametrize("name", SETS)
def test_what_walksat_finds_is_a_countermodel(name: str) -> None:
    random, n_models = Random(0), 0
    for pair in SETS[name]:
        model = walksat(random, pair, 2_000)
        assert model is None or not pair.label
        if model is not None:
            n_models += 1
            assert value(pair.premise, model)
            assert not value(pair.conclusion, model)
    assert n_models > 0.45 * len(SETS[name])  # of the half that are not entailments


def test_cnf_keeps_its_clauses() -> None:
    pair = Pair("pq~|r|qr>&pr&~&", "p~q|", False)  # (p | ~q | r) & (q > r) & ~(p & r), ~p | q
    clauses, number = clauses_of(pair)
    p, q, r = (number[name] for name in "pqr")
    expected = [{p, -q, r}, {-q, r}, {-p, -r}, {p}, {-q}]
    assert sorted(map(sorted, clauses)) == sorted(map(sorted, expected))


def test_other_parts_get_a_variable_that_implies_them() -> None:
    clauses, number = clauses_of(Pair("pqr&|", "p", False))
    p, q, r, new = *(number[name] for name in "pqr"), 4
    expected = [{p, new}, {-new, q}, {-new, r}, {-p}]
    assert sorted(map(sorted, clauses)) == sorted(map(sorted, expected))
