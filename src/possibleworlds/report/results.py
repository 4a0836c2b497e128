"""The accuracy of each network on every split, beside the paper's, and a gallery of its errors."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from urllib.parse import urlencode

from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.paper import SPLITS, TABLE_2
from possibleworlds.report.cells import as_cell, best_of_columns, network_cell, table, time_cell
from possibleworlds.report.material import Material, RunGroup, SeedMean
from possibleworlds.report.page import (
    PLAYGROUND,
    Cell,
    Part,
    Row,
    Section,
    Table,
    code,
    listed,
    text,
)
from possibleworlds.report.worlds import USUAL_ROWS
from possibleworlds.training.evaluations import MOST_ERRORS, digest, evaluation_key


def result_row(group: RunGroup, material: Material) -> Row:
    """Put the accuracies of a group, by data set and split, beside the paper's."""
    paper = {split: percent / 100 for split, percent in TABLE_2.get(group.model, {}).items()}
    return {
        "model": group.model,
        "trained_on": material.data_name(group.first),
        "seeds": group.seeds,
        "validation": group.validation,
        "accuracy": group.accuracy_by_source,
        "paper": paper or None,
        "parameters": int(group.metric("parameters").mean),
        "seconds": group.metric("seconds"),
        "pairs_per_second": group.metric("pairs_per_second"),
    }


def results_section(material: Material, sampling: Iterable[Row]) -> Section:
    """Show the table of results, and what is to be known of it."""
    rows = [result_row(group, material) for group in material.groups]
    if not rows:
        return rows, [text("no results")]
    several = any(len(row["seeds"]) > 1 for row in rows)
    each = "a mean ± the standard deviation over seeds" if several else "of one seed"
    parts: list[Part] = [text("results", several=each, settings=len(rows), runs=len(material.runs))]
    sources = dict.fromkeys(source for row in rows for source in row["accuracy"])
    for source in sources:
        parts += [f"**On {code(source)}**", results_table(rows, source, sampling)]
    if not sources:
        in_training = [{**r, "accuracy": {"": {"validate": r["validation"]}}} for r in rows]
        parts += ["**validation in training**", results_table(in_training, "")]
    if not all(row["accuracy"] for row in rows):
        parts.append(text("not evaluated", command=code(material.evaluate_command)))
    evaluations = [e for g in material.groups for run in g.runs for e in run.evaluations.items()]
    files = dict.fromkeys((key, e["sha256"]) for key, e in evaluations if "sha256" in e)
    ambiguous = [key for key, count in Counter(key for key, _ in files).items() if count > 1]
    parts += [text("different files", key=code(key)) for key in ambiguous]
    if material.unfinished:
        names = listed([code(path.name) for path in material.unfinished])
        parts.append(text("not finished", names=names))
    return rows, parts


def results_table(rows: Sequence[Row], source: str, sampling: Iterable[Row] = ()) -> Table:
    """Show accuracies on a data set beside the paper's, and those of random rows."""

    def accuracy(value: SeedMean | float | None, paper: float | None = None) -> Cell:
        cell = as_cell(value)
        details = (f"paper {100 * paper:.1f}",) if paper is not None else ()
        bar = None if cell.value is None else max(0.0, 2 * cell.value - 1)
        return replace(cell, details=cell.details + details, bar=bar)

    rows = [row for row in rows if source in row["accuracy"]]
    by_row = [row["accuracy"][source] for row in rows]
    splits = [split for split in SPLITS if any(split in on for on in by_row)]
    several = len({row["trained_on"] for row in rows}) > 1
    accuracies = [
        [accuracy(on.get(split), (row["paper"] or {}).get(split)) for split in splits]
        for row, on in zip(rows, by_row, strict=True)
    ]
    lines = []
    for row, cells in zip(rows, best_of_columns(accuracies), strict=True):
        data = (f"trained on {row['trained_on']}",) if several else ()
        name = replace(network_cell(row["model"]), details=data)
        cost = [row["parameters"], time_cell(row["seconds"]), round(row["pairs_per_second"].mean)]
        lines.append([name, *cells, len(row["seeds"]), *cost])
    baseline = {row["file"]: row["sampling"] for row in sampling if row["count"] == USUAL_ROWS}
    values = [baseline.get(f"{source}/{split}") for split in splits]
    if any(values):
        name = Cell(f"{USUAL_ROWS} random rows", kind="baseline")
        random = [replace(cell, muted=True) for cell in (name, *map(accuracy, values))]
        lines.append([*random, *[None] * 4])
    columns = ["network", *(split.removeprefix("test_") for split in splits)]
    return table([*columns, "seeds", "parameters", "training", "pairs/s"], lines)


def error_rows(group: RunGroup, material: Material) -> list[Row] | None:
    """List the shortest pairs of the test sets that a network got wrong; None if unknown."""
    files = [file for folder in material.test_folders for file in folder.files]
    evaluated = [(file, group.first.evaluations.get(evaluation_key(file), {})) for file in files]
    recorded = [(f, e) for f, e in evaluated if "errors" in e and e.get("sha256") == digest(f)]
    if not recorded:
        return None
    wrong: list[tuple[str, Pair]] = []
    for file, evaluation in recorded:
        pairs = list(islice(read_pairs(file), max(evaluation["errors"], default=-1) + 1))
        in_file = [pairs[row] for row in evaluation["errors"] if row < len(pairs)]
        wrong += [(evaluation_key(file), pair) for pair in in_file]
    wrong.sort(key=lambda item: (len(item[1].a) + len(item[1].b), item[0]))
    return [
        {
            "model": group.model,
            "file": key,
            "premise": str(pair.premise),
            "conclusion": str(pair.conclusion),
            "entails": bool(pair.label),  # what is true, not what the network said
        }
        for key, pair in wrong[:MOST_ERRORS]
    ]


def errors_section(material: Material) -> Section:
    """Show the shortest pairs that each network got wrong."""
    by_model = {group.model: error_rows(group, material) for group in material.one_each}
    parts: list[Part] = [text("errors")]
    for model, rows in by_model.items():
        lines = []
        for row in rows or []:
            pair = row["premise"], row["conclusion"]
            truth = "follows" if row["entails"] else "does not follow"
            link = f"{PLAYGROUND}#{urlencode(list(zip('ab', pair, strict=True)))}"
            formulas = [Cell(formula, kind="formula") for formula in pair]
            split = row["file"].rpartition("/")[2]
            lines.append([*formulas, truth, split, Cell("try it", link=link)])
        if lines:
            columns = ["premise", "conclusion", "truth", "set", ""]
            parts.append(replace(table(columns, lines, words=5), title=model))
    if not any(by_model.values()):
        return [], [text("no errors", command=code(material.evaluate_command))]
    if perfect := [code(model) for model, rows in by_model.items() if rows == []]:
        parts.append(text("no error of", models=listed(perfect)))
    return [row for rows in by_model.values() for row in rows or []], parts
