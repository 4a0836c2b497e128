"""How often a network is right, on a whole file and by size of the pairs."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from possibleworlds.models.base import DEFAULT_OPTIONS, Model, Options
from possibleworlds.training.batches import Dataset

EVALUATION_SEED = 0


@torch.no_grad()
def log_probabilities(
    model: Model,
    data: Dataset,
    seed: int = EVALUATION_SEED,
    progress: Callable[[int], None] = lambda _: None,
    options: Options = DEFAULT_OPTIONS,
) -> NDArray[np.float64]:
    """log P(no) and log P(yes) for each row, which do not depend on the other rows."""
    found = np.empty((len(data), 2))
    was_training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[]):
        for rows, batch in data.in_order_of_size():
            torch.manual_seed(seed)
            found[rows] = model.log_probs(batch, options).double().cpu().numpy()
            progress(len(rows))
    model.train(was_training)
    return found


def interval(correct: int, rows: int) -> tuple[float, float]:
    """The 95 % interval of an accuracy (Wilson)."""
    z = 1.959964
    p, n = correct / rows, rows
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def describe(right: NDArray[np.bool_], data: Dataset) -> dict[str, Any]:
    """Accuracy with its interval, and by number of variables and of operators of a pair."""
    correct, rows = int(right.sum()), len(right)
    return {
        "rows": rows,
        "correct": correct,
        "accuracy": correct / rows,
        "interval": interval(correct, rows),
        "by_variables": by_value(right, data.pairs.variables, 1),
        "by_operators": by_value(right, data.pairs.operators, 5),
    }


def by_value(
    right: NDArray[np.bool_], values: NDArray[np.int64], width: int
) -> dict[str, dict[str, float]]:
    """Rows and accuracy for each range of values."""
    found = {}
    for low in np.unique(values // width) * width:
        inside = right[(values >= low) & (values < low + width)]
        name = f"{low}" if width == 1 else f"{low}-{low + width - 1}"
        found[name] = {"rows": len(inside), "accuracy": float(inside.mean())}
    return found
