"""The training loop: Adam with symbol permutation, keeping the best validation step (section 4)."""

import json
import math
from collections.abc import Iterator, Mapping
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
from possibleworlds.training.batches import (
    Dataset,
    check_log_probs,
    check_normalised,
    row_log_probabilities,
)
from possibleworlds.training.checkpoint import (
    Count,
    Fraction,
    HistoryLine,
    Metrics,
    Positive,
    RunRecord,
)
from possibleworlds.training.settings import TrainingSettings

ALIGNMENT = 16
"""Every weight starts at a multiple of this many numbers, as if allocated separately."""
LATEST_PERMUTATION = 1 / 3
"""The fraction of a run after which symbols are permuted, whatever the value of permute_after."""


@contextmanager
def single_thread() -> Iterator[None]:
    """Compute on one thread, and restore the caller's number of threads.

    The tensors are so small that more threads cost more than they gain, and a single thread gives
    the same result on every machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Adam:
    """Adam, gradient clipping and the EMA of the weights, each for all weights at once.

    The weights of a network become views of one vector, and so do their gradients: with one tensor
    per weight, the overhead of calls would exceed the arithmetic of a step.

    >>> layer = nn.Linear(2, 1)
    >>> adam = Adam(dict(layer.named_parameters()))
    >>> adam.gradient.shape, adam.parts("exp_avg")["weight"]
    (torch.Size([32]), tensor([[0., 0.]]))
    >>> layer(torch.tensor([3.0, 4.0])).backward()
    >>> adam.gradient[:3], adam.gradient[ALIGNMENT]
    (tensor([3., 4., 0.]), tensor(1.))
    """

    def __init__(self, weights: Mapping[str, nn.Parameter]) -> None:
        if not weights:
            raise UserError("the network has no weights to train")
        kinds = {(weight.dtype, weight.device) for weight in weights.values()}
        if len(kinds) != 1:
            raise UserError("the weights of a network must be of one type and on one device")
        ((dtype, device),) = kinds
        if dtype not in (torch.float32, torch.float64):  # small changes would be rounded away
            raise UserError(f"weights are trained in float32 or float64, not {dtype}")
        self.shapes = {name: weight.shape for name, weight in weights.items()}
        self.sizes = [-(-weight.numel() // ALIGNMENT) * ALIGNMENT for weight in weights.values()]
        self.steps = torch.zeros((), device=device)
        # Five vectors of all weights, each weight padded to a multiple of ALIGNMENT.
        vectors = torch.zeros(5, sum(self.sizes), dtype=dtype, device=device).unbind()
        self.gradient, *state = vectors
        self.state = dict(zip(("weight", "ema", "exp_avg", "exp_avg_sq"), state, strict=True))
        """The weights, their EMA, and the moving averages of the gradients and their squares."""
        values, gradients = self.parts("weight"), self._split(self.gradient)
        for name, weight in weights.items():
            weight.data = values[name].copy_(weight.data)
            weight.grad = gradients[name]
        self.state["ema"].copy_(self.state["weight"])

    def parts(self, key: str) -> dict[str, Tensor]:
        """Return views of a vector of the state, by the name of the weight."""
        return self._split(self.state[key])

    def _split(self, vector: Tensor) -> dict[str, Tensor]:
        pieces = zip(self.shapes.items(), vector.split(self.sizes), strict=True)
        return {name: piece[: shape.numel()].view(shape) for (name, shape), piece in pieces}

    def step(self, learning_rate: float, max_grad_norm: float) -> None:
        """Update the weights, with gradient clipping unless max_grad_norm is 0."""
        if max_grad_norm:
            norm = torch.linalg.vector_norm(self.gradient)
            self.gradient.mul_((max_grad_norm / (norm + 1e-6)).clamp_max_(1.0))
        self.steps += 1
        # torch.optim.Adam calls the same function, after checks that take twice as long.
        torch._fused_adam_(
            [self.state["weight"]],
            [self.gradient],
            [self.state["exp_avg"]],
            [self.state["exp_avg_sq"]],
            [],
            [self.steps],
            lr=learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )

    def update_ema(self, decay: float) -> None:
        """Move the EMA towards the weights."""
        self.state["ema"].lerp_(self.state["weight"], 1 - decay)


@dataclass
class Progress:
    """The progress of a run, and its measurements so far."""

    step: Count = 0
    seconds: Positive = 0.0
    best_accuracy: Fraction = 0.0
    best_step: Count = 0
    loss_sum: float = 0.0
    accuracy_sum: Positive = 0.0
    steps_summed: Count = 0
    """The steps since the last evaluation, over which loss and accuracy are summed."""
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
        self.best: dict[str, Tensor] = {}
        """Weights and buffers of the best validation step."""
        self.adam = Adam(self.weights)
        self.ema = self.adam.parts("ema")
        self.progress = Progress()
        self.steps_per_epoch = train.steps_per_epoch(settings.batch_size)
        self.total_steps = max(1, round(settings.epochs * self.steps_per_epoch))

    @property
    def buffers(self) -> dict[str, Tensor]:
        """The persistent buffers of the network, which may assign new tensors to them."""
        tensors = checkpoint.unique_tensors(self.model)
        return {name: tensor for name, tensor in tensors.items() if name not in self.weights}

    @property
    def fraction_done(self) -> float:
        """The fraction of the run that is done: of its steps, or of its time."""
        if self.settings.minutes:
            return min(1.0, self.progress.seconds / (60 * self.settings.minutes))
        return self.progress.step / self.total_steps

    @property
    def metrics(self) -> Metrics:
        """The metrics of the run so far."""
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
        """Yield batches endlessly from the current step on, the same for the same seed."""
        while True:
            epoch, skip = divmod(self.progress.step, self.steps_per_epoch)
            rng = np.random.default_rng([self.seed, epoch])
            settings, first = self.settings, epoch * self.steps_per_epoch
            fraction = self.fraction_done if settings.minutes else first / self.total_steps
            is_late = first >= settings.permute_after or fraction >= LATEST_PERMUTATION
            permute = settings.permute_symbols and is_late
            yield from self.train.epoch(settings.batch_size, permute, rng, skip)

    def train_step(self, batch: Batch, labels: Tensor) -> None:
        """Take one step of Adam."""
        settings, progress = self.settings, self.progress
        rate = settings.learning_rate
        if settings.schedule == "cosine":
            rate *= (1 + math.cos(math.pi * self.fraction_done)) / 2
        output = self.model.log_probs(batch, Options(progress=self.fraction_done))
        log_probs = check_log_probs(self.model, output, len(labels))
        if not progress.steps_summed:
            check_normalised(self.model, log_probs.detach().cpu().double().numpy())
        loss = self.model.loss(log_probs, labels)
        check_loss(self.model, loss)
        self.adam.gradient.zero_()
        loss.backward()
        self.adam.step(rate, settings.max_grad_norm)
        progress.step += 1
        # The decay warms up, so that the EMA quickly forgets the initial weights.
        self.adam.update_ema(min(settings.ema_decay, progress.step / (progress.step + 10)))
        if not math.isfinite(value := loss.item()):
            problem = f"the loss is {value} at step {progress.step}"
            is_first = progress.step == 1
            advice = "with the initial weights" if is_first else "try a lower learning_rate"
            raise UserError(f"{problem}: {advice}")
        progress.loss_sum += value
        n_right = (log_probs.detach().argmax(1) == labels).sum().item()
        progress.accuracy_sum += n_right / len(labels)
        progress.steps_summed += 1

    @contextmanager
    def ema_weights(self) -> Iterator[None]:
        """Temporarily replace the weights by their EMA."""
        weights = self.adam.state["weight"]
        with torch.no_grad():
            before = weights.clone()
            weights.copy_(self.adam.state["ema"])
            try:
                yield
            finally:
                weights.copy_(before)

    def evaluate(self) -> float:
        """Compute the accuracy of the EMA of the weights on the validation set."""
        with self.ema_weights():
            log_probs = row_log_probabilities(self.model, self.validate)
        return float((log_probs.argmax(1) == self.validate.pairs.label).mean())

    def evaluate_and_keep_best(self) -> None:
        """Evaluate, keep the weights if they are the best so far, and record the evaluation."""
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
        for key in self.adam.state:
            tensors |= {f"{key}.{name}": part for name, part in self.adam.parts(key).items()}
        return tensors, {"progress": json.dumps(asdict(self.progress))}

    def save(self, folder: Path, record: RunRecord) -> RunRecord:
        """Write a checkpoint, which is valid once run.json names its files; return its record."""
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
        # Earlier checkpoints are removed before a run is marked finished: nobody would do so later.
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
        in_vectors = sum(vector.nbytes for vector in self.adam.state.values())
        tensors, metadata = checkpoint.load_tensors(path, in_vectors)
        try:
            self.progress = from_json(json.loads(metadata["progress"]), Progress, "progress")
            for key in self.adam.state:
                for name, part in self.adam.parts(key).items():
                    part.copy_(stored(tensors, f"{key}.{name}", part))
            self.adam.steps.fill_(self.progress.step)
            for name, buffer in self.buffers.items():
                buffer.copy_(stored(tensors, f"buffer.{name}", buffer))
            torch.set_rng_state(tensors["random"])
        except UserError as error:
            raise UserError(f"{path} does not fit the run: {error}") from None
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise UserError(f"{path} does not fit the run: {reason(error)}") from None
        if record.weights:
            tensors, _ = checkpoint.load_tensors(folder / record.weights)
            checkpoint.check_fit(self.model, tensors, folder / record.weights)
            self.best = {name: tensor.to(self.train.device) for name, tensor in tensors.items()}


def check_loss(model: Model, loss: object) -> None:
    """Raise UserError unless a loss is a single number that depends on the weights."""
    name = type(model).__name__
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        kind = f"shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
        raise UserError(f"{name}.loss must return a tensor with a single number, not {kind}")
    if not loss.requires_grad:
        raise UserError(f"{name} cannot be trained: its loss does not depend on its weights")


def stored(tensors: dict[str, Tensor], name: str, like: Tensor) -> Tensor:
    """Look up a tensor of a training state, with the shape, type and device of another one."""
    tensor = tensors[name]
    if tensor.shape != like.shape:
        raise ValueError(f"{name} is {tuple(tensor.shape)}")
    return tensor.to(like)
