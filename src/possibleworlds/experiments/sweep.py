"""A sweep: a search for each network, selection on validation data, evaluation of the selection.

    SWEEP/sweep.json    the request, plan and selection of each network
    SWEEP/trials/       a folder for each trial
    SWEEP/locks/        which process works on which trial, and its progress

The state of a search follows from its plan and the trial folders. So any number of processes can
work on one sweep, stop at any moment, and continue where it was left.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import possibleworlds
from possibleworlds.data.files import TRAINING_FILES, count_lines, data_files, fingerprint, read
from possibleworlds.errors import BusyError, UserError, quoted
from possibleworlds.experiments import grid, trials
from possibleworlds.experiments.grid import SearchPlan, SearchRequest, Settings
from possibleworlds.experiments.scheduler import Call, Scheduler, ignore
from possibleworlds.experiments.selection import SELECTED, SelectedRuns, rank_seeds, rank_settings
from possibleworlds.experiments.trials import ShowMeasured, Trial, TrialFolder, TrialProgress
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import Stop, StopRequestedError
from possibleworlds.storage import acquire_lock, read_json, read_record, write_json
from possibleworlds.training.evaluations import evaluation_key, pending_tasks

SWEEP_FORMAT = 2
SWEEP = "sweep.json"
NETWORK_NAME = re.compile(r"[\w.:-]{1,100}")


@dataclass(frozen=True)
class Selection:
    """The selected settings, the validation accuracy of their seeds, and the best of those."""

    trial: str
    validation: float
    settings: Settings
    seeds: dict[str, float]


@dataclass
class NetworkRecord:
    """The part of sweep.json for a network; no selection if every trial failed."""

    request: SearchRequest
    plan: SearchPlan
    selection: Selection | None = None


@dataclass
class SweepRecord:
    """The content of sweep.json."""

    data: dict[str, str]
    """The SHA-256 of the training and validation files."""
    rows: int
    """Of the training data."""
    networks: dict[str, NetworkRecord]
    version: str = possibleworlds.__version__
    format: int = SWEEP_FORMAT

    def __post_init__(self) -> None:
        for name in self.networks:
            if not NETWORK_NAME.fullmatch(name):  # folders are named after it
                raise UserError(f"{quoted(name)} is not the name of a network")


class Search(TrialFolder):
    """The progress of one network through its plan."""

    def __init__(
        self, sweep: Path, model: str, plan: SearchPlan, data: dict[str, str], rows: int = 0
    ) -> None:
        super().__init__(sweep)
        self.model, self.plan, self.data, self.rows = model, plan, data, rows
        self.rungs: list[dict[str, tuple[int, Trial]]] = []
        """The candidate and trial of each name, for every rung reached so far."""
        self.start_rung(range(len(plan.candidates)))
        self.pending()

    def start_rung(self, candidates: Sequence[int]) -> None:
        """Start the next rung with these candidates."""
        number, rung = len(self.rungs), {}
        for candidate in candidates:
            settings = self.plan.settings(candidate, number)
            for seed in range(self.plan.rungs[number].seeds):
                trial = Trial(self.model, settings, self.plan.seed + seed, self.data)
                rung[trial.name] = candidate, trial
                self.add(trial, self.rows)
        self.rungs.append(rung)

    def label(self, candidate: int, trial: Trial) -> str:
        """Describe a trial by its non-default settings and its seed."""
        overrides = self.plan.candidates[candidate].overrides
        changed = [f"{k}={v}" for k, v in overrides.items() if v != self.plan.base.get(k)]
        return f"{' '.join(changed) or 'defaults'} seed={trial.seed}"

    def pending(self) -> list[Trial]:
        """List the trials to run next; empty when the search is over."""
        while True:
            left = [trial for _, trial in self.rungs[-1].values() if trial.name not in self.results]
            survivors, number = self.ranked(), len(self.rungs)
            if left or number == len(self.plan.rungs) or not survivors:
                return left
            self.start_rung(survivors[: self.plan.rungs[number].candidates])

    def ranked(self) -> list[int]:
        """Rank the candidates of the current rung (selection.py), without those that failed."""
        accuracies: dict[int, list[float]] = {}
        for name, (candidate, _) in self.rungs[-1].items():
            result = self.results.get(name)
            if result and not result.failure:
                accuracies.setdefault(candidate, []).append(result.validation)
        return rank_settings(dict(sorted(accuracies.items())))

    def selection(self) -> Selection | None:
        """Select settings and a seed after the last rung; None before, or if every trial failed."""
        if self.pending() or not (ranked := self.ranked()):
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
        """Estimate the seconds to evaluate all seeds of the selection, from the file sizes."""
        size = sum(path.stat().st_size for path in files)
        validation = next(path for path in files if path.stem == "validate")
        rows = count_lines(validation)
        evaluated = (self.plan.base["validation_rows"] or rows) / rows
        return grid.SEEDS * self.plan.evaluation * size / (evaluated * validation.stat().st_size)

    def work_left(self, running: Mapping[str, TrialProgress]) -> list[list[float]]:
        """Estimate the core-seconds left of each trial, rung by rung."""
        number = len(self.rungs) - 1
        current = [
            self.plan.candidates[candidate].seconds[number] * self.fraction_left(name, running)
            for name, (candidate, _) in self.rungs[-1].items()
            if name not in self.results
        ]
        later = [
            [self.plan.seconds_each(i)] * (rung.candidates * rung.seeds)
            for i, rung in enumerate(self.plan.rungs[number + 1 :], number + 1)
        ]
        return [current, *later]


@contextmanager
def changing_record(sweep: Path, stop: Stop) -> Iterator[SweepRecord]:
    """Lock sweep.json, yield its content, and store the changes."""
    while not (lock := acquire_lock(sweep / trials.LOCKS / "sweep")):
        if stop():
            raise StopRequestedError
    try:
        before = read_json(sweep / SWEEP)
        record = read_sweep(sweep) if before else SweepRecord({}, 0, {})
        yield record
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
    """Read the names of the selected runs in a folder; None if it records no selection."""
    if (folder / SELECTED).exists():
        return set(read_record(folder / SELECTED, SelectedRuns).selected)
    if (folder / SWEEP).exists():
        selections = [network.selection for network in read_sweep(folder).networks.values()]
        return {name for selection in selections if selection for name in selection.seeds}
    return None


def read_searches(folder: Path, models: Sequence[str] = ()) -> list[Search]:
    """Read the state of the searches of a sweep."""
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
    scheduler: Scheduler,
    show: ShowMeasured = ignore,
) -> list[Search]:
    """Plan and store a search for each network that has none, and return all searches."""
    hashes = fingerprint(data)
    classes = {model: resolve(model, trust=True) for model in requests}
    for model, request in requests.items():  # raises UserError before anything is written
        grid.with_defaults(classes[model], {"epochs": request.epochs})
        grid.grid(classes[model])
    try:
        (folder / trials.LOCKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}") from None
    with changing_record(folder, scheduler.stop) as record:
        if not record.data:
            record.data, record.rows = hashes, count_lines(data / TRAINING_FILES[0])
        if record.data != hashes:
            raise UserError(f"{folder} holds a sweep on other data than {data}")
        for model, network in record.networks.items():
            request = requests.get(model, network.request)
            if network.request != request:
                other = f"a sweep of {model} with {network.request}"
                raise UserError(f"{folder} holds {other}, not {request}")
        new = [model for model in requests if model not in record.networks]
        points = {model: grid.points_to_measure(classes[model], requests[model]) for model in new}
        candidates = [(model, point, data) for model in new for point in points[model]]
        if candidates:
            scheduler.log(f"measuring the speed of {len(candidates)} settings")
        speeds = iter(trials.measure_all(candidates, scheduler, show))
        for model in new:
            measured = list(islice(speeds, len(points[model])))
            plan = grid.make_plan(classes[model], requests[model], points[model], measured)
            record.networks[model] = NetworkRecord(requests[model], plan)
    return read_searches(folder, list(requests))


def files_to_evaluate(data: Path, tests: Sequence[Path]) -> list[Path]:
    """Check all files in folders, and list all but the training data."""
    files: dict[str, Path] = {}
    for path in data_files([data, *tests]):
        key = evaluation_key(path)
        if files.setdefault(key, path) != path:
            raise UserError(f"{path} and {files[key]} are both called {key}")
    for path in files.values():
        read(path)  # raises UserError if a line is wrong
    return [path for path in files.values() if path != data / TRAINING_FILES[0]]


def run_searches(
    searches: Sequence[Search],
    data: Path,
    files: Sequence[Path],
    scheduler: Scheduler,
    refresh: Callable[[], None] = ignore,
) -> None:
    """Run the trials of all searches, record the selections, and evaluate them on files."""
    sweep, failures = searches[0].folder, dict[str, str]()
    recorded: set[str] = set()

    def label(search: Search, name: str) -> str:
        return f"{search.model} {search.label(*search.rungs[-1][name])}"

    def calls() -> Iterator[Call]:
        for search in searches:
            pending = search.pending()
            for trial in pending:
                yield search.call(trial, label(search, trial.name), data, scheduler.log)
            if pending:
                continue
            selection = search.selection()
            if search.model not in recorded:
                with changing_record(sweep, scheduler.stop) as record:
                    record.networks[search.model].selection = selection
                recorded.add(search.model)
            for name in selection.seeds if selection else ():
                if name not in failures and pending_tasks(sweep / trials.TRIALS / name, files):
                    arguments, of = (sweep, name, files, search.model), label(search, name)
                    failed = partial(failures.__setitem__, name)
                    # Not the name of the training call, which may have returned a moment ago.
                    yield Call(f"{name}/", of, trials.evaluate_trial, arguments, on_failure=failed)

    scheduler.run(calls, refresh)
    if failures:
        name, reason = next(iter(failures.items()))
        raise UserError(f"{name} cannot be evaluated: {reason}")
