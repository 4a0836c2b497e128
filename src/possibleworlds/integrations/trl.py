"""Entailment for TRL's trainers: a data set of prompts, and an exact reward.

from possibleworlds.integrations.trl import prompts, reward
from trl import GRPOTrainer

GRPOTrainer(model="...", reward_funcs=reward, train_dataset=prompts("refute", size=10_000))
"""

import json
from typing import Any

from datasets import Dataset

from possibleworlds.language import Item, score, tasks
from possibleworlds.language.item import Kind


def prompts(kind: Kind = "decide", size: int = 1000, **settings: Any) -> Dataset:
    """Make a data set with the columns `prompt`, a conversation, and `item`, for the reward."""
    return Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": item.prompt}],
                "item": json.dumps(item.to_json()),
            }
            for item in tasks(kind, size=size, **settings)
        ]
    )


def reward(completions: list[Any], item: list[str], **_columns: Any) -> list[float]:
    """Return 1 for each right completion, else 0."""
    return [
        score(text_of(completion), Item.from_json(json.loads(described))).value
        for completion, described in zip(completions, item, strict=True)
    ]


def text_of(completion: Any) -> str:
    """Return the text of a completion, which may be a conversation."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else None
    if isinstance(content, list):  # of parts, as in multimodal models
        content = "".join(part.get("text") or "" for part in content)
    return content if isinstance(content, str) else ""
