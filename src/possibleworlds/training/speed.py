"""Training speed on this machine, measured on a few rows of the data."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from possibleworlds.data.files import TRAINING_FILES, count_lines, read
from possibleworlds.models.registry import resolve
from possibleworlds.training.batches import Dataset
from possibleworlds.training.loop import Trainer
from possibleworlds.training.settings import RunSettings

ROWS_MEASURED = 2048
SECONDS_MEASURED = 0.5
CALLS_MEASURED = 50
"""Calls that are measured, or fewer if they take longer than `SECONDS_MEASURED`."""
SECONDS_TO_START = 0.5
"""The time that a process takes to start, before it reads any data."""


@dataclass(frozen=True)
class Speed:
    """The seconds that training takes on one core."""

    startup: float = 2.0
    epoch: float = 1.0
    evaluation: float = 0.0

    def trial(self, epochs: float, evaluations: int) -> float:
        """Estimate the duration of a whole trial."""
        return self.startup + epochs * self.epoch + evaluations * self.evaluation

    def epochs_in(self, seconds: float, evaluations: int) -> float:
        """Compute how many epochs fit into a time, of which they get at least half."""
        rest = seconds - self.startup - evaluations * self.evaluation
        return max(rest, seconds / 2) / self.epoch


def measure(model: str, candidate: dict[str, Any], data: Path) -> Speed | None:
    """Measure the speed of a network with certain settings; None if it fails."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    train_set, validate_set = (first_rows(data / name) for name in TRAINING_FILES)
    seconds_per_row = (time.perf_counter() - started) / (len(train_set) + len(validate_set))
    train_rows, validate_rows = (count_lines(data / name) for name in TRAINING_FILES)
    startup = SECONDS_TO_START + seconds_per_row * (train_rows + validate_rows)
    try:
        model_class = resolve(model, trust=True)
        settings = RunSettings.read(model_class, candidate)
        training = settings.training
        trainer = Trainer(model_class(settings.network), training, train_set, validate_set, seed=0)
        step = 0.0
        for fraction in (0.25, 0.75):  # some networks take cheaper steps at first
            trainer.progress.step = round(fraction * trainer.total_steps)
            batches = trainer.batches()
            step += seconds_per_call(lambda: trainer.train_step(*next(batches))) / 2  # noqa: B023
        rows = training.validation_rows or validate_rows
        evaluation = seconds_per_call(trainer.evaluate) * rows / len(validate_set)
    except Exception:
        return None  # a trial of it will show why
    seconds = startup, step * train_rows / training.batch_size, evaluation
    return Speed(*(float(f"{s:.3g}") for s in seconds))


def first_rows(path: Path) -> Dataset:
    """Read the first rows of a data file."""
    return Dataset(read(path, ROWS_MEASURED))


def seconds_per_call(function: Callable[[], object]) -> float:
    """Measure how long a call takes, without the first, which includes setup."""
    function()
    started, calls = time.perf_counter(), 0
    while calls < CALLS_MEASURED:
        function()
        calls += 1
        if time.perf_counter() - started > SECONDS_MEASURED:
            break
    return (time.perf_counter() - started) / calls
