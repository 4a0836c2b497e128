"""What generating costs, in units of one MiniSat query on the same kind of pair, in CPU time.

    .venv/bin/python benchmarks/generate.py [--memory]

Writes the figures of docs/data.md.
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from pages import replace_part

from possibleworlds import entails
from possibleworlds.data import native
from possibleworlds.data.files import format_rows, parse_line
from possibleworlds.data.generation import Pruner, Split, generate_units
from possibleworlds.logic.formula import Formula

ROUNDS = 3
ROWS = 20_000


def row_against_query() -> tuple[float, float, float]:
    """Microseconds of CPU time for a row and for a query, in turns, and the median ratio."""
    split = Split("train", ROWS)
    pairs = [
        (Formula(tuple(pair.a)), Formula(tuple(pair.b)))
        for lines in generate_units(split, 1, Pruner("formulas", [split]), 1, format_rows)
        for pair, _ in map(parse_line, lines.splitlines())
    ]
    gc.freeze()  # the pairs kept here would else slow down collections that a real run has not
    row_times, query_times = [], []
    for seed in range(ROUNDS):
        start = time.process_time()
        for _ in generate_units(split, seed, Pruner("formulas", [split]), 1, format_rows):
            pass
        middle = time.process_time()
        for a, b in pairs:
            entails(a, b, solver="minisat22")
        row_times.append(1e6 * (middle - start) / ROWS)
        query_times.append(1e6 * (time.process_time() - middle) / ROWS)
    ratios = [row / query for row, query in zip(row_times, query_times, strict=True)]
    return statistics.median(row_times), statistics.median(query_times), statistics.median(ratios)


def measured(*arguments: str) -> str:
    """Run a command; its CPU time and the largest memory of any of its processes."""
    running = subprocess.Popen(
        [sys.executable, "-m", "possibleworlds", *arguments], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(running.pid, 0)
    if status:
        raise SystemExit(f"possibleworlds {' '.join(arguments)} failed")
    seconds = usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss / 1024
    shown = " ".join(Path(word).name for word in arguments)
    return f"- `possibleworlds {shown}`: {seconds:.0f} s of CPU time, at most {peak:.0f} MiB."


def ratio_line(how: str) -> str:
    """What a row costs, as a line of the page."""
    row, query, ratio = row_against_query()
    return (
        f"- A training row {how} costs {row:.1f} µs, a MiniSat query {query:.1f} µs: a ratio of "
        f"**{ratio:.2f}** (median of {ROUNDS} rounds of {ROWS:,} rows)."
    )


def write_ratio() -> None:
    """What a row costs, and the paper preset."""
    lines = [ratio_line("in C")] if native.kernel else []
    native.kernel = None
    lines.append(ratio_line("with numpy"))
    with tempfile.TemporaryDirectory() as temporary:
        lines.append(measured("generate", f"{temporary}/paper", "--workers", "1"))
    replace_part("data.md", "speed", "\n".join(lines))


def write_memory() -> None:
    """Time and memory on millions of rows."""
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        many, million = f"{temporary}/many", Path(temporary) / "million.txt"
        lines.append(measured("generate", many, "--rows", "5000000", "--workers", "1"))
        with Path(f"{many}/train.txt").open() as rows, million.open("w") as file:
            file.writelines(islice(rows, 1_000_000))
        lines += [measured("verify", str(million)), measured("stats", str(million))]
    replace_part("data.md", "memory", "\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--memory", action="store_true", help="millions of rows, which takes minutes"
    )
    arguments = parser.parse_args()
    if arguments.memory:
        write_memory()
    else:
        write_ratio()


if __name__ == "__main__":
    main()
