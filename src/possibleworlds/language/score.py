r"""Score a reply: find the answer in free text, then check it exactly.

A reply is *right*, *wrong* or *unreadable*. A reply that contradicts itself, hedges, takes its
answer back or gives none is unreadable rather than right by luck: only a reply that states the
right answer scores. The answer is the first of these that the reply contains:

1. the last of `Answer: …`, `\boxed{…}`, `<answer>…</answer>` and JSON with the key "answer";
2. the last text in **bold**, if only punctuation follows it;
3. the last line.

An assignment is checked by evaluating the formulas in it, a conclusion by deciding the entailment.

>>> from possibleworlds.language import tasks
>>> item = tasks("decide", seed=0)[0]
>>> score(f"Let me see. Answer: {'yes' if item.label else 'no'}", item).verdict
'right'
>>> score("It may or may not follow.", item).verdict
'unreadable'
"""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from possibleworlds.errors import UserError, quoted
from possibleworlds.language.assignments import DENIAL, read_assignment, says_none
from possibleworlds.language.decisions import (
    ONE_CASE,
    answers_other_question,
    read_decision,
    read_end,
    read_opening,
)
from possibleworlds.language.item import Item
from possibleworlds.language.problems import why_no_conclusion
from possibleworlds.language.replies import (
    RETRACTION,
    Answer,
    bold_at_end,
    ends_answer,
    marked_answer,
    plain,
    spoken,
)
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula, conjunction

Verdict = Literal["right", "wrong", "unreadable"]

MAX_CONCLUSION = 2_000
"""The most symbols of a conclusion; a longer one would only cost time to decide."""


@dataclass(frozen=True)
class Score:
    """The verdict on a reply."""

    verdict: Verdict
    answer: str
    """The answer as it was read: yes, no, an assignment, none or a formula; empty if unreadable."""
    reason: str
    """Why the reply is wrong or unreadable; empty if it is right."""

    @property
    def value(self) -> float:
        """The reward: 1 for a right answer, else 0."""
        return float(self.verdict == "right")


def score(reply: str, item: Item) -> Score:
    """Score a reply to an item."""
    if not isinstance(reply, str):
        raise UserError(f"a reply is a text, not {type(reply).__name__}")
    if not isinstance(item, Item):
        raise UserError(f"a reply is scored by its item, not by {quoted(item)}")
    return {"decide": score_decision, "refute": score_refutation, "conclude": score_conclusion}[
        item.kind
    ](reply, item)


def end_of(reply: str, paragraph: bool) -> Answer:
    """Return the end of a reply that marks no answer: its last bold text, paragraph or line."""
    if bold := bold_at_end(reply):
        return Answer(bold)
    if paragraph:  # an assignment may span several lines
        return Answer(reply.rpartition("\n\n")[2])
    lines = (line for line in reversed(reply.splitlines()) if line.strip(" `*_\t"))
    return Answer(next(lines, ""))


def without_statements(text: str, item: Item) -> str:
    """Replace the statements of an item, in which words like "wrong" or "no" do not count."""
    for statement in item.wording.statements.values():
        text = re.sub(re.escape(statement), "p", text, flags=re.IGNORECASE)
    return text


# Does it follow?


def score_decision(reply: str, item: Item) -> Score:
    """Score a yes or a no."""
    reply = spoken(reply, item.prompt)
    answer = marked_answer(reply, paragraph=False)
    if answer is None:
        said = without_statements(reply, item)
        decision = read_end(said)
        if decision is None:
            decision = read_opening(said)
    elif answer.nested or answers_other_question(answer.question):
        decision = None
    elif not (answer.line or answer.after) and answer.text in ("yes", "no"):
        decision = answer.text == "yes"
    else:
        said = without_statements(answer.text + answer.line, item)
        decision = read_decision(said, without_statements(answer.after, item))
    if decision is None:
        return Score("unreadable", "", "no clear yes or no")
    said = "yes" if decision else "no"
    if decision == item.label:
        return Score("right", said, "")
    truth = "follows" if item.label else "does not follow"
    return Score("wrong", said, f"it {truth}")


# A countermodel, or none


def score_refutation(reply: str, item: Item) -> Score:
    """Score an assignment, or the statement that there is none."""
    reply = spoken(reply, item.prompt)
    marked = marked_answer(reply, paragraph=True)
    answer = marked or end_of(reply, paragraph=True)
    after = f"{answer.line}\n{answer.after}"
    values = read_assignment(answer.text, after, item)
    none = not (values.assignment or values.denied) and says_none(answer.text, after)
    if none and not marked and ONE_CASE.search(answer.text):
        return Score("unreadable", "", "no clear answer")
    if not ends_answer(answer.line):
        return Score("unreadable", "", "no clear answer")
    if values.contradictory:
        return Score("unreadable", "", "a variable is given two values")
    if none:
        if item.label:
            return Score("right", "none", "")
        return Score("wrong", "none", "there is an assignment that refutes it")
    if not values.assignment:
        return Score("unreadable", "", "neither an assignment nor that there is none")
    said = ", ".join(f"{v} = {str(x).lower()}" for v, x in values.assignment.items())
    if refutes(values.assignment, item):
        return Score("right", said, "")
    return Score("wrong", said, "it does not make the premises true and the conclusion false")


def refutes(assignment: dict[str, bool], item: Item) -> bool:
    """Whether all completions of an assignment make the premises true, the conclusion false."""
    assert item.conclusion is not None
    refuting = conjunction(item.premises) & ~item.conclusion
    missing = [v for v in refuting.variables if v not in assignment]
    if not missing:
        return refuting.evaluate(assignment)
    literals = [
        Formula.variable(v) if x else ~Formula.variable(v)
        for v, x in assignment.items()
        if v in refuting.variables
    ]
    return bool(literals) and entails(conjunction(literals), refuting)


# A stated conclusion


INTRODUCED = re.compile(
    r"\A(?:(?:therefore|so|hence|thus|∴|⊨|\|=)[,:\s]+|the\s+conclusion(?:\s+is\b|:)[:\s]*)+",
    re.IGNORECASE,
)
WRAPPED = re.compile(r"\A\\[(\[]|\\[)\]](?=\.?\Z)")
CONCLUSION_REASON = re.compile(
    r"(?:[,;.–—]|(?=\())\s*(?:\(\s*)?(?:since|because|as|which|this|it\s+follows|follows|from|by)\b",
    re.IGNORECASE,
)
"""Text before a conclusion, around it in LaTeX, and at the start of a reason for it."""
AMBIGUOUS = re.compile(r"\^|<=(?!>)|⊕|\\oplus|\bxor\b", re.IGNORECASE)
"""Connectives that some read otherwise, or that stand for several."""
ALTERNATIVE = re.compile(r"\A\W*(?:or|alternatively)\b", re.IGNORECASE)


def read_conclusion(text: str, item: Item) -> Formula | None:
    """Parse a formula, with or without the text that usually surrounds it."""
    text = WRAPPED.sub("", INTRODUCED.sub("", plain(text).strip("`*$ \t\n✅✔✓☑")))
    candidates = [text, text.rstrip("."), text.strip("\"'")]
    reason = CONCLUSION_REASON.search(text)
    if reason:
        said = without_statements(text[reason.start() :], item)
        if not (DENIAL.search(said) or RETRACTION.search(said)):
            candidates.append(text[: reason.start()])
    for candidate in candidates:
        try:
            formula = item.wording.read(candidate.strip("`*$ "))
        except UserError:
            continue
        known = {symbol.upper(): symbol for symbol in item.variables}
        return Formula(tuple(known.get(symbol, symbol) for symbol in formula.rpn))
    return None


def score_conclusion(reply: str, item: Item) -> Score:
    """Score a conclusion: long enough, entailed, no tautology, and not only a premise again."""
    reply = spoken(reply, item.prompt)
    answer = marked_answer(reply, paragraph=False) or end_of(reply, paragraph=False)
    text = answer.text
    after = without_statements(f"{answer.line}\n{answer.after}", item)
    if RETRACTION.search(after) or ALTERNATIVE.match(after) or not ends_answer(answer.line):
        return Score("unreadable", "", "it takes its answer back")
    if len(text) > 40 * MAX_CONCLUSION:
        return Score("unreadable", "", "too long")
    conclusion = None if AMBIGUOUS.search(text) else read_conclusion(text, item)
    if conclusion is None:
        return Score("unreadable", "", "no formula")
    if conclusion.length > MAX_CONCLUSION:
        return Score("unreadable", "", f"more than {MAX_CONCLUSION} symbols")
    said = str(conclusion)
    if conclusion.operators < item.min_operators:
        return Score("wrong", said, f"fewer than {item.min_operators} operators")
    reason = why_no_conclusion(item.premises, conclusion)
    return Score("wrong" if reason else "right", said, reason)


def all_four(results: Iterable[tuple[Hashable, float]]) -> float:
    """Compute the fraction of 4-tuples, or of mutated pairs, with all items right.

    A result is the group of an item and its score.

    >>> all_four([(0, 1.0), (0, 1.0), (1, 1.0), (1, 0.0)])
    0.5
    """
    right: dict[Hashable, bool] = {}
    for group, value in results:
        right[group] = right.get(group, True) and value == 1
    return sum(right.values()) / max(1, len(right))
