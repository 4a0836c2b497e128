"""The commands `sweep` and `reproduce`."""

import json
import shlex
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group
from rich.live import Live
from rich.progress import TextColumn
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from possibleworlds.cli import console
from possibleworlds.cli.console import Bars
from possibleworlds.cli.report import evaluate_with_progress, write_pages
from possibleworlds.errors import UserError, printable
from possibleworlds.paper import SPLITS
from possibleworlds.report.page import duration
from possibleworlds.storage import exclusive_folder

if TYPE_CHECKING:
    from possibleworlds.experiments.grid import Plan
    from possibleworlds.experiments.reproduce import Reproduction
    from possibleworlds.experiments.sweep import Search
    from possibleworlds.experiments.trials import Progress
    from possibleworlds.parallel.engines import Engine

app = console.new_group()
BEST_TRIALS = 3
"""How many of the best trials of a network the live table shows."""
Folders = Annotated[
    list[Path] | None, Option(metavar="FOLDER", help="Also evaluate on the files in this folder.")
]


@app.command()
def sweep(
    models: Annotated[
        list[str] | None, Argument(metavar="MODEL", help="Networks, or module:Class.")
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
    engine: console.EngineName = "local",
    address: console.Address = None,
    workers: console.Workers = console.CORES,
    status: Annotated[
        Path | None, Option(metavar="SWEEP", help="Only show the progress of a sweep.")
    ] = None,
) -> None:
    """Search the paper's grid for each network, by successive halving or in full.

    Settings are selected on validate.txt alone. The selected ones are trained with three seeds and
    evaluated on every other file in the folder. To continue an interrupted sweep, repeat the
    command.

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

    tests = check_tests(test)
    models = list(dict.fromkeys(models))
    whole = None if grid else Budget.parse(budget or "2h")
    each = Budget(whole.amount / len(models), whole.unit) if whole else None
    request = sweeps.SearchRequest(each, sweeps.EPOCHS if epochs is None else epochs, seed)
    data, folder = data.resolve(), folder.resolve()
    files = sweeps.files_to_evaluate(data, [path.resolve() for path in tests])
    runs_on = make_engine(engine, workers, address)
    try:
        with console.stoppable("the same command, given again, continues the sweep") as stop:
            requests = dict.fromkeys(models, request)
            searches = sweeps.plan_searches(folder, requests, data, runs_on, stop, log)
            for search in searches:
                after = duration(search.seconds_to_evaluate(files))
                log(f"{search.model}: {in_words(search.plan)}, then {after} to evaluate")
            works = [search.work_left({}) for search in searches]
            log(f"left to train: {on_cores(works, runs_on.slots)}")
            with live_table(searches, runs_on) as show:
                sweeps.run(searches, data, files, runs_on, stop, log, show)
    finally:
        runs_on.stop()
    show_status(folder)
    raise typer.Exit(not all(search.selection() for search in searches))


def check_tests(folders: list[Path] | None) -> list[Path]:
    """Give the folders of --test; raise UserError with a hint if one is missing."""
    for folder in folders or []:
        if not folder.exists():
            hint = f"`possibleworlds published {folder}` downloads the published sets"
            raise UserError(f"{folder}: No such file or directory; {hint}")
    return folders or []


@contextmanager
def live_table(searches: "list[Search]", engine: "Engine") -> Iterator[Callable[[], None]]:
    """Show a table of trials on a terminal; yields the function that updates it."""
    from possibleworlds.experiments.scheduler import TimeLeft
    from possibleworlds.experiments.trials import running_trials

    time_left = TimeLeft()
    with Live(console=console.err, auto_refresh=False, transient=True) as live:

        def show() -> None:
            running = running_trials(searches[0].sweep)
            works = [search.work_left(running) for search in searches]
            seconds = time_left(works, engine.slots, len(running))
            if console.err.is_terminal:
                title = f"about {duration(seconds)} left to train"
                table = status_table(searches, BEST_TRIALS)
                live.update(Group(table, title), refresh=True)

        yield show


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
        raise UserError(f"a {preset} run has no search to set; --budget is for --preset paper")
    tests = check_tests(test)

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
    print_results(json.loads((page.parent / "report.json").read_text(encoding="utf-8")))
    for line in (*failures, f"written: {page}"):
        log(line)
    raise typer.Exit(bool(failures))


def run_reproduction(work: "Reproduction", command: str) -> tuple[Path, list[str]]:
    """Make the data, search, train, evaluate and report; give the page, and what failed."""
    from possibleworlds.report.material import Material, ReportRequest
    from possibleworlds.report.report import pending_evaluations

    with Bars() as bars:
        work.make_data(bars.show)
    log("data generated and verified; planning")
    lengths, searches = work.expected_seconds(), work.plan_search()
    lengths |= work.add_twins(searches)
    works = [search.work_left({}) for search in searches]
    twins = [search.plan.seconds_each(-1) for search in searches if search.pending()]
    works.append([[*work.work_left(lengths), *twins]])
    slots = work.engine.slots
    log(f"left to train: {on_cores(works, slots)}, then evaluations and the report")
    if searches:
        with live_table(searches, work.engine) as show:
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


def log(line: str) -> None:
    """Print a line for people, folded where it is wider than the terminal."""
    width = console.err.width
    for part in textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False):
        console.log(part)


def on_cores(works: "list[list[list[float]]]", cores: int) -> str:
    """Write how long work takes on one core, and on several."""
    from possibleworlds.experiments.scheduler import TimeLeft

    one, several = (duration(TimeLeft()(works, slots, 0)) for slots in (1, cores))
    return f"{one} of one core, about {several} on {cores}"


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

    searches = read_searches(folder)
    console.out.print(status_table(searches, None))
    for search in searches:
        if best := search.selection():
            where = Path(folder.resolve().name, "trials", best.trial)
            console.out.print(f"{search.model}: {percent(best.validation)} validation, {where}")


def status_table(searches: "list[Search]", most: int | None) -> Table:
    """Make a line for each network and each of its trials; of those not running the best, if so."""
    from possibleworlds.experiments.trials import running_trials

    rows: list[tuple[str | Text, ...]] = []
    running = running_trials(searches[0].sweep)
    for search in searches:
        due, total = len(search.pending()), len(search.rungs[-1])
        rung = f"rung {len(search.rungs)} of {len(search.plan.rungs)}"
        name = Text(printable(search.model), style="bold")
        rows.append((name, f"{rung}: {total - due} of {total} trials", ""))
        rows += trial_lines(search, running, most)
    return console.make_table(("trial", "progress", "validation"), rows)


def trial_lines(
    search: "Search", at_work: "dict[str, Progress]", most: int | None
) -> list[tuple[str, ...]]:
    """List the trials that have begun: running ones, then the others of each rung, best first."""
    selection = search.selection()
    selected = selection.seeds if selection else {}
    running: list[tuple[str, ...]] = []
    ended: list[tuple[str, ...]] = []
    for number, rung in reversed(list(enumerate(search.rungs))):
        results = {name: search.results[name] for name in rung if name in search.results}
        for name, (candidate, _) in rung.items():
            if not (progress := at_work.get(name)):
                continue
            seconds = search.plan.candidates[candidate].seconds[number]
            shown = f"{progress.fraction:.0%}, {duration(seconds * (1 - progress.fraction))} left"
            if progress.evaluating:
                shown = f"evaluating {progress.evaluating}"
            accuracy = results[name].validation if name in results else progress.validation
            running.append((search.settings_of(number, name), shown, percent(accuracy)))
        for name, result in sorted(results.items(), key=lambda item: -item[1].validation):
            if name not in at_work:
                shown = "selected" if name in selected else f"done, rung {number + 1}"
                shown = f"failed: {result.failure}" if result.failure else shown
                line = search.settings_of(number, name), shown, percent(result.validation)
                ended.append(line)
    return running + ended[:most]


def percent(accuracy: float) -> str:
    """Write an accuracy, if it is known."""
    return f"{accuracy:.2%}" if accuracy > 0 else ""
