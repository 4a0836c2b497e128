"""The commands `sweep`, `reproduce` and `report`."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from possibleworlds.cli import console
from possibleworlds.errors import UserError
from possibleworlds.training.checkpoint import pretrained_copy

app = typer.Typer(rich_markup_mode="markdown")
Folders = Annotated[
    list[Path] | None, Option(metavar="FOLDER", help="Also evaluate on the files in this folder.")
]


@app.command()
def sweep(
    models: Annotated[list[str] | None, console.MODEL] = None,
    data: Annotated[Path | None, console.DATA] = None,
    out: Annotated[Path | None, Option(metavar="SWEEP", help="The folder of the sweep.")] = None,
    budget: Annotated[
        str | None, Option(help="Core-hours for all networks together, or 100epochs; default 2h.")
    ] = None,
    grid: Annotated[Literal["paper"] | None, Option(help="The whole grid; no budget.")] = None,
    epochs: Annotated[float | None, Option(help="Length of a trial of --grid; default 10.")] = None,
    test: Folders = None,
    seed: Annotated[int, Option(min=0, max=2**32, help="Seed of the sample and the trials.")] = 0,
    engine: console.EngineOption = "local",
    address: console.Address = None,
    workers: console.Workers = console.CORES,
    status: Annotated[
        Path | None, Option(metavar="SWEEP", help="Show the progress of a sweep.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Search the paper's grid for each network, by successive halving or in full.

    Settings are selected on validate.txt alone. The selected ones are trained with three seeds and
    evaluated on every file in the folder but train.txt. To continue an interrupted sweep, repeat
    the command.

    Examples:

        possibleworlds sweep treenet treelstm --data data --out sweep --budget 4h

        possibleworlds sweep --status sweep
    """
    if status:
        if models or any(o is not None for o in (data, out, budget, grid, epochs, test)):
            raise UserError(
                "--status shows a sweep that exists; of the others it takes only --json"
            )

        from possibleworlds.cli import progress

        progress.show_status(status, as_json)
        return
    if not models or data is None or out is None:
        raise UserError("a sweep needs networks, --data and --out; or --status")
    if grid and budget:
        raise UserError("--grid paper runs the whole grid; it takes no --budget")
    if epochs is not None and not grid:
        raise UserError("--epochs is for --grid paper; give --budget 100epochs instead")

    from possibleworlds.cli import progress
    from possibleworlds.experiments.grid import EPOCHS, Budget, SearchRequest
    from possibleworlds.parallel.engines import make_engine

    tests = check_tests(test)
    models = list(dict.fromkeys(models))
    total = None if grid else Budget.parse(budget or "2h")
    share = Budget(total.amount / len(models), total.unit) if total else None
    request = SearchRequest(share, EPOCHS if epochs is None else epochs, seed)
    requests, backend = dict.fromkeys(models, request), make_engine(engine, workers, address)
    failed = progress.run_sweep(requests, data.resolve(), out.resolve(), tests, backend)
    progress.show_status(out, as_json)
    raise typer.Exit(failed)


def check_tests(folders: list[Path] | None) -> list[Path]:
    """Return the folders of --test; raise UserError with a hint if one is missing."""
    for folder in folders or []:
        if not folder.exists():
            hint = f"`possibleworlds published {folder}` downloads the published sets"
            raise UserError(f"{folder}: No such file or directory; {hint}")
    return folders or []


@app.command()
def reproduce(
    preset: Annotated[
        Literal["tiny", "quick", "paper"],
        Option(help="A few seconds, about ten minutes, or the paper's sizes."),
    ] = "quick",
    out: Annotated[Path, Option(metavar="OUT", help="The folder of all results.")] = Path(
        "reproduction"
    ),
    budget: Annotated[
        str | None, Option(help="Core-hours for the search with --preset paper; default 10h.")
    ] = None,
    test: Folders = None,
    workers: console.Workers = console.CORES,
) -> None:
    """Run the whole paper: generate, verify, train twelve networks, evaluate, report.

    To continue after Ctrl-C, repeat the command. Training data are pruned against the files of
    --test.

    Examples:

        possibleworlds reproduce

        possibleworlds reproduce --preset paper --budget 20h --out paper --test published
    """
    if budget and preset != "paper":
        raise UserError("--budget is only for --preset paper")
    tests = check_tests(test)

    from possibleworlds.cli import progress
    from possibleworlds.experiments import presets
    from possibleworlds.experiments.grid import Budget

    if preset == "paper":
        chosen = presets.paper(Budget.parse(budget or "10h"))
    else:
        chosen = presets.quick() if preset == "quick" else presets.tiny()
    command = ["possibleworlds", "reproduce", "--preset", preset, "--out", str(out)]
    command += ["--budget", budget] if budget else []
    command += [word for path in tests for word in ("--test", str(path))]
    request = {"preset": preset, "budget": budget, "tests": [str(p.resolve()) for p in tests]}
    failed = progress.run_reproduction(chosen, out, tests, workers, request, shlex.join(command))
    raise typer.Exit(failed)


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
    evaluate: Annotated[bool, Option("--evaluate", help="First run missing evaluations.")] = False,
    workers: console.Workers = console.CORES,
    trust: console.Trust = False,
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
    from possibleworlds.cli import progress
    from possibleworlds.report.material import ReportRequest

    command = ["possibleworlds", "report", *map(str, folders), "--out", str(out)]
    command += [word for folder in data or [] for word in ("--data", str(folder))]
    runs = [pretrained_copy(folder, out) or folder for folder in folders]
    request = ReportRequest(runs, data or [], shlex.join(command), trust=trust)
    if evaluate:
        with console.stoppable("the same command, given again, continues") as stop:
            progress.evaluate_runs(request, workers, stop)
    console.log(f"written: {progress.write_pages(request, out)}")
