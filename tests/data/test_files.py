from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.data.files import (
    data_files,
    format_rows,
    from_published,
    parse_line,
    raw_lines,
    read_pairs,
)
from possibleworlds.data.heuristics import heuristics
from possibleworlds.errors import UserError
from possibleworlds.logic import Formula, parse, to_text
from possibleworlds.logic.syntax import to_published
from possibleworlds.storage import atomic_write, exclusive_folder
from tests.conftest import DATA_FORMULAS


@given(DATA_FORMULAS)
def test_the_published_form_is_the_same_everywhere(rpn: str) -> None:
    formula = Formula(tuple(rpn))
    assert to_published(rpn) == to_text(formula, "published")
    assert from_published(to_published(rpn)) == rpn


@given(DATA_FORMULAS, DATA_FORMULAS, st.sampled_from([0, 1]))
def test_a_row_is_read_as_it_was_written(a: str, b: str, label: int) -> None:
    rows = [(a, b, label), (b, a, 1 - label)]
    for (x, y, z), line in zip(rows, format_rows(rows).splitlines(), strict=True):
        pair, stated = parse_line(line)
        assert (pair.a, pair.b, pair.label) == (x, y, z)
        assert stated == heuristics(x, y)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("p,q,1,1,1", "5 fields"),
        ("p,q,1,1,1,1,1", "7 fields"),
        ("p,q,2,1,1,1", "must each be 0 or 1"),
        ("p,q,1,1,1,", "must each be 0 or 1"),
        ("p&q,q,1,1,1,1", "not in the published form"),
        ("~p,q,1,1,1,1", "not in the published form"),
        ("((p&q)),q,1,1,1,1", "not in the published form"),
        ("(P&q),q,1,1,1,1", "not in the published form"),
        ("(p<->q),q,1,1,1,1", "not in the published form"),
        ("(p&),q,1,1,1,1", "expected a formula"),
        (",q,1,1,1,1", "an empty formula"),
        ("(p&q,q,1,1,1,1", "never closed"),
        ("é,q,1,1,1,1", "not in the published form"),
        ("Premise, Conclusion", "is a header; leave it out"),
    ],
)
def test_a_bad_line_is_refused(line: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(f"p,p,1,1,1,1\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=problem) as caught:
        list(read_pairs(path))
    assert str(caught.value).startswith(f"{path}:2: ")


@given(st.binary(max_size=200))
def test_any_bytes_are_rows_or_a_clear_error(data: bytes) -> None:
    with suppress(UserError):
        parse_line(data.decode("utf-8", errors="replace"))


def test_a_deep_formula_is_read_from_a_file(tmp_path: Path) -> None:
    deep = "~(" * 50_000 + "p" + ")" * 50_000
    path = tmp_path / "deep.txt"
    path.write_text(f"{deep},p,1,1,1,1\n")
    (pair,) = read_pairs(path)
    assert len(pair.a) == 50_001


def test_missing_and_empty_files_are_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        list(read_pairs(tmp_path / "none.txt"))
    (tmp_path / "empty.txt").touch()
    with pytest.raises(UserError, match="empty"):
        list(read_pairs(tmp_path / "empty.txt"))
    (tmp_path / "sub").mkdir()
    with pytest.raises(UserError, match=r"without \.txt files"):
        data_files([tmp_path / "sub"])
    assert data_files([tmp_path]) == [tmp_path / "empty.txt"]


def test_a_file_takes_its_name_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "whole.txt"
    path.write_text("old")
    with suppress(RuntimeError), atomic_write(path) as file:
        file.write("half")
        raise RuntimeError
    assert path.read_text() == "old"
    with atomic_write(path) as file:
        file.write("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_has_one_process_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("possibleworlds.storage.FOLDER_TIMEOUT", 0.1)
    folder = tmp_path / "new"
    with exclusive_folder(folder):
        assert not list(folder.iterdir())
        with pytest.raises(UserError, match="another process is writing"), exclusive_folder(folder):
            pass
        with exclusive_folder(tmp_path):
            pass
    with suppress(RuntimeError), exclusive_folder(folder):
        raise RuntimeError
    with exclusive_folder(folder):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file: File exists"), exclusive_folder(tmp_path / "file"):
        pass


def test_a_file_that_does_not_fit_is_an_error_that_loses_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="no limits on files on this system")
    path = tmp_path / "data.txt"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        refused = pytest.raises(UserError, match=r"data\.txt: File too large")
        with refused, atomic_write(path) as file:
            file.write("x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.txt"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("p & q", "q", (True, True, True)),
        ("p", "p | q", (False, False, False)),
        ("p -> q", "~p", (True, True, True)),
        ("p -> q", "p", (True, True, False)),
        ("~(p & ~q)", "q", (True, True, True)),
        ("~(p -> q)", "~q", (True, True, True)),
        ("~(p -> q)", "q", (True, True, False)),
        ("p & q", "q & p", (True, True, True)),
    ],
)
def test_heuristics(a: str, b: str, expected: tuple[bool, bool, bool]) -> None:
    assert heuristics("".join(parse(a).rpn), "".join(parse(b).rpn)) == expected


@given(DATA_FORMULAS)
def test_literals_agree_with_a_plain_negation_normal_form(rpn: str) -> None:
    from possibleworlds.data.heuristics import BIT, literals

    def walk(f: Formula, positive: bool) -> set[tuple[str, bool]]:
        if not f.children:
            return {(f.root, positive)}
        if f.root == "~":
            return walk(f.children[0], not positive)
        left = walk(f.children[0], positive if f.root != ">" else not positive)
        return left | walk(f.children[1], positive)

    signed = walk(Formula(tuple(rpn)), True)
    plain = sum(BIT[name] for name, positive in signed if positive)
    negated = sum(BIT[name] for name, positive in signed if not positive)
    assert literals(rpn) == (plain, negated)


def test_the_published_heuristics_are_ours(official: Path) -> None:
    for path in data_files([official]):
        for line in raw_lines(path):
            pair, stated = parse_line(line)
            if path.stem == "test_exam":
                assert stated == (False, False, False)
            else:
                assert stated[1:] == heuristics(pair.a, pair.b)[1:]
