r"""Read a yes or a no: "Yes", "No, it does not follow", "The argument is valid", "A ⊭ B".

Only sentences of this small grammar, possibly followed by reasons, count as a decision, since
single words cannot tell "it follows" from "few think that it follows".
"""

import re
from collections.abc import Iterator

from possibleworlds.language.replies import (
    CLAUSE_END,
    MAX_LEAD,
    RETRACTION,
    SENTENCE_END,
    bold_at_end,
    denied_before,
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
PREMISES_TRUE = (
    r"(?:(?:all|both|each)\s+)?(?:of\s+)?(?:the\s+)?premises?\s*[:=]?\s*(?:(?:is|are|be|can|both|all|come\w*|"
    r"out|evaluates?|to)\s+)*(?:true|T|hold|holds)"
)
CONCLUSION_FALSE = (
    r"(?:the\s+)?conclusion\s*[:=]?\s*(?:(?:is|be|can|comes?|out|evaluates?|to)\s+)*"
    r"(?:false|F|fails|untrue|not(?:\s+true)?|does\s+not(?:\s+hold)?|doesn't(?:\s+hold)?)"
)
JOINED_TO = r"(?:,?\s+(?:and|but|while|whereas|yet|with)\s+(?:still\s+|yet\s+)?|[,;]\s+)"
REFUTED = (
    rf"(?:{PREMISES_TRUE}{JOINED_TO}{CONCLUSION_FALSE}|"
    rf"{CONCLUSION_FALSE}{JOINED_TO}{PREMISES_TRUE})(?!\w)"
)
"""The premises are true and the conclusion is false."""
THAT_REFUTES = (
    rf"\s+(?:in\s+which|for\s+which|where|that\s+makes?|making|such\s+that|with)\s+{REFUTED}"
)
REFUTING = rf"(?:\s+exists?|\s+to\s+(?:the\s+argument|it|this|{TARGET})|{THAT_REFUTES})?"
"""What is said of a case that does not exist."""
DETAILS = (
    rf"(?:\s+exists?|\s+to\s+(?:the\s+argument|it|this|{TARGET})|"
    r"\s+(?:in\s+which|where|that\s+makes?|making|such\s+that)\b(?:(?!\b(?:but|may|might|know)\b)"
    r"[^.;?\n])*)?"
)
"""What is said of an existing countermodel."""
YES = re.compile(
    rf"""[✅✔✓☑]?\s*(?:
      (?:yes\s+)?{SUBJECT}\s+{ADVERBS}(?:does\s+)?{ADVERBS}(?:follows?|holds?){SOURCE}
    | (?:yes\s+)?(?:{SUBJECT}\s+is|it's)\s+{ADVERBS}(?:valid|entailed|implied|{CONSEQUENCE}){SOURCE}
    | {PREMISES}\s+{ADVERBS}(?:does\s+|do\s+)?{ADVERBS}(?:entails?|impl(?:y|ies))\s+{TARGET}
    | (?:A|P|{PREMISES})\s*(?:⊨|\|=|\\models|\\vDash|\bentails\b)\s*(?:B|C|{TARGET})
    | (?:there\s+(?:is|are|exists?)\s+)?no\s+
      (?:(?:such\s+)?{COUNTERMODEL}{REFUTING}|{CASE}{THAT_REFUTES})
    | (?:yes\s+)?it\s+does
    | yes|yep|yeah|true|valid|entailed|entailment|entails|follows|holds|correct|y
    )(?!\w|/|'\w)(?:[\s*.!]*[✅✔✓☑])?""",
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
    | (?:A|P|{PREMISES})\s*(?:⊭|\|/=|\\nvDash|\\not\s*\\(?:models|vDash)|\bdoes\s+not\s+entail\b)
      \s*(?:B|C|{TARGET})
    | ⊭
    | there\s+(?:is|exists)\s+an?\s+{COUNTERMODEL}{DETAILS}
    | an?\s+{COUNTERMODEL}\s+(?:exists|is\b[^.;\n]*)
    | (?:no\s+)?it\s+(?:does\s+not|doesn't)
    | not\s+{ADVERBS}(?:entailed|valid|implied) | not\s+(?:necessarily|always)
    | no|nope|false|invalid|n | non-?entail(?:ment|ed)|unentailed
    )(?!\w|/|'\w)(?:[\s*.!]*[❌✗✘✖])?""",
    re.IGNORECASE | re.VERBOSE,
)
START = " ∴\t\r\n*_`\"'“„‘«「([{<>$.,:#\\-–"
EDGE = " \t\r\n*_`\"'“”‘’«»「」()[]{}<>$.。!！,:;#\\∎□■✅✔✓☑😊🙂👍🎉🎯💯🚫…"
"""Characters that may precede an answer, and that may follow it."""
SEPARATOR = re.compile(
    r"[\s*_`\"'”’)\]}>$\\]*(?:[.,;:!(\[–—-]+[\s*_`\"'(“$\\]*(?:(?:and|so|thus|therefore|hence|i\.e\.)\b"
    r"[,\s]*)*|(?:and|so|thus|therefore|hence)\b[,\s]*|(?=because\b|since\b|by\b))",
    re.IGNORECASE,
)
RULE = (
    r"(?:(?:hypothetical|disjunctive)\s+syllogism|modus\s+(?:ponens|tollens)|contraposition|"
    r"contrapositive|transitivity|simplification|resolution|de\s+morgan|absorption|addition|"
    r"[∧∨→¬]\s?-?(?:elim\w*|intro\w*|E|I)|"
    r"(?:(?:con|dis)junction|implication|conditional)[\s-]+(?:elimination|introduction))\b"
)
"""A rule of inference."""
REASON = re.compile(
    rf"{RULE}|i\s+hope\b|"
    r"(?:because|since|as(?!\s+(?:long|far)\b)|always|vacuously|trivially|tautology|there|the|this|that|it|its|any|every|"
    r"each|all|both|no|we|by|"
    r"in\s+(?:every|each|all|any)|whenever\s+(?:the|all)\s+(?:the\s+)?premises?|whatever|explanation|reasons?|reasoning|proof|"
    r"justification|note|premises?|conclusion|valid|entail(?:ment|ed)|qed)\b|q\.e\.d\.",
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
        rf"{NEGATION}\s+(?:\w+\s+)?(?:follow|entail|hold|imply|guarantee)|"
        rf"\b(?:not|n't)\s+(?:\w+\s+){{0,2}}(?:valid|entailed|implied|consequence)|"
        r"\b(?:cannot|can't|can\s+not)\s+(?:be\s+)?(?:infer|conclu|deriv|deduc)|\bconclusion\s+(?:is\s+not|isn't|(?:need|may|might|"
        rf"must)\s+not)\s+(?:(?:be|necessarily|always)\s+)*(?:true|guaranteed)|\banswer\s+no\b|"
        rf"\b(?:argument|inference|entailment)\s+fails|\binvalid|⊭|\brefute[sd]?\b|\b{COUNTERMODEL}\b|{REFUTED}|\bno\b\s*[.,!;:]|"
        r"(?:\A|[.!\n])\s*(?:but\s+)?(?:(?:that|this|it)(?:'s|\s+is)\s+(?:false|not)|not|"
        r"it\s+does\s+not|it\s+doesn't)[\s.!]*(?:\Z|\n)|"
        r"(?:\A|[.!,;\n])\s*(?:but\s+)?the\s+conclusion\s+(?:is|(?:can|may|might|could)\s+(?:still\s+)?be)\s+"
        r"false\b(?!\s+(?:only|in\s+no)\b)|\b(?:except|but\s+one|provided|isn't|apart\s+from|"
        r"bar(?:ring|\s+(?:one|the))|other\s+than|excluding|save\s+(?:for|one))\b|\bbut\s+\w+\s*=|"
        r"(?:\A\W*|\b(?:follows?|holds?|valid|entailed|yes|answer|this|that|it|is)\W+)only\s+(?:when|if)\b|"
        rf"\bthere\s+(?:is|are|exists?)\s+(?:an?|one|some|several|many)\s+{CASE}|\byes\s+and\s+no\b|"
        r"\bassumption\s+that\b|\bfallac|\bunsound|\bfalsif|\bdisprove|\bexception|\bviolat|\btrue\s+premises?\s+(?:and|with|but)\s+an?\s+false\s+conclusion|\b(?:claim|statement)\s+is\s+false|\bunless\b|\bI\s+(?:do\s+not|don't)\s+know\b|\bguess\w*\b|\bnegate\b",
        re.IGNORECASE,
    ),
    False: re.compile(
        r"\b(?:it|this|argument|conclusion|inference|entailment)\s+is\s+(?:\w+ly\s+)?"
        r"(?:valid|entailed|implied)\b(?!\s+(?:if|only|when|iff|just|in)\b)|"
        rf"\byes\b|(?<!not )\b(?:follows|is\s+valid|holds)\b(?!\s+that)\s+from|"
        rf"\b(?:it|conclusion)\s+{ADVERBS}follows\b(?!\s+that)|\bargument\s+is\s+valid\b|"
        rf"\bno\s+(?:such\s+)?{CASE}\b|\b(?:assignment|case|countermodel)\s+(?:does\s+not|doesn't)\s+exist|"
        r"\bpremises?\s+(?:do(?:es)?\s+)?(?:entails?|impl(?:y|ies)|guarantees?)\b|\b(?:entailment|argument)\s+(?:holds|is\s+"
        r"correct)\b|\b(?:so|hence|thus|therefore)\b[,\s]+(?:it(?:'s|\s+is)\s+)?(?:an?\s+)?valid\b|"
        r"\bin\s+every\s+case\s+(?:where|in\s+which)\s+the\s+premises?\s+(?:is|are)\s+true,?\s+the\s+"
        r"conclusion\s+is\s+(?:also\s+)?true|\bconclusion\s+(?:is|holds)\s+(?:(?:also|always)\s+)*"
        r"(?:true\s+)?(?:when(?:ever)?|if|in\s+(?:every|all|each))\s+(?:(?:all|the)\s+)*(?:premises?\s+"
        r"(?:is|are|holds?)|cases?|rows?)\b|\b(?:every|each|all|any)\s+(?:cases?|rows?)\s+with\s+"
        r"(?:an?\s+)?true\s+premises?|\b(?:so|hence|thus|therefore)[,\s]+the\s+conclusion\s+must\s+be\s+"
        r"true|\bI\s+(?:do\s+not|don't)\s+know\b|\bguess\w*\b|\bnegate\b|\bconclusion\s+(?:cannot|can't)\s+be\s+false|"
        r"\bconclusion\s+(?:must\s+be|is\s+(?:always|necessarily))\s+true|\b(?:conclusion\s+is|it's|it\s+is)\s+a\s+tautology|"
        r"\bwhenever\s+the\s+premises?\s+(?:is|are)\s+true,?\s+so\s+is\s+the\s+conclusion|\b(?:isn't|(?:not|n't)\s+find)\s+an?y?\s+counter",
        re.IGNORECASE,
    ),
}
"""Statements that take back an earlier yes, or an earlier no."""
WEAK = re.compile(r"\b(?:true|false|holds?|fails?|correct|[yn])\b", re.IGNORECASE)
"""Words that decide only if they are the whole reply or marked as its answer; elsewhere they may be
about a single case."""
ALL_CASES = re.compile(
    rf"\b(?:every|each|any|all|no)\s+(?:of\s+)?(?:(?:the|these|such|single|possible|other)\s+)*{CASE}|"
    rf"\b(?:if|when(?:ever)?|suppose|assume)\s+(?:that\s+)?(?:all\s+)?{PREMISES}\s+(?:is|are|holds?)\b",
    re.IGNORECASE,
)
"""What is about all cases, or about all in which the premises are true."""
ONE_CASE = re.compile(
    r"\b(?:case|row|step|assignment|valuation|interpretation|scenario|here)\b|"
    rf"\b(?:some|most|many|several|these|those)\s+(?:of\s+the\s+)?(?:values|{CASE})\b",
    re.IGNORECASE,
)
"""A single case, unless it stands for all, or some cases."""
SUPPOSES = re.compile(r"\b(?:suppos\w+|assum\w+|if|when(?:ever)?|so\s+far)\b", re.IGNORECASE)
GIVES_VALUES = re.compile(
    r"\b(?:consider|take|let(?!\s+(?:me|us)|'s)|setting)\b|(?:=|\bwith\s+\w+)\s*(?:true|false|[tf01])\b",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"\A\W*\d+[.)]\s")
PREMISE_LINE = re.compile(r"^\W*premises?\W*:", re.IGNORECASE | re.MULTILINE)
LABELLED = re.compile(
    r"\A\W*(?:(?:is\s+)?(?:valid(?:ity)?|entail(?:s|ed|ment)?|follows))\W*[:=]\W*"
    r"(?:(yes|true)|no|false)\W*\Z",
    re.IGNORECASE,
)
LABELLED_INVALID = re.compile(r"\A\W*(?:in|not\s+)valid\W*[:=]", re.IGNORECASE)
DIRECT_QUESTION = re.compile(
    rf"""\W*(?:(?:so|now|then|thus|finally|question|q|step\s+\d+)\b[\s:,.*_]*)*(?:
      (?:does|do)\s+{SUBJECT}\s+{ADVERBS}(?:follow|hold){SOURCE}
    | is\s+{SUBJECT}\s+{ADVERBS}(?:valid|entailed|implied|{CONSEQUENCE}){SOURCE}
    | (?:does|do)\s+{PREMISES}\s+{ADVERBS}(?:entail|imply)\s+{TARGET}
    | (?:is\s+it\s+)?(?:valid|entailed|follows)
    | what\s+is\s+(?:the|my|our|your)\s+(?:final\s+)?(?:answer|verdict)
    | what\s+(?:do|can|should)\s+we\s+conclude
    )[\s?*_"')]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""A question whose yes is a yes of the reply."""
OTHER_ANSWER = re.compile(
    r"^[^\w\n]*\w[\w '’]{0,24}?[\s:,>=→*_-]+(?:(yes)|no)[\s.!*_]*$", re.IGNORECASE | re.MULTILINE
)
"""A line that ends in yes or no, after a few words."""
NO_COUNTERMODEL = re.compile(
    rf"\b(?:no|without(?:\s+an?y?)?)\s+(?:such\s+)?{CASE}(?:[^.;\n]{{0,80}}?{REFUTED})?|"
    rf"\b{COUNTERMODEL}\s*:\W*none\b|"
    rf"\b(?:cannot|can't|never|impossible|would|needs?|requires?)\b[^.;\n]{{0,80}}?{REFUTED}",
    re.IGNORECASE,
)
"""Denials that a countermodel exists, and what it would be like."""
COUNTEREXAMPLE = re.compile(rf"\b{COUNTERMODEL}\b|{REFUTED}", re.IGNORECASE)
REASON_BEFORE = re.compile(r"\W*(?:since|because|as|given\s+that)\b", re.IGNORECASE)
HEDGE = re.compile(
    r"(?<!at )\bmost(?:ly)?\b|\b(?:majority|usually|sometimes|often|luck|partly|partially)\b",
    re.IGNORECASE,
)
MAX_LINES = 100
"""How many lines after an answer may contradict it."""
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


FOLLOWS = re.compile(
    r"[^,.;\n]{1,60}?\s(?:(?:directly|immediately|clearly|always)\s+)*"
    r"(?:follows?|entails?|implies|is\s+(?:one\s+of|an?\s+(?:conjunct|consequence)))\b",
    re.IGNORECASE,
)
NOT_FOLLOWS = re.compile(
    rf"[^,.;\n]{{1,60}}?\s(?:{NEGATION}|may|might|could|can)\s+(?:\w+\s+)?"
    r"(?:follow|entail|imply|be\s+(?:true|false))\b",
    re.IGNORECASE,
)
"""A reason that names formulas: "q follows from p ∧ q", "q does not follow"."""
CONDITION = re.compile(
    r"\b(?:if|when|assum\w+|suppos\w+|given|provided|as\s+long\s+as|except|unless|in\s+(?:case|row|some)|"
    r"draft|tentativ\w*|pending|yet|but|though|although|caveats?|he|she|they|row)\b|[a-z]\w*\s*=|\?",
    re.IGNORECASE,
)
IF_IT_WERE = re.compile(r"\bif\s+[^,.;\n]{1,40}?\s(?:were|was)\b", re.IGNORECASE)
"""What makes an answer conditional, and what does not."""
CONVERSE = re.compile(
    r"[^.!?\n]*\b(?:converse|reverse\s+(?:direction|implication)|other\s+direction)\b[^.!?\n]*",
    re.IGNORECASE,
)
"""A sentence about the other direction."""


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
    return bool((FOLLOWS if decision else NOT_FOLLOWS).match(text))


def is_remark(text: str) -> bool:
    """Whether a sentence after an answer supposes nothing: its answer holds without condition."""
    first = IF_IT_WERE.sub(" ", text.partition("\n")[0])
    return len(first.split()) > 3 and not (HEDGE.search(first) or CONDITION.search(first))


def stands(decision: bool, rest: str) -> bool:
    """Whether the text after a decision does not contradict it."""
    if RETRACTION.search(rest) or (not decision) in verdicts(rest):
        return False
    contrary = NO_COUNTERMODEL.sub(" ", CONVERSE.sub(" ", rest)) if decision else rest
    if CONTRARY[decision].search(contrary):
        return False
    return all(bool(other[1]) is decision for other in OTHER_ANSWER.finditer(rest))


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


def fits(decision: bool, said: str) -> bool:
    """Whether a decision may follow on these words, which do not contradict it."""
    if not decision:
        return not NO_COUNTERMODEL.search(said)
    if REASON_BEFORE.match(said):
        one_case = bool(ONE_CASE.search(ALL_CASES.sub(" ", said)))
    else:
        one_case = is_one_case(said)
    return not (one_case or COUNTEREXAMPLE.search(NO_COUNTERMODEL.sub(" ", said)))


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
    if denied_before("\n".join(lines[-20:-1])):
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
