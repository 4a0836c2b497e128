"""Mutate B to B*: the non-entailments of test (massive)."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import numpy as np

from possibleworlds.data.counting import count_along_tree
from possibleworlds.data.groups import Group
from possibleworlds.data.pairs import Pair
from possibleworlds.logic.formula import spans, variables_of
from possibleworlds.logic.truth import evaluate_bits

UNITS_PER_GROUP = 3
"""Few, so that a formula that is in many entailments is not exhausted by its first."""
TRIES = 60
"""How many mutations of a formula are tried before its pair is dropped."""
ROWS_COMPARED = 1 << 16
"""The rows of the truth table that are searched for a countermodel: a solver takes several times as
long, and would find one for hardly any more B*."""


def mutated_pairs(group: Group, rng: np.random.Generator, search_rows: int = 0) -> list[list[Pair]]:
    """Build (A, B, 1), (A, B*, 0), where B* is B with two subformulas exchanged.

    No A is a contradiction and no B a tautology, and B* has as many models as B, so that neither
    formula alone gives the label away. `search_rows` limits the number of B* that are tried by the
    total size of their truth tables.
    """
    units: list[list[Pair]] = []
    used_left: set[int] = set()
    used_right: set[int] = set()
    columns = {name: int.from_bytes(rng.bytes(ROWS_COMPARED // 8)) for name in group.names}
    for i, j in group.unrefuted():
        if i in used_left or j in used_right or group.trivial(i, j):
            continue
        if not group.unrefuted_entails(i, j):
            continue
        used_left.add(i)
        used_right.add(j)
        a, b = group.left(i), group.right(j)
        tries = min(TRIES, search_rows >> len(variables_of(b))) if search_rows else TRIES
        if mutant := refuted_exchange(a, b, islice(exchanges(rng, b), tries), columns):
            units.append([Pair(a, b, True), Pair(a, mutant, False)])
            if len(units) == UNITS_PER_GROUP:
                break
    return units


def refuted_exchange(
    a: str, b: str, mutants: Iterable[str], columns: Mapping[str, int]
) -> str | None:
    """Find the first mutant of B that A does not entail and that has as many models as B."""
    everywhere = (1 << ROWS_COMPARED) - 1
    premise, conclusion = (evaluate_bits(rpn, columns, everywhere) for rpn in (a, b))
    models = count_along_tree(b)
    for mutant in mutants:
        mutated = evaluate_bits(mutant, columns, everywhere)
        if not premise & ~mutated:
            continue
        # If both had equally many models, changed rows would be gained or lost with equal chance:
        # a difference of more than four standard deviations makes counting unnecessary.
        difference = mutated.bit_count() - conclusion.bit_count()
        unlikely = difference**2 > 16 * (mutated ^ conclusion).bit_count()
        if not unlikely and count_along_tree(mutant) == models:
            return mutant
    return None


def exchanges(rng: np.random.Generator, rpn: str) -> Iterator[str]:
    """Exchange two different, disjoint subformulas in every possible way, in random order."""
    starts = np.array(spans(rpn))
    # A subformula ends at its last symbol; the second one must start after the first ends.
    separate = np.argwhere(np.arange(len(rpn))[:, None] < starts)
    for i in rng.permutation(len(separate)):
        x, y = separate[i].tolist()
        a, b, c, d = int(starts[x]), x + 1, int(starts[y]), y + 1
        if rpn[a:b] != rpn[c:d]:
            yield rpn[:a] + rpn[c:d] + rpn[b:c] + rpn[a:b] + rpn[d:]
