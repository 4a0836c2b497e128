"""Run folders as records, grouped over seeds.

Settings are selected by mean accuracy on validation data over seeds, never on test data. Within a
sweep only the runs that it has selected may stand in the results.
"""

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from possibleworlds.errors import UserError
from possibleworlds.experiments.selection import rank_settings
from possibleworlds.experiments.sweep import selected_runs
from possibleworlds.experiments.trials import FAILED
from possibleworlds.models.registry import names
from possibleworlds.paper import SPLITS
from possibleworlds.training.checkpoint import RUN, RunRecord, read_history, read_run
from possibleworlds.training.evaluation import interval
from possibleworlds.training.evaluations import Evaluations, are_numbers, read_evaluations

NUMBERS = "batch_size", "permute_symbols"
"""The settings of the training that a report uses."""


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
        mean = statistics.fmean(each)
        spread = statistics.stdev(each) if len(each) > 1 else None
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
    model: str
    seed: int
    settings: dict[str, Any]  # of the network and of its training, by name
    data: dict[str, str]  # the SHA-256 of each file of the training data
    metrics: dict[str, float]
    versions: dict[str, Any]  # of this package and of torch
    history: list[CurvePoint]
    evaluations: Evaluations
    selected: bool  # not where a sweep has selected others

    @property
    def side(self) -> str:
        """The side of a pair that the network sees: both, left or right."""
        return str(self.settings.get("side", "both"))

    @property
    def worlds(self) -> int:
        """The number of worlds that the network was trained with."""
        worlds = self.settings.get("worlds")
        if not isinstance(worlds, int):
            raise UserError(f"{self.path / RUN} has no number for worlds")
        return worlds

    def identity(self, without: str = "") -> str:
        """Write down all that decides the result except the seed, and except one setting."""
        settings = {name: value for name, value in self.settings.items() if name != without}
        return json.dumps([self.model, settings, self.data], sort_keys=True)


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed."""

    runs: list[Run]

    @property
    def first(self) -> Run:
        """The run that represents all in what they have in common."""
        return self.runs[0]

    @property
    def model(self) -> str:
        """The name of the network."""
        return self.first.model

    @property
    def data_key(self) -> str:
        """The training data, as something to compare."""
        return json.dumps(self.first.data, sort_keys=True)

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return [run.seed for run in self.runs]

    @property
    def validation(self) -> SeedMean:
        """The accuracy on the validation data of the training, at the step that was kept."""
        return self.metric("validation")

    def metric(self, name: str) -> SeedMean:
        """Average a metric of the training."""
        return SeedMean.of(run.metrics[name] for run in self.runs)

    def accuracy(self, key: str) -> SeedMean | None:
        """Average the accuracy on a file, where all runs were evaluated on it."""
        if not all(key in run.evaluations for run in self.runs):
            return None
        rows = self.first.evaluations[key].get("rows")
        return SeedMean.of((run.evaluations[key]["accuracy"] for run in self.runs), rows)

    @cached_property
    def keys(self) -> list[str]:
        """The files on which all runs were evaluated."""
        return [key for key in self.first.evaluations if self.accuracy(key)]

    @cached_property
    def accuracy_by_source(self) -> dict[str, dict[str, SeedMean]]:
        """The accuracies on the paper's splits, by the folder of the files."""
        sources: dict[str, dict[str, SeedMean]] = {}
        for key in self.keys:
            source, _, split = key.rpartition("/")
            if split in SPLITS and (accuracy := self.accuracy(key)):
                sources.setdefault(source, {})[split] = accuracy
        return sources

    @cached_property
    def curve(self) -> list[CurvePoint]:
        """The learning curve: means over seeds, evaluation by evaluation."""
        together = zip(*(run.history for run in self.runs), strict=False)
        return [
            CurvePoint(*map(statistics.fmean, zip(*map(astuple, points), strict=True)))
            for points in together
        ]


def folders_with(folder: Path, name: str) -> Iterator[Path]:
    """Find the folders at any depth that hold a file of this name."""
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    return (path.parent for path in sorted(folder.rglob(name)))


def find_runs(folders: Sequence[Path]) -> tuple[list[Run], list[Path]]:
    """Read the finished runs in folders, in a fixed order; and list the unfinished ones."""
    runs: dict[Path, Run] = {}
    unfinished: list[Path] = []
    selection_of = cache(selected_runs)  # reads each sweep.json once
    for folder in folders:
        for path in folders_with(folder, RUN):
            record = read_run(path)
            if (path / FAILED).exists():
                continue
            if record.metrics is None or not record.metrics.finished:
                unfinished.append(path)
                continue
            # Folders above the one that was named have no say.
            inside = [folder, *(parent for parent in path.parents if folder in parent.parents)]
            selections = [names for p in inside if (names := selection_of(p)) is not None]
            runs[path.resolve()] = Run(
                path=path,
                model=record.model,
                seed=record.seed,
                settings=settings_of(record, path),
                data=record.data,
                metrics=asdict(record.metrics),
                versions={"version": record.version, "torch": record.torch},
                history=[
                    CurvePoint(line.step, line.seconds, line.validation)
                    for line in read_history(path, record)
                ],
                evaluations=read_evaluations(path),
                selected=all(path.name in names for names in selections),
            )
    if not runs:
        listed = ", ".join(map(str, folders))
        raise UserError(f"{listed}: no finished run in it; `possibleworlds train` makes one")
    return sorted(runs.values(), key=lambda run: (order_of(run.model), str(run.path))), unfinished


def settings_of(record: RunRecord, path: Path) -> dict[str, Any]:
    """Give all settings of a run; raise UserError if it lacks what a report needs."""
    settings = record.flat_settings
    for name in NUMBERS:
        if not are_numbers([settings.get(name)]):
            raise UserError(f"{path / RUN} has no number for {name}")
    return settings


def order_of(model: str) -> tuple[int, str]:
    """Give the sort key of a network: the paper's order, then others by name."""
    known = names()
    return (known.index(model) if model in known else len(known)), model


def grouped(runs: Iterable[Run]) -> list[Group]:
    """Put runs together that differ in the seed alone, one for each seed."""
    groups: dict[str, dict[int, Run]] = {}
    for run in runs:
        groups.setdefault(run.identity(), {}).setdefault(run.seed, run)
    return [Group([by_seed[seed] for seed in sorted(by_seed)]) for by_seed in groups.values()]


def select(runs: Iterable[Run]) -> list[Group]:
    """Select settings for each network and training data (experiments/selection.py)."""
    candidates: dict[tuple[str, str], list[Group]] = {}
    for group in grouped(run for run in runs if run.selected and run.side == "both"):
        candidates.setdefault((group.model, group.data_key), []).append(group)
    return [
        groups[rank_settings({i: g.validation.values for i, g in enumerate(groups)})[0]]
        for groups in candidates.values()
    ]
