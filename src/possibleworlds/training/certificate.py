"""Certified decisions: worlds read as truth assignments, and checked by exact logic.

A certified "no" always comes with an assignment that makes A true and B false, which anybody can
verify. Certified decisions are reported separately from the network's own.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from possibleworlds.data.pairs import Pairs
from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.logic.formula import variables_of
from possibleworlds.logic.truth import refuting_bits
from possibleworlds.models.base import DEFAULT_OPTIONS, Model, Options
from possibleworlds.models.possibleworldnet import PossibleWorldNet
from possibleworlds.training.batches import EVALUATION_SEED, Dataset

Assignment = dict[str, bool]

PATIENCE = 4
"""A certified decision evaluates up to this many times as many worlds as the network's own."""


def with_worlds(model: Model) -> PossibleWorldNet:
    """Return the network; raise UserError if it is not one with worlds."""
    if not isinstance(model, PossibleWorldNet):
        raise UserError(f"{type(model).__name__} has no worlds, which certified answers need")
    return model


def refuting(pairs: Pairs, row: int, assignments: NDArray[np.bool_]) -> int:
    """Compute the bit set of the assignments, (n, 26), that make A true and B false."""
    packed = np.packbits(assignments, axis=0, bitorder="little")
    columns = {
        letter: int.from_bytes(column.tobytes(), "little")
        for letter, column in zip(LETTERS, packed.T, strict=True)
    }
    a, b = pairs.rpn(pairs.left[row]), pairs.rpn(pairs.right[row])
    return refuting_bits(a, b, columns, (1 << len(assignments)) - 1)


def on_variables(pairs: Pairs, row: int, assignment: NDArray[np.bool_]) -> Assignment:
    """Restrict an assignment to the variables of a pair."""
    a, b = pairs.rpn(pairs.left[row]), pairs.rpn(pairs.right[row])
    return {v: bool(assignment[LETTERS.index(v)]) for v in variables_of(a, b)}


class Evidence(NamedTuple):
    """A network's probability for a pair, and the world that determines it most."""

    probability: float
    assignment: Assignment
    """The world that is the strongest evidence against "A entails B", as an assignment."""
    refutes: bool
    """Whether that assignment makes A true and B false."""


@torch.no_grad()
def evidence(
    model: Model,
    data: Dataset,
    seed: int = EVALUATION_SEED,
    progress: Callable[[int], None] = lambda _: None,
    options: Options = DEFAULT_OPTIONS,
) -> list[Evidence]:
    """Compute the network's probability and its strongest counterevidence for each row."""
    network = with_worlds(model).eval()
    results: list[Evidence | None] = [None] * len(data)
    for rows, batch in data.in_order_of_size():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            imagined = network.imagine(batch, options)
        probability = imagined.log_probs[:, 1].cpu().double().exp().tolist()
        worlds, z = imagined.worlds, imagined.z
        lowest = worlds.expand(len(rows), -1, -1)[torch.arange(len(rows)), z.argmin(1)]
        best = network.assignments(lowest).cpu().numpy()
        for row, p, world in zip(rows.tolist(), probability, best, strict=True):
            refutes = bool(refuting(data.pairs, row, world[None]))
            results[row] = Evidence(p, on_variables(data.pairs, row, world), refutes)
        progress(len(rows))
    return [result for result in results if result is not None]


@torch.no_grad()
def certify(
    model: Model,
    data: Dataset,
    seed: int = EVALUATION_SEED,
    progress: Callable[[int], None] = lambda _: None,
    options: Options = DEFAULT_OPTIONS,
) -> list[Assignment | None]:
    """Search for a checked countermodel of each row; None where none was found.

    The first worlds are those of the network's own decision.
    """
    network = with_worlds(model).eval()
    countermodels: list[Assignment | None] = [None] * len(data)
    limit = PATIENCE * network.n_worlds(options)
    part_size = network.worlds_per_round(options)  # after each part, refuted pairs drop out
    open_rows = np.arange(len(data))
    for start in range(0, limit, part_size):
        if not len(open_rows):
            break
        part = replace(options, worlds=min(part_size, limit - start), first_world=start)
        for rows, batch in data.in_order_of_size(open_rows):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                assignments = network.assignments(network.imagine(batch, part).worlds)
            # Worlds that all pairs share are converted only once.
            for row, worlds in zip(
                rows.tolist(), assignments.expand(len(rows), -1, -1).cpu().numpy(), strict=True
            ):
                if bits := refuting(data.pairs, row, worlds):
                    first = (bits & -bits).bit_length() - 1
                    countermodels[row] = on_variables(data.pairs, row, worlds[first])
            last = start + part_size >= limit
            progress(sum(last or countermodels[row] is not None for row in rows.tolist()))
        open_rows = np.array(
            [row for row in open_rows if countermodels[row] is None], dtype=np.int64
        )
    return countermodels
