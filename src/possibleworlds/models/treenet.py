"""TreeNet encoders (section 3.2.1): a formula's vector is made of those of its parts.

    p = h / |h|,  h = W1^op x + W2^op sigmoid(W3^op x + b3^op) + b1^op,  x = concat(l, r)

The backward pass is by hand: with a batch of formulas, autograd's own bookkeeping would take
longer than the arithmetic.
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
from possibleworlds.models.trees.forest import SLOTS, by_operator
from possibleworlds.models.trees.levels import Calls


@dataclass(frozen=True)
class TreeNetSettings:
    """Sizes of a TreeNet."""

    size: int = 64
    mlp_size: int = 64
    mlp_layers: int = 2
    side: str = "both"  # or "left" or "right": what the MLP receives


class TreeNet(Model):
    """A formula's vector is that of its root, normalised at every node."""

    name: ClassVar[str] = "treenet"
    summary: ClassVar[str] = "a small network for each operator, along the tree"
    citation: ClassVar[str] = (
        "after Allamanis et al. 2017 (EqNet), "
        '"Learning Continuous Semantic Representations of Symbolic Expressions"'
    )
    settings_class: ClassVar[type] = TreeNetSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }
    search_share: ClassVar[float] = 4  # symbols are not permuted in the first minute
    # With symbols permuted from the start the network ignores variables far longer; once it does
    # not, about step 8,000, only permutation prevents overfitting.
    training_defaults: ClassVar[dict[str, Any]] = {"permute_after": 10_000}

    def __init__(self, settings: TreeNetSettings) -> None:
        super().__init__(settings)
        s = settings
        d = s.size
        self.embedding = nn.Parameter(nn.functional.normalize(torch.randn(N_VARIABLES, d), dim=-1))
        # Where the sigmoids are all near one half, formulas have almost the same vector, and the
        # network learns late or never which variables they share. So W3 is initialised large, b1
        # subtracts the mean of the sigmoids, and W1 preserves norms.
        self.scale = d**0.5
        w1 = torch.randn(len(SLOTS), d, d) * (2 * d) ** -0.5
        w3 = torch.randn(len(SLOTS), d, d) * 3
        w2 = torch.randn(N_OPERATORS, d, d) * 0.8 * d**-0.5
        b1, b3 = -w2.sum(1) / 2, torch.zeros(N_OPERATORS, d)
        # W1 and W3 side by side, cut into the part for each argument, transposed: x @ w13[slot].
        # They are stored divided by sqrt(d) and multiplied in `forward`: the entries of a unit
        # vector are that small, and Adam's steps, whose size does not depend on the gradient's,
        # change the output sqrt(d) times as fast.
        self.w13 = nn.Parameter(torch.cat((w1, w3), 2) / self.scale)
        self.b13 = nn.Parameter(torch.cat((b1, b3), 1))
        self.w2 = nn.Parameter(w2)
        self.classifier = Classifier(d, s.mlp_size, s.mlp_layers, s.side)

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        w13 = self.w13 * self.scale  # (slots, d, 2 d)
        roots = _Encode.apply(batch.calls, self.embedding, w13, self.b13, self.w2) * self.scale
        return self.classifier(roots[batch.left], roots[batch.right])


class _Encode(torch.autograd.Function):
    """The vector of each tree's root, (trees, d); rows are those of `Calls`."""

    @staticmethod
    def forward(
        ctx: Any, order: Calls, embedding: Tensor, w13: Tensor, b13: Tensor, w2: Tensor
    ) -> Tensor:
        n, d = order.n_inner, embedding.shape[1]
        vectors = embedding.new_empty(N_VARIABLES + n + 1, d)  # variables, inner nodes, zeros
        vectors[:N_VARIABLES] = embedding
        vectors[-1] = 0.0
        inner = vectors[N_VARIABLES:]
        x = embedding.new_empty(n, 2 * d)  # both arguments of each inner node
        sums = embedding.new_empty(n, 2 * d)  # h, and the input of the sigmoid
        scale = embedding.new_empty(n, 1)
        inputs, results = x.split(order.sizes), sums.split(order.sizes)
        linear, hidden = sums.split(d, 1)
        linear_of, hidden_of = linear.split(order.sizes), hidden.split(order.sizes)
        w13_of, b13_of, w2_of = by_operator(w13), b13.unbind(), w2.unbind()
        for start, stop, groups, children in order.levels:
            torch.index_select(vectors, 0, children, out=x[start:stop].view(-1, d))
            for op, i in groups:
                inputs_of = inputs[i] if op else inputs[i][:, :d]
                torch.addmm(b13_of[op], inputs_of, w13_of[op], out=results[i])
            hidden[start:stop].sigmoid_()
            for op, i in groups:
                linear_of[i].addmm_(hidden_of[i], w2_of[op])
            h, s = linear[start:stop], scale[start:stop]
            torch.linalg.vector_norm(h, dim=1, keepdim=True, out=s)
            s.clamp_min_(torch.finfo(s.dtype).tiny).reciprocal_()
            torch.mul(h, s, out=inner[start:stop])
        ctx.order, ctx.saved = order, (vectors, x, hidden, scale, w13, w2)
        return vectors.index_select(0, order.roots)

    @staticmethod
    def backward(ctx: Any, of_roots: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        order: Calls = ctx.order
        vectors, x, hidden, scale, w13, w2 = ctx.saved
        d = vectors.shape[1]
        of_vectors = torch.zeros_like(vectors).index_add_(0, order.roots, of_roots)
        of_sums, of_x = torch.empty_like(x), torch.zeros_like(x)
        of_linear, of_hidden = of_sums.split(d, 1)
        inner, of_inner = vectors[N_VARIABLES:], of_vectors[N_VARIABLES:]
        of_inputs, of_results = of_x.split(order.sizes), of_sums.split(order.sizes)
        of_linear_of, of_hidden_of = of_linear.split(order.sizes), of_hidden.split(order.sizes)
        w13_of = [w.t() for w in by_operator(w13)]
        w2_of = w2.transpose(1, 2).unbind()
        for start, stop, groups, children in reversed(order.levels):
            p, g, h = inner[start:stop], of_inner[start:stop], of_linear[start:stop]
            along = torch.linalg.vecdot(p, g).unsqueeze_(1)
            torch.addcmul(g, p, along, value=-1, out=h)
            h *= scale[start:stop]
            for op, i in groups:
                torch.mm(of_linear_of[i], w2_of[op], out=of_hidden_of[i])
            of_h = of_hidden[start:stop]
            torch.ops.aten.sigmoid_backward.grad_input(of_h, hidden[start:stop], grad_input=of_h)
            for op, i in groups:
                inputs_of = of_inputs[i] if op else of_inputs[i][:, :d]
                torch.mm(of_results[i], w13_of[op], out=inputs_of)
            of_vectors.index_add_(0, children, of_x[start:stop].view(-1, d))

        # The gradients of parameters take all nodes of an operator at once.
        x, of_sums, hidden = (t.index_select(0, order.by_operator) for t in (x, of_sums, hidden))
        of_w13, of_w2 = torch.empty_like(w13), torch.empty_like(w2)
        of_b13 = w2.new_empty(N_OPERATORS, 2 * d)
        pieces = [t.split(order.operator_sizes) for t in (x, of_sums, hidden)]
        for op, (of_w, x_of, s, hid) in enumerate(zip(by_operator(of_w13), *pieces, strict=True)):
            torch.mm((x_of if op else x_of[:, :d]).t(), s, out=of_w)
            torch.mm(hid.t(), s[:, :d], out=of_w2[op])
            torch.sum(s, 0, out=of_b13[op])
        return None, of_vectors[:N_VARIABLES], of_w13, of_b13, of_w2
