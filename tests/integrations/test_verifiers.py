"""The verifiers environment, scored by the real verifiers."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed")

sys.path.append(str(Path(__file__).parents[2] / "environments" / "possibleworlds_v1"))

from possibleworlds_v1 import EntailmentTaskset  # noqa: E402
from possibleworlds_v1.taskset import EntailmentConfig  # noqa: E402
from verifiers.v1.graph import MessageNode  # noqa: E402
from verifiers.v1.trace import AgentInfo, TraceTask  # noqa: E402


def reward(task: Any, reply: str) -> float:
    """Score a trace that ends with a reply, as a rollout would."""
    node = MessageNode(message=vf.AssistantMessage(content=reply), sampled=True)
    agent = AgentInfo.model_construct()
    trace = vf.Trace(task=TraceTask.model_construct(data=task.data), agent=agent, nodes=[node])
    asyncio.run(task.score(trace))
    return float(trace.reward)


@pytest.mark.parametrize("kind", ["decide", "refute", "conclude"])
def test_tasks_load_and_rewards_are_exact(kind: str) -> None:
    taskset = EntailmentTaskset(EntailmentConfig(kind=kind, num_tasks=6, level=2))
    tasks = list(taskset)
    assert len(tasks) == 6
    assert [task.data.idx for task in tasks] == list(range(6))
    for task in tasks:
        assert task.data.prompt
        assert reward(task, f"Answer: {task.data.item['answer']}") == 1.0
        assert reward(task, "I do not know.") == 0.0


@pytest.mark.parametrize(
    ("settings", "premises"),
    [
        ({"kind": "decide"}, 1),
        ({"kind": "conclude"}, 2),
        ({"kind": "conclude", "premises": 1}, 1),
        ({"kind": "conclude", "source": "easy"}, 1),
    ],
)
def test_conclusions_are_of_two_premises_by_default(
    settings: dict[str, Any], premises: int
) -> None:
    for task in EntailmentTaskset(EntailmentConfig(num_tasks=4, **settings)):
        assert len(task.data.item["premises"]) == premises


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "guess"},
        {"source": "moon"},
        {"style": "runes"},
        {"vocabulary": "everyday"},
        {"level": 99},
        {"num_tasks": 0},
        {"premises": 0},
        {"premises": 2, "source": "hard"},
        {"level": 3, "source": "hard"},
    ],
)
def test_bad_settings_are_refused_with_the_configuration(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no \w+ called|need|than|within|own sizes"):
        EntailmentConfig(**settings)
