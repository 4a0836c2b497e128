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
        ("valid", '{"verdict": "invalid", "answer": "yes"}'),
        ("valid", "{'answer': 'yes', 'valid': False}"),
        ("valid", "{'valid': False, 'answer': 'yes'}"),
        ("invalid", '{"valid": true, "answer": "no"}'),
        ("irrefutable", '{"answer": "none", "exists": true}'),
        ("irrefutable", '{"answer": "none", "p": true, "q": true, "r": false}'),
        ("irrefutable", '{"p": true, "q": true, "r": false, "answer": "none"}'),
        ("irrefutable", '{"assignment": {"p": true, "q": true, "r": false}, "answer": "none"}'),
        ("refutable", '{"answer": {"p": false, "q": true, "r": true}, "exists": false}'),
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
