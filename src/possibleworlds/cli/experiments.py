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

from possibleworlds.cli.console import (
    CORES,
    Address,
    EngineOption,
    Workers,
    columns,
    err,
    interrupted,
    named_bars,
    new_group,
    out,
    progress_bars,
)
from possibleworlds.cli.report import evaluate_with_progress
from possibleworlds.errors import UserError
from possibleworlds.paper import SPLITS
from possibleworlds.parallel import StopRequestedError, stop_requested
from possibleworlds.report.page import duration
from possibleworlds.storage import exclusive_folder

if TYPE_CHECKING:
    from possibleworlds.experiments.engines import Engine
    from possibleworlds.experiments.grid import Plan
    from possibleworlds.experiments.sweep import Search
    from possibleworlds.experiments.trials import Progress

app = new_group()
SHOWN = 3
"""How many of the best trials of a network the live table shows."""


@app.command()
def sweep(
    models: Annotated[
        list[str] | None, typer.Argument(metavar="MODEL...", help="Networks, or module:Class.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Has train.txt and validate.txt.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="SWEEP", help="The folder of the sweep.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Core-hours for all the networks, or 100epochs; else 2h."),
    ] = None,
    grid: Annotated[
        Literal["paper"] | None, typer.Option(help="The whole grid, instead of a budget.")
    ] = None,
    epochs: Annotated[
        float | None, typer.Option(help="How long a trial of the whole grid is; else 10.")
    ] = None,
    test: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Evaluate what is selected on these files, too."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32, help="Of the sample and trials.")] = 0,
    engine: EngineOption = "local",
    address: Address = None,
    workers: Workers = CORES,
    status: Annotated[
        Path | None, typer.Option(metavar="SWEEP", help="Only show how a sweep is getting on.")
    ] = None,
) -> None:
    """Search the paper's grid for each network, by successive halving or in full.

    Settings are selected on validate.txt alone; what is selected is trained with three seeds and
    evaluated on every file beside it. Trials are never run twice, and those of an interrupted
    sweep go on where they were: give the same command again.

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

    from possibleworlds.experiments.engines import make_engine
    from possibleworlds.experiments.grid import Budget
    from possibleworlds.experiments.sweep import (
        EPOCHS,
        SearchRequest,
        files_to_evaluate,
        plan_searches,
        run,
    )

    models = list(dict.fromkeys(models))
    whole = None if grid else Budget.parse(budget or "2h")
    each = Budget(whole.amount / len(models), whole.unit) if whole else None
    request = SearchRequest(each, EPOCHS if epochs is None else epochs, seed)
    data, folder = data.resolve(), folder.resolve()
    files = files_to_evaluate(data, [path.resolve() for path in test or []])
    runs_on = make_engine(engine, workers, address)
    try:
        with stop_requested(signal.SIGINT, signal.SIGTERM) as stop:
            requests = dict.fromkeys(models, request)
            searches = plan_searches(folder, requests, data, runs_on, stop, say)
            for search in searches:
                after = duration(search.seconds_to_evaluate(files))
                say(f"{search.model}: {in_words(search.plan)}, then {after} to evaluate")
            left = sum(search.seconds_left({}) for search in searches)
            say(f"left to train: {on_cores(left, runs_on.slots)}")
            with live_table(searches, runs_on) as show:
                run(searches, data, files, runs_on, stop, say, show)
    except StopRequestedError:
        interrupted("the same command, given again, goes on with the sweep")
    finally:
        runs_on.stop()
    show_status(folder)
    raise typer.Exit(not all(search.selection() for search in searches))


@contextmanager
def live_table(searches: "list[Search]", engine: "Engine") -> Iterator[Callable[[], None]]:
    """A table of trials on a terminal, and what brings it up to date."""
    with Live(console=err, auto_refresh=False, transient=True) as live:

        def show() -> None:
            if err.is_terminal:
                live.update(table(searches, engine.slots), refresh=True)

        yield show


@app.command()
def reproduce(
    preset: Annotated[
        Literal["quick", "paper"], typer.Option(help="A quarter of an hour, or the paper's sizes.")
    ] = "quick",
    folder: Annotated[
        Path, typer.Option("--out", metavar="OUT", help="The folder of all that is made.")
    ] = Path("reproduction"),
    budget: Annotated[
        str | None,
        typer.Option(help="Of the search with --preset paper, in core-hours; else 10h."),
    ] = None,
    test: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Prune against these files, and evaluate on them."),
    ] = None,
    workers: Workers = CORES,
) -> None:
    """Run all of the paper: generate, verify, train twelve networks, evaluate, report.

    Ctrl-C loses nothing: the same command, given again, goes on.

    Examples:

        possibleworlds reproduce

        possibleworlds reproduce --preset paper --budget 20h --out paper --test published
    """
    if budget and preset == "quick":
        raise UserError("a quick run has no search; --budget is for --preset paper")

    from possibleworlds.experiments.engines import LocalEngine
    from possibleworlds.experiments.grid import Budget
    from possibleworlds.experiments.presets import paper, quick
    from possibleworlds.experiments.reproduce import Reproduction
    from possibleworlds.report.material import Material, ReportRequest
    from possibleworlds.report.report import pending_evaluations, write_report

    chosen = paper(Budget.parse(budget or "10h")) if preset == "paper" else quick()
    words = ["possibleworlds", "reproduce", "--preset", preset, "--out", str(folder)]
    words += ["--budget", budget] if budget else []
    words += [word for path in test or [] for word in ("--test", str(path))]
    engine = LocalEngine(workers)
    try:
        with ExitStack() as entered:
            stop = entered.enter_context(stop_requested(signal.SIGINT, signal.SIGTERM))
            work = Reproduction(chosen, folder.resolve(), test or [], engine, stop, say)
            entered.enter_context(exclusive_folder(folder))
            tests = [str(path.resolve()) for path in test or []]
            work.begin({"preset": preset, "budget": budget, "tests": tests})
            with progress_bars() as progress:
                work.make_data(named_bars(progress))
            say("data generated and verified; planning")
            lengths, searches = work.expected_seconds(), work.plan_search()
            lengths |= work.add_twins(searches)
            left = sum(lengths.values()) + sum(
                search.seconds_left({}) + search.plan.seconds_each(-1)
                for search in searches
                if search.pending()
            )
            say(f"left to train: {on_cores(left, workers)}; evaluations and the report come on top")
            if searches:
                with live_table(searches, engine) as show:
                    work.search(searches, show)
            lengths |= work.add_twins(searches)
            with progress_bars() as progress:
                bar = progress.add_task("training", total=round(sum(lengths.values())))
                work.train(lengths, lambda done: progress.update(bar, completed=round(done)))
            request = ReportRequest([work.out], work.test_folders, shlex.join(words), chosen.note)
            evaluate_with_progress(pending_evaluations(Material(request)), workers, stop)
            page = write_report(request, work.out / "report", say)
            failures = work.failures(searches)
    except StopRequestedError:
        interrupted("the same command, given again, goes on")
    finally:
        engine.stop()
    print_results(json.loads((page.parent / "report.json").read_text(encoding="utf-8")))
    for line in failures:
        say(line)
    say(f"written: {page}")
    raise typer.Exit(bool(failures))


def print_results(report: dict[str, Any]) -> None:
    """The results of a report, as a table: ours, and the paper's beside them."""
    found = columns("network", "on", *(split.removeprefix("test_") for split in SPLITS))
    for row in report["results"]:
        name = row["model"]
        for source, accuracies in row["accuracy"].items():
            means = {split: value["mean"] for split, value in accuracies.items()}
            found.add_row(name, source, *(percent(means.get(split, 0.0)) for split in SPLITS))
            name = ""
        if row["paper"]:
            found.add_row("", "the paper", *map(percent, row["paper"].values()))
    out.print(found)


def say(line: str) -> None:
    """Tell people something."""
    err.print(Text(line), soft_wrap=True)


def on_cores(seconds: float, cores: int) -> str:
    """A time of one core, and what that is on several."""
    return f"{duration(seconds)} of one core, {duration(seconds / cores)} on {cores}"


def in_words(plan: "Plan") -> str:
    """What a plan will run, and how long that takes."""
    parts = []
    for number, rung in enumerate(plan.rungs):
        who = f"the best {rung.candidates}" if number else starting(plan)
        seeds = f" with {rung.seeds} seeds" if rung.seeds > 1 else ""
        parts.append(f"{who}{seeds}, {duration(plan.seconds_each(number))} each")
    total = sum(plan.seconds(number) for number in range(len(plan.rungs)))
    return f"{'; '.join(parts)}; {duration(total)} of one core"


def starting(plan: "Plan") -> str:
    """What a plan begins with: the defaults and points of the grid, or all of these."""
    chosen = sum(bool(candidate.overrides) for candidate in plan.candidates)
    points = f"{chosen:,} of {plan.grid_size:,} settings" if chosen else ""
    defaults = "the defaults" if chosen < len(plan.candidates) else ""
    return " and ".join(filter(None, (defaults, points)))


def show_status(folder: Path) -> None:
    """Print how a sweep is getting on."""
    from possibleworlds.experiments.sweep import read_searches

    out.print(table(read_searches(folder), None))


def table(searches: "list[Search]", slots: int | None) -> Table:
    """A line for each network and each of its trials; where slots are given, the best alone."""
    from possibleworlds.experiments.trials import running_trials

    found = columns("trial", "settings", "progress", "validation", "time left")
    at_work = running_trials(searches[0].sweep)
    shares = {name: progress.fraction for name, progress in at_work.items()}
    for search in searches:
        due = search.pending()
        done = len(search.rungs[-1]) - len(due)
        where = f"rung {len(search.rungs)} of {len(search.plan.rungs)}"
        left = search.seconds_left(shares)
        wait = duration(left / (slots or max(1, len(shares))))
        found.add_row(
            Text(search.model, style="bold"), where, f"{done} of {done + len(due)}", "", wait
        )
        for line in lines(search, at_work, SHOWN if slots else None):
            found.add_row(*(Text(cell) for cell in line))
    return found


def lines(
    search: "Search", at_work: "dict[str, Progress]", best: int | None
) -> list[tuple[str, str, str, str, str]]:
    """The trials that have begun: those at work, then the others of each rung, best first."""
    selection = search.selection()
    selected = selection.seeds if selection else {}
    working, ended = [], []
    for number, rung in reversed(list(enumerate(search.rungs))):
        of_rung = []
        for name, (candidate, trial) in rung.items():
            said, result = at_work.get(name), search.results.get(name)
            if not said and not result:
                continue
            chosen = search.plan.candidates[candidate]
            given = [f"{k}={v}" for k, v in chosen.overrides.items() if v != search.plan.base[k]]
            settings = f"{' '.join(given) or 'defaults'} seed={trial.seed}"
            if said:
                share = said.fraction
                shown = f"evaluating {said.evaluating}" if said.evaluating else ""
                left = "" if shown else duration(chosen.seconds[number] * (1 - share))
                accuracy = result.validation if result else said.validation
                working.append((name, settings, shown or f"{share:.0%}", percent(accuracy), left))
            elif result:
                shown = "selected" if name in selected else f"done, rung {number + 1}"
                shown = f"failed: {result.failure}" if result.failure else shown
                line = (name, settings, shown, percent(result.validation), "")
                of_rung.append((result.validation, line))
        of_rung.sort(key=lambda pair: -pair[0])
        ended += [line for _, line in of_rung]
    return working + ended[:best]


def percent(accuracy: float) -> str:
    """An accuracy, if it is known."""
    return f"{accuracy:.2%}" if accuracy > 0 else ""
