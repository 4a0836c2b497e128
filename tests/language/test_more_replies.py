"""Scoring: replies that give no clear answer, and clear answers in unusual forms."""

from itertools import combinations

import pytest

from possibleworlds.language import Item, Wording, score, tasks
from possibleworlds.language.wording import Style
from possibleworlds.logic import parse
from possibleworlds.logic.syntax import to_text

DECISIONS = list(tasks("decide", size=8, seed=0))
YES, NO = (next(item for item in DECISIONS if item.label is label) for label in (True, False))


def refute(premise: str, conclusion: str, label: bool) -> Item:
    return Item("refute", (parse(premise),), parse(conclusion), label, 0, Wording(), "", "")


FOLLOWS = refute("p & q & r", "q", True)
REFUTED = refute("p & r", "q", False)  # just where p and r are true, and q is false
OTHERWISE = refute("p & r & q", "~q", False)  # just where all three are true
VALUES = "p = true, q = false, r = true"
STATEMENTS = {"p": "the lamp is on", "q": "the door is open", "r": "the cat is asleep"}
EVERYDAY = Item(
    "refute", (parse("p & r"),), parse("q"), False, 0, Wording("words", STATEMENTS), "", ""
)


def conclude(style: Style = "unicode", statements: dict[str, str] | None = None) -> Item:
    premises = parse("p -> q"), parse("q -> r")
    return Item("conclude", premises, None, True, 1, Wording(style, statements or {}), "", "")


def decision(reply: str) -> str:
    """Return the decision that is read in a reply: yes, no or none."""
    verdicts = score(reply, YES).verdict, score(reply, NO).verdict
    return {("right", "wrong"): "yes", ("wrong", "right"): "no"}.get(verdicts, "neither")


ANOTHER_QUESTION = [
    "\n\nPremise: r ∧ s\nConclusion: r\n\nAnswer: {other}",
    "\nPremise: p\nConclusion: p\n\nAnswer: {other}",
    "\n\n---\n\nPremise: p\nConclusion: p\n\nAnswer: {other}",
    "\n\n**Premise:** p\n**Conclusion:** p\n\n**Answer:** {other}",
    "\n\n### Premise: p\nConclusion: p\n\nAnswer: {other}",
    "\n\nQuestion 2:\nPremise: p\nConclusion: p\nAnswer: {other}",
    "\n\nUser: Premise: p\nConclusion: p\n\nAnswer: {other}",
    "\n\nI hope this helps.\n\nPremises:\n1. p\n2. q\nConclusion: p\n\nAnswer: {other}",
    "<|im_end|>\n<|im_start|>user\nPremise: p\nConclusion: p<|im_end|>\n<|im_start|>assistant\n"
    "Answer: {other}",
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nReally? Answer: {other}",
    "</s>[INST] Another one. [/INST] Answer: {other}",
    "<end_of_turn>\n<start_of_turn>user\nAnswer: {other}",
]


@pytest.mark.parametrize("question", ANOTHER_QUESTION)
@pytest.mark.parametrize(("said", "other"), [("yes", "no"), ("no", "yes")])
def test_an_answer_to_another_question_does_not_count(question: str, said: str, other: str) -> None:
    for checked in ("", "- Premise: T\n- Conclusion: F\n"):
        assert decision(f"{checked}Answer: {said}{question.format(other=other)}") == said


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<|im_start|>assistant\nAnswer: no<|im_end|>", "no"),
        ("Answer: yes</s>\nAnswer: no", "yes"),
        ("<s>yes</s>\n\nSo no", ""),  # struck out
        ("<|channel|>analysis<|message|>The answer is yes", ""),
        (
            "<|channel|>analysis<|message|>Yes.<|end|><|start|>assistant<|channel|>final<|message|>No.",
            "no",
        ),
        ("[/INST] Answer: no", "no"),
        ("<|begin_of_thought|>yes<|end_of_thought|>Answer: no<|end_of_solution|>", "no"),
        ("Answer: yes\n\nPremise: T ∧ T = T\nConclusion: F\nSo the answer is no", "no"),
        ("Premise: s\nConclusion: t\n\nAnswer: yes\n\nPremise: t\nConclusion: s\n\nAnswer: no", ""),
    ],
)
def test_only_the_first_turn_of_a_chat_counts(reply: str, expected: str) -> None:
    assert decision(reply) == (expected or "neither")


@pytest.mark.parametrize("kind", ["decide", "refute", "conclude"])
@pytest.mark.parametrize("shots", [0, 2])
def test_a_model_that_repeats_its_prompt_has_answered_before(kind: str, shots: int) -> None:
    for item in tasks(kind, size=8, seed=0, shots=shots):  # type: ignore[arg-type]
        answer = f"Answer: {item.answer}"
        chat = f"<|im_start|>user\n{item.prompt}<|im_end|>\n<|im_start|>assistant\n{answer}"
        for reply in (
            f"{answer}\n\n{item.prompt}",
            f"{item.prompt}\n{item.prompt}\n{answer}",
            chat,
        ):
            assert score(reply, item).verdict == "right"
        again = f"{answer}\n\n{item.prompt}\n\nAnswer: nothing"
        assert score(again, item).verdict == "right"


ONE_CASE = [
    "If p is true, then q is true, so the conclusion follows.",
    "p = T, q = T: premise true, conclusion true, so it follows.",
    "In this row, both are true, so the conclusion follows.",
    "For p = true, both are true, so the conclusion follows.",
    "**Case 1: p is true**\n\nThen q, so the conclusion follows.",
    "### Case 2\nHere the conclusion follows.",
    "Case p = true:\nThe conclusion follows.",
    "Assume p is true.\nThen q is true, so the conclusion follows.",
    "For p = T, the answer is yes.",
    "With p = T, the answer is yes.",
    "Given p = T, the answer is yes",
    "As for row 3, the answer is yes",
    "Under this assignment, the answer is yes.",
    "In the first case, the answer is yes.",
    "If p is false, then the premise is false, so the conclusion does not follow.",
    "In some cases, the answer is yes.",
    "For these values, the answer is yes.",
    "Whenever p is true, the answer is yes.",
    "So far all rows agree, so it follows.",
    "For row 2:\nAnswer: yes",
    "For p = T:\nAnswer: yes",
    "Row TT: premise true; conclusion true. **Valid**",
    "p = F:\nyes",
    "Premise: p\nConclusion: no",
]
OTHER_QUESTIONS = [
    "Does the premise follow from the conclusion? Yes",
    "Does the negation follow? Yes.",
    "Does the converse follow? Yes",
    "Does it follow that p is true? Yes.",
    "Does ¬C follow? No.",
    "Regarding a countermodel, the answer is yes",
    "Asked for a countermodel, the answer is yes.",
    "To the question of countermodels, the answer is yes.",
    "There is a countermodel, so the answer is yes.",
    "There is no countermodel, so the answer is no.",
    "Since there is a countermodel, it follows.",
    "If it follows:\nAnswer: yes\n\nOtherwise:\nAnswer: no",
    "If it follows:\n\nAnswer: yes\n\nIf not:\n\nAnswer: no",
    "Choose one:\nAnswer: yes\nAnswer: no",
    "The two options are:\n- Answer: yes\n- Answer: no",
    "Options:\nAnswer: yes",
]
CONTRADICTIONS = [
    "Answer: yes\n\nThat is not right.",
    "Answer: no\n\nThat is not right.",
    "Answer: yes\n\nThe above is not correct.",
    "Answer: yes\n\nCounterexample: p = T, q = F.",
    "Answer: yes\n\nSo I change to: **no**",
    "Answer: yes\n\nThe premise can be true while the conclusion is false.",
    "Answer: yes, the premise is true and the conclusion is false when p = T",
    "Answer: yes\n\nPremise: T, conclusion: F for p = T.",
    "Answer: yes\n\nBut the conclusion could be false.",
    "Answer: yes\n\nOn closer inspection, the argument fails.",
    "Answer: yes, the conclusion need not be true",
    "Answer: yes, the conclusion is not true in all cases",
    "Answer: yes, the premise does not guarantee the conclusion",
    "Answer: yes, the majority of the time",
    "Answer: yes. Let me check: p = T, so it does not follow.",
    "Answer: no\n\nAfter rechecking, the conclusion does follow.",
    "Answer: no\n\nLet me recheck: all rows are fine, so the conclusion is valid.",
    "Answer: no\n\nLet me recheck: the conclusion is always true when the premise is true.",
    "Answer: no, since the conclusion is true whenever the premise is true.",
    "Answer: no. Every row with a true premise has a true conclusion.",
    "Answer: no\n\nSo P ⊨ C.",
]


@pytest.mark.parametrize("reply", [*ONE_CASE, *OTHER_QUESTIONS, *CONTRADICTIONS])
def test_no_clear_decision(reply: str) -> None:
    for item in (YES, NO):
        assert score(reply, item).verdict == "unreadable"


@pytest.mark.parametrize(
    "reply",
    [
        "If the premise is true, then p is true, so the conclusion follows.",
        "Suppose the premise is true. Then p is true, so the conclusion follows.",
        "When the premise is true, q must be true, so the answer is yes.",
        "In both cases the conclusion is true, so the answer is yes.",
        "The conclusion is true in each of these cases, so the answer is yes.",
        "Whenever the premise is true, the conclusion is true, so it follows.",
        "Answer: yes\n\n- Row 1: premise T, conclusion T\n- Row 2: premise F, conclusion F",
        "In each row, the conclusion is true as well, so it follows.",
        "Case 1: p is true. Fine.\nCase 2: p is false. Fine.\n\nAnswer: yes",
        "When p = T, so is q. When p = F, the premise is false. Therefore:\n\nAnswer: yes",
        "There is no row where the premise is true and the conclusion is false, so it follows.",
        "Answer: There is no case in which the premise is true and the conclusion is false.",
        "Answer: yes, the premise cannot be true while the conclusion is false.",
        "Answer: yes. It is impossible that the premise is true and the conclusion is false.",
        "Answer: yes\n\nProof: suppose the premise is true. Then p is true.",
        "Answer: yes\n\nCountermodel: none",
        '{"reasoning": "If p is true, so is q, in this case.", "answer": "yes"}',
        "We conclude that the conclusion follows from the premise.",
        "Since we found no counterexample, the conclusion follows.",
        "<answer>\\boxed{yes}</answer>",
        "The final answer is $\\boxed{yes}$. I hope it is correct.",
        "Answer: 'yes'",
        "### Final Answer:\n\n> **Yes**",
        "Answer: yes (modus tollens)",
        "The answer is that the conclusion follows.",
        "Is the argument valid? Yes.",
    ],
)
def test_a_clear_yes(reply: str) -> None:
    assert decision(reply) == "yes"


@pytest.mark.parametrize(
    "reply",
    [
        "Since there is a countermodel, it does not follow.",
        "As there is a counterexample, the conclusion does not follow.",
        "Because row 3 is a counterexample, it does not follow.",
        "Row 3 is a counterexample, therefore the conclusion does not follow.",
        "Row 2 is a counterexample. So no.",
        "With p = T, q = F the premise is true and the conclusion is false, so it does not follow.",
        "As we can see from row 2, the answer is no.",
        "In conclusion, the conclusion does not follow from the premise.",
        "In summary, the argument is invalid.",
        "This shows that the conclusion does not follow from the premise.",
        "This means the conclusion does not follow.",
        "Hence we can conclude that the conclusion does not follow.",
        "<answer> \\boxed{no} </answer>",
        "The final answer is $\\boxed{no}$. I hope it is correct.",
        "### Final Answer:\n\n> **No**",
        "The answer is that it does not follow.",
        "Answer: no\n\nThe conclusion would follow if q were true.",
        "Does the conclusion follow from the premise? No.",
    ],
)
def test_a_clear_no(reply: str) -> None:
    assert decision(reply) == "no"


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: all others are true, q = false",
        "Answer: set all to true, q = false",
        "Answer: everything is true, q = false",
        f"Answer: the negation of the following, {VALUES}",
        f"Answer: the only excluded case, {VALUES}",
        f"Answer: this violates the premise, {VALUES}",
        "Answer: p and q is false, r is true",
        "Answer: True: p, r",
        "So q must be false.",
        "If p is false, the premise is false, so there is no countermodel.",
        "In this row the conclusion is true, so no countermodel.",
        "With p false the premise fails, hence none.",
        "In the first case, the answer is none.",
        "Since there is a countermodel, none.",
        "There is no case in which p is false.",
        "Answer: there is no case where p is true",
        "Answer: there is no case where the conclusion is true",
        "Answer: no case in which the premise is false",
        f"Answer: none\n\nCountermodel: {VALUES}",
        f"Answer: none\n\n{VALUES}",
        f"Answer: none\n\nFor instance, {VALUES} makes the premise true and the conclusion false.",
        "Answer: none\n\nThat is not right.",
        "Answer: none\n\nSo the conclusion does not follow.",
        f"Answer: {VALUES}\n\nThat is not right.",
        f"Answer: {VALUES}\n\nThis does not work.",
        f"Answer: {VALUES}\n\nThis does not hold.",
        f"Answer: {VALUES}\nThis is not a valid case.",
        f"Answer: {VALUES}\n\nTherefore it is valid and there is no countermodel.",
        f"Answer: {VALUES}\n\np = false, q = true, r = false",
        f"Answer: {VALUES}, which does not hold",
        f"Answer: {VALUES}, so the conclusion cannot be false",
        f"Answer: {VALUES}, so the conclusion follows",
    ],
)
def test_no_clear_refutation(reply: str) -> None:
    for item in (FOLLOWS, REFUTED):
        assert score(reply, item).verdict == "unreadable"


@pytest.mark.parametrize(
    "reply",
    [
        "Since the premise requires q, there is no countermodel.",
        "Since q is true in all cases where the premise is true, there is no such case.",
        "There is no case where all premises are true and the conclusion is false.",
        "Answer: there is no case in which the premise is true but the conclusion is false",
        "Answer: 'none'",
        "<answer>\\boxed{none}</answer>",
        "Answer: none\n\nTo make the conclusion false, q = false, but then the premise is false.",
        "Answer: none\n\np = true, q = true, r = true: premise true, conclusion true.",
        "Answer: none, since the premise cannot be true while the conclusion is false",
        "Answer: none\n\nTherefore, the conclusion follows from the premise.",
    ],
)
def test_a_clear_none(reply: str) -> None:
    assert score(reply, FOLLOWS).verdict == "right"
    assert score(reply, REFUTED).verdict == "wrong"


@pytest.mark.parametrize(
    "reply",
    [
        f"We check all rows. So {VALUES}.",
        f"<answer>\\boxed{{{VALUES}}}</answer>",
        f"Answer: {VALUES}, so the conclusion does not follow.",
        f"Answer: {VALUES}. Therefore, the conclusion doesn't follow from the premise.",
        f"Answer: {VALUES}, hence the argument is invalid",
        f"Answer: {VALUES}, …",
        f"Answer: {VALUES}\n\nVerification:\n- Premise: true ✅\n- Conclusion: false ❌",
        f"Answer: {VALUES}\n\nThis is a valid countermodel.",
        "Answer: The following assignment works:\n- p = true\n- q = false\n- r = true",
        "Answer:\nTrue: p, r\nFalse: q",
        "Answer: True: p, r; False: q",
        "Answer: both p and r are true, q is false",
        "Answer: p is true, q is not true, r is true",
        "Answer:\n| Variable | p | q | r |\n|---|---|---|---|\n| Value | T | F | T |",
        "\\boxed{\\begin{array}{l} p = 1 \\\\ q = \\text{false} \\\\ r = 1 \\end{array}}",
    ],
)
def test_a_clear_assignment(reply: str) -> None:
    assert score(reply, REFUTED).verdict == "right"
    assert score(reply, OTHERWISE).verdict == "wrong"


def test_all_variables_may_have_the_same_value() -> None:
    assert score("Answer: all variables are true", OTHERWISE).verdict == "right"
    assert score("Answer: all variables are false", OTHERWISE).verdict == "wrong"


@pytest.mark.parametrize("separator", [", ", "; ", " and ", "\n- "])
def test_a_bare_statement_has_not_the_value_of_the_next(separator: str) -> None:
    for item in tasks("refute", size=40, seed=11, style="words", vocabulary="everyday"):
        first, *others = (item.wording.name(v) for v in item.variables)
        listed = [first, *(f"{name} is false" for name in others)]
        if others:
            reply = f"Answer: {separator.join(listed)}"
            assert score(reply, item).verdict == "unreadable"


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (
            "Answer: the lamp is on and the cat is asleep are true, the door is open is false",
            "right",
        ),
        (
            "Answer: the lamp is on is true, the door is open is false, the cat is asleep: true",
            "right",
        ),
        ("Answer: the lamp is on, the cat is asleep, the door is open is false", "unreadable"),
        ("Answer: the lamp is on, the door is open: false, the cat is asleep: true", "unreadable"),
        ("Answer: the lamp is on, the cat is asleep can be either", "unreadable"),
    ],
)
def test_statements_share_a_value_in_the_plural(reply: str, verdict: str) -> None:
    assert score(reply, EVERYDAY).verdict == verdict


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Answer: (p → q) ∧ (q → r)", "wrong"),  # the premises again
        ("Answer: p → r ≡ ¬p ∨ r", "unreadable"),
        ("Answer: p → r ⇔ ¬p ∨ r", "unreadable"),
        ("Answer: p → r\n\nThis does not follow from the premises.", "unreadable"),
        ("Answer: p → r\n\nThat is not right.", "unreadable"),
        ("Answer: p → r\nq → p", "unreadable"),
        ("Answer: p → r\n¬p ∨ r", "right"),
        ("Answer: p → r\n\nOver and out", "right"),
        ("Answer: p → r\n\nThis follows from both premises, but from neither alone.", "right"),
        ("Answer: p → r\n\nIt does not follow from either premise alone.", "right"),
        (
            "Answer: p → r, which follows from the premises together, but not from either alone.",
            "right",
        ),
        ("Answer: p → r, which does not follow from the premises", "unreadable"),
        ("Answer: p → r (hypothetical syllogism)", "right"),
        ("Answer: p → r (1 connective)", "right"),
        ("Answer: We can conclude that p → r.", "right"),
        ("Answer: Conclusion: p → r", "right"),
        ("**Conclusion:** p → r", "right"),
        ("So we conclude p → r.", "right"),
        ("<answer>\\boxed{p → r}</answer>", "right"),
        ("Answer: “p → r”", "right"),
        ("Answer: p ⟹ r", "right"),
        ("Answer: p ⟶ r", "right"),
        ("Answer: p --> r", "right"),
        ("Answer: $p \\longrightarrow r$", "right"),
        ("Answer: $\\sim p \\vee r$", "right"),
        ("Answer: $\\neg{p} \\vee r$", "right"),
        ("Answer: p -> r\n\nIndeed, ~~p -> q and ~~q -> r.", "right"),
        ("Answer: p -> r\n\n~~p -> r~~", "unreadable"),
    ],
)
def test_conclusions_in_symbols(reply: str, verdict: str) -> None:
    assert score(reply, conclude()).verdict == verdict


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Answer: If {p} then {r}.", "right"),
        ("Answer: If **{p}**, then **{r}**.", "right"),
        ("Answer: either not {p} or {r}, or both", "right"),
        ("Answer: “If {p}, then {r}.”", "right"),
        ("Answer: If {r} then {p}.", "wrong"),
        ("Answer: either not {r} or {p}, or both", "wrong"),
        ("Answer: both if {p}, then {q} and if {q}, then {r}", "wrong"),
    ],
)
def test_conclusions_in_words(reply: str, verdict: str) -> None:
    letters = dict(zip("pqr", "pqr", strict=True))
    for item, names in ((conclude("words"), letters), (conclude("words", STATEMENTS), STATEMENTS)):
        assert score(reply.format(**names), item).verdict == verdict


@pytest.mark.parametrize("repeated", ["p and q, ", "any p, ", "so, ", "no case ", "p = q = "])
def test_a_long_reply_is_soon_scored(repeated: str) -> None:
    reply = "Answer: " + (repeated * 20_000)[:19_000]
    for item in (REFUTED, EVERYDAY, YES, conclude()):
        assert score(reply, item).verdict == "unreadable"


def test_a_problem_restated_in_another_notation_is_not_another_question() -> None:
    premise, conclusion = (to_text(f, "latex") for f in (*YES.premises, YES.conclusion))
    restated = f"**Premise:** ${premise}$\n**Conclusion:** ${conclusion}$\n\nAnswer: yes"
    for draft in ("Answer: no", 'I will end with "Answer: no".'):
        assert score(f"{draft}\n\nLet me verify:\n\n{restated}", YES).verdict == "right"


@pytest.mark.parametrize(
    "before",
    ["The following is not a countermodel:", "Row 3 fails:", "Let's test the next row:"],
)
def test_a_line_that_denies_what_follows(before: str) -> None:
    assert score(f"{before}\n\n{VALUES}", REFUTED).verdict == "unreadable"
    assert score(f"It does not follow that:\n\n{'p → r'}", conclude()).verdict == "unreadable"


@pytest.mark.parametrize("answer", ["p → r and q", "p → r and q → r", "p → r or q → p"])
def test_words_between_arrows_have_no_precedence(answer: str) -> None:
    assert score(f"Answer: {answer}", conclude()).verdict == "unreadable"
    assert score("Answer: (p → r) and (q → r)", conclude()).reason == "more than 2 operators"


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "yes", "explanation": "It does not follow: p=T, q=F is a counterexample."}',
        '{"question": "Is there a countermodel?", "answer": "no"}',
        "{'answer': 'yes', 'final_answer': 'no'}",
        "Tentatively, the answer is yes.",
        "Answer: yes\nFor p=T, q=F: premise=T, conclusion=F.",
        "Answer: no\nThe conclusion cannot be false when the premise is true.",
    ],
)
def test_what_contradicts_or_hedges_an_answer(reply: str) -> None:
    assert decision(reply) == "neither"


@pytest.mark.parametrize(
    "reply",
    [
        "### Final Answer\n\nYes\n\nThe conclusion is true in all rows with a true premise.",
        "✅ **Answer: Yes**",
        "Answer: yes<｜end▁of▁sentence｜>",
        "This proves that the conclusion follows from the premise.",
    ],
)
def test_more_forms_of_a_yes(reply: str) -> None:
    assert decision(reply) == "yes"


def test_blocks_with_a_reason_at_the_end() -> None:
    reply = "Answer: p = true\n\nq = false\n\nr = true, which makes the premise true."
    assert score(reply, REFUTED).verdict == "right"


def test_letters_that_only_match_if_case_is_ignored() -> None:
    item = refute("i & r", "s", False)
    assert score("Answer: r = true, İ = true, ſ = false", item).verdict == "right"


def test_deep_objects_are_unreadable() -> None:
    reply = '{"answer": ' + '{"a":' * 500 + "1" + "}" * 501
    assert decision(reply) == "neither"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        # clear answers, with reasons that name formulas
        ("Answer: yes. q is a conjunct of the premise.", "yes"),
        ("Answer: yes, q follows directly from p ∧ q.", "yes"),
        ("Answer: yes. If q were false, p ∧ q would be false.", "yes"),
        ("Answer: yes (conjunction elimination)", "yes"),
        ("Answer: yes, by ∧-elimination", "yes"),
        ("Answer: yes\n\nThe premise is true only when p and q are, and then q is true.", "yes"),
        ("Answer: yes\n\nNote that the converse does not hold.", "yes"),
        ("Answer: no, q does not follow from p ∨ q", "no"),
        ("Answer: no; p ∨ q does not entail q.", "no"),
        ("Answer: no, q might be false", "no"),
        # tags and tokens around it
        ("Answer: yes</answer>", "yes"),
        ("<output>Answer: no</output>", "no"),
        ("Answer: <|begin_of_box|>no<|end_of_box|>", "no"),
        ("Answer: no。", "no"),
        # conditions, exceptions and contradictions
        ("Answer: yes, only if p", "neither"),
        ("Answer: yes, it holds only when q is true", "neither"),
        ("Answer: yes. When q is true.", "neither"),
        ("Answer: yes; in row 2.", "neither"),
        ("Answer: yes, in all cases apart from p = T, q = F", "neither"),
        ("Answer: yes, in every case bar one", "neither"),
        ("Answer: yes, because in all rows other than row 2 it holds", "neither"),
        ("Answer: yes\n\nThus q is not a consequence of p ∨ q.", "neither"),
        ("Answer: yes\n\nq is not implied by p ∨ q.", "neither"),
        ("Answer: yes\n\nWe cannot infer q from p ∨ q.", "neither"),
        ("Answer: no, since it is valid", "neither"),
        ("Answer: no, since the conclusion is entailed", "neither"),
        ("Answer: no, the premises do imply it", "neither"),
        ("Answer: no, for now", "neither"),
        ('{"answer": "yes", "countermodel": {"p": true, "q": false}}', "neither"),
        ('{"countermodel": "p = T, q = F", "answer": "yes"}', "neither"),
        ('{"countermodel": null, "answer": "yes"}', "yes"),
    ],
)
def test_reasons_and_contradictions(reply: str, said: str) -> None:
    assert decision(reply) == said


@pytest.mark.parametrize(
    ("before", "again"),
    [
        ("Answer: yes", "Let me double-check with other names."),
        ("Answer: yes", "Let me verify this by formalising it."),
        ("My first answer: yes", "But wait."),
    ],
)
def test_an_answer_that_is_checked_and_changed_is_the_later_one(before: str, again: str) -> None:
    restated = "Premise: A ∨ B\nConclusion: B\nA = T, B = F is a countermodel."
    assert decision(f"{before}\n\n{again}\n{restated}\n\nAnswer: no") == "no"
    prompted = f"{before}\n\n{again} I read the question again.\n\n{YES.prompt}\n\nAnswer: no"
    assert score(prompted, YES).answer == "no"


def test_the_instruction_is_no_answer() -> None:
    for mention in ("Answer: yes or Answer: no", "**Answer: yes** or **Answer: no**"):
        reply = f"I must end with {mention}.\n\nPremises: u → v\nConclusion: v\n\nAnswer: no"
        assert decision(reply) == "no"


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (f"Answer: {VALUES}\n- p = false\n- q = true\n- r = true", "unreadable"),
        (f"Answer: {VALUES}\n\n| p | q | r |\n|---|---|---|\n| F | T | T |", "unreadable"),
        (f"Answer: {VALUES}\n\nPremise: F\nConclusion: F", "unreadable"),
        (f"Answer: {VALUES}\n\nThe premise p ∧ r evaluates to false.", "unreadable"),
        (f"Answer: {VALUES}\n\nThis assignment is not valid.", "unreadable"),
        (f"Answer: {VALUES}\n\nPremise: p ∧ r = T ∧ T = T ✓\nConclusion: q = F ✗", "right"),
        (f"Answer: {VALUES}\n\nPremise: p ∧ r = F ❌", "unreadable"),
        (
            f"Answer: {VALUES}\n\nAll other rows make the premise false or the conclusion true.",
            "right",
        ),
        (r"Answer: \(p\) = true, \(q\) = false, \(r\) is true", "right"),
        ("Answer: p = true，q = false、r = true。", "right"),
        ('{"answer": "none", "assignment": {"p": true, "q": false, "r": true}}', "unreadable"),
    ],
)
def test_what_is_said_below_an_assignment(reply: str, verdict: str) -> None:
    assert score(reply, REFUTED).verdict == verdict


@pytest.mark.parametrize(
    "reply", ["there's no such case", "there's none", "none (valid)", "none (entailment holds)"]
)
def test_more_ways_to_say_none(reply: str) -> None:
    assert score(f"Answer: {reply}", FOLLOWS).verdict == "right"


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Answer: p → r (it does not follow from either premise alone)", "right"),
        ("Answer: p → r, which does not follow from either premise alone", "right"),
        ("Answer: ```p → r```", "right"),
        ("Answer: p → r。", "right"),
        ("Answer: p → r, which is false", "unreadable"),
        ("Answer: p → r, which contradicts the premises", "unreadable"),
        ("Answer: p → r, as a guess", "unreadable"),
        ("Answer: p → r\n\nThis is false.", "unreadable"),
        *(
            (f"Answer: {formula}", "unreadable")  # read either way
            for formula in (
                "p implies r and r implies p",
                "p → r AND r → p",
                "p ⟹ r and r ⟹ p",
                r"$p \Rightarrow r$ and $r \Rightarrow p$",
                "p ⊃ r or p",
                "(p → r and r → p)",
                "p iff r and p",
            )
        ),
        ("Answer: (p implies r)", "right"),
    ],
)
def test_what_is_said_of_a_conclusion(reply: str, verdict: str) -> None:
    assert score(reply, conclude()).verdict == verdict


@pytest.mark.parametrize("premises", [1, 2, 3])
def test_replies_that_do_not_look_at_the_premises_are_rarely_right(premises: int) -> None:
    items = tasks("conclude", size=100, seed=5, premises=premises)
    for template in ("{0} ∨ {1} ∨ {0}", "¬¬({0} ∨ {1})", "¬{0} ∨ {1} ∨ {1}", "{0} ∧ {1} ∧ {0}"):
        replies = ("Answer: " + template.format(*(item.variables * 2)[:2]) for item in items)
        right = sum(score(r, item).value for r, item in zip(replies, items, strict=True))
        assert right <= (40 if premises == 1 else 20)
    if premises > 1:
        for item in items:
            for i, j in combinations(range(premises), 2):
                copied = f"({item.premises[i]}) ∧ ({item.premises[j]})"
                assert score(f"Answer: {copied}", item).verdict == "wrong"
