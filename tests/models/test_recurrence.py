"""LSTMs in the native kernel agree with torch's, and the kernel takes nothing that would hurt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from possibleworlds.models.lstm import BiLstm, Lstm, LstmSettings
from possibleworlds.models.recurrence import TimeMajor, lstm_states
from possibleworlds.models.sequences import N_SYMBOLS, PADDING_CODE, Sequences
from possibleworlds.models.trees import native
from possibleworlds.models.trees.workspace import Workspace
from tests.models.test_native import kernel, needs_kernel, vectors
from tests.models.test_trees import batches

__all__ = ["vectors"]


def sequences_of(lengths: list[int]) -> Sequences:
    """Draw padded sequences of these lengths."""
    generator = torch.Generator().manual_seed(sum(lengths))
    symbols = torch.randint(PADDING_CODE, (len(lengths), max(lengths)), generator=generator)
    return Sequences(symbols, torch.tensor(lengths))


def compute(
    sequences: Sequences, embedding: Tensor, lstm: nn.LSTM, workspace: Workspace
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Compute final states, and all gradients of a sum of them with random weights."""
    inputs = [embedding, *lstm.parameters()]
    states = lstm_states(sequences, embedding, tuple(lstm.parameters()), workspace)
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(0))
    return states, torch.autograd.grad((states * weights).sum(), inputs)


def plain(sequences: Sequences, embedding: Tensor, lstm: nn.LSTM) -> Tensor:
    """Read one sequence after the other with torch's module."""
    texts = [row[:n] for row, n in zip(sequences.symbols, sequences.lengths.tolist(), strict=True)]
    return torch.stack([lstm(embedding[text][None])[1][0][0, 0] for text in texts])


@needs_kernel
@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize(
    ("size", "embedding_size", "lengths"),
    [
        (64, 64, [7, 1, 30, 30, 2, 9, 81, 5]),
        (32, 48, [1]),
        (16, 5, [3, 3, 3]),
        (80, 64, list(range(1, 40))),
        (64, 64, [1, 200]),
    ],
)
def test_states_and_gradients_are_those_of_torch(
    size: int, embedding_size: int, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(embedding_size, size, batch_first=True)
    embedding = (3 * torch.randn(N_SYMBOLS, embedding_size)).requires_grad_()
    sequences, workspace = sequences_of(lengths), Workspace()
    compute(sequences_of([50] * 40), embedding, lstm, workspace)  # leaves its memory behind
    states, gradients = compute(sequences, embedding, lstm, workspace)
    assert_close(states, plain(sequences, embedding, lstm), atol=2e-6, rtol=1e-5)
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    expected_states, expected = compute(sequences, embedding, lstm, workspace)
    assert_close(states, expected_states, atol=2e-6, rtol=1e-5)
    for one, other in zip(gradients, expected, strict=True):
        assert_close(one, other, atol=1e-5 * float(other.abs().max()), rtol=1e-4)


@needs_kernel
@pytest.mark.usefixtures("vectors")
def test_large_inputs_saturate_the_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(16, 16, batch_first=True)
    embedding = (1e6 * torch.randn(N_SYMBOLS, 16)).requires_grad_()
    sequences = sequences_of([4, 9, 2])
    states, gradients = compute(sequences, embedding, lstm, Workspace())
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    expected, _ = compute(sequences, embedding, lstm, Workspace())
    assert_close(states, expected, atol=1e-6, rtol=1e-5)
    assert all(gradient.isfinite().all() for gradient in gradients)


@given(batches(), st.sampled_from([Lstm, BiLstm]))
def test_networks_give_the_same_with_and_without_the_kernel(batch: Any, kind: type[Lstm]) -> None:
    torch.manual_seed(1)
    model = kind(LstmSettings(size=16, embedding_size=8, mlp_size=8))
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        log_probs = model(batch)
        patch.setenv("POSSIBLEWORLDS_NATIVE", "0")
        assert_close(log_probs, model(batch), atol=1e-5, rtol=1e-5)


def test_memory_is_used_again() -> None:
    lstm, workspace = nn.LSTM(8, 16, batch_first=True), Workspace()
    embedding = torch.randn(N_SYMBOLS, 8)
    for _ in range(3):
        compute(sequences_of([5, 9]), embedding.requires_grad_(), lstm, workspace)
        with torch.no_grad():
            lstm_states(sequences_of([5]), embedding, tuple(lstm.parameters()), workspace)
    assert len(workspace._free) == (native.engine() == "native")


@needs_kernel
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"d": 8}, "multiple of 16"),
        ({"sizes": np.array([1, 2], np.int32)}, "increase"),
        ({"sizes": np.array([2, 0], np.int32)}, "not positive"),
        ({"sizes": np.array([], np.int32)}, "sizes has 0 bytes"),
        ({"symbols": np.array([0, 1], np.uint8)}, "symbols has 2 bytes"),
        ({"symbols": np.array([0, 1, 5], np.uint8)}, "not in the table"),
        ({"w": np.zeros(1023, np.float32)}, "w has"),
        ({"gates": np.zeros(191, np.float32)}, "gates has"),
        ({"cells": np.zeros(47, np.float32)}, "cells has"),
        ({"hidden": np.zeros(47, np.float32)}, "hidden has"),
        ({"last": np.zeros(31, np.float32)}, "last has"),
        ({"scratch": np.zeros(1087, np.float32)}, "scratch has"),
        ({"grad_last": np.zeros(31, np.float32)}, "grad_last has"),
        ({"grad_last": np.zeros(32, np.float32), "grad_w": np.zeros(9, np.float32)}, "grad_w has"),
        (
            {"grad_last": np.zeros(32, np.float32), "grad_table": b"12345678"},
            "not writable|grad_table",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, Any], problem: str) -> None:
    numbers = {"table": 320, "w": 1024, "gates": 192, "cells": 48, "hidden": 48, "last": 32}
    arrays: dict[str, Any] = {
        "d": 16,
        "sizes": np.array([2, 1], np.int32),
        "symbols": np.array([0, 1, 4], np.uint8),
        **{name: torch.zeros(n).numpy() for name, n in numbers.items()},
        "scratch": torch.zeros(1088).numpy(),
        "grad_last": None,
        "grad_table": torch.zeros(320).numpy(),
        "grad_w": torch.zeros(1024).numpy(),
    }
    assert kernel is not None
    kernel.lstm(0, *arrays.values())
    with pytest.raises((ValueError, BufferError), match=problem):
        kernel.lstm(0, *(arrays | change).values())


def test_steps_of_equal_lengths_keep_their_order() -> None:
    steps = TimeMajor.of(sequences_of([2, 3, 2, 3]))
    assert steps.order.tolist() == [1, 3, 0, 2]
    assert steps.sizes.tolist() == [4, 4, 2]
