"""Scoring: a right answer with an ordinary explanation is right, before and after it."""

import pytest

from possibleworlds.language import Item, Wording, score
from possibleworlds.logic import parse

PREMISES, CHAIN = (parse("p -> q"), parse("q -> r")), parse("p -> r")
VALID = Item("decide", PREMISES, CHAIN, True, 0, Wording(), "", "")
IRREFUTABLE = Item("refute", PREMISES, CHAIN, True, 0, Wording(), "", "")

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
