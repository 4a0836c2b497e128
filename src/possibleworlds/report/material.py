"""The input of a report: data folders, and the groups of runs that each section compares."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from possibleworlds.data.files import TRAINING_FILES, data_files
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.paper import SPLITS
from possibleworlds.report import runs
from possibleworlds.report.runs import POSSIBLEWORLDNET, Run, RunGroup
from possibleworlds.training.evaluations import digest, evaluation_key, split_key

TESTS = tuple(name for name in SPLITS if name != "validate")
METHOD_NAMES = {"fourtuples": "4-tuples"}


@dataclass(frozen=True)
class DataFolder:
    """A folder of data files."""

    path: Path
    files: list[Path]
    manifest: dict[str, Any]
    """The content of dataset.json; empty if there is none."""

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """The SHA-256 of the training and validation files."""
        return {path.name: digest(path) for path in self.files if path.name in TRAINING_FILES}

    @property
    def splits(self) -> list[Path]:
        """The files of the paper's validation and test splits."""
        return [file for file in self.files if file.stem in SPLITS]

    @property
    def train(self) -> dict[str, Any]:
        """The settings of the training data; empty if unknown."""
        splits = self.manifest.get("settings", [])
        return next((split for split in splits if split["name"] == "train"), {})

    @property
    def method(self) -> str:
        """The method that generated the training data; empty if unknown."""
        return str(self.train.get("method", ""))

    @property
    def name(self) -> str:
        """The name of the data set, which is that of its folder."""
        return self.path.resolve().name


@dataclass(frozen=True)
class ReportRequest:
    """The runs and data of a report, and the command that requests it."""

    folders: Sequence[Path]
    data: Sequence[Path]
    command: str
    note: str = ""
    """Stands at the end of the summary."""


class Material:
    """The runs and data of a report, grouped for its sections."""

    def __init__(self, request: ReportRequest) -> None:
        self.request = request
        self.folders = find_data(request.folders, request.data)
        finished, self.unfinished = runs.find_runs(request.folders)
        digests = digests_of(self.test_folders)
        self.runs = [without_outdated(run, digests) for run in finished]
        self.groups = runs.select(self.runs)
        self.permutation_pairs = runs.permutation_pairs(self.runs)
        self.worlds_series = runs.worlds_series(self.runs)
        self.one_sided = runs.grouped(run for run in self.runs if run.side != "both")

    @cached_property
    def common_data(self) -> frozenset[tuple[str, str]]:
        """The training data that most of the selected groups share."""
        most_common = Counter(group.first.data for group in self.groups).most_common(1)
        return most_common[0][0] if most_common else frozenset()

    @cached_property
    def one_per_network(self) -> list[RunGroup]:
        """One group for each network, trained on the most common data where possible."""
        kept: dict[str, RunGroup] = {}
        for group in sorted(self.groups, key=lambda group: group.first.data != self.common_data):
            kept.setdefault(group.model, group)
        return [group for group in self.groups if group in kept.values()]

    @property
    def possibleworldnet(self) -> RunGroup | None:
        """The selected PossibleWorldNet."""
        return next((g for g in self.one_per_network if g.model == POSSIBLEWORLDNET), None)

    @cached_property
    def test_folders(self) -> list[DataFolder]:
        """The data to evaluate on: requested folders, and unbiased test sets next to the runs."""
        requested = {path.resolve() for path in self.request.data}
        return [
            folder
            for folder in self.folders
            if folder.method != "naive"
            and (folder.path.resolve() in requested or any(f.stem in TESTS for f in folder.files))
        ]

    @property
    def evaluate_command(self) -> str:
        """The command that runs the missing evaluations."""
        data = "" if self.test_folders else " --data DATA"
        return f"{self.request.command}{data} --evaluate"

    @property
    def used(self) -> list[Run]:
        """Every run that contributes a number to the report."""
        compared = [group for pair in self.permutation_pairs for group in reversed(pair)]
        groups = [*self.groups, *self.worlds_series, *compared, *self.one_sided]
        return list({run.path: run for group in groups for run in group.runs}.values())

    def folder_of(self, data: frozenset[tuple[str, str]]) -> DataFolder | None:
        """Find the folder that holds certain training data."""
        return next((f for f in self.folders if f.fingerprint.items() == data), None)

    def data_name(self, run: Run) -> str:
        """Describe the training data of a run by folder and method, or by fingerprint."""
        if folder := self.folder_of(run.data):
            method = METHOD_NAMES.get(folder.method, folder.method)
            return f"{folder.name} ({method})" if method else folder.name
        return f"data {next(iter(run.record.data.values()), 'unknown')[:8]}"


def find_data(folders: Sequence[Path], data: Sequence[Path]) -> list[DataFolder]:
    """Read the requested data folders and those next to the runs."""
    for folder in data:
        if not folder.is_dir():
            raise UserError(f"{folder}: not a folder")
    next_to_runs = [path for folder in folders for path in runs.folders_with(folder, MANIFEST)]
    distinct = {path.resolve(): path for path in (*next_to_runs, *data)}
    return [
        DataFolder(p, data_files([p]), read_manifest(p) if (p / MANIFEST).exists() else {})
        for p in distinct.values()
    ]


def digests_of(folders: Iterable[DataFolder]) -> dict[str, str]:
    """Compute the SHA-256 of each split, by its evaluation key."""
    files: dict[str, Path] = {}
    for file in (file for folder in folders for file in folder.splits):
        same = files.setdefault(evaluation_key(file), file)
        if digest(same) != digest(file):
            raise UserError(f"{same} and {file} differ and are both called {evaluation_key(file)}")
    return {key: digest(file) for key, file in files.items()}


def without_outdated(run: Run, digests: dict[str, str]) -> Run:
    """Drop the evaluations on files that have changed since."""

    def is_current(key: str) -> bool:
        current = digests.get(split_key(key)[0])
        return run.evaluations[key].get("sha256") in (current, None) or current is None

    return replace(run, evaluations={k: v for k, v in run.evaluations.items() if is_current(k)})
