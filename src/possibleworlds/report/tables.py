"""The numbers behind every table and figure of a report: `Tables`, which report.json stores."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from math import sqrt
from typing import Any

import possibleworlds
from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.data.statistics import (
    FileStatistics,
    as_in_table_1,
    as_json,
    file_statistics,
    sample_truth_tables,
    split_statistics,
)
from possibleworlds.paper import PERMUTATION_GAIN, SAMPLING_ON_HARD, SPLITS, TABLE_1, TABLE_2
from possibleworlds.report.material import TESTS, DataFolder, Material
from possibleworlds.report.recipes import RunRecipe, recipe
from possibleworlds.report.rows import (
    DataRow,
    ErrorRow,
    Gain,
    LearningCurve,
    OneSidedRow,
    PermutationRow,
    ResultRow,
    SamplingRow,
    SizeBin,
    SizeRow,
    WorldsRow,
    WorldsTables,
)
from possibleworlds.report.runs import Group, Run, SeedMean
from possibleworlds.training.evaluations import MOST_ERRORS, digest, evaluation_key, split_key

TITLE = "Can neural networks understand logical entailment?"
SAMPLED_SPLITS = ("test_hard", "test_big", "test_massive")
"""The test sets where a few random rows of the truth table do not decide every pair."""
BIAS_ROWS = 50_000
"""As many rows as in the paper's Tables 3 and 4, since chi-squared grows with them."""
FEWEST_ROWS = 200
"""Sizes with fewer pairs are put together, as an accuracy of so few would be noise."""
METHOD_NAMES = {"fourtuples": "4-tuples"}


@dataclass(frozen=True)
class Tables:
    """All numbers of a report."""

    title: str
    version: str
    command: str
    note: str
    results: list[ResultRow]
    worlds: WorldsTables
    sampling: list[SamplingRow]
    by_size: list[SizeRow]
    permutation: list[PermutationRow]
    learning_curves: list[LearningCurve]
    one_sided: list[OneSidedRow]
    errors: list[ErrorRow]
    data: list[DataRow]
    repeat: list[RunRecipe]

    def to_json(self) -> str:
        """Write all numbers as JSON."""

        def plain(value: Any) -> Any:
            return as_json(value) if isinstance(value, FileStatistics) else asdict(value)

        content = {field.name: getattr(self, field.name) for field in fields(self)}
        content["data"] = [
            {**vars(row), "table_1": {name: s._asdict() for name, s in row.table_1.items()}}
            for row in self.data
        ]
        return json.dumps(content, indent=1, default=plain) + "\n"


def collect(material: Material, log: Callable[[str], None]) -> Tables:
    """Compute all numbers of a report."""
    for folder in material.folders:
        log(f"reading {folder.path}")
    worlds = WorldsTables(
        worlds_in_training(material.worlds_series),
        worlds_in_evaluation(material.possibleworldnet),
    )
    return Tables(
        title=TITLE,
        version=possibleworlds.__version__,
        command=material.request.command,
        note=material.request.note,
        results=[result_row(group, material) for group in material.groups],
        worlds=worlds,
        sampling=sampling(material.test_folders, worlds.in_evaluation),
        by_size=by_size(material.one_each),
        permutation=[permutation_row(*pair) for pair in material.permutation_pairs],
        learning_curves=[
            LearningCurve(group.model, group.first.settings["batch_size"], group.curve)
            for group in material.one_each
            if group.curve
        ],
        one_sided=one_sided(material),
        errors=[row for group in material.one_each for row in errors(group, material)],
        data=[data_row(folder) for folder in material.folders],
        repeat=[recipe(run, material) for run in material.used],
    )


def data_name(run: Run, material: Material) -> str:
    """Name the training data of a run: by folder and method, else by fingerprint."""
    if folder := material.folder_of(run):
        method = METHOD_NAMES.get(folder.method, folder.method)
        return f"{folder.name} ({method})" if method else folder.name
    return f"data {next(iter(run.data.values()), 'unknown')[:8]}"


def result_row(group: Group, material: Material) -> ResultRow:
    """Put the accuracies of a group beside the paper's."""
    published = TABLE_2.get(group.model)
    return ResultRow(
        model=group.model,
        trained_on=data_name(group.first, material),
        seeds=group.seeds,
        validation=group.validation,
        accuracy=group.accuracy_by_source,
        paper={split: percent / 100 for split, percent in published.items()} if published else None,
        parameters=int(group.metric("parameters").mean),
        seconds=group.metric("seconds"),
        pairs_per_second=group.metric("pairs_per_second"),
    )


def by_size(groups: Iterable[Group]) -> list[SizeRow]:
    """Compute accuracy by variables and operators of a pair, over the test sets of each folder."""
    sizes = ("variables", "operators")
    return [
        SizeRow(group.model, source, {size: pooled(group, source, f"by_{size}") for size in sizes})
        for group in groups
        for source in group.accuracy_by_source
    ]


def pooled(group: Group, source: str, size: str) -> list[SizeBin]:
    """Pool rows of the test sets of a folder, and the accuracy of all runs, by size of a pair."""
    keys = [f"{source}/{split}" for split in TESTS if f"{source}/{split}" in group.keys]
    bins = [
        SizeBin(*bounds(label), part["rows"], part["accuracy"])
        for run in group.runs
        for key in keys
        for label, part in run.evaluations[key].get(size, {}).items()
    ]
    return [SizeBin(b.low, b.high, b.rows // len(group.runs), b.accuracy) for b in merged(bins)]


def bounds(label: str) -> tuple[int, int]:
    """Read a range of sizes, like 5-9 or 3."""
    low, _, high = label.partition("-")
    return int(low), int(high or low)


def joined(bins: Sequence[SizeBin]) -> SizeBin:
    """Put bins together."""
    rows = sum(part.rows for part in bins)
    correct = sum(part.rows * part.accuracy for part in bins)
    return SizeBin(bins[0].low, max(part.high for part in bins), rows, correct / rows)


def merged(bins: Iterable[SizeBin], width: int = 1) -> list[SizeBin]:
    """Put together bins that begin in the same range of sizes, of some width."""
    ranges: dict[int, list[SizeBin]] = {}
    for part in bins:
        ranges.setdefault(part.low // width, []).append(part)
    return [joined(ranges[start]) for start in sorted(ranges)]


def wide_enough(bins: Iterable[SizeBin]) -> list[SizeBin]:
    """Join neighbouring bins until each has rows enough to say something."""
    wide: list[SizeBin] = []
    for part in bins:
        small = wide and wide[-1].rows < FEWEST_ROWS
        wide.append(joined([wide.pop(), part]) if small else part)
    if len(wide) > 1 and wide[-1].rows < FEWEST_ROWS:
        wide[-2:] = [joined(wide[-2:])]
    return wide


def permutation_row(on: Group, off: Group) -> PermutationRow:
    """Compare a network trained with and without symbol permutation."""
    gains: dict[str, Gain] = {}
    for key in on.keys:
        with_it, without = on.accuracy(key), off.accuracy(key)
        if with_it and without and key.rpartition("/")[2] in TESTS:
            rows = on.first.evaluations[key].get("rows")
            variance = sum(value.mean * (1 - value.mean) for value in (with_it, without))
            half_width = 1.96 * sqrt(variance / rows) if rows else None
            gains[key] = Gain(with_it.mean - without.mean, half_width)
    points = PERMUTATION_GAIN.get(on.model)
    return PermutationRow(
        model=on.model,
        with_permutation=on.validation,
        without_permutation=off.validation,
        gain=on.validation.mean - off.validation.mean,
        gain_on_tests=gains,
        paper_gain=[p / 100 for p in points] if points else None,
    )


def one_sided(material: Material) -> list[OneSidedRow]:
    """List what networks reach that see one side of each pair, by their training data."""
    rows: list[OneSidedRow] = []
    for group in material.one_sided:
        own = [f.name for f in material.folders if f.fingerprint == group.first.data]
        easy = [key for key in group.keys if key.endswith("/test_easy")]
        beside = [key for key in easy if key.partition("/")[0] in own] or easy
        rows.append(
            OneSidedRow(
                model=group.model,
                side=group.first.side,
                trained_on=data_name(group.first, material),
                seeds=group.seeds,
                validation=group.validation,
                test_easy=group.accuracy(beside[0]) if len(beside) == 1 else None,
            )
        )
    return sorted(rows, key=lambda row: (row.trained_on, row.model, row.side))


def worlds_in_training(series: Iterable[Group]) -> list[WorldsRow]:
    """Compute validation error against training steps, by the number of worlds."""
    return [
        WorldsRow(
            group.first.worlds,
            group.validation,
            group.metric("seconds"),
            group.curve,
        )
        for group in series
    ]


def worlds_in_evaluation(group: Group | None) -> dict[str, dict[int, SeedMean]]:
    """Find the accuracy on each file by the number of worlds in evaluation."""
    by_file: dict[str, dict[int, SeedMean]] = {}
    for key in group.keys if group else []:
        file, worlds = split_key(key)
        if group and (accuracy := group.accuracy(key)):
            by_file.setdefault(file, {})[int(worlds or group.first.worlds)] = accuracy
    return {file: dict(sorted(by.items())) for file, by in by_file.items() if len(by) > 1}


def sampling(
    folders: Iterable[DataFolder], evaluated: dict[str, dict[int, SeedMean]]
) -> list[SamplingRow]:
    """Compare sampled rows of the truth table with the network at as many worlds."""
    rows: list[SamplingRow] = []
    for folder in folders:
        by_split = {file.stem: file for file in folder.files}
        for file in (by_split[split] for split in SPLITS if split in by_split):
            key = f"{folder.name}/{file.stem}"
            paper = SAMPLING_ON_HARD if file.stem == "test_hard" else {}
            rows += [
                SamplingRow(
                    file=key,
                    count=count,
                    refuted=refuted,
                    paper_refuted=paper.get(count),
                    sampling=accuracy,
                    network=evaluated.get(key, {}).get(count),
                )
                for count, refuted, accuracy in sample_truth_tables(read_pairs(file)).results()
            ]
    return rows


def errors(group: Group, material: Material) -> list[ErrorRow]:
    """List the shortest pairs of the test sets that a network got wrong."""
    shortest: list[tuple[int, str, Pair]] = []
    for file in (file for folder in material.test_folders for file in folder.files):
        key = evaluation_key(file)
        evaluation = group.first.evaluations.get(key, {})
        wrong = evaluation.get("errors") or []
        if evaluation.get("sha256") == digest(file) and wrong:
            pairs = dict(zip(range(max(wrong) + 1), read_pairs(file), strict=False))
            in_file = [pairs[row] for row in wrong if row in pairs]
            shortest += [(len(pair.a) + len(pair.b), key, pair) for pair in in_file]
    shortest.sort(key=lambda item: item[:2])
    return [
        ErrorRow(group.model, key, str(pair.premise), str(pair.conclusion), bool(pair.label))
        for _, key, pair in shortest[:MOST_ERRORS]
    ]


def data_row(folder: DataFolder) -> DataRow:
    """Compute Table 1 for a folder, and the bias tables for the start of its training data."""
    lines = {
        file.stem: as_in_table_1(file.stem, split_statistics(read_pairs(file)))
        for file in folder.files
    }
    train = next((file for file in folder.files if file.stem == "train"), None)
    return DataRow(
        name=folder.name,
        method=folder.method,
        table_1={name: lines[name] for name in sorted(lines, key=table_1_order)},
        biases=file_statistics(islice(read_pairs(train), BIAS_ROWS)) if train else None,
    )


def table_1_order(name: str) -> tuple[int, str]:
    """Give the sort key of a file: the order of Table 1, then others by name."""
    known = list(TABLE_1)
    return (known.index(name) if name in known else len(known)), name
