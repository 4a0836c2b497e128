"""Commands killed at random moments and at every boundary of a write, and run again.

    .venv/bin/python benchmarks/kill.py [--kills 50] [--seed 0] [--seconds 600] [--write]

Each command runs once undisturbed. Then it is killed with SIGKILL, up to three times in a row, and
run again to its end: at moments spread evenly over the length of a run; and at boundaries, just
before and after a file is put on the disk (fsync) or gets its name (replace, link), in whichever
process that happens. What is killed is the whole group of processes, the command alone, or the one
process that writes; or the same command was started twice, and one or both are killed. After that
every file must be whole, weights, state and metrics must belong together, and no process may
outlive the command by more than a few seconds. At the end all must be as it was without a kill.
With --write the figures go into docs/reliability.md. --seconds ends it early, with true counts.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from pages import commit, replace_part

from possibleworlds.data.files import read_pairs
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.experiments.sweep import SWEEP, read_sweep
from possibleworlds.experiments.trials import TRIALS
from possibleworlds.storage import is_temporary, sha256
from possibleworlds.training.checkpoint import (
    METRICS,
    RUN,
    load_model,
    load_tensors,
    read_history,
    read_run,
)
from possibleworlds.training.evaluations import EVALUATION

KILLS_IN_A_ROW = 3
TIMES = ("seconds", "pairs_per_second")
"""What no two runs have in common."""
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
    """Complains of a file that is not whole."""
    outcome: Callable[[Path], Any]
    """What must be the same at the end, however often it was killed."""


def check_data(folder: Path) -> None:
    """Read every file of a data set."""
    for path in named(folder):
        if path.name == MANIFEST:
            for split in read_manifest(folder)["splits"].values():
                if sha256(folder / split["file"]) != split["sha256"]:
                    raise UserError(f"{split['file']} is not what {MANIFEST} says")
        else:
            for _ in read_pairs(path):
                pass


def data_outcome(folder: Path) -> dict[str, str]:
    """The hash of every file, whatever its name."""
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}


def check_run(folder: Path) -> None:
    """Load every file of a run, and compare what must belong together."""
    if not (folder / RUN).exists():
        return
    record = read_run(folder)
    history = read_history(folder, record)
    if record.metrics is None:
        return
    if record.weights:
        load_model(folder)
        _, metadata = load_tensors(folder / record.weights)
        if metadata["step"] != str(record.metrics.best_step):
            raise UserError(f"{record.weights} is of another step than {RUN} says")
    _, metadata = load_tensors(folder / str(record.state))
    progress = json.loads(metadata["progress"])
    if progress["step"] != record.metrics.step or len(progress["history"]) != len(history):
        raise UserError(f"{record.state} is of another step than {RUN} or {METRICS}")
    for path in named(folder):
        known = (RUN, METRICS, EVALUATION, record.weights, record.state)
        is_later = path.suffix == ".safetensors"  # of a checkpoint that was not completed
        if path.name not in known and not is_later:
            raise UserError(f"{path.name} has no place in a run")
    if (folder / EVALUATION).exists():
        json.loads((folder / EVALUATION).read_text(encoding="utf-8"))


def run_outcome(folder: Path) -> dict[str, Any]:
    """Weights, state and metrics, but for times."""
    record = read_run(folder)
    values = record.to_json()
    progress = json.loads(load_tensors(folder / str(record.state))[1]["progress"])
    metrics = [values.pop("metrics"), progress, *progress["history"]]
    return {
        "files": sorted(path.name for path in folder.iterdir()),
        RUN: values,
        "metrics": [untimed(line) for line in metrics],
        METRICS: [untimed(line) for line in lines_of(folder / METRICS)],
        "weights": numbers(folder / str(record.weights)),
        "state": numbers(folder / str(record.state)),
    }


def timed_outcome(folder: Path) -> dict[str, Any]:
    """What a run by the clock has in common with any other: that it is finished, and whole."""
    check_run(folder)
    return {"finished": read_run(folder).finished, "files": len(list(folder.iterdir()))}


class CheckSweep:
    """Load every file of a sweep; a trial that was finished once must stay as it was."""

    def __init__(self) -> None:
        self.finished: dict[Path, bytes] = {}

    def __call__(self, folder: Path) -> None:
        """Record a problem for each incomplete file and each finished trial that is lost."""
        if (folder / SWEEP).exists():
            read_sweep(folder)
        for trial in named(folder / TRIALS):
            check_run(trial)
            stored = trial / RUN
            if stored.exists() and read_run(trial).finished:
                self.finished.setdefault(stored, stored.read_bytes())
        for stored, content in self.finished.items():
            if stored.is_relative_to(folder) and stored.read_bytes() != content:
                raise UserError(f"{stored} was finished and has changed")


def sweep_outcome(folder: Path) -> dict[str, Any]:
    """Every trial, and what was selected."""
    networks = read_sweep(folder).networks
    return {
        "selections": {name: network.selection for name, network in networks.items()},
        "evaluations": [(p.parent.name, sha256(p)) for p in sorted(folder.rglob(EVALUATION))],
        "trials": {path.name: run_outcome(path) for path in sorted((folder / TRIALS).iterdir())},
    }


def untimed(line: dict[str, Any]) -> dict[str, Any]:
    """Metrics without times; a history is compared by itself."""
    return {key: value for key, value in line.items() if key not in (*TIMES, "history")}


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def numbers(path: Path) -> dict[str, bytes]:
    """The tensors of a file, bit by bit."""
    tensors, _ = load_tensors(path)
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def named(folder: Path) -> list[Path]:
    """The files under their final names."""
    return [p for p in folder.iterdir() if not is_temporary(p)] if folder.exists() else []


def cases(data: Path) -> list[Case]:
    """The commands that are killed; data to train on are in a folder."""
    training = ["--epochs", "12", "--set", "size=16", "--set", "evaluations=24"]
    searching = ["--budget", "24epochs", "--workers", "2"]
    return [
        Case(
            "generate",
            ["generate", "OUT", "--rows", "4000", "--workers", "2"],
            [],
            check_data,
            data_outcome,
        ),
        Case(
            "train",
            ["train", "treenet", "--data", str(data), "--out", "OUT", *training],
            ["--resume"],
            check_run,
            run_outcome,
        ),
        Case(
            "train by minutes",
            ["train", "treenet", "--data", str(data), "--out", "OUT", "--minutes", "0.05"],
            ["--resume"],
            check_run,
            timed_outcome,
        ),
        Case(
            "sweep",
            ["sweep", "treenet", "--data", str(data), "--out", "OUT", *searching],
            [],
            CheckSweep(),
            sweep_outcome,
        ),
    ]


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
    problems: list[str] = field(default_factory=list)


class Killer:
    """Starts a command, kills it and checks what it leaves."""

    def __init__(self, case: Case, temporary: Path, rng: random.Random) -> None:
        self.case, self.temporary, self.rng = case, temporary, rng
        self.result = Result()
        self.counter = temporary / "boundaries"
        temporary.mkdir(parents=True)
        (temporary / "sitecustomize.py").write_text(BOUNDARIES, encoding="utf-8")

    def start(
        self, folder: Path, again: bool, boundary: int = 0, target: Target = "group"
    ) -> subprocess.Popen[bytes]:
        """Start the command in a process group of its own."""
        words = [str(folder) if word == "OUT" else word for word in self.case.command]
        path = os.pathsep.join([str(self.temporary), os.environ.get("PYTHONPATH", "")])
        names = {"COUNTER": self.counter, "AT": boundary, "TARGET": target}
        return subprocess.Popen(
            [sys.executable, "-m", "possibleworlds", *words, *(self.case.again if again else ())],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={
                **os.environ,
                "PYTHONPATH": path,
                **{f"KILL_{k}": f"{v}" for k, v in names.items()},
            },
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
                    one.kill()
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

    def kill_a_child(self, running: subprocess.Popen[bytes]) -> bool:
        """Kill one process that a command has started; False where there is none."""
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        if not children:
            return False
        os.kill(int(self.rng.choice(children)), signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.communicate(timeout=10 * self.result.seconds + 60)
        return running.poll() is not None

    def wait_for_group(self, running: subprocess.Popen[bytes]) -> None:
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
        running.communicate()

    def kill_often(self, kills: int, deadline: float) -> Result:
        """Kill the command many times, and see what it leaves behind and how it ends."""
        result, case = self.result, self.case
        expected = self.undisturbed()
        while result.kills.total() < kills and time.monotonic() < deadline:
            folder = self.temporary / f"{result.runs}"
            result.runs += 1
            try:
                for i in range(self.rng.randint(1, KILLS_IN_A_ROW)):
                    if not self.kill(folder, again=i > 0):
                        break
                    try:
                        case.check(folder)
                    except Exception as error:  # whatever a reader says of a file
                        result.corrupt += 1
                        problem = f"{case.name}, kill {result.kills.total()}: {error!r}"
                        result.problems.append(problem)
                finish(self.start(folder, again=True))
                case.check(folder)
                if case.outcome(folder) != expected:
                    raise UserError("another outcome than without a kill")
            except UserError as error:
                result.different += 1
                result.problems.append(f"{case.name}, run {result.runs}: {error}")
            shutil.rmtree(folder, ignore_errors=True)
            print(f"{case.name} {result.kills.total()}/{kills}", *result.problems[-1:], flush=True)
        return result


def finish(running: subprocess.Popen[bytes]) -> None:
    """Wait for a command, which must succeed."""
    _, messages = running.communicate()
    if running.returncode:
        raise UserError(f"exit code {running.returncode}: {messages.decode()[-500:]}")


def table(results: dict[str, Result]) -> str:
    """The results, as the page has them."""
    lines = [
        "| command | an undisturbed run | its boundaries | kills | at a boundary | of the group "
        "| of the command alone | of the process that writes | while another works | runs "
        "| corrupt files | other outcomes | processes left |",
        "|---|" + "--:|" * 12,
    ]
    for name, result in results.items():
        kills = result.kills
        of = [sum(n for key, n in kills.items() if key.startswith(f"{t},")) for t in TARGETS]
        at_boundary = sum(n for key, n in kills.items() if key.endswith("boundary"))
        figures = (
            *(f"{result.seconds:.1f} s", result.boundaries, kills.total(), at_boundary, *of),
            *(result.runs, result.corrupt, result.different, result.outlived),
        )
        lines.append(f"| `{name}` | " + " | ".join(map(str, figures)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Kill each command, and say what became of it; exit code 1 unless all went well."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="of each command")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    results = {}
    with tempfile.TemporaryDirectory(prefix="kill-") as temporary:
        data = Path(temporary) / "data"
        options = ("--rows", "2000", "--variables", "1-4", "--operators", "1-5")
        command = [sys.executable, "-m", "possibleworlds", "generate", str(data), *options]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        every = cases(data)
        for number, case in enumerate(every):
            rng = random.Random(f"{arguments.seed} {case.name}")
            left = arguments.seconds - (time.perf_counter() - began)
            deadline = time.monotonic() + left / (len(every) - number)
            killer = Killer(case, Path(temporary) / case.name.replace(" ", "-"), rng)
            results[case.name] = killer.kill_often(arguments.kills, deadline)
    seconds = time.perf_counter() - began
    print(table(results))
    problems = [problem for result in results.values() for problem in result.problems]
    print(*problems, sep="\n", end="\n" if problems else "")
    if arguments.write:
        figures = f"Commit {commit()}, seed {arguments.seed}, {seconds:,.0f} s:\n\n{table(results)}"
        replace_part("reliability.md", "kill", figures)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
