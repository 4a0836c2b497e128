"""Random and spoiled inputs to whatever reads what a user gives.

    .venv/bin/python benchmarks/fuzz.py [--inputs 1000000] [--seed N] [--state fuzz.json] [--write]

Each input must end in a value or in a clear error, soon and within a bounded memory; any other end
is printed with the number of the input, from which `--only READER:NUMBER` makes it again. Inputs
come in rounds, one for each seed; the counts of each are added to the file --state, and a run goes
on with the next seed until the file has --inputs inputs. Short formulas are not random: all texts
of up to six of twelve tokens are read, one after the other over all rounds. --write puts the counts
into docs/reliability.md. `fuzz_guided.py` adds inputs that are guided by coverage.
"""

import argparse
import contextlib
import faulthandler
import io
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
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import torch
from counts import cpu_seconds, described, next_seed, read_counts, write_counts
from pages import commit, replace_part
from rich.console import Console
from spoiled import (
    SHORT_FORMULAS,
    TINY,
    few_rows,
    file_inputs,
    folder_inputs,
    formula_inputs,
    good_folder,
    good_run,
    option_inputs,
    reply_inputs,
    run_inputs,
    short_formula,
)

import possibleworlds.cli
from possibleworlds.cli.progress import status_table
from possibleworlds.data.files import read_pairs
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.experiments.selection import SELECTED
from possibleworlds.experiments.sweep import SWEEP, read_searches, selected_runs
from possibleworlds.experiments.trials import FAILED, LOCKS, TRIALS, read_result
from possibleworlds.integrations.chat import ReplyCache, read_reply
from possibleworlds.language.item import Item
from possibleworlds.language.score import score
from possibleworlds.logic.syntax import parse
from possibleworlds.parallel import cores, ordered_map
from possibleworlds.training.checkpoint import RUN, load_model, read_run
from possibleworlds.training.evaluations import EVALUATION, read_evaluations
from possibleworlds.training.loop import Trainer
from possibleworlds.training.settings import RunSettings

SECONDS = 10.0
"""How long an input may take, of a core: the machine may be a busy one."""
MEMORY = 1 << 30
"""How much memory the process that reads may come to have, in bytes."""
FAMILY = 25
"""How many inputs are made from one good one."""
AT_ONCE = 20 * FAMILY
ROUND = 400_000
"""How many inputs have a seed of their own."""
SECONDS_OF_BLOCK = 600
"""How long so many inputs may take, for what hangs outside of Python and hears no signal."""
LONGEST_MESSAGE = 1000


class TooSlowError(BaseException):
    """An input took too long; no `except Exception` may take it for an answer."""


# Readers


@cache
def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for what this process reads, in memory where that is possible."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if memory.is_dir() else None)


def put(name: str, data: bytes) -> Path:
    """A file with these bytes."""
    path = Path(scratch().name) / name
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
def json_folder() -> Path:
    """A folder with the JSON files of a sweep, evaluations and a data set, all of them good."""
    folder = Path(scratch().name) / "json"
    for name, data in good_folder().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def read_json_folder(spoilt: tuple[str, str, bytes]) -> None:
    """Read a folder with one file that is spoiled, by all that read this file."""
    name, new_name, data = spoilt
    folder = json_folder()
    good, bad = folder / name, folder / new_name
    good.unlink()
    bad.write_bytes(data)
    problem: UserError | None = None
    try:
        for read in JSON_READERS[name.partition(".")[0] if name.startswith(LOCKS) else name]:
            try:
                read(folder)
            except UserError as error:
                if clear := unclear(error):
                    raise ValueError(clear) from None
                problem = error
    finally:
        bad.unlink()
        good.write_bytes(good_folder()[name])
    if problem:
        raise problem


def show_sweep(folder: Path) -> None:
    """Make what `sweep --status` shows."""
    with contextlib.redirect_stdout(io.StringIO()):
        rich_table = status_table(read_searches(folder), None)
        Console(file=io.StringIO(), width=120).print(rich_table)


def read_failure(folder: Path) -> None:
    """Read why a trial failed."""
    read_result(folder, "treenet-0")


JSON_READERS: dict[str, tuple[Callable[[Path], object], ...]] = {
    SWEEP: (show_sweep, selected_runs),
    EVALUATION: (read_evaluations,),
    SELECTED: (selected_runs,),
    f"{TRIALS}/treenet-0/{FAILED}": (show_sweep, read_failure),
    MANIFEST: (read_manifest,),
    f"{LOCKS}/treenet-0": (show_sweep,),
}
"""What reads each file."""


def read_from_model(thing: tuple[str, Item | None, Any]) -> None:
    """Read a response of an endpoint, replies that were kept, or a question; or score a reply."""
    reader, item, value = thing
    if reader == "score":
        assert item is not None
        score(value, item)
    elif reader == "response":
        read_reply(value)
    elif reader == "cache":
        assert len(ReplyCache(put("replies.jsonl", value)).replies) <= value.count(b"\n") + 1
    else:
        Item.from_json(value)


@cache
def good_files() -> Path:
    """A folder with data, a run and a sweep, which commands may use."""
    folder = Path(scratch().name) / "good"
    (folder / "SWEEP").mkdir(parents=True)
    for name, data in {**good_folder(), **good_run("linear-bow")}.items():
        of = "RUN" if name in good_run("linear-bow") else "SWEEP"
        path = folder / of / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "DATA").mkdir()
    for name in ("train", "validate"):
        few_rows().pairs.save(folder / "DATA" / f"{name}.txt")
    return folder


def run_command(words: list[str]) -> None:
    """Run a command in a folder of its own; what it prints for code 2 is raised as UserError."""
    folder = Path(scratch().name) / "command"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good_files(), folder)
    before, opened = os.getcwd(), set(os.listdir("/proc/self/fd"))
    messages = io.StringIO()
    argv, sys.argv = sys.argv, ["possibleworlds", *words]
    os.chdir(folder)
    try:
        output = (folder / "output").open("w", encoding="utf-8")
        with output, contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
            possibleworlds.cli.main()
    except SystemExit as error:
        if error.code == 2:
            # There may be progress bars before it.
            raise UserError(messages.getvalue().rpartition("error: ")[2].rstrip("\n")) from None
        if error.code not in (0, None, 1, 3):
            raise ValueError(f"exit code {error.code}") from None
    finally:
        sys.argv = argv
        os.chdir(before)
        for descriptor in set(os.listdir("/proc/self/fd")) - opened:
            with contextlib.suppress(OSError):
                os.close(int(descriptor))


@dataclass(frozen=True)
class Reader:
    """Something that reads what a user gives, and where its inputs come from."""

    shown: str
    share: float
    make: Callable[[random.Random], Iterator[Any]]
    read: Callable[[Any], object]


READERS = {
    "formula": Reader("formulas", 0.5792, formula_inputs, parse),
    "short": Reader("short formulas, one after the other", 0.35, formula_inputs, parse),
    "file": Reader("data files", 0.06, file_inputs, read_file),
    "run": Reader("runs", 0.0005, run_inputs, read_folder),
    "json": Reader("sweeps, locks, evaluations, manifests", 0.002, folder_inputs, read_json_folder),
    "reply": Reader("replies of language models", 0.008, reply_inputs, read_from_model),
    "options": Reader("command lines", 0.0003, option_inputs, run_command),
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


def inputs_of(reader: str, seed: int, numbers: range) -> Iterator[tuple[int, Any]]:
    """Inputs by their numbers."""
    if reader == "short":
        yield from ((number, short_formula(number)) for number in numbers)
        return
    for family, members in groupby(numbers, lambda number: number // FAMILY):
        chosen = set(members)
        made = READERS[reader].make(random.Random(f"{seed} {reader} {family}"))
        for number, value in enumerate(islice(made, FAMILY), family * FAMILY):
            if number in chosen:
                yield number, value


def read_one(reader: str, value: Any) -> tuple[str, str]:
    """What an input ends in: "value", "error", or a failure and its description."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
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
        signal.setitimer(signal.ITIMER_PROF, 0)


def too_slow(*_: object) -> None:
    """End the reading of an input."""
    raise TooSlowError(f"more than {SECONDS} s")


@cache
def set_limits() -> None:
    """Let this process have so much more memory than it begins with, and one thread."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGPROF, too_slow)
    for name in TINY:
        good_run(name)
    good_files()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def read_block(seed: int, block: tuple[str, range]) -> tuple[str, Count]:
    """Read some inputs."""
    set_limits()
    faulthandler.dump_traceback_later(SECONDS_OF_BLOCK, exit=True)
    reader, numbers = block
    count = Count(len(numbers))
    for number, value in inputs_of(reader, seed, numbers):
        start = time.thread_time()
        end, problem = read_one(reader, value)
        count.slowest = max(count.slowest, time.thread_time() - start)
        count.values += end == "value"
        count.errors += end == "error"
        if problem:
            count.failures.append((number, problem))
    faulthandler.cancel_dump_traceback_later()
    count.peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return reader, count


def blocks(inputs: int, short: int) -> Iterator[tuple[str, range]]:
    """All inputs, some at a time; so many short formulas were read before."""
    for name, reader in READERS.items():
        first, total = 0, round(inputs * reader.share)
        if name == "short":
            first, total = short, min(total, SHORT_FORMULAS - short)
        elif name == "formula":  # in their place, when there are no more
            missing = round(inputs * READERS["short"].share) - (SHORT_FORMULAS - short)
            total += max(0, missing)
        for start in range(first, first + total, AT_ONCE):
            yield name, range(start, min(start + AT_ONCE, first + total))


def fuzz(inputs: int, seed: int, workers: int, short: int = 0) -> dict[str, Count]:
    """What became of the inputs of each reader."""
    counts = {name: Count() for name in READERS}
    tasks = blocks(inputs, short)
    for name, count in ordered_map(partial(read_block, seed), tasks, workers):
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
    total = Count()
    for count in counts.values():
        total.add(count)
    for name, count in [*counts.items(), ("all", total)]:
        shown = READERS[name].shown if name in READERS else name
        lines.append(
            f"| {shown} | {count.inputs:,} | {count.values:,} | {count.errors:,} "
            f"| {len(count.failures):,} | {1000 * count.slowest:,.0f} ms "
            f"| {f'{count.peak / 2**20:,.0f} MiB' if count.peak else 'not measured'} |"
        )
    return "\n".join(lines)


def totals(records: list[dict[str, Any]]) -> dict[str, Count]:
    """Add up the counts of all rounds, by reader."""
    added: dict[str, Count] = {}
    for record in records:
        for name, values in record["counts"].items():
            added.setdefault(name, Count()).add(Count(**values))
    return added


def fuzz_rounds(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Read inputs, round by round, until there are enough; give the records of all rounds."""
    records = read_counts(arguments.state)
    seed = arguments.seed
    while (left := arguments.inputs - sum(c.inputs for c in totals(records).values())) > 0:
        seed = next_seed(records) if seed is None else seed
        began = cpu_seconds()
        with tempfile.TemporaryDirectory(prefix="fuzz-") as temporary:
            tempfile.tempdir = temporary  # workers end without clearing up after themselves
            short = totals(records).get("short", Count()).inputs
            counts = fuzz(min(left, ROUND), seed, arguments.workers, short)
        tempfile.tempdir = None
        scratch.cache_clear()
        good_files.cache_clear()
        json_folder.cache_clear()
        for name, count in counts.items():
            for number, problem in count.failures:
                print(f"{name}:{number} --seed {seed}: {problem}", flush=True)
        seconds = round(cpu_seconds() - began, 1)
        values = {name: asdict(count) for name, count in counts.items()}
        record = {"seed": seed, "commit": commit(), "cpu_seconds": seconds, "counts": values}
        records.append(record)
        write_counts(arguments.state, records)
        seed += 1
    return records


def main() -> None:
    """Read the inputs, and say what became of them; exit code 1 unless all ended well."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="in all, in the state file")
    parser.add_argument("--seed", type=int, help="of the first round, else the next one")
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--only", metavar="READER:NUMBER", help="show one input, and read it")
    parser.add_argument("--state", type=Path, help="the file of the counts")
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    arguments = parser.parse_args()
    if arguments.only:
        reader, _, number = arguments.only.partition(":")
        start = int(number)
        ((_, value),) = inputs_of(reader, arguments.seed or 0, range(start, start + 1))
        print(repr(value)[:10_000])
        READERS[reader].read(value)
        return
    records = fuzz_rounds(arguments)
    counts = totals(records)
    failures = [problem for count in counts.values() for _, problem in count.failures]
    print(table(counts))
    if failures:
        kinds = Counter(problem.split(":")[0] for problem in failures)
        print(f"{len(failures)} failures: {dict(kinds.most_common())}")
    if arguments.write:
        replace_part("reliability.md", "fuzz", f"{described(records)}:\n\n{table(counts)}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
