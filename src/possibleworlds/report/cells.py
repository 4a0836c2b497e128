"""Cells of tables: numbers formatted as what they are."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from possibleworlds.report.figures import family_of
from possibleworlds.report.page import Cell, Table, duration, mark_best
from possibleworlds.report.runs import SeedMean

R = TypeVar("R")


def accuracy(value: SeedMean | float | None, muted: bool = False) -> Cell:
    """Show an accuracy in percent, with the deviation over seeds and the interval if known."""
    if value is None:
        return Cell("")
    if isinstance(value, float):
        return Cell(f"{100 * value:.1f}", value, muted=muted)
    spread = "" if value.spread is None else f" ± {100 * value.spread:.1f}"
    low, high = value.interval or (None, None)
    details = (f"{100 * low:.1f}–{100 * high:.1f}",) if low is not None and high is not None else ()
    return Cell(f"{100 * value.mean:.1f}{spread}", value.mean, details, muted=muted)


def points(gain: float | None) -> Cell:
    """Show a difference of two accuracies, in percentage points."""
    return Cell("") if gain is None else Cell(f"{100 * gain:+.1f}", gain)


def as_cell(value: Any) -> Cell:
    """Show a value as its type asks for: accuracies are SeedMeans, counts whole numbers."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, SeedMean):
        return accuracy(value)
    if isinstance(value, int):
        return Cell(f"{value:,}", value)
    return Cell("" if value is None else str(value))


def table(rows: Iterable[R], columns: dict[str, Callable[[R], Any]], words: int = 1) -> Table:
    """Make a table of a function for each column."""
    lines = [[as_cell(value(row)) for value in columns.values()] for row in rows]
    return Table(list(columns), lines, words)


def time_of(seconds: SeedMean) -> Cell:
    """Show a mean time."""
    return Cell(duration(seconds.mean), seconds.mean)


def network_name(model: str) -> Cell:
    """Show the name of a network in the colour of its family."""
    return Cell(model, kind=family_of(model))


def bar(value: float | None) -> float | None:
    """Give the length of a bar that begins at chance."""
    return None if value is None else max(0.0, 2 * value - 1)


def by_column(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Mark the best of each column."""
    columns = [mark_best(column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]
