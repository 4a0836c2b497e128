"""Items of possibleworlds as a taskset, and their exact score as the reward."""

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from possibleworlds.language import Item, score, tasks


class EntailmentData(vf.TaskData):
    """An item: the prompt, and all that is needed to score a reply."""

    item: dict[str, Any]


class EntailmentTask(vf.Task[EntailmentData]):
    """A question, and its reward."""

    @vf.reward(weight=1.0)
    async def exact(self, trace: vf.Trace) -> float:
        """Give 1 for a right reply and 0 for all others."""
        return score(trace.last_reply or "", Item.from_json(self.data.item)).value


class EntailmentConfig(vf.TasksetConfig):
    """What items are like; see possibleworlds.language.TaskSettings."""

    kind: str = "decide"
    source: str = "fourtuples"
    level: int = 3
    """Sizes by the curriculum of possibleworlds, from 0 to 7."""
    premises: int = 1
    style: str = "unicode"
    vocabulary: str = "letters"
    num_tasks: int = 100
    seed: int = 0


class EntailmentTaskset(vf.Taskset[EntailmentTask, EntailmentConfig]):
    """Items of one kind."""

    def load(self) -> Iterator[EntailmentTask]:
        """Make the items."""
        c = self.config
        settings = {
            name: getattr(c, name) for name in ("source", "premises", "style", "vocabulary")
        }
        items = tasks(c.kind, size=c.num_tasks, level=c.level, seed=c.seed, **settings)
        for item in items:
            data = EntailmentData(prompt=item.prompt, item=item.to_json())
            yield EntailmentTask(data, c.task)
