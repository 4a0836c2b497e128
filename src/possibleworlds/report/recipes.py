"""How every number of a report can be repeated: the commands that made runs and data."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from shlex import join
from typing import Any

from possibleworlds.data.splits import PRESETS
from possibleworlds.models.registry import names, resolve
from possibleworlds.report.material import DataFolder, Material
from possibleworlds.report.runs import Run
from possibleworlds.training.evaluations import digest, evaluation_key, split_key
from possibleworlds.training.settings import RunSettings


@dataclass(frozen=True)
class RunRecipe:
    """How a run can be repeated, and what to expect."""

    run: str
    name: str
    model: str
    command: str
    seed: int
    settings: dict[str, Any]
    version: str | None
    torch: str | None
    data: dict[str, str]
    metrics: dict[str, float]
    evaluated: dict[str, str | None]  # the SHA-256 of each file, by the key of the evaluation
    evaluate: list[str]


def recipe(run: Run, material: Material) -> RunRecipe:
    """Write down how a run can be repeated."""
    folder = material.folder_of(run)
    data = str(folder.path) if folder else "DATA"
    words = ["possibleworlds", "train", run.model, "--data", data, "--out", "RUN"]
    for name, value in changed_settings(run).items():
        words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return RunRecipe(
        run=str(run.path),
        name=run.path.name,
        model=run.model,
        command=join([*words, "--seed", str(run.seed)]),
        seed=run.seed,
        settings=run.settings,
        version=run.versions["version"],
        torch=run.versions["torch"],
        data=run.data,
        metrics=run.metrics,
        evaluated={key: result.get("sha256") for key, result in run.evaluations.items()},
        evaluate=evaluate_commands(run, material.folders),
    )


def evaluate_commands(run: Run, folders: Sequence[DataFolder]) -> list[str]:
    """Write the commands that evaluate a run as it was, one for each number of worlds."""
    paths = {evaluation_key(file): str(file) for folder in folders for file in folder.files}
    files_by_worlds: dict[str, list[str]] = {}
    for key in sorted(run.evaluations):
        name, worlds = split_key(key)
        files_by_worlds.setdefault(worlds, []).append(paths.get(name, f"{name}.txt"))
    return [
        join(["possibleworlds", "evaluate", "RUN", *files, *(["--worlds", n] if n else [])])
        for n, files in sorted(files_by_worlds.items(), key=lambda item: int(item[0] or 0))
    ]


def changed_settings(run: Run) -> dict[str, Any]:
    """Find the settings of a run that are not this version's defaults.

    Only registered networks have known defaults: a report imports no class that a file names.
    """
    if run.model not in names():
        return run.settings
    default = RunSettings.read(resolve(run.model), {}).flat()
    return {
        name: value
        for name, value in run.settings.items()
        if name not in default or default[name] != value
    }


def generate_command(folder: DataFolder, folders: Sequence[DataFolder]) -> str:
    """Write the command that made a data folder; nothing for data from elsewhere."""
    if not (train := folder.train):
        return ""
    words = ["possibleworlds", "generate", str(folder.path), "--seed", str(folder.manifest["seed"])]
    presets = {
        name: json.loads(json.dumps([asdict(split) for split in splits]))
        for name, splits in PRESETS.items()
    }
    preset = [name for name, splits in presets.items() if splits == folder.manifest["settings"]]
    if preset:
        words += ["--preset", *preset]
    else:
        words += ["--rows", str(train["rows"]), "--method", train["method"]]
        for name in ("variables", "operators"):
            words += [f"--{name}", "-".join(map(str, train[name]))]
    paths = {digest(file): str(file) for other in folders for file in other.files}
    for pruned in folder.manifest.get("pruned_against", []):
        words += ["--prune-against", paths.get(pruned["sha256"], pruned["file"])]
    return join(words)
