"""Read a truth assignment, or the statement that there is none: "p = true, q = F", "p is false".

Values are read up to the start of a reason: "p = true, q = false, which makes the premise true".
Only words from short lists are allowed before and between them, because there are endless ways to
deny values or to use them otherwise: "not p = true", "p = true is excluded", "p → q = T".
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from possibleworlds.language.decisions import endings, is_reason, verdicts, without_denials
from possibleworlds.language.item import Item
from possibleworlds.language.marks import RETRACTION
from possibleworlds.language.phrases import (
    ADVERBS,
    CASE,
    COUNTERMODEL,
    EDGE,
    MAX_LINES,
    NEGATION,
    REFUTED,
    REFUTING,
    SEPARATOR,
    START,
)
from possibleworlds.language.replies import SENTENCE, plain, without
from possibleworlds.language.tables import FALSE_WORDS, TRUE_WORDS, VALUE, without_tables
from possibleworlds.language.wording import folded

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
PREFERRED = r"(?:right|correct|better)"
BETTER = rf"\bwould\s+be\s+(?:the\s+)?{PREFERRED}\b|\b{PREFERRED}\s+answer\s+would\b"
FAILURE = re.compile(
    r"\bpremises?\s+(?:(?:is|are|becomes?|then|now|still|all|would|be)\s+)*(?:false|untrue)\b|"
    rf"{BETTER}|"
    r"\bconclusion\s+(?:(?:is|becomes|then|now|still|also)\s+)*true\b|\bimpossible\b|\bcontradict|"
    rf"\bnot\s+an?\s+(?:\w+\s+)?{CASE}|"
    rf"\b(?:this|that|these|which|assignment|values)\s+(?:{NEGATION}|fails?)\b|"
    r"\b(?:assignment|case|values)\s+(?:is|are)\s+(?:not\s+valid|invalid)\b|"
    r"\bpremises?\b(?:(?!conclusion|\btrue\b|\bT\b)[^.;\n]){0,60}?(?:\bevaluates?\s+to|\bis|=|:)\s*"
    r"(?:false|F)(?=[\s*_]*(?:[.,;)❌✗✘✖\n]|\Z))|"
    r"\bconclusion\b(?:(?!premise|\bfalse\b|\bF\b)[^.;\n]){0,60}?(?:\bevaluates?\s+to|\bis|=|:)\s*"
    r"(?:true|T)(?=[\s*_]*(?:[.,;)\n]|\Z))",
    re.IGNORECASE,
)
"""What a reason cannot say about a refuting assignment."""
IS_REFUTED = re.compile(
    rf"\b(?:conclusion|argument|inference|entailment)\s+(?:{NEGATION}|(?:is\s+)?(?:then\s+)?not|isn't|"
    rf"fails)\b(?!\s+(?:be\s+)?(?:false|refuted|fail))|\bit\s+{NEGATION}\s+{ADVERBS}follow\b|"
    r"\bfalse\b[\s:*_)]*[❌✗✘✖]|\bconclusion\b[^\n]{0,80}?[❌✗✘✖]|[❌✗✘✖]\s*(?:the\s+)?conclusion",
    re.IGNORECASE,
)
"""What a reason may say, although it contains a negation or a cross."""
MARKS = (
    r"v(?=\()|[\s.,;:…()\[\]{}\"'“”`*_$\\•–—✅✔✓☑-]|\d+[.)]\s|"
    r"\\(?:begin|end)\{\w+\}(?:\{[lcr]+\})?|\\q?quad\b"
)
BEFORE = re.compile(
    rf"(?:{MARKS}|\b(?:so|thus|therefore|hence|here|yes|we|i|can|get|have|let|set|setting|put|take|"
    r"consider|choose|assign|one|an?|the|this|such|possible|following|final|answer|refuting|by|"
    r"with|given|when|"
    rf"where|for|in|which|(?:truth\s+)?values?|variables?|statements?|example|e\.g|i\.e|namely|and|{CASE}|is|"
    r"are|both|there|exists|works?)\b)*\Z",
    re.IGNORECASE,
)
CONCLUDED = re.compile(r".*[.!]\s+(?=(?:so|thus|therefore|hence)\b)", re.IGNORECASE | re.DOTALL)
"""Sentences before one that concludes."""
BETWEEN = re.compile(
    rf"(?:\0|{MARKS}|\b(?:(?:the|all|any)\s+)?(?:rest|others?|(?:other|remaining)\s+\w+)\s+"
    rf"(?:(?:is|are|(?:can|may)\s+be)\s+)?{EITHER}|[&∧]|\\(?:wedge|land)\b|\b(?:and|while|whereas|but|with|also|set|let|assign)\b)*\Z",
    re.IGNORECASE,
)
"""What may precede the first value, and what may separate values, which are replaced by \\0."""
REASON_AFTER = re.compile(
    r"(?: ?(?:=>|->|→|⇒))?[\s,.;:!()*_`$–—-]"
    r"(?:(?:where|and|then|so|with|hence|thus|therefore)\s+)?"
    rf"(?:because|since|as|which|so\s+that|making|makes?|gives?|refutes?|satisf\w+|"
    rf"is\s+an?\s+(?:\w+\s+)?{CASE}|(?:the\s+|both\s+|all\s+)?(?:premises?|conclusion|argument))\b"
    r"|[.;:!(–—\n][\s*_#]{0,6}(?:then|so|thus|therefore|hence|here|this|that|these|those|under|with\s+th|"
    r"unique\b|if\b[^.;,\n]{1,40}\swere\b|it\s+(?:makes|refutes|satisfies)|"
    r"in\s+(?:this|that|which)|check|verif|explanation|reason|proof|note|there|for\s+which|where|"
    r"(?:an)?other|i\s+hope)",
    re.IGNORECASE,
)
"""The start of a reason for an assignment."""
NONE = re.compile(
    rf"""(?:(?:but|in\s+fact)\b[,\s]*)*(?:
      none(?:\s+exists?)? | null | n/?a(?!\w) | impossible | it\s+is\s+impossible
    | (?:there(?:'s|\s+(?:is|are|exists?))\s+)?no\s+(?:such\s+)?(?:possible\s+|refuting\s+)?{CASE}
      (?:\s+(?:is\s+possible|can\s+be\s+found|works?|does)|{REFUTING})
    | there(?:'s|\s+is|\s+are)\s+none
    | (?:it|the\s+conclusion|the\s+argument)\s+cannot\s+be\s+refuted
    | (?:such\s+)?(?:an?\s+|a\s+)?(?:such\s+)?{CASE}\s+(?:does\s+not|do\s+not|doesn't)\s+exist
    | (?:it|the\s+conclusion)\s+(?:always\s+|necessarily\s+)?follows(?:\s+from\s+the\s+premises?)?
    )(?!\w|/|'\w)""",
    re.IGNORECASE | re.VERBOSE,
)
EXISTS = re.compile(
    rf"\bthere\s+(?:is|are|exists?)\s+(?:an?|one|some|several|many|such\s+an?)\s+(?:such\s+)?{CASE}|"
    rf"\b{COUNTERMODEL}\s*(?::|\?\W*yes\b|(?:is|would\s+be)\b)(?!\s*(?:none|not|impossible))|"
    r"\bis\s+one\b(?!\s+of\b)|\bcan\s+be\s+refuted\b|\bfound\s+(?:one\b|an?\b|\w+\s*=)|"
    rf"{REFUTED}|\brefutes\s+it\b|"
    r"\ball\s+variables\b|\b(?:shows|works)\s*[.!]?\s*(?:\Z|\n)",
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
        self.values = values_pattern(self.name, len(names))
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


def values_pattern(name: str, number: int) -> re.Pattern[str]:
    """Compile the pattern for values of one or several of a number of names."""
    # In "p = T, t = F", T is a value, even if there is a variable t.
    joint = rf"{CLOSE}\s*(?:,\s*(?:and\s+)?|and\s+|=\s*(?!{OPEN}{VALUE})){OPEN}"
    others = rf"(?:{joint}(?:{name})(?!\w)){{0,{number}}}"
    several = rf"(?:{name})(?!\w){others}"
    # In "p and q are false, t and r are true", t is no value.
    next_value = rf"\s*,\s*(?!(?:{name})(?!\w){others}{CLOSE}{ASSIGN}){VALUE}"
    return re.compile(
        rf"\b(?P<any>(?:for\s+)?any\s+(?:value\s+of\s+)?{several})(?!\w|{CLOSE}{ASSIGN})|"
        rf"(?P<negated>[¬~!]\s*)?(?<![\w\\])(?P<names>{several}+)(?:"
        rf"{CLOSE}(?:{ASSIGN}|\s+(?:can|may)\s+be\s+|\s+)(?P<either>{EITHER})|"
        rf"{CLOSE}(?P<assign>{ASSIGN})(?P<open>{OPEN})\s*(?P<values>{VALUE}(?:{next_value})*)"
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
            several = bool(match["either"]) and len(compiled.one.findall(match["names"])) > 1
            contradictory |= several and bool(item.wording.statements)
            continue
        written = compiled.one.findall(match["names"])
        values = re.findall(VALUE, match["values"] or match["listed"], re.IGNORECASE)
        repeated = len(set(written)) < len(written)
        repeated |= len(written) > len(values) == 1 and not may_share(match["assign"], item)
        cut = len(written) > 1 and "(" in (match["open"] or "") and not match["close"]
        if match["negated"] or repeated or cut or len(values) not in (1, len(written)):
            contradictory = True
            continue
        values *= len(written) // len(values)
        for variable, value in zip(written, values, strict=True):
            known = names.get(re.sub(r"\s+", " ", folded(variable)))
            if known is None:  # a letter that differs by more than its case
                contradictory = True
                continue
            truth = bool(IS_TRUE.match(value))
            contradictory |= assignment.setdefault(known, truth) != truth
            contradictory |= bool(match["again"] and bool(IS_TRUE.match(match["again"])) != truth)
    before, mark, rest = compiled.values.sub("\0", text).partition("\0")
    concluded = CONCLUDED.match(before) if len(assignment) == len(names) else None
    stated = (
        bool(mark and BETWEEN.match(rest))
        and bool(BEFORE.match(before, concluded.end() if concluded else 0))
        and not DENIAL.search(before)
        and not (before and compiled.assigned.search(before))
    )
    return Values(assignment, stated, contradictory)


def may_share(assign: str | None, item: Item) -> bool:
    """Whether the sign or verb between several names and one value gives it to all of them.

    "Anna is at home, the lamp is on is false" says something else of each.
    """
    if item.wording.statements:
        return bool(assign and re.search(r"\b(?:are|both|all|each)\b", assign))
    return not (assign and re.search(r"\bis\b", assign))


def split_reason(text: str, item: Item) -> tuple[str, str]:
    """Split a text at the start of a reason after its first value."""
    pattern = patterns(tuple(item.wording.name(v).lower() for v in item.variables)).values
    first = pattern.search(text)
    reason = first and REASON_AFTER.search(text, first.end())
    return (text[: reason.start()], text[reason.start() :]) if reason else (text, "")


def read_assignment(text: str, after: str, item: Item) -> Values:
    """Read the assignment of an answer, from its first line if it is complete there."""
    text = as_list(plain(text), item).strip()
    text, after = with_blocks(text, plain(after), item)
    first, _, others = text.partition("\n")
    listing, reason = split_reason(first, item)
    values = read_values(listing, item)
    if len(values.assignment) == len(item.variables):
        if gives_another(values.assignment, others, after, item):
            values = replace(values, contradictory=True)
    else:
        listing, reason = split_reason(text, item)
        values = read_values(listing, item)
        reason, _, others = reason.strip().partition("\n")
    after = f"{others}\n{after}"
    reason, after = (explained(said, values.assignment, item) for said in (reason, after))
    after = without(OTHER_CASES, after)
    said = IS_REFUTED.sub(" ", f"{reason}\n{after}")
    denied = bool(
        DENIAL.search(IS_REFUTED.sub(" ", reason))
        or FAILURE.search(f"{reason}\n{after}")
        or RETRACTION.search(said)
        or True in verdicts(f"{reason}\n{after}", lines=False)
        or any(says_none(line) for line in after.splitlines()[:MAX_LINES])
    )
    if (denied or not values.stated) and not values.contradictory:
        return Values({}, denied=values.stated)
    return values


def explained(text: str, assignment: dict[str, bool], item: Item) -> str:
    """Remove from an explanation the names of variables, and what would be with other values."""

    def kept(sentence: re.Match[str]) -> str:
        if OTHERWISE.match(sentence[0]):
            return " "
        if not WOULD.search(sentence[0]) or re.search(BETTER, sentence[0], re.IGNORECASE):
            return sentence[0]
        if RETRACTION.search(INSTEAD.sub(" ", sentence[0])):
            return sentence[0]
        values = read_values(WERE.sub("is", sentence[0]), item).assignment
        return " " if any(assignment.get(v, x) != x for v, x in values.items()) else sentence[0]

    one = patterns(tuple(item.wording.name(v).lower() for v in item.variables)).one
    return CONTRAST.sub(" ", one.sub("\0", SENTENCE.sub(kept, text))).replace("\0", " ")


WOULD = re.compile(r"\b(?:would|were)\b", re.IGNORECASE)
OTHERWISE = re.compile(r"\W*otherwise\b[^=]*\Z", re.IGNORECASE)
WERE = re.compile(r"\b(?:were|was)\b", re.IGNORECASE)
INSTEAD = re.compile(r"\binstead\b", re.IGNORECASE)
CONTRAST = re.compile(
    r"\b(?:rather\s+than|instead\s+of)[\s*`$]+\0(?!\s*(?:[=:]|is\b|being\b))", re.IGNORECASE
)
"""What introduces other values, and a contrast with a variable, which stands as \\0."""


def gives_another(assignment: dict[str, bool], lines: str, after: str, item: Item) -> bool:
    """Whether lines of an answer, or bare or introduced lines after it, give other values."""
    for place, text in enumerate((lines, after)):
        blocks = re.split(r"\n\s*\n", as_list(text, item))[:MAX_LINES]
        for line in (*text.splitlines()[:MAX_LINES], *blocks):
            listing, reason = split_reason(line, item)
            again = read_values(listing, item)
            is_answer = ANOTHER.match(line) or (again.stated and not (place and reason))
            if not is_answer:
                continue
            if any(assignment.get(v, x) != x for v, x in again.assignment.items()):
                return True
            differs = again.contradictory or again.assignment != assignment
            if differs and len(again.assignment) == len(item.variables):
                return True
    return False


OTHER_CASES = re.compile(
    r"\b(?:(?:all|every|any|the)\s+other|other\s+(?:cases|rows|assignments)|"
    rf"only\s+(?:such\s+)?(?:{CASE}|one)(?!.*=))\b",
    re.IGNORECASE,
)
"""What a sentence about the other cases contains."""
ANOTHER = re.compile(
    r"\W*(?:or|alternatively|answer(?:\s+\d+)?|corrected|correction|edit|final(?:ly)?)\b",
    re.IGNORECASE,
)
"""The start of a line with another answer."""


def with_blocks(text: str, after: str, item: Item) -> tuple[str, str]:
    """Move the blocks after an answer to it that only continue its list of values."""
    known = set(read_values(text, item).assignment)
    while len(known) < len(item.variables):
        block, _, rest = after.strip().partition("\n\n")
        values = read_values(split_reason(block, item)[0], item)
        new = set(values.assignment) - known
        if values.contradictory or not (values.stated and new):
            break
        known |= new
        text, after = f"{text}\n{block}", rest
    return text, after


ALL_ALIKE = re.compile(
    r"\W*(?:set\s+)?all\s+(?:the\s+)?(?:variables|statements|letters)\s+(?:are\s+|to\s+|=\s*)?"
    r"(true|false)\W*",
    re.IGNORECASE,
)
BY_VALUE = re.compile(
    r"(?:^|;)[ \t*_•-]*(true|false)[*_ ]*:[*_ ]*([^;:\n]+)", re.IGNORECASE | re.MULTILINE
)
NOT_TRUE = re.compile(r"\bis(?:\s+not|n't)\s+true\b", re.IGNORECASE)


def as_list(text: str, item: Item) -> str:
    """Convert tables, "all variables are true" and "True: p, q" to lists of values."""
    names = [item.wording.name(v) for v in item.variables]
    if alike := ALL_ALIKE.fullmatch(text):
        return ", ".join(f"{name} = {alike[1]}" for name in names)
    text = NOT_TRUE.sub("is false", without_tables(text))
    one = patterns(tuple(name.lower() for name in names)).one
    listed = [(match[1], one.findall(match[2])) for match in BY_VALUE.finditer(text)]
    rest = one.sub("", BY_VALUE.sub(r" \2", text)).replace("and", "")
    if sum(len(some) for _, some in listed) < len(names) or rest.strip(" \n,.*_`\"'$"):
        return text
    return ", ".join(f"{name} = {value}" for value, some in listed for name in some)


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
        said = without_denials(f"{rest}\n{after}")
        if RETRACTION.search(said) or EXISTS.search(said) or False in verdicts(said, lines=False):
            continue
        return True
    return False
