"""Accuracy by the size of a pair: how far each network generalises."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from possibleworlds.report.cells import as_cell, best_of_columns, network_cell, table
from possibleworlds.report.figures import Point, by_family, linear_axis, network_line
from possibleworlds.report.material import TESTS, Material
from possibleworlds.report.page import Cell, Part, Picture, Table, code, text
from possibleworlds.report.runs import RunGroup
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
    ranges: dict[int, list[SizeBin]] = {}
    for part in bins:
        ranges.setdefault(part.low // width, []).append(part)
    return [join_bins(ranges[start]) for start in sorted(ranges)]


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
    largest = largest_in_training(material)
    note = " Shaded: the sizes of training data." if largest else ""
    parts: list[Part] = []
    for size in BIN_WIDTHS:
        caption = f"Accuracy in percent by {size} of a pair, all test sets of {source} together."
        drawings = draw_sizes(rows, size, largest.get(size))
        parts.append(Picture(f"by-{size}", caption + note, drawings))
    return parts + [size_table(rows, size) for size in BIN_WIDTHS]


def largest_in_training(material: Material) -> dict[str, int]:
    """Find the most variables and operators that a training pair may have, if known."""
    for group in material.groups:
        folder = material.folder_of(group.first)
        if group.data_key == material.common_data and folder and folder.train:
            # The formulas of a pair share their variables, but not their operators.
            train = folder.train
            return {"variables": train["variables"][1], "operators": 2 * train["operators"][1]}
    return {}


def size_table(rows: Sequence[SizeRow], size: str) -> Table:
    """Show one row for each network and one column for each range of sizes."""
    by_label = [
        {
            part.label: part
            for part in merge_small_bins(merge_bins(row.bins[size], BIN_WIDTHS[size]))
        }
        for row in rows
    ]
    columns = {label: part for bins in by_label for label, part in bins.items()}
    columns = dict(sorted(columns.items(), key=lambda item: item[1].low))
    cells = [[as_cell(b[x].accuracy if x in b else None) for x in columns] for b in by_label]
    with_bold = zip(rows, best_of_columns(cells), strict=True)
    lines = [[network_cell(row.model), *line] for row, line in with_bold]
    headers = [Cell(label, details=(f"{part.rows:,} pairs",)) for label, part in columns.items()]
    return table([size, *headers], lines)


def draw_sizes(rows: Sequence[SizeRow], size: str, largest: int | None) -> list[str]:
    """Draw accuracy by the size of a pair, with the sizes of the training data shaded."""

    def point(part: SizeBin) -> Point:
        bounds = interval(round(part.accuracy * part.rows), part.rows)
        middle, label = (part.low + part.high) / 2, f"{part.label} {size}"
        return Point(middle, label, part.accuracy, bounds, f" of {part.rows:,} pairs")

    lines = [
        network_line(row.model, [point(part) for part in merge_small_bins(row.bins[size])])
        for row in rows
        if row.bins[size]
    ]
    xs = [point.x for line in lines for point in line.points]
    x_axis = linear_axis(f"{size} of a pair", min(xs, default=0), max(xs, default=1))
    return by_family(lines, x_axis, largest)
