"""How a network is trained."""

import math
from dataclasses import dataclass
from typing import Any, get_type_hints

from possibleworlds.errors import UserError, quoted, reason
from possibleworlds.models.base import Model
from possibleworlds.models.registry import check_kinds, make_settings


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the training, whatever the network; Adam throughout, as in the paper."""

    learning_rate: float = 1e-3
    batch_size: int = 64
    permute_symbols: bool = True  # section 2.2
    # Epochs that begin before this step have their symbols as they are, but in a third of the run.
    permute_after: int = 0
    epochs: float = 10.0
    minutes: float = 0.0  # instead of epochs, where it is not 0
    schedule: str = "cosine"  # of the learning rate, down to 0; or "constant"
    ema_decay: float = 0.999  # moving average of the weights, which is what is kept; 0 for none
    max_grad_norm: float = 1.0  # the largest norm of a gradient; 0 for none
    evaluations: int = 20  # on the validation set, evenly over the run
    validation_rows: int = 0  # only so many of it, for networks that are slow to ask; 0 for all

    def validate(self) -> None:
        """Complain of settings with which no training is possible."""
        wrong = {
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
        for name, is_wrong in wrong.items():
            if is_wrong:
                raise UserError(f"{name} cannot be {quoted(getattr(self, name))}")


def read_value(text: str, wanted: type, name: str) -> Any:
    """The value of a setting that was given as text."""
    try:
        if wanted is bool:
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        return wanted(text)
    except (KeyError, ValueError, TypeError):
        raise UserError(f"{name}={quoted(text)}: not {wanted.__name__}") from None


def read_settings(model: type[Model], given: dict[str, Any]) -> tuple[Any, TrainingSettings]:
    """The settings of a network and of its training from values, or texts, by their names."""
    own: dict[str, Any] = {}
    training = dict(model.training_defaults)
    hints = get_type_hints(model.settings_class), get_type_hints(TrainingSettings)
    for name, value in given.items():
        into, types = (training, hints[1]) if name in hints[1] else (own, hints[0])
        is_text = isinstance(value, str) and name in types
        into[name] = read_value(value, types[name], name) if is_text else value
    settings = make_settings(model, own)
    try:
        chosen = TrainingSettings(**training)
    except TypeError as error:
        raise UserError(f"settings of the training that are none: {reason(error)}") from None
    check_kinds(chosen, "the training")
    chosen.validate()
    if getattr(settings, "side", "both") not in ("both", "left", "right"):
        raise UserError("side must be both, left or right")
    return settings, chosen
