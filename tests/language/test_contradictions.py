"""Scoring: a reply that contradicts itself, or answers something else, is not right by luck."""

import pytest

from possibleworlds.language import Item, Wording, score
from possibleworlds.language.item import Kind
from possibleworlds.logic import parse


def item(kind: Kind, premises: list[str], conclusion: str | None, label: bool) -> Item:
    parsed = parse(conclusion) if conclusion else None
    return Item(kind, tuple(map(parse, premises)), parsed, label, 1, Wording(), "", "")


ITEMS = {
    "valid": item("decide", ["p -> q", "q -> r"], "p -> r", True),
    "invalid": item("decide", ["p -> q"], "q -> p", False),
    "irrefutable": item("refute", ["p -> q", "q -> r"], "p -> r", True),
    "refutable": item("refute", ["(p -> q) & (q | r)"], "q -> p", False),
    "conclude": item("conclude", ["p -> q", "q -> r"], None, True),
}


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("valid", '{"answer": "yes", "valid": false}'),
        ("valid", '{"follows": "no", "answer": "yes"}'),
        ("valid", '{"answer": "yes", "invalid": true}'),
        ("valid", '{"answer": "yes", "conclusion_follows": false}'),
        ("valid", '{"answer": "yes", "countermodel_exists": true}'),
        ("valid", '{"answer": "yes", "premises_entail_conclusion": false}'),
        ("valid", '{"verdict": "invalid", "answer": "yes"}'),
        ("valid", "{'answer': 'yes', 'valid': False}"),
        ("valid", "{'valid': False, 'answer': 'yes'}"),
        ("invalid", '{"valid": true, "answer": "no"}'),
        ("irrefutable", '{"answer": "none", "exists": true}'),
        ("irrefutable", '{"answer": "none", "p": true, "q": true, "r": false}'),
        ("irrefutable", '{"p": true, "q": true, "r": false, "answer": "none"}'),
        ("irrefutable", '{"assignment": {"p": true, "q": true, "r": false}, "answer": "none"}'),
        ("refutable", '{"answer": {"p": false, "q": true, "r": true}, "exists": false}'),
        ("refutable", '{"p": true, "answer": {"p": false, "q": true, "r": true}}'),
        ("refutable", '{"follows": true, "answer": "p = false, q = true, r = true"}'),
    ],
)
def test_keys_that_contradict_the_answer(name: str, reply: str) -> None:
    assert score(reply, ITEMS[name]).verdict == "unreadable"


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("valid", '{"answer": "yes", "valid": true}'),
        ("valid", '{"answer": "yes", "countermodel_exists": false, "confidence": "high"}'),
        ("valid", '{"countermodel": null, "validity": "valid", "answer": "yes"}'),
        ("valid", "{'answer': 'yes', 'valid': True}"),
        ("invalid", '{"answer": "no", "invalid": true}'),
        ("invalid", '{"answer": "no", "countermodel": {"p": false, "q": true}}'),
        ("irrefutable", '{"exists": false, "answer": "none"}'),
        ("irrefutable", '{"answer": "none", "follows": true}'),
        ("refutable", '{"exists": true, "answer": {"p": false, "q": true, "r": true}}'),
        (
            "refutable",
            '{"answer": {"p": false, "q": true, "r": true}, "premises_hold": true, '
            '"conclusion_holds": false}',
        ),
    ],
)
def test_keys_that_fit_the_answer(name: str, reply: str) -> None:
    assert score(reply, ITEMS[name]).verdict == "right"


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("valid", "Answer: no\n\nTo get Answer: yes, the premises would have to be stronger."),
        ("valid", "**Answer: no**\n\nWith r as an extra premise, the answer is yes."),
        ("invalid", "Answer: yes\n\nFor the second premise, the answer is no."),
        ("invalid", "Answer: yes\n\nWithout p, the answer is no."),
        ("invalid", "Answer: yes\n\nHad p been false, the answer is no."),
        ("invalid", "Answer: yes\n\nIn the other direction, the answer is no."),
        ("invalid", "Answer: yes\n\nDropping p, the answer is no."),
        ("invalid", "The answer is yes.\n\nReading it the other way, the answer is no."),
        ("invalid", "\\boxed{yes}\n\nThe other way round, the answer is no."),
        ("invalid", '{"answer": "yes"}\n\nThe other way round, the answer is no.'),
        (
            "irrefutable",
            "Answer: p = true, q = true, r = false\n\nFor the other rows, the answer is none.",
        ),
        (
            "refutable",
            "Answer: none\n\nLeaving premise 2 out, the answer is p = false, q = true, r = true",
        ),
        ("conclude", "Answer: p → q\n\nTaking both, the answer is p → r."),
    ],
)
def test_an_aside_after_an_answer(name: str, reply: str) -> None:
    assert score(reply, ITEMS[name]).verdict == "unreadable"


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("valid", "Answer: yes\n\nSince p gives q, and q gives r, the answer is yes."),
        ("valid", "To summarize, the answer is yes."),
        ("valid", "For every row the conclusion is true, so the answer is yes."),
        ("invalid", "Answer: yes\n\nWait, since p = F, q = T is a countermodel, the answer is no."),
        (
            "invalid",
            "Answer: yes\n\nLet me check row 3. Since it is a countermodel, the answer is no.",
        ),
        (
            "refutable",
            "Answer: p = F, q = T, r = T\n\nAs this works, the answer is p = F, q = T, r = F.",
        ),
    ],
)
def test_an_answer_that_is_repeated_or_corrected(name: str, reply: str) -> None:
    assert score(reply, ITEMS[name]).verdict == "right"


@pytest.mark.parametrize("form", ["{}\n\n{}", "{}\n{}.", "{}\n**{}**", "{}\n\n- {}"])
@pytest.mark.parametrize(
    "heading", ["### Counterexamples", "**Countermodel:**", "Exceptions:", "Fallacy", "**Issues**"]
)
def test_a_word_below_a_heading_that_asks_something_else(form: str, heading: str) -> None:
    for name, word in (("valid", "Yes"), ("invalid", "No")):
        assert score(form.format(heading, word), ITEMS[name]).verdict == "unreadable"
    of_case = "ounter" in heading
    for said in ("", "Premise 1 is fine.\n\n"):
        reply = said + form.format(heading, "None")
        assert (score(reply, ITEMS["irrefutable"]).verdict == "right") is of_case
        assert score(reply, ITEMS["refutable"]).verdict == ("wrong" if of_case else "unreadable")


@pytest.mark.parametrize(
    "heading",
    ["## Verdict", "**Conclusion:**", "### Final answer:", "Therefore:", "**Does it follow:**"],
)
def test_a_word_below_a_heading_that_asks_the_question(heading: str) -> None:
    for name, word in (("valid", "Yes"), ("invalid", "No")):
        assert score(f"I see.\n\n{heading}\n\n{word}", ITEMS[name]).verdict == "right"


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("invalid", "The conclusion follows, so the answer is no."),
        ("invalid", "Since it follows, the answer is no."),
        ("invalid", "Since the argument is valid, it does not follow."),
        ("invalid", "The conclusion follows. So the answer is no."),
        ("valid", "The conclusion does not follow, so the answer is yes."),
        ("valid", "It does not follow. Answer: yes"),
        ("valid", "As the argument is invalid, the answer is yes."),
        ("irrefutable", "Since it does not follow, the answer is none."),
        ("refutable", "Since it follows, the answer is p = false, q = true, r = true"),
    ],
)
def test_a_sentence_that_contradicts_its_own_answer(name: str, reply: str) -> None:
    assert score(reply, ITEMS[name]).verdict == "unreadable"


@pytest.mark.parametrize(
    "reason",
    [
        "it can't be refuted",
        "it is impossible to refute",
        "we cannot refute it",
        "there is nothing that refutes it",
        "it cannot be false",
        "it can never fail",
        "it never fails",
        "it is always true",
        "it must be true",
        "this is a tautology",
        "p → q guarantees q → p",
        "q → p follows",
        "as q → p is guaranteed",
        "whenever p → q holds, q → p holds",
        "nothing makes p → q true and q → p false",
        "from p → q we can infer q → p",
    ],
)
def test_a_no_with_a_reason_that_says_yes(reason: str) -> None:
    for reply in (f"Answer: no, {reason}", f"Answer: no\n\nIndeed, {reason}."):
        assert score(reply, ITEMS["invalid"]).verdict == "unreadable"


@pytest.mark.parametrize(
    "reason",
    [
        "q → p does not follow from p → q.",
        "p → q does not guarantee q → p.",
        "p = false, q = true refutes it.",
        "It is not always true.",
        "It is always true when p is, but not otherwise.",
        "For p = false and q = true, p → q is true, and q → p is false.",
        "To follow, it must be true whenever the premise is.",
        "The premise p → q can be true while q → p is false.",
    ],
)
def test_a_no_with_a_reason_that_names_formulas(reason: str) -> None:
    assert score(f"Answer: no\n\n{reason}", ITEMS["invalid"]).verdict == "right"
    assert score(f"{reason}\n\nAnswer: no", ITEMS["invalid"]).verdict == "right"
