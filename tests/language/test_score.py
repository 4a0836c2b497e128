"""Scoring: right answers in whatever dress, and no reward for anything else."""

import json
from functools import reduce
from itertools import product
from operator import and_, or_

import pytest
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.errors import UserError
from possibleworlds.language import Item, Wording, objects, replies, score, tasks
from possibleworlds.language.item import Kind, conjunction
from possibleworlds.logic import Formula, entails, parse

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
    alone = any(entails(premise, conclusion) for premise in item.premises)
    equivalent = follows and entails(conclusion, conjunction(item.premises))
    known = set(conclusion.variables) <= set(item.variables)
    expected = "right" if follows and not (alone or equivalent) and known else "wrong"
    assert score(f"Answer: {reply}", item).verdict == expected


def test_what_is_no_conclusion() -> None:
    item = Item("conclude", (parse("p & q"), parse("q -> r")), None, True, 2, Wording(), "", "")
    for reply, verdict in (
        ("Answer: p & r & p", "right"),
        ("Therefore, (p ∧ r) ∧ p.", "right"),
        ("Answer: p & r | r", "wrong"),  # true in four cases, the premises in one
        ("Answer: p ∧ q ∧ r", "wrong"),  # both premises again
        ("Answer: (p & q) & (q -> r)", "wrong"),
        ("Answer: p & r | s", "wrong"),  # a variable of its own
        ("Answer: (p & q) | r", "wrong"),  # follows from one premise alone
        ("Answer: (p ∧ r ∧ r) ^ p", "unreadable"),  # xor to some, conjunction to others
        ("Answer: p ⊕ ~r", "unreadable"),
        ("Answer: p ∧ r ∧ r, which is wrong", "unreadable"),
        ("Answer: p ∧ r ∧ r, which is incorrect, use p ∧ ¬r instead", "unreadable"),
        ("Answer: p ∧ r ∧ r; this is wrong", "unreadable"),
        ("Answer: p ∧ r ∧ r. This is a mistake.", "unreadable"),
        ("Answer: (p & r) & r\nor p & ~r & q", "unreadable"),
        (r"\boxed{p \wedge (r \wedge r)}", "right"),
        (r"\boxed{\text{p ∧ r ∧ r}}", "right"),
        (r"Answer: \(p \land r \land r\)", "right"),
        ("Answer:\n\\[\np \\land r \\land r\n\\]", "right"),
        ("Answer: The conclusion is p ∧ r ∧ r.", "right"),
        ("Answer: p ∧ r ∧ r (follows by modus ponens)", "right"),
        ("Answer: p ∧ r ∧ r, since q gives r", "right"),
        ("Answer: P ∧ R ∧ R ✅", "right"),
        ("Answer: p ∧ r ∧ r, which does not follow", "unreadable"),
        ("Answer: p ∧ r ∧ r (follows? no)", "unreadable"),
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

    monkeypatch.setattr(objects, "DECODER", Decoder())
    assert score('"answer":{' * 2000, YES).verdict == "unreadable"
    assert len(starts) == len(set(starts)) <= replies.MAX_PLACES + objects.MAX_OBJECTS


def test_a_single_premise_may_be_weakened_but_not_repeated() -> None:
    item = Item("conclude", (parse("p & (q | r)"),), None, True, 2, Wording(), "", "")
    assert score("Answer: p | (q & q)", item).verdict == "right"
    assert score("Answer: (p & (q | r)) | q", item).reason == "more than 2 operators"
    assert score("Answer: ~~(p & (r | q))", item).verdict == "wrong"
    assert score("Answer: p | q | ~q", item).verdict == "wrong"
    assert score("Answer: p | q | r", item).reason == "true in more than 3/4 of all cases"


@pytest.mark.parametrize("premises", [1, 2])
def test_conclusions_that_take_no_logic_are_not_right(premises: int) -> None:
    for item in tasks("conclude", size=40, seed=1, level=4, premises=premises):
        v = [Formula.variable(name) for name in item.variables]
        together = reduce(and_, item.premises)
        extremes = reduce(and_, v) | ~reduce(or_, v)
        for formula in (together | extremes, together | v[0], reduce(or_, v), ~reduce(and_, v)):
            if len(v) > 2:
                assert score(f"Answer: {formula}", item).verdict == "wrong"
        assert score(f"Answer: {item.answer}", item).verdict == "right"


def test_conclusions_are_decided_in_time() -> None:
    names = [f"x{i}" for i in range(40)]
    equal = " <-> ".join(names), " <-> ".join(reversed(names))
    assert score(f"Answer: ({equal[0]}) <-> ({equal[1]})", CONCLUSIONS[0]).verdict == "wrong"


@pytest.mark.parametrize("kind", ["decide", "refute"])
def test_a_repeated_prompt_with_examples_does_not_count(kind: Kind) -> None:
    for item in tasks(kind, size=12, seed=0, shots=2):
        assert score(item.prompt, item).verdict == "unreadable"
        assert score(f"{item.prompt}\n\nAnswer: {item.answer}", item).verdict == "right"
        other = {"yes": "no", "no": "yes", "none": "p = true"}.get(item.answer, "none")
        assert score(f"{item.prompt}\n\nAnswer: {other}", item).verdict != "right"


def test_an_answer_before_another_question_counts_only_if_that_is_a_question() -> None:
    reread = "First attempt.\nAnswer: yes\n\nPremise: let me re-read the premise.\n\nAnswer: no"
    assert score(reread, NO).verdict == "right"
    assert score(reread, YES).verdict == "wrong"
    restated = "**Answer:**\n\nPremises:\n1. p & q\nConclusion: q\n\n**Answer: yes**"
    assert score(restated, YES).verdict == "right"


OF_ANOTHER_QUESTION = [
    "Is there a case where the premise is true and the conclusion is false? {}.",
    "Is there a countermodel? **{}**",
    "Can the conclusion be false while the premise is true?\n\n{}.",
    "Question: is there a counterexample? Answer: {}",
    "Is there a countermodel? The answer is {}.",
    "Is the argument invalid? {}.",
    "Invalid: {}",
    "1. yes\n2. {}",
    "It would be wrong to say\nAnswer: {}",
    "Don't say:\nAnswer: {}",
    "The following is false:\n**{}**",
    'It would be wrong to return {{"answer": "{}"}}',
    "It would be wrong to return {{'answer': '{}'}}",
    'Not {{"answer": "{}"}}',
    'The required format is {{"answer": "{}"}}',
    'If it followed, I would print {{"answer": "{}"}}',
    "The claim I reject, " + "p and q and " * 200 + ", is as follows, the answer is {}",
    "Answer: {}\n" + "answer " * 250,
]


@pytest.mark.parametrize("reply", OF_ANOTHER_QUESTION)
@pytest.mark.parametrize("word", ["yes", "no"])
def test_a_word_that_does_not_answer_the_question_does_not_score(reply: str, word: str) -> None:
    for item in (YES, NO):
        assert score(reply.format(word), item).verdict == "unreadable"


@pytest.mark.parametrize(
    "reply",
    [
        "Let me check each row.\n\n1. p = T\n   - Premise: True\n   - Conclusion: True\n"
        "2. p = F\n   - Premise: False\n   - Conclusion: False",
        "p = T, q = T. Premise: T, Conclusion: **False**",
        "I check the rows.\nConclusion: true",
        "I check the rows.\nThe conclusion is **false**",
        "We compute p → q under p = T, q = F.\nT → F = F, so false",
        "Case 1: p is true. Then q is true, so the conclusion holds.",
        "Case 2: p is false. Hence it follows.",
        "When p is true, q is true, so the conclusion holds",
        "The implication p → q holds.\nThe implication holds.",
        "It is not true that:\nit follows",
        "Answer: yes, whenever p is true",
        "Answer: yes, as long as p is true",
        "Answer: yes, in every case except p = q = true",
        "Answer: yes, in all cases but one",
        "Answer: yes, both yes and no",
        "Answer: yes, it isn't",
        "Answer: yes, the conclusion is false",
        "Answer: yes, there is a case in which the premise is true and the conclusion false",
        "Answer: yes, by assumption that p is true",
        "Answer: yes. The conclusion may be false though the premise is true.",
        *(f"Answer: yes\n{other}" for other in ("Corrected: no", "Edit: no", "Alternatively, no")),
        *(f"Answer: yes\n{other}" for other in ("Ans: no", "Answer no", "Strictly speaking no")),
        *(f"Answer: yes\n{other}" for other in ("I don't know.", "Just guessing.")),
        "Answer: no, there is no such case",
        "Answer: no, there is no assignment that makes the premise true and conclusion false",
        "Answer: no, an assignment does not exist",
        "Answer: no. In every case where the premise is true the conclusion is true.",
        "Answer: no\nTherefore the entailment holds.",
        "Answer: no\nHence valid.",
        "Answer: no\nSo it's a valid argument.",
        "Answer: no\nThe premise guarantees the conclusion.",
        "No\n\nExplanation: The premise entails the conclusion",
    ],
)
def test_unfinished_conditional_and_contradictory_decisions(reply: str) -> None:
    for item in (YES, NO):
        assert score(reply, item).verdict == "unreadable"


@pytest.mark.parametrize(
    "reason",
    [
        "The argument is not logically valid.",
        "To be valid, the conclusion would have to be true in every case where the premise is.",
        "In the case p = true, q = false the premise is true and the conclusion is false.",
        "There is a countermodel: p = true, q = false.",
        "The conclusion can be false while the premise is true.",
    ],
)
def test_reasons_for_a_no(reason: str) -> None:
    assert score(f"Answer: no\n\n{reason}", NO).verdict == "right"
    assert score(f"{reason}\n\nAnswer: no", NO).verdict == "right"


@pytest.mark.parametrize(
    "reason",
    [
        "In every case in which the premise is true, the conclusion is true as well.",
        "There is no assignment that makes the premise true and the conclusion false.",
        "The conclusion is false only if p is false, and then the premise is false, too.",
        "By modus ponens, q is true.",
    ],
)
def test_reasons_for_a_yes(reason: str) -> None:
    assert score(f"{reason}\n\nAnswer: yes", YES).verdict == "right"
    if "only if" not in reason:  # after an answer, this may be a condition
        assert score(f"Answer: yes\n\n{reason}", YES).verdict == "right"


@pytest.mark.parametrize(
    "reply",
    [
        "Answer (yes/no): {}",
        "Does the conclusion follow? {}.",
        "So what is the answer?\n\n**{}**",
        "<final_answer>{}</final_answer>",
        "[THINK]The answer is maybe.[/THINK]Answer: {}",
        "◁think▷No.◁/think▷Answer: {}",
        "<reasoning>The answer is no.</reasoning>\n{}",
        "Answer: {}\N{SMILING FACE WITH SMILING EYES}",
        "Answer: \u200b{}\u200b",
        "Answer: {}。",
        "Answer: „{}“",
        r"Answer: \textrm{{{}}}",
        "Valid: {}",
        'Here is the JSON:\n```json\n{{"answer": "{}"}}\n```',
    ],
)
def test_more_ways_to_answer(reply: str) -> None:
    assert score(reply.format("yes"), YES).verdict == "right"
    assert score(reply.format("no"), NO).verdict == "right"
    assert score(reply.format("no"), YES).verdict == "wrong"


GROUPS = [
    "{x} and {y} are {a}, {z} is {b}",
    "{x} and {y} are both {a}, {z} is {b}",
    "{x} and {y} must be {a}, {z} = {b}",
    "{z} is {b}, {x} and {y} are {a}",
    "{x}, {y} = {a}, {z} = {b}",
    "({x}, {y}, {z}) = ({a}, {a}, {b})",
    "({x}, {y}) = ({a}, {a}), {z} = {b}",
    "{x} = {a}\n\n{y} = {a}\n\n{z} = {b}",
    "| {x} | {y} | {z} |\n|---|---|---|\n| {a} | {a} | {b} |",
    "\n\n|   | {x} | {y} | {z} |\n|---|---|---|---|\n| 1 | {a} | {a} | {b} |",
]
NAMES = [("p", "q", "r"), ("p", "t", "f"), ("t", "f", "q"), ("m", "i", "t"), ("f", "p", "t")]


@pytest.mark.parametrize("names", NAMES, ids="".join)
@pytest.mark.parametrize("written", GROUPS)
@pytest.mark.parametrize("values", [("true", "false"), ("false", "true"), ("T", "F"), ("0", "1")])
def test_values_of_several_variables_at_once(
    names: tuple[str, str, str], written: str, values: tuple[str, str]
) -> None:
    x, y, z = names
    reply = "Answer: " + written.format(x=x, y=y, z=z, a=values[0], b=values[1])
    first = values[0] in ("true", "T")
    meant = (first, first, not first)
    for true in product((True, False), repeat=3):
        literals = [
            Formula.variable(v) if is_true else ~Formula.variable(v)
            for v, is_true in zip(names, true, strict=True)
        ]
        case = conjunction(literals)
        verdict = score(reply, Item("refute", (case,), ~case, False, 0, Wording(), "", "")).verdict
        if true != meant:
            assert verdict != "right"
        elif names == ("p", "q", "r") or values == ("true", "false"):
            assert verdict == "right"


PQR = Item("refute", (parse("p & r"),), parse("q"), False, 0, Wording(), "", "")


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: p' = true, r = true, q = false",
        "Answer: -p = true, r = true, q = false",
        "Answer: p = true, q = false, r = true\nBut no assignment works.",
        "Answer: p = true, q = false, r = true\n\nThis makes the premise false.",
        "Answer: p = true, q = false, r = true\nOr p = false, q = true, r = true",
        "Answer: p = true, q = false, r = true\nAnswer 2: p = false, q = true, r = true",
        "Consider p = true, q = false, r = true.\nThen the premise is false.",
        "Answer: none, as p = true, q = false, r = true shows",
        "Answer: none, the case p = true, q = false, r = true refutes it",
        "Answer: none. There are many countermodels.",
        "Answer: none; there are several such cases",
        "Answer: none. All variables false",
        "Answer: none\n\np = true, q = false, r = true works.",
        "Case 1: p is true, so no such case.",
        "Case 1: p is true, so it follows.",
        "Suppose p = true. There is no such case.",
    ],
)
def test_refutations_that_do_not_count(reply: str) -> None:
    follows = Item("refute", (parse("p & q & r"),), parse("q"), True, 0, Wording(), "", "")
    for item in (PQR, follows):
        assert score(reply, item).verdict == "unreadable"


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: " + ", ".join(["p"] * 3_000),
        "Answer: " + " and ".join(["p"] * 3_000),
        "Answer: " + " = ".join(["p"] * 3_000),
        "yes\n" + " \n" * 8_000 + "x",
    ],
    ids=["commas", "and", "equal", "empty lines"],
)
def test_a_model_in_a_loop_is_soon_scored(reply: str) -> None:
    assert score(reply, PQR).verdict == "unreadable"
    assert score(reply, YES).verdict == "unreadable"
