"""What the YAML tasks of this folder call: items as documents, and their exact scores."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from datasets import Dataset

from possibleworlds.language import Item, TaskSettings, score, tasks
from possibleworlds.language.item import Kind

Result = tuple[int, float]
"""The number of an item's 4-tuple, and its score."""


SETTINGS = {field.name for field in fields(TaskSettings)} | {"size", "level"}


def dataset(kind: Kind, **metadata: Any) -> dict[str, Dataset]:
    """Make the documents of a task.

    lm-eval passes what `--metadata` has on its command line, and entries of its own.
    """
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in metadata.items()
        if name in SETTINGS
    }
    rows = [
        {
            "prompt": item.prompt,
            "label": int(item.label),
            "answer": item.answer,
            "item": json.dumps(item.to_json()),
        }
        for item in tasks(kind, **settings)
    ]
    return {"test": Dataset.from_list(rows)}


def score_choice(document: dict[str, Any], results: list[Any]) -> dict[str, Any]:
    """Score the likelier of no and yes."""
    likelihoods = [result[0] for result in results]
    right = float(likelihoods.index(max(likelihoods)) == document["label"])
    return {"acc": right, "all_four": (json.loads(document["item"])["group"], right)}


def score_reply(document: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """Score a reply in free text; count those that could not be read."""
    item = Item.from_json(json.loads(document["item"]))
    outcome = score(results[0], item)
    return {
        "acc": outcome.value,
        "all_four": (item.group, outcome.value),
        "unreadable": float(outcome.verdict == "unreadable"),
    }


def all_four(results: Iterable[Result]) -> float:
    """Compute how often all items of a 4-tuple, or of a mutated pair, are right."""
    groups: dict[int, list[float]] = defaultdict(list)
    for group, right in results:
        groups[group].append(right)
    return sum(all(scores) for scores in groups.values()) / len(groups)
