"""What a report is made from: data folders, and runs grouped over seeds.

Settings are selected by mean accuracy on validation data over seeds, never on test data. Within a
sweep only the runs that it has selected may stand in the results.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from possibleworlds.data.files import TRAINING_FILES, data_files
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.experiments.selection import rank_settings
from possibleworlds.experiments.sweep import selected_runs
from possibleworlds.experiments.trials import FAILED
from possibleworlds.models import registry
from possibleworlds.models.settings import LARGEST
from possibleworlds.paper import SPLITS
from possibleworlds.training.checkpoint import RUN, HistoryLine, RunRecord, read_history, read_run
from possibleworlds.training.evaluation import interval
from possibleworlds.training.evaluations import (
    Evaluations,
    digest,
    evaluation_key,
    read_evaluations,
    split_key,
)

POSSIBLEWORLDNET = "possibleworldnet"
TESTS = tuple(name for name in SPLITS if name != "validate")
METHOD_NAMES = {"fourtuples": "4-tuples"}


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


class RunGroup:
    """Runs that differ in nothing but the seed."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        self.first = runs[0]
        """The run that represents all in what they have in common."""
        self.model = self.first.record.model
        self.settings = self.first.settings
        self.data_key = json.dumps(self.first.record.data, sort_keys=True)
        """The training data, as something to compare."""
        self.seeds = [run.record.seed for run in runs]
        self.validation = self.metric("validation")
        """The accuracy on the validation data of the training, at the step that was kept."""

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
    def accuracy_by_worlds(self) -> dict[str, dict[int, SeedMean]]:
        """The accuracies on files evaluated with several numbers of worlds, by that number."""
        by_file: dict[str, dict[int, SeedMean]] = {}
        for key, accuracy in self.accuracy.items():
            file, worlds = split_key(key)
            by_file.setdefault(file, {})[int(worlds or self.settings["worlds"])] = accuracy
        return {file: dict(sorted(by.items())) for file, by in by_file.items() if len(by) > 1}

    @cached_property
    def curve(self) -> list[CurvePoint]:
        """The learning curve: means over seeds, evaluation by evaluation."""
        return [
            CurvePoint(*(fmean(getattr(p, f.name) for p in points) for f in fields(CurvePoint)))
            for points in zip(*(run.history for run in self.runs), strict=False)
        ]


class DataFolder:
    """A folder of data files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.resolve().name
        self.files = data_files([path])
        self.splits = [file for file in self.files if file.stem in SPLITS]
        self.fingerprint = {f.name: digest(f) for f in self.files if f.name in TRAINING_FILES}
        """The SHA-256 of the files that a network is trained with."""
        self.manifest = read_manifest(path) if (path / MANIFEST).exists() else {}
        """The content of dataset.json; empty for data from elsewhere."""
        settings = self.manifest.get("settings", [])
        self.train: dict[str, Any] = next(
            (split for split in settings if split["name"] == "train"), {}
        )
        """The settings of the training data; empty where they are not known."""
        self.method = str(self.train.get("method", ""))


class Material:
    """All that a report is made from: data folders, and which groups of runs each part compares.

    The command is the one that asks for the report; a note is what the page says before all else.
    """

    def __init__(
        self, runs: Sequence[Path], data: Sequence[Path], command: str, note: str = ""
    ) -> None:
        self.command, self.note = command, note
        self.folders = find_data(runs, data)
        named = {path.resolve() for path in data}
        self.test_folders = [
            folder
            for folder in self.folders
            if folder.method != "naive"
            and (folder.path.resolve() in named or any(f.stem in TESTS for f in folder.files))
        ]
        """The data to evaluate on: what was named, and unbiased test sets beside the runs."""
        self.runs, self.unfinished = find_runs(runs, digests_of(self.test_folders))
        self.groups = select(self.runs)
        self.permutation_pairs = permutation_pairs(self.runs)
        self.worlds_series = worlds_series(self.runs)
        self.one_sided = grouped(run for run in self.runs if run.side != "both")
        groups_on = Counter(group.data_key for group in self.groups)
        common = max(groups_on, key=groups_on.__getitem__, default="")
        on_common = sorted(self.groups, key=lambda group: group.data_key != common)
        self.trained_on = self.folder_of(on_common[0].first) if on_common else None
        """The training data that most of the selected groups share."""
        preferred = {group.model: group for group in reversed(on_common)}
        self.one_each = [group for group in self.groups if preferred[group.model] is group]
        """One group for each network, for the figures: on the data that most share."""
        self.possibleworldnet = network = preferred.get(POSSIBLEWORLDNET)
        self.accuracy_by_worlds = network.accuracy_by_worlds if network else {}
        compared = [group for pair in self.permutation_pairs for group in reversed(pair)]
        groups = [*self.groups, *self.worlds_series, *compared, *self.one_sided]
        self.used = list({run.path: run for group in groups for run in group.runs}.values())
        """Every run that a number of the report comes from."""
        data_option = "" if self.test_folders else " --data DATA"
        self.evaluate_command = f"{command}{data_option} --evaluate"
        """The command that evaluates what was not evaluated."""

    def folder_of(self, run: Run) -> DataFolder | None:
        """Find the folder of the data that a run was trained on."""
        return next((f for f in self.folders if f.fingerprint == run.record.data), None)

    def data_name(self, run: Run) -> str:
        """Name the training data of a run: by folder and method, else by fingerprint."""
        if folder := self.folder_of(run):
            method = METHOD_NAMES.get(folder.method, folder.method)
            return f"{folder.name} ({method})" if method else folder.name
        return f"data {next(iter(run.record.data.values()), 'unknown')[:8]}"


def find_data(folders: Sequence[Path], data: Sequence[Path]) -> list[DataFolder]:
    """Read the data folders beside the runs, and those that were named."""
    for folder in data:
        if not folder.is_dir():
            raise UserError(f"{folder}: not a folder")
    beside = [path for folder in folders for path in folders_with(folder, MANIFEST)]
    distinct = {path.resolve(): path for path in (*beside, *data)}
    return [DataFolder(path) for path in distinct.values()]


def folders_with(folder: Path, name: str) -> Iterator[Path]:
    """Find the folders at any depth that hold a file of this name."""
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    return (path.parent for path in sorted(folder.rglob(name)))


def digests_of(folders: Iterable[DataFolder]) -> dict[str, str]:
    """Compute the SHA-256 of each file, by the key of evaluations on it."""
    files: dict[str, Path] = {}
    for file in (file for folder in folders for file in folder.splits):
        same = files.setdefault(evaluation_key(file), file)
        if digest(same) != digest(file):
            raise UserError(f"{same} and {file} differ and are both called {evaluation_key(file)}")
    return {key: digest(file) for key, file in files.items()}


def find_runs(folders: Sequence[Path], digests: Mapping[str, str]) -> tuple[list[Run], list[Path]]:
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
                current_evaluations(path, digests),
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


def current_evaluations(path: Path, digests: Mapping[str, str]) -> Evaluations:
    """Read the evaluations of a run, but for those on files that have changed since."""
    evaluations = {}
    for key, evaluation in read_evaluations(path).items():
        sha256 = evaluation.get("sha256")
        if sha256 is None or digests.get(split_key(key)[0], sha256) == sha256:
            evaluations[key] = evaluation
    return evaluations


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
    return [sorted(groups, key=lambda g: g.settings[setting]) for groups in alike.values()]


def best_validation(groups: Iterable[RunGroup]) -> float:
    """Find the best mean accuracy on validation data."""
    return max(group.validation.mean for group in groups)


def permutation_pairs(runs: Iterable[Run]) -> list[list[RunGroup]]:
    """Find, for each network, groups without and with symbol permutation and otherwise equal."""
    pairs: dict[str, list[list[RunGroup]]] = {}
    for groups in series((run for run in runs if run.side == "both"), "permute_symbols"):
        if len(groups) == 2:
            pairs.setdefault(groups[0].model, []).append(groups)
    return [max(own, key=best_validation) for own in pairs.values()]


def worlds_series(runs: Iterable[Run]) -> list[RunGroup]:
    """Find the largest set of groups that differ in the number of worlds alone, in its order."""
    by_worlds = series((run for run in runs if run.record.model == POSSIBLEWORLDNET), "worlds")
    largest = max(by_worlds, key=lambda groups: (len(groups), best_validation(groups)), default=[])
    return largest if len(largest) > 1 else []
