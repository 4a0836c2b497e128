r"""Read a yes or a no: "Yes", "No, it does not follow", "The argument is valid", "A ⊭ B".

Only sentences of this small grammar, possibly followed by reasons, count as a decision, since
single words cannot tell "it follows" from "few think that it follows".
"""

import re
from collections.abc import Iterator

from possibleworlds.language.replies import (
    CLAUSE_END,
    DENIED_BEFORE,
    RETRACTION,
    SENTENCE_END,
    bold_at_end,
    plain,
    question_before,
    states,
)

ADVERBS = (
    r"(?:(?:clearly|definitely|necessarily|logically|always|indeed|certainly|also|still|"
    r"in\s+fact)\s+)*"
)
SUBJECT = (
    r"(?:it|this|(?:the|this)\s+(?:given\s+|stated\s+)?(?:conclusion|argument|inference|entailment|"
    r"implication|deduction|reasoning|consequence)|conclusion)"
)
PREMISES = r"(?:the\s+)?(?:given\s+|stated\s+)?premises?"
SOURCE = rf"(?:\s+(?:{ADVERBS})?(?:from|by|of)\s+(?:{PREMISES}|it|them|A))?"
CONSEQUENCE = (
    r"an?\s+(?:logical|semantic|valid|necessary)\s+(?:consequence|entailment|inference|argument)|"
    r"a\s+consequence"
)
TARGET = r"(?:the\s+)?conclusion"
COUNTERMODEL = r"(?:countermodels?|counterexamples?|counter-examples?|counter-models?|refutations?)"
CASE = (
    rf"(?:{COUNTERMODEL}|(?:truth\s+)?assignments?|valuations?|cases?|rows?|models?|"
    r"interpretations?)"
)
REFUTING = (
    rf"(?:\s+exists?|\s+to\s+(?:the\s+argument|it|this|{TARGET})|"
    r"\s+(?:in\s+which|where|that\s+makes?|making|such\s+that)\b(?:(?!\b(?:but|may|might|know)\b)"
    r"[^.;?\n])*)?"
)
"""What is said of a case that refutes an argument."""
YES = re.compile(
    rf"""[✅✔✓☑]?\s*(?:
      (?:yes\s+)?{SUBJECT}\s+{ADVERBS}(?:does\s+)?{ADVERBS}(?:follows?|holds?){SOURCE}
    | (?:yes\s+)?(?:{SUBJECT}\s+is|it's)\s+{ADVERBS}(?:valid|entailed|implied|{CONSEQUENCE}){SOURCE}
    | {PREMISES}\s+{ADVERBS}(?:does\s+|do\s+)?{ADVERBS}(?:entails?|impl(?:y|ies))\s+{TARGET}
    | (?:A|{PREMISES})\s*(?:⊨|\|=|\\models|\\vDash|\bentails\b)\s*(?:B|{TARGET})
    | (?:there\s+(?:is|are|exists?)\s+)?no\s+(?:such\s+)?{COUNTERMODEL}{REFUTING}
    | (?:yes\s+)?it\s+does
    | yes|yep|yeah|true|valid|entailed|entailment|entails|follows|holds|correct|y
    )(?![\w/'])(?:[\s*.!]*[✅✔✓☑])?""",
    re.IGNORECASE | re.VERBOSE,
)
NEGATION = (
    r"(?:does\s+not|doesn't|do\s+not|don't|cannot|can't|can\s+not|fails?\s+to|need\s+not|"
    r"doesnt|dont|cant)"
)
NO = re.compile(
    rf"""[❌✗✘✖🚫]?\s*(?:
      (?:no\s+)?(?:{SUBJECT}\s+)?{NEGATION}\s+{ADVERBS}(?:follow|hold){SOURCE}
    | (?:no\s+)?(?:{SUBJECT}\s+(?:is\s+not|isn't)|it's\s+not)\s+
      {ADVERBS}(?:valid|entailed|implied|{CONSEQUENCE}){SOURCE}
    | {SUBJECT}\s+(?:is\s+{ADVERBS}invalid|fails)
    | {PREMISES}\s+{NEGATION}\s+{ADVERBS}(?:entail|imply)\s+{TARGET}
    | (?:{NEGATION}\s+entail)
    | (?:A|{PREMISES})\s*(?:⊭|\|/=|\\nvDash|\\not\s*\\(?:models|vDash)|\bdoes\s+not\s+entail\b)
      \s*(?:B|{TARGET})
    | ⊭
    | there\s+(?:is|exists)\s+an?\s+{COUNTERMODEL}{REFUTING}
    | an?\s+{COUNTERMODEL}\s+(?:exists|is\b[^.;\n]*)
    | (?:no\s+)?it\s+(?:does\s+not|doesn't)
    | not\s+{ADVERBS}(?:entailed|valid|implied) | not\s+(?:necessarily|always)
    | no|nope|false|invalid|n | non-?entail(?:ment|ed)|unentailed
    )(?![\w/'])(?:[\s*.!]*[❌✗✘✖])?""",
    re.IGNORECASE | re.VERBOSE,
)
START = " ∴\t\r\n*_`\"'“„‘«「([{<$.,:#\\-–"
EDGE = " \t\r\n*_`\"'“”‘’«»「」()[]{}<>$.。!！,:;#\\∎□■✅✔✓☑😊🙂👍🎉"
"""Characters that may precede an answer, and that may follow it."""
SEPARATOR = re.compile(
    r"[\s*_`\"'”’)\]}>$\\]*(?:[.,;:!(\[–—-]+[\s*_`\"'(“$\\]*(?:(?:and|so|thus|therefore|hence|i\.e\.)\b"
    r"[,\s]*)*|(?:and|so|thus|therefore|hence)\b[,\s]*|(?=because\b|since\b|by\b))",
    re.IGNORECASE,
)
REASON = re.compile(
    r"(?:because|since|as(?!\s+(?:long|far)\b)|always|vacuously|trivially|tautology|there|the|this|that|it|its|any|every|"
    r"each|all|both|no|we|by|"
    r"in\s+(?:every|each|all|any)|whenever\s+(?:the|all)\s+(?:the\s+)?premises?|whatever|explanation|reasons?|reasoning|proof|"
    r"justification|note|premises?|conclusion|qed)\b|q\.e\.d\.",
    re.IGNORECASE,
)
"""The start of a reason on the same line."""
CASE_IN_POINT = re.compile(
    r"(?:when|if|for|with|take|consider|let|under|in|an?|one|some|setting|assigning|"
    r"countermodel|counterexample|at|given|suppose|assuming|where)\b|e\.g\."
    r"|[A-Za-z]\w*\s*(?:=|:|is\b|,|→|↦)",
    re.IGNORECASE,
)
"""More ways to start a reason for a no; a yes in one case is not a yes."""
CONTRARY = {
    True: re.compile(
        rf"{NEGATION}\s+(?:\w+\s+)?(?:follow|entail|hold|imply)|\bnot\s+(?:\w+\s+)?(?:valid|entailed)|"
        rf"\binvalid|⊭|\brefute[sd]?\b|\b(?:an?|the|one)\s+{COUNTERMODEL}|\bno\b\s*[.,!;:]|"
        r"(?:\A|[.!\n])\s*(?:but\s+)?(?:(?:that|this|it)(?:'s|\s+is)\s+(?:false|not)|not|"
        r"it\s+does\s+not|it\s+doesn't)[\s.!]*(?:\Z|\n)|"
        r"(?:\A|[.!,;\n])\s*(?:but\s+)?the\s+conclusion\s+(?:is|can\s+(?:still\s+)?be|may\s+be)\s+"
        r"false\b(?!\s+(?:only|in\s+no)\b)|\b(?:except|but\s+one|only\s+(?:when|if)|provided|isn't)\b|"
        rf"\bthere\s+(?:is|are|exists?)\s+(?:an?|one|some|several|many)\s+{CASE}|\byes\s+and\s+no\b|"
        r"\bassumption\s+that\b|\bI\s+(?:do\s+not|don't)\s+know\b|\bguess\w*\b|\bnegate\b",
        re.IGNORECASE,
    ),
    False: re.compile(
        rf"\byes\b|(?<!not )\b(?:follows|is\s+valid|holds)\b(?!\s+that)\s+from|"
        rf"\b(?:it|conclusion)\s+{ADVERBS}follows\b(?!\s+that)|\bargument\s+is\s+valid\b|"
        rf"\bno\s+(?:such\s+)?{CASE}\b|\b(?:assignment|case|countermodel)\s+(?:does\s+not|doesn't)\s+exist|"
        r"\bpremises?\s+(?:entails?|impl(?:y|ies)|guarantees?)\b|\b(?:entailment|argument)\s+(?:holds|is\s+"
        r"correct)\b|\b(?:so|hence|thus|therefore)\b[,\s]+(?:it(?:'s|\s+is)\s+)?(?:an?\s+)?valid\b|"
        r"\bin\s+every\s+case\s+(?:where|in\s+which)\s+the\s+premises?\s+(?:is|are)\s+true,?\s+the\s+"
        r"conclusion\s+is\s+(?:also\s+)?true|\bI\s+(?:do\s+not|don't)\s+know\b|\bguess\w*\b|\bnegate\b",
        re.IGNORECASE,
    ),
}
"""Statements that take back an earlier yes, or an earlier no."""
WEAK = re.compile(r"\b(?:true|false|holds?|fails?|correct|[yn])\b", re.IGNORECASE)
"""Words that decide only if they are the whole reply or marked as its answer; elsewhere they may be
about a single case."""
ONE_CASE = re.compile(
    r"\b(?:case|row|step)\s*#?\d|\A\W*\d+[.)]\s|\b(?:suppose|consider|assume|assuming)\b",
    re.IGNORECASE,
)
"""A line about a single case."""
LABELLED = re.compile(
    r"\A\W*(?:(?:is\s+)?(?:valid(?:ity)?|entail(?:s|ed|ment)?|follows))\W*[:=]\W*"
    r"(?:(yes|true)|no|false)\W*\Z",
    re.IGNORECASE,
)
LABELLED_INVALID = re.compile(r"\A\W*(?:in|not\s+)valid\W*[:=]", re.IGNORECASE)
DIRECT_QUESTION = re.compile(
    r"\b(?:follows?|entail(?:s|ed|ment)?|valid)\b|\bwhat\b.*\b(?:answer|verdict|conclude)\b",
    re.IGNORECASE,
)
OTHER_QUESTION = re.compile(
    rf"\b(?:not|invalid|fails?|false|{CASE}|possible|way)\b|n't\b", re.IGNORECASE
)
"""Questions whose yes is a yes of the reply, unless they also contain one of the other words."""
OTHER_ANSWER = re.compile(
    r"^\W*\w[\w '’]{0,24}?[\s:,>=→-]+(?:(yes)|no)[\s.!*_]*$", re.IGNORECASE | re.MULTILINE
)
"""A line that ends in yes or no, after a few words."""
NO_COUNTERMODEL = re.compile(rf"\b(?:no|without(?:\s+an?y?)?)\s+(?:such\s+)?{CASE}", re.IGNORECASE)
OFFER = re.compile(r"(?:\A|(?<=[.!\n]))[^.!?\n]*\?\s*\Z")
"""A closing question, such as whether to explain more."""
VERDICT = re.compile(
    r"\A\W*(?:(?:final|verdict|result|decision|conclusion)\b[^:\n]{0,20}:|"
    r"(?:(?:so|my|the|final)\s+)*(?:verdict|decision)\s+is\b)",
    re.IGNORECASE,
)
OPENING = re.compile(
    r"\A([^\n]+)\n\W*((?:explanation|reason(?:s|ing)?|proof|justification|because|here's\s+why|"
    r"this\s+is\s+because)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
"""A first line that decides, followed only by reasons."""


def read_statement(text: str) -> tuple[bool | None, str]:
    """Read the decision that a text starts with, and return the rest; None if there is none.

    >>> read_statement("No, it does not follow: take p = true.")
    (False, 'take p = true.')
    """
    place = len(text) - len(text.lstrip(START))
    decision: bool | None = None
    while True:
        yes, no = YES.match(text, place), NO.match(text, place)
        match = max((m for m in (yes, no) if m), key=lambda m: m.end(), default=None)
        if match is None:
            return (decision, text[place:]) if decision is not None else (None, "")
        if decision not in (None, match is yes):
            return None, ""
        decision, place = match is yes, match.end()
        if not text[place:].strip(EDGE):
            return decision, ""
        separator = SEPARATOR.match(text, place)
        if not separator:
            return None, ""
        place = separator.end()


def read_decision(text: str, after: str = "") -> bool | None:
    """Read a yes or a no; None if a text says neither, says both, hedges, or takes it back."""
    text = text.replace("*", "").replace("_", "")
    if (word := text.lstrip(START).rstrip(EDGE).lower()) in ("yes", "no"):
        decision, rest = word == "yes", ""
    elif labelled := LABELLED.match(text):
        decision, rest = bool(labelled[1]), ""
    elif LABELLED_INVALID.match(text):
        return None
    else:
        statement, rest = read_statement(plain(text))
        if statement is None or (rest and not is_reason(rest, statement)):
            return None
        decision = statement
    if after:
        rest = f"{rest}\n{OFFER.sub('', plain(after))}"
    return decision if not rest or stands(decision, rest) else None


def is_reason(text: str, decision: bool) -> bool:
    """Whether a text on the same line is a reason for a decision."""
    return bool(REASON.match(text) or (not decision and CASE_IN_POINT.match(text)))


def stands(decision: bool, rest: str) -> bool:
    """Whether the text after a decision does not contradict it."""
    if RETRACTION.search(rest):
        return False
    contrary = NO_COUNTERMODEL.sub(" ", rest) if decision else rest
    if CONTRARY[decision].search(contrary):
        return False
    for line in rest.splitlines():
        said = read_statement(VERDICT.sub("", line))[0]
        if said is not None and said is not decision:
            return False
    return all(bool(other[1]) is decision for other in OTHER_ANSWER.finditer(rest))


def answers_other_question(question: str) -> bool:
    """Whether a yes after this question need not be a yes to the question of the item.

    >>> answers_other_question("Does it follow?"), answers_other_question("Is it invalid?")
    (False, True)
    """
    if not question:
        return False
    return not DIRECT_QUESTION.search(question) or bool(OTHER_QUESTION.search(question))


def read_end(reply: str) -> bool | None:
    """Read the decision in the last line of a reply, or in the last sentence of that line."""
    lines = [line for line in reply.splitlines() if line.strip(" `*_\t")]
    last = lines[-1][-1000:] if lines else ""
    if ONE_CASE.search(last) or (lines[1:] and DENIED_BEFORE.search(lines[-2].rstrip(" *_"))):
        return None
    bold = bold_at_end(reply)
    for text in (*([bold] if bold else []), *endings(last)):
        is_whole = len(lines) == 1 and text == last
        if WEAK.search(text) and not is_whole:
            continue
        if answers_other_question(question_before(reply, reply.rfind(text))):
            continue
        if (decision := read_decision(text)) is not None:
            return decision
    return None


def read_opening(reply: str) -> bool | None:
    """Read the decision in the first line of a reply, if only an explanation follows."""
    opening = OPENING.match(plain(reply))
    return read_decision(opening[1], opening[2]) if opening else None


def endings(line: str) -> Iterator[str]:
    """Yield a line, its last sentence, and the conclusion of each.

    >>> list(endings("All are true, so it follows."))
    ['All are true, so it follows.', ' it follows.']
    """
    for text in sentences(line):
        for start in starts(text):
            if not start or (LEADS.search(text[:start]) and states(text[:start])):
                yield text[start:]


LEADS = re.compile(
    r"\A\W*(?:since|because|as|given)\b|\b(?:so|thus|therefore|hence|consequently)\b[,:\s]*\Z|"
    r"\b(?:conclusion|verdict|result|decision|answer)\b[\s*_]*[:,][\s*_]*\Z",
    re.IGNORECASE,
)
"""Words that introduce a decision that is not marked as the answer."""


def sentences(line: str) -> Iterator[str]:
    """Yield a line, and its last sentence."""
    yield line
    ends = [end.end() for end in SENTENCE_END.finditer(line) if end.end() < len(line)]
    if ends:
        yield line[ends[-1] :]


def starts(text: str) -> Iterator[int]:
    """Yield where a decision may start: at the beginning, or after a word that introduces it."""
    yield 0
    for end in list(CLAUSE_END.finditer(text))[-8:]:
        yield end.end()
    if (colon := text.rfind(":")) > 0:
        yield colon + 1
