"""The kernel in C agrees with torch and with plain recursion, and takes nothing that would hurt."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from numpy.typing import NDArray
from torch import Tensor
from torch.testing import assert_close

import possibleworlds
from benchmarks import recursion
from possibleworlds.errors import UserError
from possibleworlds.models.batch import Batch
from possibleworlds.models.guidedworldnet import GuidedWorldNet, GuidedWorldNetSettings
from possibleworlds.models.possibleworldnet import PossibleWorldNet, PossibleWorldNetSettings
from possibleworlds.models.trees import engine, native
from possibleworlds.models.trees.forest import Forest
from possibleworlds.models.trees.sat3 import Parameters
from possibleworlds.models.trees.workspace import Workspace
from tests.models.test_trees import batches, chain, forest_of
from tests.sanitize import run_with_sanitizers

kernel = native._kernel
ENGINES = kernel.ENGINES if kernel else ()
needs_kernel = pytest.mark.skipif(not ENGINES, reason="the kernel is not built here")
SIZES = [(32, 26, 128), (64, 26, 33), (2, 3, 1), (7, 5, 3), (33, 17, 41), (100, 26, 7), (48, 9, 64)]
"""d, k and n: some fill vectors, tiles and blocks of worlds, others leave a rest of each."""


@pytest.fixture(params=ENGINES)
def vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each kind of vectors that this processor has, in turn."""
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", request.param)
    return str(request.param)


def balanced(height: int) -> list[int]:
    """Make a formula with all leaves at the same height, of all binary operators."""
    if height == 0:
        return [4]
    left = balanced(height - 1)
    right = [4 + (s - 4 + height) % 26 if s >= 4 else s for s in left]
    return [*left, *right, 1 + height % 3]


def mixed() -> Batch:
    """Make a batch of deep, wide and small trees, with common subformulas and one leaf alone."""
    forest = forest_of(chain(300), balanced(7), [7], [5, 6, 3], [5, 6, 3, 0], [5, 6, 3, 5, 6, 3, 1])
    left, right = np.array([0, 1, 2, 2, 4, 5, 3]), np.array([1, 0, 2, 3, 3, 4, 2])
    rng = np.random.default_rng(0)
    permutations = np.stack([np.arange(26), rng.permutation(26)])
    return Batch.of(forest, left, right, permutations, np.array([0, 1, 0, 1, 0, 1, 0]))


def tensors(domains: int, d: int, k: int, n: int) -> list[Tensor]:
    """Draw worlds and parameters."""
    generator = torch.Generator().manual_seed(d)
    shapes = ((domains, n, k), (26, k, d), (7, d, d), (4, d), (2, d))
    scales = (1, k**-0.5, d**-0.5, 1, 1)
    drawn = zip(shapes, scales, strict=True)
    return [torch.randn(s, generator=generator).mul_(x).requires_grad_() for s, x in drawn]


def compute(batch: Batch, inputs: list[Tensor], private: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Compute scores, and all gradients of a sum of them with random weights."""
    worlds, *parameters = inputs
    scores = engine.scores(batch, worlds, Parameters(*parameters), Workspace(), private)
    weights = torch.randn(scores.shape, generator=torch.Generator().manual_seed(0))
    gradients = torch.autograd.grad((scores * weights.to(scores)).sum(), inputs)
    return scores, gradients


def assert_near(single: Tensor, double: Tensor) -> None:
    """Assert that a result differs from that in double precision by rounding alone."""
    scale = double.abs().max().item()
    assert_close(single.double(), double, rtol=1e-4, atol=2e-5 * scale)


@needs_kernel
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_agrees_with_torch(size: tuple[int, int, int], private: bool, vectors: str) -> None:
    assert native.describe() == f"native ({vectors})"
    batch = mixed()
    inputs = tensors(len(batch.left) if private else 1, *size)
    double = [t.detach().double().requires_grad_() for t in inputs]
    assert native.applies(*inputs)
    assert not native.applies(*double)
    (got, gradients), (expected, exact) = (compute(batch, x, private) for x in (inputs, double))
    assert got.dtype == torch.float32
    assert_near(got, expected)
    for gradient, reference in zip(gradients, exact, strict=True):
        assert_near(gradient, reference)
    with torch.no_grad():  # which keeps nothing for a backward pass
        again = engine.scores(batch, inputs[0], Parameters(*inputs[1:]), Workspace(), private)
    assert torch.equal(again, got)


@needs_kernel
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_worlds_share_vectors_only_where_they_are_equal(
    size: tuple[int, int, int], private: bool, vectors: str
) -> None:
    assert vectors in native.describe()
    batch = mixed()
    worlds, w4, *rest = (t.detach() for t in tensors(len(batch.left) if private else 1, *size))
    k = size[1]
    for variable in range(0, 26, 2):  # half of them depend on one component, the others on all
        w4[variable].mul_(torch.eye(k)[variable % k][:, None])
    w4[8] = 0  # or on none
    corners = 1 - 2 * (worlds < 0).to(worlds)
    corners[:, 1:] = torch.where(worlds[:, 1:] > 1, corners[:, 1:], corners[:, :1])
    for chosen in (corners, worlds):
        parameters = Parameters(w4, *rest)
        got = engine.scores(batch, chosen, parameters, Workspace(), private)
        kept = engine.scores(  # keeps all vectors, for a backward pass
            batch, chosen.clone().requires_grad_(), parameters, Workspace(), private
        )
        assert torch.equal(got, kept.detach())


@needs_kernel
@pytest.mark.parametrize("size", SIZES)
def test_gradients_of_worlds_agree_with_torch(size: tuple[int, int, int], vectors: str) -> None:
    assert vectors in native.describe()
    batch = mixed()
    worlds, *parameters = (t.detach() for t in tensors(len(batch.left), *size))
    double = Parameters(*(p.double() for p in parameters))
    got = engine.world_gradients(batch, worlds, Parameters(*parameters), Workspace())
    expected = engine.world_gradients(batch, worlds.double(), double, Workspace())
    assert_near(got, expected)


@needs_kernel
@settings(max_examples=60)
@given(batch=batches())
def test_agrees_with_recursion(batch: Batch) -> None:
    torch.manual_seed(0)
    chosen = PossibleWorldNetSettings(size=9, world_size=5, worlds=6, output_init_scale=1.0)
    net = PossibleWorldNet(chosen)
    worlds = net.draw_worlds(1, 6)
    shared = engine.scores(batch, worlds, net.parameters_of_sat3, net.workspace)
    z = shared[0, batch.left] + shared[1, batch.right] + net.f.bias
    gradients = torch.autograd.grad(z.sum(), list(net.parameters()))
    exact = net.double()
    expected = recursion.possibleworldnet(exact, batch, worlds.double())
    assert_near(z.detach(), expected.detach())
    inputs = list(exact.parameters())
    references = torch.autograd.grad(expected.sum(), inputs, materialize_grads=True)
    for gradient, reference in zip(gradients, references, strict=True):
        assert_close(gradient.double(), reference, rtol=1e-3, atol=1e-3)


@needs_kernel
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, results = mixed(), []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("POSSIBLEWORLDS_THREADS", threads)
        scores, gradients = compute(batch, tensors(len(batch.left), 16, 26, 100), private=True)
        results.append((scores, *gradients))
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert torch.equal(one, same)
    monkeypatch.setenv("POSSIBLEWORLDS_THREADS", "many")
    with pytest.raises(UserError, match="'many', not a number"):
        compute(batch, tensors(1, 4, 4, 4), private=False)


@pytest.mark.parametrize("setting", ["0", pytest.param("1", marks=needs_kernel)])
@pytest.mark.parametrize("private", [False, True])
def test_an_empty_batch_has_no_scores_and_gradients_of_nought(
    private: bool, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", setting)
    none = np.array([], np.int64)
    batch = Batch.of(forest_of([4], [5, 0]), none, none)
    scores, gradients = compute(batch, tensors(0 if private else 1, 8, 3, 5), private)
    assert scores.shape == (2, 0, 5)
    assert all(not gradient.any() for gradient in gradients)


@needs_kernel
def test_backward_runs_only_once() -> None:
    inputs = tensors(1, 4, 4, 4)
    scores = engine.scores(mixed(), inputs[0], Parameters(*inputs[1:]), Workspace())
    scores.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only once"):
        scores.sum().backward()


@needs_kernel
def test_memory_is_reused_from_batch_to_batch() -> None:
    net = PossibleWorldNet(PossibleWorldNetSettings(size=8, worlds=40))
    batch = mixed()
    for _ in range(3):
        net(batch).sum().backward()
        addresses = sorted(buffer.data_ptr() for buffer in net.workspace._free)
        assert len(addresses) == 3  # vectors, scratch, gradients
    net(batch).sum().backward()
    assert addresses == sorted(buffer.data_ptr() for buffer in net.workspace._free)


def test_the_environment_chooses_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    assert native.engine() == native.describe() == "torch"
    assert not native.applies(torch.zeros(1))
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "1")
    assert native.engine() == ("native" if ENGINES else "torch")
    assert native.engine("meta") == "torch"
    assert not native.applies(torch.zeros(1, device="meta"))
    if ENGINES:
        monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "mmx")
        with pytest.raises(UserError, match=r"POSSIBLEWORLDS_NATIVE is mmx; here it can be 0, 1, "):
            native.engine()


def test_both_engines_give_the_same_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    chosen = {"size": 16, "worlds": 8, "steps": 3, "search_evaluations": 0}
    net = GuidedWorldNet(GuidedWorldNetSettings(fixed_worlds=True, **chosen))
    results = []
    for choice in ("0", "1"):
        monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", choice)
        with torch.no_grad():
            results.append(net.eval()(mixed()))
    assert_close(*results, rtol=1e-3, atol=1e-3)


def test_both_engines_give_the_same_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    # Their searches part where flips have equal scores up to rounding, but end alike.
    kinds: list[dict[str, Any]] = [{}, {"method": "mutated", "variables": (16, 17)}]
    network, labels = possibleworlds.load("guidedworldnet"), []
    for choice in ("0", "1"):
        monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", choice)
        for kind in kinds:
            pairs = possibleworlds.generate(8, seed=5, **kind)
            labels.append([network.decide(p.premise, p.conclusion).entails for p in pairs])
    assert labels[:2] == labels[2:]


def plan_of(forest: Forest, formula: list[int], renaming: NDArray[Any], size: int = 1) -> bytes:
    arrays = forest.code, forest.offsets.astype(np.int64), np.array(formula), renaming
    return kernel.plan(*arrays, size)


@needs_kernel
def test_equal_subformulas_are_planned_once() -> None:
    forest = forest_of([4, 5, 1, 4, 3], [4, 5, 1])  # (a & b) > a, and a & b
    names = np.tile(np.arange(26, dtype=np.uint8), (2, 1))
    header = np.frombuffer(plan_of(forest, [0, 1], names, 2), np.int32, 6)
    assert header.tolist() == [2, 1, 4, 0, 4, 0]  # trees, domains, nodes, products; most of each
    header = np.frombuffer(plan_of(forest, [0, 1], names, 1), np.int32, 6)
    assert header.tolist() == [2, 2, 7, 0, 4, 0]


@needs_kernel
def test_malformed_input_is_refused() -> None:
    names = np.arange(26, dtype=np.uint8)[None]
    for code in ([1], [4, 1], [4, 5], [30], [0]):
        with pytest.raises(ValueError, match="reverse Polish"):
            plan_of(object_of(code), [0], names)
    good = object_of([4, 5, 1])
    with pytest.raises(ValueError, match="reverse Polish"):
        plan_of(good, [0], names + 26)
    for formula in (-1, 1):
        with pytest.raises(ValueError, match="outside"):
            plan_of(good, [formula], names)
    with pytest.raises(ValueError, match="variables has 25 bytes"):
        plan_of(good, [0], names[:, 1:].copy())
    with pytest.raises(ValueError, match="not positive"):
        plan_of(good, [0], names, 0)

    plan, shape = plan_of(good, [0], names), (5, 4, 3)
    with pytest.raises(ValueError, match="no such engine"):
        kernel.sizes(9, plan, *shape, True, True, True, True)
    with pytest.raises(ValueError, match="not a plan"):
        kernel.sizes(0, plan[:-1], *shape, True, True, True, True)
    units, scratch, blocks = kernel.sizes(0, plan, *shape, True, True, True, True)
    sizes = [15, 312, 112, 16, 8, units, scratch, 10, 10, 15, 448]
    arrays = [torch.zeros(size).numpy() for size in sizes]
    kernel.run(0, plan, *shape, *arrays, 0, blocks)
    for i in range(len(arrays)):
        short = [a[1:] if i == j else a for j, a in enumerate(arrays)]
        with pytest.raises(ValueError, match=r" has \d+ bytes, not "):
            kernel.run(0, plan, *shape, *short, 0, blocks)
    with pytest.raises(ValueError, match="a block is none"):
        kernel.run(0, plan, *shape, *arrays, 0, blocks + 1)
    arrays[6] = torch.zeros(scratch + 1).numpy()[1:]
    with pytest.raises(ValueError, match="whole vector"):
        kernel.run(0, plan, *shape, *arrays, 0, blocks)


def object_of(code: list[int]) -> Any:
    """Make what looks like a forest of one formula, well-formed or not."""

    class Formulas:
        def __init__(self) -> None:
            self.code = np.array(code, np.uint8)
            self.offsets = np.array([0, len(code)])

    return Formulas()


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("aarch64-linux-gnu-gcc") or not shutil.which("qemu-aarch64"),
    reason="needs aarch64-linux-gnu-gcc and qemu-aarch64",
)
def test_neon_agrees_with_this_processor(tmp_path: Path) -> None:
    """Build the kernel for ARM, run it on an emulated processor, and compare all its numbers."""
    source = Path(native.__file__).parent / "kernel"
    files = [str(Path(__file__).with_name("kernel.c")), str(source / "plan.c")]
    flags = ["-O3", "-ffp-contract=fast", "-Wno-psabi", "-static", f"-I{source}"]
    programs = {"gcc": [], "aarch64-linux-gnu-gcc": ["qemu-aarch64"]}
    for compiler, command in programs.items():
        command.append(str(tmp_path / compiler))
        subprocess.run([compiler, *flags, *files, "-o", command[-1], "-lm"], check=True)
    for d, k, n in SIZES:
        ours, of_arm = (
            np.array(subprocess.check_output([*command, str(n), str(d), str(k)]).split(), float)
            for command in programs.values()
        )
        assert np.abs(ours).max() > 0.1
        assert_close(of_arm, ours, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sanitizers are preloaded the way of Linux")
@pytest.mark.parametrize("tests", ["test_native.py", "test_recurrence.py", "test_tree_kernels.py"])
def test_sanitizers_find_nothing(tests: str, tmp_path: Path) -> None:
    folder = Path(native.__file__).parent / "kernel"
    sources = [folder / name for name in ("module.c", "plan.c")]
    file = Path(__file__).parent / tests
    run_with_sanitizers("possibleworlds.models.trees._kernel", sources, file, tmp_path)
