"""The command `possibleworlds report`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from possibleworlds.cli import CORES, Workers, app, err


@app.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUNS...", help="Folders with runs, or a sweep.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the report.")],
    data: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Data to describe, and to evaluate on.")
    ] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Evaluate on the data what was not, first.")
    ] = False,
    workers: Workers = CORES,
) -> None:
    """Report what runs have learnt, beside the paper: one HTML page, Markdown and JSON.

    Every folder with a run.json, at any depth, is a run. Of several runs of a network those count
    that are best on validation. Data folders among the runs need not be given.

    Examples:

        possibleworlds report runs --out report

        possibleworlds report runs --out report --data data --data published --evaluate
    """
    from possibleworlds.experiments.report import Wanted, write_report

    words = ["possibleworlds", "report", *map(str, folders), "--out", str(out)]
    words += [word for folder in data or [] for word in ("--data", str(folder))]
    wanted = Wanted(folders, data or [], shlex.join(words))
    page = write_report(
        wanted, out, workers if evaluate else 0, lambda line: err.print(line, markup=False)
    )
    err.print(f"written: {page}", markup=False, soft_wrap=True)
