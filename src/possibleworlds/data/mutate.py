"""B* from B: the non-entailments of test (massive) and of test (exam)."""

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from possibleworlds.data.groups import Group
from possibleworlds.data.pairs import Pair
from possibleworlds.logic.alphabet import ARITY, NOT, OPERATORS
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula, spans
from possibleworlds.logic.truth import count_models

OF_A_GROUP = 3
"""Few, so that a formula that is in many entailments is not exhausted by its first."""
TRIES = 60
"""How many mutations of a formula are tried before its pair is dropped."""


def mutated_pairs(group: Group, rng: np.random.Generator) -> list[list[Pair]]:
    """Build (A, B, 1), (A, B*, 0), where B* is B with two sub-formulas exchanged.

    No A is a contradiction and no B a tautology, and B* has just as many models as B, so that
    neither formula alone gives the label away.
    """
    units: list[list[Pair]] = []
    used_left: set[int] = set()
    used_right: set[int] = set()
    for i, j in group.unrefuted():
        if i in used_left or j in used_right or group.trivial(i, j) or not group.entails(i, j):
            continue
        used_left.add(i)
        used_right.add(j)
        a, b = group.left(i), group.right(j)
        if mutant := refuted_exchange(a, b, rng):
            units.append([Pair(a, b, True), Pair(a, mutant, False)])
            if len(units) == OF_A_GROUP:
                break
    return units


def refuted_exchange(a: str, b: str, rng: np.random.Generator) -> str | None:
    """Exchange two sub-formulas of B so that A no longer entails it; None where no try succeeds."""
    premise, models = Formula(tuple(a)), count_models(Formula(tuple(b)))
    for mutant in islice(exchanges(rng, b), TRIES):
        conclusion = Formula(tuple(mutant))
        if not entails(premise, conclusion) and count_models(conclusion) == models:
            return mutant
    return None


def exchanges(rng: np.random.Generator, rpn: str) -> Iterator[str]:
    """Exchange two different, disjoint sub-formulas in every possible way, in random order."""
    slices = [(start, end + 1) for end, start in enumerate(spans(rpn))]
    separate = [(x, y) for x, y in combinations(slices, 2) if x[1] <= y[0]]
    for i in rng.permutation(len(separate)):
        (a, b), (c, d) = separate[i]
        if rpn[a:b] != rpn[c:d]:
            yield rpn[:a] + rpn[c:d] + rpn[b:c] + rpn[a:b] + rpn[d:]


def small_changes(rng: np.random.Generator, rpn: str, letters: str) -> Iterator[str]:
    """Change one operator or variable or move one negation in every way, in random order."""
    binary = [operator for operator in OPERATORS if ARITY[operator] == 2]
    changed: set[str] = set()
    for place, symbol in enumerate(rpn):
        before, after = rpn[:place], rpn[place + 1 :]
        if symbol == NOT:
            bare = before + after
            changed |= {bare[: i + 1] + NOT + bare[i + 1 :] for i in range(len(bare))}
        else:
            others = binary if symbol in binary else letters
            changed |= {before + other + after for other in others}
    changed.discard(rpn)
    ordered = sorted(changed)
    for i in rng.permutation(len(ordered)):
        yield ordered[i]
