"""Entailment in Inspect: three tasks and an exact scorer.

    inspect eval possibleworlds/entailment_refute --model openai/gpt-4o -T source=hard -T size=200

The tasks are found through the entry point `inspect_ai` of this package.
"""

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, generate
from rich.markup import escape

from possibleworlds import language
from possibleworlds.errors import UserError
from possibleworlds.language import Item, score, tasks
from possibleworlds.language.item import Kind

try:
    from inspect_ai._util.error import PrerequisiteError
except ImportError:  # it is not part of Inspect's public API
    PrerequisiteError = Exception


class ArgumentError(UserError, PrerequisiteError):
    """An invalid argument of a task; `inspect` shows only its message."""


def entailment(kind: Kind, size: int, settings: dict[str, Any]) -> Task:
    """Make an Inspect task from items of one kind."""
    if "kind" in settings:
        raise ArgumentError(
            "the kind is that of the task: entailment_decide, ..._refute, ..._conclude"
        )
    try:
        items = tasks(kind, size=size, **settings)
    except UserError as error:
        raise ArgumentError(escape(str(error))) from None
    samples = [
        Sample(
            input=item.prompt,
            target=item.answer,
            id=number,
            metadata={"item": item.to_json(), "group": item.group},
        )
        for number, item in enumerate(items)
    ]
    dataset = MemoryDataset(samples, name=f"entailment_{kind}")
    return Task(dataset=dataset, solver=generate(), scorer=exact())


@metric
def all_four() -> Metric:
    """Compute the fraction of 4-tuples, or of mutated pairs, with all items right."""

    def compute(scores: list[SampleScore]) -> float:
        return language.all_four(
            ((sample.sample_metadata or {}).get("group"), sample.score.as_float())
            for sample in scores
        )

    return compute


@metric
def unreadable() -> Metric:
    """Compute the fraction of unreadable replies."""

    def compute(scores: list[SampleScore]) -> float:
        verdicts = [(sample.score.metadata or {}).get("verdict") for sample in scores]
        return verdicts.count("unreadable") / max(1, len(verdicts))

    return compute


@scorer(metrics=[accuracy(), stderr(), all_four(), unreadable()])
def exact() -> Scorer:
    """Score a reply by checking it exactly; unreadable replies are counted separately."""

    async def check(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        outcome = score(state.output.completion, Item.from_json(state.metadata["item"]))
        return Score(
            value=outcome.value,
            answer=outcome.answer,
            explanation=f"{outcome.verdict}: {outcome.reason}" if outcome.reason else "right",
            metadata={"verdict": outcome.verdict},
        )

    return check


@task
def entailment_decide(size: int = 200, **settings: Any) -> Task:
    """Does the conclusion follow from the premises?"""
    return entailment("decide", size, settings)


@task
def entailment_refute(size: int = 200, **settings: Any) -> Task:
    """Find a countermodel, or say that there is none."""
    return entailment("refute", size, settings)


@task
def entailment_conclude(size: int = 200, **settings: Any) -> Task:
    """State a conclusion that follows."""
    return entailment("conclude", size, settings)
