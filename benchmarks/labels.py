"""Generated rows decided anew by a second, independent implementation.

    .venv/bin/python benchmarks/labels.py --state labels.json [--rows 10000000] [--seed N] [--write]

Nothing of the package is imported: data sets are made by the command `possibleworlds generate`, and
their files are read by rows.c, which this program compiles, written from the description of the
published form. It decides a row of up to 16 variables by its truth table, and computes the guesses
H1, H2 and H3. A row of more variables, and a tenth of the others, is read by the parser below,
and decided by CaDiCaL on clauses of its own making. A duplicate is a pair that stands twice in a
file up to renaming of variables; a leak one that stands in two files of a data set, or a premise of
the training data, or a conclusion numbered on from its premise, that another split has (not with
`--prune pairs`, nor for the exam), or a premise or conclusion of a file that was given by
`--prune-against`.

Rows come in chunks, one for each seed, over all methods and settings. The totals of each chunk are
added to the file --state, so that several runs add up; a run goes on with the next seed until the
file has --rows rows. --write puts the totals into docs/reliability.md.
"""

import argparse
import ctypes
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from counts import cpu_seconds, described, next_seed, read_counts, write_counts
from numpy.typing import NDArray
from pages import commit, replace_part
from pysat.solvers import Solver

SOLVER = "cadical153"
TABLE_VARIABLES = 16
SOLVED_SHARE = 0.1
FAULTS = ("unreadable", "wrong labels", "wrong guesses", "wrong variables", "duplicates", "leaks")
EXAM = "test_exam.txt"
TRAINING = "train.txt"
OTHER = "OTHER"
"""Stands for the folder of the data set before."""

Postfix = str
UNREADABLE, WRONG_LABEL, WRONG_GUESSES = 1, 2, 4
"""The faults that rows.c finds."""


# Formulas: a letter, ~(x), (x&y), (x|y) or (x>y)


@lru_cache(maxsize=64)
def parse(text: str) -> Postfix:
    """Read a formula of the published form in postfix order; raise ValueError for another."""
    postfix: list[str] = []
    end = parse_at(text, 0, postfix)
    if end != len(text):
        raise ValueError(f"more after {text[:end]!r}")
    return "".join(postfix)


def parse_at(text: str, start: int, postfix: list[str]) -> int:
    """Read the formula that begins somewhere, and return where it ends."""
    first = text[start : start + 1]
    if "a" <= first <= "z":
        postfix.append(first)
        return start + 1
    if text[start : start + 2] == "~(":
        end = parse_at(text, start + 2, postfix)
        operator = "~"
    elif first == "(":
        middle = parse_at(text, start + 1, postfix)
        operator = text[middle : middle + 1]
        if operator not in ("&", "|", ">"):
            raise ValueError(f"no operator at {middle}")
        end = parse_at(text, middle + 1, postfix)
    else:
        raise ValueError(f"no formula at {start}")
    if text[end : end + 1] != ")":
        raise ValueError(f"no bracket at {end}")
    postfix.append(operator)
    return end + 1


def clauses(postfix: Postfix, numbers: dict[str, int], cnf: list[list[int]], last: int) -> int:
    """Add clauses that define a variable for each sub-formula; return the literal of the whole."""
    stack: list[int] = []
    for symbol in postfix:
        if symbol == "~":
            stack[-1] = -stack[-1]
        elif symbol in numbers:
            stack.append(numbers[symbol])
        else:
            right, left = stack.pop(), stack.pop()
            last += 1
            if symbol == "&":
                cnf += [[-last, left], [-last, right], [last, -left, -right]]
            else:
                if symbol == ">":
                    left = -left
                cnf += [[last, -left], [last, -right], [-last, left, right]]
            stack.append(last)
    (literal,) = stack
    return literal


def entails_by_solver(a: Postfix, b: Postfix) -> bool:
    """Whether A and not B have no model."""
    letters = sorted(set(a + b) - set("~&|>"))
    numbers = {letter: i for i, letter in enumerate(letters, 1)}
    cnf: list[list[int]] = []
    premise = clauses(a, numbers, cnf, len(letters))
    conclusion = clauses(b, numbers, cnf, len(letters) + len(a))
    with Solver(SOLVER, bootstrap_with=[*cnf, [premise], [-conclusion]]) as solver:
        return not solver.solve()


# Data sets


def settings(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Name the data sets of a chunk, and give the options of the command for each."""
    rng = random.Random(f"labels {seed}")

    def spread(low: int, high: int) -> str:
        first, last = sorted((rng.randint(low, high), rng.randint(low, high)))
        return f"{first}-{last}"

    yield "4-tuples", ["--rows", "600000"]
    yield "preset small", ["--preset", "small"]
    yield "4-tuples, pruned against others", ["--rows", "20000", "--prune-against", OTHER]
    if seed % 8 == 0:
        yield "preset quick", ["--preset", "quick"]
    if seed % 16 == 0:
        yield "preset paper", ["--preset", "paper"]
    some = ["--variables", spread(3, 14), "--operators", spread(4, 16)]
    yield "4-tuples, other settings", ["--rows", "20000", *some]
    some = ["--variables", spread(6, 22), "--operators", spread(10, 30)]
    yield "4-tuples, other settings", ["--rows", "4000", *some]
    yield "4-tuples, pruned by pairs", ["--rows", "200000", "--prune", "pairs"]
    some = ["--exact-variables", "--variables", f"{rng.randint(3, 6)}"]
    yield "exact variables", ["--rows", "20000", *some]
    yield "naive", ["--rows", "150000", "--method", "naive"]
    some = ["--variables", spread(3, 14), "--operators", spread(4, 16)]
    yield "naive", ["--rows", "50000", "--method", "naive", *some]
    yield "mutated", ["--rows", "4000", "--method", "mutated"]
    some = ["--variables", spread(6, 20), "--operators", spread(10, 30)]
    yield "mutated", ["--rows", "400", "--method", "mutated", *some]
    if seed % 4 == 1:
        yield "giant", ["--rows", "20", "--method", "giant"]
    yield "sat", ["--rows", "80", "--method", "sat"]
    size = rng.randint(10, 16)
    some = ["--variables", f"{size}", "--clauses", f"{rng.randint(4 * size, 5 * size)}"]
    yield "sat", ["--rows", "200", "--method", "sat", *some]


def generate(folder: Path, options: list[str], seed: int) -> bool:
    """Make a data set; False where the settings do not have so many rows."""
    command = [sys.executable, "-m", "possibleworlds", "generate", str(folder), *options]
    done = subprocess.run(
        [*command, "--seed", str(seed), "--workers", "1"], capture_output=True, text=True
    )
    if done.returncode and "are to be found" not in done.stderr:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return not done.returncode


class Rows(NamedTuple):
    """What rows.c says of the rows of a file."""

    lines: list[bytes]
    faults: NDArray[np.uint8]
    variables: NDArray[np.uint8]
    keys: NDArray[np.uint64]
    """Numbers of the pair, its premise and its conclusion up to renaming, [rows, 3]: equal ones
    have equal numbers, so that no duplicate or leak is missed."""


@cache
def native() -> ctypes.CDLL:
    """Compile rows.c, and load it."""
    with tempfile.TemporaryDirectory(prefix="labels-") as temporary:
        library = Path(temporary) / "rows.so"
        source = Path(__file__).with_name("rows.c")
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def read_rows(path: Path) -> Rows:
    """Read a file, and decide its rows by truth table."""
    data = path.read_bytes()
    data += b"" if data.endswith(b"\n") else b"\n"
    lines = data.split(b"\n")[:-1]
    faults, variables = np.zeros((2, len(lines)), np.uint8)
    keys = np.zeros((len(lines), 3), np.uint64)
    arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (faults, variables, keys))
    native().judge(data, ctypes.c_long(len(data)), TABLE_VARIABLES, *arrays)
    return Rows(lines, faults, variables, keys)


class Judge:
    """Decides the rows of a data set anew, and counts what is wrong."""

    def __init__(self, rng: np.random.Generator, exact: int, by_formula: bool) -> None:
        self.rng, self.exact, self.by_formula = rng, exact, by_formula
        self.counts: Counter[str] = Counter()
        self.examples: list[str] = []
        nothing = np.zeros((0, 3), np.uint64)
        self.earlier = nothing
        """The keys of earlier files, of which no file may have a pair."""
        self.training = nothing
        self.others = nothing
        """The keys of files that the data set was pruned against."""

    def add_other(self, path: Path) -> None:
        """Take in a file that the data set was pruned against."""
        keys = read_rows(path).keys
        self.earlier = np.concatenate([self.earlier, keys])
        self.others = np.concatenate([self.others, keys])

    def judge_file(self, path: Path) -> None:
        """Decide the rows of a file."""
        rows = read_rows(path)
        self.counts["rows"] += len(rows.lines)
        is_readable = (rows.faults & UNREADABLE) == 0
        is_wrong = {
            "unreadable": ~is_readable,
            "wrong labels": (rows.faults & WRONG_LABEL) != 0,
            "wrong guesses": (rows.faults & WRONG_GUESSES) != 0,
            "wrong variables": is_readable & (rows.variables != self.exact) & bool(self.exact),
        }
        self.solve(rows, is_readable, is_wrong["wrong labels"])
        repeated = self.repeated(rows.keys[is_readable], path.name)
        for fault, of_readable in zip(("duplicates", "leaks"), repeated, strict=True):
            is_wrong[fault] = np.zeros(len(rows.lines), bool)
            is_wrong[fault][is_readable] = of_readable
        for number in np.flatnonzero(np.any(list(is_wrong.values()), axis=0)):
            faults = [fault for fault in FAULTS if is_wrong[fault][number]]
            self.counts.update(faults)
            line = rows.lines[number][:300].decode(errors="replace")
            self.examples.append(f"{path.name}:{number + 1}: {', '.join(faults)}: {line}")

    def solve(
        self, rows: Rows, is_readable: NDArray[np.bool_], is_wrong: NDArray[np.bool_]
    ) -> None:
        """Decide by solver all rows that have no truth table, and some of the others."""
        is_large = rows.variables > TABLE_VARIABLES
        is_chosen = is_readable & (is_large | (self.rng.random(len(is_large)) < SOLVED_SHARE))
        for number in np.flatnonzero(is_chosen):
            a, b, label, *_ = rows.lines[number].decode().split(",")
            is_wrong[number] |= entails_by_solver(parse(a), parse(b)) != (label == "1")
        self.counts["by truth table"] += int(np.count_nonzero(is_readable & ~is_large))
        self.counts["by solver"] += int(np.count_nonzero(is_chosen))

    def repeated(
        self, keys: NDArray[np.uint64], file: str
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say which rows repeat one of their file, and which what another file must not have."""
        is_duplicate = np.ones(len(keys), bool)
        is_duplicate[np.unique(keys[:, 0], return_index=True)[1]] = False
        is_leak = np.isin(keys[:, 0], self.earlier[:, 0])
        if self.by_formula and file != EXAM:
            for part in (1, 2):
                is_leak |= np.isin(keys[:, part], self.others[:, part])
                if file != TRAINING:
                    is_leak |= np.isin(keys[:, part], self.training[:, part])
        if file == TRAINING:
            self.training = keys
        self.earlier = np.concatenate([self.earlier, keys])
        return is_duplicate, is_leak


def judge(folder: Path, other: Path, options: list[str], rng: np.random.Generator) -> Judge:
    """Decide the rows of a data set, training data first."""
    exact = int(options[options.index("--variables") + 1]) if "--exact-variables" in options else 0
    judge = Judge(rng, exact, by_formula="pairs" not in options)
    for path in sorted(other.glob("*.txt")) if OTHER in options else ():
        judge.add_other(path)
    for path in sorted(folder.glob("*.txt"), key=lambda path: (path.name != TRAINING, path.name)):
        judge.judge_file(path)
    return judge


def judge_chunk(seed: int) -> dict[str, Any]:
    """Make the data sets of a seed and decide them anew."""
    counts: dict[str, Counter[str]] = {}
    examples: list[str] = []
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="labels-") as temporary:
        for number, (name, options) in enumerate(settings(seed)):
            count = counts.setdefault(name, Counter())
            folder, other = (Path(temporary) / str(n) for n in (number, number - 1))
            words = [str(other) if word == OTHER else word for word in options]
            if not generate(folder, words, 100 * seed + number):
                count["settings without so many rows"] += 1
                continue
            judged = judge(folder, other, options, rng)
            count["data sets"] += 1
            count.update(judged.counts)
            made = " ".join(["generate", *options, "--seed", str(100 * seed + number)])
            examples += [f"{made}: {example}" for example in judged.examples]
    return {"seed": seed, "commit": commit(), "counts": counts, "examples": examples[:100]}


# What is kept


def totals(chunks: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Add up the counts of all chunks, by the kind of data set."""
    added: dict[str, Counter[str]] = {}
    for chunk in chunks:
        for name, counts in chunk["counts"].items():
            added.setdefault(name, Counter()).update(counts)
    return added


def shown(chunks: list[dict[str, Any]]) -> str:
    """The totals, as the page has them."""
    columns = ("data sets", "rows", "by truth table", "by solver", *FAULTS)
    of_kind = totals(chunks)
    every: Counter[str] = Counter()
    for counts in of_kind.values():
        every.update(counts)
    lines = ["| | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for name, counts in [*of_kind.items(), ("all", every)]:
        lines.append(f"| {name} | " + " | ".join(f"{counts[c]:,}" for c in columns) + " |")
    return "\n".join(lines)


def main() -> None:
    """Decide rows until there are enough; exit code 1 unless all were right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="in all, in the state file")
    parser.add_argument("--seed", type=int, help="of the first chunk, else the next one")
    parser.add_argument("--state", type=Path, required=True, help="the file of the totals")
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    arguments = parser.parse_args()
    chunks = read_counts(arguments.state)
    seed = arguments.seed
    while sum(counts["rows"] for counts in totals(chunks).values()) < arguments.rows:
        if seed is None:
            seed = next_seed(chunks)
        if any(chunk["seed"] == seed for chunk in chunks):
            sys.exit(f"seed {seed} is in {arguments.state} already")
        began = cpu_seconds()
        chunk = judge_chunk(seed)
        chunk["cpu_seconds"] = round(cpu_seconds() - began, 1)
        chunks.append(chunk)
        write_counts(arguments.state, chunks)
        rows = sum(counts["rows"] for counts in totals(chunks).values())
        print(f"{time.strftime('%H:%M:%S')} seed {seed}: {rows:,} rows", *chunk["examples"][:3])
        sys.stdout.flush()
        seed += 1
    print(shown(chunks))
    if arguments.write:
        text = f"{described(chunks)}:\n\n{shown(chunks)}"
        replace_part("reliability.md", "labels", text)
    sys.exit(any(chunk["examples"] for chunk in chunks))


if __name__ == "__main__":
    main()
