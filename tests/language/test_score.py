"""Scoring: right answers in whatever dress, and no reward for anything else."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.errors import UserError
from possibleworlds.language import Item, Wording, replies, score, tasks
from possibleworlds.language.item import conjunction
from possibleworlds.logic import Formula, entails, equivalent, parse

DECISIONS = list(tasks("decide", size=8, seed=0))
YES, NO = (next(item for item in DECISIONS if item.label is label) for label in (True, False))
REFUTATIONS = list(tasks("refute", size=40, seed=0))
CONCLUSIONS = list(tasks("conclude", size=20, seed=0, premises=2))

SAYS_YES = [
    "Answer: yes",
    "YES",
    "yes.",
    "**Yes**",
    "The answer is: **Yes**.",
    "**Answer:** Yes",
    "### Answer\nYes",
    r"\boxed{yes}",
    r"Hence $\boxed{\text{Yes}}$.",
    r"Final answer: \boxed{Yes}",
    '{"answer": "yes"}',
    '```json\n{"reasoning": "no {braces} harm", "answer": true}\n```',
    "Let me think.\nNo, wait.\n\nTherefore, the conclusion follows from the premises.",
    "Final Answer: Yes, it follows",
    "There is no countermodel, so it follows.",
    "The argument is valid.",
    "A ⊨ B",
    "<think>Answer: no</think>\nyes",
    "true",
    "<answer>yes</answer>",
    "Answer: “yes”",
    '"Answer: yes"',
    "Answer:\n```\nyes\n```",
    "{'reasoning': 'short', 'answer': 'yes'}",
    '{"final_answer": "Yes"}',
    "Answer: yes, because no assignment makes the premise true and the conclusion false.",
    "Answer: yes\n\nExplanation: no assignment makes the premise true and the conclusion false.",
    "Since there is no countermodel, the answer is yes.",
    "All rows were checked, so the conclusion follows.",
    "The answer is no in row 1.</think>\nAnswer: yes",
    "Answer: yes\n\nPremise: p\nConclusion: q\n\nAnswer: no",  # goes on with its own question
    "The answer is therefore yes.",
    "The answer is, therefore, **yes**.",
    "Thus the answer to the question is yes.",
    "The answer must be yes.",
    "Yes, it does follow.",
    "Answer: Yes it follows",
    "Answer: yes, it follows by modus ponens",
    "It is a valid inference.",
    "Yes, $A \\models B$.",
    "Answer: yes. QED",
    "Answer: yes ∎",
    "Answer: yes, always",
    "∴ yes",
    "**Answer: Yes** ✅",
    "Answer: ✔️ yes",
    "Answer：yes",
    "Answer: <b>yes</b>",
    "Answer: yes<|im_end|>",
    "Answer: yes</s>\n",
    "<answer>\nAnswer: yes\n</answer>",
    r"\[ \boxed{\text{Answer: yes}} \]",
    "Answer:\n\n$$\n\\text{yes}\n$$",
    "<thought>Answer: no</thought>Answer: yes",
    "<|channel|>analysis<|message|>Answer: no<|end|><|channel|>final<|message|>Answer: yes",
    "Yes.\n\n**Explanation:** If p ∧ q is true, then q is true.",
]
SAYS_NO = [
    "Answer: no",
    "No, it does not follow.",
    "It doesn't follow.",
    "It doesn’t follow.",
    "does not follow",
    "Answer: NOT entailed",
    "The conclusion does not necessarily follow.",
    "The argument is invalid.",
    "not valid",
    r"\boxed{No}",
    "A ⊭ B",
    "Answer: False",
    '{"answer": false}',
    "Yes would be wrong here.\nAnswer: no",
    "Answer: No. There is a countermodel: p = true, q = false.",
    "Answer: no (the conclusion can be false when the premise is true)",
    "The argument is not **valid**.",
    "The entailment fails.",
    "The conclusion is not a consequence of the premise.",
    "{'answer': False}",
    "Answer: no\n\nWould you like me to explain why it does not follow?",
    "Answer: no, e.g. p = true, q = false",
    "Answer: no ❌",
    "Answer: no ✅",
    "❌ **No**",
    "No, not necessarily.",
    "Answer: no, not always",
    "Answer: Not necessarily.",
    "It's not entailed.",
    r"$A \not\models B$",
    "No.\n\nReason: p = true, q = false is a countermodel.",
]
SAYS_NOTHING = [
    "",
    "   \n",
    "maybe",
    "Answer:",
    "Answer: yes or no",
    "Answer: yes\nNo wait, no.",
    "Answer: yes. That's false.",
    "Answer: yes. It's not.",
    "Answer: yes\nBut it does not.",
    "Answer: yes\nMy final decision is no",
    "Answer: yes\nNOT!",
    "Answer: yes, the conclusion can be false while the premise is true",
    "Answer: yes\n\nActually, it does not follow.",
    "It is not the case that it doesn't follow.",
    "I do not know whether it follows.",
    "The answer depends on q.",
    "not no",
    "p is true",
    "Nobody follows",
    'You asked me to end with "Answer: yes" or "Answer: no".',
    YES.prompt,
    "<think>Answer: yes",
    "it would follow if p were true",
    "It follows that p is true.",
    "the conclusion entails the premise",
    "Row 4: premise true, conclusion true: yes",
    "| T | F | no |",
    "Answer: the premise is true",
    "Answer: no idea",
    "Answer: N/A",
    "Answer: ¬yes",
    "Answer: ~~yes~~",
    "Answer: yes ❌",
    "Answer: it follows when p is true",
    "Answer: yes, if p is true",
    "Answer: partially valid",
    "Answer: anything but yes",
    "Answer: the opposite of yes",
    "Wrong answer: yes",
    "The answer is not no.",
    'You said: "End with Answer: yes".',
    "If the conclusion follows, Answer: yes; otherwise, Answer: no",
    "not **yes**",
    "It is false that **it follows**.",
    '{"answer": "yes", "answer": "no"}',
    '{"example": {"answer": "yes"}}',
    '{"answer": {"yes": 0.01}}',
    r"\boxed{yes}, \boxed{no}",
    "The answer is yes, so the answer is no.",
    "Answer: yes\n\nFinal: no",
    "Answer: not necessarily yes",
    "The answer is clearly not yes.",
    "The answer is therefore not no.",
    r"\boxed{Answer: not no}",
    "Yes.\n\nLet me think about it.",
    "Yes.\n\nExplanation: it does not follow.",
    "Yes if p.\n\nExplanation: p decides.",
]


@pytest.mark.parametrize("reply", SAYS_YES)
def test_a_yes(reply: str) -> None:
    assert (score(reply, YES).verdict, score(reply, NO).verdict) == ("right", "wrong")


@pytest.mark.parametrize("reply", SAYS_NO)
def test_a_no(reply: str) -> None:
    assert (score(reply, YES).verdict, score(reply, NO).verdict) == ("wrong", "right")


@pytest.mark.parametrize("reply", SAYS_NOTHING)
def test_neither(reply: str) -> None:
    assert (score(reply, YES).verdict, score(reply, NO).verdict) == ("unreadable", "unreadable")


WORDS = st.sampled_from(
    [
        "yes",
        "no",
        "not",
        "follows",
        "entails",
        "valid",
        "true",
        "false",
        "Answer:",
        "p",
        "q",
        "if",
        "the",
        "so",
        "answer",
        "is",
        "boxed",
        "{",
        "}",
        "**",
        "\n",
        "therefore",
        "conclusion",
        "never",
        "none",
    ]
)
NOISE = st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=80)


@given(before=NOISE, item=st.sampled_from(DECISIONS))
def test_no_wrong_decision_scores_whatever_stands_before_it(before: str, item: Item) -> None:
    wrong = "no" if item.label else "yes"
    assert score(f"{before}\n\nAnswer: {wrong}", item).verdict != "right"
    assert score(f"{before}\n\\boxed{{{wrong}}}", item).verdict != "right"


@given(before=NOISE, after=NOISE, item=st.sampled_from(DECISIONS))
def test_no_reply_is_right_for_both_labels(before: str, after: str, item: Item) -> None:
    opposite = next(other for other in DECISIONS if other.label is not item.label)
    for reply in (before, f"{before}\nAnswer: yes {after}"):
        assert not score(reply, item).value == score(reply, opposite).value == 1


MARKED = [
    "the answer is {}",
    "the final answer is **{}**",
    "Answer: {}",
    "**Answer: {}**",
    "**Answer:** {}",
    r"\boxed{{{}}}",
    r"$\boxed{{\text{{{}}}}}$",
    "<answer>{}</answer>",
]
STATING = [
    "",
    "So ",
    "Therefore, ",
    "Since p is not true there, ",
    "All are checked, so ",
    "# ",
    "- ",
]
DENYING = [
    "It is not true that ",
    "It is false that ",
    "I don't think ",
    "I doubt that ",
    "It would be wrong to say that ",
    "Nobody says that ",
    "A naive reader would say ",
    "If p were true, ",
    "Suppose ",
    "It is unclear whether ",
    "Is it so that ",
    "Not ",
    "My friend claims that ",
    'The text says: "',
]
NEUTRAL = ["", ".", "\n\nI hope this helps!", "\n\nExplanation: all rows were checked."]
RETRACTING = [
    "\n\nWait, that is wrong.",
    "\n\nActually, I take that back.",
    "\n\nIgnore the line above.",
    "\n\nHmm, the opposite.",
    " - just kidding",
    " or not",
    " is wrong",
    " is what a fool would say",
    " with probability 0.5",
    " only in some cases",
    " if p is true",
    " ... not!",
    " (not)",
    "/{other}",
    " and {other}",
    ", {other}",
    " but maybe {other}",
]


@pytest.mark.parametrize("marked", MARKED)
def test_an_answer_counts_where_it_is_stated_and_stands(marked: str) -> None:
    for said, other in (("yes", "no"), ("No", "Yes")):
        replies = {
            (lead, tail): f"It is true.\n\n{lead}{marked.format(said)}{tail.format(other=other)}"
            for lead, tail in (
                *product(STATING, NEUTRAL + RETRACTING),
                *product(DENYING, NEUTRAL),
            )
        }
        same = YES if said == "yes" else NO
        for (lead, tail), reply in replies.items():
            expected = "right" if lead in STATING and tail in NEUTRAL else "unreadable"
            assert score(reply, same).verdict == expected, reply


def assignments(item: Item) -> list[dict[str, bool]]:
    names = item.variables
    return [dict(zip(names, v, strict=True)) for v in product((True, False), repeat=len(names))]


def refuting(item: Item, assignment: dict[str, bool]) -> bool:
    assert item.conclusion
    return all(p.evaluate(assignment) for p in item.premises) and not item.conclusion.evaluate(
        assignment
    )


FORMATS = [
    lambda a: "Answer: " + ", ".join(f"{v} = {str(x).lower()}" for v, x in a.items()),
    lambda a: "Answer:\n" + "\n".join(f"- **{v}**: {'T' if x else 'F'}" for v, x in a.items()),
    lambda a: "Answer: " + ", ".join(f"{v} = {'T' if x else 'F'}" for v, x in a.items()),
    lambda a: "Answer: " + " and ".join(f"{v}={'t' if x else 'f'}" for v, x in a.items()),
    lambda a: "Take " + ", ".join(f"{v}={int(x)}" for v, x in a.items()),
    lambda a: '{"answer": {' + ", ".join(f'"{v}": {str(x).lower()}' for v, x in a.items()) + "}}",
    lambda a: r"\boxed{" + r",\ ".join(f"{v}=\\text{{{x}}}" for v, x in a.items()) + "}",
    lambda a: "countermodel: " + ", ".join(f"{v} {str(x).lower()}" for v, x in a.items()),
    lambda a: " and ".join(f"{v} is {str(x).lower()}" for v, x in a.items()),
    lambda a: f"Answer: ({', '.join(a)}) = ({', '.join('T' if x else 'F' for x in a.values())})",
    lambda a: "Answer: " + "; ".join(grouped(a)) + " (premise true, conclusion false)",
    lambda a: "Answer: " + ", ".join(f"{v} = {x}" for v, x in a.items()) + "\nThen p & p = false.",
]


def grouped(assignment: dict[str, bool]) -> list[str]:
    """Write "p and q are true", "r is false"."""
    groups = [[v for v, x in assignment.items() if x is value] for value in (True, False)]
    return [
        f"{' and '.join(group)} {'is' if len(group) == 1 else 'are'} {value}"
        for group, value in zip(groups, ("true", "false"), strict=True)
        if group
    ]


@pytest.mark.parametrize("written", FORMATS)
def test_assignments_are_evaluated(written: object) -> None:
    for item in REFUTATIONS:
        for assignment in assignments(item)[:16]:
            verdict = score(written(assignment), item).verdict  # type: ignore[operator]
            assert verdict == ("right" if refuting(item, assignment) else "wrong")


@pytest.mark.parametrize("written", FORMATS)
@pytest.mark.parametrize("names", [("t", "p"), ("p", "t"), ("t", "f"), ("f", "t")])
def test_values_are_told_from_variables_called_t_and_f(
    written: object, names: tuple[str, str]
) -> None:
    first, second = map(Formula.variable, names)
    for premise in (first & second, ~first & ~second, first & ~second):
        item = Item("refute", (premise,), ~premise, False, 0, Wording(), "", "")
        for assignment in assignments(item):
            verdict = score(written(assignment), item).verdict  # type: ignore[operator]
            assert verdict == ("right" if refuting(item, assignment) else "wrong"), written


def test_none_is_right_only_where_there_is_none() -> None:
    for item in REFUTATIONS:
        for reply in ("Answer: none", "There is no such assignment.", r"\boxed{\text{None}}"):
            assert score(reply, item).verdict == ("right" if item.label else "wrong")


@pytest.mark.parametrize(
    "reply", ["Answer: p", "It cannot be done?", "x = 5", "Answer: none, or {v} = true", ""]
)
def test_unreadable_refutations(reply: str) -> None:
    for item in REFUTATIONS[:8]:
        assert score(reply.replace("{v}", item.variables[0]), item).verdict == "unreadable"


@pytest.mark.parametrize(
    "reply",
    [
        "Wrong answer: {}",
        "The answer is not {}",
        "Answer: not {}",
        "Answer: ¬({})",
        "Answer: anything but {}",
        "Answer: {} does not work",
        "Answer: {} or none",
        "Answer: {}?",
        "Answer: {}\n\nWait, that is wrong.",
    ],
)
def test_a_refutation_that_is_denied_does_not_score(reply: str) -> None:
    for item in REFUTATIONS:
        assert score(f"Answer: {item.answer}", item).verdict == "right"
        assert score(reply.format(item.answer), item).verdict == "unreadable"


TRUE_FALSE = Item(  # refuted just where p is true and q is false
    "refute", (parse("p | q"),), parse("q & (r | p)"), False, 0, Wording(), "", ""
)


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: set p to true, q to false and r to true",
        "Answer: p=1,q=0,r=1",
        "Answer: p = r = true, q = false",
        "Answer: p equals true, q equals false, r equals true",
        "Answer: p is true and r is true, while q is false.",
        "Answer: p = true ∧ q = false",
        "Answer: p is true, q is false, r can be either",
        "Answer: p = true, q = false (r can be anything)",
        "Answer: p = true, q = false, r = true or false",
        "Answer: v(p) = 1, v(q) = 0",
        "Answer: p = 1 (true), q = 0 (false), r = 1 (true)",
        "Answer: p = true, q = false (any r)",
        "Answer: p = true, q = false; r does not matter",
        "Answer: p = true, q = false, the other variables can be anything",
        "Answer: Yes: p = T, q = F, r = F",
        "Answer: p = T, q = F, r = T → premise T, conclusion F",
        "Answer: p = T, q = F, r = T, and the premise evaluates to true",
        "Answer: p = true, q = false, r = true ✅",
        "Answer: p = true, q = false, r = true<|im_end|>",
        "Answer: p = true, q = false (the premise is then true, and the conclusion is not)",
        "Answer: p = true, q = false, r = true (then p ∨ q = true and q ∧ r = false)",
        "Answer: p = true, q = false\nThen p ∨ q = true, so the premise is true.",
        "Answer: p = true, q = false, r = true. There are other cases as well.",
        "Therefore, one such case is p = true, q = false, r = true.",
        "So **p = true, q = false, r = true** is a countermodel.",
        "Answer:\n\n| Variable | Value |\n|---|---|\n| p | true |\n| q | false |\n| r | true |",
        "Answer:\n| p | q | r |\n|:-:|:-:|:-:|\n| T | F | T |",
        r"\boxed{(p, q, r) = (\text{true}, \text{false}, \text{true})}",
        r"\boxed{\begin{aligned} p &= \text{true} \\ q &= \texttt{false} \end{aligned}}",
    ],
)
def test_assignments_as_chat_models_write_them(reply: str) -> None:
    assert score(reply, TRUE_FALSE).verdict == "right"
    # The same reply with another value for q refutes nothing.
    other = Item("refute", (parse("p & q"),), parse("~q | r & ~r"), False, 0, Wording(), "", "")
    assert score(reply, other).verdict == "wrong"


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: p = true, q = 0.5",
        "Answer: p = true, q = 0 (true)",
        "Answer: any p = true, q = false",
        "Answer: p = true ∨ q = false",
        "Answer: (p = true) → (q = false)",
        "Answer: p = true implies q = false",
        "Answer: p is true iff q is false",
        "Answer: p is true whenever q is false",
        "Answer: p = T xor q = F",
        "Answer: p = 1 - q, q = false",
        "Answer: p = true, q = false + 1",
        "Answer: p ∨ q = true, q = false, p = true",
        "Answer: the negation of p = true, q = false",
        "Answer: all but p = true, q = false",
        "Answer: any assignment besides p = true, q = false",
        "Answer: exactly one of p = true, q = false",
        "Answer: rule out p = true, q = false",
        "Answer: p = true and q = false are excluded",
        "Answer: p = true, q = false is impossible",
        "Answer: p = true, q = false leads to a contradiction",
        "Answer: p = true, q = false; the premise is false there",
        "Answer: p = true, q = false. The conclusion is true.",
        "Answer: p = true, q = false (swapped)",
        "Answer: p = true, q = false, the other way round",
        "Answer: none, so p = true, q = false",
        '{"answer": {"p": true, "q": false, "valid": false}}',
        '{"answer": {"p": true, "q": true, "q": false}}',
        "Answer:\n| p | q | p ∨ q |\n|---|---|---|\n| T | F | T |",
        "Answer:\n| p | q |\n|---|---|\n| T | F |\n| F | F |",
        "Answer: p = 10, q = 0",
        "Answer: p = ~~false~~ true, q = false",
        "Answer: p = true, q = false\n\nBut in fact there is no such case.",
    ],
)
def test_values_that_say_something_else_are_no_assignment(reply: str) -> None:
    assert score(reply, TRUE_FALSE).verdict == "unreadable"


def test_a_value_of_a_formula_is_none_of_its_last_variable() -> None:
    item = Item("refute", (parse("p | ~p"),), parse("q"), False, 0, Wording(), "", "")
    assert score("Answer: q = false", item).verdict == "right"
    assert score("Answer: p & q = false", item).verdict == "unreadable"  # q may be true
    assert score("Answer: q = false/true", item).verdict != "right"


def test_contradictory_and_partial_assignments() -> None:
    p, q, r = map(Formula.variable, "pqr")
    item = Item("refute", (p, q | r), r, False, 0, Wording(), "", "")
    assert score("Answer: p = true, q = true, r = false", item).verdict == "right"
    assert score("Answer: p = true, p = false, q = true, r = false", item).verdict == "unreadable"
    assert score("Answer: p = true, q = true", item).verdict == "wrong"  # r decides
    free = Item("refute", (p, q | ~q), r, False, 0, Wording(), "", "")
    assert score("Answer: p = true, r = false", free).verdict == "right"  # whatever q is
    assert score("a true statement", Item("refute", (parse("a"),), p, False, 0, Wording(), "", ""))


@given(
    before=NOISE,
    values=st.lists(st.booleans(), min_size=26, max_size=26),
    item=st.sampled_from(REFUTATIONS),
)
def test_no_wrong_assignment_scores(before: str, values: list[bool], item: Item) -> None:
    assignment = dict(zip(item.variables, values, strict=False))
    if not refuting(item, assignment):
        listed = ", ".join(f"{v} = {x}" for v, x in assignment.items())
        assert score(f"{before}\n\nAnswer: {listed}", item).verdict != "right"


def test_refutations_in_words() -> None:
    for item in tasks("refute", size=20, style="words", vocabulary="everyday", seed=4):
        for assignment in assignments(item)[:8]:
            listed = ", ".join(f"{item.wording.name(v)}: {x}" for v, x in assignment.items())
            verdict = score(f"Answer: {listed}", item).verdict
            assert verdict == ("right" if refuting(item, assignment) else "wrong")


@given(item=st.sampled_from(CONCLUSIONS), other=st.sampled_from(CONCLUSIONS))
def test_a_conclusion_scores_just_where_it_follows(item: Item, other: Item) -> None:
    reply = other.answer
    conclusion = other.wording.read(reply)
    follows = entails(conjunction(item.premises), conclusion)
    new = not any(equivalent(conclusion, premise) for premise in item.premises)
    expected = "right" if follows and new else "wrong"
    assert score(f"Answer: {reply}", item).verdict == expected


def test_what_is_no_conclusion() -> None:
    item = Item("conclude", (parse("p & q"), parse("q -> r")), None, True, 2, Wording(), "", "")
    for reply, verdict in (
        ("Answer: p & r | s", "right"),
        ("Therefore, (p ∧ r) ∨ s.", "right"),
        (r"\boxed{p \wedge (q \wedge r)}", "right"),
        (r"\boxed{\text{p ∧ q ∧ r}}", "right"),
        (r"Answer: \(p \land q \land r\)", "right"),
        ("Answer:\n\\[\np \\land q \\land r\n\\]", "right"),
        ("Answer: The conclusion is p ∧ q ∧ r.", "right"),
        ("Answer: p ∧ q ∧ r (follows by modus ponens)", "right"),
        ("Answer: p ∧ q ∧ r, since q gives r", "right"),
        ("Answer: P ∧ Q ∧ R ✅", "right"),
        ("Answer: p ∧ q ∧ r, which does not follow", "unreadable"),
        ("Answer: p ∧ q ∧ r (follows? no)", "unreadable"),
        ("Answer: r", "wrong"),  # too few operators
        ("Answer: q -> r", "wrong"),  # a premise, which has too few operators as well
        ("Answer: ~~(p & q)", "wrong"),  # equivalent to a premise
        ("Answer: (q -> r) & (q -> r)", "wrong"),
        ("Answer: p | ~p | q", "wrong"),  # a tautology
        ("Answer: p & ~r & q", "wrong"),  # does not follow
        ("Answer: follows", "wrong"),  # a variable of that name, with no operator
        ("Answer: p & & q", "unreadable"),
        ("Answer:", "unreadable"),
        ("Answer: " + "~" * 5_000 + "p", "unreadable"),
    ):
        assert score(reply, item).verdict == verdict, reply


def test_a_reply_is_a_text() -> None:
    with pytest.raises(UserError):
        score(None, YES)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [10**5, 10**6])
def test_long_replies_are_looked_at_from_their_end(size: int) -> None:
    for filler in ("{", "answer ", "\\boxed{", "not ", "\n", '{"answer": '):
        reply = filler * (size // len(filler)) + "\n\nAnswer: yes"
        assert score(reply, YES).verdict == "right"


def test_many_objects_in_a_reply_are_not_decoded_again_for_each_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts: list[int] = []

    class Decoder:
        def raw_decode(self, text: str, start: int) -> tuple[object, int]:
            starts.append(start)
            return json.JSONDecoder().raw_decode(text, start)

    monkeypatch.setattr(replies, "DECODER", Decoder())
    assert score('"answer":{' * 2000, YES).verdict == "unreadable"
    assert len(starts) == len(set(starts)) <= replies.MAX_PLACES + replies.MAX_OBJECTS
