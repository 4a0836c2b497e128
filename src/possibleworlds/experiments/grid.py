"""The paper's grid (section 4), in full or by successive halving under a budget.

Halving keeps a third at a time: n = 3^k candidates are trained for a share t of the budget each,
the best third of them for 3 t, and so on; the last one is trained for n t with each of three seeds.
That costs n (k + 3) t in total. As the learning rate decays over the whole length of a run, a
survivor does not resume its short run but starts a longer one; the cost includes both.

A time budget gives all candidates equal time, so that a sweep takes as long as announced, whichever
survive; a budget in epochs gives them equal epochs, and the same plan on every machine.
"""

import re
from dataclasses import astuple, dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from possibleworlds.errors import UserError, quoted
from possibleworlds.models.base import Model
from possibleworlds.training.settings import RunSettings, TrainingSettings
from possibleworlds.training.speed import Speed

Settings = dict[str, Any]
"""Settings of a network and of its training, by name."""

SEEDS = 3
KEEP_ONE_IN = 3
EPOCHS = 10.0
"""The default length of a trial in a search of the whole grid."""
MEASURED_POINTS = 9
"""How many points of a whole grid are measured to estimate its duration."""
SHORT_EVALUATIONS = 5
"""How often a trial before the last rung is evaluated on the validation set."""
SMALLEST_SHARE = {"seconds": 40.0, "epochs": 1.0}
"""The shortest useful trial; a smaller budget tries fewer candidates instead."""
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}


@dataclass(frozen=True)
class Budget:
    """The cost limit of a sweep: core-seconds or epochs."""

    amount: float
    unit: str

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """Parse a budget such as 2h, 90m, 45s or 100epochs."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(h|m|s|epochs)", text.strip())
        if not match or not float(match[1]):
            raise UserError(f"{text!r} is not a budget like 2h, 90m, 45s or 100epochs")
        number, unit = float(match[1]), match[2]
        return cls(number, unit) if unit == "epochs" else cls(number * UNITS[unit], "seconds")

    def first_trial(self, k: int) -> float:
        """Compute t, the budget of a trial in the first of k rungs and a last one."""
        return self.amount / (KEEP_ONE_IN**k * (k + SEEDS))

    def halvings(self, available: int) -> int:
        """Compute k, how often a third is kept: as often as the budget and the grid allow."""
        k, smallest = 0, SMALLEST_SHARE[self.unit]
        while KEEP_ONE_IN ** (k + 1) <= available and self.first_trial(k + 1) >= smallest:
            k += 1
        return k


@dataclass(frozen=True)
class SearchRequest:
    """How to search the settings of a network: within a budget, or the whole grid."""

    budget: Budget | None
    epochs: float
    """The length of a trial in a search of the whole grid."""
    seed: int

    def __str__(self) -> str:
        whole = f"the paper's grid, {self.epochs:g} epochs each"
        length = f"{self.budget.amount:g} {self.budget.unit}" if self.budget else whole
        return f"{length}, seed {self.seed}"


@dataclass(frozen=True)
class Rung:
    """The number of candidates in a rung, and of seeds and evaluations for each."""

    candidates: int
    seeds: int
    evaluations: int


@dataclass(frozen=True)
class Candidate:
    """Settings to try, with the length of a trial in each rung."""

    overrides: Settings
    """The settings that differ from the defaults."""
    epochs: list[float]
    seconds: list[float]
    """The estimated duration of a trial."""


@dataclass(frozen=True)
class SearchPlan:
    """The whole search for a network, as planned."""

    base: Settings
    """All settings of the network and of its training; each candidate overrides some."""
    rungs: list[Rung]
    candidates: list[Candidate]
    seed: int
    grid_size: int
    evaluation: float
    """The estimated seconds of an evaluation on the validation set."""

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
        """Return all settings of a candidate's trials in a rung."""
        chosen = self.candidates[candidate]
        length = {"epochs": chosen.epochs[rung], "evaluations": self.rungs[rung].evaluations}
        return {**self.base, **chosen.overrides, **length}

    def seconds_each(self, rung: int) -> float:
        """Estimate the duration of a trial in a rung, as a mean over all candidates."""
        return sum(c.seconds[rung] for c in self.candidates) / len(self.candidates)

    def seconds(self, rung: int) -> float:
        """Estimate the duration of a rung on one core."""
        return self.rungs[rung].candidates * self.rungs[rung].seeds * self.seconds_each(rung)


def check_training(settings: Settings) -> None:
    """Raise UserError unless settings contain every training setting, with valid values."""
    names = [field.name for field in fields(TrainingSettings)]
    if missing := [name for name in names if name not in settings]:
        raise UserError(f"the settings lack {missing[0]}")
    TrainingSettings(**{name: settings[name] for name in names}).validate()


def grid(model: type[Model]) -> list[Settings]:
    """List all points of a network's search space."""
    space = model.search_space
    points = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
    if not points:
        raise UserError(f"{model.__name__}.search_space has a setting without values")
    return points


def with_defaults(model: type[Model], overrides: Settings) -> Settings:
    """Add the defaults to settings, with the length of training in epochs, not minutes."""
    return RunSettings.read(model, {**overrides, "minutes": 0.0}).flat()


def points_to_measure(model: type[Model], request: SearchRequest) -> list[Settings]:
    """Draw random points of a network's grid, whose measured speeds determine the plan.

    With a budget, these are all the candidates that it allows, beginning with the defaults, {}.
    """
    points, rng = grid(model), np.random.default_rng(request.seed)
    if request.budget is None:
        return [points[i] for i in rng.permutation(len(points))[:MEASURED_POINTS]]
    defaults, count = with_defaults(model, {}), KEEP_ONE_IN ** request.budget.halvings(len(points))
    others = [point for point in points if with_defaults(model, point) != defaults]
    return [{}, *(others[i] for i in rng.permutation(len(others))[: count - 1])]


def make_plan(
    model: type[Model], request: SearchRequest, points: list[Settings], speeds: list[Speed]
) -> SearchPlan:
    """Plan a search from measured speeds: halving among the points, or the whole grid."""
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
            # With a budget, four digits are precise enough, and easier to read.
            epochs.append(float(f"{length:.4g}") if budget else length)
            seconds.append(round(speed.trial(epochs[-1], rung.evaluations), 1))
        candidates.append(Candidate(point, epochs, seconds))
    return SearchPlan(base, rungs, candidates, request.seed, len(whole_grid), mean.evaluation)
