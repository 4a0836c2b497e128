"""Labelled pairs of formulas: single pairs, and many as flat arrays, without torch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from possibleworlds.logic.alphabet import N_OPERATORS, SYMBOLS, decode, encode
from possibleworlds.logic.formula import Formula

SHOWN_IN_NOTEBOOK = 10
Rows = slice | list[int] | NDArray[np.integer] | NDArray[np.bool_]
"""Selects several pairs."""


class Pair(NamedTuple):
    """One row of data: whether formula A entails formula B, both in reverse Polish notation.

    >>> pair = Pair("pq&", "q", True)
    >>> print(pair)
    p ∧ q ⊨ q
    """

    a: str
    b: str
    label: bool

    def __str__(self) -> str:
        return f"{self.premise} {'⊨' if self.label else '⊭'} {self.conclusion}"

    def __repr__(self) -> str:
        return f"<Pair: {self}>"

    @property
    def premise(self) -> Formula:
        """A as a formula."""
        return Formula(tuple(self.a))

    @property
    def conclusion(self) -> Formula:
        """B as a formula."""
        return Formula(tuple(self.b))


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Sequence[Pair]):
    """A sequence of pairs as flat arrays, in which a formula of several pairs is stored once.

    Pair i has the formulas left[i] and right[i]; formula j is code[offsets[j]:offsets[j + 1]]:

    >>> pairs = Pairs.of([("pq&", "q", True), ("q", "pq&", False)])
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.offsets.tolist()
    ([0, 1], [1, 0], [0, 3, 4])
    >>> pairs[1]
    <Pair: q ⊭ p ∧ q>

    Slices, lists of numbers, and arrays of numbers or booleans select several pairs:

    >>> pairs[:1] == pairs[[0]] == pairs[pairs.label == 1]
    True
    """

    code: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    label: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, int]]) -> "Pairs":
        """Build the arrays from formulas in reverse Polish notation over a to z, and labels."""
        index: dict[str, int] = {}
        left, right, label = [], [], []
        for a, b, entails in rows:
            left.append(index.setdefault(a, len(index)))
            right.append(index.setdefault(b, len(index)))
            label.append(entails)
        offsets = np.cumsum([0, *map(len, index)], dtype=np.int64)
        columns = (np.array(column, dtype=np.int64) for column in (left, right, label))
        return cls(encode("".join(index)), offsets, *columns)

    def __len__(self) -> int:
        return len(self.label)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: Rows) -> "Pairs": ...
    def __getitem__(self, index: int | Rows) -> "Pair | Pairs":
        left, right, label = self.left[index], self.right[index], self.label[index]
        if isinstance(label, np.ndarray):
            return Pairs(self.code, self.offsets, left, right, label)
        return Pair(self.rpn(left), self.rpn(right), bool(label))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return len(self) == len(other) and all(x == y for x, y in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Pairs: {len(self):,} pairs, {int(self.label.sum()):,} entailments>"

    def _repr_html_(self) -> str:
        """Show the first pairs as a table in a notebook."""
        rows = "".join(
            f"<tr><td>{escape(str(pair.premise))}</td><td>{'⊨' if pair.label else '⊭'}</td>"
            f"<td>{escape(str(pair.conclusion))}</td></tr>"
            for pair in self[:SHOWN_IN_NOTEBOOK]
        )
        return f"<table>{rows}</table><p>{escape(repr(self)[1:-1])}</p>"

    def save(self, path: str | Path) -> None:
        """Write the pairs to a data file."""
        from possibleworlds.data.files import write

        write(Path(path), self)

    def rpn(self, formula: int) -> str:
        """Look up a formula in reverse Polish notation."""
        return decode(self.code[self.offsets[formula] : self.offsets[formula + 1]])

    @property
    def rows_together(self) -> int:
        """4 if all rows form 4-tuples, (A1, B1), (A2, B2), (A1, B2), (A2, B1); else 1."""
        if len(self) % 4:
            return 1
        left, right = self.left.reshape(-1, 4), self.right.reshape(-1, 4)
        same = (left[:, :2] == left[:, 2:]) & (right[:, :2] == right[:, 3:1:-1])
        return 4 if len(self) and same.all() else 1

    @property
    def operators(self) -> NDArray[np.int64]:
        """The number of operators of both formulas of each pair."""
        inner = np.concatenate(([0], np.cumsum(self.code < N_OPERATORS)))
        of_formula = inner[self.offsets[1:]] - inner[self.offsets[:-1]]
        of_pair: NDArray[np.int64] = of_formula[self.left] + of_formula[self.right]
        return of_pair

    @property
    def variables(self) -> NDArray[np.int64]:
        """The number of distinct variables of each pair."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        present = np.zeros((len(self.offsets) - 1, len(SYMBOLS)), bool)
        present[owner, self.code] = True
        variable = present[:, N_OPERATORS:]
        of_pair: NDArray[np.int64] = (variable[self.left] | variable[self.right]).sum(1)
        return of_pair
