"""Groups of formulas over one set of variables, and the entailments among them.

A group draws its number of variables uniformly, its names from a to z, and formulas for the left
and for the right side, which are all tried against each other. Few variables: by whole truth
tables. Many: by a sample of their rows, which refutes at once most of what a solver would
otherwise have to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data.sample import (
    Words,
    random_words,
    sample_codes,
    spell,
    table_words,
    truth_words,
)
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.sat import find_model

SIDE = 64
"""How many formulas a group draws for each side."""
TABLE_VARIABLES = 10
"""Beyond this many variables, truth tables give way to a sample of their rows."""
RANDOM_ROWS = 1024

Range = tuple[int, int]

LEFTS = np.tile(np.arange(SIDE), SIDE)
RIGHTS = (LEFTS + np.repeat(np.arange(SIDE), SIDE)) % SIDE
"""The order of trying: every left formula with one right one, then each with another, ..."""
TRIES = SIDE * LEFTS + RIGHTS


@dataclass(frozen=True, slots=True)
class Group:
    """Formulas over one set of variables, and what is known of their entailments."""

    formulas: list[str]
    """All formulas in reverse Polish notation, left side first."""
    unrefuted: NDArray[np.bool_]
    """Whether, for each left and each right formula, no row has them true and false."""
    contradictions: NDArray[np.bool_]
    """Which left formulas are never true."""
    tautologies: NDArray[np.bool_]
    """Which right formulas are always true."""
    exact: bool
    """Whether the rows were the whole truth table."""

    def left(self, i: int) -> str:
        """Look up left formula i."""
        return self.formulas[i]

    def right(self, j: int) -> str:
        """Look up right formula j."""
        return self.formulas[SIDE + j]

    def entails(self, i: int, j: int) -> bool:
        """Whether left formula i entails right formula j."""
        if not self.unrefuted.item(i, j):
            return False
        return self.exact or not satisfiable((self.left(i), True), (self.right(j), False))

    def entailments(self, among: NDArray[np.bool_] | bool = True) -> Iterator[tuple[int, int]]:
        """Iterate over the pairs i, j where left formula i entails right formula j."""
        pairs = in_order(self.unrefuted & among)
        return pairs if self.exact else (pair for pair in pairs if self.entails(*pair))


def in_order(holds: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """List the pairs of formulas for which something holds, in the order of trying."""
    tries = np.flatnonzero(holds.take(TRIES))
    return zip(LEFTS.take(tries).tolist(), RIGHTS.take(tries).tolist(), strict=True)


def satisfiable(*asserted: tuple[str, bool]) -> bool:
    """Whether formulas can have their truth values together."""
    return find_model([(Formula(tuple(rpn)), value) for rpn, value in asserted]) is not None


def sample_groups(
    rng: np.random.Generator, count: int, variables: Range, operators: Range
) -> list[Group]:
    """Sample groups whose numbers of variables and of operators are uniform within bounds."""
    sizes = rng.integers(*variables, count, endpoint=True)
    numbers = rng.integers(*operators, (count, 2 * SIDE), endpoint=True)
    codes = sample_codes(rng, numbers.ravel(), np.repeat(sizes, 2 * SIDE))
    shuffled = rng.permuted(np.tile(list(LETTERS), (count, 1)), axis=1).tolist()
    names = ["".join(sorted(s[:size])) for s, size in zip(shuffled, sizes, strict=True)]
    formulas = spell(codes, names)
    codes = codes.reshape(-1, count, 2 * SIDE)
    groups: dict[int, Group] = {}
    # A 64-bit word holds the truth table of six variables, or that of fewer repeated.
    for kind in range(6, TABLE_VARIABLES + 2):
        same = np.flatnonzero(np.clip(sizes, 6, TABLE_VARIABLES + 1) == kind)
        exact = kind <= TABLE_VARIABLES
        table = table_words(kind) if exact else random_words(rng, len(LETTERS), RANDOM_ROWS // 64)
        values = truth_words(codes[:, same].reshape(len(codes), -1), table)
        for i, words in zip(same.tolist(), np.split(values, len(same) or 1), strict=False):
            groups[i] = compare(formulas[2 * SIDE * i : 2 * SIDE * (i + 1)], words, exact)
    return [groups[i] for i in range(count)]


def compare(formulas: list[str], words: Words, exact: bool) -> Group:
    """Find the entailments of a group from the truth values of its formulas."""
    by_word = np.ascontiguousarray(words.T)
    left, not_right = by_word[:, :SIDE], ~by_word[:, SIDE:]
    refuting = np.bitwise_or.reduce(left[:, :, None] & not_right[:, None], axis=0)
    contradictions = np.bitwise_or.reduce(left, axis=0) == 0
    tautologies = np.bitwise_or.reduce(not_right, axis=0) == 0
    group = Group(formulas, refuting == 0, contradictions, tautologies, exact)
    if not exact:
        for i in np.flatnonzero(contradictions).tolist():
            contradictions[i] = not satisfiable((group.left(i), True))
        for j in np.flatnonzero(tautologies).tolist():
            tautologies[j] = not satisfiable((group.right(j), False))
    return group
