"""The training loop: Adam, symbol permutation, and the best validation step kept (section 4)."""

import json
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from possibleworlds.data.files import TRAINING_FILES, fingerprint, read
from possibleworlds.errors import UserError, reason
from possibleworlds.models.base import Model, Options
from possibleworlds.models.registry import resolve
from possibleworlds.models.settings import check_kinds
from possibleworlds.parallel import StopRequestedError, stop_requested
from possibleworlds.storage import atomic_write, exclusive_folder, write_json
from possibleworlds.training import checkpoint
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import flat_settings
from possibleworlds.training.evaluation import log_probabilities
from possibleworlds.training.settings import RunSettings, TrainingSettings

SECONDS_BETWEEN_CHECKPOINTS = 60.0
PERMUTED_BY = 1 / 3
"""The share of a run after which symbols are permuted, whatever permute_after says."""


@dataclass
class Progress:
    """Where a run is."""

    step: int = 0
    seconds: float = 0.0
    best_accuracy: float = 0.0
    best_step: int = 0
    loss_sum: float = 0.0
    accuracy_sum: float = 0.0
    steps_summed: int = 0
    """Steps since the last evaluation, over which loss and accuracy are added up."""
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def loss(self) -> float:
        """The mean loss since the last evaluation."""
        return self.loss_sum / max(1, self.steps_summed)

    @property
    def accuracy(self) -> float:
        """The mean accuracy on the batches since the last evaluation."""
        return self.accuracy_sum / max(1, self.steps_summed)


class Trainer:
    """One network in training."""

    def __init__(
        self,
        model: Model,
        settings: TrainingSettings,
        train: Dataset,
        validate: Dataset,
        seed: int,
    ) -> None:
        self.model, self.settings, self.seed = model, settings, seed
        self.train, self.validate = train, validate
        self.weights = dict(model.named_parameters())
        self.averages = {name: w.detach().clone() for name, w in self.weights.items()}
        everything = checkpoint.own_tensors(model)
        self.buffers = {n: t for n, t in everything.items() if n not in self.weights}
        self.optimizer = torch.optim.Adam(self.weights.values(), settings.learning_rate, fused=True)
        self.progress = Progress()
        self.per_epoch = train.steps_per_epoch(settings.batch_size)
        self.total_steps = max(1, round(settings.epochs * self.per_epoch))

    @property
    def share_done(self) -> float:
        """How much of the run is behind it, from 0 to 1: by steps, or by time where that counts."""
        if self.settings.minutes:
            return min(1.0, self.progress.seconds / (60 * self.settings.minutes))
        return self.progress.step / self.total_steps

    def batches(self) -> Iterator[tuple[Any, Tensor]]:
        """Batches from where the run is, without end; the same for the same seed and step."""
        while True:
            epoch, skip = divmod(self.progress.step, self.per_epoch)
            rng = np.random.default_rng([self.seed, epoch])
            settings, begun = self.settings, epoch * self.per_epoch
            share = self.share_done if settings.minutes else begun / self.total_steps
            late = begun >= settings.permute_after or share >= PERMUTED_BY
            permute = settings.permute_symbols and late
            yield from self.train.epoch(settings.batch_size, permute, rng, skip)

    def learn(self, batch: Any, labels: Tensor) -> None:
        """One step of Adam."""
        settings, progress = self.settings, self.progress
        if settings.schedule == "cosine":
            rate = settings.learning_rate * (1 + math.cos(math.pi * self.share_done)) / 2
            self.optimizer.param_groups[0]["lr"] = rate
        answer = self.model.log_probs(batch, Options(progress=self.share_done))
        loss = self.model.loss(answer, labels)
        self.optimizer.zero_grad()
        loss.backward()
        if settings.max_grad_norm:
            nn.utils.clip_grad_norm_(self.weights.values(), settings.max_grad_norm)
        self.optimizer.step()
        progress.step += 1
        # The average starts short, so that it is not held back by where the weights began.
        decay = min(settings.ema_decay, progress.step / (progress.step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(
                list(self.averages.values()), list(self.weights.values()), 1 - decay
            )
        if not math.isfinite(loss.item()):
            problem = f"the loss is {loss.item()} at step {progress.step}"
            raise UserError(f"{problem}: try a lower learning_rate")
        progress.loss_sum += loss.item()
        progress.accuracy_sum += (answer.detach().argmax(1) == labels).double().mean().item()
        progress.steps_summed += 1

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """The network with the moving averages as its weights."""
        with torch.no_grad():
            kept = {name: w.clone() for name, w in self.weights.items()}
            self.set_weights(self.averages)
            try:
                yield
            finally:
                self.set_weights(kept)

    def set_weights(self, values: dict[str, Tensor]) -> None:
        """Overwrite the weights of the network."""
        for name, weight in self.weights.items():
            weight.data.copy_(values[name])

    def evaluate(self) -> float:
        """The accuracy of the averaged network on the validation set."""
        with self.averaged():
            answers = log_probabilities(self.model, self.validate)
        return float((answers.argmax(1) == self.validate.pairs.label).mean())

    def state(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        """All that is needed to go on: tensors, and the progress as text."""
        tensors = {"random": torch.get_rng_state()}
        tensors |= {f"buffer.{name}": buffer for name, buffer in self.buffers.items()}
        for name, weight in self.weights.items():
            tensors[f"weight.{name}"] = weight.detach()
            tensors[f"ema.{name}"] = self.averages[name]
            for key, value in self.optimizer.state[weight].items():
                tensors[f"{key}.{name}"] = value
        return tensors, {"progress": json.dumps(vars(self.progress))}

    def restore(self, tensors: dict[str, Tensor], metadata: dict[str, str], path: Path) -> None:
        """Go on from a state."""
        try:
            self.progress = Progress(**json.loads(metadata["progress"]))
            check_kinds(self.progress, str(path))

            def stored(kind: str, name: str, like: Tensor) -> Tensor:
                found = tensors[f"{kind}.{name}"]
                if found.shape != like.shape:
                    raise ValueError(f"{kind}.{name} is {tuple(found.shape)}")
                return found.to(like)

            for name, weight in self.weights.items():
                with torch.no_grad():
                    weight.copy_(stored("weight", name, weight))
                self.averages[name].copy_(stored("ema", name, weight))
                if self.progress.step:
                    self.optimizer.state[weight] = {
                        "step": stored("step", name, torch.zeros((), device=weight.device)),
                        "exp_avg": stored("exp_avg", name, weight),
                        "exp_avg_sq": stored("exp_avg_sq", name, weight),
                    }
            for name, buffer in self.buffers.items():
                buffer.copy_(stored("buffer", name, buffer))
            torch.set_rng_state(tensors["random"])
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise UserError(f"{path} does not fit the run: {reason(error)}") from None


@dataclass(frozen=True)
class Job:
    """What is to be trained, on what, and where the run is kept."""

    model: str
    data: Path
    out: Path
    given: dict[str, Any]
    """Settings other than the defaults, of the network and of its training, by name."""
    seed: int | None = None
    """0 unless given, or that of the run to go on with."""
    device: str = "cpu"
    resume: bool = False


Report = Callable[[Trainer], None]


def train(
    job: Job, on_step: Report = lambda _: None, on_evaluation: Report = lambda _: None
) -> Trainer:
    """Train a network into a run folder, or go on with one; on one thread, to be repeatable."""
    torch.set_num_threads(1)
    check_device(job.device)
    kind = resolve(job.model)
    data = fingerprint(job.data)
    run = open_run(job, kind, data)
    if run:
        given, seed = flat_settings(run), run["seed"]
    else:
        given, seed = job.given, job.seed or 0
    settings = RunSettings.read(kind, given)
    rows = None, settings.training.validation_rows or None
    train_set, validate_set = (
        Dataset(read(job.data / name, some), job.device)
        for name, some in zip(TRAINING_FILES, rows, strict=True)
    )
    torch.manual_seed(seed)
    try:
        model = kind(settings.network).to(job.device)
    except checkpoint.UNFIT as error:
        problem = f"{job.model} cannot be made with these settings"
        raise UserError(f"{problem}: {reason(error)}") from None
    trainer = Trainer(model, settings.training, train_set, validate_set, seed)
    description = checkpoint.describe_run(job.model, settings, seed, data, kind.engine(job.device))
    state = job.out / checkpoint.STATE
    with exclusive_folder(job.out):
        if not run and open_run(job, kind, data):
            raise UserError(f"{job.out}: another process has begun a run in it")
        if run and state.exists():
            trainer.restore(*checkpoint.load_tensors(state), state)
            save(trainer, job.out, description)
        else:
            write_json(job.out / checkpoint.RUN, description)
        run_to_the_end(trainer, job.out, description, on_step, on_evaluation)
    return trainer


def check_device(name: str) -> None:
    """Complain of a device on which nothing can be computed here."""
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {name}: {str(error).splitlines()[0]}") from None


def open_run(job: Job, kind: type[Model], data: dict[str, str]) -> dict[str, Any] | None:
    """What the run folder says of the run to go on with, or None where a new one may begin."""
    try:
        inside = [p for p in job.out.iterdir() if p.suffix != ".part"] if job.out.exists() else []
    except OSError as error:
        raise UserError(f"{job.out}: {error.strerror}") from None
    if not inside:
        return None
    if not (job.out / checkpoint.RUN).exists():
        raise UserError(f"{job.out} holds something that is not a run")
    if not job.resume:
        raise UserError(f"{job.out} holds a run; --resume goes on with it")
    run = checkpoint.read_run(job.out)
    if run["model"] != job.model:
        raise UserError(f"{job.out} holds a run of {run['model']}, not of {job.model}")
    if job.seed not in (None, run["seed"]):
        raise UserError(f"{job.out} was started with seed {run['seed']}")
    if run["data"] != data:
        raise UserError(f"{job.out} was trained on other data than {job.data}")
    checkpoint.validate_engine(run, kind.engine(job.device), job.out)
    stored = flat_settings(run)
    wanted = RunSettings.read(kind, job.given).flat()
    for name in job.given:
        if stored.get(name) != wanted[name]:
            raise UserError(f"{job.out} was started with {name}={stored.get(name)}")
    return run


def run_to_the_end(
    trainer: Trainer,
    out: Path,
    description: dict[str, Any],
    on_step: Report,
    on_evaluation: Report,
) -> None:
    """Train, evaluate and save until the run is done or the user stops it."""
    progress, evaluations = trainer.progress, trainer.settings.evaluations
    last_saved = last_time = time.perf_counter()
    with stop_requested(signal.SIGINT, signal.SIGTERM) as stop:
        for batch, labels in trainer.batches():
            if trainer.share_done >= 1:
                return
            due = int(trainer.share_done * evaluations)
            trainer.learn(batch, labels)
            now = time.perf_counter()
            progress.seconds += now - last_time
            last_time = now
            on_step(trainer)
            evaluate = int(trainer.share_done * evaluations) > due
            if evaluate:
                take_note(trainer, out)
                on_evaluation(trainer)
            if evaluate or stop() or now - last_saved > SECONDS_BETWEEN_CHECKPOINTS:
                save(trainer, out, description)
                last_saved = last_time = time.perf_counter()
            if stop():
                raise StopRequestedError


def take_note(trainer: Trainer, out: Path) -> None:
    """Evaluate, and keep the weights if none before were better."""
    progress = trainer.progress
    validation = trainer.evaluate()
    if validation >= progress.best_accuracy:
        progress.best_accuracy, progress.best_step = validation, progress.step
        metadata = {"step": str(progress.step)}
        tensors = {**trainer.averages, **trainer.buffers}
        checkpoint.save_tensors(out / checkpoint.MODEL, tensors, metadata)
    progress.history.append(
        {
            "step": progress.step,
            "seconds": round(progress.seconds, 3),
            "loss": progress.loss,
            "accuracy": progress.accuracy,
            "validation": validation,
        }
    )
    progress.loss_sum, progress.accuracy_sum, progress.steps_summed = 0.0, 0.0, 0


def save(trainer: Trainer, out: Path, description: dict[str, Any]) -> None:
    """Write a checkpoint: the state first, from which all follows, and last that it is finished."""
    progress = trainer.progress
    checkpoint.save_tensors(out / checkpoint.STATE, *trainer.state())
    metrics = {
        "step": progress.step,
        "seconds": round(progress.seconds, 3),
        "pairs_per_second": round(
            progress.step * trainer.settings.batch_size / max(progress.seconds, 1e-9), 1
        ),
        "best_step": progress.best_step,
        "validation": progress.best_accuracy,
        "parameters": sum(weight.numel() for weight in trainer.weights.values()),
        "finished": trainer.share_done >= 1,
    }
    with atomic_write(out / checkpoint.METRICS) as file:
        file.writelines(json.dumps(line) + "\n" for line in progress.history)
    write_json(out / checkpoint.RUN, {**description, "metrics": metrics})
