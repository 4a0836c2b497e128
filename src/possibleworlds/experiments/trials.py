"""A trial: one training run, kept in a folder that is named after all that determines its result.

    TRIAL/run.json, ...       the run, as `possibleworlds train` writes it
    TRIAL/failed.json         why there is none, where the network could not be trained
    TRIAL/evaluation.json     accuracies on each split, where it was selected

The functions here are what runs on other processes and hosts: they share nothing but the folder.
"""

import hashlib
import json
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import torch

from possibleworlds.data.files import TRAINING_FILES, fingerprint
from possibleworlds.errors import BusyError, StorageError, UserError, named
from possibleworlds.experiments.grid import Settings
from possibleworlds.experiments.scheduler import Call, Scheduler
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import StopRequestedError
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
"""What is told how many settings have had their speed measured, of how many."""


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
class Failure:
    """What failed.json holds."""

    reason: str


@dataclass(frozen=True)
class Result:
    """How a trial ended: the best accuracy on the validation set, or why there is none."""

    validation: float = 0.0
    failure: str = ""

    def __str__(self) -> str:
        return self.failure or f"{self.validation:.2%} validation accuracy"


@dataclass
class TrialProgress:
    """How far a trial at work is, as the message of its lock tells other processes."""

    fraction: float = 0.0
    step: int = 0
    validation: float = 0.0
    evaluating: str = ""
    """The file that it is being evaluated on."""


def running_trials(folder: Path) -> dict[str, TrialProgress]:
    """Read how far the trials at work are, by name."""
    progress = {}
    for trial, message in held_locks(folder / LOCKS).items():
        try:
            progress[trial] = from_json(message, TrialProgress, trial)
        except UserError:
            progress[trial] = TrialProgress()  # somebody is at work, who knows how far
    return progress


def read_metrics(folder: Path, name: str) -> Metrics | None:
    """Read what was measured up to a trial's last checkpoint; None if there is none yet."""
    path = folder / TRIALS / name
    return read_run(path).metrics if (path / RUN).exists() else None


def read_result(folder: Path, name: str) -> Result | None:
    """Read how a trial ended; None if it has not."""
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
    """Record why a trial failed; it is not tried again until its folder is removed."""
    path = folder / TRIALS / name
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / FAILED, asdict(Failure(reason)))


def fraction_done(folder: Path, trial: Trial, rows: int) -> float:
    """Compute how much of a trial is done at its last checkpoint, by the rows of training data."""
    pairs = step_reached(folder, trial.name) * trial.settings["batch_size"]
    return min(1.0, pairs / (trial.settings["epochs"] * rows)) if rows else 0.0


def trial_call(
    folder: Path, trial: Trial, label: str, data: Path, on_result: Callable[[Result], None]
) -> Call:
    """Make the call that trains a trial, and tells how it ended, if it has."""

    def ended(_: Ending) -> None:
        if result := read_result(folder, trial.name):
            on_result(result)

    def failed(reason: str) -> None:
        record_failure(folder, trial.name, reason)
        on_result(Result(failure=reason))

    arguments, checkpoint = (folder, trial, data), partial(step_reached, folder, trial.name)
    return Call(trial.name, label, run_trial, arguments, ended, failed, checkpoint)


def run_trial(folder: Path, trial: Trial, data: Path) -> Ending:
    """Train a trial to its end, from its last checkpoint, unless that is being done elsewhere."""
    check_visible(folder, *(data / name for name in TRAINING_FILES))
    if trial.data != fingerprint(data):
        raise UserError(f"{data} has changed since this was planned")
    lock = acquire_lock(folder / LOCKS / trial.name)
    if lock is None:
        return "busy"

    def on_step(trainer: Trainer) -> None:
        if lock.lost:  # as this process stood still for too long
            raise BusyError("another process goes on with the trial")
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


def evaluate_trial(folder: Path, name: str, files: Sequence[Path], model: str) -> Ending:
    """Evaluate a trial of a network at its best validation step on every file, each once."""
    path = folder / TRIALS / name
    check_visible(path, *files)
    lock = acquire_lock(folder / LOCKS / name)
    if lock is None:
        return "busy"
    try:
        torch.set_num_threads(1)
        tasks = pending_tasks(path, files)
        for i, task in enumerate(tasks):
            now = TrialProgress(i / len(tasks), evaluating=evaluation_key(task.file))
            lock.progress = asdict(now)
            store(task, evaluate_task(task, resolve(model, trust=True)))
    finally:
        lock.release()
    return "done"


def measure_all(
    candidates: Sequence[tuple[str, Settings, Path]], scheduler: Scheduler, show: ShowMeasured
) -> list[Speed]:
    """Measure networks with settings on data, as many at once as the engine can.

    What cannot be measured is taken to be as fast as the network's others: its trials will say why.
    """
    speeds: dict[int, Speed | None] = {}

    def calls() -> Iterator[Call]:
        for number, candidate in enumerate(candidates):
            if number not in speeds:
                name = f"{candidate[0]} {number}"
                ended = partial(keep, number)
                yield Call(name, name, measure, candidate, on_result=ended, on_failure=ended)

    def keep(number: int, outcome: Speed | str | None) -> None:
        speeds[number] = outcome if isinstance(outcome, Speed) else None

    if candidates:
        show(0, len(candidates))  # the first takes longest, as processes have to start
    scheduler.run(calls, lambda: show(len(speeds), len(candidates)))
    measured = {candidates[i][0]: speed for i, speed in sorted(speeds.items())[::-1] if speed}
    return [
        speeds[number] or measured.get(model, Speed())
        for number, (model, _, _) in enumerate(candidates)
    ]
