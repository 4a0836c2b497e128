"""Entailment as questions to a language model, with answers that are checked exactly.

Three kinds of item:

- *decide*: does the conclusion follow from the premises, yes or no?
- *refute*: give a truth assignment that makes the premises true and the conclusion false, or say
  that there is none.
- *conclude*: state a formula with a minimum number of operators that follows from the premises, has
  no other variables, and is not trivial: it has no more operators than the premises together, is
  not equivalent to them, and is true in at most twice as many cases as they are, and in at most
  three quarters of all cases; of several premises, it needs each one.

The premises of an item are always satisfiable, and half of the items of *decide* and *refute* are
entailments.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from possibleworlds.errors import UserError, quoted, reason
from possibleworlds.language.wording import Style, Wording, folded
from possibleworlds.logic.formula import Formula, conjunction
from possibleworlds.logic.syntax import parse, to_text
from possibleworlds.records import Range, from_json

Kind = Literal["decide", "refute", "conclude"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Item:
    """A question with its answer, and everything needed to score a reply."""

    kind: Kind
    premises: tuple[Formula, ...]
    conclusion: Formula | None
    """The conclusion in question; None for *conclude*."""
    label: bool
    """Whether the conclusion follows; True for *conclude*."""
    min_operators: int
    """The fewest operators of a stated conclusion; 0 except for *conclude*."""
    wording: Wording
    prompt: str
    answer: str
    """A right answer."""
    group: int = 0
    """Items with the same number come from one 4-tuple; `all_four` scores them together."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the item."""
        formulas = [*self.premises, *([self.conclusion] if self.conclusion else [])]
        return conjunction(formulas).variables

    def to_json(self) -> dict[str, Any]:
        """Convert the item to JSON values."""
        ascii_text = [to_text(formula, "ascii") for formula in self.premises]
        return {
            "kind": self.kind,
            "premises": ascii_text,
            "conclusion": to_text(self.conclusion, "ascii") if self.conclusion else None,
            "label": self.label,
            "min_operators": self.min_operators,
            "style": self.wording.style,
            "statements": dict(self.wording.statements),
            "prompt": self.prompt,
            "answer": self.answer,
            "group": self.group,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Item":
        """Make an item from the output of `to_json`."""
        stored = from_json(
            dict(values) if isinstance(values, Mapping) else values, StoredItem, "item"
        )
        try:
            premises = tuple(parse(text) for text in stored.premises)
            conclusion = None if stored.conclusion is None else parse(stored.conclusion)
        except UserError as error:
            raise UserError(f"item: {reason(error)}") from None
        return cls(
            kind=stored.kind,
            premises=premises,
            conclusion=conclusion,
            label=stored.label,
            min_operators=stored.min_operators,
            wording=Wording(stored.style, stored.statements),
            prompt=stored.prompt,
            answer=stored.answer,
            group=stored.group,
        )


@dataclass(frozen=True)
class StoredItem:
    """The JSON values of an item."""

    kind: Kind
    premises: list[str]
    conclusion: str | None
    label: bool
    min_operators: Annotated[int, Range(0)]
    style: Style
    statements: dict[str, str]
    prompt: str
    answer: str
    group: int

    def __post_init__(self) -> None:
        """Check what types do not say."""
        if not self.premises:
            raise UserError("there are no premises")
        if (self.conclusion is None) is not (self.kind == "conclude"):
            has = "no" if self.conclusion is None else "a"
            raise UserError(f"{has} conclusion, which does not fit the kind {self.kind!r}")
        statements = list(self.statements.values())
        for statement in statements:
            if not statement or statement != " ".join(statement.split()):
                raise UserError(f"statements have single spaces, not {quoted(statement)}")
        if len({folded(statement) for statement in statements}) < len(statements):
            raise UserError("two variables have the same statement")
