"""A network that evaluates formulas from the root down to the variables (Chvalovský, ICLR 2019).

- The root of A → B gets a learnt vector; the network of each operator maps the vector of a node to
  those of its arguments.
- One recurrent network reads the vectors of all occurrences of a variable, a second one the
  results of all variables of the pair in the order of their first occurrence.
- The names of variables are not an input, only which occurrences are of the same variable.

The paper's sizes, cells and non-linearities are not reproduced exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from possibleworlds.logic.alphabet import CODES, IMPLIES, N_OPERATORS, N_VARIABLES
from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.sequences import Ints
from possibleworlds.models.trees.descent import descend


@dataclass(frozen=True)
class TopDownNetSettings:
    """Sizes of a TopDownNet."""

    size: int = 64
    mlp_size: int = 64
    mlp_layers: int = 2


class TopDownNet(Model):
    """Networks of operators from the root down, recurrent networks over variables."""

    name: ClassVar[str] = "topdownnet"
    summary: ClassVar[str] = "root down, then over the variables"
    family: ClassVar[str] = "trees"
    citation: ClassVar[str] = 'Chvalovský 2019, "Top-Down Neural Model For Formulae"'
    published: ClassVar[dict[str, float]] = {
        "validate": 95.5,
        "test_easy": 95.9,
        "test_hard": 83.2,
        "test_big": 81.6,
        "test_massive": 83.6,
        "test_exam": 96.0,
    }
    settings_class: ClassVar[type] = TopDownNetSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64, 128],
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }
    search_share: ClassVar[float] = 4

    def __init__(self, settings: TopDownNetSettings) -> None:
        super().__init__(settings)
        s = settings
        self.question = nn.Parameter(torch.randn(1, s.size))
        arities = [1, *[2] * (N_OPERATORS - 1)]
        self.operators = nn.ModuleList(nn.Linear(s.size, arity * s.size) for arity in arities)
        self.over_occurrences = nn.GRU(s.size, s.size, batch_first=True)
        self.over_variables = nn.GRU(s.size, s.size, batch_first=True)
        self.classifier = Classifier(s.size, s.mlp_size, s.mlp_layers, encodings=1)

    def arguments(self, operator: int, vectors: Tensor) -> Tensor:
        """Compute the vectors of the arguments, (nodes * arity, size), from those of nodes."""
        return torch.tanh(self.operators[operator](vectors)).view(-1, vectors.shape[1])

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        nodes = batch.pair_nodes
        a_and_b = self.arguments(CODES[IMPLIES], self.question)
        x = a_and_b.repeat(len(batch.left), 1)  # A, B, A, B, ...
        leaves, vectors = [], []
        for depth in descend(nodes):
            leaves.append(depth.nodes[depth.leaves])
            vectors.append(x[torch.from_numpy(depth.leaves).to(x.device)])
            x = torch.cat(
                [
                    self.arguments(operator, x[torch.from_numpy(rows).to(x.device)])
                    for operator, rows in enumerate(depth.operators)
                ]
            )
        node = np.concatenate(leaves)
        pair = nodes.tree[node] // 2
        # Occurrences by pair, variable and position; variables by pair and first occurrence.
        variable = pair * N_VARIABLES + nodes.code[node] - N_OPERATORS
        order = np.lexsort((node, variable))
        variables, first, counts = np.unique(variable[order], return_index=True, return_counts=True)
        occurrences = torch.cat(vectors)[torch.from_numpy(order).to(x.device)]
        summaries = final_states(self.over_occurrences, occurrences, counts)
        by_first = np.lexsort((node[order][first], variables // N_VARIABLES))
        n_variables = np.bincount(variables // N_VARIABLES)
        summaries = summaries[torch.from_numpy(by_first).to(x.device)]
        encodings = final_states(self.over_variables, summaries, n_variables)
        return self.classifier(encodings)


def final_states(rnn: nn.GRU, rows: Tensor, lengths: Ints) -> Tensor:
    """Compute the last state of each concatenated sequence, (sequences, size)."""
    positions = np.arange(int(lengths.max()))
    first = np.cumsum(lengths) - lengths
    index = np.where(positions < lengths[:, None], first[:, None] + positions, len(rows))
    with_zeros = torch.cat((rows, rows.new_zeros(1, rows.shape[1])))
    states, _ = rnn(with_zeros[torch.from_numpy(index).to(rows.device)])
    last = torch.from_numpy(lengths - 1).to(rows.device)
    return states[torch.arange(len(lengths), device=rows.device), last]
