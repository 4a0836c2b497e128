"""The text of items: question, answer, and the reasoning from one to the other."""

from dataclasses import replace

import numpy as np

from possibleworlds.language.item import Item, Kind
from possibleworlds.language.problems import Problem
from possibleworlds.language.wording import Style, Vocabulary, Wording
from possibleworlds.logic.entailment import countermodel
from possibleworlds.logic.formula import Formula, conjunction

QUESTIONS: dict[Kind, str] = {
    "decide": (
        "Does the conclusion follow from the {premises}? It follows if it is true in every case in "
        'which {they} true. End with "Answer: yes" or "Answer: no".'
    ),
    "refute": (
        "Find a case in which {they} true and the conclusion is false: say of each {variable} "
        'whether it is true or false. End with "Answer: {example}" or, if there is no such case, '
        'with "Answer: none".'
    ),
    "conclude": (
        "State a conclusion that follows from {given} and is true in at most twice as many cases "
        "as {together}, and in at most three quarters of all cases. It must contain at least "
        "{min_operators} and at most {max_operators} connectives, and no {variable} that the "
        "{premises} {do} not contain. "
        '{alphabet}End with "Answer: " and the conclusion.'
    ),
}
CONNECTIVES_IN_SYMBOLS = {
    "unicode": "¬ ∧ ∨ →",
    "ascii": "~ & | ->",
    "latex": r"\neg \wedge \vee \rightarrow",
}


def sentence(text: str, style: Style) -> str:
    """Format a formula for a line of its own."""
    if style == "latex":
        return f"${text}$"
    if style != "words" or " " not in text:
        return text
    return f"{text[0].upper()}{text[1:]}."


def make_item(
    problem: Problem,
    kind: Kind,
    rng: np.random.Generator,
    style: Style = "unicode",
    vocabulary: Vocabulary = "letters",
    min_operators: int = 0,
) -> Item:
    """Make an item from a problem."""
    formulas = [*problem.premises, problem.conclusion]
    wording = Wording.draw(rng, conjunction(formulas).variables, style, vocabulary)
    item = Item(
        kind=kind,
        premises=problem.premises,
        conclusion=None if kind == "conclude" else problem.conclusion,
        label=problem.label,
        min_operators=min_operators if kind == "conclude" else 0,
        wording=wording,
        prompt="",
        answer=answer(problem, kind, wording),
        group=problem.group,
    )
    return replace(item, prompt=prompt(item))


def prompt(item: Item) -> str:
    """Write the prompt of an item."""
    wording, several = item.wording, len(item.premises) > 1
    written = [sentence(wording.write(f), wording.style) for f in item.premises]
    if several:
        lines = ["Premises:", *(f"{i}. {text}" for i, text in enumerate(written, 1))]
    else:
        lines = [f"Premise: {written[0]}"]
    if item.conclusion:
        lines.append(f"Conclusion: {sentence(wording.write(item.conclusion), wording.style)}")
    alphabet = ""
    if wording.style in CONNECTIVES_IN_SYMBOLS:
        alphabet = f"Use the connectives {CONNECTIVES_IN_SYMBOLS[wording.style]} and brackets. "
    elif wording.statements:
        alphabet = "Use the same statements and the same words for the connectives. "
    question = QUESTIONS[item.kind].format(
        premises="premises" if several else "premise",
        they="all premises are" if several else "the premise is",
        given="the premises together but not if one of them is left out, is not equivalent to all "
        "of them together,"
        if several
        else "the premise, is not equivalent to it,",
        together="the premises together" if several else "the premise",
        do="do" if several else "does",
        variable="statement" if wording.statements else "variable",
        example=assignment_in_words(dict.fromkeys(item.variables[:2], True), wording) + ", …",
        min_operators=item.min_operators,
        max_operators=sum(premise.operators for premise in item.premises),
        alphabet=alphabet,
    )
    return "\n".join([*lines, "", question])


def assignment_in_words(assignment: dict[str, bool], wording: Wording) -> str:
    """Write an assignment as in a reply."""
    return ", ".join(f"{wording.name(v)} = {str(x).lower()}" for v, x in assignment.items())


def answer(problem: Problem, kind: Kind, wording: Wording) -> str:
    """Write a right answer."""
    if kind == "conclude":
        return wording.write(problem.conclusion)
    if kind == "decide":
        return "yes" if problem.label else "no"
    refuting = countermodel(conjunction(problem.premises), problem.conclusion)
    return "none" if refuting is None else assignment_in_words(refuting, wording)


def explain(item: Item, conclusion: Formula) -> str:
    """Explain the answer: a case that refutes it, or all cases in which the premises are true."""
    wording = item.wording
    premises = conjunction(item.premises)
    refuting = countermodel(premises, conclusion)
    they = "the premises are" if len(item.premises) > 1 else "the premise is"
    if refuting is not None:
        case = assignment_in_words(refuting, wording)
        return f"In the case {case}, {they} true and the conclusion is false."
    names = premises.variables
    cases = ({v: bool(row >> i & 1) for i, v in enumerate(names)} for row in range(1 << len(names)))
    true = [assignment_in_words(case, wording) for case in cases if premises.evaluate(case)]
    what = sentence(wording.write(conclusion), wording.style) if item.conclusion is None else ""
    stated = f"Consider the conclusion: {what}\n" if what else ""
    listed = "\n".join(f"- {case}" for case in true)
    last = "The conclusion is true in each of these cases."
    return f"{stated}{they.capitalize()} true in these cases alone:\n{listed}\n{last}"
