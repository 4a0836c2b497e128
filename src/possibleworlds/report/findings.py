"""What runs and data say, as plain values: the numbers behind every table and figure of a report.

Accuracies are shares, not percent; `Value` stands for a mean over seeds.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from random import Random
from shlex import join
from typing import Any

from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.data.splits import PRESETS
from possibleworlds.data.statistics import (
    SAMPLED_ROWS,
    as_in_table_1,
    as_json,
    file_statistics,
    refuting_rows,
    split_statistics,
)
from possibleworlds.errors import UserError
from possibleworlds.experiments.evaluations import digest, evaluation_key, split_key
from possibleworlds.models.registry import REGISTRY, resolve
from possibleworlds.paper import PERMUTATION_GAIN, SAMPLING_ON_HARD, SPLITS, TABLE_1
from possibleworlds.report.runs import DataFolder, Group, Run, Value, grouped
from possibleworlds.training.checkpoint import RUN
from possibleworlds.training.settings import RunSettings

TESTS = tuple(name for name in SPLITS if name != "validate")
SAMPLED_SPLITS = ("test_hard", "test_big", "test_massive")
"""Where few random rows do not decide every pair."""
WITH_WORLDS = "possibleworldnet"
ROWS_OF_BIAS_TABLES = 50_000
"""As many as in the paper's Tables 3 and 4, because chi-squared grows with them."""
FEWEST_ROWS = 20
"""Sizes that fewer rows have are not shown: their accuracy would be noise."""
METHODS = {"fourtuples": "4-tuples"}

Found = dict[str, Any]


def name_of(data: dict[str, str], folders: Sequence[DataFolder]) -> str:
    """What the training data of a run are called: by folder and method, else by fingerprint."""
    for folder in folders:
        if folder.fingerprint == data:
            method = METHODS.get(folder.method, folder.method)
            return f"{folder.path.name} ({method})" if method else folder.path.name
    return f"data {next(iter(data.values()), 'unknown')[:8]}"


def by_source(group: Group) -> dict[str, dict[str, Value]]:
    """The accuracies on the paper's splits, by the folder of the files."""
    found: dict[str, dict[str, Value]] = {}
    for key in group.keys:
        source, _, split = key.rpartition("/")
        if split in SPLITS and (value := group.accuracy(key)):
            found.setdefault(source, {})[split] = value
    return found


def results(groups: Sequence[Group], folders: Sequence[DataFolder]) -> list[Found]:
    """The table of results: a row for each network and training data."""
    rows: list[Found] = []
    for group in groups:
        entry = REGISTRY.get(group.first.model)
        rows.append(
            {
                "model": group.first.model,
                "trained_on": name_of(group.first.data, folders),
                "seeds": [run.seed for run in group.runs],
                "validation": group.validation,
                "accuracy": by_source(group),
                "paper": dict(zip(SPLITS, (p / 100 for p in entry.paper), strict=True))
                if entry and entry.paper
                else None,
                "parameters": int(group.metric("parameters").mean),
                "seconds": group.metric("seconds"),
                "pairs_per_second": group.metric("pairs_per_second"),
            }
        )
    return rows


def learning_curves(groups: Sequence[Group]) -> list[Found]:
    """Validation accuracy against pairs seen and seconds of training, means over seeds."""
    return [
        {
            "model": group.first.model,
            "curve": [
                {
                    "pairs": line["step"] * group.first.settings["batch_size"],
                    "seconds": line["seconds"],
                    "validation": line["validation"],
                }
                for line in group.curve
            ],
        }
        for group in groups
        if group.curve
    ]


def by_size(groups: Sequence[Group]) -> list[Found]:
    """Accuracy by variables and operators of a pair, over all test sets of each folder."""
    return [
        {
            "model": group.first.model,
            "source": source,
            **{what: pooled(group, source, f"by_{what}") for what in ("variables", "operators")},
        }
        for group in groups
        for source in by_source(group)
    ]


def pooled(group: Group, source: str, what: str) -> dict[str, dict[str, float]]:
    """Rows of a run, and accuracy of all runs, for each size that a pair has in the test sets."""
    rows: dict[str, float] = {}
    right: dict[str, float] = {}
    keys = [key for key in group.keys if key in {f"{source}/{split}" for split in TESTS}]
    for run in group.runs:
        for key in keys:
            for size, part in run.evaluations[key].get(what, {}).items():
                rows[size] = rows.get(size, 0) + part["rows"]
                right[size] = right.get(size, 0) + part["rows"] * part["accuracy"]
    return {
        size: {"rows": rows[size] // len(group.runs), "accuracy": right[size] / rows[size]}
        for size in sorted(rows, key=lowest)
    }


def lowest(size: str) -> int:
    """Where a range of sizes, like 5-9 or 3, begins."""
    return int(size.split("-")[0])


def coarser(parts: dict[str, dict[str, float]], width: int) -> dict[str, dict[str, float]]:
    """Rows and accuracy for wider ranges of sizes."""
    found: dict[str, dict[str, float]] = {}
    for size, part in parts.items():
        low = lowest(size) // width * width
        whole = found.setdefault(f"{low}-{low + width - 1}", {"rows": 0, "accuracy": 0.0})
        rows = whole["rows"] + part["rows"]
        right = whole["rows"] * whole["accuracy"] + part["rows"] * part["accuracy"]
        whole |= {"rows": rows, "accuracy": right / rows}
    return found


def permutation_twins(runs: Iterable[Run]) -> list[tuple[Group, Group]]:
    """For each network two groups that differ in symbol permutation alone, with and without."""
    twins: dict[str, dict[bool, Group]] = {}
    for group in grouped(run for run in runs if run.side == "both"):
        but = group.first.identity("permute_symbols")
        twins.setdefault(but, {})[bool(group.first.settings["permute_symbols"])] = group
    best: dict[str, tuple[Group, Group]] = {}
    for found in twins.values():
        if len(found) == 2:
            pair = found[True], found[False]
            model = pair[0].first.model
            if model not in best or best_of(pair) > best_of(best[model]):
                best[model] = pair
    return list(best.values())


def best_of(groups: Iterable[Group]) -> float:
    """The best mean accuracy on validation."""
    return max(group.validation.mean for group in groups)


def permutation(twins: Sequence[tuple[Group, Group]]) -> list[Found]:
    """What symbol permutation does for each network."""
    rows: list[Found] = []
    for on, off in twins:
        gained: dict[str, float] = {}
        for key in on.keys:
            with_it, without = on.accuracy(key), off.accuracy(key)
            if with_it and without and key.rpartition("/")[2] in TESTS:
                gained[key] = with_it.mean - without.mean
        points = PERMUTATION_GAIN.get(on.first.model)
        rows.append(
            {
                "model": on.first.model,
                "with": on.validation,
                "without": off.validation,
                "gain": on.validation.mean - off.validation.mean,
                "gain_on_tests": gained,
                "paper_gain": [p / 100 for p in points] if points else None,
            }
        )
    return rows


def one_sided(groups: Iterable[Group], folders: Sequence[DataFolder]) -> list[Found]:
    """What networks that see one side of each pair reach, by the data they were trained on."""
    rows: list[Found] = []
    for group in groups:
        own = [folder.path.name for folder in folders if folder.fingerprint == group.first.data]
        easy = [key for key in group.keys if key.endswith("/test_easy")]
        beside = [key for key in easy if key.partition("/")[0] in own] or easy
        rows.append(
            {
                "model": group.first.model,
                "side": group.first.side,
                "trained_on": name_of(group.first.data, folders),
                "seeds": [run.seed for run in group.runs],
                "validation": group.validation,
                "test_easy": group.accuracy(beside[0]) if len(beside) == 1 else None,
            }
        )
    return sorted(rows, key=lambda row: (row["trained_on"], row["model"], row["side"]))


def worlds_family(runs: Iterable[Run]) -> list[Group]:
    """The largest set of groups that differ in the number of worlds alone, by that number."""
    families: dict[str, list[Group]] = {}
    for group in grouped(run for run in runs if run.model == WITH_WORLDS):
        families.setdefault(group.first.identity("worlds"), []).append(group)
    largest = max(families.values(), key=lambda f: (len(f), best_of(f)), default=[])
    return sorted(largest, key=worlds_of) if len(largest) > 1 else []


def worlds_of(group: Group) -> int:
    """The number of worlds that a network was trained with."""
    worlds = group.first.settings.get("worlds")
    if not isinstance(worlds, int):
        raise UserError(f"{group.first.path / RUN} has no number for worlds")
    return worlds


def worlds_in_training(family: Sequence[Group]) -> list[Found]:
    """Validation error against training steps, by the number of worlds."""
    return [
        {
            "worlds": worlds_of(group),
            "validation": group.validation,
            "seconds": group.metric("seconds"),
            "curve": [{"step": c["step"], "error": 1 - c["validation"]} for c in group.curve],
        }
        for group in family
    ]


def worlds_asked(group: Group | None) -> dict[str, dict[int, Value]]:
    """The accuracy on each file by the number of worlds that the network is asked with."""
    found: dict[str, dict[int, Value]] = {}
    for key in group.keys if group else []:
        file, worlds = split_key(key)
        if group and (value := group.accuracy(key)):
            found.setdefault(file, {})[int(worlds or worlds_of(group))] = value
    return {file: dict(sorted(by.items())) for file, by in found.items() if len(by) > 1}


def sampling(folders: Sequence[DataFolder], asked: dict[str, dict[int, Value]]) -> list[Found]:
    """Sampling rows of the truth table, and the network asked with as many worlds."""
    rows: list[Found] = []
    for folder in folders:
        for file in folder.files:
            if file.stem not in SAMPLED_SPLITS:
                continue
            key = f"{folder.path.resolve().name}/{file.stem}"
            for count, (refuted, accuracy) in sample_rows(read_pairs(file)).items():
                on_hard = file.stem == "test_hard"
                rows.append(
                    {
                        "file": key,
                        "rows_or_worlds": count,
                        "refuted": refuted,
                        "paper_refuted": SAMPLING_ON_HARD[count] if on_hard else None,
                        "sampling": accuracy,
                        WITH_WORLDS: asked.get(key, {}).get(count),
                    }
                )
    return rows


def sample_rows(pairs: Iterable[Pair]) -> dict[int, tuple[float, float]]:
    """By rows sampled: the share of non-entailments refuted, and the accuracy of deciding so."""
    rng, rows, negative = Random(0), 0, 0
    refuted = dict.fromkeys(SAMPLED_ROWS, 0)
    for pair in pairs:
        rows += 1
        if not pair.label:
            negative += 1
            bits = refuting_rows(rng, pair)
            for count in SAMPLED_ROWS:
                refuted[count] += bool(bits & ((1 << count) - 1))
    return {
        count: (found / max(1, negative), (rows - negative + found) / rows)
        for count, found in refuted.items()
    }


def describe_data(folder: DataFolder) -> Found:
    """Table 1 for a folder, and the bias tables for the beginning of its training data."""
    lines = {
        file.stem: as_in_table_1(file.stem, split_statistics(read_pairs(file)))._asdict()
        for file in folder.files
    }
    train = next((file for file in folder.files if file.stem == "train"), None)
    first = islice(read_pairs(train), ROWS_OF_BIAS_TABLES) if train else None
    return {
        "folder": str(folder.path),
        "method": folder.method,
        "table_1": {name: lines[name] for name in sorted(lines, key=in_order_of_table_1)},
        "biases": as_json(file_statistics(first)) if first else None,
    }


def in_order_of_table_1(name: str) -> tuple[int, str]:
    """What the names of files are sorted by."""
    known = list(TABLE_1)
    return (known.index(name) if name in known else len(known)), name


def repeat(run: Run, folders: Sequence[DataFolder]) -> Found:
    """How a run can be repeated, and what to expect."""
    data = next((str(f.path) for f in folders if f.fingerprint == run.data), "DATA")
    words = ["possibleworlds", "train", run.model, "--data", data, "--out", "RUN"]
    for name, value in other_than_default(run).items():
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        words += ["--set", f"{name}={shown}"]
    return {
        "run": str(run.path),
        "model": run.model,
        "command": join([*words, "--seed", str(run.seed)]),
        "seed": run.seed,
        "settings": run.settings,
        "version": run.description.get("version"),
        "torch": run.description.get("torch"),
        "data": run.data,
        "metrics": run.metrics,
        "evaluated": {key: found.get("sha256") for key, found in run.evaluations.items()},
        "evaluate": evaluate_commands(run, folders),
    }


def evaluate_commands(run: Run, folders: Sequence[DataFolder]) -> list[str]:
    """How a run was evaluated: with its own worlds, if it has any, and with other numbers."""
    paths = {evaluation_key(file): str(file) for folder in folders for file in folder.files}
    asked: dict[str, list[str]] = {}
    for key in sorted(run.evaluations):
        name, worlds = split_key(key)
        asked.setdefault(worlds, []).append(paths.get(name, f"{name}.txt"))
    return [
        join(["possibleworlds", "evaluate", "RUN", *files, *(["--worlds", n] if n else [])])
        for n, files in sorted(asked.items(), key=lambda item: int(item[0] or 0))
    ]


def other_than_default(run: Run) -> dict[str, Any]:
    """The settings of a run that this version would not choose by itself."""
    try:
        default = RunSettings.read(resolve(run.model), {}).flat()
    except UserError:  # a network of somebody else's, which is not here
        return run.settings
    return {
        name: value
        for name, value in run.settings.items()
        if name not in default or default[name] != value
    }


def generate_command(folder: DataFolder, folders: Sequence[DataFolder]) -> str:
    """The command that made one of some data folders; nothing for data that come from elsewhere."""
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
