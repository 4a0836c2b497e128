"""Reproduce the whole paper: data, all networks, the comparisons of section 5, and the report.

    OUT/data       the seven splits         OUT/wide     training data of guided worlds (paper)
    OUT/naive      biased data              OUT/runs     a folder for each planned run
    OUT/sweep      the search (paper)       OUT/report   the page

Finished work is not repeated, so the same command continues after any interruption.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from possibleworlds.data.files import data_files, fingerprint
from possibleworlds.data.splits import Report, generate_folder
from possibleworlds.data.verify import FileProblem, verify
from possibleworlds.errors import UserError
from possibleworlds.experiments import trials
from possibleworlds.experiments.grid import EPOCHS, Budget, SearchRequest
from possibleworlds.experiments.presets import PlannedRun, Preset
from possibleworlds.experiments.scheduler import Call, Scheduler, TimeLeft, ignore
from possibleworlds.experiments.selection import SELECTED, SelectedRuns
from possibleworlds.experiments.sweep import Search, plan_searches, run_searches
from possibleworlds.experiments.trials import Result, ShowMeasured, Trial, TrialFolder
from possibleworlds.models.registry import resolve
from possibleworlds.parallel import StopRequestedError
from possibleworlds.storage import read_bounded, read_json, sha256, write_json, write_text

REQUEST = "reproduce.json"

Show = Callable[[int, int, float], None]
"""Called with the number of finished runs, the total, and the seconds left."""


def holds(path: Path, content: str) -> bool:
    """Whether the file exists and has exactly this content."""
    try:
        return read_bounded(path) == content
    except (OSError, ValueError):
        return False


class Reproduction:
    """A preset that is run in a folder."""

    def __init__(
        self, preset: Preset, out: Path, tests: Sequence[Path], scheduler: Scheduler
    ) -> None:
        self.preset, self.out, self.scheduler = preset, out, scheduler
        self.tests = [file for file in test_files(tests, preset) if file.stem != "train"]
        self.runs, self.data = out / "runs", out / "data"
        self.progress = TrialFolder(self.runs)
        self.fingerprints: dict[str, dict[str, str]] = {}
        """The SHA-256 of the training and validation files, by folder."""
        self.trials: dict[str, tuple[PlannedRun, Trial]] = {}
        """The trials of the planned runs, by name."""
        self.expected: dict[str, float] = {}
        """The estimated duration of each trial that was unfinished when it was planned."""
        self.searches: list[Search] = []

    def begin(self, request: dict[str, Any]) -> None:
        """Claim the folder for a request; raise UserError if it holds anything else."""
        path = self.out / REQUEST
        if not path.exists():
            if content := sorted(p for p in self.out.iterdir() if not p.name.startswith(".")):
                raise UserError(f"{self.out} holds {content[0].name}; choose another --out")
            write_json(path, request)
        recorded = read_json(path)
        if recorded != request:
            options = ", ".join(f"{key} {value}" for key, value in recorded.items() if value)
            raise UserError(f"{self.out} is for {options}; choose another --out")

    def make_data(self, progress: Report) -> None:
        """Generate and verify the data, pruned against all test files, and plan the trials.

        The trials that count as results are recorded in selected.json next to the runs.
        """
        against = list(self.tests)
        for folder in self.preset.splits:
            files = self.make_folder(folder, against, progress)
            self.fingerprints[folder] = fingerprint(self.out / folder)
            if folder == "data":
                against += [file for file in files if file.stem != "train"]
        for planned in self.preset.runs:
            self.add(planned)
        results = [name for name, (planned, _) in self.trials.items() if planned.is_result]
        self.runs.mkdir(exist_ok=True)
        write_json(self.runs / SELECTED, asdict(SelectedRuns(results)))

    def make_folder(self, folder: str, against: list[Path], progress: Report) -> list[Path]:
        """Generate and verify the data of a folder, and return its files."""
        splits = self.preset.splits[folder]
        rows = {split.file: split.rows for split in splits}

        def generated(name: str, done: int, total: int) -> None:
            progress(f"{folder}/{name}", done, total)
            if self.scheduler.stop():
                raise StopRequestedError

        def verified(path: Path, done: int) -> None:
            generated(f"{path.stem}, verified", done, rows[path.name])

        out, workers = self.out / folder, self.scheduler.engine.slots
        generate_folder(out, splits, 0, workers, False, against, generated)
        files = data_files([out])
        content, marker = "".join(map(sha256, files)), self.out / f"{folder}.verified"
        if not holds(marker, content):
            for result in verify(files, workers, verified):
                if isinstance(result, FileProblem):
                    raise UserError(str(result))
            write_text(marker, content)
        return files

    def add(self, planned: PlannedRun, seconds: float = 0.0) -> None:
        """Add the trials of a planned run; those that are unfinished will take this long."""
        rows = next(s.rows for s in self.preset.splits[planned.data] if s.name == "train")
        for seed in range(planned.seeds):
            trial = Trial(planned.model, planned.settings, seed, self.fingerprints[planned.data])
            self.trials[trial.name] = planned, trial
            self.progress.add(trial, rows)
            if trial.name not in self.progress.results:
                self.expected[trial.name] = seconds

    def measure(self, show: ShowMeasured = ignore) -> None:
        """Estimate the duration of each unfinished trial."""
        unfinished = [self.trials[name] for name in self.expected]
        candidates = [(run.model, run.overrides, self.out / run.data) for run, _ in unfinished]
        speeds = trials.measure_all(candidates, self.scheduler, show)
        for (_, trial), speed in zip(unfinished, speeds, strict=True):
            lengths = trial.settings["epochs"], trial.settings["evaluations"]
            self.expected[trial.name] = speed.trial(*lengths)

    def plan_search(self, show: ShowMeasured = ignore) -> None:
        """Plan the search over the benchmark networks, which share its budget."""
        if not (budget := self.preset.budget):
            return
        shares = {model: resolve(model).search_share for model in self.preset.searched}
        unit = budget.amount / sum(shares.values())
        requests = {
            model: SearchRequest(Budget(unit * share, budget.unit), EPOCHS, 0)
            for model, share in shares.items()
        }
        sweep = self.out / "sweep"
        self.searches = plan_searches(sweep, requests, self.data, self.scheduler, show)

    def search(self, refresh: Callable[[], None]) -> None:
        """Run the searches, and evaluate the selected runs."""
        files = [file for file in data_files([self.data]) if file.stem != "train"]
        run_searches(self.searches, self.data, files + self.tests, self.scheduler, refresh)

    def add_permutation_runs(self) -> None:
        """Plan a run of each selection with symbol permutation switched on or off."""
        for search in self.searches:
            if selection := search.selection():
                is_on = selection.settings["permute_symbols"]
                switched = {**selection.settings, "permute_symbols": not is_on}
                self.add(PlannedRun(search.model, switched), search.plan.seconds_each(-1))

    def work_left(self) -> list[float]:
        """Estimate the core-seconds left of each unfinished trial."""
        running = trials.running_trials(self.runs)
        return [
            seconds * self.progress.fraction_left(name, running)
            for name, seconds in self.expected.items()
            if name not in self.progress.results
        ]

    def train(self, show: Show) -> None:
        """Train the planned runs, longest first."""
        names = sorted(self.expected, key=lambda name: -self.expected[name])
        total, time_left = len(names), TimeLeft()

        def calls() -> Iterator[Call]:
            for name in names:
                if name not in self.progress.results:
                    planned, trial = self.trials[name]
                    label, data = f"{planned.label} seed={trial.seed}", self.out / planned.data
                    yield self.progress.call(trial, label, data, self.scheduler.log)

        def refresh() -> None:
            slots, left = self.scheduler.engine.slots, self.work_left()
            running = min(slots, len(left))
            show(total - len(left), total, time_left([[left]], slots, running))

        self.scheduler.run(calls, refresh)

    @property
    def test_folders(self) -> list[Path]:
        """The folders of the additional test files."""
        return list(dict.fromkeys(file.parent for file in self.tests))

    def failures(self) -> list[str]:
        """Describe each run and search that failed, in one line each."""
        lines = []
        for name in self.trials:
            result = self.progress.results.get(name, Result(failure="not finished"))
            if result.failure:
                lines.append(f"{self.runs / trials.TRIALS / name} failed: {result.failure}")
        failed = [search.model for search in self.searches if not search.selection()]
        return lines + [f"{model}: no trial of the search succeeded" for model in failed]


def test_files(folders: Sequence[Path], preset: Preset) -> list[Path]:
    """List the files of folders; raise UserError if two folders of data have the same name."""
    names = list(preset.splits)
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder}: not a folder")
        name = folder.resolve().name
        if name in names:
            raise UserError(f"{folder}: another data folder is also called {name}")
        names.append(name)
    return data_files([folder.resolve() for folder in folders])
