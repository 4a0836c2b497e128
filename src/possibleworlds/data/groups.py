"""Groups of formulas over one set of variables, and the entailments among them.

A group draws its number of variables uniformly, their names from a to z, and formulas for the left
and the right side, which are compared with each other: by whole truth tables for few variables, and
for many by a sample of rows, which refutes most pairs without a solver.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

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

SIDE = 256
"""The number of formulas that a group draws for each side."""
EXACT_VARIABLES = 10
"""With more variables, a sample of rows replaces the whole truth table."""
ROWS_SAMPLED = 1024

Bounds = tuple[int, int]


@dataclass(frozen=True)
class Group:
    """Formulas over one set of variables, and their truth values."""

    names: str
    """The variables that formulas are sampled over; a formula need not contain all of them."""
    text: str
    """All formulas in reverse Polish notation, left side first, with leading spaces."""
    words: Words
    """The truth values of each formula as a row of 64-bit words."""
    exact: bool
    """Whether the truth values are the whole truth table, not a sample of its rows."""

    @cached_property
    def formulas(self) -> list[str]:
        """All formulas, left side first."""
        return self.text.split()

    def formula(self, number: int) -> str:
        """Look up a formula."""
        width = len(self.text) // (2 * SIDE)
        return self.text[width * number : width * (number + 1)].lstrip()

    def left(self, i: int) -> str:
        """Look up left formula i."""
        return self.formula(i)

    def right(self, j: int) -> str:
        """Look up right formula j."""
        return self.formula(SIDE + j)

    @cached_property
    def contradictions(self) -> list[bool]:
        """Whether each left formula is a contradiction."""
        never: list[bool] = np.logical_not(self.words[:SIDE].any(axis=1)).tolist()
        if not self.exact:
            for i in np.flatnonzero(never).tolist():
                never[i] = not satisfiable((self.left(i), True))
        return never

    @cached_property
    def tautologies(self) -> list[bool]:
        """Whether each right formula is a tautology."""
        always: list[bool] = np.logical_not((~self.words[SIDE:]).any(axis=1)).tolist()
        if not self.exact:
            for j in np.flatnonzero(always).tolist():
                always[j] = not satisfiable((self.right(j), False))
        return always

    @cached_property
    def data(self) -> bytes:
        """The words as bytes."""
        return self.words.tobytes()

    def truth(self, number: int) -> int:
        """Look up the truth values of a formula as a bit set."""
        size = len(self.data) // (2 * SIDE)
        return int.from_bytes(self.data[size * number : size * (number + 1)], "little")

    def entails(self, i: int, j: int) -> bool:
        """Whether left formula i entails right formula j."""
        return not self.truth(i) & ~self.truth(SIDE + j) and self.unrefuted_entails(i, j)

    def unrefuted_entails(self, i: int, j: int) -> bool:
        """Whether left formula i entails right formula j, given that no row refutes it."""
        return self.exact or not satisfiable((self.left(i), True), (self.right(j), False))

    def unrefuted(self) -> Iterator[tuple[int, int]]:
        """Iterate over the pairs i, j that no row refutes.

        Every left formula is compared with one right formula, then each with another, and so on, as
        far as needed, so that nearly all pairs consist of unused formulas.
        """
        left, not_right = self.words[:SIDE], np.tile(~self.words[SIDE:], (2, 1))
        for shift in range(SIDE):
            refuted = (left & not_right[shift : shift + SIDE]).any(axis=1)
            for i in np.flatnonzero(~refuted).tolist():
                yield i, (i + shift) % SIDE

    def trivial(self, i: int, j: int) -> bool:
        """Whether left formula i is a contradiction, or right formula j a tautology."""
        return self.contradictions[i] or self.tautologies[j]


def satisfiable(*asserted: tuple[str, bool]) -> bool:
    """Whether an assignment gives each formula its truth value."""
    return find_model([(Formula(tuple(rpn)), value) for rpn, value in asserted]) is not None


def sample_groups(
    rng: np.random.Generator,
    count: int,
    variables: Bounds,
    operators: Bounds,
    tilt: float = 0,
    operator_tilt: float | None = None,
) -> list[Group]:
    """Sample groups whose numbers of variables and of operators are uniform within bounds.

    With a tilt, the largest number of variables and the smallest of operators are 1 + tilt times as
    likely as without, the opposite ends 1 - tilt times, with linear interpolation in between.
    Numbers of operators may have a separate tilt.
    """
    if tilt:
        strata = (np.arange(count) + rng.random(count)) / count
        sizes = rng.permutation(tilted(strata, variables, tilt))
        falling = tilt if operator_tilt is None else operator_tilt
        numbers = tilted(rng.random((count, 2 * SIDE)), operators, -falling)
    else:
        # Numbers of variables are stratified: each occurs once before any occurs again.
        low, high = variables
        rounds = -(-count // (high - low + 1))
        sizes = rng.permuted(np.tile(np.arange(low, high + 1), (rounds, 1)), axis=1).ravel()[:count]
        numbers = rng.integers(*operators, (count, 2 * SIDE), endpoint=True)
    codes = sample_codes(rng, numbers.ravel(), np.repeat(sizes, 2 * SIDE))
    shuffled = rng.permuted(np.tile(list(LETTERS), (count, 1)), axis=1).tolist()
    names = ["".join(sorted(s[:size])) for s, size in zip(shuffled, sizes, strict=True)]
    texts = spell(codes, names)
    codes = codes.reshape(-1, count, 2 * SIDE)
    groups: dict[int, Group] = {}
    # A 64-bit word holds the truth table of six variables, or that of fewer repeated.
    for kind in range(6, EXACT_VARIABLES + 2):
        same = np.flatnonzero(np.clip(sizes, 6, EXACT_VARIABLES + 1) == kind)
        exact = kind <= EXACT_VARIABLES
        table = table_words(kind) if exact else random_words(rng, len(LETTERS), ROWS_SAMPLED // 64)
        values = truth_words(codes[:, same].reshape(len(codes), -1), table)
        for i, words in zip(same.tolist(), np.split(values, len(same) or 1), strict=False):
            groups[i] = Group(names[i], texts[i], words, exact)
    return [groups[i] for i in range(count)]


def tilted(uniform: NDArray[np.float64], bounds: Bounds, tilt: float) -> NDArray[np.int64]:
    """Convert uniform numbers below 1 to integers within bounds, larger ones being more likely."""
    low, high = bounds
    weights = np.linspace(1 - tilt, 1 + tilt, high - low + 1)
    limits = weights.cumsum() / weights.sum()
    return low + np.searchsorted(limits[:-1], uniform, side="right")
