"""The commands `sweep` and `reproduce`."""

import json
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from possibleworlds.cli import console
from possibleworlds.cli.console import Bars, log
from possibleworlds.cli.report import evaluate_with_progress, write_pages
from possibleworlds.errors import UserError, printable
from possibleworlds.paper import SPLITS
from possibleworlds.parallel import stop_requested
from possibleworlds.report.page import duration
from possibleworlds.storage import exclusive_folder

if TYPE_CHECKING:
    from possibleworlds.experiments.grid import Plan
    from possibleworlds.experiments.sweep import Search
    from possibleworlds.experiments.trials import Progress
    from possibleworlds.parallel.engines import Engine

app = console.new_group()
BEST_TRIALS = 3
"""How many of the best trials of a network the live table shows."""
Folders = Annotated[list[Path] | None, Option(metavar="FOLDER", help="Evaluate on these, too.")]


@app.command()
def sweep(
    models: Annotated[
        list[str] | None, Argument(metavar="MODEL...", help="Networks, or module:Class.")
    ] = None,
    data: Annotated[
        Path | None, Option(metavar="DIR", help="Has train.txt and validate.txt.")
    ] = None,
    folder: Annotated[
        Path | None, Option("--out", metavar="SWEEP", help="The folder of the sweep.")
    ] = None,
    budget: Annotated[
        str | None, Option(help="Core-hours for all the networks, or 100epochs; else 2h.")
    ] = None,
    grid: Annotated[
        Literal["paper"] | None, Option(help="The whole grid, instead of a budget.")
    ] = None,
    epochs: Annotated[
        float | None, Option(help="Length of a trial of the whole grid; else 10.")
    ] = None,
    test: Folders = None,
    seed: Annotated[int, Option(min=0, max=2**32, help="Of the sample and trials.")] = 0,
    engine: console.EngineName = "local",
    address: console.Address = None,
    workers: console.Workers = console.CORES,
    status: Annotated[
        Path | None, Option(metavar="SWEEP", help="Only show the progress of a sweep.")
    ] = None,
) -> None:
    """Search the paper's grid for each network, by successive halving or in full.

    Settings are selected on validate.txt alone; the selected ones are trained with three seeds and
    evaluated on every file beside it. Trials are never run twice, and those of an interrupted
    sweep continue where they were: give the same command again.

    Examples:

        possibleworlds sweep treenet treelstm --data data --out sweep --budget 4h

        possibleworlds sweep --status sweep
    """
    if status:
        show_status(status)
        return
    if not models or data is None or folder is None:
        raise UserError("a sweep needs networks, --data and --out; or --status")
    if grid and budget:
        raise UserError("--grid paper runs all of the grid; a --budget makes no sense with it")
    if epochs is not None and not grid:
        raise UserError("--epochs is for --grid paper; give --budget 100epochs instead")

    from possibleworlds.experiments import sweep as sweeps
    from possibleworlds.experiments.grid import Budget
    from possibleworlds.parallel.engines import make_engine

    models = list(dict.fromkeys(models))
    whole = None if grid else Budget.parse(budget or "2h")
    each = Budget(whole.amount / len(models), whole.unit) if whole else None
    request = sweeps.SearchRequest(each, sweeps.EPOCHS if epochs is None else epochs, seed)
    data, folder = data.resolve(), folder.resolve()
    files = sweeps.files_to_evaluate(data, [path.resolve() for path in test or []])
    runs_on = make_engine(engine, workers, address)
    try:
        with (
            console.resumable("the same command, given again, continues the sweep"),
            stop_requested(signal.SIGINT, signal.SIGTERM) as stop,
        ):
            requests = dict.fromkeys(models, request)
            searches = sweeps.plan_searches(folder, requests, data, runs_on, stop, log)
            for search in searches:
                after = duration(search.seconds_to_evaluate(files))
                log(f"{search.model}: {in_words(search.plan)}, then {after} to evaluate")
            left = sum(search.seconds_left({}) for search in searches)
            log(f"left to train: {on_cores(left, runs_on.slots)}")
            with live_table(searches, runs_on) as show:
                sweeps.run(searches, data, files, runs_on, stop, log, show)
    finally:
        runs_on.stop()
    show_status(folder)
    raise typer.Exit(not all(search.selection() for search in searches))


@contextmanager
def live_table(searches: "list[Search]", engine: "Engine") -> Iterator[Callable[[], None]]:
    """Show a table of trials on a terminal; yields the function that updates it."""
    with Live(console=console.err, auto_refresh=False, transient=True) as live:

        def show() -> None:
            if console.err.is_terminal:
                live.update(status_table(searches, engine.slots), refresh=True)

        yield show


@app.command()
def reproduce(
    preset: Annotated[
        Literal["quick", "paper"], Option(help="A quarter of an hour, or the paper's sizes.")
    ] = "quick",
    folder: Annotated[
        Path, Option("--out", metavar="OUT", help="The folder of all results.")
    ] = Path("reproduction"),
    budget: Annotated[
        str | None, Option(help="Core-hours of the search with --preset paper; else 10h.")
    ] = None,
    test: Folders = None,
    workers: console.Workers = console.CORES,
) -> None:
    """Run all of the paper: generate, verify, train twelve networks, evaluate, report.

    Ctrl-C loses nothing: the same command, given again, continues. Training data are pruned against
    the files of --test.

    Examples:

        possibleworlds reproduce

        possibleworlds reproduce --preset paper --budget 20h --out paper --test published
    """
    if budget and preset == "quick":
        raise UserError("a quick run has no search; --budget is for --preset paper")

    from possibleworlds.experiments.grid import Budget
    from possibleworlds.experiments.presets import paper, quick
    from possibleworlds.experiments.reproduce import Reproduction
    from possibleworlds.parallel.engines import LocalEngine
    from possibleworlds.report.material import Material, ReportRequest
    from possibleworlds.report.report import pending_evaluations

    chosen = paper(Budget.parse(budget or "10h")) if preset == "paper" else quick()
    words = ["possibleworlds", "reproduce", "--preset", preset, "--out", str(folder)]
    words += ["--budget", budget] if budget else []
    words += [word for path in test or [] for word in ("--test", str(path))]
    engine = LocalEngine(workers)
    try:
        with console.resumable("the same command, given again, continues"), ExitStack() as entered:
            stop = entered.enter_context(stop_requested(signal.SIGINT, signal.SIGTERM))
            work = Reproduction(chosen, folder.resolve(), test or [], engine, stop, log)
            entered.enter_context(exclusive_folder(folder))
            tests = [str(path.resolve()) for path in test or []]
            work.begin({"preset": preset, "budget": budget, "tests": tests})
            with Bars() as bars:
                work.make_data(bars.show)
            log("data generated and verified; planning")
            lengths, searches = work.expected_seconds(), work.plan_search()
            lengths |= work.add_twins(searches)
            left = sum(lengths.values()) + sum(
                search.seconds_left({}) + search.plan.seconds_each(-1)
                for search in searches
                if search.pending()
            )
            log(f"left to train: {on_cores(left, workers)}; evaluations and the report come on top")
            if searches:
                with live_table(searches, engine) as show:
                    work.search(searches, show)
            lengths |= work.add_twins(searches)
            with Bars() as bars:
                total = round(sum(lengths.values()))
                work.train(lengths, lambda done: bars.show("training", round(done), total))
            request = ReportRequest([work.out], work.test_folders, shlex.join(words), chosen.note)
            evaluate_with_progress(pending_evaluations(Material(request)), workers, stop)
            page = write_pages(request, work.out / "report")
            failures = work.failures(searches)
    finally:
        engine.stop()
    print_results(json.loads((page.parent / "report.json").read_text(encoding="utf-8")))
    for line in (*failures, f"written: {page}"):
        log(line)
    raise typer.Exit(bool(failures))


def print_results(report: dict[str, Any]) -> None:
    """Print the results of a report, and the paper's beside them."""
    lines = []
    for row in report["results"]:
        name = row["model"]
        for source, accuracies in row["accuracy"].items():
            means = {split: value["mean"] for split, value in accuracies.items()}
            lines.append((name, source, *(percent(means.get(split, 0.0)) for split in SPLITS)))
            name = ""
        if row["paper"]:
            lines.append(("", "the paper", *map(percent, row["paper"].values())))
    splits = (split.removeprefix("test_") for split in SPLITS)
    console.print_table(("network", "on", *splits), lines)


def on_cores(seconds: float, cores: int) -> str:
    """Write a time of one core, and the same on several."""
    return f"{duration(seconds)} of one core, {duration(seconds / cores)} on {cores}"


def in_words(plan: "Plan") -> str:
    """Write what a plan will run, and how long that takes."""
    points = sum(bool(candidate.overrides) for candidate in plan.candidates)
    first = ["the defaults"] * (points < len(plan.candidates))
    first += [f"{points:,} of {plan.grid_size:,} settings"] * bool(points)
    parts = []
    for number, rung in enumerate(plan.rungs):
        candidates = f"the best {rung.candidates}" if number else " and ".join(first)
        seeds = f" with {rung.seeds} seeds" if rung.seeds > 1 else ""
        parts.append(f"{candidates}{seeds}, {duration(plan.seconds_each(number))} each")
    total = sum(plan.seconds(number) for number in range(len(plan.rungs)))
    return f"{'; '.join(parts)}; {duration(total)} of one core"


def show_status(folder: Path) -> None:
    """Print the progress of a sweep."""
    from possibleworlds.experiments.sweep import read_searches

    console.out.print(status_table(read_searches(folder), None))


def status_table(searches: "list[Search]", slots: int | None) -> Table:
    """Make a line for each network and each of its trials; on an engine with slots, the best."""
    from possibleworlds.experiments.trials import running_trials

    rows: list[tuple[str | Text, ...]] = []
    at_work = running_trials(searches[0].sweep)
    fractions = {name: progress.fraction for name, progress in at_work.items()}
    for search in searches:
        due, total = len(search.pending()), len(search.rungs[-1])
        rung = f"rung {len(search.rungs)} of {len(search.plan.rungs)}"
        left = duration(search.seconds_left(fractions) / (slots or max(1, len(fractions))))
        name = Text(printable(search.model), style="bold")
        rows.append((name, rung, f"{total - due} of {total}", "", left))
        rows += trial_lines(search, at_work, BEST_TRIALS if slots else None)
    return console.make_table(("trial", "settings", "progress", "validation", "time left"), rows)


def trial_lines(
    search: "Search", at_work: "dict[str, Progress]", most: int | None
) -> list[tuple[str, ...]]:
    """List the trials that have begun: running ones, then the others of each rung, best first."""
    selection = search.selection()
    selected = selection.seeds if selection else {}
    running: list[tuple[str, ...]] = []
    ended: list[tuple[str, ...]] = []
    for number, rung in reversed(list(enumerate(search.rungs))):
        lines = []
        for name, (candidate, trial) in rung.items():
            progress, result = at_work.get(name), search.results.get(name)
            chosen = search.plan.candidates[candidate]
            changed = [f"{k}={v}" for k, v in chosen.overrides.items() if v != search.plan.base[k]]
            settings = f"{' '.join(changed) or 'defaults'} seed={trial.seed}"
            if progress:
                left = duration(chosen.seconds[number] * (1 - progress.fraction))
                shown = f"{progress.fraction:.0%}"
                if progress.evaluating:
                    shown, left = f"evaluating {progress.evaluating}", ""
                accuracy = result.validation if result else progress.validation
                running.append((name, settings, shown, percent(accuracy), left))
            elif result:
                shown = "selected" if name in selected else f"done, rung {number + 1}"
                shown = f"failed: {result.failure}" if result.failure else shown
                line = name, settings, shown, percent(result.validation), ""
                lines.append((result.validation, line))
        ended += [line for _, line in sorted(lines, key=lambda pair: -pair[0])]
    return running + ended[:most]


def percent(accuracy: float) -> str:
    """Write an accuracy, if it is known."""
    return f"{accuracy:.2%}" if accuracy > 0 else ""
