"""Read and write the published line format, `A,B,E,H1,H2,H3`; also read pairs from users.

The path `-` stands for standard input.
"""

import atexit
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

from possibleworlds.data import native
from possibleworlds.data.heuristics import Heuristics, Literals, literals, nothing_new
from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.data.user_pairs import is_user_line, read_user_line, user_pairs
from possibleworlds.errors import UserError, quoted
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.syntax import MAX_CHARACTERS, FormulaError, parse, to_published
from possibleworlds.records import Range, check_argument
from possibleworlds.storage import atomic_write, sha256

FIELDS = "A,B,E,H1,H2,H3"
BITS = ("0", "1")
LINES_AT_ONCE = 1000
ROWS_BETWEEN_REPORTS = 100
TRAINING_FILES = ("train.txt", "validate.txt")
"""The files that a network is trained with."""

T = TypeVar("T")
PairsLike = Pairs | str | Path | Sequence[Sequence[Any]]
"""Pairs, a data file, or rows (A, B) or (A, B, label)."""


@lru_cache(maxsize=1 << 12)
def from_published(text: str) -> str:
    """Parse a formula of a data file, of any depth, to reverse Polish notation."""
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"{len(text):,} characters; a formula has up to {MAX_CHARACTERS:,}")
    rpn: list[str] = []
    operators: list[str] = []
    for symbol in text:
        if symbol in "~&|>":
            operators.append(symbol)
        elif symbol == ")" and operators:
            rpn.append(operators.pop())
        elif "a" <= symbol <= "z":
            rpn.append(symbol)
    try:
        if to_published(Formula(tuple(rpn)).rpn) == text:
            return "".join(rpn)
    except UserError:
        pass
    parse(text)
    raise FormulaError("not in the published form, which is like ~((p&q))", text, 0)


def format_rows(rows: Iterable[tuple[str, str, int]]) -> str:
    """Format rows, which may share formulas, as lines of a data file."""
    if native.kernel:
        return "".join([native.kernel.line(*row) for row in rows])
    known: dict[str, tuple[str, Literals]] = {}
    lines = ""
    for a, b, label in rows:
        for rpn in (a, b):
            if rpn not in known:
                known[rpn] = to_published(rpn), literals(rpn)
        text_a, literals_a = known[a]
        text_b, literals_b = known[b]
        h2, h3 = nothing_new(literals_a, literals_b)
        h1 = len(a) >= len(b)
        lines += f"{text_a},{text_b},{BITS[label]},{BITS[h1]},{BITS[h2]},{BITS[h3]}\n"
    return lines


def parse_line(line: str) -> tuple[Pair, Heuristics]:
    """Parse a line of a data file to its pair and its heuristics."""
    if not line.strip():
        raise UserError("an empty line")
    fields = line.rstrip("\r\n").split(",")
    if len(fields) != FIELDS.count(",") + 1:
        raise UserError(f"{len(fields)} fields where a line has {FIELDS}")
    a, b, *bits = fields
    if not set(bits).issubset(BITS):
        raise UserError(f"E,H1,H2,H3 must each be 0 or 1, not {quoted(','.join(bits))}")
    label, h1, h2, h3 = map(int, bits)
    pair = Pair(from_published(a), from_published(b), bool(label))
    return pair, (bool(h1), bool(h2), bool(h3))


@contextmanager
def open_lines(path: Path) -> Iterator[IO[bytes]]:
    """Open a data file; raise UserError for a pipe, which may never end."""
    try:
        if path.is_dir():
            raise UserError(f"{path} is a folder; give one of its files")
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{path}: not a file; standard input is written -")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def raw_lines(path: Path) -> Iterator[str]:
    """Iterate over the lines of a data file, replacing invalid bytes."""
    with open_lines(path) as file:
        yield from TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="\n")


def read_pairs(path: Path) -> Iterator[Pair]:
    """Iterate over the pairs of a data file; raise UserError with the number of an invalid line."""
    number = 0
    for number, line in enumerate(raw_lines(path), 1):
        try:
            pair = read_user_line(line) if is_user_line(line) else parse_line(line)[0]
        except UserError as error:
            raise UserError(f"{shown_name(path)}:{number}: {error}") from None
        yield pair
    if not number:
        raise UserError(f"{shown_name(path)}: an empty file")


def read_watched(path: Path, advance: Callable[[int], None]) -> Iterator[Pair]:
    """Read the pairs of a data file, and report every few rows how many more were read."""
    rows = 0
    for pair in read_pairs(path):
        yield pair
        rows += 1
        if rows == ROWS_BETWEEN_REPORTS:
            advance(rows)
            rows = 0
    advance(rows)


def read(path: str | Path, rows: int | None = None) -> Pairs:
    """Read a data file, or its first rows, into memory."""
    if not isinstance(path, str | Path):
        raise UserError(f"a data file is given by its path, not by {quoted(path)}")
    check_argument("rows", rows, Annotated[int | None, Range(0, sys.maxsize)])
    return Pairs.of(islice(read_pairs(Path(path)), rows))


def as_pairs(value: PairsLike, name: str) -> Pairs:
    """Convert a data file or rows (A, B) or (A, B, label) to pairs; return pairs unchanged."""
    if isinstance(value, str | Path):
        return read(value)
    if isinstance(value, list | tuple):
        value = user_pairs(value)
    if not isinstance(value, Pairs):
        kind = type(value).__name__
        raise UserError(f"{name} must be pairs, a list of them, or a file, not of type {kind}")
    if not len(value):
        raise UserError(f"there are no pairs in {name!r}")
    return value


def write(path: Path, rows: Iterable[tuple[str, str, int]]) -> None:
    """Write rows to a data file."""
    with atomic_write(path) as file:
        for block in in_blocks(iter(rows)):
            file.write(format_rows(block))


def fingerprint(folder: Path) -> dict[str, str]:
    """Compute the SHA-256 of the training and validation files, by name."""
    if folder.is_file():
        raise UserError(f"{folder} is a file; give a folder with {' and '.join(TRAINING_FILES)}")
    return {name: sha256(folder / name) for name in TRAINING_FILES}


def in_blocks(lines: Iterator[T]) -> Iterator[list[T]]:
    """Group lines or rows into blocks."""
    while block := list(islice(lines, LINES_AT_ONCE)):
        yield block


def data_files(paths: list[Path]) -> list[Path]:
    """List data files without duplicates; a folder means its .txt files, - standard input."""
    files: dict[Path, Path] = {}
    for path in paths:
        path = spooled_input() if path == Path("-") else path
        content = sorted(path.glob("*.txt")) if path.is_dir() else [path]
        if not content:
            raise UserError(f"{path}: a folder without .txt files")
        for file in content:
            files.setdefault(file.resolve(), file)
    return list(files.values())


@cache
def spooled_input() -> Path:
    """Copy standard input to a file that is removed at exit, and return its path."""
    folder = tempfile.mkdtemp(prefix="possibleworlds-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "stdin.txt"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def shown_name(path: Path) -> str:
    """Return the name of a data file as the user wrote it."""
    is_piped = spooled_input.cache_info().currsize and path == spooled_input()
    return "-" if is_piped else str(path)


def count_lines(path: Path) -> int:
    """Count the lines of a file."""
    with open_lines(path) as file:
        return sum(1 for _ in file)
