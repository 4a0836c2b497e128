"""Accuracy by the size of a pair: how far each network generalises."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from possibleworlds.report.cells import as_cell, best_of_columns, network_cell, table
from possibleworlds.report.figures import Point, by_family, linear_axis, network_line
from possibleworlds.report.material import TESTS, Material
from possibleworlds.report.page import Cell, Part, Picture, Table, code, text
from possibleworlds.report.runs import RunGroup, partitioned
from possibleworlds.training.evaluation import interval

BIN_WIDTHS = {"variables": 5, "operators": 10}
"""The width of the size ranges in the tables."""
MIN_ROWS = 200
"""Bins with fewer pairs are merged, as their accuracy would be mostly noise."""


@dataclass(frozen=True)
class SizeBin:
    """The accuracy on the pairs in a range of sizes."""

    low: int
    high: int
    rows: int
    accuracy: float

    @property
    def label(self) -> str:
        """The range, such as 5-9 or 3."""
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(frozen=True)
class SizeRow:
    """The accuracy of a network by the size of a pair, over all test sets of a data set."""

    model: str
    source: str
    bins: dict[str, list[SizeBin]]  # by variables, and by operators


def size_rows(groups: Iterable[RunGroup]) -> list[SizeRow]:
    """Compute accuracy by the size of a pair, over all test sets of each folder."""
    return [
        SizeRow(group.model, source, {size: pool_bins(group, source, size) for size in BIN_WIDTHS})
        for group in groups
        for source in group.accuracy_by_source
    ]


def pool_bins(group: RunGroup, source: str, size: str) -> list[SizeBin]:
    """Pool the accuracy of all runs on the test sets of a folder by the size of a pair."""
    keys = [f"{source}/{split}" for split in TESTS if f"{source}/{split}" in group.accuracy]
    bins = []
    for evaluation in (run.evaluations[key] for run in group.runs for key in keys):
        for label, part in evaluation.get(f"by_{size}", {}).items():
            low, _, high = label.partition("-")
            bins.append(SizeBin(int(low), int(high or low), part["rows"], part["accuracy"]))
    runs = len(group.runs)
    # Rounded up, as runs may have been evaluated on different files of the same name.
    return [SizeBin(b.low, b.high, -(-b.rows // runs), b.accuracy) for b in merge_bins(bins)]


def join_bins(bins: Sequence[SizeBin]) -> SizeBin:
    """Merge bins into one."""
    rows = sum(part.rows for part in bins)
    correct = sum(part.rows * part.accuracy for part in bins)
    return SizeBin(bins[0].low, max(part.high for part in bins), rows, correct / rows)


def merge_bins(bins: Iterable[SizeBin], width: int = 1) -> list[SizeBin]:
    """Merge the bins that begin in the same range of sizes of this width."""
    in_order = sorted(bins, key=lambda part: part.low // width)
    return [join_bins(parts) for parts in partitioned(in_order, lambda part: part.low // width)]


def merge_small_bins(bins: Iterable[SizeBin]) -> list[SizeBin]:
    """Merge neighbouring bins until each has at least MIN_ROWS rows."""
    merged: list[SizeBin] = []
    for part in bins:
        is_small = merged and merged[-1].rows < MIN_ROWS
        merged.append(join_bins([merged.pop(), part]) if is_small else part)
    if len(merged) > 1 and merged[-1].rows < MIN_ROWS:
        merged[-2:] = [join_bins(merged[-2:])]
    return merged


def size_section(rows: Sequence[SizeRow], material: Material) -> list[Part]:
    """Show the accuracy of every network by the size of a pair."""
    if not any(row.bins["variables"] for row in rows):
        return [text("no sizes", command=code(material.evaluate_command))]
    source = Counter(row.source for row in rows).most_common(1)[0][0]
    rows = [row for row in rows if row.source == source]
    folder = material.folder_of(material.common_data)
    largest: dict[str, int] = {}
    if folder and folder.train:
        # The formulas of a pair share their variables, but not their operators.
        (_, variables), (_, operators) = folder.train["variables"], folder.train["operators"]
        largest = {"variables": variables, "operators": 2 * operators}
    pictures = [size_picture(rows, size, largest.get(size)) for size in BIN_WIDTHS]
    return [*pictures, *(size_table(rows, size) for size in BIN_WIDTHS)]


def size_picture(rows: Sequence[SizeRow], size: str, largest: int | None) -> Picture:
    """Draw accuracy by the size of a pair, with the sizes of the training data shaded."""
    lines = []
    for row in rows:
        points = []
        for part in merge_small_bins(row.bins[size]):
            middle, label = (part.low + part.high) / 2, f"{part.label} {size}"
            bounds = interval(round(part.accuracy * part.rows), part.rows)
            note = f" of {part.rows:,} pairs"
            points.append(Point(middle, label, part.accuracy, bounds, note))
        lines += [network_line(row.model, points)] if points else []
    xs = [point.x for line in lines for point in line.points]
    x_axis = linear_axis(f"{size} of a pair", min(xs, default=0), max(xs, default=1))
    of = f"by {size} of a pair, all test sets of {rows[0].source} together"
    shaded = " Shaded: the sizes of training data." if largest else ""
    caption = f"Accuracy in percent {of}.{shaded}"
    return Picture(f"by-{size}", caption, by_family(lines, x_axis, largest))


def size_table(rows: Sequence[SizeRow], size: str) -> Table:
    """Show one row for each network and one column for each range of sizes."""
    bins = [merge_small_bins(merge_bins(row.bins[size], BIN_WIDTHS[size])) for row in rows]
    ranges = {part.label: part for parts in bins for part in parts}.values()
    columns = sorted(ranges, key=lambda part: part.low)
    accuracies = [{part.label: part.accuracy for part in parts} for parts in bins]
    cells = [[as_cell(of.get(column.label)) for column in columns] for of in accuracies]
    with_bold = zip(rows, best_of_columns(cells), strict=True)
    headers = [Cell(part.label, details=(f"{part.rows:,} pairs",)) for part in columns]
    return table([size, *headers], [[network_cell(row.model), *line] for row, line in with_bold])
