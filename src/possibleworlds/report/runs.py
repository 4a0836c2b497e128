"""Read run folders, and group runs by their settings.

Settings are selected by mean validation accuracy over seeds, never on test data. Of the runs of a
sweep, only those that it has selected appear in the results.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeVar

from possibleworlds.errors import UserError
from possibleworlds.experiments.selection import rank_settings
from possibleworlds.experiments.sweep import selected_runs
from possibleworlds.experiments.trials import FAILED
from possibleworlds.models import registry
from possibleworlds.models.settings import LARGEST
from possibleworlds.paper import SPLITS
from possibleworlds.training.checkpoint import RUN, HistoryLine, RunRecord, read_history, read_run
from possibleworlds.training.evaluation import interval
from possibleworlds.training.evaluations import Evaluations, read_evaluations

POSSIBLEWORLDNET = "possibleworldnet"

T = TypeVar("T")


@dataclass(frozen=True)
class SeedMean:
    """The mean of a number over seeds, and its standard deviation if there are several."""

    mean: float
    spread: float | None
    values: list[float]
    interval: tuple[float, float] | None = None
    """The 95 % interval of an accuracy, from the number of rows alone."""

    @classmethod
    def of(cls, values: Iterable[float], rows: int | None = None) -> "SeedMean":
        """Compute mean and standard deviation; with rows, also the interval of an accuracy."""
        numbers = list(values)
        mean = fmean(numbers)
        spread = stdev(numbers) if len(numbers) > 1 else None
        # All seeds are evaluated on the same rows, so more seeds do not make it narrower.
        return cls(mean, spread, numbers, interval(round(mean * rows), rows) if rows else None)


@dataclass(frozen=True)
class CurvePoint:
    """A point of a learning curve."""

    step: float
    seconds: float
    validation: float


@dataclass(frozen=True)
class Run:
    """A finished run."""

    path: Path
    record: RunRecord
    settings: dict[str, Any]  # of the network and of its training
    metrics: dict[str, float]
    history: list[HistoryLine]
    evaluations: Evaluations
    selected: bool  # False if a sweep has selected others

    @property
    def is_unregistered(self) -> bool:
        """Whether the network is a class that only the run folder names."""
        return not self.record.is_language_model and self.record.model not in registry.names()

    @property
    def side(self) -> str:
        """The side of a pair that the network sees: both, left or right."""
        side = self.settings.get("side")  # a network of a user may call anything else so
        return side if side in ("left", "right") else "both"

    @property
    def data(self) -> frozenset[tuple[str, str]]:
        """The training data: the names of its files, each with its SHA-256."""
        return frozenset(self.record.data.items())

    def identity(self, without: str = "") -> str:
        """Serialise all that determines the result except the seed, and without one setting."""
        settings = {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in self.settings.items()
            if name != without
        }
        record = self.record
        return json.dumps(
            [record.model, settings, record.data, record.extended_from], sort_keys=True
        )


class RunGroup:
    """Runs that differ only in the seed."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        self.first = runs[0]
        """The run to read what all runs have in common from."""
        self.model = self.first.record.model
        self.seeds = [run.record.seed for run in runs]
        self.validation = self.metric("validation")
        """The validation accuracy in training, at the step whose weights were kept."""

    @property
    def paper(self) -> dict[str, float]:
        """The paper's accuracy on each split; empty if it does not have the network."""
        entry = registry.entries().get(self.model)
        percentages = entry.published if entry else {}
        return {split: percent / 100 for split, percent in percentages.items()}

    def metric(self, name: str) -> SeedMean:
        """Average a training metric over seeds."""
        return SeedMean.of(run.metrics[name] for run in self.runs)

    @cached_property
    def accuracy(self) -> dict[str, SeedMean]:
        """The mean accuracy on each file that all runs were evaluated on."""
        return {
            key: SeedMean.of((run.evaluations[key]["accuracy"] for run in self.runs), rows)
            for key, rows in ((k, e.get("rows")) for k, e in self.first.evaluations.items())
            if all(key in run.evaluations for run in self.runs)
        }

    @cached_property
    def accuracy_by_source(self) -> dict[str, dict[str, SeedMean]]:
        """The accuracies on the paper's splits, by data folder and split."""
        sources: dict[str, dict[str, SeedMean]] = {}
        for key, accuracy in self.accuracy.items():
            source, _, split = key.rpartition("/")
            if split in SPLITS:
                sources.setdefault(source, {})[split] = accuracy
        return sources

    @cached_property
    def curve(self) -> list[CurvePoint]:
        """The learning curve: the mean over seeds of each evaluation."""
        return [
            CurvePoint(*(fmean(getattr(p, f.name) for p in points) for f in fields(CurvePoint)))
            for points in zip(*(run.history for run in self.runs), strict=False)
        ]


def folders_with(folder: Path, name: str) -> Iterator[Path]:
    """Find the folders at any depth that contain a file of this name."""
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    return (path.parent for path in sorted(folder.rglob(name)))


def find_runs(folders: Sequence[Path]) -> tuple[list[Run], list[Path]]:
    """Read the finished runs in folders, in a fixed order, and list the unfinished ones."""
    runs: dict[Path, Run] = {}
    unfinished: dict[Path, Path] = {}
    selection_of = cache(selected_runs)  # reads each sweep.json once
    for folder in folders:
        for path in folders_with(folder, RUN):
            record = read_run(path)
            if (path / FAILED).exists():
                continue
            if record.metrics is None or not record.metrics.finished:
                unfinished[path.resolve()] = path
                continue
            # Selections in folders above the requested one do not count.
            inside = [folder, *(parent for parent in path.parents if folder in parent.parents)]
            selections = [names for p in inside if (names := selection_of(p)) is not None]
            runs[path.resolve()] = Run(
                path,
                record,
                settings_of(record, path),
                asdict(record.metrics),
                read_history(path, record),
                read_evaluations(path),
                selected=all(path.name in names for names in selections),
            )
    if not runs:
        listed = ", ".join(map(str, folders))
        raise UserError(f"{listed}: no finished run in it; `possibleworlds train` makes one")
    known = registry.names()
    in_order = sorted(runs.values(), key=lambda r: (*sort_key(known, r.record.model), str(r.path)))
    return in_order, list(unfinished.values())


def sort_key(known: Sequence[str], name: str) -> tuple[int, str]:
    """Return the sort key of a name: known names in their order, then others by name."""
    return (known.index(name) if name in known else len(known)), name


def settings_of(record: RunRecord, path: Path) -> dict[str, Any]:
    """Return all settings of a run; raise UserError if one that a report needs is missing."""
    settings = record.flat_settings
    smallest = {"batch_size": 0, "permute_symbols": 0}
    if record.model == POSSIBLEWORLDNET:
        smallest["worlds"] = 1
    for name, low in smallest.items():
        value = settings.get(name)
        if not isinstance(value, int) or not low <= value <= LARGEST:
            raise UserError(f"{path / RUN} has no number for {name}")
    return settings


def partitioned(items: Iterable[T], key: Callable[[T], object]) -> list[list[T]]:
    """Collect the items that share a key, in the order of their first appearance."""
    parts: dict[object, list[T]] = {}
    for item in items:
        parts.setdefault(key(item), []).append(item)
    return list(parts.values())


def grouped(runs: Iterable[Run]) -> list[RunGroup]:
    """Group runs that differ only in the seed, one run for each seed."""
    groups: dict[str, dict[int, Run]] = {}
    for run in runs:
        groups.setdefault(run.identity(), {}).setdefault(run.record.seed, run)
    return [RunGroup([by_seed[seed] for seed in sorted(by_seed)]) for by_seed in groups.values()]


def select(runs: Iterable[Run]) -> list[RunGroup]:
    """Select the best settings for each network and training data (experiments/selection.py)."""
    groups = grouped(run for run in runs if run.selected and run.side == "both")
    return [
        same[rank_settings({i: group.validation.values for i, group in enumerate(same)})[0]]
        for same in partitioned(groups, lambda group: (group.model, group.first.data))
    ]


def series(runs: Iterable[Run], setting: str) -> list[list[RunGroup]]:
    """Collect groups that differ only in one setting, sorted by it."""
    collected = partitioned(grouped(runs), lambda group: group.first.identity(without=setting))
    return [sorted(groups, key=lambda group: group.first.settings[setting]) for groups in collected]


def best_validation(groups: Iterable[RunGroup]) -> float:
    """Find the best mean validation accuracy."""
    return max(group.validation.mean for group in groups)


def permutation_pairs(runs: Iterable[Run]) -> list[list[RunGroup]]:
    """Find, for each network, two groups that differ only in symbol permutation."""
    compared = series((run for run in runs if run.side == "both"), "permute_symbols")
    pairs = [groups for groups in compared if len(groups) == 2]
    by_network = partitioned(pairs, lambda pair: pair[0].model)
    return [max(of_network, key=best_validation) for of_network in by_network]


def worlds_series(runs: Iterable[Run]) -> list[RunGroup]:
    """Find the largest series of groups that differ only in the number of worlds."""
    by_worlds = series((run for run in runs if run.record.model == POSSIBLEWORLDNET), "worlds")
    largest = max(by_worlds, key=lambda groups: (len(groups), best_validation(groups)), default=[])
    return largest if len(largest) > 1 else []
