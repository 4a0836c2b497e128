"""Entailment in reasoning-gym: importing this module registers three datasets.

    import reasoning_gym
    import possibleworlds.integrations.reasoning_gym

    data = reasoning_gym.create_dataset("entailment_refute", size=100, seed=0)

`entailment_decide`, `entailment_refute` and `entailment_conclude` score every answer exactly, have
satisfiable premises, and a curriculum over variables, operators and premises.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from reasoning_gym.coaching import BaseCurriculum, RangeAttributeDefinition
from reasoning_gym.coaching.base_curriculum import ScalarAttributeDefinition
from reasoning_gym.factory import ProceduralDataset, register_dataset

from possibleworlds.errors import UserError
from possibleworlds.language import Item, Tasks, TaskSettings, score
from possibleworlds.language.dataset import PREMISES_OF_CONCLUDE, task_settings
from possibleworlds.language.item import Kind


@dataclass
class EntailmentConfig:
    """Settings of the items, as in `possibleworlds.language.TaskSettings`.

    Those that are None have their defaults, or are those of the source.
    """

    min_variables: int | None = None
    max_variables: int | None = None
    min_operators: int | None = None
    max_operators: int | None = None
    premises: int | None = None
    """By default 2, or 1 from a source with its own sizes."""
    conclusion_operators: int = 2
    source: str = "fourtuples"
    style: str = "unicode"
    vocabulary: str = "letters"
    shots: int = 0
    chain_of_thought: bool = False
    seed: int | None = None
    size: int = 500

    kind: ClassVar[Kind] = "decide"

    def settings(self, seed: int) -> TaskSettings:
        """Convert to `TaskSettings`."""
        sizes: dict[str, Any] = {}
        for name in ("variables", "operators"):
            bounds = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if bounds != (None, None):
                defaults = getattr(TaskSettings, name)
                sizes[name] = tuple(
                    default if bound is None else bound
                    for bound, default in zip(bounds, defaults, strict=True)
                )
        premises = self.premises
        if premises is None and self.source == "fourtuples":
            premises = 2
        return task_settings(
            self.kind,
            source=self.source,
            premises=premises,
            min_operators=self.conclusion_operators,
            style=self.style,
            vocabulary=self.vocabulary,
            shots=self.shots,
            chain_of_thought=self.chain_of_thought,
            seed=seed,
            **sizes,
        )

    def validate(self) -> None:
        """Raise AssertionError, as reasoning-gym expects, if the settings are invalid."""
        try:
            self.settings(0).validate()
        except UserError as error:
            raise AssertionError(str(error)) from error


class DecideConfig(EntailmentConfig):
    """Does the conclusion follow?"""


class RefuteConfig(EntailmentConfig):
    """Find a countermodel, or say that there is none."""

    kind: ClassVar[Kind] = "refute"


class ConcludeConfig(EntailmentConfig):
    """State a conclusion that follows."""

    kind: ClassVar[Kind] = "conclude"


class EntailmentDataset(ProceduralDataset):
    """Items of one kind, scored exactly."""

    def __init__(self, config: EntailmentConfig) -> None:
        super().__init__(config=config, seed=config.seed, size=config.size)
        self.items = Tasks(config.settings(self.seed), config.size)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        """Return question, answer and metadata of an item."""
        item = self.items[idx]
        formulas = [*item.premises, *([item.conclusion] if item.conclusion else [])]
        return {
            "question": item.prompt,
            "answer": item.answer,
            "metadata": {
                "source_dataset": f"entailment_{item.kind}",
                "source_index": idx,
                "item": item.to_json(),
                "difficulty": {
                    "variables": len(item.variables),
                    "operators": max(formula.operators for formula in formulas),
                    "premises": len(item.premises),
                },
            },
        }

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
        """Score an answer: 1 if it is right, else 0."""
        if answer is None:
            return 0.0
        return score(answer, Item.from_json(entry["metadata"]["item"])).value


class EntailmentCurriculum(BaseCurriculum):
    """From two variables and a connective to ten and twenty."""

    def __init__(
        self, config: type[EntailmentConfig] = DecideConfig, most_premises: int = 4
    ) -> None:
        super().__init__(type(self).__name__, config)
        self._define_attributes(
            RangeAttributeDefinition(
                name="variables",
                levels=[2, 3, 5, 7, 10],
                description="Number of different variables",
                ensure_interval=True,
                lower_field_name="min_variables",
                upper_field_name="max_variables",
            ),
            RangeAttributeDefinition(
                name="operators",
                levels=[1, 3, 6, 10, 20],
                description="Number of connectives of each formula",
                ensure_interval=True,
                lower_field_name="min_operators",
                upper_field_name="max_operators",
            ),
            ScalarAttributeDefinition(
                name="premises",
                field_name="premises",
                levels=list(range(1, most_premises + 1)),
                description="Number of premises",
            ),
        )


class RefuteCurriculum(EntailmentCurriculum):
    """The curriculum of *refute*."""

    def __init__(self) -> None:
        super().__init__(RefuteConfig)


class ConcludeCurriculum(EntailmentCurriculum):
    """The curriculum of *conclude*."""

    def __init__(self) -> None:
        super().__init__(ConcludeConfig, PREMISES_OF_CONCLUDE)


register_dataset("entailment_decide", EntailmentDataset, DecideConfig, EntailmentCurriculum)
register_dataset("entailment_refute", EntailmentDataset, RefuteConfig, RefuteCurriculum)
register_dataset("entailment_conclude", EntailmentDataset, ConcludeConfig, ConcludeCurriculum)
