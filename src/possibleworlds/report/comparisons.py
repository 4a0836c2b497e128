"""Networks compared: by the size of a pair, symbol permutation, learning curves, one side alone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import sqrt

from possibleworlds.paper import PERMUTATION_GAIN, SPLITS
from possibleworlds.report.cells import as_cell, best_of_columns, network_cell, table
from possibleworlds.report.figures import Axis, Point, by_family, linear_axis, log_axis
from possibleworlds.report.material import TESTS, Material, RunGroup
from possibleworlds.report.page import Cell, Part, Picture, Row, Section, Table, code, points, text
from possibleworlds.training.evaluation import interval

BIN_WIDTHS = {"variables": 5, "operators": 10}
"""How wide the ranges of sizes in the tables are."""
FEWEST_ROWS = 200
"""Sizes with fewer pairs are put together, as an accuracy of so few would be noise."""


@dataclass(frozen=True)
class SizeBin:
    """The accuracy on pairs of a range of sizes."""

    low: int
    high: int
    rows: int
    accuracy: float

    @property
    def label(self) -> str:
        """The range, like 5-9 or 3."""
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"

    def point(self, size: str) -> Point:
        """Give the middle of the range and its accuracy, to be drawn."""
        middle, where = (self.low + self.high) / 2, f"{self.label} {size}"
        bounds = interval(round(self.accuracy * self.rows), self.rows)
        return Point(middle, where, self.accuracy, bounds, f" of {self.rows:,} pairs")


def pooled(group: RunGroup, source: str, size: str) -> list[SizeBin]:
    """Pool rows of the test sets of a folder, and the accuracy of all runs, by size of a pair."""
    keys = [f"{source}/{split}" for split in TESTS if f"{source}/{split}" in group.accuracy]
    bins = []
    for evaluation in (run.evaluations[key] for run in group.runs for key in keys):
        for label, part in evaluation.get(f"by_{size}", {}).items():
            low, _, high = label.partition("-")
            bins.append(SizeBin(int(low), int(high or low), part["rows"], part["accuracy"]))
    runs = len(group.runs)
    # Rounded up, as runs may have been evaluated on different files of one name.
    return [SizeBin(b.low, b.high, -(-b.rows // runs), b.accuracy) for b in merge_bins(bins)]


def join_bins(bins: Sequence[SizeBin]) -> SizeBin:
    """Put bins together."""
    rows = sum(part.rows for part in bins)
    correct = sum(part.rows * part.accuracy for part in bins)
    return SizeBin(bins[0].low, max(part.high for part in bins), rows, correct / rows)


def merge_bins(bins: Iterable[SizeBin], width: int = 1) -> list[SizeBin]:
    """Put together bins that begin in the same range of sizes, of some width."""
    ranges = groupby(sorted(bins, key=lambda b: b.low // width), key=lambda b: b.low // width)
    return [join_bins(list(same)) for _, same in ranges]


def wide_enough(bins: Iterable[SizeBin]) -> list[SizeBin]:
    """Join neighbouring bins until each has rows enough to say something."""
    wide: list[SizeBin] = []
    for part in bins:
        small = wide and wide[-1].rows < FEWEST_ROWS
        wide.append(join_bins([wide.pop(), part]) if small else part)
    if len(wide) > 1 and wide[-1].rows < FEWEST_ROWS:
        wide[-2:] = [join_bins(wide[-2:])]
    return wide


def size_section(material: Material) -> Section:
    """Show accuracy by variables and operators of a pair, over the test sets of a folder."""
    rows: list[Row] = [
        {
            "model": group.model,
            "source": source,
            "bins": {size: pooled(group, source, size) for size in BIN_WIDTHS},
        }
        for group in material.one_each
        for source in group.accuracy_by_source
    ]
    if not any(row["bins"]["variables"] for row in rows):
        return rows, [text("no sizes", command=code(material.evaluate_command))]
    source = Counter(row["source"] for row in rows).most_common(1)[0][0]
    train = material.trained_on.train if material.trained_on else {}
    # A pair shares its variables; its operators are those of two formulas.
    formulas = {"variables": 1, "operators": 2}
    largest = {size: formulas[size] * train[size][1] for size in formulas if train}
    note = " Shaded: the sizes of training data." if largest else ""
    pictures: list[Part] = []
    tables: list[Part] = []
    for size in BIN_WIDTHS:
        networks = {row["model"]: row["bins"][size] for row in rows if row["source"] == source}
        caption = f"Accuracy in percent by {size} of a pair, all test sets of {source} together."
        points = {m: [b.point(size) for b in wide_enough(bins)] for m, bins in networks.items()}
        x_axis = partial(linear_axis, f"{size} of a pair")
        drawings = by_family(points, x_axis, shaded_to=largest.get(size))
        pictures.append(Picture(f"by-{size}", caption + note, drawings))
        tables.append(size_table(networks, size))
    return rows, [*pictures, *tables]


def size_table(networks: Mapping[str, Sequence[SizeBin]], size: str) -> Table:
    """Show a line for each network, a column for each range of sizes."""
    by_label = [
        {part.label: part for part in wide_enough(merge_bins(bins, BIN_WIDTHS[size]))}
        for bins in networks.values()
    ]
    columns = {label: part for bins in by_label for label, part in bins.items()}
    columns = dict(sorted(columns.items(), key=lambda item: item[1].low))
    cells = [[as_cell(b[x].accuracy if x in b else None) for x in columns] for b in by_label]
    marked = zip(networks, best_of_columns(cells), strict=True)
    lines = [[network_cell(model), *line] for model, line in marked]
    heads = [Cell(label, details=(f"{part.rows:,} pairs",)) for label, part in columns.items()]
    return table([size, *heads], lines)


def permutation_row(off: RunGroup, on: RunGroup) -> Row:
    """Compare a network trained without and with symbol permutation, as report.json does."""
    gains = {}
    for key in on.accuracy:
        if key in off.accuracy and key.rpartition("/")[2] in TESTS:
            means = on.accuracy[key].mean, off.accuracy[key].mean
            rows = on.first.evaluations[key].get("rows")
            variance = sum(mean * (1 - mean) for mean in means)
            # Half of the 95 % interval that follows from the number of rows.
            half_width = 1.96 * sqrt(variance / rows) if rows else None
            gains[key] = {"difference": means[0] - means[1], "half_width": half_width}
    return {
        "model": on.model,
        "with_permutation": on.validation,
        "without_permutation": off.validation,
        "gain": on.validation.mean - off.validation.mean,
        "gain_on_tests": gains,
        "paper_gain": [points / 100 for points in PERMUTATION_GAIN.get(on.model, ())] or None,
    }


def permutation_section(material: Material) -> Section:
    """Show the effect of symbol permutation for each network."""
    rows = [permutation_row(*pair) for pair in material.permutation_pairs]
    if not rows:
        return rows, [text("no permutation")]
    tests = sorted(
        {key for row in rows for key in row["gain_on_tests"]},
        key=lambda key: (key.rpartition("/")[0], SPLITS.index(key.rpartition("/")[2])),
    )
    columns = ["network", "without", "with", "gain", "gain, paper", "seeds without", "seeds with"]
    lines, networks = [], {}
    for row in rows:
        model, gains = row["model"], row["gain_on_tests"]
        off, on = row["without_permutation"], row["with_permutation"]
        paper = " to ".join(f"{100 * gain:+.1f}" for gain in row["paper_gain"] or ())
        ours = [gain_cell(row["gain"]), Cell(paper, muted=True), len(off.values), len(on.values)]
        on_tests = [gain_cell(**gains[test]) if test in gains else None for test in tests]
        lines.append([network_cell(model), off, on, *ours, *on_tests])
        networks[model] = [Point(0, "without", off.mean), Point(1, "with permutation", on.mean)]
    caption = "Validation accuracy in percent without and with symbol permutation."
    drawings = by_family(networks, lambda _: Axis("without → with permutation", 0, 1, []))
    return rows, [
        text("permutation"),
        Picture("permutation", caption, drawings),
        table([*columns, *(f"gain, {test}" for test in tests)], lines),
    ]


def gain_cell(difference: float, half_width: float | None = None) -> Cell:
    """Show a difference of two accuracies, in percentage points."""
    details = (f"± {100 * half_width:.1f}",) if half_width else ()
    return Cell(points(difference), difference, details)


def curves_section(material: Material) -> Section:
    """Show learning curves, by data and by time."""
    groups = [group for group in material.one_each if group.curve]
    if not groups:
        return [], [text("no learning curves")]
    parts: list[Part] = []
    for unit, axis, against in (
        ("pairs", "pairs seen", "pairs seen"),
        ("minutes", "minutes of training", "training time"),
    ):
        networks = {}
        for group in groups:
            batch = group.settings["batch_size"]
            at = [p.step * batch if unit == "pairs" else p.seconds / 60 for p in group.curve]
            curve = zip(at, group.curve, strict=True)
            line = [Point(x, f"{x:,.4g} {unit}", p.validation) for x, p in curve if x > 0]
            networks[group.model] = line
        caption = f"Accuracy on validation data in percent against {against}, means over seeds."
        drawings = by_family(networks, partial(log_axis, axis))
        parts.append(Picture(f"learning-{unit}", caption, drawings))
    for group in groups:
        fraction = group.settings.get("unguided_fraction")
        if fraction and isinstance(fraction, int | float):
            parts.append(text("unguided", model=code(group.model), fraction=f"{fraction:.0%}"))
    return [
        {"model": g.model, "batch_size": g.settings["batch_size"], "points": g.curve}
        for g in groups
    ], parts


def one_sided_section(material: Material) -> Section:
    """Show what networks reach that see one side of each pair, by their training data."""
    rows = []
    for group in material.one_sided:
        own = [f.name for f in material.folders if f.fingerprint == group.first.record.data]
        easy = [key for key in group.accuracy if key.endswith("/test_easy")]
        beside = [key for key in easy if key.partition("/")[0] in own] or easy
        row: Row = {
            "model": group.model,
            "side": group.first.side,
            "trained_on": material.data_name(group.first),
            "seeds": group.seeds,
            "validation": group.validation,
            "test_easy": group.accuracy[beside[0]] if len(beside) == 1 else None,
        }
        rows.append(row)
    if not rows:
        return rows, [text("no one-sided runs")]
    rows.sort(key=lambda row: (row["trained_on"], row["model"], row["side"]))
    columns = ["network", "sees", "trained on", "validation", "test (easy)", "seeds"]
    lines = []
    for row in rows:
        model, seeds = network_cell(row["model"]), len(row["seeds"])
        known = [row[key] for key in ("side", "trained_on", "validation", "test_easy")]
        lines.append([model, *known, seeds])
    return rows, [text("one-sided runs"), table(columns, lines, words=3)]
