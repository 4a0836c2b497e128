"""How every number of a report can be repeated: the commands that made runs and data."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from shlex import join

import possibleworlds
from possibleworlds.data.splits import PRESETS
from possibleworlds.models.registry import names, resolve
from possibleworlds.report.material import DataFolder, Material, Run
from possibleworlds.report.page import Code, Part, Row, Section, code, duration, text
from possibleworlds.training.evaluations import digest, evaluation_key, split_key
from possibleworlds.training.settings import RunSettings


def recipe(run: Run, material: Material) -> Row:
    """Write down how a run can be repeated and what to expect, as report.json stores it."""
    record = run.record
    return {
        "run": str(run.path),
        "name": run.path.name,
        "model": record.model,
        "command": train_command(run, material),
        "seed": record.seed,
        "settings": run.settings,
        "version": record.version,
        "torch": record.torch,
        "data": record.data,
        "metrics": run.metrics,
        "evaluated": {key: result.get("sha256") for key, result in run.evaluations.items()},
        "evaluate": [
            join(
                ["possibleworlds", "evaluate", "RUN", *files, *(["--worlds", str(n)] if n else [])]
            )
            for n, files in evaluated_files(run, material.folders).items()
        ],
    }


def train_command(run: Run, material: Material) -> str:
    """Write the command that trains a network as a run did, with what is not the default now.

    Only registered networks have known defaults: a report imports no class that a file names.
    """
    model, folder = run.record.model, material.folder_of(run)
    data = str(folder.path) if folder else "DATA"
    words = ["possibleworlds", "train", model, "--data", data, "--out", "RUN"]
    default = RunSettings.read(resolve(model), {}).flat() if model in names() else {}
    for name, value in run.settings.items():
        if (name, value) not in default.items():
            word = str(value).lower() if isinstance(value, bool) else value
            words += ["--set", f"{name}={word}"]
    return join([*words, "--seed", str(run.record.seed)])


def evaluated_files(run: Run, folders: Sequence[DataFolder]) -> dict[int, list[str]]:
    """List the files that a run was evaluated on, by the number of worlds; 0 if it has none."""
    paths = {evaluation_key(file): str(file) for folder in folders for file in folder.files}
    files_by_worlds: dict[int, list[str]] = {}
    for key in sorted(run.evaluations):
        name, worlds = split_key(key)
        files_by_worlds.setdefault(int(worlds or 0), []).append(paths.get(name, f"{name}.txt"))
    return dict(sorted(files_by_worlds.items()))


def generate_command(folder: DataFolder, folders: Sequence[DataFolder]) -> str:
    """Write the command that made a data folder; nothing for data from elsewhere."""
    if not (train := folder.train):
        return ""
    words = ["possibleworlds", "generate", str(folder.path), "--seed", str(folder.manifest["seed"])]
    presets = [
        name
        for name, splits in PRESETS.items()
        if json.loads(json.dumps([asdict(s) for s in splits])) == folder.manifest["settings"]
    ]
    if presets:
        words += ["--preset", *presets]
    else:
        words += ["--rows", str(train["rows"]), "--method", train["method"]]
        for name in ("variables", "operators"):
            words += [f"--{name}", "-".join(map(str, train[name]))]
    paths = {digest(file): str(file) for other in folders for file in other.files}
    for pruned in folder.manifest.get("pruned_against", []):
        words += ["--prune-against", paths.get(pruned["sha256"], pruned["file"])]
    return join(words)


def repeat_section(material: Material) -> Section:
    """Show how to repeat every number."""
    version, command = possibleworlds.__version__, code(material.command)
    parts: list[Part] = [text("how to repeat", version=version, command=command)]
    for folder in material.folders:
        if made_by := generate_command(folder, material.folders):
            lines = [*(f"# {file} {sha}" for file, sha in folder.fingerprint.items()), made_by]
            parts.append(Code(f"data: {folder.name}", by_name(lines, material.folders)))
    recipes = []
    for run in material.used:
        row, record, metrics = recipe(run, material), run.record, run.metrics
        recipes.append(row)
        if not record.torch:  # a language model, which was not trained here
            words = ["possibleworlds", "evaluate", "--endpoint", "URL", "--model", record.model]
            line = join([*words, *evaluated_files(run, material.folders).get(0, [])])
            parts.append(Code(record.model, f"# version {record.version}\n{line}"))
            continue
        lines = [
            f"# version {record.version}, torch {record.torch}, {duration(metrics['seconds'])}; "
            f"step {metrics['best_step']:,} of {metrics['step']:,} was kept, "
            f"{metrics['validation']:.2%} of validation",
            f"# {' '.join(f'{name}={value}' for name, value in run.settings.items())}",
            *(f"# {file} {sha}" for file, sha in record.data.items()),
            row["command"],
            *row["evaluate"],
        ]
        title = f"{record.model}, seed {record.seed}: {run.path.name}"
        parts.append(Code(title, by_name(lines, material.folders)))
    return recipes, parts


def by_name(lines: Sequence[str], folders: Sequence[DataFolder]) -> str:
    """Replace the paths of data folders, which only this machine has, by their names."""
    commands = "\n".join(lines)
    names = {str(folder.path): folder.name for folder in folders if folder.path.is_absolute()}
    for path in sorted(names, key=len, reverse=True):  # one may begin with another
        commands = commands.replace(path, names[path])
    return commands
