"""A graph network on the directed acyclic graph of a pair.

- Equal subformulas share a node, and so do the occurrences of a variable; names are not an input.
- A layer sends messages along every edge in both directions, with weights for each direction and a
  vector for each kind of edge (operator and side), and adds their mean to the state of a node.
- The state of the pair's root and the mean and maximum over its nodes are classified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.trees.dag import N_EDGE_KINDS, N_KINDS, Dag


@dataclass(frozen=True)
class GraphNetSettings:
    """Sizes of a GraphNet."""

    size: int = 64
    layers: int = 8
    mlp_size: int = 64
    mlp_layers: int = 2


class GraphLayer(nn.Module):
    """Messages from children to parents and from parents to children, then an update of nodes."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.send = nn.Linear(size, 2 * size)  # up to parents, down to children
        self.edge = nn.Parameter(torch.randn(2, N_EDGE_KINDS, size))
        self.update = nn.Linear(3 * size, size)

    def forward(self, x: Tensor, dag: Dag, up_degree: Tensor, down_degree: Tensor) -> Tensor:
        """Update the states of nodes, (nodes, size)."""
        h = self.norm(x)
        up, down = self.send(h).chunk(2, 1)
        up = (up.index_select(0, dag.child) + self.edge[0].index_select(0, dag.edge_kind)).relu()
        down = (
            down.index_select(0, dag.parent) + self.edge[1].index_select(0, dag.edge_kind)
        ).relu()
        received_up = torch.zeros_like(x).index_add(0, dag.parent, up) / up_degree
        received_down = torch.zeros_like(x).index_add(0, dag.child, down) / down_degree
        return x + self.update(torch.cat((h, received_up, received_down), 1)).relu()


class GraphNet(Model):
    """Bidirectional message passing on the graph of a pair with shared subformulas."""

    name: ClassVar[str] = "graphnet"
    summary: ClassVar[str] = "messages between shared subformulas"
    family: ClassVar[str] = "trees"
    citation: ClassVar[str] = (
        'after Rawson & Reger 2020, "Directed Graph Networks for Logical Reasoning"'
    )
    settings_class: ClassVar[type] = GraphNetSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
        "layers": [4, 8, 16],
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }
    search_share: ClassVar[float] = 6

    def __init__(self, settings: GraphNetSettings) -> None:
        super().__init__(settings)
        s = settings
        self.embedding = nn.Embedding(N_KINDS, s.size)
        self.layers = nn.ModuleList(GraphLayer(s.size) for _ in range(s.layers))
        self.norm = nn.LayerNorm(s.size)
        self.classifier = Classifier(3 * s.size, s.mlp_size, s.mlp_layers, encodings=1)

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        dag, n_pairs = Dag.of(batch.pair_nodes, batch.device), len(batch.left)
        x = self.embedding(dag.kind)  # (nodes, size)
        up_degree = degrees(dag.parent, x)
        down_degree = degrees(dag.child, x)
        for layer in self.layers:
            x = layer(x, dag, up_degree, down_degree)
        x = self.norm(x)
        mean = x.new_zeros(n_pairs, x.shape[1]).index_add(0, dag.pair, x)
        mean = mean / degrees(dag.pair, x[:n_pairs])
        highest = x.new_full((n_pairs, x.shape[1]), -torch.inf)
        highest = highest.scatter_reduce(0, dag.pair[:, None].expand_as(x), x, "amax")
        return self.classifier(x[dag.roots], mean, highest)


def degrees(index: Tensor, like: Tensor) -> Tensor:
    """Count how often each row is indexed, at least 1, (rows, 1)."""
    counts = torch.bincount(index, minlength=len(like)).clamp_min_(1)
    return counts[:, None].to(like.dtype)
