"""The multi-layer perceptron on top of the encoders, which decides whether A entails B."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


class Classifier(nn.Module):
    """MLP(concat(encodings)), such as MLP(concat(f(A), f(B)))."""

    def __init__(self, inputs: int, size: int, layers: int, encodings: int = 2) -> None:
        """Build the MLP for this many encodings with `inputs` components each."""
        super().__init__()
        sizes = [encodings * inputs, *[size] * (layers - 1)]
        hidden = [module for a, b in pairwise(sizes) for module in (nn.Linear(a, b), nn.ReLU())]
        self.layers = nn.Sequential(*hidden, nn.Linear(sizes[-1], 1))

    def forward(self, *encodings: Tensor) -> Tensor:
        """Compute log P(no) and log P(yes), (rows, 2), from encodings, each (rows, components)."""
        return log_probabilities(self.layers(torch.cat(encodings, -1)))


def visible(side: str, left: T, right: T) -> tuple[T, ...]:
    """Select both sides, or one alone, which reveals a bias of the data."""
    sides = {"both": (left, right), "left": (left,), "right": (right,)}
    if side not in sides:
        raise ValueError("side must be both, left or right")
    return sides[side]


def n_visible(side: str) -> int:
    """Return the number of sides that are visible."""
    return len(visible(side, 0, 0))


def log_probabilities(logit: Tensor) -> Tensor:
    """Compute log P(no) and log P(yes), (rows, 2), from the logit of yes, (rows, 1)."""
    return nn.functional.logsigmoid(torch.cat((-logit, logit), -1))
