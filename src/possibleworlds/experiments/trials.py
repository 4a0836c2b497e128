"""A trial: one training run, kept in a folder that is named after all that decides its result.

    TRIAL/run.json, ...       the run, as `possibleworlds train` writes it
    TRIAL/failed.json         why there is none, where the network could not be trained
    TRIAL/evaluation.json     how often it is right on each split, where it was selected

The functions here are what runs on other processes and hosts: they share nothing but the folder.
"""

import hashlib
import json
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch

from possibleworlds.data.files import TRAINING_FILES, count_lines, fingerprint, read
from possibleworlds.errors import BusyError, StorageError, UserError, named
from possibleworlds.experiments.evaluations import (
    evaluate_task,
    evaluation_key,
    pending_tasks,
    store,
)
from possibleworlds.experiments.grid import Speed
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import StopRequestedError
from possibleworlds.storage import acquire_lock, read_json, write_json
from possibleworlds.training import checkpoint
from possibleworlds.training.batches import Dataset
from possibleworlds.training.loop import Job, Trainer, train
from possibleworlds.training.settings import RunSettings

TRIALS, LOCKS = "trials", "locks"
FAILED = "failed.json"
ROWS_MEASURED = 2048
SECONDS_MEASURED = 0.5
SECONDS_TO_BEGIN = 0.5
"""Of a process, before it reads any data."""

Ending = Literal["done", "busy", "stopped"]


@dataclass(frozen=True)
class Trial:
    """What is trained, with all its settings, a seed and the SHA-256 of the data files."""

    model: str
    settings: dict[str, Any]
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


def read_result(sweep: Path, name: str) -> Result | None:
    """How a trial ended, or None if it has not."""
    folder = sweep / TRIALS / name
    if failed := read_json(folder / FAILED):
        return Result(failure=str(failed.get("reason")))
    if not (folder / checkpoint.RUN).exists():
        return None
    metrics = checkpoint.read_run(folder).get("metrics", {})
    return Result(metrics["validation"]) if metrics.get("finished") else None


def step_reached(sweep: Path, name: str) -> int:
    """The step of a trial's last checkpoint."""
    folder = sweep / TRIALS / name
    if not (folder / checkpoint.RUN).exists():
        return 0
    return int(checkpoint.read_run(folder).get("metrics", {}).get("step", 0))


def record_failure(sweep: Path, name: str, reason: str) -> None:
    """Note why a trial cannot be had; it is not tried again until its folder is removed."""
    folder = sweep / TRIALS / name
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FAILED, {"reason": reason})


class LockLostError(Exception):
    """Another process goes on with the trial, as this one stood still for too long."""


def run_trial(sweep: Path, trial: Trial, data: Path) -> Ending:
    """Train a trial to its end, from its last checkpoint, unless that is being done elsewhere."""
    check_shared(sweep, *(data / name for name in TRAINING_FILES))
    if trial.data != fingerprint(data):
        raise UserError(f"{data} has changed since this was planned")
    lock = acquire_lock(sweep / LOCKS / trial.name)
    if lock is None:
        return "busy"

    def on_step(trainer: Trainer) -> None:
        if lock.lost:
            raise LockLostError
        now = trainer.progress
        lock.progress = {
            "share": round(trainer.share_done, 4),
            "step": now.step,
            "seconds": round(now.seconds, 1),
            "validation": now.best_accuracy,
        }

    try:
        if read_result(sweep, trial.name) is None:
            folder = sweep / TRIALS / trial.name
            job = Job(trial.model, data, folder, trial.settings, trial.seed, resume=True)
            train(job, on_step)
    except StopRequestedError:
        return "stopped"
    except (LockLostError, BusyError):
        return "busy"
    except StorageError:
        raise
    except Exception as error:
        record_failure(sweep, trial.name, named(error))
    finally:
        lock.release()
    return "done"


def check_shared(*paths: Path) -> None:
    """Complain of files that this host does not see, which is no fault of a trial."""
    for path in paths:
        if not path.exists():
            raise UserError(f"{socket.gethostname()} does not see {path}")


def evaluate_trial(sweep: Path, name: str, files: Sequence[Path]) -> Ending:
    """Evaluate a trial at its best validation step on every file, each once."""
    check_shared(sweep / TRIALS / name, *files)
    lock = acquire_lock(sweep / LOCKS / name)
    if lock is None:
        return "busy"
    try:
        torch.set_num_threads(1)
        questions = pending_tasks(sweep / TRIALS / name, files)
        for i, question in enumerate(questions):
            said = evaluation_key(question.file)
            lock.progress = {"share": i / len(questions), "evaluating": said}
            store(question, evaluate_task(question))
    finally:
        lock.release()
    return "done"


def measure(model: str, candidates: list[dict[str, Any]], data: Path) -> list[Speed | None]:
    """How fast each candidate is on this machine; None for those that cannot be trained."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    train_set, validate_set = (first_rows(data / name) for name in TRAINING_FILES)
    seconds_a_row = (time.perf_counter() - started) / (len(train_set) + len(validate_set))
    train_rows, validate_rows = (count_lines(data / name) for name in TRAINING_FILES)
    begin = SECONDS_TO_BEGIN + seconds_a_row * (train_rows + validate_rows)
    found: list[Speed | None] = []
    for given in candidates:
        try:
            kind = resolve(model)
            settings = RunSettings.read(kind, given)
            training = settings.training
            trainer = Trainer(kind(settings.network), training, train_set, validate_set, seed=0)
            parts = []
            for share in (0.25, 0.75):  # some begin with easier steps
                trainer.progress.step = round(share * trainer.total_steps)
                parts.append(seconds_a_call(learning(trainer)))
            epoch = sum(parts) / len(parts) * train_rows / training.batch_size
            asked = training.validation_rows or validate_rows
            evaluation = seconds_a_call(trainer.evaluate) * asked / len(validate_set)
            found.append(Speed(*(float(f"{s:.3g}") for s in (begin, epoch, evaluation))))
        except Exception:
            found.append(None)  # a trial of it will say why
    return found


def first_rows(path: Path) -> Dataset:
    """The beginning of a data file."""
    return Dataset(read(path, ROWS_MEASURED))


def learning(trainer: Trainer) -> Callable[[], None]:
    """What trains a network for one more step."""
    batches = trainer.batches()
    return lambda: trainer.learn(*next(batches))


def seconds_a_call(function: Callable[[], object]) -> float:
    """How long a call takes, without the first, which has more to do."""
    function()
    started, calls = time.perf_counter(), 0
    while not calls or time.perf_counter() - started < SECONDS_MEASURED:
        function()
        calls += 1
    return (time.perf_counter() - started) / calls
