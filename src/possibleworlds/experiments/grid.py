"""The paper's grid (section 4), in full or by successive halving under a budget.

Halving keeps a third at a time: n = 3^k candidates are trained for a share t of the budget each,
the best third of them for 3 t, and so on; the last one is trained for n t with each of three seeds.
That costs n (k + 3) t in all. As the learning rate falls over the whole length of a run, a survivor
does not resume its short run but begins a longer one, which is counted in that cost.

A budget of time gives candidates equal time, so that a sweep lasts as long as announced, whichever
survive; a budget of epochs gives them equal epochs, and the same plan on every machine.
"""

import re
from dataclasses import asdict, dataclass, fields
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


def halvings(budget: Budget, available: int) -> int:
    """Compute how often a third is kept, k: as often as the budget and the grid allow."""
    k = 0
    while (
        KEEP_ONE_IN ** (k + 1) <= available and share(budget, k + 1) >= SMALLEST_SHARE[budget.unit]
    ):
        k += 1
    return k


def share(budget: Budget, k: int) -> float:
    """Compute what a trial of the first rung may cost, t."""
    return budget.amount / (KEEP_ONE_IN**k * (k + SEEDS))


def sample(model: type[Model], count: int, seed: int) -> list[Settings]:
    """Draw random points of a network's grid, other than its defaults."""
    defaults = with_defaults(model, {})
    others = [point for point in grid(model) if with_defaults(model, point) != defaults]
    order = np.random.default_rng(seed).permutation(len(others))
    return [others[i] for i in order[:count]]


def starting_candidates(model: type[Model], budget: Budget, seed: int) -> list[Settings]:
    """Draw as many candidates as the budget allows: the defaults, {}, and a sample of the grid."""
    count = KEEP_ONE_IN ** halvings(budget, len(grid(model)))
    return [{}, *sample(model, count - 1, seed)]


def halving_plan(
    model: type[Model], budget: Budget, seed: int, points: list[Settings], speeds: list[Speed]
) -> SearchPlan:
    """Plan a search by successive halving among the starting candidates."""
    base = with_defaults(model, {})
    k = halvings(budget, len(points))
    rungs = [Rung(KEEP_ONE_IN ** (k - i), 1, SHORT_EVALUATIONS) for i in range(k)]
    rungs.append(Rung(1, SEEDS, base["evaluations"]))
    candidates = []
    for point, speed in zip(points, speeds, strict=True):
        epochs = []
        for i, rung in enumerate(rungs):
            length = share(budget, k) * KEEP_ONE_IN**i
            if budget.unit == "seconds":
                length = speed.epochs_in(length, rung.evaluations)
            epochs.append(float(f"{length:.4g}"))  # as good as any, and easier on the eye
        with_defaults(model, {**point, "epochs": epochs[-1]})  # raises UserError if it cannot be
        candidates.append(Candidate(point, epochs, trial_seconds(speed, epochs, rungs)))
    return SearchPlan(
        base, rungs, candidates, seed, len(grid(model)), mean_speed(speeds).evaluation
    )


def paper_plan(model: type[Model], epochs: float, seed: int, speeds: list[Speed]) -> SearchPlan:
    """Plan the whole grid, each of its points with three seeds."""
    base = with_defaults(model, {"epochs": epochs})
    points = grid(model)
    rungs = [Rung(len(points), SEEDS, base["evaluations"])]
    speed = mean_speed(speeds)
    seconds = trial_seconds(speed, [epochs], rungs)
    candidates = [Candidate(point, [epochs], seconds) for point in points]
    return SearchPlan(base, rungs, candidates, seed, len(points), speed.evaluation)


def mean_speed(speeds: list[Speed]) -> Speed:
    """Compute the mean of some speeds."""
    return Speed(*np.mean([list(asdict(speed).values()) for speed in speeds], 0).tolist())


def trial_seconds(speed: Speed, epochs: list[float], rungs: list[Rung]) -> list[float]:
    """Estimate the seconds of a candidate's trials in each rung."""
    pairs = zip(epochs, rungs, strict=True)
    return [round(speed.trial(length, rung.evaluations), 1) for length, rung in pairs]
