"""The input of a report: data folders, and the groups of runs that each section compares."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from possibleworlds.data.files import TRAINING_FILES, data_files
from possibleworlds.data.published import FILES
from possibleworlds.data.splits import MANIFEST, PRESETS, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.paper import SPLITS
from possibleworlds.report import runs
from possibleworlds.report.runs import POSSIBLEWORLDNET, Run, RunGroup
from possibleworlds.training.evaluations import digest, evaluation_key, split_key

TESTS = tuple(name for name in SPLITS if name != "validate")
METHOD_NAMES = {"fourtuples": "4-tuples"}


class DataFolder:
    """A folder of data files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.resolve().name
        self.files = data_files([path])
        self.splits = [file for file in self.files if file.stem in SPLITS]
        self.fingerprint = {f.name: digest(f) for f in self.files if f.name in TRAINING_FILES}
        """The SHA-256 of the training and validation files."""
        self.manifest = read_manifest(path) if (path / MANIFEST).exists() else {}
        """The content of dataset.json; empty if there is none."""
        settings = self.manifest.get("settings", [])
        self.train: dict[str, Any] = next(
            (split for split in settings if split["name"] == "train"), {}
        )
        """The settings of the training data; empty if unknown."""
        self.method = str(self.train.get("method", ""))
        """The method that generated the training data; empty if unknown."""
        self.paper_splits = {f.stem for f in self.files if digest(f) == FILES.get(f.name)}
        """The splits that are comparable with the paper's: published, or with its settings."""
        self.paper_splits |= {split["name"] for split in settings if has_paper_settings(split)}


def has_paper_settings(settings: dict[str, Any]) -> bool:
    """Whether a split was generated with the settings of the paper's, in whatever size."""
    return any(
        json.loads(json.dumps(asdict(split))) == settings | {"rows": split.rows}
        for split in PRESETS["paper"]
    )


@dataclass(frozen=True)
class ReportRequest:
    """The runs and data of a report, and the command that requests it."""

    folders: Sequence[Path]
    data: Sequence[Path]
    command: str
    note: str = ""
    """Stands at the end of the summary."""
    trust: bool = False
    """Whether classes that run folders name may be imported, which runs their code."""


class Material:
    """The runs and data of a report, grouped for its sections."""

    def __init__(self, request: ReportRequest) -> None:
        self.request = request
        self.folders = find_data(request.folders, request.data)
        requested = {path.resolve() for path in request.data}
        self.test_folders = [
            folder
            for folder in self.folders
            if folder.method != "naive"
            and (folder.path.resolve() in requested or any(f.stem in TESTS for f in folder.files))
        ]
        """The data to evaluate on: requested folders, and unbiased test sets next to the runs."""
        data = "" if self.test_folders else " --data DATA"
        finished, self.unfinished = runs.find_runs(request.folders)
        trust = " --trust" if any(run.is_unregistered for run in finished) else ""
        self.evaluate_command = f"{request.command}{data} --evaluate{trust}"
        """The command that runs the missing evaluations."""
        digests = digests_of(self.test_folders)
        self.runs = [without_outdated(run, digests) for run in finished]
        self.groups = runs.select(self.runs)
        self.permutation_pairs = runs.permutation_pairs(self.runs)
        self.worlds_series = runs.worlds_series(self.runs)
        self.one_sided = runs.grouped(run for run in self.runs if run.side != "both")
        most_common = Counter(group.first.data for group in self.groups).most_common(1)
        self.common_data = most_common[0][0] if most_common else frozenset()
        """The training data that most of the selected groups share."""
        self.one_per_network = [
            next((group for group in groups if group.first.data == self.common_data), groups[0])
            for groups in runs.partitioned(self.groups, lambda group: group.model)
        ]
        """One group for each network, trained on the most common data where possible."""

    @property
    def possibleworldnet(self) -> RunGroup | None:
        """The selected PossibleWorldNet."""
        return next((g for g in self.one_per_network if g.model == POSSIBLEWORLDNET), None)

    @property
    def used(self) -> list[Run]:
        """Every run that contributes a number to the report."""
        compared = [group for pair in self.permutation_pairs for group in reversed(pair)]
        groups = [*self.groups, *self.worlds_series, *compared, *self.one_sided]
        return list({run.path: run for group in groups for run in group.runs}.values())

    def folder_of(self, data: frozenset[tuple[str, str]]) -> DataFolder | None:
        """Find the folder that holds certain training data, which may be unknown."""
        return next((f for f in self.folders if data and f.fingerprint.items() == data), None)

    def comparable(self, group: RunGroup) -> list[str]:
        """List the evaluations of runs that are on sets like the paper's, by their keys."""
        keys = {
            f"{folder.name}/{split}" for folder in self.folders for split in folder.paper_splits
        }
        return [
            key
            for key, evaluation in group.first.evaluations.items()
            if key in keys
            or evaluation.get("sha256") == FILES.get(f"{key.rpartition('/')[2]}.txt", "")
        ]

    def data_name(self, run: Run) -> str:
        """Describe the training data of a run by folder and method, or by fingerprint.

        Empty for a language model, which was not trained here.
        """
        if run.record.is_language_model:
            return ""
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
    return [DataFolder(path) for path in distinct.values()]


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
