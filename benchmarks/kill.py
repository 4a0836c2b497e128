"""Commands killed at random moments and run again: nothing corrupt, and the same end.

    .venv/bin/python benchmarks/kill.py [--kills 50] [--seed 0] [--write]

Each command runs once undisturbed. Then its whole process group is killed with SIGKILL at moments
spread evenly over the length of such a run, up to three times in a row, and the command is run
again to its end. After each kill every file must be whole, and at the end all must be as it was
without a kill. With --write the figures go into docs/reliability.md.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pages import commit, replace_part

from possibleworlds.data.files import read_pairs
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.experiments.sweep import SWEEP, read_sweep
from possibleworlds.experiments.trials import TRIALS
from possibleworlds.storage import sha256
from possibleworlds.training.checkpoint import (
    METRICS,
    MODEL,
    RUN,
    STATE,
    load_model,
    load_tensors,
    read_run,
)
from possibleworlds.training.evaluations import EVALUATION

KILLS_IN_A_ROW = 3
TIMES = ("seconds", "pairs_per_second")
"""What no two runs have in common."""


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
    """Load every file of a run."""
    for path in named(folder):
        match path.name:
            case "run.json":
                read_run(folder)
            case "model.safetensors":
                load_model(folder)
            case "state.safetensors":
                json.loads(load_tensors(path)[1]["progress"])
            case "metrics.jsonl":
                lines_of(path)
            case "evaluation.json":
                json.loads(path.read_text(encoding="utf-8"))
            case other:
                raise UserError(f"{other} has no place in a run")


def run_outcome(folder: Path) -> dict[str, Any]:
    """Weights, state and metrics, but for times."""
    description = read_run(folder)
    progress = json.loads(load_tensors(folder / STATE)[1]["progress"])
    metrics = [description.pop("metrics"), progress, *progress["history"]]
    return {
        "files": sorted(path.name for path in folder.iterdir()),
        RUN: description,
        "metrics": [untimed(line) for line in metrics],
        METRICS: [untimed(line) for line in lines_of(folder / METRICS)],
        **{name: numbers(folder / name) for name in (MODEL, STATE)},
    }


class CheckSweep:
    """Load every file of a sweep; a trial that was finished once must stay as it was."""

    def __init__(self) -> None:
        self.finished: dict[Path, bytes] = {}

    def __call__(self, folder: Path) -> None:
        """Complain of a file that is not whole, and of a finished trial that is lost."""
        if (folder / SWEEP).exists():
            read_sweep(folder)
        for trial in named(folder / TRIALS):
            check_run(trial)
            stored = trial / RUN
            if stored.exists() and read_run(trial).get("metrics", {}).get("finished"):
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
    return [p for p in folder.iterdir() if p.suffix != ".part"] if folder.exists() else []


def cases(data: Path) -> list[Case]:
    """The commands that are killed; data to train on are in a folder."""
    training = ["--epochs", "12", "--set", "size=16", "--set", "evaluations=24"]
    searching = ["--budget", "24epochs", "--workers", "2"]
    return [
        Case(
            "generate",
            ["generate", "OUT", "--rows", "100000", "--workers", "2"],
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

    kills: int = 0
    runs: int = 0
    corrupt: int = 0
    different: int = 0
    seconds: float = 0.0
    """How long an undisturbed run takes."""
    problems: list[str] = field(default_factory=list)


def start(case: Case, folder: Path, again: bool) -> subprocess.Popen[bytes]:
    """Start the command in a process group of its own."""
    words = [str(folder) if word == "OUT" else word for word in case.command]
    return subprocess.Popen(
        [sys.executable, "-m", "possibleworlds", *words, *(case.again if again else ())],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(running: subprocess.Popen[bytes], timeout: float | None = None) -> None:
    """Wait for a command, which must succeed."""
    _, said = running.communicate(timeout=timeout)
    if running.returncode:
        raise UserError(f"exit code {running.returncode}: {said.decode()[-500:]}")


def killed(running: subprocess.Popen[bytes], moment: float) -> bool:
    """Kill a command so many seconds after its start; False where it ends before."""
    try:
        finish(running, moment)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()  # until none of its processes has the pipe any more
        return True
    return False


def kill_often(case: Case, kills: int, rng: random.Random, temporary: Path) -> Result:
    """Kill a command at random moments, and see what it leaves behind and how it ends."""
    result = Result()
    began = time.perf_counter()
    finish(start(case, temporary / "whole", again=False))
    result.seconds = time.perf_counter() - began
    expected = case.outcome(temporary / "whole")
    moments = [result.seconds * (i + rng.random()) / kills for i in range(kills)]
    rng.shuffle(moments)
    while moments:
        folder = temporary / f"{result.runs}"
        result.runs += 1
        try:
            for i in range(min(rng.randint(1, KILLS_IN_A_ROW), len(moments))):
                moment, began = moments.pop(), time.perf_counter()
                if not killed(start(case, folder, again=i > 0), moment):
                    # What is gone on with is shorter: another run has this moment. A whole run may
                    # be so too, on a machine that is less busy than it was for the first.
                    lasted = time.perf_counter() - began
                    moments.append(moment if i else rng.random() * lasted)
                    break
                result.kills += 1
                try:
                    case.check(folder)
                except Exception as error:  # whatever a reader says of a file
                    result.corrupt += 1
                    result.problems.append(f"{case.name}, kill {result.kills}: {error!r}")
            finish(start(case, folder, again=True))
            case.check(folder)
            if case.outcome(folder) != expected:
                raise UserError("another outcome than without a kill")
        except UserError as error:
            result.different += 1
            result.problems.append(f"{case.name}, run {result.runs}: {error}")
        shutil.rmtree(folder, ignore_errors=True)
        if sys.stderr.isatty():
            print(f"\r{case.name} {result.kills}/{kills}", end=" ", file=sys.stderr)
    return result


def table(results: dict[str, Result]) -> str:
    """The results, as the page has them."""
    lines = [
        "| command | an undisturbed run | kills | runs killed | corrupt files | other outcomes |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, result in results.items():
        lines.append(
            f"| `{name}` | {result.seconds:.1f} s | {result.kills} | {result.runs} "
            f"| {result.corrupt} | {result.different} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Kill each command, and say what became of it; exit code 1 unless all went well."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="of each command")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    results = {}
    with tempfile.TemporaryDirectory(prefix="kill-") as temporary:
        data = Path(temporary) / "data"
        command = ["generate", "OUT", "--rows", "2000", "--variables", "1-4", "--operators", "1-5"]
        finish(start(Case("data", command, [], check_data, data_outcome), data, again=False))
        for case in cases(data):
            folder = Path(temporary) / case.name
            rng = random.Random(f"{arguments.seed} {case.name}")
            results[case.name] = kill_often(case, arguments.kills, rng, folder)
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
