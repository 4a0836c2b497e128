"""A data file as flat integer arrays, made once when it is loaded. No torch."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data.files import read_pairs
from possibleworlds.logic.formula import LETTERS, OPERATORS

SYMBOLS = {symbol: code for code, symbol in enumerate((*OPERATORS, *LETTERS))}
ENCODING = bytes(SYMBOLS.get(chr(byte), 255) for byte in range(256))
DECODING = "".join(SYMBOLS).encode().ljust(256)


@dataclass(frozen=True)
class Pairs:
    """Rows of a file; formula i is code[offsets[i]:offsets[i + 1]], in reverse Polish order."""

    code: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    label: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.label)

    def rpn(self, formula: int) -> str:
        """A formula in reverse Polish order."""
        code = self.code[self.offsets[formula] : self.offsets[formula + 1]]
        return code.tobytes().translate(DECODING).decode()

    @property
    def rows_together(self) -> int:
        """4 where all rows form 4-tuples, (A1, B1), (A2, B2), (A1, B2), (A2, B1); else 1."""
        if len(self) % 4:
            return 1
        left, right = self.left.reshape(-1, 4), self.right.reshape(-1, 4)
        same = (left[:, :2] == left[:, 2:]) & (right[:, :2] == right[:, 3:1:-1])
        return 4 if len(self) and same.all() else 1

    @property
    def operators(self) -> NDArray[np.int64]:
        """The number of operators of both formulas of each row."""
        inner = np.concatenate(([0], np.cumsum(self.code < len(OPERATORS))))
        of_formula = inner[self.offsets[1:]] - inner[self.offsets[:-1]]
        of_pair: NDArray[np.int64] = of_formula[self.left] + of_formula[self.right]
        return of_pair

    @property
    def variables(self) -> NDArray[np.int64]:
        """The number of different variables of each row."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        present = np.zeros((len(self.offsets) - 1, len(SYMBOLS)), bool)
        present[owner, self.code] = True
        variable = present[:, len(OPERATORS) :]
        of_pair: NDArray[np.int64] = (variable[self.left] | variable[self.right]).sum(1)
        return of_pair


def pairs_of(rows: Iterable[tuple[str, str, int]]) -> Pairs:
    """Arrays of rows given by formulas in reverse Polish order, over a to z, and a label."""
    index: dict[str, int] = {}
    left, right, label = [], [], []
    for a, b, entails in rows:
        left.append(index.setdefault(a, len(index)))
        right.append(index.setdefault(b, len(index)))
        label.append(entails)
    code = np.frombuffer("".join(index).encode().translate(ENCODING), np.uint8)
    offsets = np.concatenate(([0], np.cumsum([len(rpn) for rpn in index], dtype=np.int64)))
    return Pairs(code, offsets, np.array(left), np.array(right), np.array(label))


def load_pairs(path: Path, rows: int | None = None) -> Pairs:
    """The arrays of a data file, or of its first rows."""
    return pairs_of((pair.a, pair.b, pair.label) for pair in islice(read_pairs(path), rows))
