"""Entailment in reasoning-gym, with the real reasoning-gym."""

from typing import Any

import pytest

reasoning_gym = pytest.importorskip("reasoning_gym", reason="reasoning-gym is not installed")

from reasoning_gym.composite import DatasetSpec  # noqa: E402
from reasoning_gym.factory import create_curriculum  # noqa: E402

import possibleworlds.integrations.reasoning_gym as ours  # noqa: E402
from possibleworlds.language import Item  # noqa: E402

NAMES = ("entailment_decide", "entailment_refute", "entailment_conclude")


@pytest.mark.parametrize("name", NAMES)
def test_its_own_answers_score_and_others_do_not(name: str) -> None:
    data = reasoning_gym.create_dataset(name, size=40, seed=0)
    assert len(data) == 40
    for entry in data:
        assert data.score_answer(entry["answer"], entry) == 1.0
        assert data.score_answer(None, entry) == 0.0
        assert data.score_answer("P ∧ ¬P", entry) == 0.0
    if name == "entailment_decide":
        swapped = {"yes": "no", "no": "yes"}
        assert not any(data.score_answer(swapped[e["answer"]], e) for e in data)
    again = reasoning_gym.create_dataset(name, size=80, seed=0)
    assert [data[i]["question"] for i in range(40)] == [again[i]["question"] for i in range(40)]


def test_it_works_in_a_composite() -> None:
    specs = [DatasetSpec(name=name, weight=1, config={"premises": 1}) for name in NAMES]
    data = reasoning_gym.create_dataset("composite", size=30, seed=3, datasets=specs)
    assert all(data.score_answer(entry["answer"], entry) == 1.0 for entry in data)
    assert len({entry["metadata"]["source_dataset"] for entry in data}) == 3


@pytest.mark.parametrize("name", NAMES)
def test_the_curriculum_leads_to_larger_items(name: str) -> None:
    curriculum = create_curriculum(name)
    lengths = []
    for _ in range(4):
        config = curriculum.generate_configuration({"size": 50, "seed": 0})
        data = ours.EntailmentDataset(config)
        lengths.append(sum(len(entry["question"]) for entry in data))
        for attribute in curriculum.attributes:
            curriculum.increment_attr_level(attribute)
    assert lengths == sorted(lengths)


@pytest.mark.parametrize(
    ("settings", "largest"),
    [({"source": "hard"}, 20), ({"premises": 3, "min_operators": 5}, 6), ({"max_operators": 2}, 2)],
)
def test_the_difficulty_is_that_of_the_item(settings: dict[str, Any], largest: int) -> None:
    data = reasoning_gym.create_dataset("entailment_refute", size=20, seed=0, **settings)
    for entry in data:
        item = Item.from_json(entry["metadata"]["item"])
        difficulty = entry["metadata"]["difficulty"]
        assert difficulty["variables"] == len(item.variables)
        assert difficulty["premises"] == len(item.premises)
    sizes = [entry["metadata"]["difficulty"]["operators"] for entry in data]
    assert settings.get("min_operators", 1) <= min(sizes) <= max(sizes) == largest


@pytest.mark.parametrize(
    "settings",
    [
        {"min_variables": 0},
        {"min_variables": 6},
        {"min_variables": "2"},
        {"max_variables": 30},
        {"min_operators": -1},
        {"source": "moon"},
        {"style": "runes"},
        {"premises": 0},
        {"premises": 2, "source": "hard"},
        {"max_variables": 4, "source": "hard"},
        {"min_operators": 1, "source": "hard"},
    ],
)
def test_bad_settings_are_assertion_errors(settings: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        reasoning_gym.create_dataset("entailment_decide", **settings)
