"""Generated rows decided anew by a second, independent implementation.

    .venv/bin/python benchmarks/labels.py --state labels.json [--rows 10000000] [--seed N] [--write]

Nothing of the package is imported: data sets are made by the command `possibleworlds generate`, and
their files are read by the parser below, written from the description of the published form. A row
of up to 16 variables is decided by its truth table, numbers of 2^n bits; one of more variables, and
a tenth of the others, by CaDiCaL on clauses of its own making. The guesses H1, H2 and H3 are
computed anew, too. A duplicate is a pair that stands twice in a file up to renaming of variables; a
leak one that stands in two files of a data set, or a premise of the training data, or a conclusion
numbered on from its premise, that another split has (not with `--prune pairs`, nor for the exam),
or a premise or conclusion of a file that was given by `--prune-against`.

Rows come in chunks, one for each seed, over all methods and settings. The totals of each chunk are
added to the file --state, so that several runs add up; a run goes on with the next seed until the
file has --rows rows. --write puts the totals into docs/reliability.md.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from counts import cpu_seconds, described, next_seed, read_counts, write_counts
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
Literals = frozenset[tuple[str, bool]]


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


@cache
def table(variables: int) -> tuple[list[int], int]:
    """Give the columns of a truth table, and the column of truth: bit r belongs to row r."""
    rows = 1 << variables
    every = (1 << rows) - 1
    # Column j has 2^j zeros, 2^j ones, and so on: every / (2^(2^j) + 1) has the ones first.
    return [every // ((1 << (1 << j)) + 1) << (1 << j) for j in range(variables)], every


def column(postfix: Postfix, of_letter: dict[str, int], every: int) -> int:
    """Compute the column of a formula in a truth table."""
    stack: list[int] = []
    for symbol in postfix:
        if symbol == "~":
            stack[-1] ^= every
        elif symbol in of_letter:
            stack.append(of_letter[symbol])
        else:
            right = stack.pop()
            left = stack[-1]
            if symbol == "&":
                stack[-1] = left & right
            elif symbol == "|":
                stack[-1] = left | right
            else:
                stack[-1] = (every ^ left) | right
    (value,) = stack
    return value


def entails_by_table(a: Postfix, b: Postfix, letters: list[str]) -> bool:
    """Whether B is true in every row of the truth table where A is."""
    columns, every = table(len(letters))
    of_letter = dict(zip(letters, columns, strict=True))
    return not column(a, of_letter, every) & (every ^ column(b, of_letter, every))


def clauses(postfix: Postfix, numbers: dict[str, int], found: list[list[int]], last: int) -> int:
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
                found += [[-last, left], [-last, right], [last, -left, -right]]
            else:
                if symbol == ">":
                    left = -left
                found += [[last, -left], [last, -right], [-last, left, right]]
            stack.append(last)
    (literal,) = stack
    return literal


def entails_by_solver(a: Postfix, b: Postfix, letters: list[str]) -> bool:
    """Whether A and not B have no model."""
    numbers = {letter: i for i, letter in enumerate(letters, 1)}
    found: list[list[int]] = []
    premise = clauses(a, numbers, found, len(letters))
    conclusion = clauses(b, numbers, found, len(letters) + len(a))
    with Solver(SOLVER, bootstrap_with=[*found, [premise], [-conclusion]]) as solver:
        return not solver.solve()


@lru_cache(maxsize=64)
def literals(postfix: Postfix) -> Literals:
    """Find the literals of the negation normal form: letters with signs."""
    # From the root on: an operator says which signs its arguments have, the right one first.
    found, signs = set(), [True]
    for symbol in reversed(postfix):
        sign = signs.pop()
        if symbol == "~":
            signs.append(not sign)
        elif symbol in "&|":
            signs += [sign, sign]
        elif symbol == ">":
            signs += [not sign, sign]
        else:
            found.add((symbol, sign))
    return frozenset(found)


def numbered(a: Postfix, b: Postfix) -> tuple[str, str]:
    """Name the variables of a pair by the order in which they come, first in A and then in B."""
    names = dict.fromkeys(symbol for symbol in a + b if symbol.isalpha())
    renamed = str.maketrans({name: chr(ord("a") + i) for i, name in enumerate(names)})
    return a.translate(renamed), b.translate(renamed)


def key(*parts: str) -> bytes:
    """Shorten what has to be remembered."""
    return blake2b(",".join(parts).encode(), digest_size=12).digest()


# Data sets


def settings(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Name the data sets of a chunk, and give the options of the command for each."""
    rng = random.Random(f"labels {seed}")

    def spread(low: int, high: int) -> str:
        first, last = sorted((rng.randint(low, high), rng.randint(low, high)))
        return f"{first}-{last}"

    yield "4-tuples", ["--rows", "400000"]
    yield "preset small", ["--preset", "small"]
    yield "4-tuples, pruned against others", ["--rows", "20000", "--prune-against", OTHER]
    if seed % 4 == 0:
        yield "preset quick", ["--preset", "quick"]
    if seed % 16 == 0:
        yield "preset paper", ["--preset", "paper"]
    some = ["--variables", spread(3, 14), "--operators", spread(4, 16)]
    yield "4-tuples, other settings", ["--rows", "20000", *some]
    some = ["--variables", spread(6, 22), "--operators", spread(10, 30)]
    yield "4-tuples, other settings", ["--rows", "4000", *some]
    yield "4-tuples, pruned by pairs", ["--rows", "20000", "--prune", "pairs"]
    some = ["--exact-variables", "--variables", f"{rng.randint(3, 6)}"]
    yield "exact variables", ["--rows", "10000", *some]
    yield "naive", ["--rows", "40000", "--method", "naive"]
    some = ["--variables", spread(3, 14), "--operators", spread(4, 16)]
    yield "naive", ["--rows", "20000", "--method", "naive", *some]
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


class Judge:
    """Decides the rows of a data set anew, and counts what is wrong."""

    def __init__(self, rng: random.Random, exact: int, by_formula: bool) -> None:
        self.rng, self.exact, self.by_formula = rng, exact, by_formula
        self.counts: Counter[str] = Counter()
        self.examples: list[str] = []
        self.earlier: set[bytes] = set()
        """The pairs of earlier files."""
        self.premises: set[bytes] = set()
        self.conclusions: set[bytes] = set()
        self.others: tuple[set[bytes], set[bytes]] = set(), set()
        """The premises and conclusions of files that the data set was pruned against."""

    def add_other(self, path: Path) -> None:
        """Take in a file that the data set was pruned against."""
        for line in path.read_text(encoding="ascii").splitlines():
            a, b = numbered(*map(parse, line.split(",")[:2]))
            self.earlier.add(key(a, b))
            for known, formula in zip(self.others, (a, b), strict=True):
                known.add(key(formula))

    def judge_file(self, path: Path) -> None:
        """Decide the rows of a file."""
        here: set[bytes] = set()
        with path.open(encoding="ascii", newline="\n") as file:
            for number, line in enumerate(file, 1):
                faults = self.judge_line(line, path.name, here)
                self.counts["rows"] += 1
                self.counts.update(faults)
                if faults:
                    self.examples.append(f"{path.name}:{number}: {', '.join(faults)}: {line[:300]}")
        self.earlier |= here

    def judge_line(self, line: str, file: str, here: set[bytes]) -> list[str]:
        """Say what is wrong with a row."""
        try:
            text_a, text_b, *bits = line.removesuffix("\n").split(",")
            label, h1, h2, h3 = (("0", "1").index(bit) for bit in bits)
            a, b = parse(text_a), parse(text_b)
        except ValueError:
            return ["unreadable"]
        faults = []
        letters = sorted(set(a + b) - set("~&|>"))
        if self.decided(a, b, letters) != {bool(label)}:
            faults.append("wrong labels")
        of_a, of_b = literals(a), literals(b)
        nothing_new = {x for x, _ in of_b} <= {x for x, _ in of_a}
        if (h1, h2, h3) != (len(a) >= len(b), nothing_new, of_b <= of_a):
            faults.append("wrong guesses")
        if self.exact and len(letters) != self.exact:
            faults.append("wrong variables")
        return faults + self.repeated(a, b, file, here)

    def decided(self, a: Postfix, b: Postfix, letters: list[str]) -> set[bool]:
        """Decide by truth table and solver, whatever applies; the answers should be one."""
        answers = set()
        is_large = len(letters) > TABLE_VARIABLES
        if not is_large:
            answers.add(entails_by_table(a, b, letters))
            self.counts["by truth table"] += 1
        if is_large or self.rng.random() < SOLVED_SHARE:
            answers.add(entails_by_solver(a, b, letters))
            self.counts["by solver"] += 1
        return answers

    def repeated(self, a: Postfix, b: Postfix, file: str, here: set[bytes]) -> list[str]:
        """Say whether a row repeats one of its file, or what another file must not have."""
        a, b = numbered(a, b)
        pair, faults = key(a, b), []
        if pair in here:
            faults.append("duplicates")
        here.add(pair)
        is_leak = pair in self.earlier
        if self.by_formula and file != EXAM:
            premise, conclusion = key(a), key(b)
            is_leak |= premise in self.others[0] or conclusion in self.others[1]
            if file == TRAINING:
                self.premises.add(premise)
                self.conclusions.add(conclusion)
            else:
                is_leak |= premise in self.premises or conclusion in self.conclusions
        return [*faults, "leaks"] if is_leak else faults


def judge(folder: Path, other: Path, options: list[str], rng: random.Random) -> Judge:
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
    rng = random.Random(f"solved {seed}")
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
