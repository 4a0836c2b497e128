"""The multi-layer perceptron on top of the encoders, which decides whether A entails B."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    """MLP(concat(f(A), f(B))), or of one side alone, which reveals a bias of the data."""

    def __init__(self, inputs: int, size: int, layers: int, side: str = "both") -> None:
        """Build the MLP for encodings of formulas with `inputs` components."""
        super().__init__()
        if side not in ("both", "left", "right"):
            raise ValueError("side must be both, left or right")
        self.side = side
        sizes = [2 * inputs if side == "both" else inputs, *[size] * (layers - 1)]
        hidden = [module for a, b in pairwise(sizes) for module in (nn.Linear(a, b), nn.ReLU())]
        self.layers = nn.Sequential(*hidden, nn.Linear(sizes[-1], 1))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Compute log P(no) and log P(yes), (rows, 2), from encodings (rows, inputs)."""
        sides = {"both": (left, right), "left": (left,), "right": (right,)}[self.side]
        return log_probabilities(self.layers(torch.cat(sides, -1)))


def log_probabilities(logit: Tensor) -> Tensor:
    """Compute log P(no) and log P(yes), (rows, 2), from the logit of yes, (rows, 1)."""
    return nn.functional.logsigmoid(torch.cat((-logit, logit), -1))
