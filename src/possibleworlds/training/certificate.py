"""Worlds read as truth assignments, and checked: a "no" that anybody can verify.

This is the one place where an answer of a network meets logic, so certified answers stand apart
from the network's own: "no" comes with an assignment that makes A true and B false, or not at all.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from possibleworlds.data.arrays import Pairs
from possibleworlds.errors import UserError
from possibleworlds.logic.formula import LETTERS, variables_of
from possibleworlds.logic.truth import evaluate_bits
from possibleworlds.models.base import Model
from possibleworlds.models.possibleworldnet import PossibleWorldNet, all_worlds
from possibleworlds.training.batches import Dataset
from possibleworlds.training.evaluation import EVALUATION_SEED

Assignment = dict[str, bool]

PATIENCE = 4
"""A certified answer looks at so many times the worlds of the network's own answer, at most."""


def with_worlds(model: Model) -> PossibleWorldNet:
    """The network, if it is one that imagines worlds."""
    if not isinstance(model, PossibleWorldNet):
        raise UserError(f"{type(model).__name__} imagines no worlds, so none can be shown")
    return model


def refuting(pairs: Pairs, row: int, assignments: NDArray[np.bool_]) -> int:
    """The bit set of the assignments, [n, 26], that make A true and B false."""
    n = len(assignments)
    everywhere = (1 << n) - 1
    packed = np.packbits(assignments, axis=0, bitorder="little")
    columns = {
        letter: int.from_bytes(column.tobytes(), "little")
        for letter, column in zip(LETTERS, packed.T, strict=True)
    }
    a, b = pairs.rpn(pairs.left[row]), pairs.rpn(pairs.right[row])
    true = evaluate_bits(a, columns, everywhere)
    return true & ~evaluate_bits(b, columns, everywhere) if true else 0


def of_variables(pairs: Pairs, row: int, assignment: NDArray[np.bool_]) -> Assignment:
    """What an assignment says of the variables of a pair."""
    a, b = pairs.rpn(pairs.left[row]), pairs.rpn(pairs.right[row])
    return {v: bool(assignment[LETTERS.index(v)]) for v in variables_of(a, b)}


class View(NamedTuple):
    """What a network with worlds makes of a pair."""

    probability: float
    assignment: Assignment
    """The world that speaks most against "A entails B", read as an assignment."""
    refutes: bool
    """Whether that assignment makes A true and B false."""


@torch.no_grad()
def views(
    model: Model,
    data: Dataset,
    seed: int = EVALUATION_SEED,
    progress: Callable[[int], None] = lambda _: None,
) -> list[View]:
    """The network's own answer to each row, and the world behind it."""
    network = with_worlds(model).eval()
    found: list[View | None] = [None] * len(data)
    for rows, batch in data.in_order_of_size():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            worlds, z = network.imagine(batch)
        probability = all_worlds(z)[:, 1].double().exp().tolist()
        best = network.assignments(worlds[torch.arange(len(rows)), z.argmin(1)]).cpu().numpy()
        for row, p, one in zip(rows.tolist(), probability, best, strict=True):
            refutes = bool(refuting(data.pairs, row, one[None]))
            found[row] = View(p, of_variables(data.pairs, row, one), refutes)
        progress(len(rows))
    return [view for view in found if view is not None]


@torch.no_grad()
def certify(
    model: Model,
    data: Dataset,
    seed: int = EVALUATION_SEED,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Assignment | None]:
    """A checked countermodel of each row, or None where the search has found none."""
    network = with_worlds(model).eval()
    found: list[Assignment | None] = [None] * len(data)
    wanted, most = network.n_worlds, PATIENCE * network.n_worlds
    at_once = max(1, wanted // 4)  # after which pairs that are refuted need no more
    left = np.arange(len(data))
    try:
        for start in range(0, most, at_once):
            if not len(left):
                break
            network.n_worlds, network.n_passed = min(at_once, most - start), start
            for rows, batch in data.in_order_of_size(left):
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(seed + start)
                    worlds = network.imagine(batch).worlds
                if worlds.stride(0) == 0:  # the same for all pairs, so to be read once
                    assignments = network.assignments(worlds[:1]).cpu().numpy().repeat(len(rows), 0)
                else:
                    assignments = network.assignments(worlds).cpu().numpy()
                for row, several in zip(rows.tolist(), assignments, strict=True):
                    if bits := refuting(data.pairs, row, several):
                        first = (bits & -bits).bit_length() - 1
                        found[row] = of_variables(data.pairs, row, several[first])
            still = np.array([row for row in left if found[row] is None], dtype=np.int64)
            progress(len(left) - len(still))
            left = still
    finally:
        network.n_worlds, network.n_passed = wanted, 0
    progress(len(left))
    return found
