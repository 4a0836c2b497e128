"""sat3 of the paper, for a whole batch of formulas and worlds, with its backward pass by hand.

    sat3(w, v) = u(W4^v w)      sat3(w, op(l, r)) = u(W1^op [l, r] + b1^op)      u(h) = h / |h|

A row of a buffer holds a node's vectors in all worlds, one after the other, and rows come in the
order of `Messages` (trees.py), so that every step is one operation on neighbouring numbers. What
a root sends is its share in z = W_f [sat3(w, A), sat3(w, B)], once as an A and once as a B.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from possibleworlds.models.trees import N_OPERATORS, ROOT, Messages


class Workspace:
    """Memory kept from batch to batch, as touching fresh memory costs more than the arithmetic."""

    def __init__(self) -> None:
        self._free: list[Tensor] = []

    def take(self, size: int, like: Tensor) -> Tensor:
        """Give at least `size` numbers, of the type and on the device of `like`."""
        buffer = self._free.pop() if self._free else like.new_empty(0)
        fits = (buffer.dtype, buffer.device) == (like.dtype, like.device) and len(buffer) >= size
        return buffer if fits else like.new_empty(size + size // 4)

    def give_back(self, buffer: Tensor) -> None:
        """Let a later batch have the buffer."""
        self._free.append(buffer)

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # a copy of a model starts with none


class Parameters(NamedTuple):
    """What sat3 and f have learnt; all but W_f are applied from the right."""

    w4: Tensor  # [26, k, d]
    w1: Tensor  # [slots, d, d]
    b1: Tensor  # [operators, d]
    wf: Tensor  # [2, d]


def _add_up(rows: Tensor, index: Tensor, first: Tensor) -> Tensor:
    """Add up rows: result i is the sum of rows[index[first[i]:first[i + 1]]]."""
    return torch.embedding_bag(rows, index, first, mode=0, include_last_offset=True)[0]


class Evaluation:
    """A batch's forward pass, and then its backward pass, in one block of memory."""

    def __init__(
        self, order: Messages, worlds: Tensor, parameters: Parameters, workspace: Workspace
    ) -> None:
        """Take worlds [domains, n, k]."""
        self.order, self.parameters, self.workspace = order, parameters, workspace
        n, d = self.shape = worlds.shape[1], parameters.w1.shape[1]
        heights = [len(order.leaf), *(level.size for level in order.levels)]
        n_leaves, largest = len(order.domain), max(len(order.domain), *heights[1:], 0)
        # Unit vectors, messages, leaves, scratch; and a number for each vector.
        rows = (order.n_rows, order.n_rows + N_OPERATORS, n_leaves, largest)
        counts = [count * n for count in rows]
        total = sum(counts)
        self.buffer = workspace.take(total * (d + 1), worlds)
        vectors, numbers = self.buffer[: total * (d + 1)].split([total * d, total])
        self.units, self.messages, self.leaves, self.scratch = vectors.view(-1, d).split(counts)
        scales, _, self.leaf_scales, self.dots = numbers.view(-1, 1).split(counts)
        self.row_sum = worlds.new_ones(d, 1)  # a product with it is the fastest sum over a row

        heights = [height * n for height in heights]
        self.units_at, self.scales_at = self.units.split(heights), scales.split(heights)
        self.messages_at = self.messages[: order.n_rows * n].split(heights)
        self.sizes = [size * n for size in order.sizes]
        self.root_sizes = [self.sizes[i] for i in order.root_groups]
        self.leaf_sizes = [count * n for _, count in order.variables]
        self.leaf_worlds = worlds.index_select(0, order.domain).view(n_leaves * n, -1)

    def forward(self) -> Tensor:
        """Give each root's share in z as a left and as a right side, [2, roots * n]."""
        order, (w4, w1, b1, wf), (n, d) = self.order, self.parameters, self.shape
        matrices = w4.unbind()
        worlds, leaves = self.leaf_worlds.split(self.leaf_sizes), self.leaves.split(self.leaf_sizes)
        for (variable, _), world, leaf in zip(order.variables, worlds, leaves, strict=True):
            torch.mm(world, matrices[variable], out=leaf)
        self._normalise(self.leaves, self.leaves, self.leaf_scales)
        shown = self.units_at[0].view(-1, n * d)
        torch.index_select(self.leaves.view(-1, n * d), 0, order.leaf, out=shown)
        rows = self.messages.view(-1, n * d)
        rows[order.n_rows :].view(-1, n, d).copy_(b1[:, None])

        matrices = w1.unbind()
        scores = rows.new_empty(2, sum(self.root_sizes))
        units = self.units.split(self.sizes)
        messages = list(self.messages[: order.n_rows * n].split(self.sizes))
        for i, share in zip(order.root_groups, scores.split(self.root_sizes, 1), strict=True):
            messages[i] = share

        def send(groups: list[tuple[int, int]]) -> None:
            for slot, i in groups:
                if slot < ROOT:
                    torch.mm(units[i], matrices[slot], out=messages[i])
                else:
                    torch.mm(wf, units[i].t(), out=messages[i])

        send(order.leaf_groups)
        for height, level in enumerate(order.levels, 1):
            sums = _add_up(rows, level.inputs, level.first_input)
            self._normalise(sums.view(-1, d), self.units_at[height], self.scales_at[height])
            send(level.groups)
        return scores

    def backward(
        self, of_scores: Tensor, of_parameters: bool = True, of_worlds: bool = False
    ) -> tuple[Tensor | None, Parameters | None]:
        """Give the gradients of worlds and of parameters; only once, as it ends the evaluation."""
        order, parameters, (n, d) = self.order, self.parameters, self.shape
        # From here on the memory of messages holds the gradients of the rows that sent them.
        of_units_at = self.messages_at
        rows, scratch = self.messages.view(-1, n * d), self.scratch.view(-1, n * d)
        units = self.units.t().split(self.sizes, 1)
        of_units = self.messages[: order.n_rows * n].split(self.sizes)
        of_roots = dict(zip(order.root_groups, of_scores.split(self.root_sizes, 1), strict=True))
        matrices = parameters.w1.transpose(1, 2).contiguous().unbind()
        gradients = Parameters(*map(torch.zeros_like, parameters))
        of_matrices = gradients.w1.unbind()
        of_sums = []

        def pass_on(groups: list[tuple[int, int]], received: Tensor) -> None:
            sizes = [self.sizes[i] for slot, i in groups if slot < ROOT]
            pieces = received.view(-1, d).split(sizes) if sizes else ()
            for (slot, i), piece in zip(groups, pieces, strict=False):
                if of_parameters:
                    of_matrices[slot].addmm_(units[i], piece)
                torch.mm(piece, matrices[slot], out=of_units[i])
            slot, i = groups[-1]
            if slot == ROOT:
                if of_parameters:
                    gradients.wf.addmm_(of_roots[i], units[i].t())
                torch.mm(of_roots[i].t(), parameters.wf, out=of_units[i])

        for height, level in reversed([*enumerate(order.levels, 1)]):
            received = scratch[: len(level.outputs)]
            torch.index_select(rows, 0, level.outputs, out=received)
            pass_on(level.groups, received)
            here = of_units_at[height]
            self._normalise_backward(here, self.units_at[height], self.scales_at[height])
            if of_parameters:
                of_sums.append(here.view(-1, n, d).sum(1))
        pass_on(order.leaf_groups, _add_up(rows, order.leaf_outputs, order.first_leaf_output))
        of_leaves = _add_up(rows, order.copies, order.first_copy).view(-1, d)
        self._normalise_backward(of_leaves, self.leaves, self.leaf_scales)

        worlds, leaves = self.leaf_worlds.split(self.leaf_sizes), of_leaves.split(self.leaf_sizes)
        moves = None
        if of_worlds:
            matrices = parameters.w4.transpose(1, 2).unbind()
            each = torch.empty_like(self.leaf_worlds)
            pieces = zip(order.variables, leaves, each.split(self.leaf_sizes), strict=True)
            for (variable, _), leaf, move in pieces:
                torch.mm(leaf, matrices[variable], out=move)
            each = each.view(len(order.domain), -1)
            moves = _add_up(each, order.by_domain, order.first_of_domain)
            moves = moves.view(len(moves), n, -1)
        if of_parameters:
            of_matrices = gradients.w4.unbind()
            for (variable, _), world, leaf in zip(order.variables, worlds, leaves, strict=True):
                torch.mm(world.t(), leaf, out=of_matrices[variable])
            if of_sums:
                gradients.b1.index_add_(0, order.operator, torch.cat(of_sums[::-1]))
        self.close()
        return moves, gradients if of_parameters else None

    def close(self) -> None:
        """Give the memory back; the evaluation can no longer be used."""
        self.workspace.give_back(self.buffer)
        self.__dict__.clear()  # no use after this can go unnoticed

    def _normalise(self, vectors: Tensor, units: Tensor, scales: Tensor) -> None:
        torch.linalg.vector_norm(vectors, dim=1, keepdim=True, out=scales)
        scales.clamp_min_(torch.finfo(scales.dtype).tiny).reciprocal_()
        torch.mul(vectors, scales, out=units)

    def _normalise_backward(self, gradients: Tensor, units: Tensor, scales: Tensor) -> None:
        """Replace the gradient g of u(h) by that of h: (g - u (u . g)) / |h|."""
        products, dots = self.scratch[: len(units)], self.dots[: len(units)]
        torch.mul(gradients, units, out=products)
        torch.mm(products, self.row_sum, out=dots)
        gradients.addcmul_(units, dots, value=-1).mul_(scales)


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, order: Messages, workspace: Workspace, worlds: Tensor, *parameters: Tensor
    ) -> Tensor:
        ctx.evaluation = Evaluation(order, worlds, Parameters(*parameters), workspace)
        return ctx.evaluation.forward()

    @staticmethod
    def backward(ctx: Any, of_scores: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        evaluation, ctx.evaluation = ctx.evaluation, None
        if evaluation is None:
            raise RuntimeError("sat3's backward pass overwrites what it needs: it runs only once")
        of_worlds = ctx.needs_input_grad[2]
        moves, gradients = evaluation.backward(of_scores, of_worlds=of_worlds)
        return None, None, moves, *gradients


def scores(order: Messages, worlds: Tensor, parameters: Parameters, workspace: Workspace) -> Tensor:
    """Give each tree's share in z as a left and as a right side, in every world, [2, trees, n]."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in (worlds, *parameters)):
        of_roots = _Scores.apply(order, workspace, worlds, *parameters)
    else:
        evaluation = Evaluation(order, worlds, parameters, workspace)
        of_roots = evaluation.forward()
        evaluation.close()
    return of_roots.view(2, -1, worlds.shape[1]).index_select(1, order.roots)
