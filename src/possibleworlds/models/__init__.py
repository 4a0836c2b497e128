"""The networks: one file per architecture, each with its own settings and search space."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from possibleworlds.models.registry import ModelTable, entries, names, resolve

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
    """Import names that need torch on first use, so that networks can be listed without it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


class CallableModule(ModuleType):
    """This module, which lists the networks when it is called: `possibleworlds.models()`."""

    def __call__(self) -> ModelTable:
        """List the networks, with their names, summaries and citations.

        >>> import possibleworlds as pw
        >>> for model in pw.models()[:2]:
        ...     print(model.name, "-", model.summary)
        linear-bow - mean of symbol vectors, then linear
        mlp-bow - mean of symbol vectors, then an MLP
        """
        return ModelTable(entries().values())


sys.modules[__name__].__class__ = CallableModule
