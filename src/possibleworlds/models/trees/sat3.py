"""sat3 of the paper for a batch of formulas and worlds, with a backward pass written by hand.

    sat3(w, v) = u(W4^v w)      sat3(w, op(l, r)) = u(W1^op [l, r] + b1^op)      u(h) = h / |h|

A row of a buffer holds the vectors of a node in all worlds, one after the other, (n * d,). Rows are
in the order of `Messages` (levels.py), so that every step is one operation on contiguous memory.
The message of a root is its term of z = W_f [sat3(w, A), sat3(w, B)], once as A and once as B.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from possibleworlds.logic.alphabet import N_OPERATORS
from possibleworlds.models.trees.forest import ROOT
from possibleworlds.models.trees.levels import Messages
from possibleworlds.models.trees.workspace import Workspace


class Parameters(NamedTuple):
    """The parameters of sat3 and of f; all but W_f are applied from the right."""

    w4: Tensor  # (26, k, d)
    w1: Tensor  # (slots, d, d)
    b1: Tensor  # (operators, d)
    wf: Tensor  # (2, d)


def _sum_rows(rows: Tensor, index: Tensor, first: Tensor) -> Tensor:
    """Sum rows: result i is the sum of rows[index[first[i]:first[i + 1]]]."""
    return torch.embedding_bag(rows, index, first, mode=0, include_last_offset=True)[0]


class _Memory:
    """One block of memory, divided into a part for each kind of row."""

    def __init__(self, order: Messages, n: int, d: int, like: Tensor, workspace: Workspace) -> None:
        heights = [len(order.leaf), *(level.size for level in order.levels)]
        n_leaves, largest = len(order.domain), max(len(order.domain), *heights[1:], 0)
        # Unit vectors, messages, leaves, scratch; and a number for each vector.
        rows = (order.n_rows, order.n_rows + N_OPERATORS, n_leaves, largest)
        counts = [count * n for count in rows]
        total = sum(counts)
        self.buffer = workspace.take(total * (d + 1), like)
        vectors, numbers = self.buffer[: total * (d + 1)].split([total * d, total])
        # (rows * n, d) each
        self.units, self.messages, self.leaves, self.scratch = vectors.view(-1, d).split(counts)
        # (rows * n, 1) each
        scales, _, self.leaf_scales, self.dots = numbers.view(-1, 1).split(counts)
        heights = [height * n for height in heights]
        self.units_at, self.scales_at = self.units.split(heights), scales.split(heights)
        self.messages_at = self.messages[: order.n_rows * n].split(heights)


class TreePass:
    """The forward pass of a batch and then its backward pass, in one block of memory."""

    def __init__(
        self, order: Messages, worlds: Tensor, parameters: Parameters, workspace: Workspace
    ) -> None:
        """Allocate memory for a batch in worlds (domains, n, k)."""
        self.order, self.parameters, self.workspace = order, parameters, workspace
        n, d = self.shape = worlds.shape[1], parameters.w1.shape[1]
        self._memory: _Memory | None = _Memory(order, n, d, worlds, workspace)
        self.row_sum = worlds.new_ones(d, 1)  # a product with it is the fastest sum over a row
        self.sizes = [size * n for size in order.sizes]
        self.root_sizes = [self.sizes[i] for i in order.root_groups]
        self.leaf_sizes = [count * n for _, count in order.variables]
        # (distinct leaves * n, k)
        self.leaf_worlds = worlds.index_select(0, order.domain).view(len(order.domain) * n, -1)

    @property
    def memory(self) -> _Memory:
        """The memory of the evaluation; raise RuntimeError once it has been given back."""
        if self._memory is None:
            raise RuntimeError("sat3's backward pass overwrites what it needs: it runs only once")
        return self._memory

    def forward(self) -> Tensor:
        """Compute each root's term of z as a left and as a right side, (2, roots * n)."""
        order, (w4, w1, b1, wf), (n, d) = self.order, self.parameters, self.shape
        memory = self.memory
        matrices = w4.unbind()
        worlds = self.leaf_worlds.split(self.leaf_sizes)
        leaves = memory.leaves.split(self.leaf_sizes)
        for (variable, _), world, leaf in zip(order.variables, worlds, leaves, strict=True):
            torch.mm(world, matrices[variable], out=leaf)
        self._normalise(memory.leaves, memory.leaves, memory.leaf_scales)
        leaf_rows = memory.units_at[0].view(-1, n * d)
        torch.index_select(memory.leaves.view(-1, n * d), 0, order.leaf, out=leaf_rows)
        rows = memory.messages.view(-1, n * d)
        rows[order.n_rows :].view(-1, n, d).copy_(b1[:, None])

        matrices = w1.unbind()
        scores = rows.new_empty(2, sum(self.root_sizes))
        units = memory.units.split(self.sizes)
        messages = list(memory.messages[: order.n_rows * n].split(self.sizes))
        for i, term in zip(order.root_groups, scores.split(self.root_sizes, 1), strict=True):
            messages[i] = term

        def send(groups: list[tuple[int, int]]) -> None:
            for slot, i in groups:
                if slot < ROOT:
                    torch.mm(units[i], matrices[slot], out=messages[i])
                else:
                    torch.mm(wf, units[i].t(), out=messages[i])

        send(order.leaf_groups)
        for height, level in enumerate(order.levels, 1):
            sums = _sum_rows(rows, level.inputs, level.first_input)
            self._normalise(sums.view(-1, d), memory.units_at[height], memory.scales_at[height])
            send(level.groups)
        return scores

    def backward(
        self, grad_scores: Tensor, grad_parameters: bool = True, grad_worlds: bool = False
    ) -> tuple[Tensor | None, Parameters | None]:
        """Compute the gradients of worlds and of parameters, and close the evaluation."""
        order, parameters, memory, (n, d) = self.order, self.parameters, self.memory, self.shape
        # From here on, the memory of messages holds the gradients of the rows that sent them.
        rows, scratch = memory.messages.view(-1, n * d), memory.scratch.view(-1, n * d)
        units = memory.units.t().split(self.sizes, 1)
        grad_units = memory.messages[: order.n_rows * n].split(self.sizes)
        grad_roots = dict(
            zip(order.root_groups, grad_scores.split(self.root_sizes, 1), strict=True)
        )
        matrices = parameters.w1.transpose(1, 2).contiguous().unbind()
        gradients = Parameters(*map(torch.zeros_like, parameters))
        grad_matrices = gradients.w1.unbind()
        grad_sums = []

        def pass_on(groups: list[tuple[int, int]], received: Tensor) -> None:
            sizes = [self.sizes[i] for slot, i in groups if slot < ROOT]
            pieces = received.view(-1, d).split(sizes) if sizes else ()
            for (slot, i), piece in zip(groups, pieces, strict=False):
                if grad_parameters:
                    grad_matrices[slot].addmm_(units[i], piece)
                torch.mm(piece, matrices[slot], out=grad_units[i])
            slot, i = groups[-1]
            if slot == ROOT:
                if grad_parameters:
                    gradients.wf.addmm_(grad_roots[i], units[i].t())
                torch.mm(grad_roots[i].t(), parameters.wf, out=grad_units[i])

        for height, level in reversed([*enumerate(order.levels, 1)]):
            received = scratch[: len(level.outputs)]
            torch.index_select(rows, 0, level.outputs, out=received)
            pass_on(level.groups, received)
            grad_nodes = memory.messages_at[height]
            self._normalise_backward(grad_nodes, memory.units_at[height], memory.scales_at[height])
            if grad_parameters:
                grad_sums.append(grad_nodes.view(-1, n, d).sum(1))
        pass_on(order.leaf_groups, _sum_rows(rows, order.leaf_outputs, order.first_leaf_output))
        grad_leaves = _sum_rows(rows, order.copies, order.first_copy).view(-1, d)
        self._normalise_backward(grad_leaves, memory.leaves, memory.leaf_scales)
        if grad_parameters and grad_sums:
            gradients.b1.index_add_(0, order.operator, torch.cat(grad_sums[::-1]))
        if grad_parameters:
            self._add_leaf_gradients(grad_leaves, gradients.w4)
        gradients_of_worlds = self._world_gradients(grad_leaves) if grad_worlds else None
        self.close()
        return gradients_of_worlds, gradients if grad_parameters else None

    def _add_leaf_gradients(self, grad_leaves: Tensor, grad_w4: Tensor) -> None:
        """Compute the gradient of W4 from that of the leaves, (distinct leaves * n, d)."""
        grad_matrices = grad_w4.unbind()
        worlds, leaves = self.leaf_worlds.split(self.leaf_sizes), grad_leaves.split(self.leaf_sizes)
        for (variable, _), world, leaf in zip(self.order.variables, worlds, leaves, strict=True):
            torch.mm(world.t(), leaf, out=grad_matrices[variable])

    def _world_gradients(self, grad_leaves: Tensor) -> Tensor:
        """Compute the gradient of worlds, (domains, n, k), from that of the leaves."""
        order = self.order
        matrices = self.parameters.w4.transpose(1, 2).unbind()
        grad_leaf_worlds = torch.empty_like(self.leaf_worlds)
        leaves, parts = grad_leaves.split(self.leaf_sizes), grad_leaf_worlds.split(self.leaf_sizes)
        for (variable, _), leaf, grad_world in zip(order.variables, leaves, parts, strict=True):
            torch.mm(leaf, matrices[variable], out=grad_world)
        grad_leaf_worlds = grad_leaf_worlds.view(len(order.domain), -1)
        grad_worlds = _sum_rows(grad_leaf_worlds, order.by_domain, order.first_of_domain)
        return grad_worlds.view(len(grad_worlds), self.shape[0], -1)

    def close(self) -> None:
        """Give the memory back; the evaluation can no longer be used."""
        self.workspace.give_back(self.memory.buffer)
        self._memory = None

    def _normalise(self, vectors: Tensor, units: Tensor, scales: Tensor) -> None:
        torch.linalg.vector_norm(vectors, dim=1, keepdim=True, out=scales)
        scales.clamp_min_(torch.finfo(scales.dtype).tiny).reciprocal_()
        torch.mul(vectors, scales, out=units)

    def _normalise_backward(self, gradients: Tensor, units: Tensor, scales: Tensor) -> None:
        """Replace the gradient g of u(h) by that of h: (g - u (u . g)) / |h|."""
        products, dots = self.memory.scratch[: len(units)], self.memory.dots[: len(units)]
        torch.mul(gradients, units, out=products)
        torch.mm(products, self.row_sum, out=dots)
        gradients.addcmul_(units, dots, value=-1).mul_(scales)


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, order: Messages, workspace: Workspace, worlds: Tensor, *parameters: Tensor
    ) -> Tensor:
        ctx.evaluation = TreePass(order, worlds, Parameters(*parameters), workspace)
        return ctx.evaluation.forward()

    @staticmethod
    def backward(ctx: Any, grad_scores: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        grad_worlds, gradients = ctx.evaluation.backward(
            grad_scores, grad_worlds=ctx.needs_input_grad[2]
        )
        return None, None, grad_worlds, *gradients


def scores(order: Messages, worlds: Tensor, parameters: Parameters, workspace: Workspace) -> Tensor:
    """Compute each tree's term of z as a left and as a right side, (2, trees, n)."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in (worlds, *parameters)):
        grad_roots = _Scores.apply(order, workspace, worlds, *parameters)
    else:
        evaluation = TreePass(order, worlds, parameters, workspace)
        grad_roots = evaluation.forward()
        evaluation.close()
    return grad_roots.view(2, -1, worlds.shape[1]).index_select(1, order.roots)


def world_gradients(
    order: Messages, worlds: Tensor, parameters: Parameters, workspace: Workspace
) -> Tensor:
    """Compute the gradient of each pair's z with respect to its worlds, (pairs, n, k)."""
    # z is the sum of the left term of each even tree and the right term of each odd one.
    grad_scores = worlds.new_zeros(2, sum(order.sizes[i] for i in order.root_groups))
    for side in (0, 1):
        grad_scores[side].index_fill_(0, order.roots[side::2], 1.0)
    evaluation = TreePass(order, worlds, parameters, workspace)
    evaluation.forward()
    grad_scores = grad_scores.repeat_interleave(worlds.shape[1], 1)
    gradients, _ = evaluation.backward(grad_scores, grad_parameters=False, grad_worlds=True)
    assert gradients is not None
    return gradients
