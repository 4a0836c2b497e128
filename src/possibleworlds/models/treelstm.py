"""TreeLSTM encoders (section 3.2.1): an LSTM cell at each node, with a forget gate per child.

    u = tanh(W_u x + b_u),  i, o, f_l, f_r = sigmoid(W x + b) each,  x = concat(h_l, h_r)
    c = i u + f_l c_l + f_r c_r,  h = o tanh(c)

Every operator has parameters of its own. At a leaf x is the variable's embedding, and there is
nothing to forget. The backward pass is by hand, as in treenet.py.
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
    summary: ClassVar[str] = "an LSTM cell for each operator, along the tree"
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
        weights = (self.w_not, self.w_binary, self.b_not, self.b_binary)
        roots = _Encode.apply(batch.calls, h, c, *weights)
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
        b_not: Tensor,
        b_binary: Tensor,
    ) -> Tensor:
        n, d = order.n_inner, leaf_h.shape[1]
        h, c = leaf_h.new_empty(2, N_VARIABLES + n + 1, d)  # variables, inner nodes, zeros
        h[:N_VARIABLES], c[:N_VARIABLES] = leaf_h, leaf_c
        h[-1], c[-1] = 0.0, 0.0
        inner_h, inner_c = h[N_VARIABLES:], c[N_VARIABLES:]
        x, old = leaf_h.new_empty(2, n, 2 * d)  # hidden states and cells of both arguments
        tanh_c = leaf_h.new_empty(n, d)
        gates = leaf_h.new_zeros(n, 5 * d)  # zeros for the second forget gate of a negation
        inputs, results = x.split(order.sizes), gates.split(order.sizes)
        u, i, o, forget = gates.split([d, d, d, 2 * d], 1)
        sigmoids = gates[:, d:]
        w_of, b_of = (w_not, *w_binary.unbind()), (b_not, *b_binary.unbind())
        for start, stop, groups, children in order.levels:
            torch.index_select(h, 0, children, out=x[start:stop].view(-1, d))
            torch.index_select(c, 0, children, out=old[start:stop].view(-1, d))
            for op, k in groups:
                if op:
                    torch.addmm(b_of[op], inputs[k], w_of[op], out=results[k])
                else:
                    torch.addmm(b_not, inputs[k][:, :d], w_not, out=results[k][:, : 4 * d])
            here = slice(start, stop)
            u[here].tanh_()
            sigmoids[here].sigmoid_()
            kept = (forget[here] * old[here]).view(-1, 2, d)
            new = torch.sum(kept, 1, out=inner_c[here]).addcmul_(i[here], u[here])
            torch.mul(o[here], torch.tanh(new, out=tanh_c[here]), out=inner_h[here])
        ctx.order, ctx.saved = order, (x, old, gates, tanh_c, w_not, w_binary)
        return h.index_select(0, order.roots)

    @staticmethod
    def backward(ctx: Any, of_roots: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        order: Calls = ctx.order
        x, old, gates, tanh_c, w_not, w_binary = ctx.saved
        n, d = order.n_inner, of_roots.shape[1]
        of_h, of_c = of_roots.new_zeros(2, N_VARIABLES + n + 1, d)
        of_h.index_add_(0, order.roots, of_roots)
        inner_h, inner_c = of_h[N_VARIABLES:], of_c[N_VARIABLES:]
        of_x, of_gates = torch.zeros_like(x), torch.empty_like(gates)
        of_inputs, of_results = of_x.split(order.sizes), of_gates.split(order.sizes)
        u, i, o, forget = gates.split([d, d, d, 2 * d], 1)
        of_u, of_i, of_o, of_forget = of_gates.split([d, d, d, 2 * d], 1)
        sigmoids, of_sigmoids = gates[:, d:], of_gates[:, d:]
        w_of = (w_not.t(), *w_binary.transpose(1, 2).unbind())
        tanh_backward = torch.ops.aten.tanh_backward
        sigmoid_backward = torch.ops.aten.sigmoid_backward
        for start, stop, groups, children in reversed(order.levels):
            here = slice(start, stop)
            g, of_new, tanh = inner_h[here], inner_c[here], tanh_c[here]
            of_new += tanh_backward(g * o[here], tanh)
            torch.mul(of_new, i[here], out=of_u[here])
            torch.mul(of_new, u[here], out=of_i[here])
            torch.mul(g, tanh, out=of_o[here])
            both = of_new.repeat(1, 2)
            torch.mul(both, old[here], out=of_forget[here])
            tanh_backward.grad_input(of_u[here], u[here], grad_input=of_u[here])
            s = of_sigmoids[here]
            sigmoid_backward.grad_input(s, sigmoids[here], grad_input=s)
            both *= forget[here]
            of_c.index_add_(0, children, both.view(-1, d))
            for op, k in groups:
                if op:
                    torch.mm(of_results[k], w_of[op], out=of_inputs[k])
                else:
                    torch.mm(of_results[k][:, : 4 * d], w_of[0], out=of_inputs[k][:, :d])
            of_h.index_add_(0, children, of_x[here].view(-1, d))

        # The gradients of parameters take all nodes of an operator at once.
        x, of_gates = (t.index_select(0, order.by_operator) for t in (x, of_gates))
        pieces = zip(
            x.split(order.operator_sizes), of_gates.split(order.operator_sizes), strict=True
        )
        (x_not, g_not), *binary = ((x_of, g_of) for x_of, g_of in pieces)
        g_not = g_not[:, : 4 * d]
        of_w = torch.stack([x_of.t() @ g_of for x_of, g_of in binary])
        of_b = torch.stack([g_of.sum(0) for _, g_of in binary])
        leaves = of_h[:N_VARIABLES], of_c[:N_VARIABLES]
        return None, *leaves, x_not[:, :d].t() @ g_not, of_w, g_not.sum(0), of_b
