"""TreeLSTMs and TreeNets: the kernel agrees with recursion, and takes nothing that hurts."""

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
from possibleworlds.models.treenet import TreeNet, TreeNetSettings
from tests.models.test_native import balanced, kernel, needs_kernel, vectors
from tests.models.test_trees import DEEP, batches, chain, forest_of

__all__ = ["vectors"]


BOTH = pytest.mark.parametrize("name", ["treelstm", "treenet"])


def network(name: str, size: int) -> TreeLSTM | TreeNet:
    torch.manual_seed(size)
    if name == "treelstm":
        return TreeLSTM(TreeLSTMSettings(size=size, embedding_size=5, mlp_size=8))
    return TreeNet(TreeNetSettings(size=size, mlp_size=8))


def treelstm(size: int) -> TreeLSTM:
    model = network("treelstm", size)
    assert isinstance(model, TreeLSTM)
    return model


def with_gradients(log_probs: Tensor, model: TreeLSTM | TreeNet) -> list[Tensor]:
    """Log probabilities, and the gradients of a sum of them with fixed weights."""
    weights = torch.linspace(-1, 2, log_probs.numel()).view_as(log_probs).to(log_probs)
    inputs = list(model.parameters())
    of_sum = torch.autograd.grad((log_probs * weights).sum(), inputs, materialize_grads=True)
    return [log_probs.detach(), *of_sum]


def check_against_recursion(name: str, size: int, batch: Batch) -> None:
    model, exact = network(name, size), network(name, size).double()
    exact.load_state_dict(model.state_dict())
    by_recursion = getattr(recursion, name)(exact, batch)
    got = with_gradients(model(batch), model)
    for one, other in zip(got, with_gradients(by_recursion, exact), strict=True):
        scale = max(1e-3, float(other.abs().max()))
        assert_close(one.double(), other, atol=2e-5 * scale, rtol=1e-3)


@needs_kernel
@pytest.mark.usefixtures("vectors")
@BOTH
@pytest.mark.parametrize("size", [16, 48, 64])
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=batches())
def test_agrees_with_recursion(name: str, size: int, batch: Batch) -> None:
    check_against_recursion(name, size, batch)


@needs_kernel
@pytest.mark.usefixtures("vectors")
@BOTH
def test_agrees_with_recursion_on_large_formulas(name: str) -> None:
    forest = forest_of(chain(DEEP), balanced(8), [4], [4, 0], [4, 4, 3])
    check_against_recursion(name, 32, Batch.of(forest, np.array([0, 1, 2]), np.array([3, 4, 2])))


@needs_kernel
@BOTH
@given(st.data())
def test_variables_alone_are_not_evaluated(name: str, data: st.DataObject) -> None:
    variable = st.integers(4, 29).map(lambda code: [code])
    forest = forest_of(*data.draw(st.lists(variable, min_size=2, max_size=4)))
    check_against_recursion(name, 16, Batch.of(forest, np.array([0]), np.array([1])))


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
@pytest.mark.usefixtures("vectors")
def test_treenet_agrees_with_torch_over_steps_of_adam(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = forest_of(balanced(5), [4, 5, 1], [4, 0], [6])
    batch = Batch.of(forest, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]))
    losses = []
    for engine in ("0", "1"):
        monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", engine)
        model = network("treenet", 32)
        adam = torch.optim.Adam(model.parameters())
        for _ in range(20):
            adam.zero_grad()
            loss = -model(batch)[:, 1].mean()
            loss.backward()
            adam.step()
        losses.append(loss.detach())
    assert_close(*losses, atol=1e-4, rtol=1e-3)


@needs_kernel
def test_treenet_backward_may_run_twice() -> None:
    model = network("treenet", 16)
    loss = model(Batch.of(forest_of([4, 5, 1], [5]), np.array([0]), np.array([1]))).sum()
    loss.backward(retain_graph=True)
    first = [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]
    model.zero_grad()
    loss.backward()
    for weight, gradient in zip(model.parameters(), first, strict=True):
        assert weight.grad is not None
        assert torch.equal(weight.grad, gradient)


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
        ({"grad_hidden": numbers(447)}, "grad_hidden has"),
        ({"grad_hidden": numbers(448), "grad_cells": numbers(447)}, "grad_cells has"),
        ({"grad_hidden": numbers(448), "grad_cells": b"1"}, "not writable|grad_cells"),
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
        "grad_hidden": None,
        "grad_cells": None,
    }
    assert kernel is not None
    kernel.treelstm(0, *arrays.values())
    with pytest.raises((ValueError, BufferError), match=problem):
        kernel.treelstm(0, *(arrays | change).values())


@needs_kernel
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"d": 8}, "multiple of 16"),
        ({"d": 8192}, "too large"),
        ({"groups": np.array([[4, 1], [2, 1]], np.int32)}, "no operator"),
        ({"arguments": np.array([[26, 0], [0, 26]])}, "before its group"),
        ({"w13": numbers(3583)}, "w13 has"),
        ({"b13": numbers(127)}, "b13 has"),
        ({"w2": numbers(1023)}, "w2 has"),
        ({"x": numbers(63)}, "x has"),
        ({"hidden": numbers(31)}, "hidden has"),
        ({"scales": numbers(1)}, "scales has"),
        ({"vectors": numbers(447)}, "vectors has"),
        ({"scratch": numbers(4799)}, "scratch has"),
        ({"scratch": numbers(4804)[1:]}, "whole vector"),
        ({"grad_vectors": numbers(447)}, "grad_vectors has"),
        ({"grad_vectors": numbers(448), "grad_w13": numbers(3583)}, "grad_w13 has"),
        ({"grad_vectors": numbers(448), "grad_b13": numbers(127)}, "grad_b13 has"),
        ({"grad_vectors": numbers(448), "grad_w2": numbers(1023)}, "grad_w2 has"),
    ],
)
def test_arrays_that_do_not_fit_a_treenet_are_refused(change: dict[str, Any], problem: str) -> None:
    arrays: dict[str, Any] = {
        "d": 16,
        "groups": np.array([[0, 1], [2, 1]], np.int32),
        "arguments": np.array([[0, 999], [0, 26]]),
        "w13": numbers(3584),
        "b13": numbers(128),
        "w2": numbers(1024),
        "x": numbers(64),
        "hidden": numbers(32),
        "scales": numbers(2),
        "vectors": numbers(448),
        "scratch": numbers(4800),
    }
    no_pass = {"grad_vectors": None}
    gradients = {"grad_w13": numbers(3584), "grad_b13": numbers(128), "grad_w2": numbers(1024)}
    assert kernel is not None
    kernel.treenet(0, *arrays.values(), None, None, None, None)
    with pytest.raises((ValueError, BufferError), match=problem):
        kernel.treenet(0, *(arrays | no_pass | gradients | change).values())
