"""The data: the paper's Table 1 beside ours, and its tables of superficial features."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from possibleworlds import paper
from possibleworlds.data.files import read_pairs
from possibleworlds.data.statistics import (
    NEW_VARIABLES,
    SIDES,
    FileStatistics,
    as_in_table_1,
    as_json,
    file_statistics,
    split_statistics,
)
from possibleworlds.report.cells import table
from possibleworlds.report.material import Material, place_in
from possibleworlds.report.page import Cell, Part, Row, Section, Table, code, text

BIAS_ROWS = 50_000
"""As many rows as in the paper's Tables 3 and 4, since chi-squared grows with them."""

in_order = partial(place_in, tuple(paper.TABLE_1))
"""The sort key of a split: the paper's order."""


def data_section(material: Material) -> Section:
    """Show Table 1 for each folder, and the bias tables for the start of its training data."""
    rows: list[Row] = []
    biases: list[Part] = []
    for folder in material.folders:
        files = {file.stem: file for file in folder.files}
        lines = {
            name: as_in_table_1(name, split_statistics(read_pairs(files[name])))._asdict()
            for name in sorted(files, key=in_order)
        }
        row = {"name": folder.name, "method": folder.method, "table_1": lines, "biases": None}
        if "train" in files:
            statistics = file_statistics(islice(read_pairs(files["train"]), BIAS_ROWS))
            row["biases"] = as_json(statistics)
            biases += bias_parts(folder.name, folder.method, statistics)
        rows.append(row)
    if not rows:
        return rows, [text("no data", command=code(f"{material.command} --data DATA"))]
    return rows, [text("table 1"), table_1(rows), *biases]


def number(value: float, digits: int = 2, muted: bool = False) -> Cell:
    """Show a number with some digits."""
    return Cell(f"{value:,.{digits}f}", value, muted=muted)


def table_1(rows: Sequence[Row]) -> Table:
    """Put the paper's Table 1 beside ours."""
    lines = []
    for split in sorted({split for row in rows for split in row["table_1"]}, key=in_order):
        sources: list[tuple[Cell, Iterable[float]]] = [
            (Cell(row["name"]), row["table_1"][split].values())
            for row in rows
            if split in row["table_1"]
        ]
        if split in paper.TABLE_1:
            sources.append((Cell("paper", muted=True), paper.TABLE_1[split]))
        for name, values in sources:
            numbers = zip(values, (0, 2, 2, 2, 1), strict=True)
            cells = [number(value, digits, name.muted) for value, digits in numbers]
            lines.append([split, name, *cells])
    columns = ["split", "of", "rows", "variables", "operators", "length", "2^variables"]
    return table(columns, lines, words=2)


def bias_parts(name: str, method: str, biases: FileStatistics) -> list[Part]:
    """Show whether superficial features tell positives from negatives, and heuristics."""
    published = {"naive": paper.TABLE_3, "fourtuples": paper.TABLE_4}.get(method, {})
    lines = []
    for feature, sides in biases.features.items():
        line: list[Any] = [feature]
        for i, side in enumerate(SIDES):
            theirs: Sequence[float] = published.get(feature, ())[4 * i :][:4]
            if feature == NEW_VARIABLES and side == "B":
                theirs = paper.NEW_VARIABLES_IN_B.get(method, ())
            ours = sides.get(side)
            line += [*map(number, ours.means), number(ours.chi_squared, 1)] if ours else [None] * 3
            line.append(number(theirs[2], 1, muted=True) if theirs else None)
        lines.append(line)
    right = enumerate(biases.heuristics_right, 1)
    guesses = ", ".join(f"H{i} {100 * count / biases.rows:.1f} %" for i, count in right)
    rows = {"rows": f"{biases.rows:,}", "paper_rows": f"{BIAS_ROWS:,}"}
    columns = [column for side in SIDES for column in (f"{side}+", f"{side}−", "χ²", "χ², paper")]
    return [
        text("biases", name=code(name), guesses=guesses, **rows),
        table(["feature", *columns], lines),
    ]
