"""TreeNet encoders (section 3.2.1): the vector of a formula is computed from those of its parts.

    p = h / |h|,  h = W1^op x + W2^op sigmoid(W3^op x + b3^op) + b1^op,  x = concat(l, r)

The backward pass is written by hand, as the overhead of autograd on a batch of formulas would
exceed the arithmetic, and runs in torch or in the native kernel (`trees/kernel/treenet.inc`). In
torch, both passes run in inference mode, in which a view, of which there are hundreds, costs a
third less; the tensors that autograd receives are made outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.logic.alphabet import N_OPERATORS, N_VARIABLES
from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier, n_visible, visible
from possibleworlds.models.trees import native
from possibleworlds.models.trees.forest import SLOTS, by_operator
from possibleworlds.models.trees.levels import Calls


@dataclass(frozen=True)
class TreeNetSettings:
    """Sizes of a TreeNet."""

    size: int = 64
    mlp_size: int = 64
    mlp_layers: int = 2
    side: str = "both"  # or "left" or "right": the input of the MLP


class TreeNet(Model):
    """A formula's vector is that of its root, normalised at every node."""

    name: ClassVar[str] = "treenet"
    summary: ClassVar[str] = "a layer per operator, on trees"
    family: ClassVar[str] = "trees"
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
    search_share: ClassVar[float] = 4  # symbols are not permuted in the first 10,000 steps
    # With symbols permuted from the start, the network takes far longer to use variables; once it
    # does, about step 8,000, only permutation prevents overfitting.
    training_defaults: ClassVar[dict[str, Any]] = {"permute_after": 10_000}

    @classmethod
    def engine(cls, device: str, settings: Any) -> str:
        """Name the engine that encodes trees on a device: the native kernel, or torch."""
        return native.engine(device, settings.size)

    def __init__(self, settings: TreeNetSettings) -> None:
        super().__init__(settings)
        s = settings
        d = s.size
        self.embedding = nn.Parameter(nn.functional.normalize(torch.randn(N_VARIABLES, d), dim=-1))
        # With all sigmoids near one half, formulas have almost the same vector, and the network
        # learns late or never which variables they share. So W3 is initialised large, b1 subtracts
        # the mean of the sigmoids, and W1 preserves norms.
        self.scale = d**0.5
        w1 = torch.randn(len(SLOTS), d, d) * (2 * d) ** -0.5
        w3 = torch.randn(len(SLOTS), d, d) * 3
        w2 = torch.randn(N_OPERATORS, d, d) * 0.8 * d**-0.5
        b1, b3 = -w2.sum(1) / 2, torch.zeros(N_OPERATORS, d)
        # W1 and W3 side by side, split into a part for each argument, transposed: x @ w13[slot].
        # They are stored divided by sqrt(d) and multiplied in `forward`: the entries of a unit
        # vector are that small, and Adam's steps, whose size does not depend on that of the
        # gradient, then change the output sqrt(d) times as fast.
        self.w13 = nn.Parameter(torch.cat((w1, w3), 2) / self.scale)
        self.b13 = nn.Parameter(torch.cat((b1, b3), 1))
        self.w2 = nn.Parameter(w2)
        self.classifier = Classifier(d, s.mlp_size, s.mlp_layers, n_visible(s.side))

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        parameters = self.embedding, self.w13, self.b13, self.w2
        encode = _NativeEncode if native.takes(self.settings.size, *parameters) else _Encode
        roots = encode.apply(batch.calls, self.scale, *parameters)
        sides = visible(self.settings.side, roots[batch.left], roots[batch.right])
        return self.classifier(*sides)


class _Encode(torch.autograd.Function):
    """The vector of each root, (trees, d), times `scale`; W1 and W3 are w13 times `scale`."""

    @staticmethod
    def forward(
        ctx: Any,
        order: Calls,
        scale: float,
        embedding: Tensor,
        w13: Tensor,
        b13: Tensor,
        w2: Tensor,
    ) -> Tensor:
        with torch.inference_mode():
            n, d = order.n_inner, embedding.shape[1]
            vectors = order.vectors(embedding)
            units = order.by_level(vectors)
            x = embedding.new_empty(2 * n, d)  # both arguments of each inner node
            sums = b13.index_select(0, order.operator)  # (n, 2 d): h, and the input of the sigmoid
            linear, hidden = sums.split(d, 1)
            norms = embedding.new_empty(n, 1)
            tiny = torch.finfo(norms.dtype).tiny
            w13_of, w2_of = by_operator(w13), w2.unbind()
            x_of, sums_of = order.groups(x.view(n, 2 * d), d), sums.split(order.rows.sizes)
            linear_of, hidden_of = linear.split(order.rows.sizes), hidden.split(order.rows.sizes)
            for level, arguments, sigmoid, h, norm, unit in zip(
                order.levels,
                x.split([2 * size for size in order.level_sizes]),
                *(t.split(order.level_sizes) for t in (hidden, linear, norms)),
                units,
                strict=True,
            ):
                torch.index_select(vectors, 0, level.arguments, out=arguments)
                for op, i in level.groups:
                    sums_of[i].addmm_(x_of[i], w13_of[op], alpha=scale)
                sigmoid.sigmoid_()
                for op, i in level.groups:
                    linear_of[i].addmm_(hidden_of[i], w2_of[op])
                torch.linalg.vector_norm(h, dim=1, keepdim=True, out=norm).clamp_min_(tiny)
                torch.div(h, norm, out=unit)
            ctx.order, ctx.scale, ctx.saved = order, scale, (units, x, hidden, norms, w13, w2)
        return vectors.index_select(0, order.roots).mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        order: Calls = ctx.order
        units, x, hidden, norms, w13, w2 = ctx.saved
        d = grad_roots.shape[1]
        grad_embedding = grad_roots.new_zeros(N_VARIABLES, d)
        grad_b13 = grad_roots.new_zeros(N_OPERATORS, 2 * d)
        grad_w13, grad_w2 = torch.empty_like(w13), torch.empty_like(w2)
        with torch.inference_mode():
            n = order.n_inner
            # Rows are arguments and roots: the gradient of a node is in the row where it is used.
            grad_uses = grad_roots.new_empty(2 * n + len(grad_roots), d)
            torch.mul(grad_roots, ctx.scale, out=grad_uses[2 * n :])
            grad_x = grad_uses[: 2 * n].view(n, 2 * d)
            grad_sums = torch.empty_like(grad_x)
            grad_linear, grad_hidden = grad_sums.split(d, 1)
            slopes = torch.addcmul(hidden, hidden, hidden, value=-1)  # of the sigmoid
            w13_of, w2_of = [w.t() for w in by_operator(w13)], w2.transpose(1, 2).unbind()
            grad_x_of, grad_sums_of = order.groups(grad_x, d), grad_sums.split(order.rows.sizes)
            grad_linear_of, grad_hidden_of = (
                grad_linear.split(order.rows.sizes),
                grad_hidden.split(order.rows.sizes),
            )
            row_sum = x.new_ones(d, 1)
            levels = zip(
                order.levels,
                units,
                *(t.split(order.level_sizes) for t in (norms, grad_linear, grad_hidden, slopes)),
                strict=True,
            )
            for level, p, norm, grad_h, grad_sigmoid, slope in reversed(list(levels)):
                g = grad_uses.index_select(0, level.uses)
                along = torch.mm(p * g, row_sum)
                torch.addcmul(g, p, along, value=-1, out=grad_h).div_(norm)
                for op, i in level.groups:
                    torch.mm(grad_linear_of[i], w2_of[op], out=grad_hidden_of[i])
                grad_sigmoid.mul_(slope)
                for op, i in level.groups:
                    grad_x_of[i].addmm_(grad_sums_of[i], w13_of[op], beta=0, alpha=ctx.scale)
            grad_embedding.index_add_(0, order.leaves, grad_uses.index_select(0, order.leaf_uses))
            grad_b13.index_add_(0, order.operator, grad_sums)
            for x_op, grad_sums_op, hidden_op, grad_w13_op, grad_w2_op in zip(
                *(order.of_operators(t) for t in (x.view(n, 2 * d), grad_sums, hidden)),
                by_operator(grad_w13),
                grad_w2.unbind(),
                strict=True,
            ):
                inputs = x_op[:, : len(grad_w13_op)]
                grad_w13_op.addmm_(inputs.t(), grad_sums_op, beta=0, alpha=ctx.scale)
                torch.mm(hidden_op.t(), grad_sums_op[:, :d], out=grad_w2_op)
        return None, None, grad_embedding, grad_w13, grad_b13, grad_w2


class _NativeEncode(torch.autograd.Function):
    """The same in the native kernel, which receives W1 and W3 themselves."""

    @staticmethod
    def forward(
        ctx: Any,
        order: Calls,
        scale: float,
        embedding: Tensor,
        w13: Tensor,
        b13: Tensor,
        w2: Tensor,
    ) -> Tensor:
        n, d = order.n_inner, embedding.shape[1]
        vectors = order.vectors(embedding)
        x, hidden, norms = (vectors.new_empty(n, size) for size in (2 * d, d, 1))
        largest = max(order.rows.sizes, default=0)
        scratch = vectors.new_empty(18 * d * d + 8 * d + 4 * d * largest)
        inputs = order.arguments, w13 * scale, b13, w2, x, hidden, norms, vectors, scratch
        ctx.order, ctx.scale = order, scale
        ctx.inputs = tuple(t.detach().contiguous() for t in inputs)
        _run_kernel(ctx)
        return vectors.index_select(0, order.roots).mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        _, w13, b13, w2, _, _, _, vectors, _ = ctx.inputs
        grad_vectors, grad_w13, grad_b13, grad_w2 = map(torch.zeros_like, (vectors, w13, b13, w2))
        grad_vectors.index_add_(0, ctx.order.roots, grad_roots, alpha=ctx.scale)
        _run_kernel(ctx, grad_vectors, grad_w13, grad_b13, grad_w2)
        return None, None, grad_vectors[:N_VARIABLES], grad_w13.mul_(ctx.scale), grad_b13, grad_w2


def _run_kernel(ctx: Any, *gradients: Tensor) -> None:
    """Run a pass, which adds to the gradients of vectors, W1 and W3, biases and W2, if any."""
    arrays = [t.numpy() for t in (*ctx.inputs, *gradients)] + [None] * (4 - len(gradients))
    native.treenet(ctx.inputs[3].shape[1], ctx.order.operator_groups, *arrays)
