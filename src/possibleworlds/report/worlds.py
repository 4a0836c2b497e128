"""The number of worlds in training and evaluation, compared with random rows of the truth table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from possibleworlds.data.files import read_pairs
from possibleworlds.data.statistics import sample_truth_tables
from possibleworlds.paper import SAMPLING_ON_HARD, SPLITS
from possibleworlds.report.cells import as_cell, mark_best, table, time_cell
from possibleworlds.report.figures import Line, Panel, Point, accuracy_axis, linear_axis, log_axis
from possibleworlds.report.material import Material
from possibleworlds.report.page import Part, Picture, code, text
from possibleworlds.report.runs import POSSIBLEWORLDNET, CurvePoint, RunGroup, SeedMean
from possibleworlds.training.evaluations import split_key

SAMPLED_SPLITS = ("test_hard", "test_big", "test_massive")
"""The test sets on which a few random rows of the truth table do not decide every pair."""
USUAL_ROWS = 64
"""How many random rows the networks are compared with."""
LOWEST_ERROR = 0.0001
"""Stands for an error of 0 on a logarithmic axis: half a wrong row in 5,000."""

ByWorlds = dict[str, dict[int, SeedMean]]
"""Accuracies by file, then by the number of worlds in evaluation."""


@dataclass(frozen=True)
class WorldsRow:
    """A PossibleWorldNet trained with a certain number of worlds."""

    worlds: int
    validation: SeedMean
    seconds: SeedMean
    points: list[CurvePoint]


@dataclass(frozen=True)
class SamplingRow:
    """Random rows of the truth table, and a network with as many worlds."""

    file: str
    count: int  # of rows, or of worlds
    refuted: float  # the fraction of non-entailments with a countermodel among the rows
    paper_refuted: float | None
    sampling: float  # the accuracy of deciding by these rows
    network: SeedMean | None


def worlds_in_training(series: Iterable[RunGroup]) -> list[WorldsRow]:
    """Collect the validation accuracy and learning curve for each number of worlds in training."""
    return [
        WorldsRow(g.first.settings["worlds"], g.validation, g.metric("seconds"), g.curve)
        for g in series
    ]


def worlds_in_evaluation(group: RunGroup | None) -> ByWorlds:
    """Collect the accuracy on each file by the number of worlds in evaluation."""
    by_file: ByWorlds = {}
    if group:
        for key, accuracy in group.accuracy.items():
            file, worlds = split_key(key)
            count = int(worlds or group.first.settings["worlds"])
            by_file.setdefault(file, {})[count] = accuracy
    return {file: dict(sorted(row.items())) for file, row in by_file.items() if len(row) > 1}


def sampling_rows(material: Material, evaluated: ByWorlds) -> list[SamplingRow]:
    """Compare random rows of the truth table with the network at as many worlds."""
    rows: list[SamplingRow] = []
    for folder in material.test_folders:
        for file in sorted(folder.splits, key=lambda file: SPLITS.index(file.stem)):
            key = f"{folder.name}/{file.stem}"
            is_hard = file.stem == "test_hard" and file.stem in folder.paper_splits
            paper = SAMPLING_ON_HARD if is_hard else {}
            networks = evaluated.get(key, {})
            rows += [
                SamplingRow(key, n, refuted, paper.get(n), accuracy, networks.get(n))
                for n, refuted, accuracy in sample_truth_tables(read_pairs(file)).results()
            ]
    return rows


def accuracy_at(step: float, curve: Sequence[CurvePoint]) -> float | None:
    """Interpolate the validation accuracy at a step of training."""
    if not curve or not curve[0].step <= step <= curve[-1].step:
        return None
    return float(np.interp(step, [p.step for p in curve], [p.validation for p in curve]))


def worlds_section(
    rows: Sequence[WorldsRow], evaluated: ByWorlds, material: Material
) -> list[Part]:
    """Show the figure of section 5, and the effect of the number of worlds in evaluation."""
    parts: list[Part] = []
    on_validation = {key: row for key, row in evaluated.items() if key.endswith("/validate")}
    # Networks trained for the same time have seen different amounts of data.
    common = min((row.points[-1].step for row in rows if row.points), default=0.0)
    at_common = {row.worlds: accuracy_at(common, row.points) for row in rows}
    if drawing := draw_training(rows):
        caption = "Validation error against training steps, by the number of worlds."
        parts.append(Picture("worlds", caption, drawing))
    equal = {worlds: value for worlds, value in at_common.items() if value is not None}
    if drawing := draw_evaluation(equal, on_validation):
        caption = "Accuracy on validation data by worlds in evaluation"
        caption += f"; dashed: trained with as many, after {common:,.0f} steps." if equal else "."
        parts.append(Picture("worlds-evaluation", caption, drawing))
    if rows:
        columns = ["worlds", f"after {common:,.0f} steps", "at the best step", "steps", "training"]
        steps = [round(row.points[-1].step) if row.points else None for row in rows]
        lines = [
            [row.worlds, at_common[row.worlds], row.validation, last, time_cell(row.seconds)]
            for row, last in zip(rows, steps, strict=True)
        ]
        parts += [text("worlds"), table(columns, lines, words=0)]
    else:
        parts.append(text("no worlds in training"))
    if not evaluated:
        parts.append(text("no worlds in evaluation", command=code(material.evaluate_command)))
    return parts


def draw_training(rows: Sequence[WorldsRow]) -> list[str]:
    """Draw validation error against training steps, one line for each number of worlds."""
    lines = []
    for i, row in enumerate(rows, 1):
        errors = [(p.step, max(LOWEST_ERROR, 1 - p.validation)) for p in row.points]
        points = [Point(x, f"step {x:,.0f}", error, note=" wrong") for x, error in errors]
        name = f"{row.worlds} world{'s' * (row.worlds > 1)}"
        if points:
            lines.append(Line(name, "worlds", points, opacity=0.4 + 0.6 * i / len(rows)))
    points = [point for line in lines for point in line.points]
    x_axis = linear_axis("training steps", 0, max((p.x for p in points), default=1))
    panel = Panel(x_axis, log_axis("error, %", [*(p.y for p in points), 50.0]))
    return [panel.draw("validation error, %", lines)] if lines else []


def worlds_line(name: str, by_worlds: dict[int, SeedMean]) -> Line:
    """Make the line of a network's accuracy by its number of worlds."""
    points = [Point(n, f"{n} worlds", value.mean, value.interval) for n, value in by_worlds.items()]
    return Line(name, "worlds", points)


def draw_evaluation(trained: dict[int, float], evaluated: ByWorlds) -> list[str]:
    """Draw accuracy by worlds in training and evaluation, and by worlds in evaluation alone."""
    lines = [worlds_line(file, by_worlds) for file, by_worlds in evaluated.items()]
    if trained:
        points = [Point(n, f"{n} worlds", value) for n, value in trained.items()]
        lines.append(Line("also in training", "worlds dashed", points))
    if not lines:
        return []
    counts = sorted({point.x for line in lines for point in line.points})
    panel = Panel(log_axis("worlds", counts, counts), accuracy_axis(lines))
    return [panel.draw("accuracy, %", lines)]


def sampling_section(rows: Sequence[SamplingRow], material: Material) -> list[Part]:
    """Show how truth-table sampling compares with the network."""
    rows = [row for row in rows if row.file.endswith(SAMPLED_SPLITS)]
    if not rows:
        return [text("no sampling", command=code(f"{material.request.command} --data DATA"))]
    columns = ["set", "rows or worlds", "refuted, paper", "refuted", "random rows"]
    lines = []
    for row in rows:
        refuted = [as_cell(row.paper_refuted, muted=True), as_cell(row.refuted)]
        decided = mark_best([as_cell(row.sampling), as_cell(row.network)])
        lines.append([row.file, row.count, *refuted, *decided])
    caption = "Accuracy in percent of random rows (dashed) and of the network with as many worlds."
    parts: list[Part] = [
        text("sampling"),
        Picture("sampling", caption, draw_sampling(rows)),
        table([*columns, POSSIBLEWORLDNET], lines),
    ]
    if not any(row.network for row in rows):
        parts.append(text("no network to compare", command=code(material.evaluate_command)))
    return parts


def draw_sampling(rows: Sequence[SamplingRow]) -> list[str]:
    """Draw the accuracy of truth-table sampling and of a network, by rows or worlds."""
    lines: dict[str, list[Line]] = {}
    for file in dict.fromkeys(row.file for row in rows):
        of_file = [row for row in rows if row.file == file]
        sampled = [Point(row.count, f"{row.count} rows", row.sampling) for row in of_file]
        lines[file] = [Line("random rows", "baseline dashed", sampled)]
        if network := {row.count: row.network for row in of_file if row.network}:
            lines[file].append(worlds_line(POSSIBLEWORLDNET, network))
    counts = sorted({row.count for row in rows})
    y_axis = accuracy_axis(line for file_lines in lines.values() for line in file_lines)
    panel = Panel(log_axis("random rows, or worlds", counts, counts), y_axis)
    return [panel.draw(file, file_lines) for file, file_lines in lines.items()]
