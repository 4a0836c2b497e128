"""Commands killed at random moments and at every boundary of a write, and run again.

    .venv/bin/python benchmarks/kill.py [--kills 200] [--seed N] [--seconds 600]
        [--only CASE] [--state kill.json] [--write]

Each command runs once undisturbed. Then it is killed with SIGKILL, up to three times in a row, and
run again to its end: at moments spread evenly over the length of a run; and at boundaries, just
before and after a file is put on the disk (fsync) or gets its name (replace, link), in whichever
process that happens. What is killed is the whole group of processes, the command alone, or the one
process that writes; or the same command was started twice, and one or both are killed. After that
every file must be whole, weights, state and metrics must belong together, and no process may
outlive the command by more than a few seconds. At the end all must be as it was without a kill, and
nothing half written may be left.

Loading PyTorch would take most of the time. So only one command in ten begins with a new Python;
the others are forked from this process, which has loaded the package, and so are the servers that
they start; each command in a group of processes of its own, as from a shell.

The counts are added to those in the file --state. --write puts them into docs/reliability.md.
--seconds ends it early, with true counts.
"""

import argparse
import contextlib
import gc
import importlib.util
import multiprocessing.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import torch
import torch._dynamo
from counts import cpu_seconds, described, next_seed, read_counts, write_counts
from outcomes import (
    CheckSweep,
    check_data,
    check_reproduction,
    check_run,
    data_outcome,
    difference,
    reproduction_outcome,
    run_outcome,
    sweep_outcome,
    timed_outcome,
)
from pages import commit, replace_part

import possibleworlds.cli
import possibleworlds.experiments.reproduce
import possibleworlds.report.report
from possibleworlds.errors import UserError
from possibleworlds.models.registry import names, resolve
from possibleworlds.storage import is_temporary

KILLS_IN_A_ROW = 3
NEW_PYTHON = 0.1
"""How many of the commands begin with a new Python."""
SECONDS_TO_END = 15.0
"""How long a process may outlive the command that started it, on a busy machine."""

Target = Literal["group", "command", "writer", "twice"]
TARGETS: tuple[Target, ...] = ("group", "command", "writer", "twice")

BOUNDARIES = """
import os, pathlib, signal

COUNTER, WHERE, TARGET = (os.environ[f"KILL_{x}"] for x in ("COUNTER", "AT", "TARGET"))

def boundary():
    descriptor = os.open(COUNTER, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, b".")
    number = os.fstat(descriptor).st_size
    os.close(descriptor)
    if str(number) == WHERE:
        if TARGET in ("group", "twice"):
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpgrp() if TARGET == "command" else os.getpid(), signal.SIGKILL)
        signal.pause()  # until the command is gone

def around(function):
    def call(*arguments, **options):
        boundary()
        result = function(*arguments, **options)
        boundary()
        return result
    return call

for name in ("fsync", "replace", "rename", "link"):
    setattr(os, name, around(getattr(os, name)))
"""
"""Every Python process of a command runs this first, and counts boundaries in one file."""


@dataclass(frozen=True)
class Case:
    """A command that fills a folder, and what is to be true of the folder."""

    name: str
    command: list[str]
    """What possibleworlds is given; a folder OUT is put in for the word OUT."""
    again: list[str]
    """What is added when it is run again."""
    check: Callable[[Path], None]
    """Raises an error for a file that is not whole."""
    outcome: Callable[[Path], Any]
    """What must be the same at the end, however often it was killed."""


def cases(data: Path) -> list[Case]:
    """The commands that are killed; data to train on are in a folder."""
    training = ["--epochs", "2", "--set", "size=16", "--set", "evaluations=6"]
    searching = ["--budget", "9epochs", "--workers", "2"]
    train = ["train", "treenet", "--data", str(data), "--out", "OUT"]
    sweep = ["sweep", "linear-bow", "--data", str(data), "--out", "OUT"]
    reproduce = ["reproduce", "--preset", "tiny", "--out", "OUT", "--workers", "2"]
    return [
        Case(
            "generate",
            ["generate", "OUT", "--rows", "1200", "--workers", "2"],
            [],
            check_data,
            data_outcome,
        ),
        Case("train", [*train, *training], ["--resume"], check_run, run_outcome),
        Case(
            "train by minutes",
            [*train, "--set", "size=16", "--minutes", "0.01"],
            ["--resume"],
            check_run,
            timed_outcome,
        ),
        Case("sweep", [*sweep, *searching], [], CheckSweep(), sweep_outcome),
        Case("reproduce", reproduce, [], check_reproduction, reproduction_outcome),
    ]


class Running:
    """A command at work in a process group of its own."""

    def __init__(
        self, words: list[str], environment: dict[str, str], messages: Path, is_new: bool
    ) -> None:
        self.messages = messages
        self.returncode: int | None = None
        gc.freeze()  # what is here already is not copied when the command looks for garbage
        self.pid = os.fork()
        if not self.pid:
            try:
                begin_command(words, environment, messages, is_new)
            finally:
                os._exit(70)
        while os.getpgid(self.pid) != self.pid:  # until it has a group that can be killed
            time.sleep(0.001)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, seconds: float = float("inf")) -> int | None:
        """Wait for the end, so long at most."""
        deadline = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.returncode


def begin_command(
    words: list[str], environment: dict[str, str], messages: Path, is_new: bool
) -> None:
    """Become a command; only called in a new process, which ends with it."""
    os.setsid()
    os.environ.update(environment)
    output = os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(output, 2)
    if is_new:
        command = [sys.executable, "-m", "possibleworlds", *words]
        os.execve(sys.executable, command, dict(os.environ))
    # As `python -m possibleworlds` would be, but for what is loaded already.
    main = ModuleType("__main__")
    main.__spec__ = importlib.util.find_spec("possibleworlds.__main__")
    sys.modules["__main__"] = main
    sys.argv = ["possibleworlds", *words]
    multiprocessing.util.spawnv_passfds = fork_instead  # type: ignore[assignment]
    exec(BOUNDARIES, {})
    run_to_end(possibleworlds.cli.main)


def fork_instead(_: bytes, arguments: Sequence[Any], descriptors: Sequence[int]) -> int:
    """Start a server of multiprocessing without a new Python, which has to load PyTorch."""
    code = arguments[arguments.index("-c") + 1]
    pid = os.fork()
    if not pid:
        kept = {0, 1, 2, *descriptors}
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor not in kept:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        run_to_end(lambda: exec(code, {"__name__": "__main__"}))
    return pid


def run_to_end(function: Callable[[], object]) -> None:
    """Call a function, and end this process as Python would."""
    code: Any = 0
    try:
        function()
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    multiprocessing.util._exit_function()  # type: ignore[attr-defined]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


@dataclass
class Result:
    """What became of a command."""

    kills: Counter[str] = field(default_factory=Counter)
    """By what was killed, and where: "group, boundary"."""
    runs: int = 0
    corrupt: int = 0
    different: int = 0
    outlived: int = 0
    """Kills after which a process of the command went on."""
    seconds: float = 0.0
    """How long an undisturbed run takes."""
    boundaries: int = 0
    """How many an undisturbed run has."""
    left_over: int = 0
    """Runs after which something half written was left."""
    problems: list[str] = field(default_factory=list)

    def add(self, other: "Result") -> None:
        """Count what became of the same command in another run of this program."""
        self.kills += other.kills
        self.seconds, self.boundaries = other.seconds, other.boundaries
        for name in ("runs", "corrupt", "different", "outlived", "left_over"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.problems += other.problems


class Killer:
    """Starts a command, kills it and checks what it leaves."""

    def __init__(self, case: Case, temporary: Path, rng: random.Random) -> None:
        self.case, self.temporary, self.rng = case, temporary, rng
        self.result = Result()
        self.counter = temporary / "boundaries"
        self.started = 0
        temporary.mkdir(parents=True)
        (temporary / "sitecustomize.py").write_text(BOUNDARIES, encoding="utf-8")

    def start(
        self, folder: Path, again: bool, boundary: int = 0, target: Target = "group"
    ) -> Running:
        """Start the command in a process group of its own."""
        words = [str(folder) if word == "OUT" else word for word in self.case.command]
        path = os.pathsep.join([str(self.temporary), os.environ.get("PYTHONPATH", "")])
        names = {"COUNTER": self.counter, "AT": boundary, "TARGET": target}
        self.started += 1
        return Running(
            [*words, *(self.case.again if again else ())],
            {"PYTHONPATH": path, **{f"KILL_{k}": f"{v}" for k, v in names.items()}},
            self.temporary / f"messages-{self.started}",
            self.rng.random() < NEW_PYTHON,
        )

    def undisturbed(self) -> Any:
        """Run the command once, and return its outcome."""
        self.counter.write_bytes(b"")
        began = time.perf_counter()
        finish(self.start(self.temporary / "whole", again=False))
        self.result.seconds = time.perf_counter() - began
        self.result.boundaries = self.counter.stat().st_size
        return self.case.outcome(self.temporary / "whole")

    def kill(self, folder: Path, again: bool) -> bool:
        """Kill the command somewhere; False where it ended before that."""
        rng, result = self.rng, self.result
        target = rng.choice(TARGETS)
        at_boundary = rng.random() < 0.7
        boundary = rng.randint(1, result.boundaries) if at_boundary else 0
        self.counter.write_bytes(b"")
        running = [self.start(folder, again, boundary, target)]
        if target == "twice":
            running.append(self.start(folder, True, boundary, target))
        moment = 10 * result.seconds + 60 if at_boundary else rng.random() * result.seconds
        is_killed = False
        deadline = time.monotonic() + moment
        while time.monotonic() < deadline and any(one.poll() is None for one in running):
            time.sleep(0.02)
        for one in running:
            if one.poll() is None:
                is_killed = True
                if target == "command" and not at_boundary:
                    os.kill(one.pid, signal.SIGKILL)
                elif target != "writer" or at_boundary or not self.kill_a_child(one):
                    os.killpg(one.pid, signal.SIGKILL)
        for one in running:
            self.wait_for_group(one)
            is_killed |= one.returncode == -signal.SIGKILL
        # A worker that is killed does not end a command that can do without it.
        is_killed |= at_boundary and self.counter.stat().st_size >= boundary
        if is_killed:
            result.kills[f"{target}, {'boundary' if at_boundary else 'moment'}"] += 1
        return is_killed

    def kill_a_child(self, running: Running) -> bool:
        """Kill one process that a command has started; False where there is none."""
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        if not children:
            return False
        os.kill(int(self.rng.choice(children)), signal.SIGKILL)
        return running.wait(10 * self.result.seconds + 60) is not None

    def wait_for_group(self, running: Running) -> None:
        """Wait until no process of a command is left; note it if that takes too long."""
        deadline = time.monotonic() + SECONDS_TO_END
        while time.monotonic() < deadline:
            running.poll()
            try:
                os.killpg(running.pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.05)
        else:
            self.result.outlived += 1
            self.result.problems.append(f"{self.case.name}: a process outlived the command")
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()

    def kill_often(self, kills: int, deadline: float) -> Iterator[Result]:
        """Kill the command many times, and see what it leaves behind and how it ends."""
        result = self.result
        expected = self.undisturbed()
        while result.kills.total() < kills and time.monotonic() < deadline:
            folder = self.temporary / f"{result.runs}"
            result.runs += 1
            try:
                self.kill_in_a_row(folder)
                finish(self.start(folder, again=True))
                self.case.check(folder)
                if where := difference(self.case.outcome(folder), expected):
                    raise UserError(f"another outcome than without a kill: {where}")
                if left := [path.name for path in folder.rglob(".*") if is_temporary(path)]:
                    result.left_over += 1
                    result.problems.append(f"{self.case.name}, run {result.runs}: {left} left")
            except UserError as error:
                result.different += 1
                result.problems.append(f"{self.case.name}, run {result.runs}: {error}")
            shutil.rmtree(folder, ignore_errors=True)
            print(self.case.name, f"{result.kills.total()}/{kills}", *result.problems[-1:])
            sys.stdout.flush()
            yield result

    def kill_in_a_row(self, folder: Path) -> None:
        """Kill the command once or a few times, and read what is there each time."""
        for i in range(self.rng.randint(1, KILLS_IN_A_ROW)):
            if not self.kill(folder, again=i > 0):
                break
            try:
                self.case.check(folder)
            except Exception as error:  # whatever a reader says of a file
                self.result.corrupt += 1
                kills = self.result.kills.total()
                self.result.problems.append(f"{self.case.name}, kill {kills}: {error!r}")


def finish(running: Running) -> None:
    """Wait for a command, which must succeed."""
    if running.wait():
        messages = running.messages.read_text(encoding="utf-8", errors="replace")
        raise UserError(f"exit code {running.returncode}: {messages[-500:]}")


def table(results: dict[str, Result]) -> str:
    """The results, as the page has them."""
    lines = [
        "| command | its boundaries | kills | at a boundary | of the group | of the command alone "
        "| of the process that writes | while another works | runs | corrupt files "
        "| other outcomes | processes left | half written files left |",
        "|---|" + "--:|" * 12,
    ]
    for name, result in results.items():
        kills = result.kills
        of = [sum(n for key, n in kills.items() if key.startswith(f"{t},")) for t in TARGETS]
        at_boundary = sum(n for key, n in kills.items() if key.endswith("boundary"))
        figures = (
            *(result.boundaries, kills.total(), at_boundary, *of, result.runs),
            *(result.corrupt, result.different, result.outlived, result.left_over),
        )
        lines.append(f"| `{name}` | " + " | ".join(f"{figure:,}" for figure in figures) + " |")
    return "\n".join(lines)


def totals(records: list[dict[str, Any]]) -> dict[str, Result]:
    """Add up what became of each command in all runs of this program."""
    added: dict[str, Result] = {}
    for record in records:
        for name, values in record["results"].items():
            result = Result(**{**values, "kills": Counter(values["kills"])})
            added.setdefault(name, Result()).add(result)
    return added


def load_everything() -> None:
    """Load what commands would load, once for all of them."""
    torch.set_num_threads(1)
    for name in names():
        resolve(name)
    parameter = torch.nn.Parameter(torch.zeros(1))
    torch.optim.Adam([parameter])


def kill_all(arguments: argparse.Namespace, temporary: Path) -> Iterator[dict[str, Result]]:
    """Kill each command in turn; give what became of them so far."""
    began = time.monotonic()
    data = temporary / "data"
    options = ("--rows", "200", "--variables", "1-4", "--operators", "1-5")
    command = [sys.executable, "-m", "possibleworlds", "generate", str(data), *options]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    every = [case for case in cases(data) if case.name in (arguments.only or case.name)]
    results: dict[str, Result] = {}
    for number, case in enumerate(every):
        rng = random.Random(f"{arguments.seed} {case.name}")
        left = arguments.seconds - (time.monotonic() - began)
        deadline = time.monotonic() + left / (len(every) - number)
        killer = Killer(case, temporary / case.name.replace(" ", "-"), rng)
        for results[case.name] in killer.kill_often(arguments.kills, deadline):
            yield results


def main() -> None:
    """Kill each command, and say what became of it; exit code 1 unless all went well."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="of each command")
    parser.add_argument("--seed", type=int, help="else the next one")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--only", action="append", help="a command, like generate")
    parser.add_argument("--state", type=Path, help="the file of the counts")
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    arguments = parser.parse_args()
    load_everything()
    records = read_counts(arguments.state)
    if arguments.seed is None:
        arguments.seed = next_seed(records)
    if arguments.kills:
        record = {"seed": arguments.seed, "commit": commit(), "cpu_seconds": 0.0, "results": {}}
        records.append(record)
        with tempfile.TemporaryDirectory(prefix="kill-") as temporary:
            for results in kill_all(arguments, Path(temporary)):
                record["results"] = {name: vars(result) for name, result in results.items()}
                record["cpu_seconds"] = round(cpu_seconds(), 1)
                write_counts(arguments.state, records)
    added = totals(records)
    print(table(added))
    problems = [problem for result in added.values() for problem in result.problems]
    print(*problems, sep="\n", end="\n" if problems else "")
    if arguments.write:
        replace_part("reliability.md", "kill", f"{described(records)}:\n\n{table(added)}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
