"""The number of worlds, in training and evaluation; and random rows of the truth table instead."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from possibleworlds.data.files import read_pairs
from possibleworlds.data.statistics import sample_truth_tables
from possibleworlds.paper import SAMPLING_ON_HARD, SPLITS
from possibleworlds.report.cells import as_cell, mark_best, table, time_cell
from possibleworlds.report.figures import CHANCE, Line, Point, draw_panels, linear_axis, log_axis
from possibleworlds.report.material import (
    POSSIBLEWORLDNET,
    CurvePoint,
    Material,
    RunGroup,
    SeedMean,
)
from possibleworlds.report.page import Part, Picture, Row, Section, code, text

SAMPLED_SPLITS = ("test_hard", "test_big", "test_massive")
"""The test sets where a few random rows of the truth table do not decide every pair."""
USUAL_ROWS = 64
"""How many random rows stand beside the networks."""
LOWEST_ERROR = 0.0001
"""An error of 0 has no place on a logarithmic axis; half a wrong row in 5,000 has."""


def accuracy_at(step: float, curve: Sequence[CurvePoint]) -> float | None:
    """Interpolate the validation accuracy at a step of training."""
    if not curve or not curve[0].step <= step <= curve[-1].step:
        return None
    return float(np.interp(step, [p.step for p in curve], [p.validation for p in curve]))


def worlds_section(material: Material) -> Section:
    """Show the figure of section 5, and how the number of worlds in evaluation matters."""
    trained, evaluated = material.worlds_series, material.accuracy_by_worlds
    # Networks that were trained for equal times have seen unequal amounts of data.
    common = min((group.curve[-1].step for group in trained if group.curve), default=0.0)
    columns = ["worlds", f"after {common:,.0f} steps", "at the best step", "steps", "training"]
    rows, lines, at_common = [], [], []
    for group in trained:
        worlds, seconds = group.settings["worlds"], group.metric("seconds")
        validation, curve = group.validation, group.curve
        rows.append(
            {"worlds": worlds, "validation": validation, "seconds": seconds, "points": curve}
        )
        equal = accuracy_at(common, curve)
        steps = round(curve[-1].step) if curve else None
        lines.append([worlds, equal, validation, steps, time_cell(seconds)])
        at_common += [Point(worlds, f"{worlds} worlds", equal)] if equal is not None else []
    parts: list[Part] = []
    if trained:
        caption = "Validation error against training steps, by the number of worlds."
        parts.append(Picture("worlds", caption, draw_training(trained)))
    curves = [worlds_line(key, by) for key, by in evaluated.items() if key.endswith("/validate")]
    if trained or curves:
        caption = "Accuracy on validation data by worlds in evaluation"
        if at_common:
            curves.append(Line("trained so", "worlds dashed", at_common))
            caption += f"; dashed: trained with as many, after {common:,.0f} steps"
        x_axis = partial(log_axis, "worlds", all_named=True)
        drawings = draw_panels({"accuracy, %": curves}, x_axis)
        parts.append(Picture("worlds-evaluation", f"{caption}.", drawings))
    if trained:
        parts += [text("worlds"), table(columns, lines, words=0)]
    else:
        parts.append(text("no worlds in training"))
    if not evaluated:
        parts.append(text("no worlds in evaluation", command=code(material.evaluate_command)))
    return {"in_training": rows, "in_evaluation": evaluated}, parts


def draw_training(series: Sequence[RunGroup]) -> list[str]:
    """Draw validation error against training steps, a line for each number of worlds."""
    lines = []
    for i, group in enumerate(series, 1):
        worlds = group.settings["worlds"]
        errors = [(p.step, max(LOWEST_ERROR, 1 - p.validation)) for p in group.curve]
        points = [Point(x, f"step {x:,.0f}", error, note=" wrong") for x, error in errors]
        name = f"{worlds} world{'s' * (worlds > 1)}"
        if points:
            lines.append(Line(name, "worlds", points, opacity=0.4 + 0.6 * i / len(series)))
    return draw_panels(
        {"validation error, %": lines},
        lambda steps: linear_axis("training steps", [0, *steps]),
        lambda errors: log_axis("error, %", [*errors, CHANCE]),
    )


def worlds_line(name: str, by_worlds: Mapping[int, SeedMean]) -> Line:
    """Make a line of a network's accuracies by its number of worlds."""
    points = [Point(n, f"{n} worlds", value.mean, value.interval) for n, value in by_worlds.items()]
    return Line(name, "worlds", points)


def sampling_rows(material: Material) -> list[Row]:
    """Compare sampled rows of the truth table with the network at as many worlds."""
    rows = []
    for folder in material.test_folders:
        for file in sorted(folder.splits, key=lambda file: SPLITS.index(file.stem)):
            key = f"{folder.name}/{file.stem}"
            paper = SAMPLING_ON_HARD if file.stem == "test_hard" else {}
            for n, refuted, accuracy in sample_truth_tables(read_pairs(file)).results():
                row = {
                    "file": key,
                    "count": n,  # of rows, or of worlds
                    "refuted": refuted,  # the non-entailments with a countermodel among the rows
                    "paper_refuted": paper.get(n),
                    "sampling": accuracy,  # of deciding so
                    "network": material.accuracy_by_worlds.get(key, {}).get(n),
                }
                rows.append(row)
    return rows


def sampling_section(rows: Sequence[Row], material: Material) -> list[Part]:
    """Compare truth-table sampling with the network."""
    rows = [row for row in rows if row["file"].endswith(SAMPLED_SPLITS)]
    if not rows:
        return [text("no sampling", command=code(f"{material.command} --data DATA"))]
    columns = ["set", "rows or worlds", "refuted, paper", "refuted", "random rows"]
    lines = []
    for row in rows:
        paper = replace(as_cell(row["paper_refuted"]), muted=True)
        decided = mark_best([as_cell(row["sampling"]), as_cell(row["network"])])
        lines.append([row["file"], row["count"], paper, row["refuted"], *decided])
    caption = "Accuracy in percent of random rows (dashed) and of the network with as many worlds."
    parts: list[Part] = [
        text("sampling"),
        Picture("sampling", caption, draw_sampling(rows)),
        table([*columns, POSSIBLEWORLDNET], lines),
    ]
    if not any(row["network"] for row in rows):
        parts.append(text("no network to compare", command=code(material.evaluate_command)))
    return parts


def draw_sampling(rows: Sequence[Row]) -> list[str]:
    """Draw truth-table sampling and a network, at equal numbers of rows and worlds."""
    panels: dict[str, list[Line]] = {}
    for file in dict.fromkeys(row["file"] for row in rows):
        own = [row for row in rows if row["file"] == file]
        sampled = [Point(row["count"], f"{row['count']} rows", row["sampling"]) for row in own]
        panels[file] = [Line("random rows", "baseline dashed", sampled)]
        if network := {row["count"]: row["network"] for row in own if row["network"]}:
            panels[file].append(worlds_line(POSSIBLEWORLDNET, network))
    return draw_panels(panels, partial(log_axis, "random rows, or worlds", all_named=True))
