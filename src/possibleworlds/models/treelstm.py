"""TreeLSTM encoders (section 3.2.1): an LSTM cell at each node, with a forget gate per child.

    u = tanh(W_u x + b_u),  i, o, f_l, f_r = sigmoid(W x + b) each,  x = concat(h_l, h_r)
    c = i u + f_l c_l + f_r c_r,  h = o tanh(c)

Every operator has its own parameters. At a leaf, x is the embedding of the variable, and there are
no forget gates. The backward pass is written by hand, as in treenet.py, and runs in torch or in the
native kernel (`trees/kernel/treelstm.inc`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.logic.alphabet import N_OPERATORS, N_VARIABLES
from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.init import linear_uniform
from possibleworlds.models.trees import native
from possibleworlds.models.trees.levels import Calls


@dataclass(frozen=True)
class TreeLSTMSettings:
    """Sizes of a TreeLSTM."""

    size: int = 64  # of cells
    embedding_size: int = 64
    mlp_size: int = 64
    mlp_layers: int = 2


class TreeLSTM(Model):
    """A formula's vector is the hidden state at its root."""

    name: ClassVar[str] = "treelstm"
    summary: ClassVar[str] = "an LSTM cell per operator, on trees"
    family: ClassVar[str] = "trees"
    citation: ClassVar[str] = (
        "Tai et al. 2015, "
        '"Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks"'
    )
    settings_class: ClassVar[type] = TreeLSTMSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
        "embedding_size": [32, 64],
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }
    search_share: ClassVar[float] = 2

    @classmethod
    def engine(cls, device: str, settings: Any) -> str:
        """Name the engine that encodes trees on a device: the native kernel, or torch."""
        return native.engine(device, settings.size)

    def __init__(self, settings: TreeLSTMSettings) -> None:
        super().__init__(settings)
        s = settings
        d, e, binary = s.size, s.embedding_size, N_OPERATORS - 1
        self.embedding = nn.Parameter(torch.randn(N_VARIABLES, e))
        self.w_leaf = nn.Parameter(linear_uniform(e, 3 * d, fan_in=e))  # u, i, o
        self.b_leaf = nn.Parameter(linear_uniform(3 * d, fan_in=e))
        self.w_not = nn.Parameter(linear_uniform(d, 4 * d, fan_in=d))  # u, i, o, f
        self.b_not = nn.Parameter(linear_uniform(4 * d, fan_in=d))
        self.w_binary = nn.Parameter(
            linear_uniform(binary, 2 * d, 5 * d, fan_in=2 * d)
        )  # u, i, o, f, f
        self.b_binary = nn.Parameter(linear_uniform(binary, 5 * d, fan_in=2 * d))
        self.classifier = Classifier(d, s.mlp_size, s.mlp_layers)

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        u, i, o = torch.addmm(self.b_leaf, self.embedding, self.w_leaf).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
        # A negation has no second forget gate, but no second cell to forget either.
        b_not = nn.functional.pad(self.b_not, (0, self.settings.size))[None]
        weights = (self.w_not, self.w_binary, torch.cat((b_not, self.b_binary)))
        encode = _NativeEncode if native.takes(self.settings.size, h, *weights) else _Encode
        roots = encode.apply(batch.calls, h, c, *weights)
        return self.classifier(roots[batch.left], roots[batch.right])


class _Encode(torch.autograd.Function):
    """The hidden state of each tree's root, (trees, d); rows are those of `Calls`."""

    @staticmethod
    def forward(
        ctx: Any,
        order: Calls,
        leaf_h: Tensor,
        leaf_c: Tensor,
        w_not: Tensor,
        w_binary: Tensor,
        biases: Tensor,
    ) -> Tensor:
        with torch.inference_mode():
            n, d = order.n_inner, leaf_h.shape[1]
            h, c = order.vectors(leaf_h), order.vectors(leaf_c)  # (26 + n + 1, d)
            x, old = leaf_h.new_empty(2, 2 * n, d)  # hidden states and cells of both arguments
            tanh_c = leaf_h.new_empty(n, d)
            gates = biases.index_select(0, order.operator)  # (n, 5 d): u, i, o, f, f
            w_of = (w_not, *w_binary.unbind())
            x_of = order.groups(x.view(n, 2 * d), d)
            gates_of = order.groups(gates, 4 * d)
            two_sizes = [2 * size for size in order.level_sizes]
            for level, arguments, cells, all_gates, tanh, new_hidden, new_cell in zip(
                order.levels,
                x.split(two_sizes),
                old.split(two_sizes),
                gates.split(order.level_sizes),
                tanh_c.split(order.level_sizes),
                order.by_level(h),
                order.by_level(c),
                strict=True,
            ):
                torch.index_select(h, 0, level.arguments, out=arguments)
                torch.index_select(c, 0, level.arguments, out=cells)
                for op, k in level.groups:
                    gates_of[k].addmm_(x_of[k], w_of[op])
                u, sigmoids = all_gates.split([d, 4 * d], 1)
                u.tanh_()
                i, o, left, right = sigmoids.sigmoid_().split(d, 1)
                torch.mul(i, u, out=new_cell)
                new_cell.addcmul_(left, cells[0::2]).addcmul_(right, cells[1::2])
                torch.mul(o, torch.tanh(new_cell, out=tanh), out=new_hidden)
            ctx.order, ctx.saved = order, (x, old, gates, tanh_c, w_not, w_binary)
        return h.index_select(0, order.roots)

    @staticmethod
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        order: Calls = ctx.order
        x, old, gates, tanh_c, w_not, w_binary = ctx.saved
        n, d = order.n_inner, grad_roots.shape[1]
        grad_leaf_h, grad_leaf_c = grad_roots.new_zeros(2, N_VARIABLES, d)
        with torch.inference_mode():
            # Rows are arguments and roots: the gradient of a node is in the row where it is used.
            grad_h, grad_c = grad_roots.new_empty(2, 2 * n + len(grad_roots), d)
            grad_h[2 * n :], grad_c[2 * n :] = grad_roots, 0.0
            grad_x = grad_h[: 2 * n].view(n, 2 * d)
            grad_gates = torch.empty_like(gates)
            # The input of a gate changes c, or h in the case of o.
            u, i, o, forget = gates.split([d, d, d, 2 * d], 1)
            slopes = torch.addcmul(gates, gates, gates, value=-1)  # of sigmoids
            torch.addcmul(slopes.new_ones(()), u, u, value=-1, out=slopes[:, :d])  # of tanh
            for slope, factor in zip(
                slopes.split([d, d, d, 2 * d], 1), (i, u, tanh_c, old.view(n, 2 * d)), strict=True
            ):
                slope.mul_(factor)
            through_tanh = torch.addcmul(o, o * tanh_c, tanh_c, value=-1)
            w_of = (w_not.t(), *w_binary.transpose(1, 2).unbind())
            grad_x_of = order.groups(grad_x, d)
            grad_gates_of = order.groups(grad_gates, 4 * d)
            levels = zip(
                order.levels,
                through_tanh.split(order.level_sizes),
                slopes.view(n, 5, d).split(order.level_sizes),
                grad_gates.view(n, 5, d).split(order.level_sizes),
                forget.view(n, 2, d).split(order.level_sizes),
                grad_c[: 2 * n].view(n, 2, d).split(order.level_sizes),
                strict=True,
            )
            for level, through, slope, grad_gate, kept, grad_old in reversed(list(levels)):
                g = grad_h.index_select(0, level.uses)
                grad_new = grad_c.index_select(0, level.uses).addcmul_(g, through)
                torch.mul(slope, grad_new[:, None], out=grad_gate)
                torch.mul(slope[:, 2], g, out=grad_gate[:, 2])
                torch.mul(kept, grad_new[:, None], out=grad_old)
                for op, k in level.groups:
                    torch.mm(grad_gates_of[k], w_of[op], out=grad_x_of[k])
            grad_leaf_h.index_add_(0, order.leaves, grad_h.index_select(0, order.leaf_uses))
            grad_leaf_c.index_add_(0, order.leaves, grad_c.index_select(0, order.leaf_uses))
        grad_weights = _gradients_of_weights(order, x.view(n, 2 * d), grad_gates, w_not, w_binary)
        return None, grad_leaf_h, grad_leaf_c, *grad_weights


class _NativeEncode(torch.autograd.Function):
    """The same in the native kernel."""

    @staticmethod
    def forward(
        ctx: Any,
        order: Calls,
        leaf_h: Tensor,
        leaf_c: Tensor,
        w_not: Tensor,
        w_binary: Tensor,
        biases: Tensor,
    ) -> Tensor:
        n, d = order.n_inner, leaf_h.shape[1]
        h, c = order.vectors(leaf_h), order.vectors(leaf_c)
        x, gates = leaf_h.new_empty(n, 2 * d), leaf_h.new_empty(n, 5 * d)
        scratch = leaf_h.new_empty(34 * d * d + 2 * d * max(order.rows.sizes, default=0))
        inputs = order.arguments, w_not, w_binary, biases, x, gates, h, c, scratch
        ctx.order, ctx.inputs = order, tuple(t.detach().contiguous() for t in inputs)
        _run_kernel(ctx)
        return h.index_select(0, order.roots)

    @staticmethod
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        order: Calls = ctx.order
        if ctx.inputs is None:
            raise RuntimeError("the TreeLSTM's backward pass replaces its gates: it runs only once")
        _, w_not, w_binary, _, x, grad_gates, h, _, _ = ctx.inputs
        grad_h, grad_c = h.new_zeros(2, *h.shape)
        grad_h.index_add_(0, order.roots, grad_roots)
        _run_kernel(ctx, grad_h, grad_c)
        ctx.inputs = None
        grad_weights = _gradients_of_weights(order, x, grad_gates, w_not, w_binary)
        return None, grad_h[:N_VARIABLES], grad_c[:N_VARIABLES], *grad_weights


def _run_kernel(ctx: Any, grad_h: Tensor | None = None, grad_c: Tensor | None = None) -> None:
    """Run a pass; gates are replaced by their gradients where those of h are given."""
    arrays = (None if t is None else t.numpy() for t in (*ctx.inputs, grad_h, grad_c))
    native.treelstm(ctx.inputs[1].shape[0], ctx.order.operator_groups, *arrays)


def _gradients_of_weights(
    order: Calls, x: Tensor, grad_gates: Tensor, w_not: Tensor, w_binary: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of w_not, w_binary and the biases."""
    grad_w_not, grad_w_binary = torch.empty_like(w_not), torch.empty_like(w_binary)
    grad_biases = grad_gates.new_zeros(N_OPERATORS, grad_gates.shape[1])
    grad_biases.index_add_(0, order.operator, grad_gates)
    for x_of_op, grad_gates_of_op, grad_w in zip(
        order.of_operators(x),
        order.of_operators(grad_gates),
        (grad_w_not, *grad_w_binary.unbind()),
        strict=True,
    ):
        rows, columns = grad_w.shape
        torch.mm(x_of_op[:, :rows].t(), grad_gates_of_op[:, :columns], out=grad_w)
    return grad_w_not, grad_w_binary, grad_biases
