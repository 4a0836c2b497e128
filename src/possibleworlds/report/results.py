"""The accuracy of each network on every split next to the paper's, and its shortest errors."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.paper import SPLITS
from possibleworlds.report.cells import as_cell, best_of_columns, network_cell, table, time_cell
from possibleworlds.report.material import Material
from possibleworlds.report.page import PLAYGROUND, Cell, Part, Table, code, listed, text
from possibleworlds.report.runs import RunGroup, SeedMean
from possibleworlds.report.worlds import USUAL_ROWS, SamplingRow
from possibleworlds.training.evaluations import MAX_ERRORS, digest, evaluation_key

IN_TRAINING = "validation in training"
"""Stands for the data set of runs that were not evaluated on any."""


@dataclass(frozen=True)
class ResultRow:
    """The accuracy on all splits of a network and its training data."""

    model: str
    trained_on: str
    seeds: list[int]
    validation: SeedMean | None  # None for a language model, which was not trained here
    accuracy: dict[str, dict[str, SeedMean]]  # by data set, then by split
    paper: dict[str, float] | None  # by split
    comparable: list[str]  # the data sets, with their splits, that are like the paper's
    parameters: int
    seconds: SeedMean
    pairs_per_second: SeedMean

    def paper_accuracy(self, source: str, split: str) -> float | None:
        """Look up the paper's accuracy on a split, if the split of a data set is like it."""
        is_like = f"{source}/{split}" in self.comparable
        return self.paper.get(split) if self.paper and is_like else None


def result_row(group: RunGroup, material: Material) -> ResultRow:
    """Summarise a group of runs, with the paper's accuracy."""
    comparable = material.comparable(group)
    trained_on = material.folder_of(group.first.data)
    if trained_on and "validate" in trained_on.paper_splits:
        comparable.append(f"{IN_TRAINING}/validate")
    return ResultRow(
        model=group.model,
        trained_on=material.data_name(group.first),
        seeds=group.seeds,
        validation=None if group.first.record.is_language_model else group.validation,
        accuracy=group.accuracy_by_source,
        paper=group.paper or None,
        comparable=comparable,
        parameters=int(group.metric("parameters").mean),
        seconds=group.metric("seconds"),
        pairs_per_second=group.metric("pairs_per_second"),
    )


def results_section(
    rows: Sequence[ResultRow], sampling: Sequence[SamplingRow], material: Material
) -> list[Part]:
    """Show the tables of results, with notes on missing or inconsistent evaluations."""
    if not rows:
        return [text("no results")]
    several = any(len(row.seeds) > 1 for row in rows)
    seeds = "a mean ± the standard deviation over seeds" if several else "of one seed"
    parts: list[Part] = [text("results", seeds=seeds, settings=len(rows), runs=len(material.runs))]
    sources = dict.fromkeys(source for row in rows for source in row.accuracy)
    trained_here = any(row.validation for row in rows)
    for source in sources or [IN_TRAINING] * trained_here:
        title = f"On {code(source)}" if sources else source
        parts += [f"**{title}**", results_table(rows, source, sampling)]
    if not all(row.accuracy for row in rows):
        parts.append(text("not evaluated", command=code(material.evaluate_command)))
    digests: dict[str, set[str]] = {}
    for run in (run for group in material.groups for run in group.runs):
        for key, evaluation in run.evaluations.items():
            if "sha256" in evaluation:
                digests.setdefault(key, set()).add(evaluation["sha256"])
    ambiguous = [key for key, different in digests.items() if len(different) > 1]
    parts += [text("different files", key=code(key)) for key in ambiguous]
    if material.unfinished:
        names = listed([code(path.name) for path in material.unfinished])
        parts.append(text("not finished", names=names))
    return parts


def results_table(
    rows: Sequence[ResultRow], source: str, sampling: Iterable[SamplingRow] = ()
) -> Table:
    """Show accuracies on a data set next to the paper's, and those of random rows."""

    def accuracy_of(row: ResultRow) -> dict[str, SeedMean]:
        validation = row.validation if source == IN_TRAINING else None
        in_training = {"validate": validation} if validation else {}
        return row.accuracy.get(source, in_training)

    def accuracy_cell(value: SeedMean | float | None, paper: float | None = None) -> Cell:
        cell = as_cell(value)
        details = (f"paper {100 * paper:.1f}",) if paper is not None else ()
        bar = None if cell.value is None else max(0.0, 2 * cell.value - 1)
        return replace(cell, details=cell.details + details, bar=bar)

    rows = [row for row in rows if accuracy_of(row)]
    splits = [split for split in SPLITS if any(split in accuracy_of(row) for row in rows)]
    several = len({row.trained_on for row in rows} - {""}) > 1
    accuracies = [
        [accuracy_cell(accuracy_of(row).get(s), row.paper_accuracy(source, s)) for s in splits]
        for row in rows
    ]
    lines: list[list[Any]] = []
    for row, cells in zip(rows, best_of_columns(accuracies), strict=True):
        data = (f"trained on {row.trained_on}",) if several and row.trained_on else ()
        cost: list[Any] = [None] * 3  # that of a language model is unknown
        if row.parameters:
            cost = [row.parameters, time_cell(row.seconds), round(row.pairs_per_second.mean)]
        name = replace(network_cell(row.model), details=data)
        lines.append([name, *cells, len(row.seeds), *cost])
    baseline = {row.file: row.sampling for row in sampling if row.count == USUAL_ROWS}
    values = [baseline.get(f"{source}/{split}") for split in splits]
    if any(values):
        cells = [Cell(f"{USUAL_ROWS} random rows", kind="baseline"), *map(accuracy_cell, values)]
        lines.append([*(replace(c, muted=True) for c in cells), *[None] * 4])
    columns = ["network", *(split.removeprefix("test_") for split in splits)]
    return table([*columns, "seeds", "parameters", "training", "pairs/s"], lines)


@dataclass(frozen=True)
class ErrorRow:
    """A pair that a network got wrong."""

    model: str
    file: str
    premise: str
    conclusion: str
    entails: bool  # the truth, not the prediction of the network


def recorded_errors(group: RunGroup, material: Material) -> Iterator[tuple[Path, list[int]]]:
    """Yield the test sets that have not changed since, with the rows that the network got wrong."""
    for file in (file for folder in material.test_folders for file in folder.files):
        evaluation = group.first.evaluations.get(evaluation_key(file), {})
        if "errors" in evaluation and evaluation.get("sha256") == digest(file):
            yield file, evaluation["errors"]


def error_rows(group: RunGroup, material: Material) -> list[ErrorRow]:
    """List the shortest pairs of the test sets that a network got wrong."""
    shortest: list[tuple[int, str, Pair]] = []
    for file, wrong in recorded_errors(group, material):
        pairs = dict(zip(range(max(wrong, default=-1) + 1), read_pairs(file), strict=False))
        errors = [pairs[row] for row in wrong if row in pairs]
        shortest += [(len(pair.a) + len(pair.b), evaluation_key(file), pair) for pair in errors]
    shortest.sort(key=lambda item: item[:2])
    return [
        ErrorRow(group.model, key, str(pair.premise), str(pair.conclusion), bool(pair.label))
        for _, key, pair in shortest[:MAX_ERRORS]
    ]


def errors_section(rows: Sequence[ErrorRow], material: Material) -> list[Part]:
    """Show the shortest pairs that each network got wrong."""
    if not rows:
        return [text("no errors", command=code(material.evaluate_command))]
    parts: list[Part] = [text("errors")]
    columns = ["premise", "conclusion", "truth", "set", ""]
    for model in dict.fromkeys(row.model for row in rows):
        lines = []
        for row in (row for row in rows if row.model == model):
            link = f"{PLAYGROUND}#{urlencode({'a': row.premise, 'b': row.conclusion})}"
            formulas = [Cell(side, kind="formula") for side in (row.premise, row.conclusion)]
            truth = "follows" if row.entails else "does not follow"
            lines.append([*formulas, truth, row.file.rpartition("/")[2], Cell("try it", link=link)])
        parts.append(replace(table(columns, lines, words=len(columns)), title=model))
    recorded = {g.model: list(recorded_errors(g, material)) for g in material.one_per_network}
    perfect = [code(m) for m, files in recorded.items() if files and not any(e for _, e in files)]
    return [*parts, *([text("no error of", models=listed(perfect))] if perfect else [])]
