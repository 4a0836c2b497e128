"""TreeLSTMs in the native kernel agree with recursion, and the kernel takes nothing that hurts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from benchmarks import recursion
from possibleworlds.models.batch import Batch
from possibleworlds.models.treelstm import TreeLSTM, TreeLSTMSettings
from tests.models.test_native import balanced, kernel, needs_kernel, vectors
from tests.models.test_trees import DEEP, batches, chain, forest_of

__all__ = ["vectors"]


def treelstm(size: int) -> TreeLSTM:
    torch.manual_seed(size)
    return TreeLSTM(TreeLSTMSettings(size=size, embedding_size=5, mlp_size=8))


def with_gradients(log_probs: Tensor, model: TreeLSTM) -> list[Tensor]:
    """Log probabilities, and the gradients of a sum of them with fixed weights."""
    weights = torch.linspace(-1, 2, log_probs.numel()).view_as(log_probs).to(log_probs)
    inputs = list(model.parameters())
    of_sum = torch.autograd.grad((log_probs * weights).sum(), inputs, materialize_grads=True)
    return [log_probs.detach(), *of_sum]


def check_against_recursion(size: int, batch: Batch) -> None:
    model, exact = treelstm(size), treelstm(size).double()
    exact.load_state_dict(model.state_dict())
    got = with_gradients(model(batch), model)
    for one, other in zip(
        got, with_gradients(recursion.treelstm(exact, batch), exact), strict=True
    ):
        scale = max(1e-3, float(other.abs().max()))
        assert_close(one.double(), other, atol=2e-5 * scale, rtol=1e-3)


@needs_kernel
@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("size", [16, 48, 64])
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=batches())
def test_agrees_with_recursion(size: int, batch: Batch) -> None:
    check_against_recursion(size, batch)


@needs_kernel
@pytest.mark.usefixtures("vectors")
def test_agrees_with_recursion_on_large_formulas() -> None:
    forest = forest_of(chain(DEEP), balanced(8), [4], [4, 0], [4, 4, 3])
    check_against_recursion(32, Batch.of(forest, np.array([0, 1, 2]), np.array([3, 4, 2])))


@needs_kernel
@given(st.data())
def test_variables_alone_are_not_evaluated(data: st.DataObject) -> None:
    variable = st.integers(4, 29).map(lambda code: [code])
    forest = forest_of(*data.draw(st.lists(variable, min_size=2, max_size=4)))
    check_against_recursion(16, Batch.of(forest, np.array([0]), np.array([1])))


@needs_kernel
def test_large_weights_saturate_the_gates() -> None:
    model, batch = treelstm(16), Batch.of(forest_of([4, 5, 1], [5]), np.array([0]), np.array([1]))
    with torch.no_grad():
        model.w_binary *= 1e6
        model.b_binary *= 1e6
    log_probs, *gradients = with_gradients(model(batch), model)
    expected = with_gradients(recursion.treelstm(model, batch), model)[0]
    assert_close(log_probs, expected, atol=1e-5, rtol=1e-5)
    assert all(gradient.isfinite().all() for gradient in gradients)


@needs_kernel
def test_backward_runs_once() -> None:
    model, batch = treelstm(16), Batch.of(forest_of([4, 5, 1], [5]), np.array([0]), np.array([1]))
    loss = model(batch).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only once"):
        loss.backward()


def numbers(size: int) -> Any:
    return torch.zeros(size).numpy()


@needs_kernel
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"d": 8}, "multiple of 16"),
        ({"groups": np.array([[4, 1], [2, 1]], np.int32)}, "no operator"),
        ({"groups": np.array([[0, 1], [2, 0]], np.int32)}, "no rows"),
        ({"groups": np.array([[0, 2], [2, 1]], np.int32)}, "arguments has"),
        ({"arguments": np.array([[26, 0], [0, 26]])}, "before its group"),
        ({"arguments": np.array([[0, 0], [0, 27]])}, "before its group"),
        ({"arguments": np.array([[-1, 0], [0, 26]])}, "before its group"),
        ({"w_not": numbers(1023)}, "w_not has"),
        ({"w_binary": numbers(7679)}, "w_binary has"),
        ({"biases": numbers(319)}, "biases has"),
        ({"x": numbers(63)}, "x has"),
        ({"gates": numbers(159)}, "gates has"),
        ({"hidden": numbers(447)}, "hidden has"),
        ({"cells": numbers(447)}, "cells has"),
        ({"scratch": numbers(8735)}, "scratch has"),
        ({"scratch": numbers(8740)[1:]}, "whole vector"),
        ({"of_hidden": numbers(447)}, "of_hidden has"),
        ({"of_hidden": numbers(448), "of_cells": numbers(447)}, "of_cells has"),
        ({"of_hidden": numbers(448), "of_cells": b"1"}, "not writable|of_cells"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, Any], problem: str) -> None:
    arrays: dict[str, Any] = {
        "d": 16,
        "groups": np.array([[0, 1], [2, 1]], np.int32),
        "arguments": np.array([[0, 999], [0, 26]]),  # a negation's second one is ignored
        "w_not": numbers(1024),
        "w_binary": numbers(7680),
        "biases": numbers(320),
        "x": numbers(64),
        "gates": numbers(160),
        "hidden": numbers(448),
        "cells": numbers(448),
        "scratch": numbers(8736),
        "of_hidden": None,
        "of_cells": None,
    }
    assert kernel is not None
    kernel.treelstm(0, *arrays.values())
    with pytest.raises((ValueError, BufferError), match=problem):
        kernel.treelstm(0, *(arrays | change).values())
