"""Output for notebooks and terminals: times, tables of results, and a progress bar."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape

BAR_AFTER = 1.0
"""Seconds of work before a progress bar appears: short calls stay silent."""
BAR_INTERVAL = 0.1
"""Seconds between two updates of a bar, each of which costs more than a row of work."""


def duration(seconds: float) -> str:
    """Format a time in hours, minutes or seconds."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


def html_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Render rows of cells by column name as an HTML table.

    >>> html_table([{"rows": 4, "accuracy": "75 %"}])
    '<table><tr><th>rows</th><th>accuracy</th></tr><tr><td>4</td><td>75 %</td></tr></table>'
    """
    if not rows:
        return "<table></table>"
    lines = ["".join(f"<th>{escape(name)}</th>" for name in rows[0])]
    lines += ["".join(f"<td>{escape(str(cell))}</td>" for cell in row.values()) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


@contextmanager
def progress_bar(
    description: str, total: float = 1.0, show: bool | None = None
) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with the work done, which draws a bar if the work takes long.

    By default bars are drawn in notebooks and terminals only.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=not in_notebook())
    if show is None:
        show = console.is_jupyter or console.is_terminal
    if not show:
        yield lambda _: None
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=not console.is_jupyter,
    )
    task = bar.add_task(description, total=total)
    started = drawn = time.monotonic()

    def advance(done: float) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - started < BAR_AFTER or now - drawn < BAR_INTERVAL:
            return
        drawn = now
        bar.start()
        bar.update(task, completed=done, refresh=console.is_jupyter)

    try:
        yield advance
        if bar.live.is_started:
            bar.update(task, completed=total)
    finally:
        bar.stop()


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel."""
    return "ipykernel" in sys.modules
