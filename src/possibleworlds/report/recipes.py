"""How to repeat every number of a report: the commands that made the runs and the data."""

from collections.abc import Mapping, Sequence
from shlex import join
from typing import Any

import possibleworlds
from possibleworlds.data.generation import TRAINING, Split
from possibleworlds.data.splits import MANIFEST, PRESETS, Manifest, free_splits
from possibleworlds.display import duration
from possibleworlds.errors import UserError
from possibleworlds.models.registry import names, resolve
from possibleworlds.records import from_json
from possibleworlds.report.material import DataFolder, Material
from possibleworlds.report.page import Code, Part, code, text
from possibleworlds.report.runs import Run
from possibleworlds.training.evaluations import digest, evaluation_key, split_key
from possibleworlds.training.settings import RunSettings


def recipe(run: Run, material: Material) -> dict[str, Any]:
    """Describe how to repeat a run and the result to expect, as stored in report.json."""
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
        "evaluate": evaluate_commands(run, material.folders),
    }


def train_command(run: Run, material: Material) -> str:
    """Write the command that repeats the training of a run, or those of one that was extended."""
    folder = material.folder_of(run.data)
    data = str(folder.path) if folder else "DATA"
    train = ["possibleworlds", "train", run.record.model, "--data", data, "--out", "RUN"]
    earlier = run.record.extended_from or []
    first, *later = [*earlier, {name: run.settings[name] for name in (earlier or [{}])[-1]}]
    settings = {**changed_settings(run), **first}
    if settings.get("minutes"):
        settings.pop("epochs", None)  # only one of them may set the length
    commands = [[*train, *set_options(settings), "--seed", str(run.record.seed)]]
    commands += [[*train, *set_options(length), "--resume"] for length in later]
    return " && ".join(map(join, commands))


def set_options(settings: Mapping[str, Any]) -> list[str]:
    """List the options that change settings."""
    values = {n: str(v).lower() if isinstance(v, bool) else v for n, v in settings.items()}
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def changed_settings(run: Run) -> dict[str, Any]:
    """Find the settings of a run that differ from this version's defaults.

    Only registered networks have known defaults: a report imports no class that a file names.
    """
    if run.record.model not in names():
        return run.settings
    default = RunSettings.read(resolve(run.record.model), {}).flat().items()
    return {name: value for name, value in run.settings.items() if (name, value) not in default}


def evaluate_commands(run: Run, folders: Sequence[DataFolder]) -> list[str]:
    """Write the commands that repeat the evaluations of a run, one for each number of worlds."""
    return [
        join(
            [
                *("possibleworlds", "evaluate", "RUN", *files),
                *(["--worlds", str(n)] if n else []),
                *(["--trust"] if run.is_unregistered else []),
            ]
        )
        for n, files in sorted(evaluated_files(run, folders).items())
    ]


def evaluated_files(run: Run, folders: Sequence[DataFolder]) -> dict[int, list[str]]:
    """List the files that a run was evaluated on, by the number of worlds; 0 is the default."""
    paths = {evaluation_key(file): str(file) for folder in folders for file in folder.files}
    files_by_worlds: dict[int, list[str]] = {}
    for key in sorted(run.evaluations):
        name, worlds = split_key(key)
        files_by_worlds.setdefault(int(worlds or 0), []).append(paths.get(name, f"{name}.txt"))
    return files_by_worlds


def generate_command(folder: DataFolder, folders: Sequence[DataFolder]) -> str:
    """Write the command that generates the same data; empty if there is none."""
    if not folder.manifest:
        return ""
    manifest = from_json(folder.manifest, Manifest, MANIFEST)
    options = split_options(tuple(manifest.settings))
    if not options:
        return ""
    command = ["possibleworlds", "generate", str(folder.path), "--seed", str(manifest.seed)]
    command += [*options, "--prune", manifest.prune]
    paths = {digest(file): str(file) for other in folders for file in other.files}
    for pruned in manifest.pruned_against:
        command += ["--prune-against", paths.get(pruned.sha256, pruned.file)]
    return join(command)


def split_options(splits: tuple[Split, ...]) -> list[str]:
    """List the options of `generate` that give these splits, and perhaps more after them."""
    for name, preset in PRESETS.items():
        if splits == preset:
            return ["--preset", name]
    train = next((split for split in splits if split.name == TRAINING), None)
    if not train or train.method == "exam":
        return []
    operators = None if train.method == "sat" else train.operators
    others = train.method, train.exact_variables, train.clauses
    try:
        same = free_splits(train.rows, train.variables, operators, *others)
    except UserError:
        return []
    if splits != same[: len(splits)]:
        return []
    options = ["--rows", str(train.rows), "--method", train.method]
    options += ["--variables", "-".join(map(str, train.variables))]
    options += ["--operators", "-".join(map(str, operators))] if operators else []
    options += ["--exact-variables"] if train.exact_variables else []
    return options + (["--clauses", str(train.clauses)] if train.clauses else [])


def repeat_section(material: Material) -> list[Part]:
    """Show how to repeat every number."""
    version, command = possibleworlds.__version__, code(material.request.command)
    parts: list[Part] = [text("how to repeat", version=version, command=command)]
    for folder in material.folders:
        if generated_by := generate_command(folder, material.folders):
            lines = [f"# {file} {sha}" for file, sha in folder.fingerprint.items()]
            commands = by_name("\n".join([*lines, generated_by]), material.folders)
            parts.append(Code(f"data: {folder.name}", commands))
    for run in material.used:
        record, metrics = run.record, run.metrics
        if record.is_language_model:
            evaluate = ["possibleworlds", "evaluate", "--endpoint", "URL", "--model", record.model]
            if max_tokens := record.settings.get("max_tokens"):
                evaluate += ["--max-tokens", str(max_tokens)]
            line = join([*evaluate, *evaluated_files(run, material.folders).get(0, [])])
            commands = by_name(f"# version {record.version}\n{line}", material.folders)
            parts.append(Code(record.model, commands))
            continue
        lines = [
            f"# version {record.version}, torch {record.torch}, {duration(metrics['seconds'])}; "
            f"step {metrics['best_step']:,} of {metrics['step']:,} was kept, "
            f"{metrics['validation']:.2%} of validation",
            f"# {' '.join(f'{name}={value}' for name, value in run.settings.items())}",
            *(f"# {file} {sha}" for file, sha in record.data.items()),
            train_command(run, material),
            *evaluate_commands(run, material.folders),
        ]
        title = f"{record.model}, seed {record.seed}: {run.path.name}"
        parts.append(Code(title, by_name("\n".join(lines), material.folders)))
    return parts


def by_name(commands: str, folders: Sequence[DataFolder]) -> str:
    """Replace absolute paths of data folders, which only this machine has, by their names."""
    names = {str(folder.path): folder.name for folder in folders if folder.path.is_absolute()}
    for path in sorted(names, key=len, reverse=True):  # one may be a prefix of another
        commands = commands.replace(path, names[path])
    return commands
