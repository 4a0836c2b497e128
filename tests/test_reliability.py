"""The programs that measure reliability, on a small scale."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from possibleworlds.cli.console import fail

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("kill.py", "--kills", "2"),
        ("fuzz.py", "--inputs", "6000", "--workers", "2"),
    ],
)
def test_nothing_is_corrupt_and_every_error_is_clear(arguments: tuple[str, ...]) -> None:
    program, *options = arguments
    command = [sys.executable, str(ROOT / "benchmarks" / program), *options, "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ("a\nb: No such file or directory", ["error: a b: No such file or directory"]),
        ("a\n\x1b[31mb\nc", ["error: a �[31mb c"]),
        (f"no solver {5000 * '9'}", [f"error: no solver {890 * '9'}..."]),
        ("expected a formula\n  p &\n     ^", ["error: expected a formula", "  p &", "     ^"]),
    ],
)
def test_an_error_is_a_line_or_shows_a_place(
    message: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        fail(message)
    assert end.value.code == 2
    assert capsys.readouterr().err.splitlines() == lines


COMMAND = "from possibleworlds.cli import main; main()"
CALL = """
from possibleworlds.parallel.engines import LocalEngine
if __name__ == "__main__":
    engine = LocalEngine(1)
    engine.submit("call", max, 1, 2)
    print(engine.wait(60))
"""


@pytest.mark.parametrize(
    ("code", "arguments", "output"),
    [(COMMAND, ["entails", "p", "p", "--timeout", "60"], "yes"), (CALL, [], "{'call': 2}")],
)
def test_modules_of_the_current_folder_are_not_imported(
    code: str, arguments: list[str], output: str, tmp_path: Path
) -> None:
    script, theirs = tmp_path / "ours" / "script.py", tmp_path / "theirs"
    for folder in (script.parent, theirs):
        folder.mkdir()
    script.write_text(code)
    for name in ("typing", "json", "multiprocessing", "socket", "signal", "numpy"):
        (theirs / f"{name}.py").write_text("open('imported', 'w')")
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=theirs)
    assert done.stdout.startswith(output), done.stderr
    assert not (theirs / "imported").exists()


def test_rows_that_are_wrong_are_found_by_the_second_implementation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    labels = importlib.import_module("labels")
    files = {
        "train.txt": ["(p&q),p,1,1,1,1", "(p&q),p,0,1,1,1", "(p>q),~(p),0,0,1,1", "(p,q,0,1,1,1"],
        "validate.txt": ["(x&a),(a|y),1,1,0,0", "(x|a),x,0,1,1,1"],
    }
    for name, rows in files.items():
        (tmp_path / name).write_text("".join(f"{row}\n" for row in rows))
    judged = labels.judge(tmp_path, tmp_path, [], np.random.default_rng(0))
    counts = {fault: judged.counts[fault] for fault in labels.FAULTS}
    # The second row has another label and repeats the first; H1 of the third is wrong, as the
    # formulas have three and two symbols; the validation data have a premise of the training data
    # in one row, and a conclusion in the other.
    assert counts == {
        "unreadable": 1,
        "wrong labels": 1,
        "wrong guesses": 1,
        "wrong variables": 0,
        "duplicates": 1,
        "leaks": 2,
    }


def test_truth_tables_and_the_solver_of_the_second_implementation_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    labels = importlib.import_module("labels")
    # Of 1, 2, 7 and 16 variables: the word of 64 rows that refutes is the first, or the last.
    many = "(a&(b&(c&(d&(e&(f&g))))))", "(a|(b|(c|(d|(e|(f|g))))))"
    most = "a", "(((((((((((((((a&b)&c)&d)&e)&f)&g)&h)&i)&j)&k)&l)&m)&n)&o)&p)"
    pairs = [("~(p)", "p"), ("(~(p)&q)", "(p>q)"), ("(p>q)", "(~(p)&q)"), many, many[::-1]]
    pairs += [most, most[::-1], ("~(a)", f"~({most[1]})")]
    (tmp_path / "rows.txt").write_text("".join(f"{a},{b},1,1,1,1\n" for a, b in pairs))
    rows = labels.read_rows(tmp_path / "rows.txt")
    by_table = [not fault & labels.WRONG_LABEL for fault in rows.faults]
    by_solver = [labels.entails_by_solver(*map(labels.parse, pair)) for pair in pairs]
    assert by_table == by_solver == [False, True, False, True, False, False, True, True]
    assert list(rows.variables) == [1, 2, 2, 7, 7, 16, 16, 16]
