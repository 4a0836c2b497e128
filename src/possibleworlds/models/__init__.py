"""The networks: one file per architecture, each with its own search space."""

from possibleworlds.models.base import LEARNING_GRID, Model, Options
from possibleworlds.models.classifier import Classifier, log_probabilities
from possibleworlds.models.registry import REGISTRY, resolve
from possibleworlds.models.trees import Batch

__all__ = [
    "LEARNING_GRID",
    "REGISTRY",
    "Batch",
    "Classifier",
    "Model",
    "Options",
    "log_probabilities",
    "resolve",
]
