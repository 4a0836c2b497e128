"""The networks: one file per architecture, each with its own settings and search space."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from possibleworlds.models.registry import names, resolve

if TYPE_CHECKING:
    from possibleworlds.models.base import LEARNING_GRID, Model, Options
    from possibleworlds.models.batch import Batch
    from possibleworlds.models.classifier import Classifier, log_probabilities

__all__ = [
    "LEARNING_GRID",
    "Batch",
    "Classifier",
    "Model",
    "Options",
    "log_probabilities",
    "names",
    "resolve",
]

_MODULES = {
    **dict.fromkeys(("LEARNING_GRID", "Model", "Options"), "base"),
    "Batch": "batch",
    **dict.fromkeys(("Classifier", "log_probabilities"), "classifier"),
}


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first used, so that names can be listed without."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
