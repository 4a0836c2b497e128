"""Reading a truth assignment, or that there is none: "p = true, q = F", "p and q are false".

What a text says beside the values decides whether it gives them: "not p = true", "p = true does not
work" and "none of these" are no answers.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from possibleworlds.language.decisions import (
    CASE,
    EDGE,
    REFUTING,
    SEPARATOR,
    START,
    endings,
    is_reason,
)
from possibleworlds.language.item import Item
from possibleworlds.language.replies import RETRACTION, plain

TRUE_WORDS = r"true|t|1|\\top|⊤|yes|wahr"
FALSE_WORDS = r"false|f|0|\\bot|⊥|no"
VALUE = rf"(?:{TRUE_WORDS}|{FALSE_WORDS})(?!\w)"
IS_TRUE = re.compile(rf"(?:{TRUE_WORDS})\Z", re.IGNORECASE)
ASSIGN = r"\s*(?::=|=|:|->|→|↦|\\mapsto|\bis\b|\bare\b|\bto\b)\s*"
CLOSE, OPEN = r"[\"'`*_$)\]]*", r"[\"'`*_$(\[]*"
IN_A_LIST = r"\)?(?=\s*(?:[,;.)\]}]|and\b|$))"
"""What must follow a value that stands behind its variable with nothing but a space between."""
DENIAL = re.compile(
    r"\b(?:not|never|no|none|neither|nor|without|except|unless|other\s+than|avoid\w*|anything|but\s+not|"
    r"fails?|cannot|false\s+that|if|whether|would|could|might|may|either|or|suppose|unlike)\b|n't\b"
    r"|≠|!=|\?|[¬~]\s*[(\[]",
    re.IGNORECASE,
)
NONE = re.compile(
    rf"""(?:
      none(?:\s+exists)? | null | n/?a(?!\w) | impossible | it\s+is\s+impossible
    | (?:there\s+(?:is|are|exists?)\s+)?no\s+(?:such\s+)?(?:possible\s+|refuting\s+)?{CASE}
      (?:\s+(?:is\s+possible|can\s+be\s+found)|{REFUTING})
    | there\s+(?:is|are)\s+none
    | (?:it|the\s+conclusion|the\s+argument)\s+cannot\s+be\s+refuted
    | (?:such\s+)?(?:an?\s+|a\s+)?(?:such\s+)?{CASE}\s+(?:does\s+not|do\s+not|doesn't)\s+exist
    | (?:it|the\s+conclusion)\s+(?:always\s+|necessarily\s+)?follows(?:\s+from\s+the\s+premises?)?
    )(?![\w/'])""",
    re.IGNORECASE | re.VERBOSE,
)
EXISTS = re.compile(rf"\bthere\s+(?:is|exists)\s+(?:an?|one|such\s+an?)\s+{CASE}", re.IGNORECASE)


@dataclass(frozen=True)
class Values:
    """The truth values that a text gives to variables, and the rest of the text."""

    assignment: dict[str, bool]
    rest: str
    contradictory: bool = False
    """Whether a variable is given two values, or not as many values as there are variables."""


@lru_cache(maxsize=256)
def patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Match values that are given to some of these names, and one of the names alone."""
    name = "|".join(re.escape(n).replace(r"\ ", r"\s+") for n in sorted(names, key=len)[::-1])
    several = rf"(?:{name})(?:{CLOSE}\s*(?:,\s*(?:and\s+)?|and\s+){OPEN}(?:{name})(?!\w))*"
    values = re.compile(
        rf"(?P<negated>[¬~!]\s*)?(?<![\w\\])(?P<names>{several})(?:{CLOSE}{ASSIGN}{OPEN}"
        rf"(?P<values>{VALUE}(?:\s*,\s*{VALUE}(?!{CLOSE}{ASSIGN}))*)"
        rf"|\s+\(?(?P<listed>{VALUE}){IN_A_LIST})",
        re.IGNORECASE | re.MULTILINE,
    )
    return values, re.compile(rf"(?<!\w)(?:{name})(?!\w)", re.IGNORECASE)


def read_values(text: str, item: Item) -> Values:
    """Read the truth values that a text gives to the variables of an item."""
    names = {item.wording.name(v).lower(): v for v in item.variables}
    pattern, one = patterns(tuple(names))
    assignment: dict[str, bool] = {}
    contradictory = False
    for match in pattern.finditer(text):
        written = one.findall(match["names"])
        values = re.findall(VALUE, match["values"] or match["listed"], re.IGNORECASE)
        if match["negated"] or len(values) not in (1, len(written)):
            contradictory = True
            continue
        values *= len(written) // len(values)
        for variable, value in zip(written, values, strict=True):
            known = names[re.sub(r"\s+", " ", variable.lower())]
            truth = bool(IS_TRUE.match(value))
            contradictory |= assignment.setdefault(known, truth) != truth
    rest = pattern.sub(" ", text)
    return Values(assignment, one.sub(" ", rest), contradictory)


def read_assignment(text: str, after: str, item: Item) -> Values:
    """Read the assignment that an answer gives: that of its first line, if it is complete there."""
    text = plain(text)
    first, _, others = text.strip().partition("\n")
    values = read_values(first, item)
    if len(values.assignment) == len(item.variables):
        again = read_values(others, item)
        after = f"{again.rest}\n{after}"
        if not again.contradictory and len(again.assignment) == len(values.assignment):
            again_differs = again.assignment != values.assignment
            values = Values(values.assignment, values.rest, values.contradictory or again_differs)
    else:
        values = read_values(text, item)
    denied = bool(
        DENIAL.search(values.rest)
        or RETRACTION.search(f"{values.rest}\n{plain(after)}")
        or says_none(after.strip().rpartition("\n")[2])
    )
    return Values({}, values.rest) if denied and not values.contradictory else values


def says_none(text: str, after: str = "") -> bool:
    """Whether a text says that there is no such assignment, and nothing after takes it back."""
    for part in endings(plain(text)):
        match = NONE.match(part, len(part) - len(part.lstrip(START)))
        if not match:
            continue
        rest = part[match.end() :]
        if rest.strip(EDGE):
            separator = SEPARATOR.match(rest)
            if not separator or not is_reason(rest[separator.end() :], True):
                continue
        if not (RETRACTION.search(said := f"{rest}\n{after}") or EXISTS.search(said)):
            return True
    return False
