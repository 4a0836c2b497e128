"""What the largest inputs cost that are not refused, and what threads cost a training.

    .venv/bin/python benchmarks/bounds.py [--write]

Each is measured in a process of its own, by the time of all its threads on a core and by the most
memory that it had; so other work on the machine does not matter much. --write puts the figures into
docs/reliability.md.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pages import commit, replace_part

import possibleworlds as pw
from possibleworlds.logic.syntax import MAX_CHARACTERS, parse, to_published
from possibleworlds.training.batches import MAX_LENGTH

STEPS_SECONDS = 20.0


def wide(symbols: int) -> list[str]:
    """A formula of so many symbols in reverse Polish order: a balanced tree over 26 variables."""
    formulas = [[chr(ord("a") + i % 26)] for i in range((symbols + 1) // 2)]
    while len(formulas) > 1:
        pairs = zip(formulas[::2], formulas[1::2], strict=False)
        joined = [[*left, *right, "&|>"[i % 3]] for i, (left, right) in enumerate(pairs)]
        formulas = joined + formulas[len(joined) * 2 :]
    return formulas[0]


def evaluate(rpn: list[str]) -> None:
    """Evaluate the pretrained guided worlds on a pair of large formulas, by the command."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "data.txt"
        text = to_published(rpn)
        path.write_text(f"{text},{text},1,1,1,1\n", encoding="utf-8")
        command = [sys.executable, "-m", "possibleworlds", "evaluate", "guidedworldnet", str(path)]
        subprocess.run(command, check=True, capture_output=True)


def parse_negations() -> None:
    """Read a formula of as many characters as are read, all but one of them negations."""
    parse("~" * (MAX_CHARACTERS - 1) + "p")


def parse_brackets() -> None:
    """Read a formula of as many characters as are read, half of them brackets."""
    depth = (MAX_CHARACTERS - 1) // 2
    parse("(" * depth + "p" + ")" * depth)


def parse_balanced() -> None:
    """Read a formula of as many characters as are read, with many leaves."""
    parse(to_published(wide(MAX_CHARACTERS // 2 - 10)))


def train(threads: int) -> None:
    """Train a network for a while from Python, with so many threads, or with 0 as it comes."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    pairs = pw.generate(rows=2000, seed=0)
    cpu, began = time.process_time(), time.monotonic()
    result = pw.train("possibleworldnet", pairs, pairs[:200], minutes=STEPS_SECONDS / 60)
    seconds = time.monotonic() - began
    step = result.metrics.step
    print(f"{step} {time.process_time() - cpu:.1f} {seconds:.1f}", flush=True)


TASKS: dict[str, tuple[str, Callable[[], None]]] = {
    "evaluate-wide": (
        f"`evaluate guidedworldnet`, both formulas balanced trees of {MAX_LENGTH - 1:,} symbols",
        lambda: evaluate(wide(MAX_LENGTH - 1)),
    ),
    "evaluate-deep": (
        f"`evaluate guidedworldnet`, both formulas p with {MAX_LENGTH - 1:,} negations",
        lambda: evaluate(["p", *"~" * (MAX_LENGTH - 1)]),
    ),
    "negations": (f"`parse` of {MAX_CHARACTERS:,} characters, negations", parse_negations),
    "brackets": ("the same, brackets", parse_brackets),
    "balanced": ("the same, a balanced tree", parse_balanced),
}
"""What is measured, by name."""


def measure(name: str) -> tuple[float, float]:
    """Run a task in a new process; give its seconds of a core and MiB of memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, "--task", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, float(done.stdout.split()[-1])


def peak() -> float:
    """The most memory that this process, or one that it has waited for, had, in MiB."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(who).ru_maxrss for who in both) / 1024


def steps(threads: int) -> str:
    """Train in a new process, and describe how fast that was."""
    command = [sys.executable, __file__, "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    step, cpu, seconds = map(float, done.stdout.split()[-3:])
    return f"{step:,.0f} | {cpu:.1f} s | {60 * step / cpu:,.0f} | {60 * step / seconds:,.0f}"


def main() -> None:
    """Measure all of it, or run one task for another process that measures it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--task", choices=TASKS, help="run only this, and print the memory")
    parser.add_argument("--threads", type=int, help="only train, with so many threads")
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    arguments = parser.parse_args()
    if arguments.task:
        TASKS[arguments.task][1]()
        print(f"{peak():.0f}")
        return
    if arguments.threads is not None:
        train(arguments.threads)
        return
    lines = ["| what | seconds of a core | peak memory |", "| --- | ---: | ---: |"]
    for name, (shown, _) in TASKS.items():
        seconds, memory = measure(name)
        lines.append(f"| {shown} | {seconds:.1f} | {memory:,.0f} MiB |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"`pw.train` of possibleworldnet from Python for {STEPS_SECONDS:.0f} s:",
        "",
        "| threads | steps | time of a core | steps a minute of a core | steps a minute |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| the default | {steps(0)} |",
        f"| `torch.set_num_threads(1)` | {steps(1)} |",
    ]
    print("\n".join(lines))
    if arguments.write:
        text = f"Commit {commit()}, on a busy machine of two cores:\n\n" + "\n".join(lines)
        replace_part("reliability.md", "bounds", text)


if __name__ == "__main__":
    main()
