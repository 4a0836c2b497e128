"""The networks by the names that users type, and any other by its module and class."""

import importlib
import math
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from possibleworlds.errors import UserError, quoted, reason
from possibleworlds.models.base import Model

MOST_LAYERS = 1000
"""Each is made one by one, so that many more would take for ever."""
LARGEST = 2**62
"""Of any other whole number; PyTorch takes no larger ones."""

Accuracies = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Entry:
    """A network of the package: where it is, one line about it, and what the paper measured."""

    path: str
    about: str
    paper: Accuracies | None
    """Percent right on validation and on test easy, hard, big, massive, exam (Table 2)."""


MODULES = "possibleworlds.models"
REGISTRY = {
    "linear-bow": Entry(
        f"{MODULES}.bow:LinearBow",
        "mean of the symbols' vectors, a linear layer",
        (52.6, 51.4, 50.0, 49.7, 50.0, 52.0),
    ),
    "mlp-bow": Entry(
        f"{MODULES}.bow:MlpBow",
        "mean of the symbols' vectors, an MLP",
        (57.8, 57.1, 51.0, 55.8, 49.9, 56.0),
    ),
    "transformer": Entry(
        f"{MODULES}.transformer:Transformer",
        "attention over A and B as one sequence",
        (57.1, 56.8, 50.8, 51.2, 50.3, 46.9),
    ),
    "convnet": Entry(
        f"{MODULES}.conv:ConvNet",
        "convolutions over each side's symbols",
        (59.3, 59.7, 52.6, 54.9, 50.4, 54.0),
    ),
    "lstm": Entry(
        f"{MODULES}.lstm:Lstm",
        "an LSTM over each side's symbols",
        (68.3, 68.3, 58.1, 61.1, 52.7, 70.0),
    ),
    "bilstm": Entry(
        f"{MODULES}.lstm:BiLstm",
        "LSTMs in both directions over each side",
        (66.6, 65.8, 58.2, 61.5, 51.6, 78.0),
    ),
    "treenet": Entry(
        f"{MODULES}.treenet:TreeNet",
        "a small network for each operator, along the tree",
        (72.7, 72.2, 69.7, 67.9, 56.6, 85.0),
    ),
    "treelstm": Entry(
        f"{MODULES}.treelstm:TreeLSTM",
        "an LSTM cell for each operator, along the tree",
        (79.1, 77.8, 74.2, 74.2, 59.3, 75.0),
    ),
    "lstm-traversal": Entry(
        f"{MODULES}.lstm:LstmTraversal",
        "an LSTM over A ⊨ B as one sequence",
        (62.5, 61.8, 56.2, 57.3, 50.6, 61.0),
    ),
    "bilstm-traversal": Entry(
        f"{MODULES}.lstm:BiLstmTraversal",
        "LSTMs in both directions over A ⊨ B",
        (63.3, 64.0, 55.0, 57.9, 50.5, 66.0),
    ),
    "possibleworldnet": Entry(
        f"{MODULES}.possibleworldnet:PossibleWorldNet",
        "A and B evaluated in many imagined worlds",
        (98.7, 98.6, 96.7, 93.9, 73.4, 96.0),
    ),
    "guidedworldnet": Entry(
        f"{MODULES}.guidedworldnet:GuidedWorldNet",
        "worlds moved by gradient towards a countermodel",
        None,
    ),
}


def resolve(name: str) -> type[Model]:
    """The class of a network, by its name or as `package.module:Class`."""
    path = REGISTRY[name].path if name in REGISTRY else name
    module, colon, attribute = path.partition(":")
    if not colon:
        raise UserError(f"no network called {quoted(name)}; known are {', '.join(REGISTRY)}")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise UserError(f"{quoted(name)}: {reason(error)}") from None
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise UserError(f"{quoted(name)} is not a subclass of possibleworlds.models.Model")
    if not hasattr(found, "settings_class"):
        raise UserError(f"{quoted(name)} has no settings_class")
    return found


def check_kinds(settings: Any, whose: str) -> None:
    """Complain of a value that is not of the kind that a dataclass says it is."""
    for name, hint in get_type_hints(type(settings)).items():
        value = getattr(settings, name, None)
        right = {
            bool: isinstance(value, bool),
            int: isinstance(value, int) and not isinstance(value, bool),
            float: isinstance(value, int | float)
            and not isinstance(value, bool)
            and abs(value) < math.inf,
            str: isinstance(value, str),
        }.get(hint, True)
        if not right:
            raise UserError(f"{whose} cannot have {name}={quoted(value)}")


def make_settings(model: type[Model], values: dict[str, Any]) -> Any:
    """A network's settings, with some values other than the defaults."""
    known = {field.name for field in fields(model.settings_class)}
    if unknown := sorted(values.keys() - known):
        listed = ", ".join(sorted(known))
        raise UserError(f"{model.__name__} has no setting {quoted(unknown[0])}; it has {listed}")
    settings = model.settings_class(**values)
    check_kinds(settings, model.__name__)
    for name, value in vars(settings).items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        most = MOST_LAYERS if name.endswith("layers") else LARGEST
        if whole and not (0 if name in model.may_be_zero else 1) <= value <= most:
            raise UserError(f"{model.__name__} cannot have {name}={quoted(value)}")
    return settings
