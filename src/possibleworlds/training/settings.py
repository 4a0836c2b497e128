"""The settings of a run, both of the network and of its training."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from possibleworlds.errors import UserError, quoted, reason
from possibleworlds.models.base import Model
from possibleworlds.models.settings import LARGEST, check_kinds, make_settings, setting_names


@dataclass(frozen=True)
class TrainingSettings:
    """Training settings that all networks share; the optimiser is Adam, as in the paper."""

    learning_rate: float = 1e-3
    batch_size: int = 64
    permute_symbols: bool = True  # symbol permutation, section 2.2
    # Epochs that begin before this step are not permuted, up to a third of the run.
    permute_after: int = 0
    epochs: float = 10.0
    minutes: float = 0.0  # the length of the run instead of epochs, unless 0
    schedule: str = "cosine"  # of the learning rate, decaying to 0; or "constant"
    ema_decay: float = 0.999  # of the moving average of the weights, which is kept; 0 for none
    max_grad_norm: float = 1.0  # gradient clipping; 0 for none
    evaluations: int = 20  # on the validation set, evenly over the run
    validation_rows: int = 0  # use only the first rows of the validation set; 0 for all

    def validate(self) -> None:
        """Raise UserError if a setting is of the wrong type or out of range."""
        check_kinds(self, "the training")
        is_invalid = {
            "learning_rate": not 0 < self.learning_rate < 10,
            "minutes": not 0 <= self.minutes < 1e6,
            "batch_size": self.batch_size < 4 or self.batch_size % 4 != 0,
            "permute_after": self.permute_after < 0,
            "epochs": not 0 < self.epochs < 1e6,
            "schedule": self.schedule not in ("cosine", "constant"),
            "ema_decay": not 0 <= self.ema_decay < 1,
            "max_grad_norm": not 0 <= self.max_grad_norm < math.inf,
            "evaluations": self.evaluations < 1,
            "validation_rows": self.validation_rows < 0,
        }
        for name, invalid in is_invalid.items():
            if invalid:
                raise UserError(f"{name} cannot be {quoted(getattr(self, name))}")


@dataclass(frozen=True)
class RunSettings:
    """All settings of a run: those of the network and those of its training."""

    network: Any
    """An instance of the network's `settings_class`."""
    training: TrainingSettings

    @classmethod
    def read(cls, model: type[Model], values: Mapping[str, Any]) -> "RunSettings":
        """Read settings from values or their text, by name; the others have their defaults."""
        of_model = setting_names(model)
        kinds = get_type_hints(model.settings_class) | get_type_hints(TrainingSettings)
        parsed = {
            name: typed(value, kinds[name], name) if name in kinds else value
            for name, value in values.items()
        }
        names = {field.name for field in fields(TrainingSettings)}
        if shared := sorted(of_model & names):
            own = f"{model.settings_class.__name__}.{shared[0]}"
            raise UserError(f"{own} has the name of a training setting; choose another")
        if unknown := sorted(parsed.keys() - names - of_model):
            listed = [", ".join(sorted(part)) for part in (of_model, names)]
            known = f"it has {listed[0]}, and its training {listed[1]}"
            raise UserError(f"{model.__name__} has no setting {quoted(unknown[0])}; {known}")
        network = make_settings(model, {n: v for n, v in parsed.items() if n not in names})
        defaults = model.training_defaults
        try:
            training = TrainingSettings(
                **{**defaults, **{n: v for n, v in parsed.items() if n in names}}
            )
        except TypeError as error:
            raise UserError(f"{model.__name__}.training_defaults: {reason(error)}") from None
        training.validate()
        return cls(network, training)

    def flat(self) -> dict[str, Any]:
        """Return the value of each setting, by name."""
        return {**asdict(self.network), **asdict(self.training)}


def check_length(values: Mapping[str, Any]) -> None:
    """Raise UserError if settings give the length of a run both in epochs and in minutes."""
    minutes = values.get("minutes", 0.0)
    if isinstance(minutes, str):
        minutes = parse_value(minutes, float, "minutes")
    if "epochs" in values and minutes:
        raise UserError("epochs and minutes both set the length of training; give one of them")


def typed(value: Any, kind: Any, name: str) -> Any:
    """Read the value of a setting, which may be text or a whole number where it is a float."""
    if isinstance(value, str):
        return parse_value(value, kind, name)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if kind is float and is_whole and abs(value) < LARGEST else value


def parse_value(text: str, kind: Any, name: str) -> Any:
    """Parse the value of a setting."""
    if get_origin(kind) in (Union, UnionType):  # such as int | None
        kind = next(member for member in get_args(kind) if member is not NoneType)
    try:
        if kind is bool:
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        if not isinstance(kind, type):  # tuple[int, ...]("12") would be ("1", "2")
            raise TypeError
        return kind(text)
    except (KeyError, ValueError, TypeError):
        raise UserError(f"{name}={quoted(text)}: not {getattr(kind, '__name__', kind)}") from None
