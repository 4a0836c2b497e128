"""Run folders as records, grouped over seeds.

Settings are selected by mean accuracy on validation data over seeds, never on test data. Within a
sweep only the runs that it has selected may stand in the results.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

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


@dataclass(frozen=True)
class SeedMean:
    """The mean of a number over seeds, and its standard deviation where there are several."""

    mean: float
    spread: float | None
    values: list[float]
    interval: tuple[float, float] | None = None
    """The 95 % interval of an accuracy that follows from the number of rows alone."""

    @classmethod
    def of(cls, values: Iterable[float], rows: int | None = None) -> "SeedMean":
        """Compute mean and standard deviation, and the interval of an accuracy on some rows."""
        each = list(values)
        mean = fmean(each)
        spread = stdev(each) if len(each) > 1 else None
        # Seeds are evaluated on the same rows, so that more seeds do not make it narrower.
        return cls(mean, spread, each, interval(round(mean * rows), rows) if rows else None)


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
    settings: dict[str, Any]  # of the network and of its training, by name
    metrics: dict[str, float]
    history: list[HistoryLine]
    evaluations: Evaluations
    selected: bool  # not where a sweep has selected others

    @property
    def side(self) -> str:
        """The side of a pair that the network sees: both, left or right."""
        return str(self.settings.get("side", "both"))

    def identity(self, without: str = "") -> str:
        """Write down all that decides the result except the seed, and except one setting."""
        settings = {name: value for name, value in self.settings.items() if name != without}
        return json.dumps([self.record.model, settings, self.record.data], sort_keys=True)


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ in nothing but the seed."""

    runs: list[Run]

    @property
    def first(self) -> Run:
        """The run that represents all in what they have in common."""
        return self.runs[0]

    @property
    def model(self) -> str:
        """The name of the network."""
        return self.first.record.model

    @property
    def data_key(self) -> str:
        """The training data, as something to compare."""
        return json.dumps(self.first.record.data, sort_keys=True)

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return [run.record.seed for run in self.runs]

    @property
    def validation(self) -> SeedMean:
        """The accuracy on the validation data of the training, at the step that was kept."""
        return self.metric("validation")

    def metric(self, name: str) -> SeedMean:
        """Average a metric of the training."""
        return SeedMean.of(run.metrics[name] for run in self.runs)

    @cached_property
    def accuracy(self) -> dict[str, SeedMean]:
        """The mean accuracy on each file on which all runs were evaluated."""
        return {
            key: SeedMean.of((run.evaluations[key]["accuracy"] for run in self.runs), rows)
            for key, rows in ((k, e.get("rows")) for k, e in self.first.evaluations.items())
            if all(key in run.evaluations for run in self.runs)
        }

    @cached_property
    def accuracy_by_source(self) -> dict[str, dict[str, SeedMean]]:
        """The accuracies on the paper's splits, by the folder of the files."""
        sources: dict[str, dict[str, SeedMean]] = {}
        for key, accuracy in self.accuracy.items():
            source, _, split = key.rpartition("/")
            if split in SPLITS:
                sources.setdefault(source, {})[split] = accuracy
        return sources

    @cached_property
    def curve(self) -> list[CurvePoint]:
        """The learning curve: means over seeds, evaluation by evaluation."""
        return [
            CurvePoint(*(fmean(getattr(p, f.name) for p in points) for f in fields(CurvePoint)))
            for points in zip(*(run.history for run in self.runs), strict=False)
        ]


def folders_with(folder: Path, name: str) -> Iterator[Path]:
    """Find the folders at any depth that hold a file of this name."""
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    return (path.parent for path in sorted(folder.rglob(name)))


def find_runs(folders: Sequence[Path]) -> tuple[list[Run], list[Path]]:
    """Read the finished runs in folders, in a fixed order; and list the unfinished ones."""
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
            # Folders above the one that was named have no say.
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
    in_order = sorted(runs.values(), key=lambda r: (*place_in(known, r.record.model), str(r.path)))
    return in_order, list(unfinished.values())


def place_in(known: Sequence[str], name: str) -> tuple[int, str]:
    """Give the sort key of a name: the order of those that are known, then others by name."""
    return (known.index(name) if name in known else len(known)), name


def settings_of(record: RunRecord, path: Path) -> dict[str, Any]:
    """Give all settings of a run; raise UserError if it lacks what a report needs."""
    settings = record.flat_settings
    smallest = {"batch_size": 0, "permute_symbols": 0}
    if record.model == POSSIBLEWORLDNET:
        smallest["worlds"] = 1
    for name, low in smallest.items():
        value = settings.get(name)
        if not isinstance(value, int) or not low <= value <= LARGEST:
            raise UserError(f"{path / RUN} has no number for {name}")
    return settings


def grouped(runs: Iterable[Run]) -> list[RunGroup]:
    """Put runs together that differ in the seed alone, one for each seed."""
    groups: dict[str, dict[int, Run]] = {}
    for run in runs:
        groups.setdefault(run.identity(), {}).setdefault(run.record.seed, run)
    return [RunGroup([by_seed[seed] for seed in sorted(by_seed)]) for by_seed in groups.values()]


def select(runs: Iterable[Run]) -> list[RunGroup]:
    """Select settings for each network and training data (experiments/selection.py)."""
    candidates: dict[tuple[str, str], list[RunGroup]] = {}
    for group in grouped(run for run in runs if run.selected and run.side == "both"):
        candidates.setdefault((group.model, group.data_key), []).append(group)
    return [
        groups[rank_settings({i: g.validation.values for i, g in enumerate(groups)})[0]]
        for groups in candidates.values()
    ]


def series(runs: Iterable[Run], setting: str) -> list[list[RunGroup]]:
    """Put groups together that differ in one setting alone, in its order."""
    alike: dict[str, list[RunGroup]] = {}
    for group in grouped(runs):
        alike.setdefault(group.first.identity(without=setting), []).append(group)
    return [sorted(groups, key=lambda g: g.first.settings[setting]) for groups in alike.values()]


def best_validation(groups: Iterable[RunGroup]) -> float:
    """Find the best mean accuracy on validation data."""
    return max(group.validation.mean for group in groups)


def permutation_pairs(runs: Iterable[Run]) -> list[list[RunGroup]]:
    """Find, for each network, groups without and with symbol permutation and otherwise equal."""
    best: dict[str, list[RunGroup]] = {}
    for pair in series((run for run in runs if run.side == "both"), "permute_symbols"):
        kept = best.get(pair[0].model, [])
        if len(pair) == 2 and (not kept or best_validation(pair) > best_validation(kept)):
            best[pair[0].model] = pair
    return list(best.values())


def worlds_series(runs: Iterable[Run]) -> list[RunGroup]:
    """Find the largest set of groups that differ in the number of worlds alone, in its order."""
    by_worlds = series((run for run in runs if run.record.model == POSSIBLEWORLDNET), "worlds")
    largest = max(by_worlds, key=lambda groups: (len(groups), best_validation(groups)), default=[])
    return largest if len(largest) > 1 else []
