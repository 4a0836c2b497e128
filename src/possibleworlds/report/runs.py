"""Run folders as records, grouped over seeds, and the selection among them.

Runs are selected by their accuracy on validation data alone. Within a sweep only what the sweep has
selected counts; it has seen all that it tried.
"""

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from possibleworlds.data.files import TRAINING_FILES, data_files
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.experiments.evaluations import Evaluations, are_numbers, read_evaluations
from possibleworlds.experiments.selection import rank_settings
from possibleworlds.experiments.sweep import selected_runs
from possibleworlds.experiments.trials import FAILED
from possibleworlds.models.registry import REGISTRY
from possibleworlds.storage import sha256
from possibleworlds.training.checkpoint import METRICS, RUN, flat_settings, read_run

NEEDED = (
    *("validation", "seconds", "pairs_per_second", "parameters", "step", "best_step"),
    *("batch_size", "permute_symbols"),
)
"""What is used of the metrics of a run, and of the settings of its training."""
CURVE = ("step", "seconds", "validation")
"""What a learning curve is made of."""


@dataclass(frozen=True)
class Value:
    """A figure over seeds: its mean, and its standard deviation where there are several."""

    mean: float
    spread: float | None
    values: list[float]


def over_seeds(values: Iterable[float]) -> Value:
    """The mean and spread of some values."""
    kept = list(values)
    spread = statistics.stdev(kept) if len(kept) > 1 else None
    return Value(statistics.fmean(kept), spread, kept)


@dataclass(frozen=True)
class Run:
    """A finished run."""

    path: Path
    description: dict[str, Any]
    """What run.json says."""
    history: list[dict[str, float]]
    evaluations: Evaluations
    selected: bool
    """Whether it may stand in the results: always, but for what a sweep has not selected."""

    @property
    def model(self) -> str:
        """The name of the network."""
        return str(self.description["model"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.description["seed"])

    @property
    def metrics(self) -> dict[str, float]:
        """What was measured in training."""
        metrics: dict[str, float] = self.description["metrics"]
        return metrics

    @property
    def data(self) -> dict[str, str]:
        """The SHA-256 of each of its data files."""
        data: dict[str, str] = self.description["data"]
        return data

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the network and of its training, by their names."""
        return flat_settings(self.description)

    @property
    def side(self) -> str:
        """Which side of a pair the network sees: both, left or right."""
        return str(self.settings.get("side", "both"))

    def identity(self, but: str = "") -> str:
        """All that decides the result, but the seed, and but one setting if it is named."""
        settings = {name: value for name, value in self.settings.items() if name != but}
        return json.dumps([self.model, settings, self.data], sort_keys=True)


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed."""

    runs: list[Run]

    @property
    def first(self) -> Run:
        """A run that stands for all in what they have in common."""
        return self.runs[0]

    @property
    def validation(self) -> Value:
        """The accuracy on the validation data of the training, at the step that was kept."""
        return self.metric("validation")

    def metric(self, name: str) -> Value:
        """Something that was measured in training."""
        return over_seeds(run.metrics[name] for run in self.runs)

    def accuracy(self, key: str) -> Value | None:
        """The accuracy on a file, where all runs were evaluated on it."""
        found = [run.evaluations[key]["accuracy"] for run in self.runs if key in run.evaluations]
        return over_seeds(found) if len(found) == len(self.runs) else None

    @cached_property
    def keys(self) -> list[str]:
        """The files on which all runs were evaluated."""
        return [key for key in self.first.evaluations if self.accuracy(key)]

    @cached_property
    def curve(self) -> list[dict[str, float]]:
        """The learning curve: means over seeds, evaluation by evaluation."""
        together = zip(*(run.history for run in self.runs), strict=False)
        return [
            {name: statistics.fmean(line[name] for line in lines) for name in CURVE}
            for lines in together
        ]


@dataclass(frozen=True)
class DataFolder:
    """A folder of data files."""

    path: Path
    files: list[Path]
    manifest: dict[str, Any]
    """What dataset.json says; empty for data that come from elsewhere."""

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """The SHA-256 of the files that a network is trained with."""
        return {path.name: sha256(path) for path in self.files if path.name in TRAINING_FILES}

    @property
    def train(self) -> dict[str, Any]:
        """The settings of the training data; empty where they are not known."""
        named = {split["name"]: split for split in self.manifest.get("settings", [])}
        return dict(named.get("train", {}))

    @property
    def method(self) -> str:
        """How the training data were made; an empty text where that is not known."""
        return str(self.train.get("method", ""))


def find(folder: Path, name: str) -> Iterator[Path]:
    """The folders at any depth that have a file of this name."""
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    return (path.parent for path in sorted(folder.rglob(name)))


def find_runs(folders: Sequence[Path]) -> tuple[list[Run], list[Path]]:
    """The runs in the folders, in a lasting order, and the folders of those not finished."""
    found: dict[Path, Run] = {}
    unfinished: list[Path] = []
    selections = cache(selected_runs)  # a sweep.json is read once, not for each of its runs
    for folder in folders:
        for path in find(folder, RUN):
            description = read_run(path)
            if (path / FAILED).exists():
                continue
            if not is_finished(description, path):
                unfinished.append(path)
                continue
            names = [selections(parent) for parent in path.resolve().parents]
            selected = all(path.name in some for some in names if some is not None)
            history, evaluations = read_history(path), read_evaluations(path)
            found[path.resolve()] = Run(path, description, history, evaluations, selected)
    if not found:
        given = ", ".join(map(str, folders))
        raise UserError(f"{given}: no finished run in it; `possibleworlds train` makes one")
    return sorted(found.values(), key=lambda run: (order_of(run.model), str(run.path))), unfinished


def is_finished(description: dict[str, Any], path: Path) -> bool:
    """Whether a run is finished, with all that a report says of one."""
    metrics = description.get("metrics", {})
    data = description["data"]
    if not isinstance(metrics, dict) or not isinstance(data, dict) or not are_texts(data):
        raise UserError(f"{path / RUN} does not describe a run")
    if not metrics.get("finished"):
        return False
    stored = {**metrics, **description["training"]}
    for name in NEEDED:
        if not are_numbers([stored.get(name)]):
            raise UserError(f"{path / RUN} has no number for {name}")
    return True


def are_texts(data: dict[str, Any]) -> bool:
    """Whether what is said of data files can be their SHA-256."""
    return all(isinstance(digest, str) for digest in data.values())


def order_of(model: str) -> tuple[int, str]:
    """What networks are sorted by: the paper's order, then those of others by name."""
    known = list(REGISTRY)
    return (known.index(model) if model in known else len(known)), model


def read_history(run: Path) -> list[dict[str, float]]:
    """The learning curve of a run."""
    path = run / METRICS
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if not all(are_numbers(line.get(name) for name in CURVE) for line in lines):
            raise ValueError(f"a line lacks {', '.join(CURVE)}")
    except FileNotFoundError:
        return []
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    return lines


def find_data(folders: Sequence[Path], given: Sequence[Path]) -> list[DataFolder]:
    """The data folders that were given, and those beside the runs."""
    for folder in given:
        if not folder.is_dir():
            raise UserError(f"{folder}: not a folder")
    beside = [path for folder in folders for path in find(folder, MANIFEST)]
    distinct = {path.resolve(): path for path in (*beside, *given)}
    return [
        DataFolder(
            path,
            data_files([path]),
            read_manifest(path) if (path / MANIFEST).exists() else {},
        )
        for path in distinct.values()
    ]


def grouped(runs: Iterable[Run]) -> list[Group]:
    """Runs that differ in the seed alone, together; one for each seed."""
    found: dict[str, dict[int, Run]] = {}
    for run in runs:
        found.setdefault(run.identity(), {}).setdefault(run.seed, run)
    return [Group([by_seed[seed] for seed in sorted(by_seed)]) for by_seed in found.values()]


def choose(runs: Iterable[Run]) -> list[Group]:
    """Select settings for each network and training data (experiments/selection.py)."""
    rows: dict[str, list[Group]] = {}
    for group in grouped(run for run in runs if run.selected and run.side == "both"):
        row = json.dumps([group.first.model, group.first.data], sort_keys=True)
        rows.setdefault(row, []).append(group)
    return [
        groups[rank_settings({i: g.validation.values for i, g in enumerate(groups)})[0]]
        for groups in rows.values()
    ]
