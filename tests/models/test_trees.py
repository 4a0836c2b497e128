"""The batched tree models agree with plain recursion, in value and gradient."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from benchmarks import recursion
from possibleworlds.models.batch import Batch
from possibleworlds.models.guidedworldnet import GuidedWorldNet, GuidedWorldNetSettings
from possibleworlds.models.possibleworldnet import (
    PossibleWorldNet,
    PossibleWorldNetSettings,
    all_worlds,
)
from possibleworlds.models.treelstm import TreeLSTM, TreeLSTMSettings
from possibleworlds.models.treenet import TreeNet, TreeNetSettings
from possibleworlds.models.trees.forest import Forest

DEEP = 1200  # beyond the 1,000 calls that Python nests
close = {"rtol": 1e-10, "atol": 1e-10}

variables = st.integers(4, 29).map(lambda v: [v])
formulas = st.recursive(
    variables,
    lambda parts: st.one_of(
        parts.map(lambda a: [*a, 0]),
        st.tuples(parts, parts, st.integers(1, 3)).map(lambda x: [*x[0], *x[1], x[2]]),
    ),
    max_leaves=12,
)


def forest_of(*codes: list[int]) -> Forest:
    offsets = np.cumsum([0, *map(len, codes)])
    return Forest(np.array([symbol for code in codes for symbol in code], np.uint8), offsets)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    forest = forest_of(*draw(st.lists(formulas, min_size=1, max_size=6)))
    rows = draw(st.integers(1, 8))
    index = st.lists(st.integers(0, len(forest) - 1), min_size=rows, max_size=rows)
    left, right = np.array(draw(index)), np.array(draw(index))
    n_permutations = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    permutations = np.stack([rng.permutation(26) for _ in range(n_permutations)])
    return Batch.of(forest, left, right, permutations, rng.integers(n_permutations, size=rows))


def chain(depth: int) -> list[int]:
    """Make a formula as deep as it has operators, of all operators."""
    code = [4]
    for i in range(depth):
        code = [*code, 0] if i % 4 == 0 else [*code, 4 + i % 26, i % 4]
    return code


@pytest.fixture(scope="module")
def deep() -> Batch:
    leaf, one = [7], [5, 6, 3]
    forest = forest_of(chain(DEEP), leaf, one, [4, *chain(DEEP - 1), 2])
    return Batch.of(forest, np.array([0, 1, 3]), np.array([1, 2, 0]))


def agree(got: Tensor, expected: Tensor, inputs: list[Tensor]) -> None:
    assert_close(got, expected, **close)
    weights = torch.randn_like(got)
    # A formula need not hold all operators: plain recursion then does not use all parameters.
    gradients = (
        torch.autograd.grad((x * weights).sum(), inputs, materialize_grads=True)
        for x in (got, expected)
    )
    assert_close(*gradients, **close)


def small(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    models = {
        "treenet": lambda: TreeNet(TreeNetSettings(size=4, mlp_size=4)),
        "treelstm": lambda: TreeLSTM(TreeLSTMSettings(size=4, mlp_size=4, mlp_layers=3)),
        "possibleworldnet": lambda: PossibleWorldNet(
            PossibleWorldNetSettings(
                size=4, world_size=5, worlds=3, output_init_scale=1.0, fixed_worlds=True
            )
        ),
        "guidedworldnet": lambda: GuidedWorldNet(
            GuidedWorldNetSettings(
                size=4, world_size=5, worlds=3, output_init_scale=1.0, binary_worlds=False
            )
        ),
    }
    return models[name]().double().eval()


def check_against_recursion(name: str, batch: Batch) -> None:
    model = small(name)
    if name == "possibleworldnet":
        expected = all_worlds(
            recursion.possibleworldnet(model, batch, model.round_worlds(model.draw_worlds(1, 3)))
        )
    else:
        expected = getattr(recursion, name)(model, batch)
    agree(model(batch), expected, list(model.parameters()))


def check_search(batch: Batch) -> None:
    model = small("guidedworldnet")
    worlds = (0.9 * model.draw_worlds(len(batch.left), 3)).requires_grad_()
    z = recursion.possibleworldnet(model, batch, worlds)
    (down,) = torch.autograd.grad(z.sum(), worlds)
    length = down.norm(dim=-1, keepdim=True)
    moved = (worlds - 0.5 * down / length).clamp(-1, 1)
    # A gradient that is nought but for rounding has no direction worth comparing.
    moved = torch.where(length > 1e-8, moved, model.search(batch, worlds, 1))
    assert_close(model.search(batch, worlds, 1), moved, **close)
    agree(
        model.search_and_evaluate(batch, worlds, 0).z,
        recursion.possibleworldnet(model, batch, worlds, model.pruned_parameters.w4),
        [worlds, *model.parameters()],
    )


@pytest.mark.parametrize("name", ["treenet", "treelstm", "possibleworldnet"])
@settings(max_examples=40)
@given(batch=batches())
def test_agrees_with_recursion(name: str, batch: Batch) -> None:
    check_against_recursion(name, batch)


@settings(max_examples=40)
@given(batch=batches())
def test_search_follows_the_gradient(batch: Batch) -> None:
    check_search(batch)


@pytest.mark.parametrize("name", ["treenet", "treelstm", "possibleworldnet"])
def test_agrees_with_recursion_on_deep_formulas(name: str, deep: Batch) -> None:
    check_against_recursion(name, deep)


def test_search_follows_the_gradient_in_deep_formulas(deep: Batch) -> None:
    check_search(deep)


@pytest.mark.parametrize("name", ["treenet", "treelstm", "possibleworldnet", "guidedworldnet"])
@settings(max_examples=20)
@given(batch=batches())
def test_a_score_does_not_depend_on_the_rest_of_the_batch(name: str, batch: Batch) -> None:
    model = small(name)
    starts = torch.rand(len(batch.left), 3, 5, dtype=torch.float64)

    def scores(part: Batch, rows: slice) -> Tensor:
        if isinstance(model, GuidedWorldNet):
            return model.search_and_evaluate(part, starts[rows], 2).z
        log_probs: Tensor = model(part)
        return log_probs

    with torch.no_grad():
        everything = scores(batch, slice(None))
        for i, (left, right) in enumerate(zip(batch.left, batch.right, strict=True)):
            # The symbols of both sides of a row are the same, so one permutation serves.
            alone = Batch.of(
                batch.forest, batch.formula[[left]], batch.formula[[right]], batch.renaming[[left]]
            )
            assert_close(scores(alone, slice(i, i + 1))[0], everything[i], **close)


@pytest.mark.parametrize("name", ["treenet", "treelstm"])
def test_gradients_can_be_changed_in_place(name: str) -> None:
    model = small(name)
    batch = Batch.of(forest_of([4, 0, 5, 1], [5]), np.array([0]), np.array([1]))
    model(batch).sum().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)  # fails on inference tensors
    assert not any(p.grad.is_inference() for p in model.parameters() if p.grad is not None)


def test_equal_trees_are_evaluated_once() -> None:
    forest = forest_of([4, 5, 1], [4, 0], [5], [4, 5, 2])
    left, right = np.array([0, 2, 0, 2]), np.array([1, 3, 3, 1])
    assert len(Batch.of(forest, left, right).formula) == 4
    two = np.stack((np.arange(26), np.arange(26)[::-1]))
    assert len(Batch.of(forest, left, right, two, np.array([0, 0, 1, 1])).formula) == 8


@pytest.mark.parametrize("name", ["possibleworldnet", "guidedworldnet"])
def test_networks_can_be_used_inside_and_outside_of_inference_mode(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    model = small(name).eval()

    def scores() -> torch.Tensor:
        return model(Batch.of(forest_of([4, 5, 1]), np.array([0]), np.array([0])))

    with torch.inference_mode():
        scores()
    with torch.no_grad():
        scores()


def test_backward_gives_the_memory_back_and_runs_once() -> None:
    model = small("possibleworldnet")
    batch = Batch.of(forest_of([4, 5, 1]), np.array([0]), np.array([0]))
    loss = model(batch).sum()
    loss.backward(retain_graph=True)
    assert len(model.workspace._free) == 1
    with pytest.raises(RuntimeError, match="only once"):
        loss.backward()


def test_a_model_can_be_copied() -> None:
    model = small("guidedworldnet")
    batch = Batch.of(forest_of([4, 5, 1], [4, 0]), np.array([0]), np.array([1]))
    model(batch)
    copied = copy.deepcopy(model)
    worlds = model.draw_worlds(1, 3)
    assert_close(
        copied.search_and_evaluate(batch, worlds, 2).z,
        model.search_and_evaluate(batch, worlds, 2).z,
        **close,
    )


def test_two_passes_before_a_backward_do_not_disturb_each_other() -> None:
    model = small("possibleworldnet")
    batch = Batch.of(forest_of([4, 5, 1], [4, 0]), np.array([0]), np.array([1]))
    first, second = model(batch).sum(), model(batch).sum()
    both = torch.autograd.grad(first + second, model.w1)[0]
    once = torch.autograd.grad(model(batch).sum(), model.w1)[0]
    assert_close(both, 2 * once, **close)


def test_log_probabilities_are_finite_at_both_ends() -> None:
    z = torch.tensor([[200.0, 200.0], [-200.0, 5.0], [30.0, 40.0]], requires_grad=True)
    log = all_worlds(z)
    assert log.isfinite().all()
    log.sum().backward()
    assert z.grad is not None
    assert z.grad.isfinite().all()
