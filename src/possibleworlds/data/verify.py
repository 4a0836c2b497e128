"""Check entailment files of any origin: labels, format, balance, structure, leaks."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from possibleworlds.data.files import in_blocks, parse_line, raw_lines, shown_name
from possibleworlds.data.heuristics import heuristics
from possibleworlds.data.keys import pair_keys
from possibleworlds.data.pairs import Pair
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.data.user_pairs import is_user_line, read_user_line
from possibleworlds.errors import UserError
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.sat import DEFAULT_SOLVER, find_model
from possibleworlds.logic.truth import COUNTED_VARIABLES, count_models
from possibleworlds.parallel import ordered_map
from possibleworlds.storage import sha256

REARRANGED = 0.9
"""The fraction of mutated pairs in which B* has the symbols of B, from which on no formula alone
may tell the label, as in massive."""
CHECKS = (
    "format",
    "label",
    "heuristic",
    "balance",
    "structure",
    "one-sided",
    "changed",
    "duplicate",
    "leak",
)


class FileProblem(NamedTuple):
    """A problem of a file, at a line or, with line 0, of the whole file."""

    path: Path
    line: int
    check: str
    message: str

    def __str__(self) -> str:
        name = shown_name(self.path)
        place = f"{name}:{self.line}" if self.line else name
        return f"{place}: {self.check}: {self.message}"


class Summary(NamedTuple):
    """The results of checking a file."""

    path: Path
    rows: int
    positive: int
    structure: str
    problems: Counter[str]


class Checked(NamedTuple):
    """A line after the checks that do not depend on other lines."""

    pair: Pair | None
    key: int
    problems: list[tuple[str, str]]
    is_rearranged: bool = False
    """Whether it begins a mutated pair in which B* has the symbols of B in another order."""
    one_sided: str = ""
    """How one formula alone then gives away the label."""


def check_lines(lines: list[str], are_published: bool = True) -> list[Checked]:
    """Check lines independently; the solver decides every label anew.

    They are rows in the published format, or pairs as users write them.
    """
    checked = [check_line(line, are_published) for line in lines]
    keys = iter(pair_keys((pair.a, pair.b) for pair, *_ in checked if pair))
    keyed = [line._replace(key=next(keys)) if line.pair else line for line in checked]
    for place in range(len(keyed) - 1):
        first, second = keyed[place].pair, keyed[place + 1].pair
        if not first or not second or unit_at([first, second]) != "mutated pairs":
            continue
        if sorted(first.b) == sorted(second.b):
            problem = one_sided(first, second)
            keyed[place] = keyed[place]._replace(is_rearranged=True, one_sided=problem)
    return keyed


def one_sided(entailment: Pair, mutated: Pair) -> str:
    """Describe how A, B or B* alone gives away the label of a mutated pair; empty if none does."""
    a, b, mutant = entailment.premise, entailment.conclusion, mutated.conclusion
    if find_model([(a, True)]) is None:
        return "A is a contradiction"
    if find_model([(b, False)]) is None:
        return "B is a tautology"
    if max(len(b.variables), len(mutant.variables)) > COUNTED_VARIABLES:
        return ""
    models, mutants = count_models(b), count_models(mutant)
    return "" if models == mutants else f"B has {models:,} models, B* {mutants:,}"


def check_line(line: str, is_published: bool) -> Checked:
    """Check a single line; a pair from a user has no heuristics, and its label may be missing."""
    try:
        pair, stated = parse_line(line) if is_published else (read_user_line(line), None)
    except UserError as error:
        return Checked(None, 0, [("format", str(error).split("\n")[0])])
    problems = []
    a, b = pair.premise, pair.conclusion
    if entails(a, b, DEFAULT_SOLVER) != pair.label:
        truth = "does not entail" if pair.label else "entails"
        problems.append(("label", f"the label is {pair.label:d}, but A {truth} B"))
    h1, h2, h3 = heuristics(pair.a, pair.b)
    by_operators = a.operators >= b.operators
    if stated and stated not in ((h1, h2, h3), (by_operators, h2, h3)):
        problems.append(("heuristic", f"H1,H2,H3 should be {h1:d},{h2:d},{h3:d}"))
    return Checked(pair, 0, problems)


def unit_at(rows: Sequence[Pair | None]) -> str:
    """Return the unit that the first rows form: 4-tuples, mutated pairs, or none."""
    match rows:
        case [Pair(a1, b1, 1), Pair(a2, b2, 1), Pair(a3, b3, 0), Pair(a4, b4, 0), *_] if (
            a3,
            b3,
            a4,
            b4,
        ) == (a1, b2, a2, b1):
            return "4-tuples"
        case [Pair(a1, _, 1), Pair(a2, _, 0), *_] if a1 == a2:
            return "mutated pairs"
    return ""


UNIT_SIZE = {"4-tuples": 4, "mutated pairs": 2, "": 1}


class Structure:
    """Tracks the units that rows form, and the first line of each unit by kind."""

    def __init__(self) -> None:
        self.waiting: list[Pair | None] = []
        self.begins = {unit: array("Q") for unit in UNIT_SIZE}
        self.line = 1

    def add(self, pair: Pair | None, at_end: bool = False) -> None:
        """Add the next row, or mark the end."""
        if not at_end:
            self.waiting.append(pair)
        while len(self.waiting) >= (1 if at_end else 4):
            unit = unit_at(self.waiting)
            self.begins[unit].append(self.line)
            del self.waiting[: UNIT_SIZE[unit]]
            self.line += UNIT_SIZE[unit]

    def kind(self) -> str:
        """Return the kind of unit that most rows are in; empty if there is none."""
        rows = {unit: len(lines) * UNIT_SIZE[unit] for unit, lines in self.begins.items()}
        most = max(rows, key=lambda unit: rows[unit])
        return most if 2 * rows[most] > sum(rows.values()) else ""

    def outside(self) -> Iterator[int]:
        """Yield the lines outside units of the most common kind."""
        others = (unit for unit in UNIT_SIZE if unit != self.kind())
        begins = sorted((line, UNIT_SIZE[unit]) for unit in others for line in self.begins[unit])
        return (line + i for line, size in begins for i in range(size))


def verify(
    paths: Sequence[Path],
    workers: int = 1,
    progress: Callable[[Path, int], None] = lambda *_: None,
) -> Iterator[FileProblem | Summary]:
    """Check files: yield problems as they are found, then a summary of each file."""
    keys = array("Q")
    ends, summaries = [0], []
    for path in paths:
        structure, counts, positive, rows = Structure(), Counter[str](), 0, 0
        suspects: dict[int, str] = {}
        n_rearranged = 0
        lines = raw_lines(path)
        first = list(islice(lines, 1))
        check = partial(check_lines, are_published=not any(map(is_user_line, first)))
        for block in ordered_map(check, in_blocks(chain(first, lines)), workers):
            for checked in block:
                rows += 1
                keys.append(checked.key)
                structure.add(checked.pair)
                positive += checked.pair is not None and checked.pair.label
                n_rearranged += checked.is_rearranged
                if checked.one_sided:
                    suspects[rows] = checked.one_sided
                for problem, message in checked.problems:
                    counts[problem] += 1
                    yield FileProblem(path, rows, problem, message)
            progress(path, rows)
        structure.add(None, at_end=True)
        if not rows:
            counts["format"] += 1
            yield FileProblem(path, 0, "format", "an empty file")
        if structure.kind():
            for line in structure.outside():
                counts["structure"] += 1
                message = f"not in one of the {structure.kind()} that the other rows form"
                yield FileProblem(path, line, "structure", message)
        # In massive, each B* is B with two parts exchanged. In the exam, and in pairs by hand, B
        # and B* are alike on average at most.
        mutated = structure.begins["mutated pairs"]
        if structure.kind() == "mutated pairs" and n_rearranged >= REARRANGED * len(mutated):
            for line in mutated:
                if line in suspects:
                    counts["one-sided"] += 1
                    yield FileProblem(path, line, "one-sided", suspects[line])
        if unbalanced(positive, rows, bool(structure.kind())):
            counts["balance"] += 1
            message = f"{positive} of {rows} rows are positive"
            yield FileProblem(path, 0, "balance", message)
        if changed(path):
            counts["changed"] += 1
            message = f"not the file that {MANIFEST} beside it describes"
            yield FileProblem(path, 0, "changed", message)
        ends.append(rows + ends[-1])
        summaries.append(Summary(path, rows, positive, structure.kind(), counts))
    for again in repeated(np.frombuffer(keys, np.uint64), np.array(ends), paths):
        summaries[list(paths).index(again.path)].problems[again.check] += 1
        yield again
    yield from missing(paths)
    yield from summaries


def missing(paths: Sequence[Path]) -> Iterator[FileProblem]:
    """Yield the files that a manifest describes and that are not there, for whole folders."""
    for folder in dict.fromkeys(path.parent for path in paths):
        if (folder / MANIFEST).exists() and set(folder.glob("*.txt")) <= set(paths):
            for split in read_manifest(folder)["splits"].values():
                if not (path := folder / split["file"]).exists():
                    message = f"missing, although {MANIFEST} describes it"
                    yield FileProblem(path, 0, "changed", message)


def changed(path: Path) -> bool:
    """Whether a file differs from the manifest of its folder, if there is one."""
    if not (path.parent / MANIFEST).exists():
        return False
    splits = read_manifest(path.parent)["splits"].values()
    return any(split["file"] == path.name and split["sha256"] != sha256(path) for split in splits)


def unbalanced(positive: int, rows: int, structured: bool) -> bool:
    """Whether the classes differ in size: at all if rows form units, else more than by chance."""
    deviation = abs(positive - rows / 2)
    return deviation > (0 if structured else 3 * (rows / 4) ** 0.5)


def repeated(
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
    ends: np.ndarray[tuple[int], np.dtype[np.int64]],
    paths: Sequence[Path],
) -> Iterator[FileProblem]:
    """Yield the pairs that repeat an earlier line of any file, up to renaming."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    first = np.repeat(begins, np.diff([*begins, len(ordered)]))
    again = np.flatnonzero((first < np.arange(len(ordered))) & (ordered != 0))
    repeats = zip(order[again].tolist(), order[first[again]].tolist(), strict=True)
    for later, earlier in sorted(repeats):
        i, j = np.searchsorted(ends, [later, earlier], side="right") - 1
        where = f"{paths[j]}:{earlier - ends[j] + 1}"
        check, verb = ("duplicate", "repeats") if i == j else ("leak", "leaks")
        message = f"{verb} {where}, up to renaming"
        yield FileProblem(paths[i], int(later - ends[i]) + 1, check, message)
