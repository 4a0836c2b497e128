"""Bags of words (section 3.1): a formula is the mean of its symbols' vectors, without structure."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.trees import N_OPERATORS, N_VARIABLES, Batch


class Bow(Model):
    """What both bags of words have in common."""

    search_space: ClassVar[dict[str, list[Any]]] = {**LEARNING_GRID, "size": [32, 64]}

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.embedding = nn.Parameter(torch.randn(N_OPERATORS + N_VARIABLES, settings.size))
        self.classifier = self.make_classifier(settings)

    @abstractmethod
    def make_classifier(self, settings: Any) -> Classifier:
        """What is put on top of both means."""

    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        means = batch.shares.to(self.embedding.dtype) @ self.embedding
        return self.classifier(means[batch.left], means[batch.right])


@dataclass(frozen=True)
class LinearBowSettings:
    """Sizes of a linear bag of words."""

    size: int = 64
    side: str = "both"  # or "left" or "right": what the classifier gets to see


class LinearBow(Bow):
    """The baseline of Evans et al. 2018 with a linear layer on both means.

    Its score is f(A) + g(B), which over a 4-tuple adds up to the same for yes as for no. So any
    convex loss is least where the network says one half to everything: it learns nothing from
    cross-entropy, and a little from the errors that are to be expected.
    """

    settings_class: ClassVar[type] = LinearBowSettings
    training_defaults: ClassVar[dict[str, Any]] = {"learning_rate": 0.01}

    def make_classifier(self, settings: Any) -> Classifier:
        """What is put on top of both means: no hidden layer."""
        return Classifier(settings.size, 0, 1, settings.side)

    def loss(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Compute the expected error: one minus the mean probability of the right label."""
        return 1 - log_probs.gather(1, labels[:, None]).exp().mean()


@dataclass(frozen=True)
class MlpBowSettings(LinearBowSettings):
    """Sizes of a bag of words with a multi-layer perceptron."""

    mlp_size: int = 64
    mlp_layers: int = 2


class MlpBow(Bow):
    """The baseline of Evans et al. 2018 with a multi-layer perceptron on both means."""

    settings_class: ClassVar[type] = MlpBowSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **Bow.search_space,
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }

    def make_classifier(self, settings: Any) -> Classifier:
        """What is put on top of both means: hidden layers."""
        return Classifier(settings.size, settings.mlp_size, settings.mlp_layers, settings.side)
