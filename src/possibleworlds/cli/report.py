"""The command `report`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from possibleworlds.cli import console
from possibleworlds.cli.console import Bars, log
from possibleworlds.errors import UserError
from possibleworlds.parallel import Stop
from possibleworlds.storage import atomic_write, exclusive_folder

if TYPE_CHECKING:
    from possibleworlds.report.material import ReportRequest
    from possibleworlds.training.evaluations import EvaluationTask

app = console.new_group()


@app.command()
def report(
    folders: Annotated[
        list[Path],
        Argument(metavar="RUNS", help="Folders with runs, a sweep, or pretrained networks."),
    ],
    out: Annotated[Path, Option(metavar="DIR", help="The folder of the report.")],
    data: Annotated[
        list[Path] | None, Option(metavar="DIR", help="Data to describe, and to evaluate on.")
    ] = None,
    evaluate: Annotated[
        bool, Option("--evaluate", help="First run the evaluations that are missing.")
    ] = False,
    workers: console.Workers = console.CORES,
) -> None:
    """Report the results of runs next to the paper's: one HTML page, Markdown and JSON.

    Every folder with a run.json, at any depth, is a run. If a network was trained with several
    settings, those with the best validation accuracy are shown. Data folders next to the runs are
    found without --data.

    Examples:

        possibleworlds report runs --out report

        possibleworlds report runs --out report --data data --data published --evaluate

        possibleworlds report treenet lstm --out report --data data --evaluate
    """
    from possibleworlds.report.material import Material, ReportRequest
    from possibleworlds.report.report import pending_evaluations

    words = ["possibleworlds", "report", *map(str, folders), "--out", str(out)]
    words += [word for folder in data or [] for word in ("--data", str(folder))]
    runs = [pretrained_copy(folder, out) or folder for folder in folders]
    request = ReportRequest(runs, data or [], shlex.join(words))
    if evaluate:
        material = Material(request)
        if not material.test_folders:
            raise UserError("--evaluate needs data to evaluate on: --data DIR")
        with console.stoppable("the same command, given again, continues") as stop:
            evaluate_with_progress(pending_evaluations(material), workers, stop)
    log(f"written: {write_pages(request, out)}")


def pretrained_copy(folder: Path, out: Path) -> Path | None:
    """Copy a pretrained network that was named into the report, where it may be evaluated.

    None for the folder of other runs. Nothing is ever written into the package itself.
    """
    from possibleworlds.training.checkpoint import RUN, SHIPPED, find_run

    is_shipped = SHIPPED in (folder.resolve(), *folder.resolve().parents)
    if not is_shipped and (folder.exists() or not (SHIPPED / folder / RUN).exists()):
        return None
    source = folder if is_shipped else find_run(str(folder))
    target = out / "pretrained" / source.name
    with exclusive_folder(target):
        for file in source.iterdir():
            with atomic_write(target / file.name, binary=True) as copy:
                copy.write(file.read_bytes())
    return target


def write_pages(request: "ReportRequest", out: Path) -> Path:
    """Write the report, and beside it the playground that it links to; give the report's page."""
    from possibleworlds.playground.page import save
    from possibleworlds.report.page import PLAYGROUND
    from possibleworlds.report.report import write_report

    page = write_report(request, out, log)
    save(out / PLAYGROUND)
    return page


def evaluate_with_progress(tasks: "list[EvaluationTask]", workers: int, stop: Stop) -> None:
    """Evaluate runs, with a progress bar."""
    from possibleworlds.report.report import evaluate_tasks

    with Bars(unit="evaluations") as bars:
        evaluate_tasks(tasks, workers, stop, lambda done: bars.show("evaluating", done, len(tasks)))
