"""Cells of tables, formatted by the type of their values."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from possibleworlds.display import duration
from possibleworlds.report.figures import family_of
from possibleworlds.report.page import Cell, Table
from possibleworlds.report.runs import SeedMean


def as_cell(value: Any, muted: bool = False) -> Cell:
    """Format a value by its type: accuracies are SeedMeans or floats, counts are integers."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, SeedMean):
        spread = "" if value.spread is None else f" ± {100 * value.spread:.1f}"
        low, high = value.interval or (0.0, 0.0)
        details = (f"{100 * low:.1f}–{100 * high:.1f}",) if value.interval else ()
        return Cell(f"{100 * value.mean:.1f}{spread}", value.mean, details, muted=muted)
    if isinstance(value, float):
        return Cell(f"{100 * value:.1f}", value, muted=muted)
    if isinstance(value, int):
        return Cell(f"{value:,}", value, muted=muted)
    return Cell("" if value is None else str(value), muted=muted)


def table(columns: Iterable[Any], rows: Iterable[Iterable[Any]], words: int = 1) -> Table:
    """Make a table from values."""
    headers = [as_cell(column) for column in columns]
    return Table(headers, [[as_cell(value) for value in row] for row in rows], words)


def time_cell(seconds: SeedMean) -> Cell:
    """Show a mean time."""
    return Cell(duration(seconds.mean), seconds.mean)


def network_cell(model: str) -> Cell:
    """Show the name of a network in the colour of its family."""
    return Cell(model, kind=family_of(model))


def mark_best(cells: Sequence[Cell]) -> list[Cell]:
    """Put the largest of several numbers in bold, with all that round to the same value."""
    values = [cell.value for cell in cells if cell.value is not None]
    best = round(max(values), 3) if len(values) > 1 else None
    return [
        replace(cell, bold=cell.value is not None and round(cell.value, 3) == best)
        for cell in cells
    ]


def best_of_columns(rows: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    """Put the best number of each column in bold."""
    return list(zip(*map(mark_best, zip(*rows, strict=True)), strict=True))
