"""Formulas as sequences of symbols, for the networks that are not given their structure.

A sequence is fully bracketed infix text, `((~p&q)>r)`: the published form, without the brackets
that it puts around the argument of a negation.
"""

from typing import NamedTuple

import numpy as np
import torch
from possibleworlds.models.trees import N_OPERATORS, N_VARIABLES, Batch, Forest, Ints
from torch import Tensor

OPEN, CLOSE, TURNSTILE, PADDING = range(N_OPERATORS + N_VARIABLES, N_OPERATORS + N_VARIABLES + 4)
N_SYMBOLS = PADDING + 1
"""Symbols 0-29 are those of the trees; then brackets, ⊨, and what fills up short sequences."""


class Sequences(NamedTuple):
    """Sequences as lines of a matrix, padded at the end."""

    symbols: Tensor
    lengths: Tensor

    @property
    def present(self) -> Tensor:
        """Which places hold a symbol, [sequences, longest]."""
        return (
            torch.arange(self.symbols.shape[1], device=self.symbols.device) < self.lengths[:, None]
        )


class Texts(NamedTuple):
    """The sequences of a whole forest, one after the other."""

    symbols: Ints
    offsets: Ints


def texts_of(forest: Forest) -> Texts:
    """Write every formula of a forest as a sequence."""
    code, offsets = forest.code.tolist(), forest.offsets.tolist()
    symbols: list[int] = []
    ends = [0]
    for first, last in zip(offsets, offsets[1:], strict=False):
        stack: list[list[int]] = []
        for symbol in code[first:last]:
            if symbol >= N_OPERATORS:
                stack.append([symbol])
            elif symbol == 0:
                stack[-1] = [0, *stack[-1]]
            else:
                right = stack.pop()
                stack[-1] = [OPEN, *stack[-1], symbol, *right, CLOSE]
        symbols += stack[0]
        ends.append(len(symbols))
    return Texts(np.array(symbols, np.int64), np.array(ends))


def pad(symbols: Ints, lengths: Ints, device: torch.device | str) -> Sequences:
    """Put sequences that stand one after the other into the lines of a matrix."""
    matrix = np.full((len(lengths), int(lengths.max())), PADDING)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = symbols
    return Sequences(torch.from_numpy(matrix).to(device), torch.from_numpy(lengths).to(device))


def gather(batch: Batch, trees: Ints) -> tuple[Ints, Ints]:
    """Give the symbols of some of a batch's trees one after the other, and their lengths."""
    texts = batch.forest.texts
    formula = batch.formula[trees]
    first = texts.offsets[formula]
    lengths = texts.offsets[formula + 1] - first
    owner = np.repeat(np.arange(len(trees)), lengths)
    symbols = texts.symbols[np.arange(len(owner)) + (first - np.cumsum(lengths) + lengths)[owner]]
    variable = np.flatnonzero((symbols >= N_OPERATORS) & (symbols < OPEN))
    renaming = batch.symbols[trees[owner[variable]], symbols[variable] - N_OPERATORS]
    symbols[variable] = renaming + N_OPERATORS
    return symbols, lengths


def sequences_of(batch: Batch) -> Sequences:
    """Give the distinct formulas of a batch."""
    return pad(*gather(batch, np.arange(len(batch.formula))), batch.device)


def joined_of(batch: Batch) -> tuple[Sequences, Tensor]:
    """Give each pair as A ⊨ B, and which places are those of B."""
    left, right = batch.left.cpu().numpy(), batch.right.cpu().numpy()
    trees = np.stack((left, right), 1).ravel()
    symbols, lengths = gather(batch, trees)
    of_left, of_right = lengths[0::2], lengths[1::2]
    # The turnstile goes in after every left side.
    places = np.cumsum(lengths)[0::2]
    symbols = np.insert(symbols, places, TURNSTILE)
    sequences = pad(symbols, of_left + of_right + 1, batch.device)
    after = torch.from_numpy(of_left).to(batch.device)[:, None]
    is_right = torch.arange(sequences.symbols.shape[1], device=batch.device) > after
    return sequences, is_right & sequences.present
