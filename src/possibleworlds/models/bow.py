"""Bags of words (section 3.1): a formula is the mean of its symbols' vectors, without structure."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.logic.alphabet import SYMBOLS
from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier, n_visible, visible


class Bow(Model):
    """The base class of both bags of words."""

    search_space: ClassVar[dict[str, list[Any]]] = {**LEARNING_GRID, "size": [32, 64]}

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.embedding = nn.Parameter(torch.randn(len(SYMBOLS), settings.size))
        self.classifier = self.make_classifier(n_visible(settings.side))

    @abstractmethod
    def make_classifier(self, sides: int) -> Classifier:
        """Build the classifier of the means of both sides, or of one."""

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        frequencies = batch.symbol_frequencies.to(self.embedding.dtype)  # (trees, 30)
        means = frequencies @ self.embedding  # (trees, size)
        sides = visible(self.settings.side, means[batch.left], means[batch.right])
        return self.classifier(*sides)


@dataclass(frozen=True)
class LinearBowSettings:
    """Sizes of a linear bag of words."""

    size: int = 64
    side: str = "both"  # or "left" or "right": the input of the classifier


class LinearBow(Bow):
    """A linear layer on both means, trained with the expected error as its loss.

    The logit is f(A) + g(B), which has the same sum over the positive and the negative rows of a
    4-tuple. So a convex loss such as cross-entropy is minimal at a logit of 0 everywhere, and the
    network learns nothing from it; the expected error is not convex.
    """

    name: ClassVar[str] = "linear-bow"
    summary: ClassVar[str] = "mean of symbol vectors, then linear"
    family: ClassVar[str] = "bags"
    citation: ClassVar[str] = (
        'Evans et al. 2018, "Can Neural Networks Understand Logical Entailment?", section 3.1'
    )
    settings_class: ClassVar[type] = LinearBowSettings
    training_defaults: ClassVar[dict[str, Any]] = {"learning_rate": 0.01}

    def make_classifier(self, sides: int) -> Classifier:
        """Build a classifier without a hidden layer."""
        return Classifier(self.settings.size, 0, 1, sides)

    def loss(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Compute the expected error: one minus the mean probability of the right label."""
        return 1 - log_probs.gather(1, labels[:, None]).exp().mean()


@dataclass(frozen=True)
class MlpBowSettings(LinearBowSettings):
    """Sizes of a bag of words with a multi-layer perceptron."""

    mlp_size: int = 64
    mlp_layers: int = 2


class MlpBow(Bow):
    """A multi-layer perceptron on both means."""

    name: ClassVar[str] = "mlp-bow"
    summary: ClassVar[str] = "mean of symbol vectors, then an MLP"
    family: ClassVar[str] = "bags"
    citation: ClassVar[str] = (
        'Evans et al. 2018, "Can Neural Networks Understand Logical Entailment?", section 3.1'
    )
    settings_class: ClassVar[type] = MlpBowSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **Bow.search_space,
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }

    def make_classifier(self, sides: int) -> Classifier:
        """Build a classifier with hidden layers."""
        s = self.settings
        return Classifier(s.size, s.mlp_size, s.mlp_layers, sides)
