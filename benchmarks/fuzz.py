"""Random and spoiled inputs to whatever reads what a user gives.

    .venv/bin/python benchmarks/fuzz.py [--inputs 1000000] [--seed 0] [--write]

Each input must end in a value or in a clear error, soon and within a bounded memory; any other end
is printed with the number of the input, from which `--only READER:NUMBER` makes it again. With
--write the figures go into docs/reliability.md.
"""

import argparse
import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from pages import commit, replace_part
from rich.console import Console

from possibleworlds.cli.progress import status_table
from possibleworlds.data.files import format_rows, read_pairs
from possibleworlds.data.pairs import Pairs
from possibleworlds.data.splits import MANIFEST, free_splits, generate_folder, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.experiments.grid import Budget, Candidate, Plan, Rung, complete
from possibleworlds.experiments.selection import SELECTED
from possibleworlds.experiments.sweep import (
    SWEEP,
    NetworkRecord,
    SearchRequest,
    Selection,
    SweepRecord,
    read_searches,
    selected_runs,
)
from possibleworlds.experiments.trials import FAILED, LOCKS, TRIALS, Progress, read_result
from possibleworlds.logic.syntax import MEANING, parse, published, render
from possibleworlds.models.registry import names, resolve
from possibleworlds.parallel import cores, ordered_map
from possibleworlds.storage import lock_message
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import RUN, RunRecord, load_model, read_run
from possibleworlds.training.evaluation import Evaluation
from possibleworlds.training.evaluations import EVALUATION, read_evaluations
from possibleworlds.training.loop import Trainer
from possibleworlds.training.settings import RunSettings, TrainingSettings

SECONDS = 10.0
"""How long an input may take."""
MEMORY = 1 << 30
"""How much memory the process that reads may come to have, in bytes."""
AT_ONCE = 500
SECONDS_OF_BLOCK = 600
"""How long so many inputs may take, for what hangs outside of Python and hears no signal."""
LONGEST_MESSAGE = 1000
SHOWN_FAILURES = 20

Text = TypeVar("Text", str, bytes)


class TooSlowError(BaseException):
    """An input took too long; no `except Exception` may take it for an answer."""


# Inputs


def spoiled(rng: random.Random, text: Text, pieces: list[Text]) -> Text:
    """A text with a few things done to it: cut out, put in, moved, repeated, cut off."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        start, middle, end = sorted(rng.randrange(len(text) + 1) for _ in range(3))
        if rng.random() < 0.7:  # most changes are small ones
            middle, end = min(middle, start + 2), min(end, start + 5)
        a, b, c, d = text[:start], text[start:middle], text[middle:end], text[end:]
        match rng.randrange(7):
            case 0:
                text = a + c + d
            case 1:
                text = a + rng.choice(pieces) + b + c + d
            case 2:
                text = a + c + b + d
            case 3:
                text = a + b + b + c + d
            case 4:
                text = a
            case 5:
                text = a + rng.choice(pieces) + c + d
            case 6 if rng.random() < 0.01:
                times = rng.choice((10, 1000, 30_000))
                text = a + (b or rng.choice(pieces))[:20] * times + c + d
    return text


def random_rpn(rng: random.Random, names: str | list[str], operators: str) -> list[str]:
    """A formula in reverse Polish order."""
    stack: list[list[str]] = []
    left = rng.choice((0, 1, 2, 3, 5, 8, 13, 30))
    stack = [[rng.choice(names)] for _ in range(left + 1)]
    while len(stack) > 1 or rng.random() < 0.3:
        place = rng.randrange(len(stack))
        operator = rng.choice(operators)
        if operator == "~" or len(stack) == 1:
            stack[place].append("~")
        else:
            right = stack.pop(place)
            stack[place - 1] += [*right, operator]
    return stack[0]


NAMES = [*"pqrsabxyz", "rain", "x_1", "q'", "é", "名", "1", "0"]
SIGNS = [*MEANING, *NAMES, " ", "\\", "\\left", "\\mathit{", "}", "'", "_", "\\_", "[/p]", "[b]"]
STRANGE = [
    "\0",
    "\n",
    "\x1b[31m",
    "\udcff",
    "\ud800",
    "\u202e",
    "\ufeff",
    "𝒑",
    "१",
    "9" * 5000,
    ",",
]


def formula_input(rng: random.Random) -> str:
    """Something for the formula reader."""
    kind = rng.random()
    if kind < 0.2:
        return "".join(rng.choice(SIGNS) for _ in range(rng.choice((1, 2, 3, 5, 10, 30))))
    if kind < 0.25:
        return "".join(chr(rng.randrange(0x11_0000)) for _ in range(rng.randrange(20)))
    if kind < 0.3:
        return os.fsdecode(rng.randbytes(rng.randrange(40)))  # as it comes from a command line
    rpn = random_rpn(rng, NAMES, "~&|>=")
    style = rng.choice(("unicode", "ascii", "latex", "published"))
    text = published(rpn) if style == "published" else render(rpn, style, {})
    if kind < 0.35:
        return text
    return spoiled(rng, text, STRANGE if rng.random() < 0.2 else SIGNS)


BYTES = [
    *(
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\r",
        b"\r\n",
        b"\n",
        b",",
        b"~(",
        b"(",
        b")",
        b"&",
    ),
    *(b"\xed\xa0\x80", b"1", b"2", b"p", b"9" * 5000, b"\x1b[31m", b"\xe2\x88\xa7", b"[/p]", b" "),
]


def file_input(rng: random.Random) -> bytes:
    """Something for the file reader."""
    if rng.random() < 0.05:
        return rng.randbytes(rng.randrange(300))
    rows = [
        (
            "".join(random_rpn(rng, "abcpqz", "~&|>")),
            "".join(random_rpn(rng, "abcpqz", "~&|>")),
            rng.randrange(2),
        )
        for _ in range(rng.choice((1, 2, 4)))
    ]
    data = format_rows(rows).encode()
    return data if rng.random() < 0.1 else spoiled(rng, data, BYTES)


VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 64, 1000, 65_537, 10**6, 10**9, 2**31, 2**63, 10**18),
    *(2**64, 10**400, -(2**63), 0.5, -0.0, 1e-320, 1e308, float("inf"), float("nan"), "", "x"),
    *("\0", "both", "left", "F32", "a\nb", "\ud800", "x" * 5000, [], {}, [1], [[]], {"x": 1}, ":"),
    *("BF16", "F16", "F64", "I8", "U8", "I64", "BOOL", "F8_E4M3", "F8_E5M2", "C64", "U64", "F4"),
    *(*names(), "os:system", "possibleworlds.models.base:Model", "possibleworlds:load", "a:b:c"),
    *(".:x", "..models:Model", "x" * 5000 + ":y", "\0:x", "\ud800:x", "possibleworlds.models:"),
]
DEEP = [
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"1" * 5000,
    b"1e999",
    b"-",
    b"NaN",
    b"\\ud800",
    b"null",
]


def spoil_json(rng: random.Random, value: Any) -> None:
    """Change, drop, add or rename something anywhere in a JSON object."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys) if keys else None
        if key is None or not (isinstance(value[key], dict | list) and rng.random() < 0.8):
            break
        value = value[key]
    what = rng.random()
    if key is None or what < 0.1:
        if isinstance(value, dict):
            value[str(rng.choice(VALUES))] = deepcopy(rng.choice(VALUES))
        else:
            value.append(deepcopy(rng.choice(VALUES)))
    elif what < 0.2:
        del value[key]
    elif what < 0.3 and isinstance(value, dict):
        value[str(rng.choice(VALUES))] = value.pop(key)
    elif what < 0.5 and isinstance(value[key], int) and not isinstance(value[key], bool):
        value[key] += rng.choice((-1, 1, 8, 64, 10**6))
    else:
        value[key] = deepcopy(rng.choice(VALUES))


def spoiled_json(rng: random.Random, data: bytes) -> bytes:
    """JSON with other values in it, or with something done to its text."""
    if rng.random() < 0.3:
        return spoiled(rng, data, DEEP if rng.random() < 0.3 else BYTES)
    value = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        spoil_json(rng, value)
    return json.dumps(value).encode()


def spoiled_tensors(rng: random.Random, data: bytes) -> bytes:
    """A safetensors file with something done to its header, to its length or to any of its bytes.

    It is a length, 8 bytes; a header of JSON: dtype, shape, offsets of each tensor; the numbers.
    """
    size = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + size], data[8 + size :]
    kind = rng.random()
    if kind < 0.3:
        return spoiled(rng, data, BYTES)
    if kind < 0.4:
        length = rng.choice((0, 1, size - 1, size + 1, len(data), 10**8, 2**31, 2**63, 2**64 - 1))
        return length.to_bytes(8, "little") + header + body
    if kind < 0.5:
        return data[:8] + header + spoiled(rng, body, BYTES)
    header = spoiled_json(rng, header)
    return len(header).to_bytes(8, "little") + header + body


TINY: dict[str, dict[str, int]] = {
    "linear-bow": {"size": 4},
    "convnet": {"size": 4, "channels": 4, "mlp_size": 4},
    "transformer": {"size": 4, "layers": 1, "heads": 2, "filter_size": 4},
    "bilstm": {"size": 4, "mlp_size": 4},
    "treenet": {"size": 4, "mlp_size": 4},
    "guidedworldnet": {"size": 4, "world_size": 4},
}


@cache
def good_run(name: str) -> dict[str, bytes]:
    """The files of a run that can be loaded and resumed, by their names."""
    kind = resolve(name)
    settings = kind.settings_class(**TINY[name])
    torch.manual_seed(0)
    trainer = Trainer(kind(settings), TrainingSettings(), few_rows(), few_rows(), 0)
    trainer.train_step(*next(trainer.batches()))
    trainer.evaluate_and_keep_best()
    run_settings = RunSettings(settings, TrainingSettings())
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        trainer.save(folder, RunRecord.new(name, run_settings, 0, {}, kind.engine("cpu")))
        return {path.name: path.read_bytes() for path in folder.iterdir()}


@cache
def few_rows() -> Dataset:
    """Data to train on for a step."""
    return Dataset(Pairs.of([("p", "q", 0), ("pq&", "p", 1), ("p~", "pq|~", 0), ("p", "p", 1)]))


def run_input(rng: random.Random) -> dict[str, bytes]:
    """Something for the loader: the files of a run."""
    files = dict(good_run(rng.choice(list(TINY))))
    which = rng.random()
    if which < 0.5:
        files[RUN] = spoiled_json(rng, files[RUN])
    elif which < 0.95:
        name = rng.choice([name for name in files if name.endswith(".safetensors")])
        files[name] = spoiled_tensors(rng, files[name])
    elif which < 0.98:
        del files[rng.choice(list(files))]
    return files


# Readers


@cache
def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for what this process reads."""
    return tempfile.TemporaryDirectory(prefix="fuzz-")


def put(name: str, data: bytes) -> Path:
    """A new file with these bytes; the old one may still be mapped into memory."""
    path = Path(scratch().name) / name
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path


def read_file(data: bytes) -> None:
    """Read a data file."""
    for _ in read_pairs(put("data.txt", data)):
        pass


def read_folder(files: dict[str, bytes]) -> None:
    """Load the network of a run, and resume its training for a step."""
    folder = put_all(files)
    model = load_model(folder)
    record = read_run(folder)
    training = RunSettings.read(type(model), record.flat_settings).training
    trainer = Trainer(model.train(), training, few_rows(), few_rows(), record.seed)
    if record.state is None:
        return
    trainer.restore(folder, record)
    if files[RUN] in (good_run(name)[RUN] for name in TINY):  # else even the step may be a long one
        trainer.train_step(*next(trainer.batches()))


def put_all(files: dict[str, bytes]) -> Path:
    """Make a folder with these files and no others."""
    folder = Path(scratch().name) / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    folder.mkdir(exist_ok=True)
    return folder


@cache
def good_folder() -> dict[str, bytes]:
    """The JSON files of a sweep, of its locks, of evaluations and of a data set."""
    rungs = [Rung(3, 1, 5), Rung(1, 3, 20)]
    base = complete(resolve("treenet"), {})
    points = [{}, {"size": 32}, {"learning_rate": 1e-4}]
    candidates = [Candidate(point, [1.0, 3.0], [10.0, 30.0]) for point in points]
    plan = Plan(base, rungs, candidates, 0, 24, 1.5)
    seeds = {"treenet-0": 0.75, "treenet-1": 0.5}
    selection = Selection("treenet-0", 0.75, base, seeds)
    request = SearchRequest(Budget(9.0, "epochs"), 10.0, 0)
    networks = {"treenet": NetworkRecord(request, plan, selection)}
    record = SweepRecord({"train.txt": "a"}, 100, networks)
    pairs = few_rows().pairs
    evaluation = Evaluation.of(pairs.label == 1, pairs).to_json()
    lock = lock_message(asdict(Progress(0.5, 10, 0.7)))
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary)
        generate_folder(data, free_splits(8, (1, 3), (1, 3), "fourtuples"), seed=0)
        manifest = (data / MANIFEST).read_bytes()
    values = {
        SWEEP: asdict(record),
        EVALUATION: {"data/test_easy": {**evaluation, "sha256": "a", "errors": [1]}},
        SELECTED: {"selected": ["a"]},
        f"{TRIALS}/treenet-0/{FAILED}": {"reason": "MemoryError"},
    }
    encoded = {name: json.dumps(value).encode() for name, value in values.items()}
    return {**encoded, MANIFEST: manifest, f"{LOCKS}/treenet-0.0": lock}


def folder_input(rng: random.Random) -> dict[str, bytes]:
    """Something for the readers of JSON: one file of a folder is spoiled."""
    files = dict(good_folder())
    name = rng.choice(list(files))
    files[name] = spoiled_json(rng, files[name])
    if name.startswith(LOCKS) and rng.random() < 0.2:
        number = rng.choice(("7", "9" * 4000, "२", "-1", "1e3", ""))
        files[f"{LOCKS}/treenet-0.{number}"[:200]] = files.pop(name)
    return files


def read_json_folder(files: dict[str, bytes]) -> None:
    """Read a sweep and how far it is, evaluations, a selection, a failure and a manifest."""
    folder = put_all(files)
    problem: UserError | None = None
    readers = (show_sweep, read_evaluations, selected_runs, read_manifest, only_selection)
    for read in (*readers, partial(read_result, name="treenet-0")):
        try:
            read(folder)
        except UserError as error:
            if clear := unclear(error):
                raise ValueError(clear) from None
            problem = error
    if problem:
        raise problem


def show_sweep(folder: Path) -> None:
    """Make what `sweep --status` shows."""
    with contextlib.redirect_stdout(io.StringIO()):
        rich_table = status_table(read_searches(folder), None)
        Console(file=io.StringIO(), width=120).print(rich_table)


def only_selection(folder: Path) -> None:
    """Read which runs a sweep has selected."""
    (folder / SELECTED).unlink()
    selected_runs(folder)


@dataclass(frozen=True)
class Reader:
    """Something that reads what a user gives, and where its inputs come from."""

    shown: str
    share: float
    make: Callable[[random.Random], Any]
    read: Callable[[Any], object]


READERS = {
    "formula": Reader("formulas", 0.80, formula_input, parse),
    "file": Reader("data files", 0.15, file_input, read_file),
    "run": Reader("runs", 0.03, run_input, read_folder),
    "json": Reader("sweeps, locks, evaluations, manifests", 0.02, folder_input, read_json_folder),
}


# Reading


@dataclass
class Count:
    """What became of some inputs."""

    inputs: int = 0
    values: int = 0
    errors: int = 0
    slowest: float = 0.0
    """Seconds."""
    peak: int = 0
    """Bytes of memory that the process had at most, ever."""
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: "Count") -> None:
        """Count other inputs as well."""
        self.inputs += other.inputs
        self.values += other.values
        self.errors += other.errors
        self.slowest = max(self.slowest, other.slowest)
        self.peak = max(self.peak, other.peak)
        self.failures += other.failures


def unclear(error: UserError) -> str:
    """What is wrong with the message of an error, if anything."""
    message = str(error)
    lines = message.split("\n")
    if not lines[0] or len(lines) != (3 if "\n  " in message else 1):
        return f"not a line: {message[:200]!r}"
    if len(message) > LONGEST_MESSAGE:
        return f"{len(message)} characters: {message[:200]!r}"
    if not all(line.isprintable() for line in lines):
        return f"not printable: {message[:200]!r}"
    if "allocate" in message:  # the limit below was met, without which there is no error
        return f"too much memory: {message[:200]!r}"
    return ""


def input_of(reader: str, seed: int, number: int) -> Any:
    """An input, by its number."""
    return READERS[reader].make(random.Random(f"{seed} {reader} {number}"))


def read_one(reader: str, value: Any) -> tuple[str, str]:
    """What an input ends in: "value", "error", or a failure and its description."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        READERS[reader].read(value)
        return "value", ""
    except UserError as error:
        problem = unclear(error)
        return ("failure", problem) if problem else ("error", "")
    except (Exception, TooSlowError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return "failure", f"{type(error).__name__} at {where}: {str(error)[:200]!r}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def too_slow(*_: object) -> None:
    """End the reading of an input."""
    raise TooSlowError(f"more than {SECONDS} s")


@cache
def set_limits() -> None:
    """Let this process have so much more memory than it begins with, and one thread."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, too_slow)
    for name in TINY:
        good_run(name)
    good_folder()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def read_block(seed: int, block: tuple[str, range]) -> tuple[str, Count]:
    """Read some inputs."""
    set_limits()
    faulthandler.dump_traceback_later(SECONDS_OF_BLOCK, exit=True)
    reader, numbers = block
    count = Count(len(numbers))
    for number in numbers:
        value = input_of(reader, seed, number)
        start = time.perf_counter()
        end, problem = read_one(reader, value)
        count.slowest = max(count.slowest, time.perf_counter() - start)
        count.values += end == "value"
        count.errors += end == "error"
        if problem:
            count.failures.append((number, problem))
    faulthandler.cancel_dump_traceback_later()
    count.peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return reader, count


def blocks(inputs: int) -> Iterator[tuple[str, range]]:
    """All inputs, some at a time."""
    for name, reader in READERS.items():
        total = round(inputs * reader.share)
        for start in range(0, total, AT_ONCE):
            yield name, range(start, min(start + AT_ONCE, total))


def fuzz(inputs: int, seed: int, workers: int) -> dict[str, Count]:
    """What became of the inputs of each reader."""
    counts = {name: Count() for name in READERS}
    for name, count in ordered_map(partial(read_block, seed), blocks(inputs), workers):
        counts[name].add(count)
        if count.peak > MEMORY:
            counts[name].failures.append((-1, f"{count.peak >> 20} MiB"))
        if sys.stderr.isatty():
            print(f"\r{name} {counts[name].inputs:,}", end=" ", file=sys.stderr)
    return counts


def table(counts: dict[str, Count]) -> str:
    """The counts, as the page has them."""
    lines = [
        "| read as | inputs | values | clear errors | anything else | slowest | peak memory |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, count in counts.items():
        lines.append(
            f"| {READERS[name].shown} | {count.inputs:,} | {count.values:,} | {count.errors:,} "
            f"| {len(count.failures):,} | {1000 * count.slowest:,.0f} ms "
            f"| {count.peak / 2**20:,.0f} MiB |"
        )
    return "\n".join(lines)


def main() -> None:
    """Read the inputs, and say what became of them; exit code 1 unless all ended well."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--only", metavar="READER:NUMBER", help="show one input, and read it")
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    arguments = parser.parse_args()
    if arguments.only:
        reader, _, number = arguments.only.partition(":")
        value = input_of(reader, arguments.seed, int(number))
        print(repr(value)[:10_000])
        READERS[reader].read(value)
        return
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as temporary:
        tempfile.tempdir = temporary  # workers end without clearing up after themselves
        counts = fuzz(arguments.inputs, arguments.seed, arguments.workers)
    seconds = time.perf_counter() - start
    failures = [(name, *failure) for name, count in counts.items() for failure in count.failures]
    kinds = Counter(problem.split(":")[0] for *_, problem in failures)
    print(table(counts))
    for name, number, problem in failures[:SHOWN_FAILURES]:
        print(f"{name}:{number}: {problem}")
    if failures:
        print(f"{len(failures)} failures: {dict(kinds.most_common())}")
    if arguments.write:
        figures = (
            f"Commit {commit()}, `--seed {arguments.seed} --workers "
            f"{arguments.workers}`, {seconds:,.0f} s:\n\n{table(counts)}"
        )
        replace_part("reliability.md", "fuzz", figures)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
