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
from typing import Any, Literal, get_args

from possibleworlds.errors import UserError, quoted, reason
from possibleworlds.language.wording import Wording
from possibleworlds.logic.formula import Formula, conjunction
from possibleworlds.logic.syntax import parse, to_text

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
        try:
            conclusion = values["conclusion"]
            if values["kind"] not in KINDS:
                raise ValueError(f"no task called {quoted(values['kind'])}")
            if not isinstance(values["label"], bool):
                raise ValueError(f"the label is true or false, not {quoted(values['label'])}")
            return cls(
                kind=values["kind"],
                premises=tuple(parse(text) for text in values["premises"]),
                conclusion=parse(conclusion) if conclusion else None,
                label=values["label"],
                min_operators=int(values["min_operators"]),
                wording=Wording(values["style"], dict(values["statements"])),
                prompt=values["prompt"],
                answer=values["answer"],
                group=int(values["group"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UserError(f"not an item: {reason(error)}") from None
