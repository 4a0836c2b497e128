"""The commands `sweep` and `reproduce`."""

import json
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import TextColumn
from typer import Argument, Option

from possibleworlds.cli import console
from possibleworlds.cli.console import Bars
from possibleworlds.cli.report import evaluate_with_progress, write_pages
from possibleworlds.errors import UserError
from possibleworlds.report.page import duration
from possibleworlds.storage import exclusive_folder

if TYPE_CHECKING:
    from possibleworlds.experiments.reproduce import Reproduction

app = console.new_group()
Folders = Annotated[
    list[Path] | None, Option(metavar="FOLDER", help="Also evaluate on the files in this folder.")
]


@app.command()
def sweep(
    models: Annotated[
        list[str] | None,
        Argument(
            metavar="MODEL",
            help="Networks, or module:Class.",
            autocompletion=console.complete_network,
        ),
    ] = None,
    data: Annotated[Path | None, console.DATA] = None,
    folder: Annotated[
        Path | None, Option("--out", metavar="SWEEP", help="The folder of the sweep.")
    ] = None,
    budget: Annotated[
        str | None, Option(help="Core-hours for all networks together, or 100epochs; default 2h.")
    ] = None,
    grid: Annotated[
        Literal["paper"] | None, Option(help="The whole grid, instead of a budget.")
    ] = None,
    epochs: Annotated[
        float | None, Option(help="Length of a trial with --grid; default 10.")
    ] = None,
    test: Folders = None,
    seed: Annotated[
        int, Option(min=0, max=2**32, help="Seed of the sample and of the trials.")
    ] = 0,
    engine: console.EngineOption = "local",
    address: console.Address = None,
    workers: console.Workers = console.CORES,
    status: Annotated[
        Path | None, Option(metavar="SWEEP", help="Only show the progress of a sweep.")
    ] = None,
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
        from possibleworlds.cli.progress import show_status

        show_status(status)
        return
    if not models or data is None or folder is None:
        raise UserError("a sweep needs networks, --data and --out; or --status")
    if grid and budget:
        raise UserError("--grid paper runs the whole grid; it takes no --budget")
    if epochs is not None and not grid:
        raise UserError("--epochs is for --grid paper; give --budget 100epochs instead")

    from possibleworlds.cli import progress
    from possibleworlds.cli.progress import log_wrapped as log
    from possibleworlds.experiments import sweep as sweeps
    from possibleworlds.experiments.grid import Budget
    from possibleworlds.parallel.engines import make_engine

    tests = check_tests(test)
    models = list(dict.fromkeys(models))
    whole = None if grid else Budget.parse(budget or "2h")
    each = Budget(whole.amount / len(models), whole.unit) if whole else None
    request = sweeps.SearchRequest(each, sweeps.EPOCHS if epochs is None else epochs, seed)
    data, folder = data.resolve(), folder.resolve()
    runs_on = make_engine(engine, workers, address)
    try:
        log("reading the data")
        files = sweeps.files_to_evaluate(data, [path.resolve() for path in tests])
        with console.stoppable("the same command, given again, continues the sweep") as stop:
            requests = dict.fromkeys(models, request)
            with Bars(unit="settings") as bars:
                show_speed = partial(bars.show, "measuring speed")
                searches = sweeps.plan_searches(
                    folder, requests, data, runs_on, stop, log, show_speed
                )
            for search in searches:
                plan = progress.plan_in_words(search.plan)
                after = duration(search.seconds_to_evaluate(files))
                log(f"{search.model}: {plan}, then {after} to evaluate")
            works = [search.work_left({}) for search in searches]
            log(f"left to train: {progress.on_cores(works, runs_on.slots)}")
            with progress.live_table(searches, runs_on) as show:
                sweeps.run_searches(searches, data, files, runs_on, stop, log, show)
    finally:
        runs_on.stop()
    progress.show_status(folder)
    raise typer.Exit(not all(search.selection() for search in searches))


def check_tests(folders: list[Path] | None) -> list[Path]:
    """Give the folders of --test; raise UserError with a hint if one is missing."""
    for folder in folders or []:
        if not folder.exists():
            hint = f"`possibleworlds published {folder}` downloads the published sets"
            raise UserError(f"{folder}: No such file or directory; {hint}")
    return folders or []


@app.command()
def reproduce(
    preset: Annotated[
        Literal["tiny", "quick", "paper"],
        Option(help="A few seconds, a quarter of an hour, or the paper's sizes."),
    ] = "quick",
    folder: Annotated[
        Path, Option("--out", metavar="OUT", help="The folder of all results.")
    ] = Path("reproduction"),
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
        raise UserError(f"--preset {preset} has no search; --budget is for --preset paper")
    tests = check_tests(test)

    from possibleworlds.cli import progress
    from possibleworlds.cli.progress import log_wrapped as log
    from possibleworlds.experiments.grid import Budget
    from possibleworlds.experiments.presets import paper, quick, tiny
    from possibleworlds.experiments.reproduce import Reproduction
    from possibleworlds.parallel.engines import LocalEngine

    if preset == "paper":
        chosen = paper(Budget.parse(budget or "10h"))
    else:
        chosen = quick() if preset == "quick" else tiny()
    words = ["possibleworlds", "reproduce", "--preset", preset, "--out", str(folder)]
    words += ["--budget", budget] if budget else []
    words += [word for path in tests for word in ("--test", str(path))]
    request = {"preset": preset, "budget": budget, "tests": [str(p.resolve()) for p in tests]}
    engine = LocalEngine(workers)
    try:
        with console.stoppable("the same command, given again, continues") as stop:
            work = Reproduction(chosen, folder.resolve(), tests, engine, stop, log)
            with exclusive_folder(folder):
                work.begin(request)
                page, failures = run_reproduction(work, shlex.join(words))
    finally:
        engine.stop()
    progress.print_results(json.loads((page.parent / "report.json").read_text(encoding="utf-8")))
    for line in (*failures, f"written: {page}"):
        log(line)
    raise typer.Exit(bool(failures))


def run_reproduction(work: "Reproduction", command: str) -> tuple[Path, list[str]]:
    """Make the data, search, train, evaluate and report; give the page, and what failed."""
    from possibleworlds.cli import progress
    from possibleworlds.cli.progress import log_wrapped as log
    from possibleworlds.report.material import Material, ReportRequest
    from possibleworlds.report.report import pending_evaluations

    with Bars() as bars:
        work.make_data(bars.show)
    log("data generated and verified; planning")
    with Bars(unit="settings") as bars:
        lengths = work.expected_seconds(partial(bars.show, "measuring speed"))
        searches = work.plan_search(partial(bars.show, "of the search"))
    lengths |= work.add_twins(searches)
    works = [search.work_left({}) for search in searches]
    twins = [search.plan.seconds_each(-1) for search in searches if search.pending()]
    works.append([[*work.work_left(lengths), *twins]])
    slots = work.engine.slots
    log(f"left to train: {progress.on_cores(works, slots)}, then evaluations and the report")
    if searches:
        with progress.live_table(searches, work.engine) as show:
            work.search(searches, show)
    lengths |= work.add_twins(searches)
    with Bars(TextColumn("{task.fields[text]}"), left=False) as bars:

        def show_runs(done: int, total: int, seconds: float) -> None:
            text = f"{done} of {total} runs, about {duration(seconds)} left"
            bars.show("training", done, total, text)

        work.train(lengths, show_runs)
    request = ReportRequest([work.out], work.test_folders, command, work.preset.note)
    evaluate_with_progress(pending_evaluations(Material(request)), slots, work.stop)
    return write_pages(request, work.out / "report"), work.failures(searches)
