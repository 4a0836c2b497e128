"""The whole paper in one go: data, twelve networks, what section 5 compares, and the report.

    OUT/data       the seven splits         OUT/wide     training data of guided worlds (paper)
    OUT/naive      biased data              OUT/runs     a folder for each run that is planned here
    OUT/sweep      the search (paper)       OUT/report   the page

Whatever is done already is not done again, so the same command goes on after any interruption.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from possibleworlds.data.files import data_files, fingerprint
from possibleworlds.data.generation import Split
from possibleworlds.data.splits import PRESETS, free_splits, generate_folder
from possibleworlds.data.verify import Problem, verify
from possibleworlds.errors import UserError
from possibleworlds.experiments.engines import Died, Engine
from possibleworlds.experiments.grid import SEEDS, Budget
from possibleworlds.experiments.selection import SELECTED
from possibleworlds.experiments.sweep import DEATHS, EPOCHS, Asked, Search, make_plans, searches_of
from possibleworlds.experiments.sweep import run as run_sweep
from possibleworlds.experiments.trials import (
    LOCKS,
    TRIALS,
    Trial,
    measure,
    read_result,
    record_failure,
    run_trial,
    step_reached,
)
from possibleworlds.models.registry import REGISTRY, resolve
from possibleworlds.paper import WORLDS
from possibleworlds.parallel import StopRequestedError
from possibleworlds.storage import held_locks, read_json, sha256, write_json
from possibleworlds.training.checkpoint import SHIPPED, flat_settings, read_run
from possibleworlds.training.settings import RunSettings

WITH_WORLDS = ("possibleworldnet", "guidedworldnet")
SEARCH_SHARES = {
    **dict.fromkeys(("linear-bow", "mlp-bow"), 1),
    **dict.fromkeys(("convnet", "treelstm"), 2),
    **{"lstm": 3, "bilstm": 4, "bilstm-traversal": 4, "lstm-traversal": 5, "transformer": 12},
    "treenet": 4,
}
"""The benchmark networks and how the budget of their search is shared: the slow get more of it, and
so does treenet, whose symbols are not permuted in the first minute."""
ONE_SIDED = ("linear-bow", "mlp-bow", "treenet")

ASKED = "reproduce.json"

Say = Callable[[str], None]
Stop = Callable[[], bool]
Progress = Callable[[str, int, int], None]
"""What is told the name of something, and how much of it is done, of how much."""


@dataclass(frozen=True)
class Planned:
    """A network to be trained with given settings on the data of a folder, with some seeds."""

    model: str
    given: dict[str, Any]
    data: str = "data"
    seeds: int = 1
    is_result: bool = False
    """Whether it stands in the table of results; others are there to be compared."""

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, of the network and of its training."""
        return RunSettings.read(resolve(self.model), self.given).flat()


@dataclass(frozen=True)
class Preset:
    """What is run, and what that leaves out of the paper."""

    splits: dict[str, tuple[Split, ...]]
    """The data, by folder."""
    runs: list[Planned]
    budget: Budget | None
    """Of the search for the benchmark networks; None where there is none."""
    note: str
    """What the page is to say of it."""


def quick() -> Preset:
    """All twelve networks on a fifth of the data, each for a minute or so."""
    minutes = dict.fromkeys(REGISTRY, 1.0) | {"linear-bow": 0.4, "mlp-bow": 0.4}
    minutes["guidedworldnet"] = 2.0
    runs = [
        Planned(model, {"minutes": length}, is_result=True) for model, length in minutes.items()
    ]
    runs += [Planned("possibleworldnet", {"minutes": 0.5, "worlds": n}) for n in WORLDS[::2]]
    runs += [
        Planned(model, {"minutes": minutes[model], "permute_symbols": False})
        for model in ("mlp-bow", "lstm", "treelstm")
    ]
    runs += one_sided({"minutes": 0.2}, ("mlp-bow",))
    return Preset(
        {"data": PRESETS["quick"], "naive": naive(20_000)},
        runs,
        None,
        "A quick run: 20,000 rows of training data instead of 100,000 and 1,000 in a test set "
        "instead of 5,000; each network with its default settings and one seed, for 0.4 to 2 "
        "minutes on one core, without a search; four numbers of worlds instead of seven; three "
        "networks without symbol permutation; one network that sees one side. The paper's sizes: "
        "`possibleworlds reproduce --preset paper`.",
    )


def paper(budget: Budget) -> Preset:
    """The paper's sizes: a search for each benchmark, three seeds of the networks with worlds."""
    best = {model: read_run(SHIPPED / model) for model in WITH_WORLDS}
    runs = [
        Planned(model, flat_settings(run), data, SEEDS, is_result=True)
        for (model, run), data in zip(best.items(), ("data", "wide"), strict=True)
    ]
    short = {"epochs": 2.0, "evaluations": 12, "validation_rows": 2000}
    runs += [Planned("possibleworldnet", {**short, "worlds": n}) for n in WORLDS]
    runs.append(Planned("possibleworldnet", {**short, "permute_symbols": False}))
    runs += [Planned("guidedworldnet", {**short, "permute_symbols": on}) for on in (True, False)]
    runs += one_sided({"epochs": 4.0}, ONE_SIDED)
    hours = budget.amount / 3600
    length = f"{hours:g} core-hours" if budget.unit == "seconds" else f"{budget.amount:g} epochs"
    return Preset(
        {
            "data": PRESETS["paper"],
            "wide": free_splits(100_000, (1, 10), (0, 10), "fourtuples")[:2],
            "naive": naive(100_000),
        },
        runs,
        budget,
        f"Settings of the ten benchmark networks were searched for with {length} in all, by "
        "successive halving among their defaults and points of the paper's grid; the networks with "
        "worlds have those of the ready-trained ones. guidedworldnet is trained on `wide`, rows of "
        "0 to 10 operators a formula. Side studies have one seed: two epochs for each number of "
        "worlds, the length of what was selected without symbol permutation (two epochs of the "
        "networks with worlds), four epochs for three networks that see one side.",
    )


def naive(rows: int) -> tuple[Split, ...]:
    """Data by the naive method, on which a network may see from one side what the answer is."""
    return free_splits(rows, (1, 10), (1, 10), "naive")


def one_sided(length: dict[str, Any], models: Sequence[str]) -> list[Planned]:
    """The checks of appendix A, on unbiased and on biased data."""
    return [
        Planned(model, {**length, "side": side}, data)
        for model in models
        for side in ("left", "right")
        for data in ("data", "naive")
    ]


class Reproduction:
    """A preset at work in a folder."""

    def __init__(
        self, preset: Preset, out: Path, tests: Sequence[Path], engine: Engine, stop: Stop, say: Say
    ) -> None:
        self.preset, self.out, self.engine, self.stop, self.say = preset, out, engine, stop, say
        self.tests = [file for file in tests_in(tests, preset) if file.stem != "train"]
        self.runs, self.data = out / "runs", out / "data"
        self.trials: dict[str, tuple[Planned, Trial]] = {}
        """The trials of the planned runs, by name."""

    def begin(self, asked: dict[str, Any]) -> None:
        """Take the folder for what is asked for, unless it is taken for something else."""
        path = self.out / ASKED
        if not path.exists():
            if inside := sorted(p for p in self.out.iterdir() if not p.name.startswith(".")):
                raise UserError(f"{self.out} holds {inside[0].name}; choose another --out")
            write_json(path, asked)
        before = read_json(path)
        if before != asked:
            listed = ", ".join(f"{key} {value}" for key, value in before.items() if value)
            raise UserError(f"{self.out} is for {listed}; choose another --out")

    def make_data(self, progress: Progress) -> None:
        """Generate and verify the data, pruned against what networks will be tested with.

        What is trained on them is then known, and which of it are results is put beside the runs.
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
        write_json(self.runs / SELECTED, {"selected": results})

    def make_folder(self, folder: str, against: list[Path], progress: Progress) -> list[Path]:
        """Generate and verify the data of a folder; its files."""
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
        if not mark.exists() or mark.read_text(encoding="utf-8") != content:
            for found in verify(files, workers, verified):
                if isinstance(found, Problem):
                    raise UserError(f"{found.path}:{found.line}: {found.check}: {found.message}")
            mark.write_text(content, encoding="utf-8")
        return files

    @cached_property
    def prints(self) -> dict[str, dict[str, str]]:
        """The SHA-256 of what networks learn from, by folder."""
        return {folder: fingerprint(self.out / folder) for folder in self.preset.splits}

    def add(self, planned: Planned) -> list[str]:
        """Have a run trained; the names of its trials, one for each seed."""
        trials = [
            Trial(planned.model, planned.settings, seed, self.prints[planned.data])
            for seed in range(planned.seeds)
        ]
        self.trials |= {trial.name: (planned, trial) for trial in trials}
        return [trial.name for trial in trials]

    def lengths(self) -> dict[str, float]:
        """The planned runs that are not done, with the seconds that each takes."""
        missing = {
            name: planned
            for name, (planned, _) in self.trials.items()
            if read_result(self.runs, name) is None
        }
        lengths = {name: 60.0 * planned.settings["minutes"] for name, planned in missing.items()}
        by_epochs = {
            name: (measure, planned.model, [planned.given], self.out / planned.data)
            for name, planned in missing.items()
            if not lengths[name]
        }
        for name, speeds in self.calls(by_epochs):
            settings = missing[name].settings
            # A network that cannot be measured cannot be trained either: its run will say why.
            if not isinstance(speeds, Died) and speeds[0]:
                lengths[name] = speeds[0].trial(settings["epochs"], settings["evaluations"])
        return lengths

    def calls(
        self, calls: dict[str, tuple[Any, ...]], show: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[str, Any]]:
        """Make calls, as many at once as the engine can; the name and ending of each."""
        waiting, running = list(calls), 0
        try:
            while waiting or running:
                while waiting and running < self.engine.slots:
                    name = waiting.pop(0)
                    self.engine.submit(name, *calls[name])
                    running += 1
                for ended in self.engine.wait(0.5).items():
                    running -= 1
                    yield ended
                show()
                if self.stop():
                    raise StopRequestedError
        finally:
            self.engine.stop()  # lets runs save their work, whatever the reason

    def train(self, lengths: dict[str, float], show: Callable[[float], None]) -> None:
        """Train the planned runs, longest first; tell how many seconds of them are behind."""
        left = dict(sorted(lengths.items(), key=lambda item: -item[1]))

        def tell() -> None:
            said = held_locks(self.runs / LOCKS)
            ahead = (left[name] * (1 - said.get(name, {}).get("share", 0.0)) for name in left)
            show(sum(lengths.values()) - sum(ahead))

        deaths: Counter[tuple[str, int]] = Counter()
        while left:
            calls = {}
            for name in left:
                planned, trial = self.trials[name]
                calls[name] = (run_trial, self.runs, trial, self.out / planned.data)
            for name, ending in self.calls(calls, tell):
                if isinstance(ending, Died):
                    death = name, step_reached(self.runs, name)
                    deaths[death] += 1
                    if deaths[death] == DEATHS:
                        record_failure(self.runs, name, ending.reason)
                if result := read_result(self.runs, name):
                    del left[name]
                    said = result.failure or f"{result.validation:.2%} of validation"
                    self.say(f"{name}: {said}")

    def plan_search(self) -> list[Search]:
        """The search for the benchmark networks, which share its budget."""
        folder, budget = self.out / "sweep", self.preset.budget
        if not budget:
            return []
        whole = sum(SEARCH_SHARES.values())
        for share in sorted(set(SEARCH_SHARES.values())):
            models = [model for model, own in SEARCH_SHARES.items() if own == share]
            asked = Asked(Budget(budget.amount * share / whole, budget.unit), EPOCHS, 0)
            make_plans(folder, models, self.data, asked, self.engine, self.stop, self.say)
        return searches_of(folder, list(SEARCH_SHARES))

    def search(self, searches: list[Search], show: Callable[[], None]) -> None:
        """Search, and evaluate what is selected."""
        files = [file for file in data_files([self.data]) if file.stem != "train"]
        run_sweep(
            searches, self.data, [*files, *self.tests], self.engine, self.stop, self.say, show
        )

    def add_twins(self, searches: list[Search]) -> dict[str, float]:
        """Have what was selected trained once more, the other way as to symbol permutation.

        Gives the seconds that each takes of those that are not done.
        """
        lengths = {}
        for search in searches:
            if not search.due() and (selection := search.selection()):
                settings = selection["settings"]
                other = {**settings, "permute_symbols": not settings["permute_symbols"]}
                for name in self.add(Planned(search.model, other)):
                    if read_result(self.runs, name) is None:
                        lengths[name] = search.plan.seconds_each(-1)
        return lengths

    def failures(self, searches: list[Search]) -> list[str]:
        """What could not be had, a line each."""
        found = [
            f"{self.runs / TRIALS / name} failed: {result.failure if result else 'not finished'}"
            for name in self.trials
            if not (result := read_result(self.runs, name)) or result.failure
        ]
        return found + [
            f"{search.model}: no trial of the search succeeded"
            for search in searches
            if not search.selected()
        ]

    @property
    def test_folders(self) -> list[Path]:
        """The folders of the files to test with, besides our own."""
        return list(dict.fromkeys(file.parent for file in self.tests))


def tests_in(folders: Sequence[Path], preset: Preset) -> list[Path]:
    """The files to test with, of folders whose names tell them apart from each other and ours."""
    names = list(preset.splits)
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder}: not a folder")
        name = folder.resolve().name
        if name in names:
            raise UserError(f"{folder}: there is another folder of data that is called {name}")
        names.append(name)
    return data_files([folder.resolve() for folder in folders])
