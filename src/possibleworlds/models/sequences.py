"""Formulas as sequences of symbols, for the networks that are not given their structure.

A sequence is fully bracketed infix text, `((~p&q)>r)`: the published form, without the brackets
that it puts around the argument of a negation. Symbols 0-29 are those of the trees.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from possibleworlds.logic.alphabet import LETTERS, OPERATORS

FIRST_VARIABLE = len(OPERATORS)
OPEN, CLOSE, TURNSTILE, PADDING = range(FIRST_VARIABLE + len(LETTERS), FIRST_VARIABLE + 30)
N_SYMBOLS = PADDING + 1

Ints = NDArray[np.integer]


class Sequences(NamedTuple):
    """Sequences as lines of a matrix, padded at the end."""

    symbols: Tensor
    lengths: Tensor

    @property
    def present(self) -> Tensor:
        """Which places hold a symbol, [sequences, longest]."""
        places = torch.arange(self.symbols.shape[1], device=self.symbols.device)
        return places < self.lengths[:, None]


class Texts(NamedTuple):
    """Sequences one after the other: sequence i is symbols[offsets[i]:offsets[i + 1]]."""

    symbols: Ints
    offsets: Ints


def texts_of(code: Ints, offsets: Ints) -> Texts:
    """Write formulas, given one after the other in reverse Polish order, as sequences."""
    symbols: list[int] = []
    ends = [0]
    codes = code.tolist()
    for first, last in pairwise(offsets.tolist()):
        symbols += reversed(infix_backwards(codes[first:last]))
        ends.append(len(symbols))
    return Texts(np.array(symbols, np.int64), np.array(ends))


def infix_backwards(code: list[int]) -> list[int]:
    """The sequence of a formula from its end to its beginning, in linear time."""
    out: list[int] = []
    waiting: list[int] = []
    for symbol in reversed(code):
        if symbol == 0:
            waiting.append(symbol)
        elif symbol < FIRST_VARIABLE:
            out.append(CLOSE)
            waiting += (OPEN, symbol)
        else:
            out.append(symbol)
            while waiting:
                out.append(waiting.pop())
                if 0 < out[-1] < FIRST_VARIABLE:
                    break
    return out


def pad(symbols: Ints, lengths: Ints, device: torch.device | str) -> Sequences:
    """Put sequences that stand one after the other into the lines of a matrix."""
    matrix = np.full((len(lengths), int(lengths.max())), PADDING)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = symbols
    return Sequences(torch.from_numpy(matrix).to(device), torch.from_numpy(lengths).to(device))
