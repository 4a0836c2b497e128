"""Plain recursion, formula by formula and pair by pair: what the engine must agree with."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from possibleworlds.models.batch import Batch
from possibleworlds.models.possibleworldnet import PossibleWorldNet
from possibleworlds.models.treelstm import TreeLSTM
from possibleworlds.models.treenet import TreeNet
from possibleworlds.models.trees.forest import by_operator


def fold(batch: Batch, tree: int, leaf: Callable[[int], Any], node: Callable[..., Any]) -> Any:
    """Evaluate one tree from its leaves up: leaf(variable), node(operator, *arguments)."""
    forest, formula = batch.forest, batch.formula[tree]
    stack: list[Any] = []
    for code in forest.code[forest.offsets[formula] : forest.offsets[formula + 1]].tolist():
        if code >= 4:
            stack.append(leaf(int(batch.renaming[tree, code - 4])))
        else:
            arguments = [stack.pop() for _ in range(2 if code else 1)]
            stack.append(node(code, *reversed(arguments)))
    return stack[0]


def pairs(batch: Batch, encode: Callable[[int], Tensor]) -> tuple[Tensor, Tensor]:
    """Encode both sides of each pair."""
    left = torch.stack([encode(t) for t in batch.left.tolist()])
    right = torch.stack([encode(t) for t in batch.right.tolist()])
    return left, right


def treenet(model: TreeNet, batch: Batch) -> Tensor:
    """TreeNet, by recursion."""

    w13 = by_operator(model.w13 * model.scale)

    def node(op: int, *arguments: Tensor) -> Tensor:
        linear, hidden = (torch.cat(arguments) @ w13[op] + model.b13[op]).chunk(2)
        return normalize(linear + torch.sigmoid(hidden) @ model.w2[op], dim=0)

    encode = lambda tree: fold(batch, tree, lambda v: model.embedding[v], node)  # noqa: E731
    left, right = pairs(batch, encode)
    return model.classifier(left * model.scale, right * model.scale)


def treelstm(model: TreeLSTM, batch: Batch) -> Tensor:
    """TreeLSTM, by recursion."""

    def leaf(v: int) -> tuple[Tensor, Tensor]:
        u, i, o = (model.embedding[v] @ model.w_leaf + model.b_leaf).chunk(3)
        c = torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(c), c

    def node(op: int, *arguments: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        d = model.settings.size
        x = torch.cat([h for h, _ in arguments])
        w = model.w_not if op == 0 else model.w_binary[op - 1]
        b = model.b_not if op == 0 else model.b_binary[op - 1]
        u, i, o, *forget = (x @ w + b).split(d)
        c = torch.sigmoid(i) * torch.tanh(u)
        for f, (_, c_child) in zip(forget, arguments, strict=True):
            c = c + torch.sigmoid(f) * c_child
        return torch.sigmoid(o) * torch.tanh(c), c

    encode = lambda tree: fold(batch, tree, leaf, node)[0]  # noqa: E731
    return model.classifier(*pairs(batch, encode))


def possibleworldnet(
    model: PossibleWorldNet, batch: Batch, worlds: Tensor, w4: Tensor | None = None
) -> Tensor:
    """PossibleWorldNet's z, [rows, n], by recursion; worlds [rows or 1, n, k], any W4."""
    w1, rows = by_operator(model.w1), []
    matrices = model.w4 if w4 is None else w4
    for i in range(len(batch.left)):
        w = worlds[i % len(worlds)]

        def node(op: int, *arguments: Tensor) -> Tensor:
            return normalize(torch.cat(arguments, 1) @ w1[op] + model.b1[op], dim=1)

        both = [
            fold(batch, int(t[i]), lambda v: normalize(w @ matrices[v], dim=1), node)  # noqa: B023
            for t in (batch.left, batch.right)
        ]
        rows.append(model.f(torch.cat(both, 1)).squeeze(1))
    return torch.stack(rows)
