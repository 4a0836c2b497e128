"""The multi-layer perceptron on top of the encoders, which says whether A entails B."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

SIDES = {"both": slice(0, 2), "left": slice(0, 1), "right": slice(1, 2)}


class Classifier(nn.Module):
    """MLP(concat(f(A), f(B))), or of one side alone, where a bias of the data would show."""

    def __init__(self, inputs: int, size: int, layers: int, side: str = "both") -> None:
        super().__init__()
        self.sides = SIDES[side]
        sizes = [inputs * len(range(2)[self.sides]), *[size] * (layers - 1)]
        hidden = [module for a, b in pairwise(sizes) for module in (nn.Linear(a, b), nn.ReLU())]
        self.layers = nn.Sequential(*hidden, nn.Linear(sizes[-1], 1))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        return log_probabilities(self.layers(torch.cat([left, right][self.sides], -1)))


def log_probabilities(logit: Tensor) -> Tensor:
    """Give log P(no) and log P(yes), [rows, 2], from the logit of yes, [rows, 1]."""
    return nn.functional.logsigmoid(torch.cat((-logit, logit), -1))
