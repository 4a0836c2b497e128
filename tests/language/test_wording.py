"""Formulas in symbols and in words can be read back, exactly."""

import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.errors import UserError
from possibleworlds.language.wording import STATEMENTS, STYLES, VOCABULARIES, Wording
from possibleworlds.logic import Formula, parse
from tests.conftest import LETTERS, formulas

WORDINGS = [
    (style, v) for style in STYLES for v in VOCABULARIES if style == "words" or v == "letters"
]


@pytest.mark.parametrize(("style", "vocabulary"), WORDINGS)
@given(formula=formulas(LETTERS, full=False), seed=st.integers(0, 99))
def test_what_is_written_is_read_back(
    style: str, vocabulary: str, formula: Formula, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    wording = Wording.draw(rng, formula.variables, style, vocabulary)  # type: ignore[arg-type]
    text = wording.write(formula)
    assert wording.read(text) == formula
    if wording.statements:  # a sentence of its own, on several lines
        sentence = f"{text[0].upper()}{text[1:]}.".replace(" and ", "\nand ")
        assert wording.read(sentence) == formula


def read_by(binding: dict[str, int], arrow_to_right: bool, text: str) -> Formula:
    """Parse a formula by another convention: how strongly operators bind, and how → associates."""
    tokens = re.findall(r"\w+|[^\w\s]", text)[::-1]

    def argument() -> Formula:
        token = tokens.pop()
        if token == "¬":
            return ~argument()
        if token != "(":
            return Formula.variable(token)
        inner = read(0)
        assert tokens.pop() == ")"
        return inner

    def read(weakest: int) -> Formula:
        left = argument()
        while tokens and tokens[-1] != ")" and binding[tokens[-1]] >= weakest:
            sign = tokens.pop()
            right = read(binding[sign] + (not (sign == "→" and arrow_to_right)))
            left = {"∧": left & right, "∨": left | right, "→": left >> right}[sign]
        return left

    return read(0)


@given(formulas(LETTERS, full=False))
def test_symbols_are_read_the_same_by_every_convention(formula: Formula) -> None:
    text = Wording("unicode").write(formula)
    for order in (*permutations(range(3)), (0, 0, 0)):
        for to_right in (False, True):
            assert read_by(dict(zip("∧∨→", order, strict=True)), to_right, text) == formula


def test_symbols_have_only_brackets_that_a_reading_needs() -> None:
    write = Wording("unicode").write
    assert write(parse("k | l -> l -> l")) == "(k ∨ l) → (l → l)"
    assert write(parse("p & ~q & r | s")) == "(p ∧ ¬q ∧ r) ∨ s"
    assert write(parse("~(p | q | r) -> ~~p")) == "¬(p ∨ q ∨ r) → ¬¬p"


def test_words_are_unambiguous_where_brackets_would_be_needed() -> None:
    wording = Wording("words")
    for one, other in (("(p & q) | r", "p & (q | r)"), ("(p -> q) -> r", "p -> q -> r")):
        assert wording.write(parse(one)) != wording.write(parse(other))
    assert wording.write(parse("~(p & q)")) == "it is not the case that both p and q"
    assert wording.write(parse("~p & q")) == "both it is not the case that p and q"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "both the lamp is on",
        "the lamp is on and the door is open",
        "both the lamp is on and the door is open and the lamp is on",
        "either the lamp is on or the door is open",
        "the lamp is off",
        "if the lamp is on then the door is open",
        "the lamp is on the door is open",
    ],
)
def test_other_sentences_are_errors(text: str) -> None:
    wording = Wording("words", {"p": "the lamp is on", "q": "the door is open"})
    with pytest.raises(UserError):
        wording.read(text)


def test_depth_is_no_limit() -> None:
    deep = Formula(("p", *["~"] * 20_000))
    wording = Wording("words", {"p": "the lamp is on"})
    assert wording.read(wording.write(deep)) == deep


def test_statements_differ_and_none_begins_another() -> None:
    for statements in STATEMENTS.values():
        assert len(statements) == 26
        for one in statements:
            assert not any(other != one and other.startswith(one) for other in statements)


@pytest.mark.parametrize(
    ("style", "vocabulary"), [("runes", "letters"), ("words", "latin"), ("ascii", "everyday")]
)
def test_unknown_words_are_errors(style: str, vocabulary: str) -> None:
    with pytest.raises(UserError):
        Wording.draw(np.random.default_rng(0), "pq", style, vocabulary)  # type: ignore[arg-type]
