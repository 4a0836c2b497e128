"""The command `possibleworlds report`."""

import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from possibleworlds.cli.console import CORES, Workers, err, interrupted, new_group, progress_bars
from possibleworlds.errors import UserError
from possibleworlds.parallel import StopRequestedError, stop_requested

if TYPE_CHECKING:
    from possibleworlds.experiments.evaluations import EvaluationTask

app = new_group()


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
    from possibleworlds.report.material import Material, ReportRequest
    from possibleworlds.report.report import pending_evaluations, write_report

    words = ["possibleworlds", "report", *map(str, folders), "--out", str(out)]
    words += [word for folder in data or [] for word in ("--data", str(folder))]
    request = ReportRequest(folders, data or [], shlex.join(words))
    if evaluate:
        material = Material(request)
        if not material.test_folders:
            raise UserError("--evaluate needs data to evaluate on: --data DIR")
        try:
            with stop_requested(signal.SIGINT, signal.SIGTERM) as stop:
                evaluate_with_progress(pending_evaluations(material), workers, stop)
        except StopRequestedError:
            interrupted("the same command, given again, goes on")
    page = write_report(request, out, lambda line: err.print(line, markup=False))
    err.print(f"written: {page}", markup=False, soft_wrap=True)


def evaluate_with_progress(
    tasks: "list[EvaluationTask]", workers: int, stop: Callable[[], bool]
) -> None:
    """Evaluate runs, with a progress bar."""
    from possibleworlds.report.report import evaluate

    with progress_bars() as progress:
        bar = progress.add_task("evaluating", total=len(tasks))
        evaluate(tasks, workers, stop, lambda done: progress.update(bar, completed=done))
