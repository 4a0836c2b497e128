"""Training from start to finish: `train` for Python, and jobs in a run folder."""

import hashlib
import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from possibleworlds.data.files import (
    TRAINING_FILES,
    PairsLike,
    as_pairs,
    format_rows,
    in_blocks,
    read,
)
from possibleworlds.data.files import fingerprint as folder_fingerprint
from possibleworlds.data.pairs import Pairs
from possibleworlds.display import html_table, progress_bar
from possibleworlds.errors import StorageError, UserError, quoted, reason
from possibleworlds.models import Model
from possibleworlds.models.registry import entries, resolve
from possibleworlds.parallel import StopRequestedError, stop_requested
from possibleworlds.records import as_python
from possibleworlds.storage import exclusive_folder, is_temporary
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import (
    CONSTRUCTION_ERRORS,
    RUN,
    HistoryLine,
    Metrics,
    RunRecord,
    check_engine,
    read_run,
)
from possibleworlds.training.evaluation import Evaluation
from possibleworlds.training.loop import Trainer, single_thread
from possibleworlds.training.predictor import Network, load
from possibleworlds.training.settings import RunSettings, check_length

SECONDS_BETWEEN_CHECKPOINTS = 60.0
HELD_OUT = 10
"""One in this many 4-tuples, or rows, is held out if there is no validation set."""

Callback = Callable[[Trainer], None]


class TrainingData(NamedTuple):
    """Training and validation pairs in memory."""

    train: Pairs
    validate: Pairs


@dataclass(frozen=True)
class Job:
    """What to train, on which data, and where to store the run."""

    model: str | type[Model]
    """A class, or a name or module:Class from the user, which is trusted."""
    data: Path | TrainingData
    """A folder with train.txt and validate.txt, or pairs in memory."""
    out: Path | None
    """The run folder; None to store nothing on disk."""
    settings: dict[str, Any]
    """Non-default settings of the network and of its training, by name."""
    seed: int | None = None
    """Defaults to 0, or to the seed of the run to resume."""
    device: str = "cpu"
    resume: bool = False

    @property
    def model_class(self) -> type[Model]:
        """The class of the network."""
        return resolve(self.model, trust=True) if isinstance(self.model, str) else self.model

    @property
    def model_name(self) -> str:
        """The name of a registered network, or module:Class."""
        if isinstance(self.model, str):
            return self.model
        path = f"{self.model.__module__}:{self.model.__qualname__}"
        return next((name for name, entry in entries().items() if entry.path == path), path)

    def engine(self, settings: RunSettings) -> str:
        """Name what computes the training: torch, or the native kernel."""
        return self.model_class.engine(self.device, settings.network)

    def build(self, settings: RunSettings) -> Model:
        """Build the network, with its initial weights."""
        try:
            return self.model_class(settings.network).to(self.device)
        except CONSTRUCTION_ERRORS as error:
            problem = f"{self.model_name} cannot be made with these settings"
            raise UserError(f"{problem}: {reason(error)}") from None

    def fingerprint(self) -> dict[str, str]:
        """Compute the SHA-256 of the training files, or of their content if in memory."""
        if isinstance(self.data, Path):
            return folder_fingerprint(self.data)
        return {
            name: fingerprint_of(pairs)
            for name, pairs in zip(TRAINING_FILES, self.data, strict=True)
        }

    def datasets(self, validation_rows: int) -> tuple[Dataset, Dataset]:
        """Load the training set and the validation set."""
        rows = validation_rows or None
        if isinstance(self.data, Path):
            train, validate = (self.data / name for name in TRAINING_FILES)
            pairs = read(train), read(validate, rows)
        else:
            pairs = self.data.train, self.data.validate[:rows]
        return Dataset(pairs[0], self.device), Dataset(pairs[1], self.device)


def fingerprint_of(pairs: Pairs) -> str:
    """Compute the SHA-256 of the file that `pairs.save` would write."""
    digest = hashlib.sha256()
    for block in in_blocks(iter(pairs)):
        digest.update(format_rows(block).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class TrainingResult:
    """A trained network, with its training history."""

    network: Network
    """The network with the weights of the best validation step."""
    settings: RunSettings
    job: Job
    trainer: Trainer
    rng_state: Tensor
    data: dict[str, str]
    """The SHA-256 of each training file; empty for pairs in memory, which cannot change."""

    @property
    def metrics(self) -> Metrics:
        """The metrics of the run: validation accuracy at the best step, steps, seconds."""
        return self.trainer.metrics

    @property
    def history(self) -> list[HistoryLine]:
        """One line per evaluation on the validation set."""
        return self.trainer.progress.history

    def save(self, path: str | Path) -> None:
        """Write a run folder like the command `train`; `possibleworlds.load` reads it."""
        folder, job = Path(path), self.job
        if (folder / RUN).exists():
            raise UserError(f"{folder} holds a run already; choose another folder")
        seed, data = self.trainer.seed, self.data or job.fingerprint()
        engine = job.engine(self.settings)
        record = RunRecord.new(job.model_name, self.settings, seed, data, engine)
        with exclusive_folder(folder), torch.random.fork_rng(devices=[]):
            read_earlier_run(replace(job, out=folder, resume=False), data)
            torch.set_rng_state(self.rng_state)
            self.trainer.save(folder, record)

    def __repr__(self) -> str:
        metrics = self.metrics
        best = f"validation accuracy {metrics.validation:.2%} at step {metrics.best_step:,}"
        return f"<TrainingResult: {self.job.model_name}, {best}>"

    def _repr_html_(self) -> str:
        """Show the evaluations as a table in notebooks."""
        return html_table(
            [
                {
                    "step": f"{line.step:,}",
                    "loss": f"{line.loss:.4f}",
                    "accuracy": f"{line.accuracy:.2%}",
                    "validation": f"{line.validation:.2%}"
                    + (" (best)" if line.step == self.metrics.best_step else ""),
                }
                for line in self.history
            ]
        )


def train(
    model: str | type[Model],
    train: PairsLike,
    validate: PairsLike | None = None,
    *,
    epochs: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    device: str = "cpu",
    progress: bool | None = None,
    **settings: Any,
) -> TrainingResult:
    """Train a network on pairs (see `possibleworlds.train`)."""
    if epochs is not None:
        settings["epochs"] = epochs
    values, seed = {name: as_python(value) for name, value in settings.items()}, as_python(seed)
    check_length(values)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= 2**62:
        raise UserError(f"seed must be a whole number from 0 to 2**62, not {quoted(seed)}")
    if not isinstance(model, str) and not (isinstance(model, type) and issubclass(model, Model)):
        expected = "a name or a subclass of possibleworlds.models.Model"
        raise UserError(f"model must be {expected}, not {quoted(model)}")
    folder = Path(out) if out is not None else None
    if resume and folder is None:
        raise UserError("resume=True needs the folder of the run to continue: out=")
    job = Job(model, training_data(train, validate), folder, values, seed, device, resume)
    name = job.model_name
    with progress_bar(f"training {name}", 1.0, progress) as advance:
        try:
            return run_job(job, on_step=lambda trainer: advance(trainer.fraction_done))
        except StopRequestedError:
            raise KeyboardInterrupt from None


def evaluate(
    network: Network | str | Path,
    pairs: PairsLike,
    *,
    worlds: int | None = None,
    steps: int | None = None,
    budget: int | None = None,
    certify: bool = False,
    progress: bool | None = None,
    trust: bool = False,
) -> Evaluation:
    """Evaluate a network on labelled pairs (see `possibleworlds.evaluate`)."""
    if not isinstance(network, Network | str | Path):
        raise UserError(f"give a network, a run folder or a name, not {quoted(network)}")
    loaded = network if isinstance(network, Network) else load(network, trust=trust)
    data = as_pairs(pairs, "pairs")
    with progress_bar("evaluating", len(data), progress) as advance:
        done = 0

        def on_rows(count: int) -> None:
            nonlocal done
            done += count
            advance(done)

        return loaded.evaluate(
            data, worlds=worlds, steps=steps, budget=budget, certify=certify, progress=on_rows
        )


def training_data(train: PairsLike, validate: PairsLike | None) -> Path | TrainingData:
    """Convert training and validation data to a folder or to pairs in memory."""
    if isinstance(train, str | Path) and Path(train).is_dir():
        if validate is not None:
            raise UserError(f"{train} is a folder, which has its own validate.txt")
        return Path(train)
    pairs = as_pairs(train, "train")
    if validate is not None:
        return TrainingData(pairs, as_pairs(validate, "validate"))
    unit = pairs.rows_together
    held_out = np.arange(len(pairs)) // unit % HELD_OUT == HELD_OUT - 1
    if not held_out.any():
        raise UserError(f"{len(pairs)} rows are too few to hold some out; give validate=")
    return TrainingData(pairs[~held_out], pairs[held_out])


def run_job(
    job: Job,
    on_step: Callback = lambda _: None,
    on_evaluation: Callback = lambda _: None,
) -> TrainingResult:
    """Train a network or resume its run, on one thread for repeatable results."""
    check_device(job.device)
    data = job.fingerprint() if job.out or isinstance(job.data, Path) else {}
    earlier = read_earlier_run(job, data)
    values, seed = job.settings, job.seed or 0
    if earlier:
        values, seed = earlier.flat_settings, earlier.seed
    settings = RunSettings.read(job.model_class, values)
    datasets = job.datasets(settings.training.validation_rows)
    with single_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        trainer = Trainer(job.build(settings), settings.training, *datasets, seed)
        if job.out is None:
            run_to_end(trainer, on_step, on_evaluation, lambda: None)
        else:
            engine = job.engine(settings)
            record = earlier or RunRecord.new(job.model_name, settings, seed, data, engine)
            with exclusive_folder(job.out):
                train_in_folder(trainer, job, record, on_step, on_evaluation)
        rng_state = torch.get_rng_state()
        best = job.build(settings)
    best.load_state_dict(trainer.best, strict=False)
    return TrainingResult(Network(best.cpu().eval()), settings, job, trainer, rng_state, data)


def train_in_folder(
    trainer: Trainer, job: Job, record: RunRecord, on_step: Callback, on_evaluation: Callback
) -> None:
    """Train to the end of the run in a locked folder, from its last checkpoint if any."""
    assert job.out is not None
    folder, is_new = job.out, record.metrics is None
    current = read_earlier_run(job, record.data)  # it may have changed before the folder was locked
    if current and is_new and current.metrics:
        raise UserError(f"{folder}: another process has begun a run in it")
    record = current or record
    if record.state:
        trainer.restore(folder, record)
        record = trainer.save(folder, record)
    else:
        record.write(folder)

    def save() -> None:
        nonlocal record
        record = trainer.save(folder, record)

    run_to_end(trainer, on_step, on_evaluation, save)


def check_device(name: str) -> None:
    """Raise UserError if a device does not work here."""
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device {name}: {reason(error)}") from None


def read_earlier_run(job: Job, data: dict[str, str]) -> RunRecord | None:
    """Read the record of the run to resume; None if a new one may start in the folder."""
    folder = job.out
    if folder is None:
        return None
    try:
        content = [p for p in folder.iterdir() if not is_temporary(p)] if folder.exists() else []
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror}") from None
    if not content:
        return None
    if not (folder / RUN).exists():
        raise UserError(f"{folder} holds something that is not a run")
    if not job.resume:
        raise UserError(f"{folder} holds a run; --resume (in Python, resume=True) continues it")
    record = read_run(folder)
    if record.model != job.model_name:
        raise UserError(f"{folder} holds a run of {record.model}, not of {job.model_name}")
    if job.seed not in (None, record.seed):
        raise UserError(f"{folder} was started with seed {record.seed}")
    if record.data != data:
        where = f" than {job.data}" if isinstance(job.data, Path) else ""
        raise UserError(f"{folder} was trained on other data{where}")
    stored = record.flat_settings
    requested = RunSettings.read(job.model_class, job.settings).flat()
    requested = json.loads(json.dumps(requested))  # a tuple is stored as a list
    check_engine(record, job.engine(RunSettings.read(job.model_class, stored)), folder)
    length = "minutes" if stored["minutes"] else "epochs"
    extended: dict[str, Any] = {}
    if record.finished and length in job.settings and stored[length] < requested[length]:
        extended = {length: requested[length]}
    for name in job.settings.keys() - extended.keys():
        if stored.get(name) != requested[name]:
            problem = f"{folder} has {name}={stored.get(name)}"
            if name == length:
                problem += "; only a finished run can be extended, and none made shorter"
            elif name in ("epochs", "minutes"):
                problem = f"{folder} has its length in {length}, not in {name}"
            raise UserError(problem)
    if not extended:
        return record
    earlier = [*(record.extended_from or []), {name: stored[name] for name in extended}]
    training = {**record.training, **extended}
    return replace(record, training=training, extended_from=earlier)


def run_to_end(
    trainer: Trainer, on_step: Callback, on_evaluation: Callback, save: Callable[[], None]
) -> None:
    """Train, evaluate and save until the run is done or the user stops it."""
    progress, evaluations = trainer.progress, trainer.settings.evaluations
    last_saved = last_time = time.perf_counter()
    with stop_requested(signal.SIGINT, signal.SIGTERM) as stop:
        for batch, labels in trainer.batches():
            if trainer.fraction_done >= 1:
                return
            evaluations_done = int(trainer.fraction_done * evaluations)
            trainer.train_step(batch, labels)
            now = time.perf_counter()
            progress.seconds += now - last_time
            last_time = now
            on_step(trainer)
            is_evaluation = int(trainer.fraction_done * evaluations) > evaluations_done
            if is_evaluation:
                trainer.evaluate_and_keep_best()
                on_evaluation(trainer)
            if is_evaluation or stop() or now - last_saved > SECONDS_BETWEEN_CHECKPOINTS:
                save()
                last_saved = last_time = time.perf_counter()
            if stop():
                raise StopRequestedError
