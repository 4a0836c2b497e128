"""The effect of symbol permutation, learning curves, and networks that see one side of a pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from possibleworlds.paper import PERMUTATION_GAIN, SPLITS
from possibleworlds.report.cells import network_cell, table
from possibleworlds.report.figures import Axis, Point, by_family, log_axis, network_line
from possibleworlds.report.material import TESTS, Material
from possibleworlds.report.page import Cell, Part, Picture, code, signed_points, text
from possibleworlds.report.runs import RunGroup, SeedMean


@dataclass(frozen=True)
class Gain:
    """A difference of two accuracies on the same test set."""

    difference: float
    half_width: float | None  # of the 95 % interval, from the number of rows


@dataclass(frozen=True)
class PermutationRow:
    """The effect of symbol permutation on a network."""

    model: str
    with_permutation: SeedMean
    without_permutation: SeedMean
    gain: float
    gain_on_tests: dict[str, Gain]
    paper_gain: list[float] | None  # from and to, where the paper reports it


def permutation_row(off: RunGroup, on: RunGroup) -> PermutationRow:
    """Compare a network trained without and with symbol permutation."""
    gains: dict[str, Gain] = {}
    for key in on.accuracy:
        if key in off.accuracy and key.rpartition("/")[2] in TESTS:
            means = on.accuracy[key].mean, off.accuracy[key].mean
            rows = on.first.evaluations[key].get("rows")
            variance = sum(mean * (1 - mean) for mean in means)
            gains[key] = Gain(means[0] - means[1], 1.96 * sqrt(variance / rows) if rows else None)
    return PermutationRow(
        model=on.model,
        with_permutation=on.validation,
        without_permutation=off.validation,
        gain=on.validation.mean - off.validation.mean,
        gain_on_tests=gains,
        paper_gain=[points / 100 for points in PERMUTATION_GAIN.get(on.model, ())] or None,
    )


def permutation_section(rows: Sequence[PermutationRow]) -> list[Part]:
    """Show the effect of symbol permutation for each network."""
    if not rows:
        return [text("no permutation")]
    keys = {tuple(key.rsplit("/", 1)) for row in rows for key in row.gain_on_tests}
    tests = ["/".join(key) for key in sorted(keys, key=lambda k: (k[0], SPLITS.index(k[1])))]
    columns = ["network", "without", "with", "gain", "gain, paper", "seeds without", "seeds with"]
    lines, curves = [], []
    for row in rows:
        off, on = row.without_permutation, row.with_permutation
        paper = " to ".join(f"{100 * gain:+.1f}" for gain in row.paper_gain or ())
        ours = [gain_cell(Gain(row.gain, None)), Cell(paper, muted=True)]
        seeds = [len(off.values), len(on.values)]
        on_tests = [gain_cell(row.gain_on_tests.get(test)) for test in tests]
        lines.append([network_cell(row.model), off, on, *ours, *seeds, *on_tests])
        points = [Point(0, "without", off.mean), Point(1, "with permutation", on.mean)]
        curves.append(network_line(row.model, points))
    drawings = by_family(curves, Axis("without → with permutation", 0, 1, []))
    caption = "Validation accuracy in percent without and with symbol permutation."
    return [
        text("permutation"),
        Picture("permutation", caption, drawings),
        table([*columns, *(f"gain, {test}" for test in tests)], lines),
    ]


def gain_cell(gain: Gain | None) -> Cell:
    """Show a difference of two accuracies, in percentage points."""
    if gain is None:
        return Cell("")
    details = (f"± {100 * gain.half_width:.1f}",) if gain.half_width else ()
    return Cell(signed_points(gain.difference), gain.difference, details)


def curves_section(groups: Sequence[RunGroup]) -> list[Part]:
    """Show learning curves by training pairs and by time."""
    if not groups:
        return [text("no learning curves")]
    parts: list[Part] = []
    for unit, axis, against in (
        ("pairs", "pairs seen", "pairs seen"),
        ("minutes", "minutes of training", "training time"),
    ):
        lines = []
        for group in groups:
            batch = group.first.settings["batch_size"]
            xs = [p.step * batch if unit == "pairs" else p.seconds / 60 for p in group.curve]
            curve = zip(xs, group.curve, strict=True)
            points = [Point(x, f"{x:,.4g} {unit}", p.validation) for x, p in curve if x > 0]
            lines += [network_line(group.model, points)] if points else []
        x_axis = log_axis(axis, [p.x for line in lines for p in line.points] or [1.0])
        caption = f"Accuracy on validation data in percent against {against}, means over seeds."
        parts.append(Picture(f"learning-{unit}", caption, by_family(lines, x_axis)))
    for group in groups:
        fraction = group.first.settings.get("unguided_fraction")
        if fraction and isinstance(fraction, int | float):
            parts.append(text("unguided", model=code(group.model), fraction=f"{fraction:.0%}"))
    return parts


@dataclass(frozen=True)
class OneSidedRow:
    """The accuracy of a network that sees one side of each pair."""

    model: str
    side: str
    trained_on: str
    seeds: list[int]
    validation: SeedMean
    test_easy: SeedMean | None


def one_sided_rows(material: Material) -> list[OneSidedRow]:
    """List the accuracy of networks that see one side of each pair, sorted by training data."""
    rows = []
    for group in material.one_sided:
        run = group.first
        sources = [f.name for f in material.folders if f.fingerprint == run.record.data]
        easy = [key for key in group.accuracy if key.endswith("/test_easy")]
        easy = [key for key in easy if key.partition("/")[0] in sources] or easy
        test_easy = group.accuracy[easy[0]] if len(easy) == 1 else None
        trained_on = material.data_name(run)
        rows.append(
            OneSidedRow(group.model, run.side, trained_on, group.seeds, group.validation, test_easy)
        )
    return sorted(rows, key=lambda row: (row.trained_on, row.model, row.side))


def one_sided_section(rows: Sequence[OneSidedRow]) -> list[Part]:
    """Show the accuracy of networks that see one side of a pair."""
    if not rows:
        return [text("no one-sided runs")]
    columns = ["network", "sees", "trained on", "validation", "test (easy)", "seeds"]
    lines = [
        [network_cell(r.model), r.side, r.trained_on, r.validation, r.test_easy, len(r.seeds)]
        for r in rows
    ]
    return [text("one-sided runs"), table(columns, lines, words=3)]
