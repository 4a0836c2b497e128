r"""Score a reply: find the answer in free text, then check it exactly.

A reply is *right*, *wrong* or *unreadable*. A reply that contradicts itself, hedges, takes its
answer back or gives none is unreadable rather than right by luck: only a reply that states the
right answer scores. The answer is the first of these that the reply contains:

1. the last of `Answer: …`, `\boxed{…}`, `<answer>…</answer>` and JSON with the key "answer";
2. the last text in **bold**, if only punctuation follows it;
3. the last line, or its last sentence.

An assignment is checked by evaluating the formulas in it, a conclusion by deciding the entailment.

>>> from possibleworlds.language import tasks
>>> item = tasks("decide", seed=0)[0]
>>> score(f"Let me see. Answer: {'yes' if item.label else 'no'}", item).verdict
'right'
>>> score("It may or may not follow.", item).verdict
'unreadable'
"""

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from possibleworlds.errors import UserError, quoted
from possibleworlds.language.assignments import DENIAL, gives_another, read_assignment, says_none
from possibleworlds.language.decisions import (
    answers_other_question,
    contradicts,
    fits,
    heading,
    is_other_heading,
    last_paragraph,
    read_decision,
    read_end,
    read_opening,
    verdicts,
)
from possibleworlds.language.item import Item, Kind
from possibleworlds.language.marks import LEAD_WORDS, RETRACTION
from possibleworlds.language.phrases import CASE, RULE
from possibleworlds.language.problems import TAUTOLOGY, why_no_conclusion
from possibleworlds.language.replies import (
    Answer,
    bold_at_end,
    ends_answer,
    marked_answer,
    plain,
    spoken,
    stated_before,
)
from possibleworlds.logic.alphabet import AND, IFF, IMPLIES, OR
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula, conjunction
from possibleworlds.logic.syntax import CONVERSE, MEANING, TOKEN

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
    score_kind = SCORERS[item.kind]
    reply = spoken(reply, item.prompt)
    result = score_kind(reply, item)
    before = stated_before(reply) if result.verdict != "unreadable" else ""
    if before and score_kind(before, item).verdict != result.verdict:
        return Score("unreadable", "", "two answers")
    return result


NOT_SO = re.compile(
    r"\b(?:not|cannot|n't|fails?|wrong\w*|incorrect\w*|invalid|would|could|might|suppos\w+|assum\w+|"
    r"test|try|check|candidate|format|premises?\s+(?:is|are)\W*$|row|mistake)\b|n't\b|\?\s*$",
    re.IGNORECASE,
)
"""Words on the line before an unmarked answer by which it need not be one."""


OF_CASE = re.compile(rf"[\W\d]*(?:(?:such|refuting|the|an?)\s+)*{CASE}\W*", re.IGNORECASE)
"""A heading of a case or none."""


def end_of(reply: str, paragraph: bool) -> Answer:
    """Return the end of a reply that marks no answer: its last bold text, paragraph or line."""
    above = heading(reply)
    if is_other_heading(above) and not (paragraph and OF_CASE.fullmatch(above)):
        return Answer("")
    if bold := bold_at_end(reply):
        return Answer(bold)
    before = (
        reply.rstrip().rpartition("\n\n" if paragraph else "\n")[0].rstrip().rpartition("\n")[2]
    )
    if NOT_SO.search(before):
        return Answer("")
    if paragraph:  # an assignment may span several lines
        return Answer(reply.rpartition("\n\n")[2])
    lines = (line for line in reversed(reply.splitlines()) if line.strip(" `*_\t"))
    return Answer(next(lines, ""))


def without_statements(text: str, item: Item) -> str:
    """Replace the statements of an item, in which words like "wrong" or "no" do not count."""
    for statement in item.wording.statements.values():
        text = re.sub(re.escape(statement), "p", text, flags=re.IGNORECASE)
    return text


def with_roles(text: str, item: Item) -> str:
    """Replace the formulas of an item by "the premise" and "the conclusion"."""
    roles = dict.fromkeys(item.premises, "the premise")
    if item.conclusion:
        roles[item.conclusion] = "the conclusion"
    for formula, role in sorted(roles.items(), key=lambda one: -one[0].length):
        if formula.operators:
            for written in (str(formula), item.wording.write(formula)):
                text = re.sub(re.escape(written), role, text, flags=re.IGNORECASE)
    return without_statements(text, item)


# Does it follow?


def score_decision(reply: str, item: Item) -> Score:
    """Score a yes or a no."""
    answer = marked_answer(reply, paragraph=False)
    if answer is None:
        said = without_statements(reply, item)
        decision = read_end(said)
        if decision is None:
            decision = read_opening(said)
    elif answer.nested or answers_other_question(answer.question):
        decision = None
    elif answer.text in ("yes", "no") and not (
        answer.line or answer.after or answer.lead or answer.previous
    ):
        decision = answer.text == "yes"
    else:
        said = without_statements(answer.text + answer.line, item)
        after = without_statements(answer.after, item)
        decision = read_decision(said, after)
        if decision is False:  # "no, p → q guarantees q → p"
            said = with_roles(answer.text + answer.line, item)
            decision = read_decision(said, with_roles(answer.after, item))
        lead = without_statements(answer.lead, item)
        if decision is not None and (
            contradicts(decision, without_statements(answer.previous, item))
            or not (LEAD_WORDS.match(lead) or fits(decision, lead))
        ):
            decision = None
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
    marked = marked_answer(reply, paragraph=True)
    answer = marked or end_of(reply, paragraph=True)
    after = f"{answer.line}\n{answer.after}"
    values = read_assignment(answer.text, after, item)
    none = not (values.assignment or values.denied) and says_none(answer.text, after)
    before = without_statements(answer.lead if marked else last_paragraph(reply), item)
    if not marked and OF_CASE.fullmatch(heading(reply)):
        before = ""
    contrary = bool(marked and values.assignment and contradicts(False, before))
    if contrary or (none and not (LEAD_WORDS.match(before) or fits(True, before))):
        return Score("unreadable", "", "no clear answer")
    if not ends_answer(answer.line) or (none and gives_another({}, "", after, item)):
        return Score("unreadable", "", "no clear answer")
    if values.contradictory:
        return Score("unreadable", "", "its values contradict each other, or are not clear")
    if none:
        if item.label:
            return Score("right", "none", "")
        return Score("wrong", "none", "there is an assignment that refutes it")
    is_whole = len(values.assignment) == len(item.variables)
    if not values.assignment or not (marked or is_whole):
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
    r"\A(?:(?:therefore|so|hence|thus|∴|⊨|\|=)[,:\s]+|(?:the\s+)?conclusion(?:\s+is\b|:)[:*_\s]*|"
    r"(?:we|i)\s+(?:can\s+|may\s+)?conclude(?:\s+that)?[:\s]+|it\s+follows\s+that\s+)+",
    re.IGNORECASE,
)
WRAPPED = re.compile(r"\A\\[(\[]|\\[)\]](?=\.?\Z)")
CONCLUSION_REASON = re.compile(
    r"(?:[,;.–—]|(?=\())\s*(?:\(\s*)?"
    r"(?:(?:since|because|as|which|this|it\s+(?:follows|does)|follows|from|by)\b|"
    rf"{RULE}|(?:it\s+is\s+)?true\s+in\s+\d|\d+\s+(?:connectives?|operators?)\b)",
    re.IGNORECASE,
)
"""Text before a conclusion, around it in LaTeX, and at the start of a reason for it."""
DISOWNED = re.compile(
    r"\b(?:this|that|it|which)\s+is\s+(?:false|invalid)\b|\bcontradicts?\s+the\s+premis|\bguess\w*\b",
    re.IGNORECASE,
)
"""What denies a conclusion that was stated before."""
NOT_ALONE = re.compile(
    r"\bdoes\s+(?:it|this)\s+follow\s+from\s+[^?.\n]{1,40}?\b(?:alone|itself)\s*\?[\s*_]*no\b|"
    r"\b(?:(?:but|and|which|it|this)\s+)*(?:(?:does\s+not|doesn't)\s+follow\s+|follows\s+|not\s+)*from\s+"
    r"(?:neither|none|either|any|no|one)\b[\w\s]{0,60}?\b(?:alone|itself)\b",
    re.IGNORECASE,
)
"""What the question asks for, which is no denial."""
AMBIGUOUS = re.compile(r"\^|<=(?!>)|⊕|\\oplus|\bxor\b", re.IGNORECASE)
"""Connectives that some read otherwise, or that stand for several."""
ALTERNATIVE = re.compile(r"\A\W*(?:or|alternatively)\b", re.IGNORECASE)
OTHER_SIGNS = (
    (re.compile(r"⟹|⟶|-->|==>|\\[Ll]ongrightarrow\b"), "→"),
    (re.compile(r"\\sim\b"), "¬"),
    (re.compile(r"\\(?:neg|lnot)\s*\{([^{}]*)\}"), r"¬(\1)"),
)
"""More ways to write connectives."""
THEN = re.compile(r"(?<![,\s])\s+then\b", re.IGNORECASE)
COMMA = re.compile(r",\s+(?!or\s+both\b)", re.IGNORECASE)
NOT_WORD = re.compile(r"(?<!is )\bnot\s+", re.IGNORECASE)
"""Shorter words for connectives."""


def read_conclusion(text: str, item: Item) -> Formula | None:
    """Parse a formula, with or without the text that usually surrounds it."""
    text = plain(text).strip("`*$ \t\n✅✔✓☑").replace("**", "")
    text = WRAPPED.sub("", INTRODUCED.sub("", text))
    for spelling, sign in OTHER_SIGNS:
        text = spelling.sub(sign, text)
    candidates = [text, text.rstrip("."), text.rstrip(".").strip("\"'“”")]
    reason = CONCLUSION_REASON.search(text)
    if reason:
        said = NOT_ALONE.sub(" ", without_statements(text[reason.start() :], item))
        if not any(denial.search(said) for denial in (DENIAL, RETRACTION, DISOWNED)):
            candidates.append(text[: reason.start()])
    for candidate in candidates:
        formula = read_formula(candidate.strip("`*$ "), item)
        if formula is not None and not (AMBIGUOUS.search(candidate) or is_mixed(candidate)):
            return formula
    return None


def read_formula(text: str, item: Item) -> Formula | None:
    """Parse a formula, whose variables may be upper case."""
    try:
        formula = item.wording.read(text)
    except UserError:
        spelled = NOT_WORD.sub("it is not the case that ", THEN.sub(", then", text))
        if not re.search(r"\bthen\b", spelled, re.IGNORECASE):
            spelled = COMMA.sub(", then ", spelled)
        if item.wording.style != "words" or spelled == text:
            return None
        return read_formula(spelled, item)
    known = {symbol.upper(): symbol for symbol in item.variables}
    return Formula(tuple(known.get(symbol, symbol) for symbol in formula.rpn))


def gives_other_formula(after: str, conclusion: Formula, item: Item) -> bool:
    """Whether the line after an answer is a formula, neither the same nor a premise."""
    line = after.strip().partition("\n")[0].strip("`*$.•- ")
    if len(line) > MAX_CONCLUSION:
        return False
    formula = read_formula(line, item)
    if formula is None or not formula.operators or formula in item.premises:
        return False
    if not set(formula.variables) <= set(item.variables):  # ordinary words, such as "so and so"
        return False
    return not (entails(formula, conclusion) and entails(conclusion, formula))


def is_mixed(text: str) -> bool:
    """Whether "and" or "or" stand beside an arrow within one pair of brackets: p → q and r.

    >>> is_mixed("p implies q and q implies p"), is_mixed("(p → q) and r")
    (True, False)
    """
    beside: list[set[str]] = [set()]  # what there is within each pair of brackets
    for match in TOKEN.finditer(text):
        symbol = MEANING.get(match.group(), "")
        if symbol == "(":
            beside.append(set())
        elif symbol == ")" and len(beside) > 1:
            beside.pop()
        elif symbol in (IMPLIES, CONVERSE, IFF):
            beside[-1].add("arrow")
        elif symbol in (AND, OR) and match.group().isalpha():
            beside[-1].add("word")
        if len(beside[-1]) == 2:
            return True
    return False


def score_conclusion(reply: str, item: Item) -> Score:
    """Score a conclusion: long enough, entailed, and neither trivial nor the premises again."""
    answer = marked_answer(reply, paragraph=False) or end_of(reply, paragraph=False)
    text = answer.text
    after = NOT_ALONE.sub(" ", without_statements(f"{answer.line}\n{answer.after}", item))
    denied = any(denial.search(after) for denial in (RETRACTION, DISOWNED))
    if (
        denied
        or ALTERNATIVE.match(after)
        or False in verdicts(after)
        or not ends_answer(answer.line)
    ):
        return Score("unreadable", "", "it takes its answer back")
    if len(text) > 40 * MAX_CONCLUSION:
        return Score("unreadable", "", "too long")
    conclusion = read_conclusion(text, item)
    if conclusion is None:
        return Score("unreadable", "", "no formula")
    if conclusion.length > MAX_CONCLUSION:
        return Score("unreadable", "", f"more than {MAX_CONCLUSION} symbols")
    if gives_other_formula(answer.after, conclusion, item):
        return Score("unreadable", "", "two formulas")
    said = str(conclusion)
    if conclusion.operators < item.min_operators:
        return Score("wrong", said, f"fewer than {item.min_operators} operators")
    reason = why_no_conclusion(item.premises, conclusion)
    if reason == TAUTOLOGY and conclusion.rpn[-1] == IFF:  # "p → q ≡ ¬p ∨ q"
        return Score("unreadable", "", "two formulas")
    return Score("wrong" if reason else "right", said, reason)


SCORERS: dict[Kind, Callable[[str, Item], Score]] = {
    "decide": score_decision,
    "refute": score_refutation,
    "conclude": score_conclusion,
}


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
