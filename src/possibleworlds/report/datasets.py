"""The data: the paper's Table 1 next to ours, and its tables of superficial features."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from possibleworlds import paper
from possibleworlds.data.files import read_pairs
from possibleworlds.data.statistics import (
    NEW_VARIABLES,
    SIDES,
    FileStatistics,
    as_in_table_1,
    file_statistics,
    split_statistics,
)
from possibleworlds.report.cells import table
from possibleworlds.report.material import DataFolder, Material
from possibleworlds.report.page import Cell, Part, Table, code, text
from possibleworlds.report.runs import sort_key

ALL_SPLITS = tuple(paper.TABLE_1)
BIAS_ROWS = 50_000
"""The number of rows in the paper's Tables 3 and 4, on which chi-squared depends."""


@dataclass(frozen=True)
class DataRow:
    """A data set: Table 1 for its files, and the biases of its training data."""

    name: str
    method: str
    table_1: dict[str, dict[str, float]]
    paper_splits: list[str]  # the splits that are comparable with the paper's
    biases: FileStatistics | None


def data_row(folder: DataFolder) -> DataRow:
    """Compute Table 1 for a folder, and the bias tables for the first rows of its training data."""
    in_order = sorted(folder.files, key=lambda file: sort_key(ALL_SPLITS, file.stem))
    files = {file.stem: file for file in in_order}
    lines = {
        name: as_in_table_1(name, split_statistics(read_pairs(file)))._asdict()
        for name, file in files.items()
    }
    first = islice(read_pairs(files["train"]), BIAS_ROWS) if "train" in files else None
    comparable = [name for name in files if name in folder.paper_splits]
    biases = file_statistics(first) if first else None
    return DataRow(folder.name, folder.method, lines, comparable, biases)


def data_section(rows: Sequence[DataRow], material: Material) -> list[Part]:
    """Show Table 1 and the bias tables."""
    if not rows:
        return [text("no data", command=code(f"{material.request.command} --data DATA"))]
    biases = [part for row in rows if row.biases for part in bias_parts(row, row.biases)]
    return [text("table 1"), table_1(rows), *biases]


def number(value: float, digits: int = 2, muted: bool = False) -> Cell:
    """Show a number with a certain number of decimals."""
    return Cell(f"{value:,.{digits}f}", value, muted=muted)


def table_1(rows: Sequence[DataRow]) -> Table:
    """Show the paper's Table 1 next to ours."""
    lines: list[list[Cell]] = []
    splits = {split for row in rows for split in row.table_1}
    for split in sorted(splits, key=lambda split: sort_key(ALL_SPLITS, split)):
        sources: list[tuple[str, Iterable[float], bool]] = [
            (row.name, row.table_1[split].values(), False) for row in rows if split in row.table_1
        ]
        if any(split in row.paper_splits for row in rows):
            sources.append(("paper", paper.TABLE_1[split], True))
        for name, values, muted in sources:
            numbers = zip(values, (0, 2, 2, 2, 1), strict=True)
            cells = [number(value, digits, muted) for value, digits in numbers]
            lines.append([Cell(split), Cell(name, muted=muted), *cells])
    columns = ["split", "of", "rows", "variables", "operators", "length", "2^variables"]
    return table(columns, lines, words=2)


def bias_parts(row: DataRow, biases: FileStatistics) -> list[Part]:
    """Show how well superficial features and heuristics tell positives from negatives."""
    published = {"naive": paper.TABLE_3, "fourtuples": paper.TABLE_4}.get(row.method, {})
    lines = []
    for name, sides in biases.features.items():
        line = [Cell(name)]
        for i, side in enumerate(SIDES):
            theirs = published.get(name, ())[4 * i :][:4]
            if name == NEW_VARIABLES and side == "B":
                theirs = paper.NEW_VARIABLES_IN_B.get(row.method, ())
            ours = sides.get(side)
            line += (
                [*map(number, ours.means), number(ours.chi_squared, 1)] if ours else [Cell("")] * 3
            )
            line.append(number(theirs[2], 1, muted=True) if theirs else Cell(""))
        lines.append(line)
    right = enumerate(biases.heuristics_right, 1)
    guesses = ", ".join(f"H{i} {100 * count / biases.rows:.1f} %" for i, count in right)
    rows = {"rows": f"{biases.rows:,}", "paper_rows": f"{BIAS_ROWS:,}"}
    sides_columns = [name for side in SIDES for name in (f"{side}+", f"{side}−", "χ²", "χ², paper")]
    return [
        text("biases", name=code(row.name), guesses=guesses, **rows),
        table(["feature", *sides_columns], lines),
    ]
