"""The presets of `possibleworlds reproduce`: what each runs and leaves out of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass

from possibleworlds.data.generation import Split
from possibleworlds.data.splits import PRESETS, free_splits, paper_layout
from possibleworlds.experiments.grid import SEEDS, Budget, Settings
from possibleworlds.models.registry import resolve
from possibleworlds.paper import TABLE_2, WORLDS
from possibleworlds.training.checkpoint import SHIPPED, read_run
from possibleworlds.training.settings import RunSettings

LENGTH_SETTINGS = ("epochs", "minutes", "evaluations", "validation_rows")
QUICK_EPOCHS = {
    **{"linear-bow": 50.0, "mlp-bow": 50.0, "transformer": 4.0, "convnet": 12.0, "lstm": 15.0},
    **{"bilstm": 8.0, "treenet": 32.0, "treelstm": 24.0, "lstm-traversal": 10.0},
    **{"bilstm-traversal": 5.0, "possibleworldnet": 11.0, "guidedworldnet": 7.0},
}
"""The epochs on 20,000 rows, which take one core about 5 to 50 seconds, at the speeds in
docs/models.md."""


@dataclass(frozen=True)
class PlannedRun:
    """A network to train: its settings, the folder of its data, and the number of seeds."""

    model: str
    overrides: Settings
    data: str = "data"
    seeds: int = 1
    is_result: bool = False
    """Whether it appears in the table of results; other runs are only for comparison."""

    @property
    def label(self) -> str:
        """The network, its non-default settings, and its data."""
        defaults = RunSettings.read(resolve(self.model), {}).flat()
        values = {k: v for k, v in self.overrides.items() if k not in LENGTH_SETTINGS}
        changed = [f"{k}={v}" for k, v in values.items() if v != defaults.get(k)]
        return " ".join([self.model, *changed, *([] if self.data == "data" else ["on", self.data])])

    @property
    def settings(self) -> Settings:
        """All settings, of the network and of its training."""
        return RunSettings.read(resolve(self.model), self.overrides).flat()


@dataclass(frozen=True)
class Preset:
    """What to run, and what that leaves out of the paper."""

    splits: dict[str, tuple[Split, ...]]
    """The data, by folder."""
    runs: list[PlannedRun]
    budget: Budget | None
    """For the search over the benchmark networks; None if there is no search."""
    note: str
    """How the report describes it."""
    searched: tuple[str, ...] = ()
    """The networks that share the budget."""


def tiny() -> Preset:
    """A little of everything, in seconds: for tests and demonstrations."""
    short = {"epochs": 1.0, "evaluations": 2}
    runs = [
        PlannedRun("mlp-bow", short, seeds=2, is_result=True),
        PlannedRun("mlp-bow", {**short, "permute_symbols": False}),
        PlannedRun("possibleworldnet", {**short, "size": 4, "worlds": 2}, is_result=True),
        *one_sided_runs(short, ("linear-bow",)),
    ]
    data = paper_layout(160, 40, 40, 40, 40, 20)
    splits = {"data": data, "naive": free_splits(80, (1, 5), (1, 5), "naive")}
    searched = ("linear-bow", "mlp-bow")
    return Preset(splits, runs, Budget(9, "epochs"), "Everything is tiny.", searched)


def quick() -> Preset:
    """The paper's networks and guidedworldnet, on a fifth of the data, under a minute each."""
    runs = [
        PlannedRun(model, {"epochs": epochs}, is_result=True)
        for model, epochs in QUICK_EPOCHS.items()
    ]
    runs += [PlannedRun("possibleworldnet", {"epochs": 5.0, "worlds": n}) for n in WORLDS[::2]]
    runs += [
        PlannedRun(model, {"epochs": QUICK_EPOCHS[model], "permute_symbols": False})
        for model in ("mlp-bow", "lstm", "treelstm")
    ]
    runs += one_sided_runs({"epochs": 25.0}, ("mlp-bow",))
    return Preset(
        {"data": PRESETS["quick"], "naive": free_splits(20_000, method="naive")},
        runs,
        None,
        "A quick run: 20,000 rows of training data instead of 100,000 and 1,000 in a test set "
        "instead of 5,000; each network with its default settings and one seed, for 4 to 50 "
        "epochs, without a search; four numbers of worlds instead of seven; three networks without "
        "symbol permutation; one network that sees one side. The paper's sizes: "
        "`possibleworlds reproduce --preset paper`.",
    )


def paper(budget: Budget) -> Preset:
    """The paper's sizes: a search for each benchmark, three seeds for the networks with worlds."""
    runs = [
        PlannedRun(model, read_run(SHIPPED / model).flat_settings, data, SEEDS, is_result=True)
        for model, data in (("possibleworldnet", "data"), ("guidedworldnet", "wide"))
    ]
    short = {"epochs": 2.0, "evaluations": 12, "validation_rows": 2000}
    runs += [PlannedRun("possibleworldnet", {**short, "worlds": n}) for n in WORLDS]
    runs.append(PlannedRun("possibleworldnet", {**short, "permute_symbols": False}))
    runs += [PlannedRun("guidedworldnet", {**short, "permute_symbols": on}) for on in (True, False)]
    runs += one_sided_runs({"epochs": 4.0}, ("linear-bow", "mlp-bow", "treenet"))
    searched = tuple(name for name in TABLE_2 if resolve(name).search_share)
    hours = budget.amount / 3600
    length = f"{hours:g} core-hours" if budget.unit == "seconds" else f"{budget.amount:g} epochs"
    return Preset(
        {
            "data": PRESETS["paper"],
            "wide": free_splits(100_000, (1, 10), (0, 10), "fourtuples")[:2],
            "naive": free_splits(100_000, method="naive"),
        },
        runs,
        budget,
        f"Settings of {len(searched)} networks were searched for with {length} in all, by "
        "successive halving among their defaults and points of the paper's grid; the networks with "
        "worlds have those of the pretrained ones. guidedworldnet is trained on `wide`, rows of "
        "0 to 10 operators a formula. Side studies have one seed: two epochs for each number of "
        "worlds, the length of what was selected without symbol permutation (two epochs of the "
        "networks with worlds), four epochs for three networks that see one side.",
        searched,
    )


def one_sided_runs(length: Settings, models: Sequence[str]) -> list[PlannedRun]:
    """The checks of appendix A, on unbiased and on biased data."""
    return [
        PlannedRun(model, {**length, "side": side}, data)
        for model in models
        for side in ("left", "right")
        for data in ("data", "naive")
    ]
