"""Data sets in batches; the rows of a 4-tuple stay together and share a symbol permutation."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from possibleworlds.data.pairs import Pairs
from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import N_VARIABLES
from possibleworlds.models.base import DEFAULT_OPTIONS, Model, Options
from possibleworlds.models.batch import Batch
from possibleworlds.models.sequences import Ints
from possibleworlds.models.trees.forest import Device, Forest

EVALUATION_SEED = 0
MAX_LENGTH = 20_000
"""The most symbols of a formula; trees are evaluated level by level, and deep ones are slow."""
MAX_ERROR_OF_SUM = 0.01
"""How far from 1 the sum of two probabilities may be, in any precision."""
NODES_AT_ONCE = 4000
"""Nodes per batch in evaluation, which bounds its memory."""


class Dataset:
    """Pairs prepared for a network: a forest of their formulas, and their labels."""

    def __init__(self, pairs: Pairs, device: Device = "cpu") -> None:
        if len(lengths := np.diff(pairs.offsets)) and lengths.max() > MAX_LENGTH:
            raise UserError(
                f"a formula of {lengths.max():,} symbols; networks take up to {MAX_LENGTH:,}"
            )
        self.pairs, self.device = pairs, device
        self.forest = Forest(pairs.code, pairs.offsets)
        self.rows_per_unit = pairs.rows_together
        if self.rows_per_unit == 4:
            left, right = pairs.left.reshape(-1, 4), pairs.right.reshape(-1, 4)
            self.formulas = np.concatenate((left[:, :2], right[:, :2]), 1)
        self.labels = pairs.label.reshape(-1, self.rows_per_unit)

    def __len__(self) -> int:
        return len(self.pairs)

    def epoch(
        self, batch_size: int, permute_symbols: bool, rng: np.random.Generator, skip: int = 0
    ) -> Iterator[tuple[Batch, Tensor]]:
        """Yield all rows in random order as batches with labels, skipping the first batches."""
        units = len(self) // self.rows_per_unit
        order = rng.permutation(units)
        permutations = np.tile(np.arange(N_VARIABLES, dtype=np.uint8), (units, 1))
        if permute_symbols:
            permutations = rng.permuted(permutations, axis=1)
        step = batch_size // self.rows_per_unit
        for start in range(skip * step, units, step):
            chosen = order[start : start + step]
            yield self.batch(chosen, permutations[start : start + step])

    def batch(self, units: Ints, permutations: Ints) -> tuple[Batch, Tensor]:
        """Build a batch from 4-tuples, or rows, with its labels."""
        if self.rows_per_unit == 4:
            batch = Batch.of_four_tuples(
                self.forest, self.formulas[units], permutations, self.device
            )
        else:
            left, right = self.pairs.left[units], self.pairs.right[units]
            batch = Batch.of(
                self.forest, left, right, permutations, np.arange(len(units)), self.device
            )
        return batch, torch.from_numpy(self.labels[units].ravel()).to(self.device)

    def steps_per_epoch(self, batch_size: int) -> int:
        """Count the batches of an epoch."""
        return -(-len(self) // batch_size)

    def in_order_of_size(self, rows: Ints | None = None) -> Iterator[tuple[Ints, Batch]]:
        """Yield row numbers and batches of about equal work, for all rows or those passed."""
        length = np.diff(self.pairs.offsets)
        nodes = length[self.pairs.left] + length[self.pairs.right]
        chosen = np.arange(len(self)) if rows is None else rows
        order = chosen[np.argsort(nodes[chosen], kind="stable")]
        cuts = np.flatnonzero(np.diff(np.cumsum(nodes[order]) // NODES_AT_ONCE)) + 1
        for rows in np.split(order, cuts):
            left, right = self.pairs.left[rows], self.pairs.right[rows]
            yield rows, Batch.of(self.forest, left, right, device=self.device)


def check_log_probs(model: Model, log_probs: object, rows: int) -> Tensor:
    """Return the output of a network; raise UserError unless it is a float tensor (rows, 2)."""
    expected = f"{type(model).__name__} must return log-probabilities: floats of shape ({rows}, 2)"
    if not isinstance(log_probs, Tensor):
        raise UserError(f"{expected}, not {type(log_probs).__name__}")
    if log_probs.shape != (rows, 2) or not log_probs.is_floating_point():
        kind = str(log_probs.dtype).removeprefix("torch.")
        raise UserError(f"{expected}, not {kind} of shape {tuple(log_probs.shape)}")
    return log_probs


@torch.no_grad()
def row_log_probabilities(
    model: Model,
    data: Dataset,
    seed: int = EVALUATION_SEED,
    progress: Callable[[int], None] = lambda _: None,
    options: Options = DEFAULT_OPTIONS,
) -> NDArray[np.float64]:
    """Compute log P(no) and log P(yes) for each row, independently of the other rows."""
    log_probs = np.empty((len(data), 2))
    was_training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[]):
        for rows, batch in data.in_order_of_size():
            torch.manual_seed(seed)
            output = check_log_probs(model, model.log_probs(batch, options), len(rows))
            log_probs[rows] = output.cpu().double().numpy()
            progress(len(rows))
    model.train(was_training)
    if n_nan := np.isnan(log_probs).any(1).sum():
        name = type(model).__name__
        raise UserError(f"{name} returned NaN for {n_nan:,} of {len(data):,} pairs")
    check_normalised(model, log_probs)
    return log_probs


def check_normalised(model: Model, log_probs: NDArray[np.floating[Any]]) -> None:
    """Raise UserError unless the probabilities of each row sum to 1, as those of logits do not."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.exp(log_probs).sum(1)
    wrong = sums[np.abs(sums - 1) > MAX_ERROR_OF_SUM]
    if len(wrong):
        problem = f"the probabilities of a pair sum to {wrong[0]:.4g}"
        remedy = "log_softmax turns logits into log-probabilities"
        raise UserError(
            f"{type(model).__name__} must return log-probabilities: {problem}; {remedy}"
        )
