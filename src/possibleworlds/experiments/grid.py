"""The paper's grid (section 4), in full or by successive halving under a budget.

Halving keeps a third at a time: n = 3^k candidates are trained for a share t of the budget each,
the best third of them for 3 t, and so on; the last one is trained for n t with each of three seeds.
That costs n (k + 3) t in all. As the learning rate falls over the whole length of a run, a survivor
does not resume its short run but begins a longer one, which is counted in that cost.

A budget of time gives candidates equal time, so that a sweep lasts as long as announced, whichever
survive; a budget of epochs gives them equal epochs, and the same plan on every machine.
"""

import re
from dataclasses import astuple, dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from possibleworlds.errors import UserError, quoted
from possibleworlds.models.base import Model
from possibleworlds.models.settings import check_kinds
from possibleworlds.training.settings import RunSettings, TrainingSettings
from possibleworlds.training.speed import Speed

Settings = dict[str, Any]
"""Settings of a network and of its training together, by name."""

SEEDS = 3
KEEP_ONE_IN = 3
EPOCHS = 10.0
"""The length of a trial of the whole grid, unless another one is set."""
MEASURED = 9
"""How many points of a whole grid are measured to estimate how long it will take."""
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
        """Parse a budget like 2h, 90m, 45s or 100epochs."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(h|m|s|epochs)", text.strip())
        if not match or not float(match[1]):
            raise UserError(f"{text!r} is not a budget like 2h, 90m, 45s or 100epochs")
        number, unit = float(match[1]), match[2]
        return cls(number, unit) if unit == "epochs" else cls(number * UNITS[unit], "seconds")

    def first_trial(self, k: int) -> float:
        """Compute what a trial of the first rung may cost, t."""
        return self.amount / (KEEP_ONE_IN**k * (k + SEEDS))

    def halvings(self, available: int) -> int:
        """Compute how often a third is kept, k: as often as the budget and the grid allow."""
        k, smallest = 0, SMALLEST_SHARE[self.unit]
        while KEEP_ONE_IN ** (k + 1) <= available and self.first_trial(k + 1) >= smallest:
            k += 1
        return k


@dataclass(frozen=True)
class SearchRequest:
    """How a network is to be searched: within a budget, or the whole grid."""

    budget: Budget | None
    epochs: float
    """The length of a trial of the whole grid."""
    seed: int

    def __str__(self) -> str:
        whole = f"the paper's grid, {self.epochs:g} epochs each"
        length = f"{self.budget.amount:g} {self.budget.unit}" if self.budget else whole
        return f"{length}, seed {self.seed}"


@dataclass(frozen=True)
class Rung:
    """How many candidates get that far, and with how many seeds each is trained."""

    candidates: int
    seeds: int
    evaluations: int


@dataclass(frozen=True)
class Candidate:
    """Settings to be tried, and how long in each rung."""

    overrides: Settings
    """What differs from the defaults."""
    epochs: list[float]
    seconds: list[float]
    """What a trial is expected to take."""


@dataclass(frozen=True)
class SearchPlan:
    """All that a sweep will do for a network."""

    base: Settings
    """Every setting of the network and of its training; a candidate overrides some."""
    rungs: list[Rung]
    candidates: list[Candidate]
    seed: int
    grid_size: int
    evaluation: float
    """Seconds that the validation set is expected to take."""

    def __post_init__(self) -> None:
        lengths = {len(part) for c in self.candidates for part in (c.epochs, c.seconds)}
        if not self.rungs or lengths != {len(self.rungs)}:
            raise UserError("rungs and candidates do not fit together")
        if unknown := {name for c in self.candidates for name in c.overrides} - self.base.keys():
            raise UserError(f"a candidate overrides {quoted(min(unknown))}, which is not a setting")
        for candidate in range(len(self.candidates)):
            for rung in range(len(self.rungs)):
                check_training(self.settings(candidate, rung))

    def settings(self, candidate: int, rung: int) -> Settings:
        """Give all settings of a candidate's trials in a rung."""
        chosen = self.candidates[candidate]
        length = {"epochs": chosen.epochs[rung], "evaluations": self.rungs[rung].evaluations}
        return {**self.base, **chosen.overrides, **length}

    def seconds_each(self, rung: int) -> float:
        """Estimate the seconds of a trial of a rung, whichever candidates get there."""
        return sum(c.seconds[rung] for c in self.candidates) / len(self.candidates)

    def seconds(self, rung: int) -> float:
        """Estimate the seconds of a rung."""
        return self.rungs[rung].candidates * self.rungs[rung].seeds * self.seconds_each(rung)


def check_training(settings: Settings) -> None:
    """Raise UserError unless settings hold all those of a training, with possible values."""
    names = [field.name for field in fields(TrainingSettings)]
    if missing := [name for name in names if name not in settings]:
        raise UserError(f"the settings lack {missing[0]}")
    training = TrainingSettings(**{name: settings[name] for name in names})
    check_kinds(training, "the training")
    training.validate()


def grid(model: type[Model]) -> list[Settings]:
    """Give every combination of the values of a network's search space."""
    space = model.search_space
    return [dict(zip(space, values, strict=True)) for values in product(*space.values())]


def with_defaults(model: type[Model], overrides: Settings) -> Settings:
    """Add the defaults to settings, with a training by epochs, not minutes."""
    return RunSettings.read(model, {**overrides, "minutes": 0.0}).flat()


def points_to_measure(model: type[Model], request: SearchRequest) -> list[Settings]:
    """Draw random points of a network's grid, whose speed decides the plan.

    Within a budget these are all the candidates that it allows, with the defaults, {}, as first.
    """
    defaults, points = with_defaults(model, {}), grid(model)
    others = [point for point in points if with_defaults(model, point) != defaults]
    order = np.random.default_rng(request.seed).permutation(len(others))
    if request.budget is None:
        return [others[i] for i in order[:MEASURED]]
    count = KEEP_ONE_IN ** request.budget.halvings(len(points))
    return [{}, *(others[i] for i in order[: count - 1])]


def make_plan(
    model: type[Model], request: SearchRequest, points: list[Settings], speeds: list[Speed]
) -> SearchPlan:
    """Plan a search by the speeds of points: halving among them, or the whole grid."""
    mean = Speed(*np.mean([astuple(speed) for speed in speeds], 0).tolist())
    whole_grid, budget = grid(model), request.budget
    base = with_defaults(model, {} if budget else {"epochs": request.epochs})
    if budget:
        k = budget.halvings(len(points))
        rungs = [Rung(KEEP_ONE_IN ** (k - i), 1, SHORT_EVALUATIONS) for i in range(k)]
        rungs.append(Rung(1, SEEDS, base["evaluations"]))
        shares = [budget.first_trial(k) * KEEP_ONE_IN**i for i in range(k + 1)]
    else:
        points, speeds = whole_grid, [mean] * len(whole_grid)
        rungs, shares = [Rung(len(points), SEEDS, base["evaluations"])], [request.epochs]
    candidates = []
    for point, speed in zip(points, speeds, strict=True):
        epochs, seconds = [], []
        for share, rung in zip(shares, rungs, strict=True):
            in_seconds = budget is not None and budget.unit == "seconds"
            length = speed.epochs_in(share, rung.evaluations) if in_seconds else share
            # Within a budget, four digits are as good as any, and easier on the eye.
            epochs.append(float(f"{length:.4g}") if budget else length)
            seconds.append(round(speed.trial(epochs[-1], rung.evaluations), 1))
        candidates.append(Candidate(point, epochs, seconds))
    return SearchPlan(base, rungs, candidates, request.seed, len(whole_grid), mean.evaluation)
