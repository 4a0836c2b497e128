"""The final hidden state of an LSTM over sequences of symbols, in torch or in the native kernel.

The kernel (`trees/kernel/lstm.inc`) computes nothing for padding, and looks up what a symbol adds
to the gates in a table, as there are few symbols.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from possibleworlds.models.sequences import LENGTH_GROUPS, Ints, Sequences
from possibleworlds.models.trees import native
from possibleworlds.models.trees.workspace import Workspace


class TimeMajor(NamedTuple):
    """Sequences step by step: the first symbols of all, the second ones, and so on.

    >>> padded = Sequences(torch.tensor([[4, 5, 0], [1, 2, 3], [6, 0, 0]]), torch.tensor([2, 3, 1]))
    >>> steps = TimeMajor.of(padded)
    >>> steps.order.tolist(), steps.sizes.tolist(), steps.symbols.tolist()
    ([1, 0, 2], [3, 2, 1], [1, 4, 6, 2, 5, 3])
    """

    order: Ints  # the sequences, the longest first
    sizes: Ints  # how many of them have a symbol at each step
    symbols: Ints

    @classmethod
    def of(cls, sequences: Sequences) -> TimeMajor:
        """Sort sequences by length and list their symbols by step."""
        lengths = sequences.lengths.numpy()
        order = np.argsort(-lengths, kind="stable")
        present = np.arange(sequences.symbols.shape[1])[:, None] < lengths[order]
        symbols = sequences.symbols.numpy()[order].T[present]
        return cls(order, present.sum(1, dtype=np.int32), symbols.astype(np.uint8))


class _Call:
    """The kernel's arguments for one batch: the table, (symbols, 4 d), and W_hh, (4 d, d)."""

    def __init__(self, steps: TimeMajor, workspace: Workspace, table: Tensor, w: Tensor) -> None:
        self.steps, self.workspace, self.n = steps, workspace, len(steps.order)
        self.table, self.w = table.detach().contiguous(), w.detach().contiguous()
        self.rows, self.d = len(steps.symbols), w.shape[1]
        size = 6 * self.rows * self.d + 4 * self.d * self.d + 2 * self.n * self.d
        self.memory: Tensor | None = workspace.take(size, self.table)

    def run(self, *tensors: Tensor | None) -> None:
        """Run a pass; the tensors are last, grad_last, grad_table and grad_w."""
        if self.memory is None:
            raise RuntimeError("the LSTM's backward pass releases its memory, so it runs only once")
        size = self.rows * self.d
        parts = self.memory.split([4 * size, size, size, len(self.memory) - 6 * size])
        gates, cells, hidden, scratch = (part.numpy() for part in parts)
        last, *gradients = (None if t is None else t.numpy() for t in tensors)
        inputs = self.steps.sizes, self.steps.symbols, self.table.numpy(), self.w.numpy()
        native.lstm(self.d, *inputs, gates, cells, hidden, last, scratch, *gradients)

    def forward(self) -> Tensor:
        """Compute the final states, (sequences, d), the longest sequence first."""
        last = self.table.new_empty(self.n, self.d)
        self.run(last, None, None, None)
        return last

    def release(self) -> None:
        """Give the memory back."""
        assert self.memory is not None
        self.workspace.give_back(self.memory)
        self.memory = None


class _Lstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, steps: TimeMajor, workspace: Workspace, table: Tensor, w: Tensor
    ) -> Tensor:
        ctx.call = _Call(steps, workspace, table, w)
        return ctx.call.forward()

    @staticmethod
    def backward(ctx: Any, grad_last: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        call: _Call = ctx.call
        grad_table, grad_w = torch.zeros_like(call.table), torch.zeros_like(call.w)
        call.run(None, grad_last.contiguous(), grad_table, grad_w)
        call.release()
        return None, None, grad_table, grad_w


def _native_states(steps: TimeMajor, workspace: Workspace, table: Tensor, w: Tensor) -> Tensor:
    """Compute the final states by the kernel, (sequences, d), the longest sequence first."""
    if torch.is_grad_enabled() and (table.requires_grad or w.requires_grad):
        return _Lstm.apply(steps, workspace, table, w)
    call = _Call(steps, workspace, table, w)
    last = call.forward()
    call.release()
    return last


def lstm_states(
    sequences: Sequences, embedding: Tensor, weights: tuple[Tensor, ...], workspace: Workspace
) -> Tensor:
    """Compute the final hidden state of each sequence, (sequences, d).

    The weights are those of one direction of torch.nn.LSTM: W_ih, W_hh, b_ih and b_hh.
    """
    w_ih, w_hh, b_ih, b_hh = weights
    if native.takes(w_hh.shape[1], embedding, *weights):
        table = torch.addmm(b_ih + b_hh, embedding, w_ih.T)
        steps = TimeMajor.of(sequences)
        last = _native_states(steps, workspace, table, w_hh)
        return last[torch.from_numpy(np.argsort(steps.order))]
    order = sequences.lengths.argsort()
    groups = []
    # Sequences of similar length are read together, as padding is computed and then ignored.
    for rows in order.chunk(LENGTH_GROUPS):
        lengths = sequences.lengths[rows]
        symbols = sequences.symbols[rows, : int(lengths.max())]
        groups.append(_torch_states(symbols, lengths, embedding, weights))
    return torch.cat(groups)[order.argsort()]


def _torch_states(
    symbols: Tensor, lengths: Tensor, embedding: Tensor, weights: tuple[Tensor, ...]
) -> Tensor:
    """Compute the final states by torch's LSTM.

    Called in one direction and without packed sequences, torch.lstm uses the LSTM of oneDNN,
    which is twice as fast as its own.
    """
    start = embedding.new_zeros(1, len(symbols), weights[1].shape[1])
    states, _, _ = torch.lstm(  # (sequences, length, size)
        torch.nn.functional.embedding(symbols, embedding),
        (start, start),
        weights,
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=torch.is_grad_enabled(),
        bidirectional=False,
        batch_first=True,
    )
    return states[torch.arange(len(states), device=symbols.device), lengths - 1]
