import shutil
from pathlib import Path

import pytest

from possibleworlds.data.files import data_files, format_rows, from_published
from possibleworlds.data.pairs import Pair
from possibleworlds.data.splits import generate_folder, paper_layout
from possibleworlds.data.verify import FileProblem, Summary, one_sided, unbalanced, verify


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate_folder(folder, paper_layout(120, 40, 40, 40, 40, 20), seed=1)
    return folder


def problems_of(*paths: Path, workers: int = 1) -> list[FileProblem]:
    return [result for result in verify(paths, workers) if isinstance(result, FileProblem)]


def edited(data: Path, to: Path, line: int, edit: list[str]) -> Path:
    lines = (data / "train.txt").read_text().splitlines(keepends=True)
    lines[line - 1 : line] = edit
    to.write_text("".join(lines))
    return to


def row(data: Path, line: int, file: str = "train.txt") -> str:
    return (data / file).read_text().splitlines(keepends=True)[line - 1]


def test_what_we_generate_has_no_problem(data: Path) -> None:
    results = list(verify(data_files([data]), workers=2))
    assert all(isinstance(summary, Summary) for summary in results)
    forms = {s.path.stem: s.structure for s in results if isinstance(s, Summary)}
    assert forms["train"] == "4-tuples"
    assert forms["test_massive"] == forms["test_exam"] == "mutated pairs"


def test_a_flipped_label_is_named(data: Path, tmp_path: Path) -> None:
    a, b, label, *rest = row(data, 7).split(",")
    flipped = ",".join([a, b, str(1 - int(label)), *rest])
    path = edited(data, tmp_path / "flipped.txt", 7, [flipped])
    problems = problems_of(path)
    assert ("label", 7) in {(p.check, p.line) for p in problems}
    assert {p.check for p in problems} == {"label", "balance", "structure"}
    assert [p.line for p in problems if p.check == "label"] == [7]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_line_cut_short_is_named(data: Path, tmp_path: Path, workers: int) -> None:
    path = edited(data, tmp_path / "cut.txt", 120, [row(data, 120)[:-6]])
    assert ("format", 120) in {(p.check, p.line) for p in problems_of(path, workers=workers)}


def test_a_missing_row_breaks_one_four_tuple_not_all_that_follow(
    data: Path, tmp_path: Path
) -> None:
    path = edited(data, tmp_path / "missing.txt", 6, [])
    problems = problems_of(path)
    assert {p.line for p in problems if p.check == "structure"} == {5, 6, 7}
    assert [p.check for p in problems if p.line == 0] == ["balance"]


def test_a_duplicate_up_to_renaming_is_named(data: Path, tmp_path: Path) -> None:
    swapped = row(data, 3).translate(
        str.maketrans("abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba")
    )
    path = edited(data, tmp_path / "twice.txt", 120, [row(data, 120), swapped])
    repeats = [p for p in problems_of(path) if p.check == "duplicate"]
    assert [(p.line, p.message) for p in repeats] == [(121, f"repeats {path}:3, up to renaming")]


def test_a_leak_between_files_is_named(data: Path, tmp_path: Path) -> None:
    leak = tmp_path / "validate.txt"
    rows = (data / "validate.txt").read_text() + "".join(row(data, n) for n in (9, 10, 11, 12))
    leak.write_text(rows)
    problems = problems_of(data / "train.txt", leak)
    assert [(p.path, p.line, p.check) for p in problems] == [
        (leak, 41 + i, "leak") for i in range(4)
    ]
    assert problems[0].message == f"leaks {data / 'train.txt'}:9, up to renaming"


def test_wrong_heuristics_and_empty_files_are_named(data: Path, tmp_path: Path) -> None:
    line = row(data, 1).rstrip("\n")
    flipped = line[:-1] + str(1 - int(line[-1])) + "\n"
    path = edited(data, tmp_path / "h.txt", 1, [flipped])
    assert [(p.line, p.check) for p in problems_of(path)] == [(1, "heuristic")]
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert [(p.line, p.check) for p in problems_of(empty)] == [(0, "format")]


def test_many_equal_lines_are_no_trouble(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "same.txt"
    path.write_text(row(data, 1) * 20_000)
    repeats = [p for p in problems_of(path, workers=2) if p.check == "duplicate"]
    assert len(repeats) == 19_999
    assert all(p.message == f"repeats {path}:1, up to renaming" for p in repeats)


def test_a_file_that_is_not_what_was_generated_is_named(data: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(data, tmp_path / "copied")
    lines = (copied / "train.txt").read_text().splitlines(keepends=True)
    (copied / "train.txt").write_text("".join(lines[:-4]))
    (problem,) = problems_of(*data_files([copied]))
    assert (problem.path, problem.check) == (copied / "train.txt", "changed")


@pytest.mark.parametrize(
    ("a", "b", "mutant", "message"),
    [
        ("(p&~(p))", "q", "r", None),
        ("p", "(q|~(q))", "(~(q)|q)", "B is a tautology"),
        ("(p&q)", "(p|~(r))", "(~(p)|r)", ""),
        ("(p&q)", "(p|(q&r))", "(r&(p|q))", "B has 5 models, B* 3"),
        ("(p&q)", "(p|q)", "r", "B has 3 models, B* 1"),
        ("(p&q)", "p", "r", ""),
    ],
)
def test_one_sided_mutated_pairs_are_named(
    a: str, b: str, mutant: str, message: str | None, tmp_path: Path
) -> None:
    pairs = [Pair(from_published(a), from_published(b), True)]
    pairs.append(Pair(pairs[0].a, from_published(mutant), False))
    text = one_sided(*pairs)
    if message is None:
        assert text == "A is a contradiction"
        return
    assert text == message
    path = tmp_path / "mutated.txt"
    path.write_text(format_rows(pairs))
    problems = [(p.line, p.message) for p in problems_of(path) if p.check == "one-sided"]
    is_rearranged = sorted(b) == sorted(mutant)
    assert problems == ([(1, text)] if text and is_rearranged else [])


def test_the_exam_has_no_problems_under_any_name(data: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(data / "test_exam.txt", tmp_path / "mine.txt"))
    assert not problems_of(path)


def test_a_file_that_is_missing_is_named(data: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(data, tmp_path / "copy")
    (copy / "train.txt").unlink()
    problems = [p for p in verify(sorted(copy.glob("*.txt"))) if isinstance(p, FileProblem)]
    assert [(p.path.name, p.check) for p in problems] == [("train.txt", "changed")]
    problems = [p for p in verify([copy / "validate.txt"]) if isinstance(p, FileProblem)]
    assert not problems  # only one file is to be checked


def test_pairs_as_users_write_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("p -> q, ~q -> ~p\np | q |= q\nrain, rain -> wet, 1\np, p | q, yes\np &, q\n")
    *problems, summary = verify([path])
    assert [(p.line, p.check) for p in problems] == [(3, "label"), (5, "format")]  # type: ignore[union-attr]
    assert isinstance(summary, Summary)
    assert (summary.rows, summary.positive) == (5, 3)
    path.write_text("(p&q),q,1,1,1,1\n(p&q),q,1\n")
    (problem, *_) = verify([path])
    assert (problem.line, problem.check) == (2, "format")  # type: ignore[union-attr]


def test_balance() -> None:
    assert unbalanced(49, 100, structured=True)
    assert not unbalanced(50, 100, structured=True)
    assert not unbalanced(2416, 5000, structured=False)
    assert unbalanced(2300, 5000, structured=False)


def test_the_published_sets_pass(official: Path) -> None:
    # the exam states no heuristics: all of them are 0
    files = [file for file in data_files([official]) if file.stem != "test_exam"]
    results = list(verify(files, workers=2))
    assert not [p for p in results if isinstance(p, FileProblem)]
    assert sum(s.rows for s in results if isinstance(s, Summary)) == 18_926
