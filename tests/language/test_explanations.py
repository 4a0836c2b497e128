"""Scoring: a right answer with an ordinary explanation is right, before and after it."""

import pytest

from possibleworlds.language import Item, Wording, score
from possibleworlds.logic import parse

PREMISES, CHAIN = (parse("p -> q"), parse("q -> r")), parse("p -> r")
VALID = Item("decide", PREMISES, CHAIN, True, 0, Wording(), "", "")
IRREFUTABLE = Item("refute", PREMISES, CHAIN, True, 0, Wording(), "", "")
INVALID = Item("decide", (parse("p -> q"),), parse("q -> p"), False, 0, Wording(), "", "")
REFUTED = Item("refute", (parse("p & (q | r)"),), parse("q"), False, 0, Wording(), "", "")
CONCLUDE = Item("conclude", PREMISES, None, True, 1, Wording(), "", "")
VALUES = "p = true, q = false, r = true"

REASONS = [
    "Suppose the premises are true and the conclusion is false. Then p is true and r is false. "
    "So q is true, and r is true: a contradiction.",
    "Assume, for contradiction, that the premises are true and the conclusion is false. "
    "That is impossible.",
    "It is not possible for the premises to be true and the conclusion false.",
    "It is impossible for the premises to be true while the conclusion is false.",
    "There is no way for the premises to be true and the conclusion false.",
    "There is no row where the premises are true but the conclusion is false.",
    "I looked for a counterexample and found none.",
    "We searched for a countermodel but none exists.",
    "There isn't a countermodel.",
    "Thus no counterexample exists.",
    "Therefore no counterexample can be found.",
    "No row is a countermodel.",
    "No assignment violates this.",
    "A countermodel would need p = true and r = false, but then q has no value.",
    "The only potential counterexample would be p = T, r = F. But then q must be true and false.",
    "Since a counterexample would require p = T and r = F, which forces a false premise, "
    "none exists.",
    "For the conclusion to be false, p must be true and r false, which would violate premise 1 "
    "or premise 2.",
    "If p = T and r = F, the conclusion is false, but then premise 1 or premise 2 is false.",
    "The conclusion can only be false if p is true and r is false, and then a premise is false.",
    "If the conclusion were false, p would be true and r false.",
    "To refute it, we would need p = true and r = false. But p = true forces q = true.",
    "The argument cannot be refuted.",
    "Is there any case with true premises and a false conclusion? No.",
    "Can the conclusion be false while the premises are true? No.",
    "It is impossible to have true premises and a false conclusion.",
    "To falsify the conclusion, we need p = T and r = F; but then a premise is violated.",
    "Every attempt to find a counterexample leads to a contradiction.",
    "Suppose p → r is false. Then p is true and r is false. By premise 1, q is true. "
    "By premise 2, r is true. Contradiction.",
    "Even if p is false, the conclusion holds vacuously.",
    "By hypothetical syllogism, p → r holds.",
    "If p is true, q is true by premise 1, so r is true by premise 2.",
    "In all cases where the premises hold, the conclusion holds too.",
    "The truth of the premises guarantees the truth of the conclusion.",
    "This is valid: it is not a fallacy.",
]


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_for_a_yes(reason: str) -> None:
    for reply in (f"Answer: yes\n\n{reason}", f"{reason}\n\nAnswer: yes"):
        assert score(reply, VALID).verdict == "right"


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_for_none(reason: str) -> None:
    for reply in (f"Answer: none\n\n{reason}", f"{reason}\n\nAnswer: none"):
        assert score(reply, IRREFUTABLE).verdict == "right"


@pytest.mark.parametrize(
    "reason",
    [
        "Suppose p = T and r = F: the premises are true and the conclusion is false.",
        "I looked for a counterexample and found one.",
        "We searched for a countermodel, and p = T, r = F is one.",
        "It would be wrong to say that no row is a countermodel: row 2 is a countermodel.",
        "A possible counterexample: p = T, r = F.",
        "A counterexample must exist.",
        "If p = T, the conclusion is false, and neither premise is false.",
        "To refute it, we need p = T and r = F, which is possible.",
        "A counterexample would need p = T, r = F. Such a case exists.",
        "A counterexample would be p = T, q = T, r = F.",
        "A countermodel needs p = T, r = F, and row 3 is one.",
        "Suppose the premises are true and the conclusion is false. This happens when r = F.",
        "There isn't a countermodel in the first half, but there is one in the second.",
        "It cannot be that it follows.",
        "Use p = T to refute it.",
        "Row 2 violates this.",
        "The second row violates the argument.",
        "It is a fallacy.",
        "Does it follow? No.",
        "Is that right? No.",
        "Is there any case with true premises and a false conclusion? Yes.",
        "If p = T, the conclusion is false.",
        "There isn't a proof, and there is a countermodel.",
    ],
)
def test_reasons_that_say_the_opposite(reason: str) -> None:
    assert score(f"Answer: yes\n\n{reason}", VALID).verdict == "unreadable"


@pytest.mark.parametrize(
    "reason",
    [
        "\n\nHere r, rather than q, makes the disjunction true.",
        "\n\nThe disjunction can be satisfied by r instead of q.",
        "\n\nSetting r = false would make the premise false.",
        "\n\nOtherwise the premise would be false.",
        "\n\nIf q were true, the conclusion would be true.",
        "\n\nActually, this is the only countermodel.",
        " (unique)",
        ". If r were false instead, the premise would fail.",
    ],
)
def test_contrasts_after_an_assignment(reason: str) -> None:
    assert score(f"Answer: {VALUES}{reason}", REFUTED).verdict == "right"


@pytest.mark.parametrize(
    "reason",
    [
        "\n\nIf r were true, the premise would be false.",
        "\n\nHad I set q = true, it would be right.",
        "\n\nThe right answer would be p = true, q = true, r = true.",
        "\n\nThis would make the premise false.",
        "\n\nSetting p = true would make the premise false.",
        "\n\nRather than this, p = false.",
        "\n\nInstead, p = false.",
        "\n\nInstead of p = true, take p = false.",
        "\n\nActually, the only countermodel is p = false, q = true, r = true.",
        "\n\nActually, r = false would be right.",
        ". If it were unique, I would be sure.",
    ],
)
def test_retractions_after_an_assignment(reason: str) -> None:
    assert score(f"Answer: {VALUES}{reason}", REFUTED).verdict == "unreadable"


@pytest.mark.parametrize("language", ["", "json", "python", "text"])
def test_an_assignment_in_a_fenced_block(language: str) -> None:
    listed = '{"p": true, "q": false, "r": true}'
    for reply in (f"```{language}\n{listed}\n```", f"Here:\n```{language}\n{listed}\n```"):
        assert score(reply, REFUTED).verdict == "right"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Answer: yes (chain rule)", "yes"),
        ("Answer: yes, definitely", "yes"),
        ("Answer: no, definitely not.", "no"),
        ("So the answer should be **yes**.", "yes"),
        ("I'm confident that the answer is yes.", "yes"),
        ("I am certain the answer is no.", "no"),
        ("Answer: yes, definitely not", ""),
        ("Answer: yes, certainly if p", ""),
        ("I'm not sure that the answer is yes.", ""),
        ("I am sure that nobody says the answer is yes.", ""),
        ("If p, the answer should be yes.", ""),
        ("Perhaps the answer should be yes.", ""),
        ("Answer: no\n\nIf p were true, the answer should be yes.", ""),
    ],
)
def test_how_sure_an_answer_is(reply: str, said: str) -> None:
    assert score(reply, VALID).answer == score(reply, INVALID).answer == said


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Answer: p → r. It is true in 6 of 8 cases, and the premises in 4.", "right"),
        ("Answer: p → r\n\nDoes it follow from premise 1 alone? No (p = T, q = T).", "right"),
        ("Answer: p → r\n\nDoes it follow from the premises? No.", "unreadable"),
        ("Answer: p → r. It is true in no case.", "unreadable"),
    ],
)
def test_reasons_for_a_conclusion(reply: str, verdict: str) -> None:
    assert score(reply, CONCLUDE).verdict == verdict


def test_then_may_be_left_out() -> None:
    names = {"p": "Emma speaks Greek", "q": "it rains", "r": "the lake is frozen"}
    item = Item("conclude", PREMISES, None, True, 1, Wording("words", names), "", "")
    assert score("Answer: If Emma speaks Greek, the lake is frozen.", item).verdict == "right"
    assert score("Answer: If the lake is frozen, Emma speaks Greek.", item).verdict == "wrong"


@pytest.mark.parametrize(
    "reason",
    [
        "It can be refuted.",
        "Is there a countermodel? Yes.",
        "p = true, q = true, r = false is one.",
        "I looked for one and found p = T, q = T, r = F.",
        "A counterexample would be p = T, q = T, r = F.",
    ],
)
def test_none_and_yet_one(reason: str) -> None:
    assert score(f"Answer: none\n\n{reason}", IRREFUTABLE).verdict == "unreadable"
