"""Items: exact labels, satisfiable premises, the same for the same seed."""

from collections import Counter
from typing import Any

import pytest

from possibleworlds.errors import UserError
from possibleworlds.language import LEVELS, Item, Wording, dataset, problems, score, tasks
from possibleworlds.language.item import KINDS, Kind, conjunction
from possibleworlds.language.problems import SOURCES
from possibleworlds.logic import Formula, countermodel, entails, parse
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.logic.formula import variables_of

SETTINGS: list[dict[str, Any]] = [
    {},
    {"premises": 3, "style": "ascii"},
    {"style": "words", "vocabulary": "everyday", "shots": 2, "chain_of_thought": True},
    {"style": "words", "vocabulary": "nonsense", "premises": 2},
    {"style": "latex", "level": 5},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_items_are_what_they_say(kind: Any, settings: dict[str, Any]) -> None:
    for item in tasks(kind, size=24, seed=3, **settings):
        premises = conjunction(item.premises)
        assert not entails(premises, Formula(("0",)))
        assert len(item.premises) == settings.get("premises", 2 if kind == "conclude" else 1)
        if item.conclusion:
            assert entails(premises, item.conclusion, "minisat22") == item.label
        for reply in (item.answer, f"So, to sum up.\n\nAnswer: {item.answer}"):
            assert score(reply, item).verdict == "right"
        assert Item.from_json(item.to_json()) == item
        for formula in (*item.premises, *([item.conclusion] if item.conclusion else [])):
            assert item.wording.write(formula).lower() in item.prompt.lower()


@pytest.mark.parametrize("source", SOURCES)
def test_every_source(source: str) -> None:
    items = tasks("decide", size=16, source=source, seed=1)
    assert {item.label for item in items} == {True, False}
    for item in items:
        assert item.conclusion
        assert entails(item.premises[0], item.conclusion) == item.label
        assert not entails(item.premises[0], Formula(("0",)))


def test_an_item_is_the_same_for_every_size() -> None:
    few, many = tasks("refute", size=5, seed=7), tasks("refute", size=50, seed=7)
    assert list(few) == many[:5]
    assert few[0] != tasks("refute", size=5, seed=8)[0]


def test_labels_are_balanced_and_four_tuples_stay_together() -> None:
    items = list(tasks("decide", size=400, seed=0))
    assert Counter(item.label for item in items) == {True: 200, False: 200}
    groups = Counter(item.group for item in items)
    assert set(groups.values()) == {4}
    places = [[item.label for item in items[i : i + 4]] for i in range(0, 400, 4)]
    assert len({tuple(labels) for labels in places}) == 6  # in any order within a tuple


def test_a_sequence_says_what_it_is() -> None:
    assert repr(tasks("refute", size=5, seed=7)) == "Tasks(refute, 5 items, seed 7)"


def test_a_curriculum_grows() -> None:
    lengths = [
        sum(item.premises[0].length for item in tasks("decide", size=40, level=level))
        for level in range(len(LEVELS))
    ]
    assert lengths == sorted(lengths)


def test_worked_examples_are_of_both_labels_in_turns() -> None:
    items = tasks("refute", size=4, shots=6, chain_of_thought=True, premises=2, seed=5)
    prompt = items[0].prompt
    assert "Think step by step" in prompt
    assert prompt.count("true in these cases alone:") == 3
    assert prompt.count("the conclusion is false.") == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"level": 99},
        {"colour": "red"},
        {"source": "moon"},
        {"premises": 0},
        {"premises": 2, "source": "hard"},
        {"level": 3, "source": "hard"},
        {"variables": (1, 2), "source": "exam"},
        {"premises": 2, "variables": (1, 20)},
        {"premises": 2, "variables": "few"},
        {"premises": 2, "variables": (2,)},
        {"chain_of_thought": "maybe"},
        {"shots": -1},
        {"premises": True},
        {"seed": True},
        {"level": True},
        {"style": "runes"},
        {"size": 0},
        {"size": True},
        {"variables": (1, 1), "operators": (0, 0), "size": 1000},
    ],
)
def test_bad_settings_are_clear_errors(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        tasks("decide", **settings)
    with pytest.raises(UserError, match="no task called"):
        tasks("guess")  # type: ignore[arg-type]


def test_a_single_number_is_the_fewest_and_the_most() -> None:
    items = tasks("decide", size=8, variables=2, operators=[1, 3], premises=2)
    assert list(items) == list(
        tasks("decide", size=8, variables=(2, 2), operators=(1, 3), premises=2)
    )


def test_a_countermodel_in_the_answer_is_one() -> None:
    for item in tasks("refute", size=20, seed=2):
        assert item.conclusion
        assignment = countermodel(conjunction(item.premises), item.conclusion)
        assert (item.answer == "none") == (assignment is None)


def test_conclusions_that_cannot_be_long_enough_are_an_error() -> None:
    with pytest.raises(UserError, match="only 0 such items were found, not 5"):
        tasks("conclude", size=5, operators=(1, 6), min_operators=10)


@pytest.mark.parametrize("premises", [1, 2])
def test_conclusions_are_proper_and_premises_are_not_repeated(premises: int) -> None:
    items = list(tasks("conclude", size=300, seed=1, premises=premises))
    names = [variables_of(*(premise.rpn for premise in item.premises)) for item in items]
    renamed = {
        tuple(p.rename(dict(zip(of, LETTERS, strict=False))) for p in item.premises)
        for item, of in zip(items, names, strict=True)
    }
    assert len(renamed) == len(items)
    for item in items:
        conclusion = item.wording.read(item.answer)
        assert set(conclusion.variables) <= set(item.variables)
        assert entails(conjunction(item.premises), conclusion)
        assert not entails("true", conclusion)
        assert not entails(conclusion, conjunction(item.premises))
        if premises > 1:
            assert not any(entails(premise, conclusion) for premise in item.premises)


def test_to_repeat_all_premises_is_no_conclusion() -> None:
    few, many = (tasks("conclude", size=n, seed=0, premises=2, shots=2) for n in (5, 40))
    assert list(few) == many[:5]
    for item in many:
        assert item.prompt.count("is not equivalent to all of them together") == 3
        repeated = score(f"Answer: {' & '.join(f'({p})' for p in item.premises)}", item)
        assert repeated.verdict == "wrong"
        assert repeated.reason == "it is equivalent to the premises together"


def test_conclusions_with_new_variables_are_no_source() -> None:
    with pytest.raises(UserError, match="sources of conclude are fourtuples, validate"):
        tasks("conclude", source="massive")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": "false"}, "item: label must be true or false, not 'false'"),
        ({"kind": "guess"}, "item: kind must be 'decide' or 'refute' or 'conclude'"),
        ({"prompt": None}, "item: prompt must be a text, not None"),
        ({"style": "foo"}, "item: style must be"),
        ({"min_operators": -1}, "item: min_operators must be at least 0"),
        ({"premises": []}, "item: there are no premises"),
        ({"premises": ["p &"]}, "item: "),
        ({"conclusion": None}, "item: no conclusion, which does not fit the kind 'decide'"),
        ({"kind": "conclude"}, "item: a conclusion, which does not fit the kind 'conclude'"),
        ({"statements": {"p": 1}}, "item: statements.p must be a text, not 1"),
        ({"statements": {"p": "the  lamp"}}, "item: statements have single spaces"),
        ({"statements": {"p": ""}}, "item: statements have single spaces"),
        ({"statements": {"p": "a lamp", "q": "A lamp"}}, "item: two variables have the same"),
    ],
)
def test_an_item_is_checked_when_it_is_read(changed: dict[str, Any], message: str) -> None:
    values = tasks("decide", size=1)[0].to_json()
    with pytest.raises(UserError) as caught:
        Item.from_json(values | changed)
    assert str(caught.value).startswith(message)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("kind", ["refute", "conclude"])
def test_letters_with_two_lower_cases_are_no_error(kind: Kind) -> None:
    for statement, read in (("the  lamp", "the lamp"), ("λύκος", "λύκοσ"), ("µ is", "μ is")):
        wording = Wording("words", {"p": statement, "q": "it"})
        conclusion = None if kind == "conclude" else parse("q")
        item = Item(kind, (parse("p"),), conclusion, kind == "conclude", 0, wording, "", "")
        for reply in (f"{read} = true, it = false", f"both {read} and it", f"not {read}"):
            assert score(f"Answer: {reply}", item).verdict != "right"


def test_a_search_that_finds_almost_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = []
    several_premises = problems.several_premises

    def counted(*arguments: Any) -> list[problems.Unit]:
        blocks.append(arguments)
        return several_premises(*arguments)

    monkeypatch.setattr(problems, "several_premises", counted)
    monkeypatch.setattr(dataset, "SLOW_BLOCKS", 5)
    with pytest.raises(UserError, match="only 0 such items were found, not 3"):
        tasks("conclude", variables=1, operators=(0, 2), premises=2, size=3)
    assert len(blocks) < 10
    assert len(tasks("conclude", level=1, premises=2, size=300)) == 300
