"""Run the commands `sweep`, `reproduce` and `report`, and show their progress.

This module imports torch, so the commands import it only when they are called.
"""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.progress import TextColumn
from rich.table import Table
from rich.text import Text

from possibleworlds.cli import console
from possibleworlds.cli.console import Bars
from possibleworlds.display import duration
from possibleworlds.errors import UserError, printable
from possibleworlds.experiments import sweep
from possibleworlds.experiments.grid import SearchPlan, SearchRequest
from possibleworlds.experiments.presets import Preset
from possibleworlds.experiments.reproduce import Reproduction
from possibleworlds.experiments.scheduler import Scheduler, TimeLeft
from possibleworlds.experiments.sweep import Search, read_searches
from possibleworlds.experiments.trials import TRIALS, Result, TrialProgress, running_trials
from possibleworlds.paper import SPLITS
from possibleworlds.parallel import Stop
from possibleworlds.parallel.engines import Engine, LocalEngine
from possibleworlds.playground.page import save
from possibleworlds.report.material import Material, ReportRequest
from possibleworlds.report.page import PLAYGROUND
from possibleworlds.report.report import pending_evaluations, write_report
from possibleworlds.storage import exclusive_folder, read_json
from possibleworlds.training.evaluations import evaluate_tasks

BEST_TRIALS = 3
"""How many finished trials of each network the live table shows."""


def log_wrapped(line: str) -> None:
    """Log a line, wrapped to the width of the terminal."""
    width = console.err.width
    for part in textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False):
        console.log(part)


def run_sweep(
    requests: dict[str, SearchRequest],
    data: Path,
    folder: Path,
    tests: Sequence[Path],
    engine: Engine,
) -> bool:
    """Run a sweep to its end; return whether a search has failed."""
    log_wrapped("reading the data")
    files = sweep.files_to_evaluate(data, [path.resolve() for path in tests])
    with console.stoppable("the same command, given again, continues the sweep") as stop:
        scheduler = Scheduler(engine, stop, log_wrapped)
        with Bars(unit="settings") as bars:
            show = partial(bars.show, "measuring speed")
            searches = sweep.plan_searches(folder, requests, data, scheduler, show)
        for search in searches:
            plan, after = search.plan, duration(search.seconds_to_evaluate(files))
            log_wrapped(f"{search.model}: {plan_in_words(plan)}, then {after} to evaluate")
        works = [search.work_left({}) for search in searches]
        log_wrapped(f"left to train: {on_cores(works, engine.slots)}")
        with live_table(searches, engine) as refresh:
            sweep.run_searches(searches, data, files, scheduler, refresh)
    return not all(search.selection() for search in searches)


def run_reproduction(
    preset: Preset,
    folder: Path,
    tests: Sequence[Path],
    workers: int,
    request: dict[str, Any],
    command: str,
) -> bool:
    """Generate data, search, train, evaluate and report; return whether anything has failed."""
    with console.stoppable("the same command, given again, continues") as stop:
        scheduler = Scheduler(LocalEngine(workers), stop, log_wrapped)
        work = Reproduction(preset, folder.resolve(), tests, scheduler)
        with exclusive_folder(folder):
            work.begin(request)
            train_all(work)
            to_report = ReportRequest([work.out], work.test_folders, command, preset.note)
            evaluate_runs(to_report, workers, stop)
            page = write_pages(to_report, work.out / "report")
    print_results(read_json(page.parent / "report.json"))
    failures = work.failures()
    for line in (*failures, f"written: {page}"):
        log_wrapped(line)
    return bool(failures)


def train_all(work: Reproduction) -> None:
    """Generate the data, search, and train the planned runs."""
    with Bars() as bars:
        work.make_data(bars.show)
    log_wrapped("data generated and verified; planning")
    with Bars(unit="settings") as bars:
        work.measure(partial(bars.show, "measuring speed"))
        work.plan_search(partial(bars.show, "of the search"))
    work.add_permutation_runs()
    searches, engine = work.searches, work.scheduler.engine
    later = [search.plan.seconds_each(-1) for search in searches if search.pending()]
    works = [*(search.work_left({}) for search in searches), [[*work.work_left(), *later]]]
    log_wrapped(f"left to train: {on_cores(works, engine.slots)}, then evaluations and the report")
    if searches:
        with live_table(searches, engine) as refresh:
            work.search(refresh)
    work.add_permutation_runs()
    with Bars(TextColumn("{task.fields[text]}"), left=False) as bars:

        def show_runs(done: int, total: int, seconds: float) -> None:
            text = f"{done} of {total} runs, about {duration(seconds)} left"
            bars.show("training", done, total, text)

        work.train(show_runs)


def evaluate_runs(request: ReportRequest, workers: int, stop: Stop) -> None:
    """Run the evaluations that a report needs and its runs lack."""
    material = Material(request)
    if not material.test_folders:
        raise UserError("--evaluate needs data to evaluate on: --data DIR")
    tasks = pending_evaluations(material)
    with Bars(unit="evaluations") as bars:
        evaluate_tasks(tasks, workers, stop, lambda done: bars.show("evaluating", done, len(tasks)))


def write_pages(request: ReportRequest, out: Path) -> Path:
    """Write a report and the playground that it links to; return the path of its page."""
    page = write_report(request, out, console.log)
    save(out / PLAYGROUND)
    return page


def plan_in_words(plan: SearchPlan) -> str:
    """Describe the rungs of a plan and how long they take."""
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


def on_cores(works: list[list[list[float]]], cores: int) -> str:
    """Describe how long work takes on one core, and on several."""
    on_one, on_all = (duration(TimeLeft()(works, slots, 0)) for slots in (1, cores))
    return f"{on_one} of one core, about {on_all} on {cores}"


@contextmanager
def live_table(searches: list[Search], engine: Engine) -> Iterator[Callable[[], None]]:
    """Show a table of trials on a terminal; yield the function that updates it."""
    time_left = TimeLeft()
    with Live(console=console.err, auto_refresh=False, transient=True) as live:

        def show() -> None:
            running = running_trials(searches[0].folder)
            works = [search.work_left(running) for search in searches]
            seconds = time_left(works, engine.slots, len(running))
            if console.err.is_terminal:
                title = f"about {duration(seconds)} left to train"
                live.update(Group(status_table(searches, BEST_TRIALS), title), refresh=True)

        yield show


def show_status(folder: Path, as_json: bool) -> None:
    """Print the progress of a sweep."""
    searches = read_searches(folder)
    if as_json:
        console.print_json(*network_states(searches, None))
        return
    console.out.print(status_table(searches, None))
    for search in searches:
        if best := search.selection():
            where = Path(folder.resolve().name, TRIALS, best.trial)
            console.out.print(f"{search.model}: {percent(best.validation)} validation, {where}")


def network_states(searches: list[Search], max_ended: int | None) -> Iterator[dict[str, Any]]:
    """Yield the state of each network's search, with its running and best trials."""
    running = running_trials(searches[0].folder)
    for search in searches:
        selection = search.selection()
        yield {
            "model": search.model,
            "rung": len(search.rungs),
            "rungs": len(search.plan.rungs),
            "trials_done": len(search.rungs[-1]) - len(search.pending()),
            "trials_in_rung": len(search.rungs[-1]),
            "selected": selection.trial if selection else None,
            "validation": selection.validation if selection else None,
            "trials": trial_states(search, running, max_ended),
        }


def trial_states(
    search: Search, progress: dict[str, TrialProgress], max_ended: int | None
) -> list[dict[str, Any]]:
    """List the trials that have started: running ones, then those of each rung, best first."""
    selection = search.selection()
    selected = selection.seeds if selection else {}
    running: list[dict[str, Any]] = []
    ended: list[dict[str, Any]] = []
    for number, rung in reversed(list(enumerate(search.rungs))):
        states: list[dict[str, Any]] = []
        for name, (candidate, trial) in rung.items():
            current, result = progress.get(name), search.results.get(name, Result())
            validation = result.validation
            if current:
                seconds = search.plan.candidates[candidate].seconds[number] * (1 - current.fraction)
                status = f"{current.fraction:.0%}, {duration(seconds)} left"
                status = f"evaluating {current.evaluating}" if current.evaluating else status
                validation = validation or current.validation
            elif name not in search.results:
                continue
            else:
                status = "selected" if name in selected else f"done, rung {number + 1}"
                status = f"failed: {result.failure}" if result.failure else status
            state: dict[str, Any] = {"trial": name, "settings": search.label(candidate, trial)}
            state |= {"progress": status, "validation": validation or None}
            (running if current else states).append(state)
        ended += sorted(states, key=lambda state: -(state["validation"] or 0.0))
    return running + ended[:max_ended]


def status_table(searches: list[Search], max_ended: int | None) -> Table:
    """Make a table with a row for each network and each of its running and best trials."""
    rows: list[tuple[str | Text, ...]] = []
    for network in network_states(searches, max_ended):
        progress = "rung {rung} of {rungs}: {trials_done} of {trials_in_rung} trials"
        name = Text(printable(network["model"]), style="bold")
        rows.append((name, progress.format(**network), ""))
        for trial in network["trials"]:
            rows.append((trial["settings"], trial["progress"], percent(trial["validation"])))
    return console.make_table(("trial", "progress", "validation"), rows)


def print_results(report: dict[str, Any]) -> None:
    """Print the results of a report next to the paper's."""
    lines = []
    for row in report["results"]:
        name = row["model"]
        for source, accuracies in row["accuracy"].items():
            means = {split: value["mean"] for split, value in accuracies.items()}
            lines.append((name, source, *(percent(means.get(split)) for split in SPLITS)))
            name = ""
        if row["paper"]:
            lines.append(("", "the paper", *map(percent, row["paper"].values())))
    splits = (split.removeprefix("test_") for split in SPLITS)
    console.print_table(("network", "on", *splits), lines)


def percent(accuracy: float | None) -> str:
    """Format an accuracy; empty if there is none."""
    return f"{accuracy:.2%}" if accuracy else ""
