"""A trial: one training run, in a folder whose name is a hash of all that determines its result.

    TRIAL/run.json, ...       the run, as `possibleworlds train` writes it
    TRIAL/failed.json         the reason, if the network could not be trained
    TRIAL/evaluation.json     the accuracy on each split, if the trial was selected

These functions run in other processes and on other hosts, which share only the folder.
"""

import hashlib
import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import torch

from possibleworlds.data.files import TRAINING_FILES, fingerprint
from possibleworlds.errors import BusyError, EngineError, StorageError, UserError, named
from possibleworlds.experiments.grid import Settings
from possibleworlds.experiments.scheduler import Call, Scheduler
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import Log, StopRequestedError
from possibleworlds.records import from_json
from possibleworlds.storage import acquire_lock, held_locks, read_record, write_json
from possibleworlds.training.checkpoint import RUN, Metrics, read_run
from possibleworlds.training.evaluations import evaluate_task, evaluation_key, pending_tasks, store
from possibleworlds.training.loop import Trainer
from possibleworlds.training.pipeline import Job, run_job
from possibleworlds.training.speed import Speed, measure

TRIALS, LOCKS = "trials", "locks"
FAILED = "failed.json"

Ending = Literal["done", "busy", "stopped"]
ShowMeasured = Callable[[int, int], None]
"""Called with the number of settings whose speed has been measured, and the total."""


@dataclass(frozen=True)
class Trial:
    """A network to train, with all its settings, a seed and the SHA-256 of its data files."""

    model: str
    settings: Settings
    seed: int
    data: dict[str, str]

    @cached_property
    def name(self) -> str:
        """The name of the trial's folder: the network and a hash of all fields."""
        everything = [self.model, self.settings, self.seed, self.data]
        digest = hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()
        return f"{self.model.replace(':', '.')}-{digest[:16]}"


@dataclass(frozen=True)
class Failure:
    """The content of failed.json."""

    reason: str


@dataclass(frozen=True)
class Result:
    """The result of a trial: its best validation accuracy, or the reason for its failure."""

    validation: float = 0.0
    failure: str = ""

    def __str__(self) -> str:
        return self.failure or f"{self.validation:.2%} validation accuracy"


@dataclass
class TrialProgress:
    """The progress of a running trial, which other processes read from its lock."""

    fraction: float = 0.0
    step: int = 0
    validation: float = 0.0
    evaluating: str = ""
    """The file that the trial is being evaluated on, if any."""


def running_trials(folder: Path) -> dict[str, TrialProgress]:
    """Read the progress of the running trials, by name."""
    progress = {}
    for trial, message in held_locks(folder / LOCKS).items():
        try:
            progress[trial] = from_json(message, TrialProgress, trial)
        except UserError:
            progress[trial] = TrialProgress()  # running, with unknown progress
    return progress


def read_metrics(folder: Path, name: str) -> Metrics | None:
    """Read the metrics of a trial at its last checkpoint; None if it has none yet."""
    path = folder / TRIALS / name
    return read_run(path).metrics if (path / RUN).exists() else None


def read_result(folder: Path, name: str) -> Result | None:
    """Read the result of a trial; None if it has not finished."""
    failed = folder / TRIALS / name / FAILED
    if failed.exists():
        return Result(failure=read_record(failed, Failure).reason)
    metrics = read_metrics(folder, name)
    return Result(metrics.validation) if metrics and metrics.finished else None


def step_reached(folder: Path, name: str) -> int:
    """Read the step of a trial's last checkpoint."""
    metrics = read_metrics(folder, name)
    return metrics.step if metrics else 0


def record_failure(folder: Path, name: str, reason: str) -> None:
    """Record why a trial failed; it is not repeated until its folder is removed."""
    path = folder / TRIALS / name
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / FAILED, asdict(Failure(reason)))


class TrialFolder:
    """Trials in a folder, with their results and what is left of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results: dict[str, Result] = {}
        """The results of the finished trials, by name."""
        self.checkpoints: dict[str, float] = {}
        """The fraction of each other trial that was done when it was added, by name."""

    def add(self, trial: Trial, rows: int) -> None:
        """Add a trial with this number of training rows."""
        if result := read_result(self.folder, trial.name):
            self.results[trial.name] = result
            return
        pairs = step_reached(self.folder, trial.name) * trial.settings["batch_size"]
        done = pairs / (trial.settings["epochs"] * rows) if rows else 0.0
        self.checkpoints[trial.name] = min(1.0, done)

    def fraction_left(self, name: str, running: Mapping[str, TrialProgress]) -> float:
        """Look up the fraction of a trial that is left to do."""
        return 1 - (running[name].fraction if name in running else self.checkpoints[name])

    def call(self, trial: Trial, label: str, data: Path, log: Log) -> Call:
        """Make the call that trains a trial, and keeps and logs its result."""

        def ended(_: Ending) -> None:
            if result := read_result(self.folder, trial.name):
                self.results[trial.name] = result
                log(f"{label}: {result}")

        def failed(reason: str) -> None:
            record_failure(self.folder, trial.name, reason)
            ended("done")

        checkpoint = partial(step_reached, self.folder, trial.name)
        arguments = self.folder, trial, data
        return Call(trial.name, label, run_trial, arguments, ended, failed, checkpoint)


def run_trial(folder: Path, trial: Trial, data: Path) -> Ending:
    """Train a trial from its last checkpoint to the end, unless another process is doing so."""
    check_visible(folder, *(data / name for name in TRAINING_FILES))
    if trial.data != fingerprint(data):
        raise UserError(f"{data} has changed since this was planned")
    lock = acquire_lock(folder / LOCKS / trial.name)
    if lock is None:
        return "busy"

    def on_step(trainer: Trainer) -> None:
        if lock.lost:  # as this process was suspended for too long
            raise BusyError("another process has taken over the trial")
        now, fraction = trainer.progress, round(trainer.fraction_done, 4)
        lock.progress = asdict(TrialProgress(fraction, now.step, now.best_accuracy))

    try:
        if read_result(folder, trial.name) is None:
            path = folder / TRIALS / trial.name
            run_job(Job(trial.model, data, path, trial.settings, trial.seed, resume=True), on_step)
    except StopRequestedError:
        return "stopped"
    except BusyError:
        return "busy"
    except (EngineError, StorageError):  # of this host, not of the trial
        raise
    except Exception as error:
        record_failure(folder, trial.name, named(error))
    finally:
        lock.release()
    return "done"


def check_visible(*paths: Path) -> None:
    """Raise UserError if a file is missing on this host, which is not a failure of the trial."""
    for path in paths:
        if not path.exists():
            raise UserError(f"{socket.gethostname()} does not see {path}")


def evaluate_trial(folder: Path, name: str, files: Sequence[Path], model: str) -> Ending:
    """Evaluate the best checkpoint of a trial on every file that it was not evaluated on yet."""
    path = folder / TRIALS / name
    check_visible(path, *files)
    lock = acquire_lock(folder / LOCKS / name)
    if lock is None:
        return "busy"
    try:
        torch.set_num_threads(1)
        tasks = pending_tasks(path, files)
        for i, task in enumerate(tasks):
            file = evaluation_key(task.file)
            lock.progress = asdict(TrialProgress(i / len(tasks), evaluating=file))
            store(task, evaluate_task(task, resolve(model, trust=True)))
    finally:
        lock.release()
    return "done"


def measure_all(
    candidates: Sequence[tuple[str, Settings, Path]], scheduler: Scheduler, show: ShowMeasured
) -> list[Speed]:
    """Measure the training speed of (network, settings, data), as many at once as possible.

    A failed measurement is replaced by one of the same network: its trials will show the reason.
    """
    speeds: dict[int, Speed | None] = {}

    def calls() -> Iterator[Call]:
        for number, candidate in enumerate(candidates):
            if number not in speeds:
                name = f"{candidate[0]} {number}"
                ended = partial(on_outcome, number)
                yield Call(name, name, measure, candidate, on_result=ended, on_failure=ended)

    def on_outcome(number: int, outcome: Speed | str | None) -> None:
        speeds[number] = outcome if isinstance(outcome, Speed) else None

    if candidates:
        show(0, len(candidates))  # the first takes longest, as processes have to start
    scheduler.run(calls, lambda: show(len(speeds), len(candidates)))
    measured = {candidates[i][0]: speed for i, speed in sorted(speeds.items())[::-1] if speed}
    return [
        speeds[number] or measured.get(model, Speed())
        for number, (model, _, _) in enumerate(candidates)
    ]
