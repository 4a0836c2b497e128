"""What the commands share: consoles, options, progress bars, tables, JSON and how they end."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

import possibleworlds
from possibleworlds.errors import printable

if TYPE_CHECKING:
    from possibleworlds.training.predictor import Network

width = None if sys.stdout.isatty() else 120
# What users give may hold square brackets, which are not to be taken for markup.
plain: dict[str, Any] = {"highlight": False, "emoji": False, "markup": False}
out = Console(soft_wrap=True, width=width, **plain)
err = Console(stderr=True, **plain)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Certify = Annotated[
    bool, typer.Option("--certify", help='Say "no" only with a countermodel that was checked.')
]


Worlds = Annotated[int | None, typer.Option(help="Worlds, if not those of the training.")]
Steps = Annotated[int | None, typer.Option(help="Steps that guided worlds move.")]


def cores() -> int:
    """How many processes this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Workers = Annotated[
    int,
    typer.Option(min=1, show_default="one a core", help="Processes to use."),
]
CORES = cores()
EngineOption = Annotated[
    Literal["local", "ray"],
    typer.Option("--engine", help="Processes of this machine, or a Ray cluster."),
]
Address = Annotated[
    str | None,
    typer.Option(help="Of the Ray cluster, if it is not the one of this machine."),
]


def fail(message: str) -> NoReturn:
    """Say what is wrong and exit with code 2."""
    shown = "\n".join(map(printable, message.split("\n")))
    err.print(f"error: {shown}", soft_wrap=True, markup=False)
    sys.exit(2)


def interrupted(advice: str) -> NoReturn:
    """Say how to go on after Ctrl-C and exit with the code for it."""
    err.print(f"interrupted; {advice}")
    raise typer.Exit(130)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Progress bars on standard error, with the time left."""
    with Progress(
        TextColumn("{task.description}", justify="right", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
    ) as progress:
        yield progress


def named_bars(progress: Progress) -> Callable[[str, int, int], None]:
    """What shows how much of something with a name is done, of how much, in a bar of its own."""
    bars: dict[str, TaskID] = {}

    def show(name: str, done: int, total: int) -> None:
        if name not in bars:
            bars[name] = progress.add_task(name)
        progress.update(bars[name], completed=done, total=total)

    return show


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, ensure_ascii=False))


def columns(first: str, *others: str) -> Table:
    """An empty table whose columns but the first are aligned to the right."""
    table = Table(box=None)
    table.add_column(Text(first))
    for name in others:
        table.add_column(Text(name), justify="right")
    return table


def in_words(assignment: dict[str, bool]) -> str:
    """An assignment for people."""
    return ", ".join(f"{v} {'true' if x else 'false'}" for v, x in assignment.items())


def new_group() -> typer.Typer:
    """Make the app of a group of commands, which the whole command line adds to itself."""
    return typer.Typer(rich_markup_mode="markdown")


def load_run(run: str, worlds: int | None, steps: int | None) -> "Network":
    """A trained network, with other numbers of worlds and steps where they are wanted."""
    import torch

    torch.set_num_threads(1)  # a second one gains nothing on pieces so small
    return possibleworlds.load(run).look_at(worlds, steps)
