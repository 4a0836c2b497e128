"""The training loop: Adam, symbol permutation, and the best validation step kept (section 4)."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from possibleworlds.errors import UserError, reason
from possibleworlds.models import Batch, Model
from possibleworlds.models.base import Options
from possibleworlds.records import from_json
from possibleworlds.training import checkpoint
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import (
    Count,
    Fraction,
    HistoryLine,
    Metrics,
    Positive,
    RunRecord,
)
from possibleworlds.training.evaluation import row_log_probabilities
from possibleworlds.training.settings import TrainingSettings

PERMUTED_BY = 1 / 3
"""The fraction of a run after which symbols are permuted, whatever permute_after says."""


@contextmanager
def single_thread() -> Iterator[None]:
    """Compute on one thread, and restore the caller's number of threads.

    The tensors are so small that more threads cost more than they gain; and one gives the same
    result on every machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass
class Progress:
    """How far a run has come, and what was measured on the way."""

    step: Count = 0
    seconds: Positive = 0.0
    best_accuracy: Fraction = 0.0
    best_step: Count = 0
    loss_sum: float = 0.0
    accuracy_sum: Positive = 0.0
    steps_summed: Count = 0
    """Steps since the last evaluation, over which loss and accuracy are summed."""
    history: list[HistoryLine] = field(default_factory=list)

    @property
    def loss(self) -> float:
        """The mean loss since the last evaluation."""
        return self.loss_sum / max(1, self.steps_summed)

    @property
    def accuracy(self) -> float:
        """The mean accuracy on the training batches since the last evaluation."""
        return self.accuracy_sum / max(1, self.steps_summed)


class Trainer:
    """A network in training, with its optimiser, the EMA of its weights, and its progress."""

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
        self.ema = {name: weight.detach().clone() for name, weight in self.weights.items()}
        tensors = checkpoint.unique_tensors(model)
        self.buffers = {n: t for n, t in tensors.items() if n not in self.weights}
        self.best: dict[str, Tensor] = {}
        """Weights and buffers of the best validation step."""
        self.optimizer = torch.optim.Adam(self.weights.values(), settings.learning_rate, fused=True)
        self.progress = Progress()
        self.steps_per_epoch = train.steps_per_epoch(settings.batch_size)
        self.total_steps = max(1, round(settings.epochs * self.steps_per_epoch))

    @property
    def fraction_done(self) -> float:
        """The fraction of the run that is done: of its steps, or of its time."""
        if self.settings.minutes:
            return min(1.0, self.progress.seconds / (60 * self.settings.minutes))
        return self.progress.step / self.total_steps

    @property
    def metrics(self) -> Metrics:
        """What has been measured so far."""
        progress = self.progress
        pairs = progress.step * self.settings.batch_size
        return Metrics(
            progress.step,
            round(progress.seconds, 3),
            round(pairs / max(progress.seconds, 1e-9), 1),
            progress.best_step,
            progress.best_accuracy,
            sum(weight.numel() for weight in self.weights.values()),
            self.fraction_done >= 1,
        )

    def batches(self) -> Iterator[tuple[Batch, Tensor]]:
        """Yield batches from the current step on, without end; the same for the same seed."""
        while True:
            epoch, skip = divmod(self.progress.step, self.steps_per_epoch)
            rng = np.random.default_rng([self.seed, epoch])
            settings, first = self.settings, epoch * self.steps_per_epoch
            fraction = self.fraction_done if settings.minutes else first / self.total_steps
            is_late = first >= settings.permute_after or fraction >= PERMUTED_BY
            permute = settings.permute_symbols and is_late
            yield from self.train.epoch(settings.batch_size, permute, rng, skip)

    def train_step(self, batch: Batch, labels: Tensor) -> None:
        """Take one step of Adam."""
        settings, progress = self.settings, self.progress
        if settings.schedule == "cosine":
            rate = settings.learning_rate * (1 + math.cos(math.pi * self.fraction_done)) / 2
            self.optimizer.param_groups[0]["lr"] = rate
        log_probs = self.model.log_probs(batch, Options(progress=self.fraction_done))
        loss = self.model.loss(log_probs, labels)
        self.optimizer.zero_grad()
        loss.backward()
        if settings.max_grad_norm:
            nn.utils.clip_grad_norm_(self.weights.values(), settings.max_grad_norm)
        self.optimizer.step()
        progress.step += 1
        # The decay warms up, so that the EMA is not held back by the initial weights.
        decay = min(settings.ema_decay, progress.step / (progress.step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.ema.values()), list(self.weights.values()), 1 - decay)
        if not math.isfinite(loss.item()):
            problem = f"the loss is {loss.item()} at step {progress.step}"
            raise UserError(f"{problem}: try a lower learning_rate")
        progress.loss_sum += loss.item()
        progress.accuracy_sum += (log_probs.detach().argmax(1) == labels).double().mean().item()
        progress.steps_summed += 1

    @contextmanager
    def ema_weights(self) -> Iterator[None]:
        """Put the EMA in the place of the weights for a while."""
        with torch.no_grad():
            weights = {name: weight.clone() for name, weight in self.weights.items()}
            self.set_weights(self.ema)
            try:
                yield
            finally:
                self.set_weights(weights)

    def set_weights(self, values: dict[str, Tensor]) -> None:
        """Overwrite the weights of the network."""
        for name, weight in self.weights.items():
            weight.data.copy_(values[name])

    def evaluate(self) -> float:
        """Compute the accuracy of the EMA of the weights on the validation set."""
        with self.ema_weights():
            log_probs = row_log_probabilities(self.model, self.validate)
        return float((log_probs.argmax(1) == self.validate.pairs.label).mean())

    def evaluate_and_keep_best(self) -> None:
        """Evaluate, keep the weights if none before were better, and add a line of history."""
        progress = self.progress
        validation = self.evaluate()
        if validation >= progress.best_accuracy:
            progress.best_accuracy, progress.best_step = validation, progress.step
            tensors = {**self.ema, **self.buffers}
            self.best = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        seconds = round(progress.seconds, 3)
        line = HistoryLine(progress.step, seconds, progress.loss, progress.accuracy, validation)
        progress.history.append(line)
        progress.loss_sum, progress.accuracy_sum, progress.steps_summed = 0.0, 0.0, 0

    def state(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        """Collect all that is needed to resume: tensors, and the progress as text."""
        tensors = {"random": torch.get_rng_state()}
        tensors |= {f"buffer.{name}": buffer for name, buffer in self.buffers.items()}
        for name, weight in self.weights.items():
            tensors[f"weight.{name}"] = weight.detach()
            tensors[f"ema.{name}"] = self.ema[name]
            for key, value in self.optimizer.state[weight].items():
                tensors[f"{key}.{name}"] = value
        return tensors, {"progress": json.dumps(asdict(self.progress))}

    def save(self, folder: Path, record: RunRecord) -> RunRecord:
        """Write a checkpoint and give its record: it is valid once run.json names its files."""
        progress = self.progress
        weights, state = record.weights, f"state-{progress.step}.safetensors"
        if self.best and weights != (name := f"model-{progress.best_step}.safetensors"):
            weights = name
            metadata = {"step": str(progress.best_step)}
            checkpoint.save_tensors(folder / weights, self.best, metadata)
        checkpoint.save_tensors(folder / state, *self.state())
        checkpoint.write_history(folder, progress.history)
        metrics = self.metrics
        record = replace(record, weights=weights, state=state, metrics=metrics)
        # A finished run has nothing left of earlier checkpoints, as nobody would remove it.
        unfinished = replace(record, metrics=replace(metrics, finished=False))
        unfinished.write(folder)
        checkpoint.remove_superseded(folder, unfinished)
        if metrics.finished:
            record.write(folder)
        return record

    def restore(self, folder: Path, record: RunRecord) -> None:
        """Continue from the checkpoint of a run folder."""
        assert record.state is not None
        path = folder / record.state
        tensors, metadata = checkpoint.load_tensors(path)
        try:
            self.progress = from_json(json.loads(metadata["progress"]), Progress, "progress")
            for name, weight in self.weights.items():
                with torch.no_grad():
                    weight.copy_(stored(tensors, "weight", name, weight))
                self.ema[name].copy_(stored(tensors, "ema", name, weight))
                if self.progress.step:
                    scalar = torch.zeros((), device=weight.device)
                    self.optimizer.state[weight] = {
                        "step": stored(tensors, "step", name, scalar),
                        "exp_avg": stored(tensors, "exp_avg", name, weight),
                        "exp_avg_sq": stored(tensors, "exp_avg_sq", name, weight),
                    }
            for name, buffer in self.buffers.items():
                buffer.copy_(stored(tensors, "buffer", name, buffer))
            torch.set_rng_state(tensors["random"])
        except UserError as error:
            raise UserError(f"{path} does not fit the run: {error}") from None
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise UserError(f"{path} does not fit the run: {reason(error)}") from None
        if record.weights:
            tensors, _ = checkpoint.load_tensors(folder / record.weights)
            checkpoint.check_fit(self.model, tensors, folder / record.weights)
            self.best = {name: tensor.to(self.train.device) for name, tensor in tensors.items()}


def stored(tensors: dict[str, Tensor], kind: str, name: str, like: Tensor) -> Tensor:
    """Look up a tensor of a training state, on the device and of the type of another one."""
    tensor = tensors[f"{kind}.{name}"]
    if tensor.shape != like.shape:
        raise ValueError(f"{kind}.{name} is {tuple(tensor.shape)}")
    return tensor.to(like)
