"""sat3 in the native kernel (folder `kernel`): the functions of `sat3.py`, several times as fast.

- One call processes a whole batch in cache, a block of worlds at a time, forward or backward.
- Equal subformulas of one domain (trees that share their worlds) are evaluated once.
- POSSIBLEWORLDS_THREADS threads share the blocks. Results do not depend on their number.

The kernel also runs LSTMs (recurrence.py), TreeLSTMs (treelstm.py) and TreeNets (treenet.py).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from possibleworlds.errors import UserError

if TYPE_CHECKING:
    from possibleworlds.models.sequences import Ints
    from possibleworlds.models.trees.forest import Forest
    from possibleworlds.models.trees.sat3 import Parameters
    from possibleworlds.models.trees.workspace import Workspace

try:
    from possibleworlds.models.trees import _kernel
except ImportError:  # not built
    _kernel = None  # type: ignore[assignment]

SIZE_UNIT, MAX_SIZE = 16, 1 << 12
"""The kernel takes LSTMs, TreeLSTMs and TreeNets whose size is a multiple of the first, and at most
the second."""
PARTS = 4
"""Gradients of parameters are summed in this many parts, which are added in a fixed order."""


def _choose() -> int | None:
    """Choose one of the kernel's engines, by its number; None for the torch path."""
    choice = os.environ.get("POSSIBLEWORLDS_NATIVE", "1")
    names = _kernel.ENGINES if _kernel else ()
    if choice == "0" or not names:
        return None
    if choice == "1":
        return 0
    if choice not in names:
        raise UserError(
            f"POSSIBLEWORLDS_NATIVE is {choice}; here it can be 0, 1, {', '.join(names)}"
        )
    return int(names.index(choice))


def engine(device: torch.device | str = "cpu", size: int = SIZE_UNIT) -> str:
    """Name the engine that runs networks with worlds, LSTMs and trees: native or torch."""
    is_native = torch.device(device).type == "cpu" and _choose() is not None and _fits(size)
    return "native" if is_native else "torch"


def describe() -> str:
    """Name the engine, and the kind of vectors it uses."""
    number = _choose()
    return "torch" if number is None else f"native ({_kernel.ENGINES[number]})"


def applies(*tensors: Tensor) -> bool:
    """Whether the kernel can process these tensors."""
    fit = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    return fit and _choose() is not None


def _fits(size: int) -> bool:
    """Whether the kernel takes an LSTM, TreeLSTM or TreeNet of this size."""
    return size % SIZE_UNIT == 0 and 0 < size <= MAX_SIZE


def takes(size: int, *tensors: Tensor) -> bool:
    """Whether the kernel can process an LSTM, TreeLSTM or TreeNet with these tensors."""
    return _fits(size) and applies(*tensors)


def _number() -> int:
    """Return the number of the engine, where the kernel applies."""
    number = _choose()
    assert number is not None
    return number


def lstm(*arguments: Any) -> None:
    """Run a pass of an LSTM (see kernel/lstm.h)."""
    _kernel.lstm(_number(), *arguments)


def treelstm(*arguments: Any) -> None:
    """Run a pass of a TreeLSTM (see kernel/treelstm.h)."""
    _kernel.treelstm(_number(), *arguments)


def treenet(*arguments: Any) -> None:
    """Run a pass of a TreeNet (see kernel/treenet.h)."""
    _kernel.treenet(_number(), *arguments)


def _threads() -> int:
    text = os.environ.get("POSSIBLEWORLDS_THREADS", "1")
    if not (text.isdecimal() and int(text) > 0):
        raise UserError(f"POSSIBLEWORLDS_THREADS is {text!r}, not a number of threads")
    return int(text)


@dataclass(frozen=True)
class Plan:
    """The distinct subformulas of trees, in order of evaluation (see kernel/plan.h)."""

    code: bytes
    n_trees: int

    @classmethod
    def of(cls, forest: Forest, formula: Ints, renaming: Ints, domain_size: int) -> Plan:
        """Plan the evaluation of trees, of which each `domain_size` in a row share their worlds."""
        code = _kernel.plan(
            np.ascontiguousarray(forest.code, np.uint8),
            np.ascontiguousarray(forest.offsets, np.int64),
            np.ascontiguousarray(formula, np.int64),
            np.ascontiguousarray(renaming, np.uint8),
            max(1, domain_size),
        )
        return cls(code, len(formula))


class _Call:
    """The kernel's arguments for one batch."""

    def __init__(
        self, plan: Plan, workspace: Workspace, worlds: Tensor, parameters: Sequence[Tensor]
    ) -> None:
        n, k, d = *worlds.shape[1:], parameters[1].shape[1]
        self.batch = _number(), plan.code, n, d, k
        self.inputs: Any = [t.detach().contiguous().numpy() for t in (worlds, *parameters)]
        self.workspace, self.like = workspace, worlds.detach()
        self.scores_shape = 2, plan.n_trees, n

    def keep_units(self) -> Tensor:
        """Allocate memory for the vectors of all nodes, which a backward pass needs."""
        size, _, _ = _kernel.sizes(*self.batch, True, False, False, False)
        return self.workspace.take(size, self.like)

    def run(
        self,
        units: Tensor | None,
        scores: Tensor | None,
        grad_scores: Tensor | None = None,
        grad_worlds: Tensor | None = None,
        grad_parameters: Tensor | None = None,
    ) -> None:
        """Run the passes for all blocks of worlds; grad_parameters is (PARTS, all parameters)."""
        needs = [t is not None for t in (units, grad_scores, grad_worlds, grad_parameters)]
        _, size, n_blocks = _kernel.sizes(*self.batch, *needs)
        threads = max(1, min(_threads(), n_blocks))
        n_parts = threads if grad_parameters is None else PARTS
        cuts = [n_blocks * part // n_parts for part in range(n_parts + 1)]
        memory = self.workspace.take(threads * size, self.like)
        outputs: Any = [
            None if t is None else t.numpy() for t in (scores, grad_scores, grad_worlds)
        ]
        kept = None if units is None else units.numpy()

        def run_parts(thread: int) -> None:
            scratch = memory[thread * size : (thread + 1) * size].numpy()
            for part in range(thread, n_parts, threads):
                first, last = cuts[part : part + 2]
                sums = None if grad_parameters is None else grad_parameters[part].numpy()
                if first < last:
                    rest = kept, scratch, *outputs, sums, first, last
                    _kernel.run(*self.batch, *self.inputs, *rest)

        if threads == 1:
            run_parts(0)
        else:  # the kernel releases the GIL
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(run_parts, range(threads)))
        self.workspace.give_back(memory)


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plan: Plan, workspace: Workspace, worlds: Tensor, *parameters: Tensor
    ) -> Tensor:
        call = _Call(plan, workspace, worlds, parameters)
        units, result = call.keep_units(), worlds.new_empty(call.scores_shape)
        call.run(units, result)
        ctx.call, ctx.units, ctx.shapes = call, units, [p.shape for p in parameters]
        return result

    @staticmethod
    def backward(ctx: Any, grad_scores: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        call, units, ctx.units = ctx.call, ctx.units, None
        if units is None:
            raise RuntimeError("sat3's backward pass releases its memory, so it runs only once")
        grad_worlds = call.like.new_zeros(call.like.shape) if ctx.needs_input_grad[2] else None
        sizes = [shape.numel() for shape in ctx.shapes]
        memory = call.workspace.take(PARTS * sum(sizes), call.like)
        parts = memory[: PARTS * sum(sizes)].view(PARTS, -1).zero_()
        call.run(units, None, grad_scores.contiguous(), grad_worlds, parts)
        call.workspace.give_back(units)
        call.workspace.give_back(memory)
        gradients = zip(parts.sum(0).split(sizes), ctx.shapes, strict=True)
        return None, None, grad_worlds, *(gradient.view(shape) for gradient, shape in gradients)


def scores(plan: Plan, worlds: Tensor, parameters: Parameters, workspace: Workspace) -> Tensor:
    """Compute each tree's term of z as a left and as a right side, (2, trees, n)."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in (worlds, *parameters)):
        return _Scores.apply(plan, workspace, worlds, *parameters)
    call = _Call(plan, workspace, worlds, parameters)
    result = worlds.new_empty(call.scores_shape)
    call.run(None, result)
    return result


def world_gradients(
    plan: Plan, worlds: Tensor, parameters: Parameters, workspace: Workspace
) -> Tensor:
    """Compute the gradient of each pair's z with respect to its worlds, (pairs, n, k)."""
    call = _Call(plan, workspace, worlds, parameters)
    # z is the sum of the left term of each even tree and the right term of each odd one.
    grad_scores = worlds.new_zeros(call.scores_shape)
    grad_scores[0, 0::2] = 1
    grad_scores[1, 1::2] = 1
    result = worlds.new_zeros(worlds.shape)
    call.run(None, torch.empty_like(grad_scores), grad_scores, result)
    return result
