"""Entailment in Inspect, with the real Inspect and a model that gives known replies."""

from pathlib import Path
from typing import Any

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

import possibleworlds.integrations.inspect as ours  # noqa: E402
from possibleworlds.errors import UserError  # noqa: E402
from possibleworlds.language import tasks  # noqa: E402

TASKS = {
    "decide": ours.entailment_decide,
    "refute": ours.entailment_refute,
    "conclude": ours.entailment_conclude,
}


def replies(texts: list[str]) -> Any:
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=outputs)


@pytest.mark.parametrize("kind", TASKS)
def test_right_replies_score(kind: Any, tmp_path: Path) -> None:
    items = list(tasks(kind, size=8, seed=1))
    texts = [f"Answer: {item.answer}" for item in items[:4]] + [""] * 4
    (log,) = inspect_ai.eval(
        TASKS[kind](size=8, seed=1),
        model=replies(texts),
        display="none",
        log_dir=str(tmp_path),
        max_samples=1,
        max_connections=1,
    )
    assert log.status == "success", log.error
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    assert metrics["accuracy"] == 0.5
    assert metrics["unreadable"] == 0.5
    assert metrics["all_four"] < 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": "moon"},
        {"kind": "refute"},
        {"style": "runes"},
        {"size": 0},
        {"size": -3},
        {"size": "many"},
        {"variables": "2,3"},
        {"premises": 2, "variables": "few"},
        {"colour": "red"},
    ],
)
def test_bad_arguments_are_one_line_to_inspect(arguments: dict[str, Any]) -> None:
    from inspect_ai._util.error import PrerequisiteError

    with pytest.raises(UserError) as caught:
        ours.entailment_decide(**arguments)
    assert isinstance(caught.value, PrerequisiteError)
    assert "\n" not in str(caught.value)
    assert caught.value.message == str(caught.value)


def test_inspect_finds_the_tasks_by_the_entry_point() -> None:
    from importlib.metadata import entry_points

    points = [p for p in entry_points(group="inspect_ai") if p.name == "possibleworlds"]
    if not points:
        pytest.skip("the package is not installed, only on the path")
    assert points[0].load() is ours
