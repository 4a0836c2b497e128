"""A sweep: a search for each network, selection on validation alone, evaluation of what it selects.

    SWEEP/sweep.json    for each network what was asked for, the plan, and the selection
    SWEEP/trials/       a folder for each trial
    SWEEP/locks/        who is at work on which trial, and how far it is

Where a search stands follows from its plan and from the folders of trials. So any number of
processes can work on one sweep, end at any moment, and go on where it was left.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import possibleworlds
from possibleworlds.data.files import count_lines, data_files, fingerprint, read_pairs
from possibleworlds.errors import BusyError, UserError, reason
from possibleworlds.experiments.engines import Died, Engine
from possibleworlds.experiments.evaluations import evaluation_key, pending_tasks
from possibleworlds.experiments.grid import (
    SEEDS,
    Budget,
    Plan,
    Speed,
    complete,
    halving_plan,
    paper_plan,
    sample,
    starting_candidates,
)
from possibleworlds.experiments.selection import SELECTED, rank_seeds, rank_settings
from possibleworlds.experiments.trials import (
    LOCKS,
    TRIALS,
    Result,
    Trial,
    evaluate_trial,
    measure,
    read_result,
    record_failure,
    run_trial,
    step_reached,
)
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import StopRequestedError
from possibleworlds.storage import acquire_lock, read_json, write_json

FORMAT = 1
SWEEP = "sweep.json"
EPOCHS = 10.0
"""How long a trial of the whole grid is, unless another length is asked for."""
MEASURED = 9
"""How many points of a whole grid are measured to say how long it will take."""
DEATHS = 3
"""How often a trial may die at the same step before that counts as a failure."""
REST = 5.0
"""Seconds until a trial that another process is at is looked at again."""

Say = Callable[[str], None]
Stop = Callable[[], bool]


@dataclass(frozen=True)
class Asked:
    """What the user wants searched, for one network: within a budget, or the whole grid."""

    budget: Budget | None
    epochs: float
    """How long a trial of the whole grid is."""
    seed: int

    def __str__(self) -> str:
        length = f"{self.budget.amount:g} {self.budget.unit}" if self.budget else "the paper's grid"
        for_epochs = "" if self.budget else f", {self.epochs:g} epochs each"
        return f"{length}{for_epochs}, seed {self.seed}"


class Search:
    """One network's way through its plan."""

    def __init__(self, sweep: Path, model: str, plan: Plan, data: dict[str, str]) -> None:
        self.sweep, self.model, self.plan, self.data = sweep, model, plan, data
        self.results: dict[str, Result] = {}
        self.rungs: list[dict[str, tuple[int, Trial]]] = []
        """The trials of each rung reached so far, by name, with the candidate of each."""
        self.begin(range(len(plan.candidates)))
        self.due()

    def begin(self, candidates: range | list[int]) -> None:
        """Go to the next rung with these candidates."""
        number = len(self.rungs)
        trials = [
            (i, Trial(self.model, self.plan.settings(i, number), self.plan.seed + seed, self.data))
            for i in candidates
            for seed in range(self.plan.rungs[number].seeds)
        ]
        self.rungs.append({trial.name: (i, trial) for i, trial in trials})
        for name in self.rungs[-1]:
            self.look(name)

    def look(self, name: str) -> Result | None:
        """Take note of how a trial ended, if it has."""
        if name not in self.results and (result := read_result(self.sweep, name)):
            self.results[name] = result
        return self.results.get(name)

    def due(self) -> list[Trial]:
        """The trials to be run next; none when the search is over."""
        while True:
            due = [trial for _, trial in self.rungs[-1].values() if trial.name not in self.results]
            survivors = self.ranked()
            if due or self.is_last or not survivors:
                return due
            self.begin(survivors[: self.plan.rungs[len(self.rungs)].candidates])

    @property
    def is_last(self) -> bool:
        """Whether the search has got to its last rung."""
        return len(self.rungs) == len(self.plan.rungs)

    def ranked(self) -> list[int]:
        """Rank the candidates of the rung (selection.py); those that failed are left out."""
        accuracies: dict[int, list[float]] = {}
        for name, (candidate, _) in self.rungs[-1].items():
            result = self.results.get(name)
            if result and not result.failure:
                accuracies.setdefault(candidate, []).append(result.validation)
        return rank_settings(dict(sorted(accuracies.items())))

    def selected(self) -> dict[str, float]:
        """The trials of the best candidate of the last rung, best first, with their accuracies."""
        if not self.is_last or not (ranked := self.ranked()):
            return {}
        accuracies = {
            name: self.results[name].validation
            for name, (candidate, _) in self.rungs[-1].items()
            if candidate == ranked[0] and not self.results[name].failure
        }
        return {name: accuracies[name] for name in rank_seeds(accuracies)}

    def selection(self) -> dict[str, Any] | None:
        """What is said of the result in sweep.json: nothing where every trial failed."""
        if not (found := self.selected()):
            return None
        best = next(iter(found))
        settings = self.rungs[-1][best][1].settings
        return {"trial": best, "validation": found[best], "settings": settings, "seeds": found}

    def seconds_to_evaluate(self, files: Sequence[Path]) -> float:
        """What is expected for evaluating three seeds, by the sizes of the files."""
        size = sum(path.stat().st_size for path in files)
        validation = next(path for path in files if path.stem == "validate")
        rows = count_lines(validation)
        looked_at = (self.plan.base["validation_rows"] or rows) / rows
        return SEEDS * self.plan.evaluation * size / (looked_at * validation.stat().st_size)

    def seconds_left(self, shares: dict[str, float]) -> float:
        """What is left to do, in seconds of one core, with trials at work as far as they are."""
        here = len(self.rungs) - 1
        left = sum(self.plan.seconds(rung) for rung in range(here + 1, len(self.plan.rungs)))
        for name, (candidate, _) in self.rungs[-1].items():
            if name not in self.results:
                left += self.plan.candidates[candidate].seconds[here] * (1 - shares.get(name, 0.0))
        return left


@contextmanager
def exclusively(sweep: Path, stop: Stop) -> Iterator[Callable[[Any], None]]:
    """What writes sweep.json, to be used by one process at a time."""
    while not (lock := acquire_lock(sweep / LOCKS / "sweep")):
        if stop():
            raise StopRequestedError

    def write(stored: Any) -> None:
        if lock.lost:
            raise BusyError(f"{sweep}: another process has changed it meanwhile; run this again")
        write_json(sweep / SWEEP, stored)

    try:
        yield write
    finally:
        lock.release()


def read_sweep(folder: Path) -> dict[str, Any]:
    """What sweep.json says, checked."""
    path = folder / SWEEP
    if not path.exists():
        raise UserError(f"{folder} is not a sweep: it has no {SWEEP}")
    stored = read_json(path)
    if stored.get("format") != FORMAT:
        raise UserError(f"{path} has not the format {FORMAT} that this version reads")
    return stored


def selected_runs(folder: Path) -> set[str] | None:
    """Read which runs in a folder were selected; None where nothing was."""
    try:
        if (folder / SELECTED).exists():
            return set(read_json(folder / SELECTED)["selected"])
        if (folder / SWEEP).exists():
            networks = read_sweep(folder)["networks"].values()
            return {
                name for one in networks if one["selection"] for name in one["selection"]["seeds"]
            }
    except (TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{folder}: the selection cannot be read: {reason(error)}") from None
    return None


def searches_of(folder: Path, models: list[str] | None = None) -> list[Search]:
    """Where the searches of a sweep stand."""
    stored = read_sweep(folder)
    try:
        networks, data = stored["networks"], stored["data"]
        plans = {model: Plan.read(networks[model]["plan"]) for model in models or networks}
        return [Search(folder, model, plan, data) for model, plan in plans.items()]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise UserError(f"{folder / SWEEP} is damaged: {reason(error)}") from None


def make_plans(
    folder: Path,
    models: list[str],
    data: Path,
    asked: Asked,
    engine: Engine,
    stop: Stop = lambda: False,
    say: Say = lambda _: None,
) -> None:
    """Plan a search for each network that has none yet, and store the plans."""
    prints = fingerprint(data)
    for model in models:  # complains of what cannot be, before anything is written
        complete(resolve(model), {"epochs": asked.epochs})
    try:
        (folder / LOCKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}") from None
    with exclusively(folder, stop) as write:
        stored = {
            "format": FORMAT,
            "version": possibleworlds.__version__,
            "data": prints,
            "networks": {},
        }
        if (folder / SWEEP).exists():
            stored = read_sweep(folder)
        if stored["data"] != prints:
            raise UserError(f"{folder} holds a sweep on other data than {data}")
        networks: dict[str, Any] = stored["networks"]  # type: ignore[assignment]
        as_stored = json.loads(json.dumps(asdict(asked)))
        for model in models:
            before = networks.get(model, {}).get("asked", as_stored)
            if before != as_stored:
                budget = Budget(**before["budget"]) if before["budget"] else None
                old = Asked(budget, before["epochs"], before["seed"])
                raise UserError(f"{folder} holds a sweep of {model} with {old}, not {asked}")
        new = [model for model in models if model not in networks]
        for model, plan in planned(new, data, asked, engine, stop, say).items():
            networks[model] = {"asked": as_stored, "plan": asdict(plan), "selection": None}
        if new:
            write(stored)


def planned(
    models: list[str], data: Path, asked: Asked, engine: Engine, stop: Stop, say: Say
) -> dict[str, Plan]:
    """A plan for each network, by the speed that its candidates have here."""
    kinds = {model: resolve(model) for model in models}
    points = {
        model: starting_candidates(kind, asked.budget, asked.seed)
        if asked.budget
        else sample(kind, MEASURED, asked.seed)
        for model, kind in kinds.items()
    }
    plans: dict[str, Plan] = {}
    waiting = list(models)
    running: set[str] = set()
    deaths: Counter[str] = Counter()
    while len(plans) < len(models):
        while waiting and len(running) < engine.slots:
            model = waiting.pop(0)
            say(f"{model}: measuring the speed of {len(points[model])} settings")
            engine.submit(model, measure, model, points[model], data)
            running.add(model)
        for model, found in engine.wait(0.5).items():
            running.discard(model)
            if isinstance(found, Died):
                deaths[model] += 1
                if deaths[model] < DEATHS:
                    waiting.append(model)
                    continue
            # A network that cannot even be measured is planned all the same: its trials say why.
            speeds = [None] * len(points[model]) if isinstance(found, Died) else found
            known = [speed for speed in speeds if speed] or [Speed()]
            filled = [speed or known[0] for speed in speeds]
            plans[model] = (
                halving_plan(kinds[model], asked.budget, asked.seed, points[model], filled)
                if asked.budget
                else paper_plan(kinds[model], asked.epochs, asked.seed, filled)
            )
        if stop():
            raise StopRequestedError
    return {model: plans[model] for model in models}


def files_to_evaluate(data: Path, tests: list[Path]) -> list[Path]:
    """Those beside the training data, and those of further folders; all can be read."""
    files: dict[str, Path] = {}
    for path in data_files([data, *tests]):
        if files.setdefault(evaluation_key(path), path) != path:
            raise UserError(
                f"{path} and {files[evaluation_key(path)]} are both called {evaluation_key(path)}"
            )
    for path in files.values():
        for _ in read_pairs(path):
            pass
    return list(files.values())


def run(
    searches: list[Search],
    data: Path,
    files: Sequence[Path],
    engine: Engine,
    stop: Stop = lambda: False,
    say: Say = lambda _: None,
    show: Callable[[], None] = lambda: None,
) -> None:
    """Run the trials of all searches, record what is selected, and evaluate it on files."""
    sweep = searches[0].sweep
    deaths: Counter[tuple[str, int]] = Counter()
    rest_until: dict[str, float] = {}
    running: dict[str, Search] = {}
    recorded: set[str] = set()
    not_evaluated: dict[str, str] = {}

    def jobs() -> Iterator[tuple[Search, str, tuple[Any, ...]]]:
        for search in searches:
            due = search.due()
            for trial in due:
                yield search, trial.name, (run_trial, sweep, trial, data)
            if due:
                continue
            if search.model not in recorded:
                record(search, stop)
                recorded.add(search.model)
            for name in search.selected():
                if name not in not_evaluated and pending_tasks(sweep / TRIALS / name, files):
                    yield search, name, (evaluate_trial, sweep, name, files)

    try:
        while todo := list(jobs()):
            for search, name, call in todo:
                if len(running) >= engine.slots:
                    break
                if name not in running and rest_until.get(name, 0.0) <= time.monotonic():
                    running[name] = search
                    engine.submit(name, *call)
            for name, ending in engine.wait(0.5).items():
                search = running.pop(name)
                was_known = name in search.results
                if isinstance(ending, Died):
                    step = step_reached(sweep, name)
                    deaths[name, step] += 1
                    say(f"{name}: {ending.reason}; at step {step}")
                    if deaths[name, step] == DEATHS:
                        if was_known:
                            not_evaluated[name] = ending.reason
                        else:
                            record_failure(sweep, name, ending.reason)
                result = search.look(name)
                # Another process is at it, or a shared file system is late with the news.
                if ending == "busy" or (ending == "done" and not result):
                    rest_until[name] = time.monotonic() + REST
                if result and not was_known:
                    say(f"{name}: {result.failure or f'{result.validation:.2%} of validation'}")
            show()
            if stop():
                raise StopRequestedError
    finally:
        engine.stop()  # lets trials save their work, whatever the reason
    for name, why in not_evaluated.items():
        raise UserError(f"{name} cannot be evaluated: {why}")


def record(search: Search, stop: Stop) -> None:
    """Put the selection of a search into sweep.json."""
    with exclusively(search.sweep, stop) as write:
        stored = read_sweep(search.sweep)
        network = stored["networks"][search.model]
        if network["selection"] != (selection := search.selection()):
            network["selection"] = selection
            write(stored)
