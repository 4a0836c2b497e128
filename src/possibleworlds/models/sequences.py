"""Formulas as sequences of symbols, for the networks that do not follow the trees.

A sequence is fully bracketed infix text, `((~p&q)>r)`: the published format, but without brackets
around the argument of a negation. Symbols 0-29 are those of the alphabet.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from possibleworlds.logic.alphabet import N_OPERATORS, SYMBOLS

OPEN_CODE, CLOSE_CODE, TURNSTILE_CODE, PADDING_CODE = range(len(SYMBOLS), len(SYMBOLS) + 4)
N_SYMBOLS = PADDING_CODE + 1
LENGTH_GROUPS = 4
"""The number of groups of similar lengths into which torch divides a batch."""

Ints = NDArray[np.integer]


class Sequences(NamedTuple):
    """Sequences as rows of a matrix, padded at the end."""

    symbols: Tensor  # (sequences, longest)
    lengths: Tensor  # (sequences,)

    @property
    def present(self) -> Tensor:
        """A mask of the positions that hold a symbol, (sequences, longest)."""
        positions = torch.arange(self.symbols.shape[1], device=self.symbols.device)
        return positions < self.lengths[:, None]


class Texts(NamedTuple):
    """Concatenated sequences: sequence i is symbols[offsets[i]:offsets[i + 1]]."""

    symbols: Ints
    offsets: Ints


def texts_of(code: Ints, offsets: Ints) -> Texts:
    """Convert concatenated formulas in reverse Polish notation to sequences."""
    symbols: list[int] = []
    ends = [0]
    codes = code.tolist()
    for first, last in pairwise(offsets.tolist()):
        symbols += reversed(infix_backwards(codes[first:last]))
        ends.append(len(symbols))
    return Texts(np.array(symbols, np.int64), np.array(ends))


def infix_backwards(code: list[int]) -> list[int]:
    """Convert a formula in reverse Polish notation to infix symbols, from last to first.

    Read backwards, reverse Polish notation has an operator before its arguments, the right one
    first; a stack holds the symbols to write once an argument is complete. For p & q:

    >>> infix_backwards([19, 20, 1]) == [CLOSE_CODE, 20, 1, 19, OPEN_CODE]
    True
    """
    out: list[int] = []
    pending: list[int] = []
    for symbol in reversed(code):
        if symbol == 0:
            pending.append(symbol)
        elif symbol < N_OPERATORS:
            out.append(CLOSE_CODE)
            pending += (OPEN_CODE, symbol)
        else:
            out.append(symbol)
            while pending:
                out.append(pending.pop())
                if 0 < out[-1] < N_OPERATORS:
                    break
    return out


def pad(symbols: Ints, lengths: Ints, device: torch.device | str) -> Sequences:
    """Arrange concatenated sequences as the padded rows of a matrix."""
    matrix = np.full((len(lengths), int(lengths.max())), PADDING_CODE)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = symbols
    return Sequences(torch.from_numpy(matrix).to(device), torch.from_numpy(lengths).to(device))
