"""Plans: the paper's grid to the letter, and halving that costs what it says."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from possibleworlds.errors import UserError
from possibleworlds.experiments import scheduler
from possibleworlds.experiments.grid import (
    EPOCHS,
    Budget,
    SearchPlan,
    SearchRequest,
    grid,
    make_plan,
    points_to_measure,
    with_defaults,
)
from possibleworlds.experiments.sweep import Search
from possibleworlds.experiments.trials import Result, Trial, TrialProgress
from possibleworlds.models.registry import resolve
from possibleworlds.records import from_json
from possibleworlds.training.speed import Speed

LEARNING = 3 * 2 * 2  # learning rates, batch sizes, with and without symbol permutation
SIZES = {  # section 4: what else is searched for each network, and how many values of each
    "linear-bow": 2,  # embedding
    "mlp-bow": 2 * 2 * 2,  # embedding, MLP size, MLP layers
    "convnet": 2 * 2 * 2 * 3 * 3 * 2 * 4,  # the same; layers, kernel, channels, pooling
    "lstm": 2 * 2 * 2 * 2,  # embedding, cell, MLP size, MLP layers
    "bilstm": 2 * 2 * 2 * 2,
    "lstm-traversal": 2 * 2 * 2 * 2,
    "bilstm-traversal": 2 * 2 * 2 * 2,
    "treenet": 2 * 2 * 2,  # embedding, MLP size, MLP layers
    "treelstm": 2 * 2 * 2 * 2,  # embedding, cell, MLP size, MLP layers
    "transformer": 2 * 3 * 3 * 3,  # embedding; layers, dropout, filter size
    "possibleworldnet": 2,  # embedding
}


def within(budget: Budget, seed: int = 0) -> SearchRequest:
    return SearchRequest(budget, EPOCHS, seed)


@pytest.mark.parametrize("name", SIZES)
def test_the_whole_grid_is_the_papers(name: str) -> None:
    model = resolve(name)
    points = grid(model)
    assert len(points) == LEARNING * SIZES[name]
    assert len({json.dumps(with_defaults(model, point)) for point in points}) == len(points)
    plan = make_plan(model, SearchRequest(None, 10.0, 0), [{}], [Speed()])
    assert [candidate.overrides for candidate in plan.candidates] == points
    assert [(rung.candidates, rung.seeds) for rung in plan.rungs] == [(len(points), 3)]


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("1.5h", 5400), ("90m", 5400), ("45 s", 45)]
)
def test_budgets(text: str, seconds: float) -> None:
    assert Budget.parse(text) == Budget(seconds, "seconds")
    assert Budget.parse("30epochs") == Budget(30, "epochs")
    for wrong in ("", "2", "h", "-1h", "0h", "2 days"):
        with pytest.raises(UserError, match="not a budget"):
            Budget.parse(wrong)


@pytest.mark.parametrize("text", ["90s", "10m", "2h", "48h", "2epochs", "300epochs"])
def test_halving_costs_what_it_may(text: str) -> None:
    model, budget = resolve("lstm"), Budget.parse(text)
    request = within(budget)
    points = points_to_measure(model, request)
    assert points[0] == {}
    speeds = [Speed(0.5, 1 + i % 5, 0.1) for i in range(len(points))]
    plan = make_plan(model, request, points, speeds)
    assert len(plan.candidates) == plan.rungs[0].candidates == 3 ** budget.halvings(192)
    assert (plan.rungs[-1].candidates, plan.rungs[-1].seeds) == (1, 3)
    if budget.unit == "seconds":
        # Whoever survives: each candidate's trials take the time of the rung.
        for rung in range(len(plan.rungs)):
            for candidate in plan.candidates:
                assert candidate.seconds[rung] == pytest.approx(plan.seconds_each(rung), rel=0.01)
        total = sum(plan.seconds(rung) for rung in range(len(plan.rungs)))
    else:
        rungs = enumerate(plan.rungs)
        total = sum(r.candidates * r.seeds * plan.candidates[0].epochs[i] for i, r in rungs)
    assert total == pytest.approx(budget.amount, rel=0.01)


def test_starting_candidates_are_a_seeded_sample_of_the_grid() -> None:
    model, budget = resolve("treenet"), Budget.parse("2h")
    points = points_to_measure(model, within(budget, 5))
    assert points == points_to_measure(model, within(budget, 5))
    assert points != points_to_measure(model, within(budget, 6))
    assert len(points) == 27
    assert all(point in grid(model) for point in points[1:])
    assert len({json.dumps(with_defaults(model, point)) for point in points}) == 27
    assert len(points_to_measure(resolve("linear-bow"), within(Budget.parse("9999h")))) == 9


@pytest.mark.parametrize("space", [{}, {"size": [64]}, {"size": [32, 64]}])
def test_a_grid_of_few_points_is_planned_as_a_whole(space: dict[str, list[Any]]) -> None:
    model = type("Small", (resolve("treenet"),), {"search_space": space})
    request = SearchRequest(None, 2.0, 0)
    points = points_to_measure(model, request)
    assert len(points) == len(grid(model))
    assert all(point in grid(model) for point in points)
    plan = make_plan(model, request, points, [Speed()] * len(points))
    assert [candidate.overrides for candidate in plan.candidates] == grid(model)


def test_a_setting_to_search_has_values() -> None:
    model = type("Empty", (resolve("treenet"),), {"search_space": {"size": []}})
    with pytest.raises(UserError, match=r"Empty\.search_space has a setting without values"):
        points_to_measure(model, SearchRequest(None, 2.0, 0))


def test_a_plan_survives_its_file() -> None:
    model, request = resolve("treenet"), within(Budget.parse("90epochs"))
    points = points_to_measure(model, request)
    plan = make_plan(model, request, points, [Speed()] * len(points))
    assert from_json(json.loads(json.dumps(asdict(plan))), SearchPlan, "plan") == plan


def trial(**changes: Any) -> Trial:
    settings = {**with_defaults(resolve("treenet"), {"epochs": 2.0}), **changes}
    return Trial("treenet", settings, 0, {"train.txt": "a", "validate.txt": "b"})


def test_the_name_of_a_trial_is_of_all_that_decides_its_result() -> None:
    first = trial()
    shuffled = Trial("treenet", dict(reversed(first.settings.items())), 0, first.data)
    again = Trial("treenet", json.loads(json.dumps(first.settings)), 0, first.data)
    assert first.name == shuffled.name == again.name
    others = [
        trial(size=32),
        trial(learning_rate=1e-4),
        trial(epochs=3.0),
        Trial("treelstm", first.settings, 0, first.data),
        Trial("treenet", first.settings, 1, first.data),
        Trial("treenet", first.settings, 0, {**first.data, "train.txt": "c"}),
    ]
    assert len({first.name, *(other.name for other in others)}) == 7
    fixed = Trial("treenet", {"size": 8, "epochs": 1.5}, 3, {"train.txt": "a"})
    assert fixed.name == "treenet-2a6b2e293f53d8fa"


def halving_search(tmp_path: Path) -> Search:
    model, request = resolve("treenet"), within(Budget.parse("50epochs"))
    points = points_to_measure(model, request)
    assert len(points) == 9
    plan = make_plan(model, request, points, [Speed()] * 9)
    return Search(tmp_path, "treenet", plan, {"train.txt": "a", "validate.txt": "b"})


def give(search: Search, accuracies: dict[int, float | str]) -> None:
    for name, (candidate, _) in search.rungs[-1].items():
        outcome = accuracies[candidate]
        failed = isinstance(outcome, str)
        search.results[name] = Result(failure=outcome) if failed else Result(validation=outcome)  # type: ignore[arg-type]


def test_halving_keeps_the_best(tmp_path: Path) -> None:
    search = halving_search(tmp_path)
    assert len(search.pending()) == 9
    give(search, dict(enumerate([0.5, 0.9, "nan", 0.7, 0.8, 0.7, 0.1, 0.2, "nan"])))
    second = search.pending()
    assert [candidate for candidate, _ in search.rungs[1].values()] == [
        1,
        4,
        3,
    ]  # the earlier of 7s
    assert {t.settings["epochs"] for t in second} == {search.plan.candidates[1].epochs[1]}
    give(search, {1: 0.6, 4: "nan", 3: 0.75})
    last = search.pending()
    assert [candidate for candidate, _ in search.rungs[2].values()] == [3, 3, 3]
    assert [t.seed for t in last] == [0, 1, 2]
    names = [t.name for t in last]
    search.results |= {names[0]: Result(0.8), names[1]: Result(0.9), names[2]: Result(failure="x")}
    assert search.pending() == []
    selection = search.selection()
    assert selection is not None
    assert list(selection.seeds.items()) == [(names[1], 0.9), (names[0], 0.8)]
    assert selection.trial == names[1]


def test_a_search_in_which_all_fail_is_over(tmp_path: Path) -> None:
    search = halving_search(tmp_path)
    give(search, dict.fromkeys(range(9), "nan"))
    assert search.pending() == []
    assert search.selection() is None


def test_of_the_whole_grid_the_settings_with_the_best_mean_are_selected(tmp_path: Path) -> None:
    plan = make_plan(resolve("linear-bow"), SearchRequest(None, 1.0, 0), [{}], [Speed()])
    search = Search(tmp_path, "linear-bow", plan, {})
    accuracies = {0: (0.9, 0.5, 0.5), 1: (0.7, 0.8, 0.75)}
    for name, (candidate, trial) in search.rungs[0].items():
        search.results[name] = Result(accuracies.get(candidate, (0.5,) * 3)[trial.seed])
    assert search.pending() == []
    selection = search.selection()
    assert selection is not None
    assert list(selection.seeds.values()) == [0.8, 0.75, 0.7]
    names = [trial.name for candidate, trial in search.rungs[0].values() if candidate == 1]
    assert list(selection.seeds) == [names[1], names[2], names[0]]


def test_what_is_left_counts_checkpoints_and_rungs_to_come(tmp_path: Path) -> None:
    search = halving_search(tmp_path)
    whole = [seconds for rung in search.work_left({}) for seconds in rung]
    assert len(whole) == 9 + 3 + 3
    first = next(iter(search.rungs[0]))
    search.checkpoints[first] = 0.5
    assert sum(whole) - sum(map(sum, search.work_left({}))) == pytest.approx(whole[0] / 2)
    running = {first: TrialProgress(fraction=0.75)}
    assert search.work_left(running)[0][0] == pytest.approx(whole[0] / 4)
    give(search, dict.fromkeys(range(9), "nan"))
    assert search.pending() == []


def test_time_left_follows_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(scheduler.time, "monotonic", lambda: now[0])
    time_left = scheduler.TimeLeft()
    assert time_left([[[100.0] * 10]], slots=2, running=2) == 500
    now[0] += 3000  # 600 seconds of work took 6000 seconds of two cores: ten times as long
    assert time_left([[[100.0] * 4]], slots=2, running=2) == pytest.approx(2000, rel=0.1)
    now[0] += 500
    assert time_left([[[50.0]]], slots=2, running=1) == pytest.approx(500, rel=0.3)
    assert time_left([], slots=2, running=0) == 0
