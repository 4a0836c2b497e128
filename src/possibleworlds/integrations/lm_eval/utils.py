"""Functions for the YAML tasks of this folder: items as documents, and their exact scores."""

import json
from dataclasses import fields
from typing import Any

from datasets import Dataset

from possibleworlds.errors import UserError
from possibleworlds.language import Item, TaskSettings, all_four, score, tasks

__all__ = ["all_four", "dataset", "score_choice", "score_reply"]

SETTINGS = {field.name for field in fields(TaskSettings)} | {"size", "level"}


def dataset(defaults: dict[str, Any], **metadata: Any) -> dict[str, Dataset]:
    """Make the documents of a task.

    lm-eval passes the `dataset_kwargs` of the task's file, the `--metadata` of the command line and
    other entries. A name may not be in both of the first two, which is why the settings of the
    task's file are one entry, `defaults`.
    """
    for name in ("kind", "source"):
        if name in metadata:
            raise UserError(f"--metadata cannot change {name}: choose another task")
    settings = defaults | {
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
        for item in tasks(**settings)
    ]
    return {"test": Dataset.from_list(rows)}


def score_choice(document: dict[str, Any], results: list[Any]) -> dict[str, Any]:
    """Score the more likely of no and yes."""
    likelihoods = [result[0] for result in results]
    right = float(likelihoods.index(max(likelihoods)) == document["label"])
    return {"acc": right, "all_four": (json.loads(document["item"])["group"], right)}


def score_reply(document: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """Score a reply in free text, and count unreadable replies."""
    item = Item.from_json(json.loads(document["item"]))
    outcome = score(results[0], item)
    return {
        "acc": outcome.value,
        "all_four": (item.group, outcome.value),
        "unreadable": float(outcome.verdict == "unreadable"),
    }
