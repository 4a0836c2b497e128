"""The whole paper in one go: data, all networks, what section 5 compares, and the report.

    OUT/data       the seven splits         OUT/wide     training data of guided worlds (paper)
    OUT/naive      biased data              OUT/runs     a folder for each run that is planned here
    OUT/sweep      the search (paper)       OUT/report   the page

Whatever is done already is not done again, so the same command goes on after any interruption.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from possibleworlds.data.files import data_files, fingerprint
from possibleworlds.data.splits import generate_folder
from possibleworlds.data.verify import FileProblem, verify
from possibleworlds.errors import UserError
from possibleworlds.experiments import scheduler, sweep, trials
from possibleworlds.experiments.grid import Budget
from possibleworlds.experiments.presets import PlannedRun, Preset
from possibleworlds.experiments.selection import SELECTED, SelectedRuns
from possibleworlds.experiments.sweep import EPOCHS, Search, SearchRequest
from possibleworlds.experiments.trials import TRIALS, ShowMeasured, Trial, read_result
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import Log, Stop, StopRequestedError
from possibleworlds.parallel.engines import Engine
from possibleworlds.storage import read_bounded, read_json, sha256, write_json, write_text

REQUEST = "reproduce.json"

ShowProgress = Callable[[str, int, int], None]
"""What is told the name of something, and how much of it is done, of how much."""
Show = Callable[[int, int, float], None]
"""What is told how many runs are done, of how many, and the seconds left."""


def holds(path: Path, content: str) -> bool:
    """Whether there is a file with just this content."""
    try:
        return read_bounded(path) == content
    except (OSError, ValueError):
        return False


class Reproduction:
    """A preset at work in a folder."""

    def __init__(
        self, preset: Preset, out: Path, tests: Sequence[Path], engine: Engine, stop: Stop, log: Log
    ) -> None:
        self.preset, self.out, self.engine, self.stop, self.log = preset, out, engine, stop, log
        self.tests = [file for file in test_files(tests, preset) if file.stem != "train"]
        self.runs, self.data = out / "runs", out / "data"
        self.trials: dict[str, tuple[PlannedRun, Trial]] = {}
        """The trials of the planned runs, by name."""
        self.checkpoints: dict[str, float] = {}
        """How much of each was done when it was planned here."""

    def begin(self, request: dict[str, Any]) -> None:
        """Take the folder for a request, unless it is taken for another one."""
        path = self.out / REQUEST
        if not path.exists():
            if inside := sorted(p for p in self.out.iterdir() if not p.name.startswith(".")):
                raise UserError(f"{self.out} holds {inside[0].name}; choose another --out")
            write_json(path, request)
        before = read_json(path)
        if before != request:
            listed = ", ".join(f"{key} {value}" for key, value in before.items() if value)
            raise UserError(f"{self.out} is for {listed}; choose another --out")

    def make_data(self, progress: ShowProgress) -> None:
        """Generate and verify the data, pruned against what networks will be tested with.

        The trials on them are then known; which of these are results is recorded beside the runs.
        """
        against = list(self.tests)
        for folder in self.preset.splits:
            files = self.make_folder(folder, against, progress)
            if folder == "data":
                against += [file for file in files if file.stem != "train"]
        for planned in self.preset.runs:
            self.add(planned)
        results = [name for name, (planned, _) in self.trials.items() if planned.is_result]
        self.runs.mkdir(exist_ok=True)
        write_json(self.runs / SELECTED, asdict(SelectedRuns(results)))

    def make_folder(self, folder: str, against: list[Path], progress: ShowProgress) -> list[Path]:
        """Generate and verify the data of a folder, and list its files."""
        splits = self.preset.splits[folder]
        rows = {split.file: split.rows for split in splits}

        def generated(name: str, done: int, total: int) -> None:
            progress(f"{folder}/{name}", done, total)
            if self.stop():
                raise StopRequestedError

        def verified(path: Path, done: int) -> None:
            generated(f"{path.stem}, verified", done, rows[path.name])

        out, workers = self.out / folder, self.engine.slots
        generate_folder(out, splits, 0, workers, False, against, generated)
        files = data_files([out])
        content, mark = "".join(map(sha256, files)), self.out / f"{folder}.verified"
        if not holds(mark, content):
            for result in verify(files, workers, verified):
                if isinstance(result, FileProblem):
                    raise UserError(str(result))
            write_text(mark, content)
        return files

    @cached_property
    def fingerprints(self) -> dict[str, dict[str, str]]:
        """The SHA-256 of what networks learn from, by folder."""
        return {folder: fingerprint(self.out / folder) for folder in self.preset.splits}

    def add(self, planned: PlannedRun) -> list[str]:
        """Plan a run, and give the names of its trials, one for each seed."""
        of_run = [
            Trial(planned.model, planned.settings, seed, self.fingerprints[planned.data])
            for seed in range(planned.seeds)
        ]
        rows = next(s.rows for s in self.preset.splits[planned.data] if s.name == "train")
        for trial in of_run:
            self.trials[trial.name] = planned, trial
            self.checkpoints[trial.name] = trials.fraction_done(self.runs, trial, rows)
        return [trial.name for trial in of_run]

    def expected_seconds(self, show: ShowMeasured = scheduler.ignore) -> dict[str, float]:
        """Estimate how many seconds each planned run takes, from its start, that is not done."""
        left = {n: run for n, (run, _) in self.trials.items() if not read_result(self.runs, n)}
        candidates = {n: (r.model, [r.overrides], self.out / r.data) for n, r in left.items()}
        speeds = trials.measure_all(candidates, self.engine, self.stop, self.log, show)
        settings = {name: run.settings for name, run in left.items()}
        return {
            name: speeds[name][0].trial(of["epochs"], of["evaluations"])
            for name, of in settings.items()
        }

    def work_left(self, expected: dict[str, float]) -> list[float]:
        """Estimate the seconds of one core of each planned run that is left."""
        running = trials.running_trials(self.runs)
        done = {**self.checkpoints, **{name: now.fraction for name, now in running.items()}}
        return [seconds * (1 - done[name]) for name, seconds in expected.items()]

    def label(self, name: str) -> str:
        """Name a run by its settings, and its seed."""
        planned, trial = self.trials[name]
        return f"{planned.label} seed={trial.seed}"

    def train(self, expected: dict[str, float], show: Show) -> None:
        """Train the planned runs, longest first."""
        left = dict(sorted(expected.items(), key=lambda item: -item[1]))
        time_left = scheduler.TimeLeft()

        def calls() -> Iterator[scheduler.Call]:
            for name in left:
                planned, trial = self.trials[name]
                data, ended = self.out / planned.data, partial(on_end, name)
                yield trials.trial_call(self.runs, trial, self.label(name), data, ended)

        def on_end(name: str) -> None:
            if result := read_result(self.runs, name):
                del left[name]
                self.log(f"{self.label(name)}: {result}")

        def refresh() -> None:
            slots, work = self.engine.slots, self.work_left(left)
            seconds = time_left([[work]], slots, min(slots, len(left)))
            show(len(expected) - len(left), len(expected), seconds)

        scheduler.run(calls, self.engine, self.stop, self.log, refresh)

    def plan_search(self, show: ShowMeasured = scheduler.ignore) -> list[Search]:
        """Plan the search for the benchmark networks, which share its budget."""
        if not (budget := self.preset.budget):
            return []
        shares = {model: resolve(model).search_share for model in self.preset.searched}
        unit = budget.amount / sum(shares.values())
        requests = {
            model: SearchRequest(Budget(unit * share, budget.unit), EPOCHS, 0)
            for model, share in shares.items()
        }
        folder = self.out / "sweep"
        engine, stop, log = self.engine, self.stop, self.log
        return sweep.plan_searches(folder, requests, self.data, engine, stop, log, show)

    def search(self, searches: list[Search], refresh: Callable[[], None]) -> None:
        """Search, and evaluate what is selected."""
        own = [file for file in data_files([self.data]) if file.stem != "train"]
        files = own + self.tests
        sweep.run_searches(searches, self.data, files, self.engine, self.stop, self.log, refresh)

    def add_twins(self, searches: list[Search]) -> dict[str, float]:
        """Plan a second run of what was selected, the other way as to symbol permutation.

        Gives the expected seconds of those that are not done.
        """
        expected = {}
        for search in searches:
            if selection := search.selection():
                settings = selection.settings
                other = {**settings, "permute_symbols": not settings["permute_symbols"]}
                for name in self.add(PlannedRun(search.model, other)):
                    if read_result(self.runs, name) is None:
                        expected[name] = search.plan.seconds_each(-1)
        return expected

    @property
    def test_folders(self) -> list[Path]:
        """The folders of the files to test with, besides our own."""
        return list(dict.fromkeys(file.parent for file in self.tests))

    def failures(self, searches: list[Search]) -> list[str]:
        """Describe each run and search that failed, in a line."""
        lines = []
        for name in self.trials:
            result = read_result(self.runs, name)
            if not result or result.failure:
                why = result.failure if result else "not finished"
                lines.append(f"{self.runs / TRIALS / name} failed: {why}")
        return lines + [
            f"{search.model}: no trial of the search succeeded"
            for search in searches
            if not search.selection()
        ]


def test_files(folders: Sequence[Path], preset: Preset) -> list[Path]:
    """List the files of folders whose names tell them apart from each other and from ours."""
    names = list(preset.splits)
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder}: not a folder")
        name = folder.resolve().name
        if name in names:
            raise UserError(f"{folder}: there is another folder of data that is called {name}")
        names.append(name)
    return data_files([folder.resolve() for folder in folders])
