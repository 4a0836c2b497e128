from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import possibleworlds as pw
from possibleworlds.data.files import TRAINING_FILES, fingerprint, write
from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import CODES, SYMBOLS, decode, encode
from possibleworlds.storage import sha256
from tests.conftest import DATA_FORMULAS

ROWS = st.lists(st.builds(Pair, DATA_FORMULAS, DATA_FORMULAS, st.booleans()), max_size=8)


def test_symbols_have_the_codes_0_to_29() -> None:
    assert list(CODES.values()) == list(range(30))
    assert "".join(SYMBOLS) == "~&|>abcdefghijklmnopqrstuvwxyz"


@given(DATA_FORMULAS)
def test_codes_are_decoded_as_they_were_encoded(rpn: str) -> None:
    assert decode(encode(rpn)) == rpn
    assert encode(rpn).tolist() == [CODES[symbol] for symbol in rpn]


@given(ROWS)
def test_pairs_are_a_sequence(rows: list[Pair]) -> None:
    pairs = Pairs.of(rows)
    assert len(pairs) == len(rows)
    assert list(pairs) == rows
    assert pairs == Pairs.of(rows)
    assert list(pairs[1:3]) == rows[1:3]
    assert list(pairs[::-1]) == rows[::-1]
    assert list(pairs[[*range(len(rows))][::2]]) == rows[::2]
    assert list(pairs[pairs.label == 0]) == [row for row in rows if not row.label]
    if rows:
        assert pairs[-1] == rows[-1]
        assert isinstance(pairs[0].label, bool)
        assert pairs != Pairs.of(rows[1:])
        *others, last = rows
        assert pairs != Pairs.of([*others, last._replace(label=not last.label)])
        assert "".join(pairs[0].premise.rpn) == rows[0].a
        assert "".join(pairs[0].conclusion.rpn) == rows[0].b
    with pytest.raises(IndexError):
        pairs[len(rows)]


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    pairs = pw.generate(rows=40, variables=(2, 4), operators=(1, 5), seed=7)
    path = tmp_path / "mine.txt"
    pairs.save(path)
    assert pw.read(path) == pairs
    assert list(pw.read(str(path), rows=3)) == list(pairs[:3])
    with pytest.raises(UserError, match="No such file"):
        pairs.save(tmp_path / "nowhere" / "mine.txt")


def test_pairs_in_a_notebook() -> None:
    pairs = Pairs.of([("pq&", "q", True), ("p", "pq>", False)] * 20)
    page = pairs._repr_html_()
    assert page.count("<tr>") == 10
    assert "p ∧ q" in page
    assert "40 pairs" in page
    assert repr(pairs) == "<Pairs: 40 pairs, 20 entailments>"
    assert pairs[0].premise._repr_latex_() == r"$p \wedge q$"


def test_the_fingerprint_is_that_of_the_training_files(tmp_path: Path) -> None:
    for name in (*TRAINING_FILES, "test_easy.txt"):
        write(tmp_path / name, [("pq&", "q", 1)])
    prints = fingerprint(tmp_path)
    assert prints == {name: sha256(tmp_path / name) for name in ("train.txt", "validate.txt")}
