"""Scoring a reply: find the answer in free text, then check it exactly.

A reply is *right*, *wrong* or *unreadable*. Where it says two things at once, hedges, or gives no
answer, it is unreadable rather than right by luck: no reply scores that does not state the right
answer. What counts as the answer, first of these that there is:

1. the last of `Answer: …`, `\\boxed{…}` and a JSON object with the key "answer";
2. the last text in **bold**, where nothing but punctuation follows it;
3. the last line.

An assignment is checked by evaluating the formulas in it, a conclusion by deciding the entailment.

>>> from possibleworlds.language import tasks
>>> item = tasks("decide", seed=0)[0]
>>> score(f"Let me see. Answer: {'yes' if item.label else 'no'}", item).verdict
'right'
>>> score("It may or may not follow.", item).verdict
'unreadable'
"""

import json
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from possibleworlds.errors import UserError
from possibleworlds.language.item import Item
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula, conjunction

Verdict = Literal["right", "wrong", "unreadable"]

MAX_REPLY = 20_000
"""Only so many characters at the end of a reply are looked at."""
MAX_DEPTH = 20
"""Braces tried as the beginning of a JSON object."""
DECODER = json.JSONDecoder()
MAX_CONCLUSION = 2_000
"""A longer conclusion, in symbols, is refused: it would only cost time to decide."""


@dataclass(frozen=True)
class Score:
    """What became of a reply."""

    verdict: Verdict
    answer: str
    """The answer as it was read: yes, no, an assignment, none or a formula; empty if unreadable."""
    reason: str
    """Why the reply is wrong or unreadable; empty if it is right."""

    @property
    def value(self) -> float:
        """The reward: 1 for a right answer, 0 for all others."""
        return float(self.verdict == "right")


def score(reply: str, item: Item) -> Score:
    """Score a reply to an item."""
    if not isinstance(reply, str):
        raise UserError(f"a reply is a text, not {type(reply).__name__}")
    return {"decide": score_decision, "refute": score_refutation, "conclude": score_conclusion}[
        item.kind
    ](reply[-MAX_REPLY:], item)


# Finding the answer

MARKER = re.compile(
    r"answer(?:\s+is)?[*_`]*\s*[:=][*_`]*\s*|answer\s+is\b[*_`]*\s*|boxed\s*\{", re.IGNORECASE
)
KEY = re.compile(r"answer[\"']\s*:", re.IGNORECASE)
BOLD_AT_END = re.compile(r"\*\*([^*\n]+)\*\*[\s.!)\]]*\Z")
TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|operatorname)\s*\{([^{}]*)\}")
THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """The part of a reply that is its answer."""

    text: str
    explicit: bool
    """Whether it was marked as the answer."""
    after: str
    """What follows it."""


def find_answer(reply: str, item: Item) -> Answer:
    """Find the part of a reply that is its answer."""
    if "<think" in reply:
        reply = THINKING.sub(" ", reply)
    reply = reply.strip()
    for place in marked_places(reply):
        if (answer := answer_at(reply, place, item)) is not None:
            return answer
    if bold := BOLD_AT_END.search(reply[-200:]):
        return Answer(bold[1], False, "")
    if item.kind == "refute":  # an assignment may go on for some lines
        return Answer(reply.rpartition("\n\n")[2], False, "")
    lines = (line for line in reversed(reply.splitlines()) if line.strip(" `*_\t"))
    return Answer(next(lines, ""), False, "")


def marked_places(reply: str) -> Iterator[int]:
    """Find where `answer` or `boxed` stands, last first."""
    lowered = reply.lower()
    if len(lowered) != len(reply):  # letters that grow in lower case would shift all places
        lowered = reply
    place = len(lowered)
    while (place := max(lowered.rfind("answer", 0, place), lowered.rfind("boxed{", 0, place))) >= 0:
        yield place


def answer_at(reply: str, place: int, item: Item) -> Answer | None:
    """Read the answer that is announced at a place, if one is."""
    before = reply[place - 1 : place]
    if before in ('"', "'", "“", "`") and before:
        # Quoted: the key of a JSON object, or instructions that are repeated.
        return answer_in_json(reply, place) if KEY.match(reply, place) else None
    marker = MARKER.match(reply, place)
    if not marker or (marker[0][0] in "aA" and before.isalnum()):
        return None
    start = marker.end()
    if marker[0].endswith("{"):
        end = closing(reply, start)
        return Answer(reply[start:end], True, reply[end + 1 :])
    separator = "\n\n" if item.kind == "refute" else "\n"
    text, _, after = reply[start:].lstrip().partition(separator)
    return Answer(text, True, after)


def answer_in_json(reply: str, place: int) -> Answer | None:
    """Read the answer of the JSON object that has the key at a place."""
    start = place
    for _ in range(MAX_DEPTH):
        if (start := reply.rfind("{", 0, start)) < 0:
            break
        try:
            value, length = DECODER.raw_decode(reply[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and "answer" in value:
            answer = value["answer"]
            if isinstance(answer, bool):
                answer = "yes" if answer else "no"
            text = answer if isinstance(answer, str) else json.dumps(answer)
            return Answer(text, True, reply[start + length :])
    return None


def closing(text: str, start: int) -> int:
    """Find the brace that closes the one before `start`; the end of the text where none does."""
    depth = 1
    for place in range(start, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if not depth:
                return place
    return len(text)


def plain(text: str) -> str:
    """Undo what LaTeX and typography do to words."""
    return TEXT.sub(r" \1 ", text.replace("’", "'")) if "\\" in text or "’" in text else text


# Does it follow?

HEDGE = re.compile(
    r"\b(?:may|might|maybe|perhaps|possibly|probably|unclear|unsure|not\s+sure|uncertain|unknown|"
    r"don'?t\s+know|do\s+not\s+know|can(?:'|no)?t\s+(?:be\s+)?(?:say|said|tell|told|determined?|"
    r"decided?)|cannot\s+(?:be\s+)?(?:say|tell|determined?|decided?)|whether|yes\s*(?:/|or)\s*no|"
    r"no\s*(?:/|or)\s*yes|either\s+way|undecid\w+|unless|would|could|should|if)\b|\?",
    re.IGNORECASE,
)
YES_PHRASE = re.compile(
    r"\b(?:no|without(?:\s+a(?:ny)?)?)\s+(?:such\s+)?(?:countermodel|counterexample|counter-example|"
    r"counter-model|refut\w+)s?\b",
    re.IGNORECASE,
)
NEGATION = (
    r"(?:\b(?:not|never|cannot|can\s*not|fails?\s+to|non)\b|n't\b)[-\s]*(?:\w+\s+){0,3}?"
    r"(?:follow|entail|hold|valid|true|correct|yes|impl|conclu)\w*"
)
NO_PHRASE = re.compile(
    rf"{NEGATION}|\b(?:no|false|invalid|incorrect|unentailed|nonentail\w*|n)\b|⊭|\|/=|\\nvDash"
    r"|\bnon-?entail\w*",
    re.IGNORECASE,
)
YES_WORD = re.compile(
    r"\b(?:yes|true|valid|correct|follows?|entails?|entailed|entailment|holds?|y|implie[sd])\b"
    r"|⊨|\|=|\\models|\\vDash",
    re.IGNORECASE,
)
STRONG = re.compile(
    r"\b(?:yes|no|follows?|entails?|entailed|valid|invalid|entailment)\b|⊭|⊨", re.IGNORECASE
)
BARE = re.compile(r"\W*(?:yes|no|true|false|y|n)\W*", re.IGNORECASE)
NEGATION_WORD = re.compile(
    r"\b(?:no|not|never|cannot|nor|neither|fail\w*|non|false|invalid|incorrect|den(?:y|ies)|wrong|"
    r"none|nobody|nothing|nowhere|hardly|scarcely|without|un\w+)\b|n't\b|⊭",
    re.IGNORECASE,
)
LEADING_NO = re.compile(r"\W*no\s*[,.:;–—-]", re.IGNORECASE)


def read_decision(text: str, explicit: bool) -> bool | None:
    """Read a yes or a no; None where a text says neither, or both, or hedges."""
    if (word := text.strip(" \t.!*_`\"'").lower()) in ("yes", "no"):
        return word == "yes"
    text = plain(text).replace("*", " ").replace("_", " ")
    if HEDGE.search(text):
        return None
    if not explicit and not BARE.fullmatch(text) and not STRONG.search(text):
        return None
    text, positive = YES_PHRASE.subn(" ", text)
    # "No, it does not follow" is clear; any other two negations may cancel each other.
    if len(NEGATION_WORD.findall(LEADING_NO.sub(" ", text, count=1))) > 1:
        return None
    text, negative = NO_PHRASE.subn(" ", text)
    positive += bool(YES_WORD.search(text))
    if bool(positive) == bool(negative) or (positive and NEGATION_WORD.search(text)):
        return None
    return bool(positive)


def score_decision(reply: str, item: Item) -> Score:
    """Score a yes or a no."""
    answer = find_answer(reply, item)
    decision = read_decision(answer.text, answer.explicit)
    last = answer.after.strip().rpartition("\n")[2]
    if decision is not None and STRONG.search(last) and read_decision(last, True) != decision:
        decision = None  # it may take its answer back
    if decision is None:
        return Score("unreadable", "", "no clear yes or no")
    said = "yes" if decision else "no"
    if decision == item.label:
        return Score("right", said, "")
    truth = "follows" if item.label else "does not follow"
    return Score("wrong", said, f"it {truth}")


# A countermodel, or none

NONE_PHRASE = re.compile(
    r"\bnone\b|\bno\s+(?:such\s+)?(?:truth\s+)?(?:assignment|countermodel|counterexample|valuation|"
    r"counter-example|counter-model)s?\b|\bthere\s+is\s+no\b|\bimpossible\b|\bcannot\s+be\s+refuted\b"
    r"|\bit\s+follows\b|\bno\s+row\b|\bnull\b|\bdoes\s+not\s+exist\b",
    re.IGNORECASE,
)
TRUE_VALUE = r"true|t|1|\\top|⊤|yes|wahr"
FALSE_VALUE = r"false|f|0|\\bot|⊥|no"
VALUE = rf"(?P<true>{TRUE_VALUE})|(?P<false>{FALSE_VALUE})"
SEPARATOR = r"[\"'`*_$)\]]*\s*(?:=|:=|:|->|→|↦|\\mapsto|\bis\b|\bto\b)\s*[\"'`*_$(\[]*"
IN_A_LIST = r"(?=\s*(?:[,;.)\]}]|and\b|$))"
"""What must follow a value that stands behind its variable with nothing but a space between."""


def read_assignment(text: str, item: Item) -> dict[str, bool] | None:
    """Read the truth values a text gives to the variables; None where it contradicts itself."""
    names = {item.wording.name(v).lower(): v for v in item.variables}
    listed = "|".join(
        re.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=len)[::-1]
    )
    pattern = re.compile(
        rf"(?<![\w\\])(?P<name>{listed})(?:{SEPARATOR}(?:{VALUE})(?!\w)"
        rf"|\s+(?:(?P<listed>{TRUE_VALUE})|{FALSE_VALUE})(?!\w){IN_A_LIST})",
        re.IGNORECASE | re.MULTILINE,
    )
    assignment: dict[str, bool] = {}
    for match in pattern.finditer(text):
        variable = names[re.sub(r"\s+", " ", match["name"].lower())]
        value = match["true"] is not None or match["listed"] is not None
        if assignment.setdefault(variable, value) != value:
            return None
    return assignment


def score_refutation(reply: str, item: Item) -> Score:
    """Score an assignment, or the word that there is none."""
    text = plain(find_answer(reply, item).text)
    assignment = read_assignment(text, item)
    says_none = bool(NONE_PHRASE.search(text))
    if assignment is None:
        return Score("unreadable", "", "a variable is given two values")
    if bool(assignment) == says_none:
        return Score("unreadable", "", "neither an assignment nor that there is none")
    if HEDGE.search(text):
        return Score("unreadable", "", "no clear answer")
    if says_none:
        if item.label:
            return Score("right", "none", "")
        return Score("wrong", "none", "there is an assignment that refutes it")
    said = ", ".join(f"{v} = {str(x).lower()}" for v, x in assignment.items())
    if refutes(assignment, item):
        return Score("right", said, "")
    return Score("wrong", said, "it does not make the premises true and the conclusion false")


def refutes(assignment: dict[str, bool], item: Item) -> bool:
    """Whether every way to complete an assignment makes the premises true, the conclusion false."""
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


# A conclusion of one's own


def read_conclusion(text: str, item: Item) -> Formula | None:
    """Read a formula, with or without what is usually written around it."""
    text = text.strip().strip("`*$ \t").strip()
    text = re.sub(r"^(?:therefore|so|hence|thus|∴|⊨|\|=)[,:\s]+", "", text, flags=re.IGNORECASE)
    for candidate in (text, text.rstrip("."), text.strip("\"'")):
        try:
            return item.wording.read(candidate)
        except UserError:
            continue
    return None


def score_conclusion(reply: str, item: Item) -> Score:
    """Score a conclusion: long enough, new, no tautology, and entailed by the premises."""
    text = find_answer(reply, item).text
    if len(text) > 40 * MAX_CONCLUSION:
        return Score("unreadable", "", "too long")
    conclusion = read_conclusion(text, item)
    if conclusion is None:
        return Score("unreadable", "", "no formula")
    if conclusion.length > MAX_CONCLUSION:
        return Score("unreadable", "", f"more than {MAX_CONCLUSION} symbols")
    said = str(conclusion)
    if conclusion.operators < item.min_operators:
        return Score("wrong", said, f"fewer than {item.min_operators} operators")
    if conclusion in item.premises:
        return Score("wrong", said, "it is one of the premises")
    if entails(Formula(("1",)), conclusion):
        return Score("wrong", said, "a tautology")
    if not entails(conjunction(item.premises), conclusion):
        return Score("wrong", said, "it does not follow from the premises")
    return Score("right", said, "")


def all_four(results: Iterable[tuple[Hashable, float]]) -> float:
    """Compute how often all items of a 4-tuple, or of a mutated pair, are right.

    A result is the number of an item's group, and its score.

    >>> all_four([(0, 1.0), (0, 1.0), (1, 1.0), (1, 0.0)])
    0.5
    """
    right: dict[Hashable, bool] = {}
    for group, value in results:
        right[group] = right.get(group, True) and value == 1
    return sum(right.values()) / max(1, len(right))
