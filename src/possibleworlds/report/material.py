"""What a report is made from: data folders, and which groups of runs each part compares."""

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
    """The content of dataset.json; empty for data from elsewhere."""

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """The SHA-256 of the files that a network is trained with."""
        return {path.name: digest(path) for path in self.files if path.name in TRAINING_FILES}

    @property
    def splits(self) -> list[Path]:
        """The files that are splits of the paper."""
        return [file for file in self.files if file.stem in SPLITS]

    @property
    def train(self) -> dict[str, Any]:
        """The settings of the training data; empty where they are not known."""
        splits = self.manifest.get("settings", [])
        return next((split for split in splits if split["name"] == "train"), {})

    @property
    def method(self) -> str:
        """The method that made the training data; empty where it is not known."""
        return str(self.train.get("method", ""))

    @property
    def name(self) -> str:
        """The name of the data set: that of its folder."""
        return self.path.resolve().name


@dataclass(frozen=True)
class ReportRequest:
    """What a report is to be about, and the command that asks for it."""

    folders: Sequence[Path]
    data: Sequence[Path]
    command: str
    note: str = ""
    """What the page says before all else."""


class Material:
    """All that a report is made from."""

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
    def common_data(self) -> str:
        """The training data that most of the selected groups share."""
        most_common = Counter(group.data_key for group in self.groups).most_common(1)
        return most_common[0][0] if most_common else ""

    @cached_property
    def one_each(self) -> list[RunGroup]:
        """One group for each network, for the figures: on the data that most share."""
        kept: dict[str, RunGroup] = {}
        for group in sorted(self.groups, key=lambda group: group.data_key != self.common_data):
            kept.setdefault(group.model, group)
        return [group for group in self.groups if group in kept.values()]

    @property
    def possibleworldnet(self) -> RunGroup | None:
        """The selected PossibleWorldNet."""
        return next((g for g in self.one_each if g.model == POSSIBLEWORLDNET), None)

    @cached_property
    def test_folders(self) -> list[DataFolder]:
        """The data to evaluate on: what was named, and unbiased test sets beside the runs."""
        named = {path.resolve() for path in self.request.data}
        return [
            folder
            for folder in self.folders
            if folder.method != "naive"
            and (folder.path.resolve() in named or any(f.stem in TESTS for f in folder.files))
        ]

    @property
    def evaluate_command(self) -> str:
        """The command that evaluates what was not evaluated."""
        data = "" if self.test_folders else " --data DATA"
        return f"{self.request.command}{data} --evaluate"

    @property
    def used(self) -> list[Run]:
        """Every run that a number of the report comes from."""
        compared = [group for pair in self.permutation_pairs for group in reversed(pair)]
        groups = [*self.groups, *self.worlds_series, *compared, *self.one_sided]
        return list({run.path: run for group in groups for run in group.runs}.values())

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
    beside = [path for folder in folders for path in runs.folders_with(folder, MANIFEST)]
    distinct = {path.resolve(): path for path in (*beside, *data)}
    manifests = [read_manifest(p) if (p / MANIFEST).exists() else {} for p in distinct.values()]
    pairs = zip(distinct.values(), manifests, strict=True)
    return [DataFolder(path, data_files([path]), manifest) for path, manifest in pairs]


def digests_of(folders: Iterable[DataFolder]) -> dict[str, str]:
    """Compute the SHA-256 of each file, by the key of evaluations on it."""
    files: dict[str, Path] = {}
    for file in (file for folder in folders for file in folder.splits):
        same = files.setdefault(evaluation_key(file), file)
        if digest(same) != digest(file):
            raise UserError(f"{same} and {file} differ and are both called {evaluation_key(file)}")
    return {key: digest(file) for key, file in files.items()}


def without_outdated(run: Run, digests: dict[str, str]) -> Run:
    """Drop evaluations on files that have changed since."""

    def is_current(key: str) -> bool:
        now = digests.get(split_key(key)[0])
        return run.evaluations[key].get("sha256") in (now, None) or now is None

    return replace(run, evaluations={k: v for k, v in run.evaluations.items() if is_current(k)})
