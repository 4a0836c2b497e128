"""The paper's grid (section 4), in full or by successive halving under a budget.

Halving keeps a third at a time: n = 3^k candidates are trained for a share t of the budget each,
the best third of them for 3 t, and so on; the last one is trained for n t with each of three seeds.
That costs n (k + 3) t in all. As the learning rate falls over the whole length of a run, a survivor
does not go on with its short run but begins a longer one, which is counted in that cost.

A budget of time gives candidates equal time, so that a sweep lasts as long as it said, whoever
survives; a budget of epochs gives them equal epochs, and the same plan on every machine.
"""

import re
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from possibleworlds.errors import UserError
from possibleworlds.models.base import Model
from possibleworlds.training.settings import RunSettings

SEEDS = 3
KEEP_ONE_IN = 3
SHORT_EVALUATIONS = 5
"""How often a trial is evaluated on the validation set, before the last rung."""
SMALLEST_SHARE = {"seconds": 40.0, "epochs": 1.0}
"""What a candidate is worth trying for; a smaller budget tries fewer candidates."""
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}


@dataclass(frozen=True)
class Budget:
    """What a sweep may cost: seconds of one core, or epochs."""

    amount: float
    unit: str

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """The budget that a text like 2h, 90m, 45s or 100epochs stands for."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(h|m|s|epochs)", text.strip())
        if not match or not float(match[1]):
            raise UserError(f"{text!r} is not a budget like 2h, 90m, 45s or 100epochs")
        number, unit = float(match[1]), match[2]
        return cls(number, unit) if unit == "epochs" else cls(number * UNITS[unit], "seconds")


@dataclass(frozen=True)
class Speed:
    """Seconds that a candidate takes on one core."""

    begin: float = 2.0
    epoch: float = 1.0
    evaluation: float = 0.0

    def trial(self, epochs: float, evaluations: int) -> float:
        """The seconds of a whole trial."""
        return self.begin + epochs * self.epoch + evaluations * self.evaluation

    def epochs_in(self, seconds: float, evaluations: int) -> float:
        """How many epochs fit into a time; half of it is for them at least."""
        rest = seconds - self.begin - evaluations * self.evaluation
        return max(rest, seconds / 2) / self.epoch


@dataclass(frozen=True)
class Rung:
    """How many candidates get that far, and with how many seeds each is trained."""

    candidates: int
    seeds: int
    evaluations: int


@dataclass(frozen=True)
class Candidate:
    """Settings to be tried, and how long in each rung."""

    given: dict[str, Any]
    epochs: list[float]
    seconds: list[float]
    """What a trial is expected to take."""


@dataclass(frozen=True)
class Plan:
    """All that a sweep will do for a network."""

    base: dict[str, Any]
    """Every setting of the network and of its training; a candidate changes some."""
    rungs: list[Rung]
    candidates: list[Candidate]
    seed: int
    grid_size: int
    evaluation: float
    """Seconds that the validation set is expected to take."""

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "Plan":
        """The plan that was stored as JSON."""
        rungs = [Rung(**rung) for rung in stored["rungs"]]
        candidates = [Candidate(**candidate) for candidate in stored["candidates"]]
        return cls(**{**stored, "rungs": rungs, "candidates": candidates})

    def settings(self, candidate: int, rung: int) -> dict[str, Any]:
        """All settings of a candidate's trials in a rung."""
        chosen = self.candidates[candidate]
        length = {"epochs": chosen.epochs[rung], "evaluations": self.rungs[rung].evaluations}
        return {**self.base, **chosen.given, **length}

    def seconds_each(self, rung: int) -> float:
        """What a trial of a rung is expected to take, whoever gets there."""
        each = [candidate.seconds[rung] for candidate in self.candidates]
        return sum(each) / len(each)

    def seconds(self, rung: int) -> float:
        """What a rung is expected to take."""
        return self.rungs[rung].candidates * self.rungs[rung].seeds * self.seconds_each(rung)


def grid(model: type[Model]) -> list[dict[str, Any]]:
    """Every combination of the values of a network's search space."""
    space = model.search_space
    return [dict(zip(space, values, strict=True)) for values in product(*space.values())]


def complete(model: type[Model], given: dict[str, Any]) -> dict[str, Any]:
    """All settings of a network and of its training, which is measured in epochs, not minutes."""
    return RunSettings.read(model, {**given, "minutes": 0.0}).flat()


def halvings(budget: Budget, available: int) -> int:
    """How often a third is kept, k: as many times as the budget and the grid allow."""
    k = 0
    while (
        KEEP_ONE_IN ** (k + 1) <= available and share(budget, k + 1) >= SMALLEST_SHARE[budget.unit]
    ):
        k += 1
    return k


def share(budget: Budget, k: int) -> float:
    """What a trial of the first rung may cost, t."""
    return budget.amount / (KEEP_ONE_IN**k * (k + SEEDS))


def sample(model: type[Model], count: int, seed: int) -> list[dict[str, Any]]:
    """Random points of a network's grid, other than its defaults."""
    defaults = complete(model, {})
    others = [point for point in grid(model) if complete(model, point) != defaults]
    order = np.random.default_rng(seed).permutation(len(others))
    return [others[i] for i in order[:count]]


def starting_candidates(model: type[Model], budget: Budget, seed: int) -> list[dict[str, Any]]:
    """As many as the budget allows: the defaults, which is no change at all, and a sample."""
    count = KEEP_ONE_IN ** halvings(budget, len(grid(model)))
    return [{}, *sample(model, count - 1, seed)]


def halving_plan(
    model: type[Model], budget: Budget, seed: int, given: list[dict[str, Any]], speeds: list[Speed]
) -> Plan:
    """The plan of a search by successive halving among the starting candidates."""
    base = complete(model, {})
    k = halvings(budget, len(given))
    rungs = [Rung(KEEP_ONE_IN ** (k - i), 1, SHORT_EVALUATIONS) for i in range(k)]
    rungs.append(Rung(1, SEEDS, base["evaluations"]))
    shares = [share(budget, k) * KEEP_ONE_IN**i for i in range(k + 1)]
    candidates = []
    for point, speed in zip(given, speeds, strict=True):
        epochs = [
            rounded(
                amount if budget.unit == "epochs" else speed.epochs_in(amount, rung.evaluations)
            )
            for amount, rung in zip(shares, rungs, strict=True)
        ]
        complete(model, {**point, "epochs": epochs[-1]})  # complains of what cannot be
        candidates.append(Candidate(point, epochs, seconds_of(speed, epochs, rungs)))
    return Plan(base, rungs, candidates, seed, len(grid(model)), typical(speeds).evaluation)


def paper_plan(model: type[Model], epochs: float, seed: int, speeds: list[Speed]) -> Plan:
    """The plan of the whole grid, each of its points with three seeds."""
    base = complete(model, {"epochs": epochs})
    points = grid(model)
    rungs = [Rung(len(points), SEEDS, base["evaluations"])]
    speed = typical(speeds)
    seconds = seconds_of(speed, [epochs], rungs)
    candidates = [Candidate(point, [epochs], seconds) for point in points]
    return Plan(base, rungs, candidates, seed, len(points), speed.evaluation)


def typical(speeds: list[Speed]) -> Speed:
    """The mean of some speeds."""
    return Speed(*np.mean([list(asdict(speed).values()) for speed in speeds], 0).tolist())


def seconds_of(speed: Speed, epochs: list[float], rungs: list[Rung]) -> list[float]:
    """What a candidate's trials are expected to take in each rung."""
    pairs = zip(epochs, rungs, strict=True)
    return [round(speed.trial(e, rung.evaluations), 1) for e, rung in pairs]


def rounded(epochs: float) -> float:
    """A number of epochs with four digits, which is as good as any and easier on the eye."""
    return float(f"{epochs:.4g}")
