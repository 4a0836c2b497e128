"""Items of possibleworlds as a taskset, and their exact score as the reward."""

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from pydantic import Field, model_validator

from possibleworlds.errors import UserError
from possibleworlds.language import LEVELS, Item, Tasks, TaskSettings, score
from possibleworlds.language.dataset import task_settings


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
    """What items are like; see possibleworlds.language.tasks."""

    kind: str = "decide"
    source: str = "fourtuples"
    level: int | None = Field(None, ge=0, lt=len(LEVELS))
    """Sizes by the curriculum of possibleworlds, 0 to 7; by default 3, or those of the source."""
    premises: int | None = None
    """By default 1, or 2 for *conclude*."""
    style: str = "unicode"
    vocabulary: str = "letters"
    num_tasks: int = Field(100, ge=1)
    seed: int = 0

    def settings(self) -> TaskSettings:
        """Translate into settings of possibleworlds."""
        level = 3 if self.level is None and self.source == "fourtuples" else self.level
        names = ("kind", "source", "premises", "style", "vocabulary", "seed")
        return task_settings(level=level, **{name: getattr(self, name) for name in names})

    @model_validator(mode="after")
    def check(self) -> "EntailmentConfig":
        """Raise ValueError, which verifiers reports, if no item can have these settings."""
        try:
            self.settings().validate()
        except UserError as error:
            raise ValueError(str(error)) from None
        return self


class EntailmentTaskset(vf.Taskset[EntailmentTask, EntailmentConfig]):
    """Items of one kind."""

    def load(self) -> Iterator[EntailmentTask]:
        """Make the items."""
        for item in Tasks(self.config.settings(), self.config.num_tasks):
            data = EntailmentData(prompt=item.prompt, item=item.to_json())
            yield EntailmentTask(data, self.config.task)
