"""Read a truth assignment, or the statement that there is none: "p = true, q = F", "p is false".

Values are read up to the start of a reason: "p = true, q = false, which makes the premise true".
Only words from short lists are allowed before and between them, because there are endless ways to
deny values or to use them otherwise: "not p = true", "p = true is excluded", "p → q = T".
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

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
from possibleworlds.language.replies import RETRACTION, plain, states
from possibleworlds.logic.alphabet import N_VARIABLES

TRUE_WORDS = r"true|t|1|\\top|⊤|yes|wahr"
FALSE_WORDS = r"false|f|0|\\bot|⊥|no|falsch"
VALUE = rf"(?:{TRUE_WORDS}|{FALSE_WORDS})(?!\w|\.\d|/)"
IS_TRUE = re.compile(rf"(?:{TRUE_WORDS})\Z", re.IGNORECASE)
EITHER = (
    rf"(?:either(?:\s+(?:value|way))?|anything|arbitrary|any(?:\s+(?:truth\s+)?value)?|irrelevant|"
    rf"do(?:es)?(?:\s+not|n't)\s+matter|"
    rf"(?:{TRUE_WORDS})\s*(?:or|/)\s*(?:{FALSE_WORDS}))(?!\w)"
)
ASSIGN = (
    r"\s*(?::=|&?==?|:|->|→|<-|←|↦|≡|\\mapsto|\\to\b|\b(?:is|are|must\s+be|should\s+be|be|to|equals)\b"
    r"(?:\s+(?:both|all|each))?)\s*"
)
CLOSE, OPEN = r"[\"'`*_$)\]]*", r"[\"'`*_$(\[]*"
IN_A_LIST = r"\)?(?=\s*(?:[,;.)\]}]|and\b|$))"
"""What must follow a value that only a space separates from its variable."""
DENIAL = re.compile(
    r"\b(?:not|never|no|none|neither|nor|without|except|unless|other\s+than|avoid\w*|anything|but\s+not|"
    r"fails?|cannot|false\s+that|if|whether|would|could|might|may|either|or|suppose|unlike)\b|n't\b"
    r"|≠|!=|\?|[¬~]\s*[(\[]",
    re.IGNORECASE,
)
FAILURE = re.compile(
    r"\bpremises?\s+(?:(?:is|are|becomes?|then|now|still|all)\s+)*(?:false|untrue)\b|"
    r"\bconclusion\s+(?:(?:is|becomes|then|now|still|also)\s+)*true\b|\bimpossible\b|\bcontradict",
    re.IGNORECASE,
)
"""What a reason cannot say about a refuting assignment."""
CONCLUSION_IS_NOT = re.compile(r"\bconclusion\s+(?:is\s+)?(?:then\s+)?not\b", re.IGNORECASE)
MARKS = r"v(?=\()|[\s.,;:()\[\]{}\"'“”`*_$\\•–—✅✔✓☑-]|\d+[.)]\s|\\(?:begin|end)\{\w+\}|\\q?quad\b"
BEFORE = re.compile(
    rf"(?:{MARKS}|\b(?:so|thus|therefore|hence|yes|we|i|can|get|have|let|set|setting|put|take|consider|"
    r"choose|assign|one|an?|the|this|such|possible|following|final|answer|refuting|by|with|given|when|"
    rf"where|for|in|which|(?:truth\s+)?values?|variables?|statements?|example|e\.g|i\.e|namely|and|{CASE}|is|"
    r"are|there|exists)\b)*\Z",
    re.IGNORECASE,
)
BETWEEN = re.compile(
    rf"(?:\0|{MARKS}|\b(?:(?:the|all|any)\s+)?(?:rest|others?|(?:other|remaining)\s+\w+)\s+"
    rf"(?:(?:is|are|(?:can|may)\s+be)\s+)?{EITHER}|[&∧]|\\(?:wedge|land)\b|\b(?:and|while|whereas|but|with|also|set|let|assign)\b)*\Z",
    re.IGNORECASE,
)
"""What may precede the first value, and what may separate values, which are replaced by \\0."""
REASON_AFTER = re.compile(
    rf"(?: ?(?:=>|->|→|⇒))?[\s,.;:!()*_`$–—-](?:(?:where|and|then|so|with)\s+)?"
    rf"(?:because|since|as|which|so\s+that|making|makes?|gives?|refutes?|satisf\w+|"
    rf"is\s+an?\s+(?:\w+\s+)?{CASE}|(?:the\s+|both\s+|all\s+)?(?:premises?|conclusion))\b"
    r"|[.;:!(–—\n][\s*_#]{0,6}(?:then|so|thus|therefore|hence|here|this|that|these|those|under|with\s+th|"
    r"it\s+(?:makes|refutes|satisfies)|in\s+(?:this|that|which)|check|verif|explanation|reason|proof|note|there|for\s+which|where|"
    r"(?:an)?other|i\s+hope)",
    re.IGNORECASE,
)
"""The start of a reason for an assignment."""
NONE = re.compile(
    rf"""(?:(?:but|in\s+fact)\b[,\s]*)*(?:
      none(?:\s+exists?)? | null | n/?a(?!\w) | impossible | it\s+is\s+impossible
    | (?:there\s+(?:is|are|exists?)\s+)?no\s+(?:such\s+)?(?:possible\s+|refuting\s+)?{CASE}
      (?:\s+(?:is\s+possible|can\s+be\s+found|works?|does)|{REFUTING})
    | there\s+(?:is|are)\s+none
    | (?:it|the\s+conclusion|the\s+argument)\s+cannot\s+be\s+refuted
    | (?:such\s+)?(?:an?\s+|a\s+)?(?:such\s+)?{CASE}\s+(?:does\s+not|do\s+not|doesn't)\s+exist
    | (?:it|the\s+conclusion)\s+(?:always\s+|necessarily\s+)?follows(?:\s+from\s+the\s+premises?)?
    )(?![\w/'])""",
    re.IGNORECASE | re.VERBOSE,
)
EXISTS = re.compile(
    rf"\bthere\s+(?:is|are|exists?)\s+(?:an?|one|some|several|many|such\s+an?)\s+(?:such\s+)?{CASE}|"
    rf"\brefutes\s+it\b|\ball\s+variables\b|\b(?:shows|works)\s*[.!]?\s*(?:\Z|\n)",
    re.IGNORECASE,
)
"""Statements that take back that there is none."""


@dataclass(frozen=True)
class Values:
    """The truth values that a text gives to variables."""

    assignment: dict[str, bool]
    stated: bool = False
    """Whether the text around the values asserts them."""
    contradictory: bool = False
    """Whether a variable is given two values, or not as many values as there are variables."""
    denied: bool = False
    """Whether there was an assignment that the text takes back."""


class Patterns:
    """Patterns for the names of an item's variables; the rarer ones are compiled when needed."""

    def __init__(self, names: tuple[str, ...]) -> None:
        alternatives = sorted(names, key=len, reverse=True)
        self.name = "|".join(re.escape(n).replace(r"\ ", r"\s+") for n in alternatives)
        self.one = re.compile(rf"(?<!\w)(?:{self.name})(?!\w)", re.IGNORECASE)
        """A single name."""
        self.values = values_pattern(self.name)
        """Values of one or several names."""

    @cached_property
    def assigned(self) -> re.Pattern[str]:
        """Values that `values` may have missed."""
        one = self.one.pattern
        text = rf"{one}{CLOSE}\s*:?=|{one}[^,;.\n]{{0,30}}\b(?:true|false)\b"
        return re.compile(text, re.IGNORECASE)

    @cached_property
    def _negated(self) -> re.Pattern[str]:
        dashed = rf"(?<!\w)[-−](?:{self.name})(?={CLOSE}{ASSIGN})"
        primed = rf"(?<![\w'\"‘“])(?:{self.name})['′](?=\s*{ASSIGN})"
        return re.compile(f"{dashed}|{primed}", re.IGNORECASE)

    def has_negated_name(self, text: str) -> bool:
        """Whether a text has a value of a negated name, such as p' or -p."""
        return any(sign in text for sign in "-−'′") and bool(self._negated.search(text))


@lru_cache(maxsize=256)
def patterns(names: tuple[str, ...]) -> Patterns:
    """Compile the patterns for these names."""
    return Patterns(names)


def values_pattern(name: str) -> re.Pattern[str]:
    """Compile the pattern for values of one or several names."""
    # In "p = T, t = F", T is a value, even if there is a variable t.
    joint = rf"{CLOSE}\s*(?:,\s*(?:and\s+)?|and\s+|=\s*(?!{OPEN}{VALUE})){OPEN}"
    others = rf"(?:{joint}(?:{name})(?!\w)){{0,{N_VARIABLES}}}"
    several = rf"(?:{name}){others}"
    # In "p and q are false, t and r are true", t is no value.
    next_value = rf"\s*,\s*(?!(?:{name})(?!\w){others}{CLOSE}{ASSIGN}){VALUE}"
    return re.compile(
        rf"\b(?P<any>(?:for\s+)?any\s+(?:value\s+of\s+)?{several})(?!\w|{CLOSE}{ASSIGN})|"
        rf"(?P<negated>[¬~!]\s*)?(?<![\w\\])(?P<names>{several})(?:"
        rf"{CLOSE}(?:{ASSIGN}|\s+(?:can|may)\s+be\s+|\s+)(?P<either>{EITHER})|"
        rf"{CLOSE}{ASSIGN}(?P<open>{OPEN})\s*(?P<values>{VALUE}(?:{next_value})*)"
        rf"(?P<close>\s*[)\]])?(?:\s*\((?P<again>{VALUE})\))?"
        rf"|\s+(?:[–—-]\s+)?\(?(?P<listed>{VALUE}){IN_A_LIST})",
        re.IGNORECASE | re.MULTILINE,
    )


def read_values(text: str, item: Item) -> Values:
    """Read the truth values that a text gives to the variables of an item."""
    names = {item.wording.name(v).lower(): v for v in item.variables}
    compiled = patterns(tuple(names))
    assignment: dict[str, bool] = {}
    contradictory = compiled.has_negated_name(text)
    for match in compiled.values.finditer(text):
        if match["any"] or match["either"]:
            continue
        written = compiled.one.findall(match["names"])
        values = re.findall(VALUE, match["values"] or match["listed"], re.IGNORECASE)
        repeated = len(set(written)) < len(written)
        cut = len(written) > 1 and "(" in (match["open"] or "") and not match["close"]
        if match["negated"] or repeated or cut or len(values) not in (1, len(written)):
            contradictory = True
            continue
        values *= len(written) // len(values)
        for variable, value in zip(written, values, strict=True):
            known = names[re.sub(r"\s+", " ", variable.lower())]
            truth = bool(IS_TRUE.match(value))
            contradictory |= assignment.setdefault(known, truth) != truth
            contradictory |= bool(match["again"] and bool(IS_TRUE.match(match["again"])) != truth)
    before, mark, rest = compiled.values.sub("\0", text).partition("\0")
    stated = (
        bool(mark and BETWEEN.match(rest))
        and bool(BEFORE.match(before) or states(before))
        and not DENIAL.search(before)
        and not (before and compiled.assigned.search(before))
    )
    return Values(assignment, stated, contradictory)


def split_reason(text: str, item: Item) -> tuple[str, str]:
    """Split a text at the start of a reason after its first value."""
    pattern = patterns(tuple(item.wording.name(v).lower() for v in item.variables)).values
    first = pattern.search(text)
    reason = first and REASON_AFTER.search(text, first.end())
    return (text[: reason.start()], text[reason.start() :]) if reason else (text, "")


def read_assignment(text: str, after: str, item: Item) -> Values:
    """Read the assignment of an answer, from its first line if it is complete there."""
    one = patterns(tuple(item.wording.name(v).lower() for v in item.variables)).one
    text = without_tables(plain(text)).strip()
    text, after = with_blocks(text, plain(after), item)
    first, _, others = text.partition("\n")
    listing, reason = split_reason(first, item)
    values = read_values(listing, item)
    if len(values.assignment) == len(item.variables):
        introduced = [line for line in after.splitlines() if ANOTHER.match(line)]
        for line in (*others.splitlines(), *introduced):
            again = read_values(split_reason(line, item)[0], item)
            is_another = again.stated or ANOTHER.match(line)
            if is_another and len(again.assignment) == len(values.assignment):
                differs = again.contradictory or again.assignment != values.assignment
                values = replace(values, contradictory=values.contradictory or differs)
    else:
        listing, reason = split_reason(text, item)
        values = read_values(listing, item)
        reason, _, others = reason.strip().partition("\n")
    reason, after = (one.sub(" ", said) for said in (reason, f"{others}\n{after}"))
    said = f"{reason}\n{after}"
    denied = bool(
        DENIAL.search(CONCLUSION_IS_NOT.sub(" ", reason))
        or FAILURE.search(said)
        or RETRACTION.search(said)
        or any(says_none(line) for line in after.splitlines()[:100])
    )
    if (denied or not values.stated) and not values.contradictory:
        return Values({}, denied=values.stated)
    return values


ANOTHER = re.compile(
    r"\W*(?:or|alternatively|answer(?:\s+\d+)?|corrected|correction|edit|final(?:ly)?)\b",
    re.IGNORECASE,
)
"""The start of a line with another answer."""


def with_blocks(text: str, after: str, item: Item) -> tuple[str, str]:
    """Move the blocks after an answer to it that only continue its list of values."""
    while len(read_values(text, item).assignment) < len(item.variables):
        block, _, rest = after.strip().partition("\n\n")
        values = read_values(block, item)
        if values.contradictory or not (values.stated and values.assignment):
            break
        text, after = f"{text}\n{block}", rest
    return text, after


TABLE = re.compile(r"(?:^[ \t]*\|.*\|[ \t]*(?:\n|\Z))+", re.MULTILINE)


def without_tables(text: str) -> str:
    """Convert tables to lists of values: rows of a name and a value, or one row below the names.

    >>> without_tables("| p | q |\\n|---|---|\\n| T | F |")
    'p = T, q = F'
    """
    return TABLE.sub(lambda table: table_as_list(table[0]), text)


def table_as_list(table: str) -> str:
    """Convert a table to a list of values; return it unchanged if it has another shape."""
    rows = [[cell.strip() for cell in row.strip()[1:-1].split("|")] for row in table.splitlines()]
    if len(rows) < 3 or any(cell.strip(" :-") for cell in rows[1]) or len(set(map(len, rows))) > 1:
        return table
    header, body = rows[0], rows[2:]
    if len(body) == 1 and re.match(VALUE, body[0][0].strip("*_`$ "), re.IGNORECASE):
        return ", ".join(f"{name} = {value}" for name, value in zip(header, body[0], strict=True))
    if all(len(row) == 2 for row in body):
        return ", ".join(f"{name} = {value}" for name, value in body)
    return table


def says_none(text: str, after: str = "") -> bool:
    """Whether a text says that there is no such assignment, and does not take that back."""
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
