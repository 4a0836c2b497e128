"""What `sweep` and `reproduce` show of work that is going on, and of its results."""

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from possibleworlds.cli import console
from possibleworlds.errors import printable
from possibleworlds.experiments.grid import SearchPlan
from possibleworlds.experiments.scheduler import TimeLeft
from possibleworlds.experiments.sweep import Search, read_searches
from possibleworlds.experiments.trials import TrialProgress, running_trials
from possibleworlds.paper import SPLITS
from possibleworlds.parallel.engines import Engine
from possibleworlds.report.page import duration

BEST_TRIALS = 3
"""How many of the best trials of a network the live table shows."""


def log_wrapped(line: str) -> None:
    """Print a line for people, folded where it is wider than the terminal."""
    width = console.err.width
    for part in textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False):
        console.log(part)


def plan_in_words(plan: SearchPlan) -> str:
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


def on_cores(works: list[list[list[float]]], cores: int) -> str:
    """Write how long work takes on one core, and on several."""
    one, several = (duration(TimeLeft()(works, slots, 0)) for slots in (1, cores))
    return f"{one} of one core, about {several} on {cores}"


@contextmanager
def live_table(searches: list[Search], engine: Engine) -> Iterator[Callable[[], None]]:
    """Show a table of trials on a terminal; yields the function that updates it."""
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


def show_status(folder: Path) -> None:
    """Print the progress of a sweep."""
    searches = read_searches(folder)
    console.out.print(status_table(searches, None))
    for search in searches:
        if best := search.selection():
            where = Path(folder.resolve().name, "trials", best.trial)
            console.out.print(f"{search.model}: {percent(best.validation)} validation, {where}")


def status_table(searches: list[Search], most: int | None) -> Table:
    """Make a line for each network and each of its trials; of those not running the best, if so."""
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
    search: Search, at_work: dict[str, TrialProgress], most: int | None
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


def percent(accuracy: float) -> str:
    """Write an accuracy, if it is known."""
    return f"{accuracy:.2%}" if accuracy > 0 else ""
