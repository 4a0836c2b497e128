"""Mistakes in a network of a user's own: one line that says what is expected, or a traceback."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import possibleworlds as pw
from possibleworlds.models import Batch, Classifier, Model
from possibleworlds.training.predictor import Network
from possibleworlds.training.settings import RunSettings


@dataclass(frozen=True)
class Settings:
    size: int = 8


class Own(Model):
    """A network whose output a test spoils."""

    settings_class = Settings

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.encode = nn.Linear(30, settings.size)
        self.classifier = Classifier(settings.size, settings.size, 2)

    def forward(self, batch: Batch) -> Tensor:
        codes = self.encode(batch.symbol_frequencies)
        return self.spoiled(self.classifier(codes[batch.left], codes[batch.right]))

    def spoiled(self, output: Tensor) -> Any:
        return output


def own(**attributes: Any) -> type[Model]:
    """A subclass with other attributes."""
    return type("Own", (Own,), attributes)


@pytest.fixture(scope="module")
def pairs() -> pw.Pairs:
    return pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)


EXPECTED = r"Own must return log-probabilities: floats of shape \(64, 2\), not "


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda output: output[:, 1], EXPECTED + r"float32 of shape \(64,\)"),
        (lambda output: output[:, :1], EXPECTED + r"float32 of shape \(64, 1\)"),
        (lambda output: output[:32], EXPECTED + r"float32 of shape \(32, 2\)"),
        (lambda output: output.argmax(1), EXPECTED + r"int64 of shape \(64,\)"),
        (lambda output: output.long(), EXPECTED + r"int64 of shape \(64, 2\)"),
        (lambda _: None, EXPECTED + "NoneType"),
        (lambda output: output.tolist(), EXPECTED + "list"),
        (lambda output: 3 * output, "probabilities of a pair sum to 0.*log_softmax turns logits"),
        (lambda output: output.exp(), "probabilities of a pair sum to"),
        (lambda output: output * torch.nan, "the loss is nan at step 1: with the initial weights"),
        (lambda output: output.detach(), "its loss does not depend on its weights"),
    ],
)
def test_a_wrong_output_is_an_error_that_says_what_is_expected(
    spoil: Callable[[Tensor], Any], message: str, pairs: pw.Pairs
) -> None:
    model = own(spoiled=lambda _, output: spoil(output))
    with pytest.raises(pw.UserError, match=message):
        pw.train(model, pairs, validate=pairs, epochs=1)


@dataclass(frozen=True)
class CubeSettings(Settings):
    side: int = 8


def test_a_setting_called_side_may_be_anything(pairs: pw.Pairs) -> None:
    result = pw.train(own(settings_class=CubeSettings), pairs, validate=pairs, epochs=1, side=4)
    assert result.settings.network == CubeSettings(side=4)


def test_a_wrong_output_in_evaluation_is_an_error(pairs: pw.Pairs) -> None:
    column = own(spoiled=lambda _, output: output[:, :1])  # numpy would repeat it
    with pytest.raises(pw.UserError, match=r"not float32 of shape \(\d+, 1\)"):
        Network(column(Settings())).evaluate(pairs)
    nan = own(spoiled=lambda _, output: output.log())
    with pytest.raises(pw.UserError, match="Own returned NaN for 80 of 80 pairs"):
        Network(nan(Settings())).evaluate(pairs)


def test_a_wrong_loss_is_an_error(pairs: pw.Pairs) -> None:
    for loss, kind in ((lambda _, output, __: output, r"shape \(64, 2\)"), (print, "NoneType")):
        message = f"Own.loss must return a tensor with a single number, not {kind}"
        with pytest.raises(pw.UserError, match=message):
            pw.train(own(loss=loss), pairs, validate=pairs, epochs=1)


class NoDataclass:
    size = 8


@dataclass(frozen=True)
class NoDefault:
    size: int


@dataclass(frozen=True)
class OfTraining:
    epochs: int = 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (NoDataclass, "Own.settings_class must be a dataclass, but is"),
        (Settings(), "Own.settings_class must be a dataclass, but is"),
        (None, "Own.settings_class must be a dataclass, but is missing"),
        (NoDefault, "NoDefault.size needs a default"),
        (OfTraining, "OfTraining.epochs has the name of a training setting"),
    ],
)
def test_a_wrong_class_of_settings_is_an_error(
    settings: Any, message: str, pairs: pw.Pairs
) -> None:
    with pytest.raises(pw.UserError, match=message):
        pw.train(own(settings_class=settings), pairs, validate=pairs)


def test_an_exception_in_the_network_itself_stays_one(pairs: pw.Pairs) -> None:
    def fail(_: Model, output: Tensor) -> Tensor:
        return output @ output

    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        pw.train(own(spoiled=fail), pairs, validate=pairs, epochs=1)


def test_a_buffer_may_be_assigned_anew(pairs: pw.Pairs) -> None:
    class WithMean(own()):  # type: ignore[misc]
        def __init__(self, settings: Settings) -> None:
            super().__init__(settings)
            self.register_buffer("mean", torch.zeros(()))

        def spoiled(self, output: Tensor) -> Any:
            if self.training:
                self.mean = self.mean + 1
            return output

    result = pw.train(WithMean, pairs, validate=pairs, epochs=3)
    steps = result.metrics.best_step
    assert steps > 1
    assert result.network.model.state_dict()["mean"] == steps


@dataclass(frozen=True, slots=True)
class Slots:
    size: int = 8
    sizes: tuple[int, ...] = (4,)
    depth: int | None = None


def test_settings_may_have_slots_tuples_and_alternatives(pairs: pw.Pairs, tmp_path: Path) -> None:
    network = own(settings_class=Slots)
    for _ in range(2):
        options: dict[str, Any] = {"out": tmp_path / "run", "resume": True, "sizes": (4, 4)}
        pw.train(network, pairs, validate=pairs, epochs=1, **options)
    assert RunSettings.read(network, {"depth": "3"}).network.depth == 3
    with pytest.raises(pw.UserError, match="depth='x': not int"):
        RunSettings.read(network, {"depth": "x"})
    with pytest.raises(pw.UserError, match="sizes='x': "):
        RunSettings.read(network, {"sizes": "x", "depth": "1"})


def test_half_precision_is_not_trained(pairs: pw.Pairs) -> None:
    class Half(own()):  # type: ignore[misc]
        def __init__(self, settings: Settings) -> None:
            super().__init__(settings)
            self.to(torch.bfloat16)

    with pytest.raises(pw.UserError, match=r"in float32 or float64, not torch\.bfloat16"):
        pw.train(Half, pairs, validate=pairs, epochs=1)
