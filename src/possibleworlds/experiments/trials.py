"""A trial: one training run, kept in a folder that is named after all that determines its result.

    TRIAL/run.json, ...       the run, as `possibleworlds train` writes it
    TRIAL/failed.json         why there is none, where the network could not be trained
    TRIAL/evaluation.json     accuracies on each split, where it was selected

The functions here are what runs on other processes and hosts: they share nothing but the folder.
"""

import hashlib
import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import torch

from possibleworlds.data.files import TRAINING_FILES, count_lines, fingerprint, read
from possibleworlds.errors import BusyError, StorageError, UserError, named
from possibleworlds.experiments.engines import Engine
from possibleworlds.experiments.evaluations import (
    evaluate_task,
    evaluation_key,
    pending_tasks,
    store,
)
from possibleworlds.experiments.grid import Settings, Speed
from possibleworlds.experiments.scheduler import Call, run
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import Log, Stop, StopRequestedError
from possibleworlds.records import from_json
from possibleworlds.storage import acquire_lock, held_locks, read_json, write_json
from possibleworlds.training import checkpoint
from possibleworlds.training.batches import Dataset
from possibleworlds.training.loop import Trainer
from possibleworlds.training.pipeline import Job, run_job
from possibleworlds.training.settings import RunSettings

TRIALS, LOCKS = "trials", "locks"
FAILED = "failed.json"
ROWS_MEASURED = 2048
SECONDS_MEASURED = 0.5
SECONDS_TO_START = 0.5
"""Of a process, before it reads any data."""

Ending = Literal["done", "busy", "stopped"]


@dataclass(frozen=True)
class Trial:
    """What is trained, with all its settings, a seed and the SHA-256 of the data files."""

    model: str
    settings: Settings
    seed: int
    data: dict[str, str]

    @cached_property
    def name(self) -> str:
        """The name of the trial's folder: the network and a hash of everything."""
        everything = [self.model, self.settings, self.seed, self.data]
        digest = hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()
        return f"{self.model.replace(':', '.')}-{digest[:16]}"


@dataclass(frozen=True)
class Result:
    """How a trial ended: the best accuracy on the validation set, or why there is none."""

    validation: float = 0.0
    failure: str = ""

    def __str__(self) -> str:
        return self.failure or f"{self.validation:.2%} validation accuracy"


@dataclass
class Progress:
    """How far a trial at work is, as the message of its lock tells other processes."""

    fraction: float = 0.0
    step: int = 0
    validation: float = 0.0
    evaluating: str = ""
    """The file that it is being evaluated on."""


def running_trials(folder: Path) -> dict[str, Progress]:
    """Read how far the trials at work are, by name."""
    progress = {}
    for trial, message in held_locks(folder / LOCKS).items():
        try:
            progress[trial] = from_json(message, Progress, trial)
        except UserError:
            progress[trial] = Progress()  # somebody is at work, who knows how far
    return progress


def read_result(folder: Path, name: str) -> Result | None:
    """Read how a trial ended; None if it has not."""
    path = folder / TRIALS / name
    if failed := read_json(path / FAILED):
        return Result(failure=str(failed.get("reason")))
    if not (path / checkpoint.RUN).exists():
        return None
    metrics = checkpoint.read_run(path).metrics
    return Result(metrics.validation) if metrics and metrics.finished else None


def step_reached(folder: Path, name: str) -> int:
    """Read the step of a trial's last checkpoint."""
    path = folder / TRIALS / name
    if not (path / checkpoint.RUN).exists():
        return 0
    metrics = checkpoint.read_run(path).metrics
    return metrics.step if metrics else 0


def record_failure(folder: Path, name: str, reason: str) -> None:
    """Record why a trial failed; it is not tried again until its folder is removed."""
    path = folder / TRIALS / name
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / FAILED, {"reason": reason})


def trial_call(folder: Path, trial: Trial, data: Path, on_end: Callable[[], None]) -> Call:
    """Make the call that trains a trial, and tells when it has ended one way or another."""

    def fail(reason: str) -> None:
        record_failure(folder, trial.name, reason)
        on_end()

    step = partial(step_reached, folder, trial.name)
    return Call(trial.name, run_trial, (folder, trial, data), lambda _: on_end(), fail, step)


class LockLostError(Exception):
    """Another process goes on with the trial, as this one stood still for too long."""


def run_trial(folder: Path, trial: Trial, data: Path) -> Ending:
    """Train a trial to its end, from its last checkpoint, unless that is being done elsewhere."""
    check_visible(folder, *(data / name for name in TRAINING_FILES))
    if trial.data != fingerprint(data):
        raise UserError(f"{data} has changed since this was planned")
    lock = acquire_lock(folder / LOCKS / trial.name)
    if lock is None:
        return "busy"

    def on_step(trainer: Trainer) -> None:
        if lock.lost:
            raise LockLostError
        now, fraction = trainer.progress, round(trainer.fraction_done, 4)
        lock.progress = asdict(Progress(fraction, now.step, now.best_accuracy))

    try:
        if read_result(folder, trial.name) is None:
            path = folder / TRIALS / trial.name
            run_job(Job(trial.model, data, path, trial.settings, trial.seed, resume=True), on_step)
    except StopRequestedError:
        return "stopped"
    except (LockLostError, BusyError):
        return "busy"
    except StorageError:
        raise
    except Exception as error:
        record_failure(folder, trial.name, named(error))
    finally:
        lock.release()
    return "done"


def check_visible(*paths: Path) -> None:
    """Raise UserError if this host does not see a file, which is no fault of a trial."""
    for path in paths:
        if not path.exists():
            raise UserError(f"{socket.gethostname()} does not see {path}")


def evaluate_trial(folder: Path, name: str, files: Sequence[Path]) -> Ending:
    """Evaluate a trial at its best validation step on every file, each once."""
    path = folder / TRIALS / name
    check_visible(path, *files)
    lock = acquire_lock(folder / LOCKS / name)
    if lock is None:
        return "busy"
    try:
        torch.set_num_threads(1)
        tasks = pending_tasks(path, files)
        for i, task in enumerate(tasks):
            now = Progress(i / len(tasks), evaluating=evaluation_key(task.file))
            lock.progress = asdict(now)
            store(task, evaluate_task(task))
    finally:
        lock.release()
    return "done"


def measure(model: str, candidates: list[Settings], data: Path) -> list[Speed | None]:
    """Measure how fast each candidate is on this machine; None for those that fail."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    train_set, validate_set = (first_rows(data / name) for name in TRAINING_FILES)
    seconds_per_row = (time.perf_counter() - started) / (len(train_set) + len(validate_set))
    train_rows, validate_rows = (count_lines(data / name) for name in TRAINING_FILES)
    startup = SECONDS_TO_START + seconds_per_row * (train_rows + validate_rows)

    def speed_of(candidate: Settings) -> Speed | None:
        try:
            kind = resolve(model)
            settings = RunSettings.read(kind, candidate)
            training = settings.training
            trainer = Trainer(kind(settings.network), training, train_set, validate_set, seed=0)
            step = 0.0
            for fraction in (0.25, 0.75):  # some begin with easier steps
                trainer.progress.step = round(fraction * trainer.total_steps)
                batches = trainer.batches()
                step += seconds_per_call(lambda: trainer.train_step(*next(batches))) / 2  # noqa: B023
            rows = training.validation_rows or validate_rows
            evaluation = seconds_per_call(trainer.evaluate) * rows / len(validate_set)
        except Exception:
            return None  # a trial of it will say why
        seconds = startup, step * train_rows / training.batch_size, evaluation
        return Speed(*(float(f"{s:.3g}") for s in seconds))

    return [speed_of(candidate) for candidate in candidates]


def measure_all(
    candidates: dict[str, tuple[str, list[Settings], Path]], engine: Engine, stop: Stop, log: Log
) -> dict[str, list[Speed | None]]:
    """Measure candidates of networks on data, by any names, as many at once as the engine can."""
    speeds: dict[str, list[Speed | None]] = {}

    def fail(name: str, _: str) -> None:
        speeds[name] = [None] * len(candidates[name][1])  # its trials will say why

    def calls() -> Iterator[Call]:
        for name in (name for name in candidates if name not in speeds):
            measured = partial(speeds.__setitem__, name)
            yield Call(name, measure, candidates[name], measured, partial(fail, name))

    run(calls, engine, stop, log)
    return speeds


def first_rows(path: Path) -> Dataset:
    """Read the beginning of a data file."""
    return Dataset(read(path, ROWS_MEASURED))


def seconds_per_call(function: Callable[[], object]) -> float:
    """Measure how long a call takes, without the first, which has more to do."""
    function()
    started, calls = time.perf_counter(), 0
    while not calls or time.perf_counter() - started < SECONDS_MEASURED:
        function()
        calls += 1
    return (time.perf_counter() - started) / calls
