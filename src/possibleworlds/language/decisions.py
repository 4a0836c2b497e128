r"""Read a yes or a no: "Yes", "No, it does not follow", "The argument is valid", "A ⊭ B".

Only sentences of this small grammar, possibly followed by reasons, count as a decision, since
single words cannot tell "it follows" from "few think that it follows".
"""

import re
from collections.abc import Iterator

from possibleworlds.language.marks import CLAUSE_END, LEAD_WORDS, RETRACTION, SENTENCE_END
from possibleworlds.language.phrases import (
    ALL_CASES,
    ANSWERED_NO,
    BARE,
    CASE_IN_POINT,
    CERTAINLY,
    CONDITION,
    CONTRARY,
    COUNTEREXAMPLE,
    DIRECT_QUESTION,
    EDGE,
    FOLLOWS,
    GIVES_VALUES,
    HEADING_LINE,
    HEDGE,
    IF_IT_WERE,
    LABELLED,
    LABELLED_INVALID,
    MAX_LINES,
    MAX_QUESTION,
    NO,
    NO_COUNTERMODEL,
    NOT_FOLLOWS,
    NUMBERED,
    OF_CONVERSE,
    OF_COUNTERMODEL,
    OFFER,
    ONE_CASE,
    OPENING,
    OTHER_ANSWER,
    PREMISE_LINE,
    REASON,
    REASON_BEFORE,
    SENTENCES,
    SEPARATOR,
    START,
    SUPPOSED,
    SUPPOSES,
    VERDICT,
    WEAK,
    YES,
)
from possibleworlds.language.replies import (
    MAX_LEAD,
    bold_at_end,
    denied_before,
    plain,
    question_before,
    states,
    without,
)


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
        statement, rest = read_statement(said := plain(text))
        if statement is None:
            return None
        ends = rest and said[: len(said) - len(rest)].rstrip(" *_`\"'”$")[-1:] in (*".;!(–—",)
        if rest and not (is_reason(rest, statement) or (ends and is_remark(rest))):
            return None
        decision = statement
    if after:
        rest = f"{rest}\n{OFFER.sub('', plain(after))}"
    return decision if not rest or stands(decision, rest) else None


def is_reason(text: str, decision: bool) -> bool:
    """Whether a text on the same line is a reason for a decision."""
    if HEDGE.search(text.partition("\n")[0]):
        return False
    if REASON.match(text) or (not decision and CASE_IN_POINT.match(text)):
        return True
    if certain := CERTAINLY.match(text):
        return not (decision and certain[1])
    return bool((FOLLOWS if decision else NOT_FOLLOWS).match(text))


def is_remark(text: str) -> bool:
    """Whether a sentence after an answer supposes nothing: its answer holds without condition."""
    first = IF_IT_WERE.sub(" ", text.partition("\n")[0])
    return len(first.split()) > 3 and not (HEDGE.search(first) or CONDITION.search(first))


def stands(decision: bool, rest: str) -> bool:
    """Whether the text after a decision does not contradict it."""
    if RETRACTION.search(rest):
        return False
    if decision:
        rest = without_own_questions(rest)
    contrary = without_denials(without(OF_CONVERSE, rest)) if decision else rest
    if (not decision) in verdicts(rest) or CONTRARY[decision].search(contrary):
        return False
    return all(bool(other[1]) is decision for other in OTHER_ANSWER.finditer(rest))


def without_own_questions(text: str) -> str:
    """Remove the questions for a countermodel that a text answers by no.

    >>> without_own_questions("So p. Is there a countermodel? No. Does it follow? No.")
    'So p. . Does it follow? No.'
    """
    kept: list[str] = []
    for sentence in SENTENCES.findall(text):
        question = kept[-1][-MAX_QUESTION:].strip("*_\"') \t\n") if kept else ""
        is_asked = question.endswith("?") and OF_COUNTERMODEL.match(question)
        if is_asked and ANSWERED_NO.match(sentence):
            kept.pop()
            sentence = ANSWERED_NO.sub("", sentence, count=1)
        kept.append(sentence)
    return "".join(kept)


def without_denials(text: str) -> str:
    """Remove what a text says of countermodels to deny that there is one.

    >>> without_denials("There is no countermodel: a countermodel would need q.")
    'There is  : a   need q.'
    """
    return SUPPOSED.sub(" ", NO_COUNTERMODEL.sub(" ", without_own_questions(text)))


def verdicts(text: str, lines: bool = True) -> Iterator[bool]:
    """Yield what the lines of a text decide, and the sentences and clauses that are not weak."""
    for line in text.splitlines()[:MAX_LINES]:
        said = read_statement(VERDICT.sub("", line))[0] if lines else None
        if said is not None:
            yield said
        for sentence in SENTENCE_END.split(line):
            for start in starts(sentence):
                said, rest = read_statement(sentence[start:])
                if said is None or WEAK.search(sentence[start : len(sentence) - len(rest)]):
                    continue
                if not (said and is_one_case(sentence)):
                    yield said


def is_one_case(text: str) -> bool:
    """Whether a text supposes something, or is about a single case.

    >>> is_one_case("In this row, both are true"), is_one_case("In each row, both are true")
    (True, False)
    """
    text = ALL_CASES.sub(" ", text)
    return any(words.search(text) for words in (ONE_CASE, SUPPOSES, GIVES_VALUES))


def contradicts(decision: bool, said: str) -> bool:
    """Whether these words before a decision state the opposite: "Since it follows, no".

    >>> contradicts(False, "Since it follows, "), contradicts(False, "As q follows, ")
    (True, False)
    """
    return (not decision) in verdicts(REASON_BEFORE.sub("", said, count=1))


def fits(decision: bool, said: str) -> bool:
    """Whether a decision may follow on these words, which do not contradict it."""
    if contradicts(decision, said):
        return False
    if not decision:
        return not NO_COUNTERMODEL.search(said)
    if REASON_BEFORE.match(said):
        one_case = bool(ONE_CASE.search(ALL_CASES.sub(" ", said)))
    else:
        one_case = is_one_case(said)
    return not (one_case or COUNTEREXAMPLE.search(without_denials(said)))


def answers_other_question(question: str) -> bool:
    """Whether a yes after this question need not be a yes to the question of the item.

    >>> answers_other_question("Does it follow?"), answers_other_question("Is it invalid?")
    (False, True)
    """
    return bool(question) and not DIRECT_QUESTION.match(question)


def read_end(reply: str) -> bool | None:
    """Read the decision in the last line of a reply, or in the last sentence of that line."""
    lines = [line for line in reply.splitlines() if line.strip(" `*_\t")]
    last = lines[-1][-1000:] if lines else ""
    paragraph = last_paragraph(reply)
    if NUMBERED.match(last) or PREMISE_LINE.search(paragraph):
        return None
    if denied_before("\n".join(lines[-20:-1])) or is_other_heading(heading(reply)):
        return None
    bold = bold_at_end(reply)
    for text in (*([bold] if bold else []), *endings(last)):
        is_whole = len(lines) == 1 and text == last
        if WEAK.search(text) and not is_whole:
            continue
        if answers_other_question(question_before(reply, reply.rfind(text))):
            continue
        if (decision := read_decision(text)) is not None:
            said = paragraph if decision else last[: last.rfind(text)]
            supposed = not decision and SUPPOSES.search(list(sentences(said))[-1])
            return decision if not supposed and fits(decision, said) else None
    return None


def heading(reply: str) -> str:
    """Return the heading above a bare yes, no or none in the last line; empty if there is none.

    >>> heading("All rows are fine.\\n\\n### Exceptions\\n\\nNone."), heading("I see.\\nNo.")
    ('### Exceptions', '')
    """
    *before, last = [line for line in reply.splitlines() if any(map(str.isalnum, line))] or [""]
    return before[-1] if before and BARE.match(last) and HEADING_LINE.match(before[-1]) else ""


def is_other_heading(text: str) -> bool:
    """Whether a yes or a no below this heading need not answer the question of the item."""
    text = text.rstrip("*_: ")
    introduces = any(words.match(f"{text}:") for words in (LEAD_WORDS, VERDICT))
    return bool(text) and not introduces and answers_other_question(text)


def last_paragraph(reply: str) -> str:
    """Return the last paragraph of a reply, with the heading before it.

    >>> last_paragraph("Look.\\n\\n**Case 1:**\\n\\nSo p.\\nSo q.")
    '**Case 1:**\\nSo p.\\nSo q.'
    """
    *before, paragraph = re.split(r"\n\s*\n", reply.strip()[-MAX_LEAD:])
    heading = before[-1].rpartition("\n")[2].strip() if before else ""
    is_heading = heading.startswith("#") or heading.endswith(("**", ":", "__"))
    return f"{heading}\n{paragraph}" if is_heading else paragraph


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
            lead = text[:start]
            if not lead or (start <= MAX_LEAD and LEADS.search(lead) and states(lead)):
                yield text[start:]


LEADS = re.compile(
    r"\A\W*(?:since|because|as|given)\b|\b(?:so|thus|therefore|hence|consequently)\b[,:\s]*\Z|"
    r"\b(?:conclusion|verdict|result|decision|answer|summary)\b[\s*_]*[:,][\s*_]*\Z|"
    r"\b(?:conclude(?:\s+that)?|this\s+(?:shows|means|proves)(?:\s+that)?)\s+\Z",
    re.IGNORECASE,
)
"""Words that introduce a decision that is not marked as the answer."""
INTRODUCES = re.compile(
    r"[^;]*?\b(?:in\s+(?:conclusion|summary)\b[,:]?|(?:we|i)\s+(?:can\s+)?conclude(?:\s+that)?\b|"
    r"this\s+(?:shows|means|proves)(?:\s+that)?\b)\s+",
    re.IGNORECASE,
)


def sentences(line: str) -> Iterator[str]:
    """Yield a line, and its last sentence."""
    yield line
    ends = [end.end() for end in SENTENCE_END.finditer(line) if end.end() < len(line)]
    if ends:
        yield line[ends[-1] :]


def starts(text: str) -> Iterator[int]:
    """Yield where a decision may start: at the beginning, or after a word that introduces it."""
    yield 0
    if lead := INTRODUCES.match(text[:MAX_LEAD]):
        yield lead.end()
    for end in list(CLAUSE_END.finditer(text))[-8:]:
        yield end.end()
    if (colon := text.rfind(":")) > 0:
        yield colon + 1
