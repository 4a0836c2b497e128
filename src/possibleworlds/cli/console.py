"""Shared by the commands: consoles, options, progress bars, tables, JSON and exit codes."""

import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich import progress
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from possibleworlds.data.files import shown_name
from possibleworlds.errors import printable, shortened
from possibleworlds.models.registry import names
from possibleworlds.parallel import Stop, StopRequestedError, cores, stop_requested
from possibleworlds.parallel.engines import EngineName

# User input may contain square brackets, which rich must not read as markup.
PLAIN: dict[str, Any] = {"highlight": False, "emoji": False, "markup": False, "soft_wrap": True}
out = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120, **PLAIN)
err = Console(stderr=True, **PLAIN)

CORES = cores()
SPEED_SECONDS = 30.0
"""The time left is estimated from the speed in the last seconds."""
MAX_ERROR_LINE = 900
"""The most characters in a line of an error message."""
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Certify = Annotated[bool, Option("--certify", help='Say "no" only with a checked countermodel.')]
Worlds = Annotated[int | None, Option(help="Number of worlds; default: as in training.")]
Steps = Annotated[int | None, Option(help="Number of gradient steps of guided worlds.")]
SearchBudget = Annotated[
    int | None, Option("--budget", help="Mean evaluations per pair of guided worlds.")
]
Workers = Annotated[int, Option(min=1, show_default="one per core", help="Processes to use.")]
EngineOption = Annotated[
    EngineName, Option("--engine", help="Processes on this machine, or a Ray cluster.")
]
Address = Annotated[str | None, Option(help="Address of a Ray cluster on other machines.")]
Trust = Annotated[
    bool, Option("--trust", help="Import the class named in the run folder: this runs its code.")
]


def network_argument(metavar: str, text: str) -> Any:
    """Make an argument that a shell completes to the name of a network, or else of a file."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return Argument(metavar=metavar, help=text, autocompletion=complete)


RunArgument = Annotated[str, network_argument("RUN", "A run folder, or a pretrained network.")]
MODEL = network_argument("MODEL", "A network, or module:Class.")
FILES_ARGUMENT: Any = Argument(metavar="FILE", help="Data files or folders.")
Files = Annotated[list[Path], FILES_ARGUMENT]
DATA: Any = Option(metavar="DIR", help="Folder with train.txt and validate.txt.")


def fail(message: str) -> NoReturn:
    """Print a one-line error, with two more lines for a place in a formula; exit with code 2."""
    lines = message.split("\n")
    if len(lines) != 3 or not lines[1].startswith("  "):
        lines = [message]  # any other line break is part of a name
    err.print("error: " + "\n".join(shortened(line, MAX_ERROR_LINE) for line in lines))
    sys.exit(2)


@contextmanager
def resumable(advice: str) -> Iterator[None]:
    """If Ctrl-C or a signal interrupts the work, print how to continue and exit with code 130."""
    try:
        yield
    except (KeyboardInterrupt, StopRequestedError):
        log(f"interrupted; {advice}")
        raise typer.Exit(130) from None


@contextmanager
def stoppable(advice: str) -> Iterator[Stop]:
    """Do the same for work that checks between steps whether it should stop."""
    with resumable(advice), stop_requested(signal.SIGINT, signal.SIGTERM) as stop:
        yield stop


def log(line: str) -> None:
    """Print a message for people on standard error."""
    err.print(Text(printable(line)), soft_wrap=True)


def print_json(*values: object) -> None:
    """Print each value as a line of JSON, with control characters escaped."""
    for value in values:
        text = json.dumps(value, ensure_ascii=False)
        if not text.isprintable():
            text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
        print(text)


def make_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Make a table; all columns but the first and those without header are right-aligned."""
    table = Table(box=None)
    for number, header in enumerate(headers):
        table.add_column(Text(printable(header)), justify="right" if number and header else "left")
    for row in rows:
        cells = (cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in row)
        table.add_row(*cells)
    return table


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on standard output."""
    out.print(make_table(headers, rows))


class TimeLeftColumn(progress.TimeRemainingColumn):
    """The time left, at first estimated from the mean speed since the start.

    The column of rich counts from the first update: if two of 27 tasks finish together, it promises
    the end within seconds.
    """

    def render(self, task: progress.Task) -> Text:
        """Format the time left as hours, minutes and seconds."""
        elapsed = task.elapsed or 0.0
        done = task.completed - task.fields["start_at"]
        if done <= 0 or not task.remaining or elapsed > SPEED_SECONDS:
            return super().render(task)
        left = timedelta(seconds=math.ceil(elapsed * task.remaining / done))
        return Text(str(left), style="progress.remaining")


class Bars(progress.Progress):
    """Progress bars on standard error, one for each name."""

    def __init__(
        self, count: progress.ProgressColumn | None = None, unit: str = "rows", left: bool = True
    ) -> None:
        name = progress.TextColumn("{task.description}", justify="right", markup=False)
        bar = progress.BarColumn(40 if err.width >= 100 else 12)
        count = count or progress.TextColumn("{task.completed:,.0f}/{task.total:,.0f} " + unit)
        times = [progress.TimeElapsedColumn(), *([TimeLeftColumn()] if left else [])]
        super().__init__(name, bar, count, *times, console=err, speed_estimate_period=SPEED_SECONDS)
        self.bars: dict[str, progress.TaskID] = {}

    def show(self, name: str, done: float, total: float, text: str = "") -> None:
        """Update the bar of this name, with a text next to it."""
        if name not in self.bars:
            self.bars[name] = self.add_task(printable(name), text=text, start_at=done)
        self.update(self.bars[name], completed=done, total=total, text=text)

    def stop(self) -> None:
        """Stop the display, without leaving an empty line if there is no bar."""
        if self.tasks:
            super().stop()
        else:
            self.live.stop()

    def counter(self, name: str, total: int) -> Callable[[int], None]:
        """Add a bar, and return the function that advances it."""
        return partial(self.advance, self.add_task(printable(name), total=total, start_at=0))


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """Shorten paths to distinct names, with the folder only if needed."""
    for parts in (1, 2):
        shown = {path: "/".join(Path(shown_name(path)).parts[-parts:]) for path in paths}
        if len(set(shown.values())) == len(shown):
            return shown
    return {path: shown_name(path) for path in paths}


def in_words(assignment: dict[str, bool]) -> str:
    """Describe an assignment in words."""
    return ", ".join(f"{v} {'true' if x else 'false'}" for v, x in assignment.items())
