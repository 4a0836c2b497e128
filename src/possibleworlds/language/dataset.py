"""`tasks`: a reproducible sequence of items.

>>> item = tasks("decide", variables=(2, 3), operators=(1, 4), seed=1)[0]
>>> item.kind, item.answer in ("yes", "no")
('decide', True)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice
from typing import Any, overload

import numpy as np

from possibleworlds.data.generation import as_bounds
from possibleworlds.data.keys import pair_key
from possibleworlds.errors import UserError, quoted
from possibleworlds.language.item import KINDS, Item, Kind
from possibleworlds.language.problems import (
    MAX_VARIABLES_OF_SEVERAL,
    SOURCES,
    Problem,
    problems,
    split_of_source,
    why_no_conclusion,
)
from possibleworlds.language.prompts import explain, make_item
from possibleworlds.language.wording import Style, Vocabulary, Wording
from possibleworlds.logic.formula import conjunction
from possibleworlds.records import as_python

LEVELS: tuple[dict[str, tuple[int, int]], ...] = (
    {"variables": (1, 2), "operators": (0, 2)},
    {"variables": (2, 3), "operators": (1, 3)},
    {"variables": (2, 4), "operators": (1, 4)},
    {"variables": (2, 5), "operators": (2, 6)},
    {"variables": (3, 6), "operators": (3, 8)},
    {"variables": (3, 8), "operators": (4, 10)},
    {"variables": (4, 10), "operators": (6, 14)},
    {"variables": (4, 10), "operators": (10, 20)},
)
"""A curriculum: sizes from a first exercise to those of the paper's test (hard)."""
MAX_ITEMS = 10_000_000
"""The largest size of a sequence, which is kept in memory."""
SOURCES_OF_CONCLUDE = ("fourtuples", "validate", "easy", "hard", "big")
"""The other sources have hardly any conclusion that is neither too weak nor with new variables."""
PREMISES_OF_CONCLUDE = 3
"""The most premises of *conclude*: more are hardly ever all needed."""
FRUITLESS_PROBLEMS = 10_000
"""After so many problems without an item, as if conclusions cannot be that long, there are none."""
SLOW_BLOCKS = 250
"""After so many blocks of formulas, a search that finds less than an item in two of them ends: it
would take minutes, and find ever fewer."""
RANGES = {
    "premises": (1, 10),
    "shots": (0, 16),
    "min_operators": (0, 30),
    "seed": (0, 2**62),
}
"""The allowed range of each setting."""
WORDS_OF_ITEM, WORDS_OF_EXAMPLES, EXAMPLES = 1, 2, 3
"""Streams of random numbers: for the words of an item, those of the examples, the examples."""


@dataclass(frozen=True)
class TaskSettings:
    """Settings of the items; the same settings and seed give the same items."""

    kind: Kind = "decide"
    source: str = "fourtuples"
    """`fourtuples` with custom sizes, or a kind of test set with its sizes (SOURCES)."""
    variables: tuple[int, int] = (2, 5)
    """The fewest and most distinct variables that an item may use."""
    operators: tuple[int, int] = (1, 6)
    """The fewest and most operators of each premise and of the conclusion."""
    premises: int = 1
    min_operators: int = 2
    """The fewest operators of a conclusion that the model states, for *conclude*."""
    style: Style = "unicode"
    vocabulary: Vocabulary = "letters"
    shots: int = 0
    """The number of solved examples before the question."""
    chain_of_thought: bool = False
    """Whether the examples show their reasoning, and the question asks for it."""
    seed: int = 0

    def validate(self) -> None:
        """Raise UserError if the settings are invalid."""
        if self.kind not in KINDS:
            raise UserError(f"no task called {quoted(self.kind)}; there are {', '.join(KINDS)}")
        if self.source not in SOURCES:
            known = ", ".join(SOURCES)
            raise UserError(f"no source called {quoted(self.source)}; there are {known}")
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise UserError(f"{name} must be within {low} to {high}, not {quoted(value)}")
        if not isinstance(self.chain_of_thought, bool):
            raise UserError(
                f"chain_of_thought is true or false, not {quoted(self.chain_of_thought)}"
            )
        split_of_source(self.source, self.variables, self.operators).validate()
        if self.kind == "conclude" and self.source not in SOURCES_OF_CONCLUDE:
            raise UserError(f"the sources of conclude are {', '.join(SOURCES_OF_CONCLUDE)}")
        if self.kind == "conclude" and self.premises > PREMISES_OF_CONCLUDE:
            raise UserError(f"the items of conclude have at most {PREMISES_OF_CONCLUDE} premises")
        if self.premises > 1 and self.source != "fourtuples":
            raise UserError("several premises need the source 'fourtuples'")
        if self.premises > 1 and self.variables[1] > MAX_VARIABLES_OF_SEVERAL:
            raise UserError(f"several premises have at most {MAX_VARIABLES_OF_SEVERAL} variables")
        Wording.draw(np.random.default_rng(0), (), self.style, self.vocabulary)

    def problems(self) -> Iterator[Problem]:
        """Generate problems with these settings."""
        generated = problems(self.source, self.variables, self.operators, self.premises, self.seed)
        fruitless, known = 0, set[int]()
        for problem in generated:
            is_slow = problem.block >= max(SLOW_BLOCKS, 2 * len(known))
            if self.kind != "conclude":
                yield problem
            elif self.is_answer(problem) and (key := premises_key(problem)) not in known:
                known.add(key)  # premises are not repeated, as the conclusion is not shown
                fruitless = 0
                yield problem
            elif (fruitless := fruitless + 1) == FRUITLESS_PROBLEMS or is_slow:
                return

    def is_answer(self, problem: Problem) -> bool:
        """Whether the conclusion of a problem is one that a model may state."""
        return (
            problem.label
            and problem.conclusion.operators >= self.min_operators
            and not why_no_conclusion(problem.premises, problem.conclusion)
        )

    def item(self, problem: Problem, rng: np.random.Generator) -> Item:
        """Make an item from a problem."""
        return make_item(problem, self.kind, rng, self.style, self.vocabulary, self.min_operators)


def premises_key(problem: Problem) -> int:
    """Compute a key of the premises of a problem that does not depend on the names of variables."""
    premises = "".join(conjunction(problem.premises).rpn)
    return pair_key(premises, premises)


def tasks(
    kind: Kind = "decide", *, size: int = 100, level: int | None = None, **settings: Any
) -> "Tasks":
    """Generate a sequence of `size` items.

    `settings` are the fields of `TaskSettings`; `level` sets variables and operators by the
    curriculum `LEVELS`. *conclude* has two premises by default, as a reply that does not look at
    a single one is right too often.
    """
    return Tasks(task_settings(kind, level=level, **settings), as_python(size))


def task_settings(
    kind: Kind = "decide", *, level: int | None = None, **settings: Any
) -> TaskSettings:
    """Make the settings of `tasks`, without items; `Tasks` and `validate` check their values."""
    level = as_python(level)
    if settings.get("premises", 1) is None:
        del settings["premises"]
    if kind == "conclude" and settings.get("source", "fourtuples") == "fourtuples":
        settings = {"premises": 2, **settings}
    if level is not None:
        if type(level) is not int or not 0 <= level < len(LEVELS):
            raise UserError(f"level must be within 0 to {len(LEVELS) - 1}, not {quoted(level)}")
        settings = {**LEVELS[level], **settings}
    known = [field.name for field in fields(TaskSettings)]
    for name, value in settings.items():
        if name not in known:
            raise UserError(f"no setting {quoted(name)}; there are {', '.join(known)}")
        if name in ("variables", "operators"):
            value = as_bounds(value, getattr(TaskSettings, name))
        settings[name] = as_python(value)
    sizes = {"variables", "operators"} & settings.keys()
    if sizes and settings.get("source", "fourtuples") != "fourtuples":
        name = "level" if level is not None else min(sizes)
        raise UserError(f"the source {quoted(settings['source'])} has its own sizes, not {name}")
    return TaskSettings(kind, **settings)


class Tasks(Sequence[Item]):
    """A sequence of items; item i is the same for every size."""

    def __init__(self, settings: TaskSettings, size: int) -> None:
        settings.validate()
        if type(size) is not int or not 1 <= size <= MAX_ITEMS:
            raise UserError(f"size must be within 1 to {MAX_ITEMS:,}, not {quoted(size)}")
        self.settings = settings
        self.problems = list(islice(settings.problems(), size))
        if len(self.problems) < size:
            raise UserError(f"only {len(self.problems)} such items were found, not {size}")

    def __len__(self) -> int:
        return len(self.problems)

    def __repr__(self) -> str:
        return f"Tasks({self.settings.kind}, {len(self)} items, seed {self.settings.seed})"

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        problem, settings = self.problems[index], self.settings
        rng = np.random.default_rng([settings.seed, WORDS_OF_ITEM, index % len(self)])
        item = settings.item(problem, rng)
        think = " Think step by step first." if settings.chain_of_thought else ""
        shown = [*self.examples, item.prompt + think]
        return replace(item, prompt="\n\n".join(shown))

    @cached_property
    def examples(self) -> list[str]:
        """The solved examples: small ones, with alternating labels."""
        settings = self.settings
        small = replace(
            settings,
            source="fourtuples",
            variables=(2, 3),
            operators=(1, 3),
            premises=min(settings.premises, 2),
            min_operators=min(settings.min_operators, 2),
            seed=int(np.random.default_rng([settings.seed, EXAMPLES]).integers(2**62)),
        )
        rng = np.random.default_rng([settings.seed, WORDS_OF_EXAMPLES])
        by_label: dict[bool, list[Problem]] = {True: [], False: []}
        for problem in islice(small.problems(), 4 * settings.shots):
            by_label[problem.label].append(problem)
        shown = []
        for number in range(settings.shots):
            label = settings.kind == "conclude" or number % 2 == 0
            problem = by_label[label].pop()
            item = small.item(problem, rng)
            reasons = f"{explain(item, problem.conclusion)}\n" if settings.chain_of_thought else ""
            shown.append(f"{item.prompt}\n\n{reasons}Answer: {item.answer}")
        return shown
