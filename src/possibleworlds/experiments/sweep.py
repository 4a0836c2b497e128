"""A sweep: a search for each network, selection on validation alone, evaluation of the selection.

    SWEEP/sweep.json    for each network the request, the plan, and the selection
    SWEEP/trials/       a folder for each trial
    SWEEP/locks/        who is at work on which trial, and how far it is

Where a search stands follows from its plan and from the folders of trials. So any number of
processes can work on one sweep, end at any moment, and go on where it was left.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import possibleworlds
from possibleworlds.data.files import (
    TRAINING_FILES,
    count_lines,
    data_files,
    fingerprint,
    read_pairs,
)
from possibleworlds.errors import BusyError, UserError, quoted
from possibleworlds.experiments import grid, scheduler, trials
from possibleworlds.experiments.grid import SEEDS, Budget, SearchPlan, Settings
from possibleworlds.experiments.scheduler import Call, ignore
from possibleworlds.experiments.selection import SELECTED, SelectedRuns, rank_seeds, rank_settings
from possibleworlds.experiments.trials import (
    LOCKS,
    TRIALS,
    Result,
    ShowMeasured,
    Trial,
    TrialProgress,
    read_result,
)
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import Log, Stop, StopRequestedError
from possibleworlds.parallel.engines import Engine
from possibleworlds.storage import acquire_lock, read_json, read_record, write_json
from possibleworlds.training.evaluations import evaluation_key, pending_tasks

SWEEP_FORMAT = 2
SWEEP = "sweep.json"
NETWORK_NAME = re.compile(r"[\w.:-]{1,100}")
EPOCHS = 10.0
"""The length of a trial of the whole grid, unless another one is set."""
MEASURED = 9
"""How many points of a whole grid are measured to estimate how long it will take."""


@dataclass(frozen=True)
class SearchRequest:
    """How a network is to be searched: within a budget, or the whole grid."""

    budget: Budget | None
    epochs: float
    """The length of a trial of the whole grid."""
    seed: int

    def __str__(self) -> str:
        length = f"{self.budget.amount:g} {self.budget.unit}" if self.budget else "the paper's grid"
        for_epochs = "" if self.budget else f", {self.epochs:g} epochs each"
        return f"{length}{for_epochs}, seed {self.seed}"


@dataclass(frozen=True)
class Selection:
    """The selected settings, their seeds with validation accuracies, and the best of those."""

    trial: str
    validation: float
    settings: Settings
    seeds: dict[str, float]


@dataclass
class NetworkRecord:
    """What sweep.json holds for a network; no selection where every trial failed."""

    request: SearchRequest
    plan: SearchPlan
    selection: Selection | None = None


@dataclass
class SweepRecord:
    """What sweep.json holds."""

    data: dict[str, str]
    """The SHA-256 of the data files."""
    rows: int
    """Of the training data."""
    networks: dict[str, NetworkRecord]
    version: str = possibleworlds.__version__
    format: int = SWEEP_FORMAT

    def __post_init__(self) -> None:
        for name in self.networks:
            if not NETWORK_NAME.fullmatch(name):  # folders are named after it
                raise UserError(f"{quoted(name)} is not the name of a network")


class Search:
    """One network's way through its plan."""

    def __init__(
        self, sweep: Path, model: str, plan: SearchPlan, data: dict[str, str], rows: int = 0
    ) -> None:
        self.sweep, self.model, self.plan, self.data, self.rows = sweep, model, plan, data, rows
        self.checkpoints: dict[str, float] = {}
        """How much was done of trials, by name, when their rung began here."""
        self.results: dict[str, Result] = {}
        self.rungs: list[dict[str, tuple[int, Trial]]] = []
        """The trials of each rung reached so far, by name, with the candidate of each."""
        self.start_rung(range(len(plan.candidates)))
        self.pending()

    def start_rung(self, candidates: Sequence[int]) -> None:
        """Go to the next rung with these candidates."""
        number = len(self.rungs)
        of_rung = [
            (i, Trial(self.model, self.plan.settings(i, number), self.plan.seed + seed, self.data))
            for i in candidates
            for seed in range(self.plan.rungs[number].seeds)
        ]
        self.rungs.append({trial.name: (i, trial) for i, trial in of_rung})
        for name, (_, trial) in self.rungs[-1].items():
            if not self.update(name):
                self.checkpoints[name] = trials.fraction_done(self.sweep, trial, self.rows)

    def settings_of(self, rung: int, name: str) -> str:
        """Name a trial by its settings other than the defaults, and its seed."""
        candidate, trial = self.rungs[rung][name]
        overrides = self.plan.candidates[candidate].overrides
        changed = [f"{k}={v}" for k, v in overrides.items() if v != self.plan.base.get(k)]
        return f"{' '.join(changed) or 'defaults'} seed={trial.seed}"

    def update(self, name: str) -> Result | None:
        """Read how a trial ended, if it has."""
        if name not in self.results and (result := read_result(self.sweep, name)):
            self.results[name] = result
        return self.results.get(name)

    def pending(self) -> list[Trial]:
        """List the trials to be run next; none when the search is over."""
        while True:
            left = [trial for _, trial in self.rungs[-1].values() if trial.name not in self.results]
            survivors = self.ranked()
            if left or self.is_last or not survivors:
                return left
            self.start_rung(survivors[: self.plan.rungs[len(self.rungs)].candidates])

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

    def selection(self) -> Selection | None:
        """Select settings and a seed, once the last rung is over; None where every trial failed."""
        if not self.is_last or self.pending() or not (ranked := self.ranked()):
            return None
        accuracies = {
            name: self.results[name].validation
            for name, (candidate, _) in self.rungs[-1].items()
            if candidate == ranked[0] and not self.results[name].failure
        }
        seeds = {name: accuracies[name] for name in rank_seeds(accuracies)}
        best = next(iter(seeds))
        return Selection(best, seeds[best], self.rungs[-1][best][1].settings, seeds)

    def seconds_to_evaluate(self, files: Sequence[Path]) -> float:
        """Estimate the seconds of evaluating three seeds, by the sizes of the files."""
        size = sum(path.stat().st_size for path in files)
        validation = next(path for path in files if path.stem == "validate")
        rows = count_lines(validation)
        evaluated = (self.plan.base["validation_rows"] or rows) / rows
        return SEEDS * self.plan.evaluation * size / (evaluated * validation.stat().st_size)

    def work_left(self, running: Mapping[str, TrialProgress]) -> list[list[float]]:
        """Estimate the seconds of one core of each trial left, rung by rung."""
        here = len(self.rungs) - 1
        fractions = {**self.checkpoints, **{name: now.fraction for name, now in running.items()}}
        now = [
            self.plan.candidates[candidate].seconds[here] * (1 - fractions.get(name, 0.0))
            for name, (candidate, _) in self.rungs[-1].items()
            if name not in self.results
        ]
        later = [
            [self.plan.seconds_each(i)] * (rung.candidates * rung.seeds)
            for i, rung in enumerate(self.plan.rungs[here + 1 :], here + 1)
        ]
        return [now, *later] if now or later else []


def update_record(sweep: Path, stop: Stop, change: Callable[[SweepRecord], None]) -> None:
    """Change sweep.json, which one process at a time may do."""
    while not (lock := acquire_lock(sweep / LOCKS / "sweep")):
        if stop():
            raise StopRequestedError
    try:
        before = read_json(sweep / SWEEP)
        record = read_sweep(sweep) if before else SweepRecord({}, 0, {})
        change(record)
        if asdict(record) != before:
            if lock.lost:
                raise BusyError(f"{sweep}: another process has changed it; run this again")
            write_json(sweep / SWEEP, asdict(record))
    finally:
        lock.release()


def read_sweep(folder: Path) -> SweepRecord:
    """Read and check sweep.json."""
    path = folder / SWEEP
    if not path.exists():
        raise UserError(f"{folder} is not a sweep: it has no {SWEEP}")
    if read_json(path).get("format") != SWEEP_FORMAT:
        raise UserError(f"{path} is not of the format {SWEEP_FORMAT}, which this version reads")
    return read_record(path, SweepRecord)


def selected_runs(folder: Path) -> set[str] | None:
    """Read which runs in a folder were selected; None where nothing was."""
    if (folder / SELECTED).exists():
        return set(read_record(folder / SELECTED, SelectedRuns).selected)
    if (folder / SWEEP).exists():
        selections = [network.selection for network in read_sweep(folder).networks.values()]
        return {name for selection in selections if selection for name in selection.seeds}
    return None


def read_searches(folder: Path, models: Sequence[str] = ()) -> list[Search]:
    """Read where the searches of a sweep stand."""
    record = read_sweep(folder)
    if not record.networks:
        raise UserError(f"{folder / SWEEP} holds no search")
    return [
        Search(folder, model, record.networks[model].plan, record.data, record.rows)
        for model in models or record.networks
    ]


def plan_searches(
    folder: Path,
    requests: dict[str, SearchRequest],
    data: Path,
    engine: Engine,
    stop: Stop = lambda: False,
    log: Log = ignore,
    show: ShowMeasured = ignore,
) -> list[Search]:
    """Plan a search for each network that has none yet, store the plans, and give all searches."""
    hashes = fingerprint(data)
    for model, request in requests.items():  # raises UserError before anything is written
        grid.with_defaults(resolve(model, trust=True), {"epochs": request.epochs})
    try:
        (folder / LOCKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}") from None

    def add_plans(record: SweepRecord) -> None:
        if not record.data:
            record.data, record.rows = hashes, count_lines(data / TRAINING_FILES[0])
        if record.data != hashes:
            raise UserError(f"{folder} holds a sweep on other data than {data}")
        for model, request in requests.items():
            known = record.networks.get(model)
            if known and known.request != request:
                before = known.request
                raise UserError(f"{folder} holds a sweep of {model} with {before}, not {request}")
        new = {model: r for model, r in requests.items() if model not in record.networks}
        for model, plan in make_plans(new, data, engine, stop, log, show).items():
            record.networks[model] = NetworkRecord(requests[model], plan)

    update_record(folder, stop, add_plans)
    return read_searches(folder, list(requests))


def make_plans(
    requests: dict[str, SearchRequest],
    data: Path,
    engine: Engine,
    stop: Stop,
    log: Log,
    show: ShowMeasured,
) -> dict[str, SearchPlan]:
    """Make a plan for each network, by the speed that its candidates have here."""
    points = {
        model: grid.starting_candidates(resolve(model, trust=True), request.budget, request.seed)
        if request.budget
        else grid.sample(resolve(model, trust=True), MEASURED, request.seed)
        for model, request in requests.items()
    }
    if points:
        log(f"measuring the speed of {sum(map(len, points.values()))} settings")
    candidates = {model: (model, settings, data) for model, settings in points.items()}
    speeds = trials.measure_all(candidates, engine, stop, log, show)
    plans = {}
    for model, request in requests.items():
        kind, budget, seed = resolve(model, trust=True), request.budget, request.seed
        plans[model] = (
            grid.halving_plan(kind, budget, seed, points[model], speeds[model])
            if budget
            else grid.paper_plan(kind, request.epochs, seed, speeds[model])
        )
    return plans


def files_to_evaluate(data: Path, tests: Sequence[Path]) -> list[Path]:
    """Check all files of some folders, and list those that are not the training data."""
    files: dict[str, Path] = {}
    for path in data_files([data, *tests]):
        key = evaluation_key(path)
        if files.setdefault(key, path) != path:
            raise UserError(f"{path} and {files[key]} are both called {key}")
    for path in files.values():
        for _ in read_pairs(path):
            pass
    return [path for path in files.values() if path != data / TRAINING_FILES[0]]


def run_searches(
    searches: Sequence[Search],
    data: Path,
    files: Sequence[Path],
    engine: Engine,
    stop: Stop = lambda: False,
    log: Log = ignore,
    refresh: Callable[[], None] = ignore,
) -> None:
    """Run the trials of all searches, record what is selected, and evaluate it on files."""
    sweep = searches[0].sweep
    failures: dict[str, str] = {}

    def label(search: Search, name: str) -> str:
        return f"{search.model} {search.settings_of(-1, name)}"

    def calls() -> Iterator[Call]:
        for search in searches:
            for trial in search.pending():
                ended = partial(on_end, search, trial.name)
                yield trials.trial_call(sweep, trial, label(search, trial.name), data, ended)
            selection = search.selection()
            for name in selection.seeds if selection else ():
                if name not in failures and pending_tasks(sweep / TRIALS / name, files):
                    arguments = sweep, name, files, search.model
                    failed = partial(failures.__setitem__, name)
                    # Another name than that of the training, which may have ended a moment ago.
                    evaluate, of = trials.evaluate_trial, label(search, name)
                    yield Call(f"{name}/", of, evaluate, arguments, on_failure=failed)

    def on_end(search: Search, name: str) -> None:
        if name not in search.results and (result := search.update(name)):
            log(f"{label(search, name)}: {result}")
            if not search.pending():
                record_selections([search], stop)

    record_selections(searches, stop)
    scheduler.run(calls, engine, stop, log, refresh)
    record_selections(searches, stop)  # of a search whose last trials another process ran
    for name, reason in failures.items():
        raise UserError(f"{name} cannot be evaluated: {reason}")


def record_selections(searches: Sequence[Search], stop: Stop) -> None:
    """Put the selections of searches that are over into sweep.json."""

    def select(record: SweepRecord) -> None:
        for search in searches:
            if not search.pending():
                record.networks[search.model].selection = search.selection()

    update_record(searches[0].sweep, stop, select)
