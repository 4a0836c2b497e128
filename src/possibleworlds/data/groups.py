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
    PADDING,
    Words,
    random_words,
    sample_codes,
    spell,
    table_words,
    truth_words,
)
from possibleworlds.logic.formula import LETTERS, Formula
from possibleworlds.logic.sat import find_model

SIDE = 64
"""How many formulas a group draws for each side."""
TABLE_VARIABLES = 10
"""Beyond this many variables, truth tables give way to a sample of their rows."""
RANDOM_ROWS = 1024

Range = tuple[int, int]

LEFTS, SHIFTS = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
RIGHTS = (LEFTS + SHIFTS) % SIDE
"""The order of trying: every left formula with one right one, then each with another, ..."""


@dataclass(frozen=True, slots=True)
class Group:
    """Formulas over one set of variables, and what is known of their entailments."""

    text: str
    """All formulas in reverse Polish order, padded to one width, left side first."""
    unrefuted: NDArray[np.bool_]
    """Whether, in the order of trying, no row has the left formula true and the right one false."""
    contradictions: NDArray[np.bool_]
    """Which left formulas are never true."""
    tautologies: NDArray[np.bool_]
    """Which right formulas are always true."""
    exact: bool
    """Whether the rows were the whole truth table."""

    def left(self, i: int) -> str:
        """Left formula i, in reverse Polish order."""
        width = len(self.text) // (2 * SIDE)
        return self.text[i * width : (i + 1) * width].lstrip(PADDING)

    def right(self, j: int) -> str:
        """Right formula j, in reverse Polish order."""
        return self.left(SIDE + j)

    def entails(self, i: int, j: int) -> bool:
        """Whether left formula i entails right formula j."""
        if not self.unrefuted.item((j - i) % SIDE, i):
            return False
        return self.exact or not satisfiable((self.left(i), True), (self.right(j), False))

    def entailments(self, among: NDArray[np.bool_] | bool = True) -> Iterator[tuple[int, int]]:
        """The pairs i, j where left formula i entails right formula j."""
        for i, j in in_order(self.unrefuted & among):
            if self.exact or self.entails(i, j):
                yield i, j

    def non_entailments(self) -> Iterator[tuple[int, int]]:
        """The pairs i, j where some row refutes that left formula i entails right formula j."""
        return in_order(~self.unrefuted)


def in_order(tries: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """The pairs of formulas for which the tries hold."""
    places = np.flatnonzero(tries)
    return zip(LEFTS.ravel()[places].tolist(), RIGHTS.ravel()[places].tolist(), strict=True)


def satisfiable(*asserted: tuple[str, bool]) -> bool:
    """Whether formulas in reverse Polish order can have their truth values together."""
    return find_model([(Formula(tuple(rpn)), value) for rpn, value in asserted]) is not None


def sample_groups(
    rng: np.random.Generator, count: int, variables: Range, operators: Range
) -> list[Group]:
    """Groups whose numbers of variables and of operators are uniform within bounds."""
    sizes = rng.integers(*variables, count, endpoint=True)
    numbers = rng.integers(*operators, (count, 2 * SIDE), endpoint=True)
    codes = sample_codes(rng, numbers.ravel(), np.repeat(sizes, 2 * SIDE))
    shuffled = rng.permuted(np.tile(list(LETTERS), (count, 1)), axis=1).tolist()
    names = ["".join(sorted(s[:size])) for s, size in zip(shuffled, sizes, strict=True)]
    text = spell(codes, names)
    codes = codes.reshape(-1, count, 2 * SIDE)
    width = len(text) // count
    groups: dict[int, Group] = {}
    # A 64-bit word holds the truth table of six variables, or that of fewer repeated.
    for kind in range(6, TABLE_VARIABLES + 2):
        same = np.flatnonzero(np.clip(sizes, 6, TABLE_VARIABLES + 1) == kind)
        exact = kind <= TABLE_VARIABLES
        table = table_words(kind) if exact else random_words(rng, len(LETTERS), RANDOM_ROWS // 64)
        values = truth_words(codes[:, same].reshape(len(codes), -1), table)
        for i, words in zip(same.tolist(), np.split(values, len(same) or 1), strict=False):
            groups[i] = compare(text[i * width : (i + 1) * width], words, exact)
    return [groups[i] for i in range(count)]


def compare(text: str, words: Words, exact: bool) -> Group:
    """A group from its formulas and their truth values."""
    by_word = np.ascontiguousarray(words.T)
    left, not_right = by_word[:, :SIDE], ~by_word[:, SIDE:]
    refuting = np.bitwise_or.reduce(left[:, None] & not_right.take(RIGHTS, axis=1), axis=0)
    contradictions = np.bitwise_or.reduce(left, axis=0) == 0
    tautologies = np.bitwise_or.reduce(not_right, axis=0) == 0
    group = Group(text, refuting == 0, contradictions, tautologies, exact)
    if not exact:
        for i in np.flatnonzero(contradictions).tolist():
            contradictions[i] = not satisfiable((group.left(i), True))
        for j in np.flatnonzero(tautologies).tolist():
            tautologies[j] = not satisfiable((group.right(j), False))
    return group
