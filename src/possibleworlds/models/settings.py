"""Validation of settings, which are frozen dataclasses, without torch."""

import math
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from possibleworlds.errors import UserError, quoted

if TYPE_CHECKING:
    from possibleworlds.models.base import Model

MAX_LAYERS = 1000
"""Layers are built one by one, so many more would take too long."""
MAX_WORLDS = 1_000_000
"""Each pair is evaluated in all worlds at once, so many more would take too much memory."""
LARGEST = 2**62
"""The largest value of any other integer setting that PyTorch accepts."""
MAXIMA = {"layers": MAX_LAYERS, "worlds": MAX_WORLDS}
"""The largest values of settings, by the last word of their names."""


def check_kinds(settings: Any, owner: str) -> None:
    """Raise UserError if a value of a dataclass is not of its declared type, or not finite."""
    for name, hint in get_type_hints(type(settings)).items():
        value = getattr(settings, name, None)
        fits = {
            bool: isinstance(value, bool),
            int: isinstance(value, int) and not isinstance(value, bool),
            float: isinstance(value, int | float)
            and not isinstance(value, bool)
            and abs(value) < math.inf,
            str: isinstance(value, str),
        }.get(hint, True)
        if not fits:
            raise UserError(f"{owner} cannot have {name}={quoted(value)}")


def setting_names(model: "type[Model]") -> set[str]:
    """List a network's own settings; raise UserError unless they are a dataclass with defaults."""
    cls = getattr(model, "settings_class", None)
    if not (isinstance(cls, type) and is_dataclass(cls)):
        kind = "missing" if cls is None else quoted(cls)
        raise UserError(f"{model.__name__}.settings_class must be a dataclass, but is {kind}")
    for field in fields(cls):
        if field.default is MISSING and field.default_factory is MISSING:
            raise UserError(f"{cls.__name__}.{field.name} needs a default")
    return {field.name for field in fields(cls)}


def make_settings(model: "type[Model]", values: dict[str, Any]) -> Any:
    """Build the settings of a network from values and defaults; raise UserError if invalid."""
    known = setting_names(model)
    if unknown := sorted(values.keys() - known):
        listed = ", ".join(sorted(known))
        raise UserError(f"{model.__name__} has no setting {quoted(unknown[0])}; it has {listed}")
    settings = model.settings_class(**values)
    check_kinds(settings, model.__name__)
    for name, value in ((field.name, getattr(settings, field.name)) for field in fields(settings)):
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        maximum = MAXIMA.get(name.rpartition("_")[2], LARGEST)
        if is_integer and not (0 if name in model.may_be_zero else 1) <= value <= maximum:
            raise UserError(f"{model.__name__} cannot have {name}={quoted(value)}")
    return settings
