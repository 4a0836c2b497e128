"""What generating costs, in units of one MiniSat query on the same kind of pair, on one core.

.venv/bin/python benchmarks/generate.py [--rows 20000] [--memory]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from possibleworlds import entails
from possibleworlds.data.files import parse_row
from possibleworlds.data.splits import Seen, Split, make_rows
from possibleworlds.logic.formula import Formula

ROUNDS = 7


def row_against_query(rows: int) -> dict[str, float]:
    """Seconds for a row and for a query, side by side in rounds; the median ratio."""
    split = Split("train", rows)
    pairs = [
        (Formula(tuple(pair.a)), Formula(tuple(pair.b)))
        for pair in map(parse_row, make_rows(split, 1, Seen(rows), workers=1))
    ]
    row_times, query_times = [], []
    for seed in range(ROUNDS):
        start = time.perf_counter()
        for _ in make_rows(split, seed, Seen(rows), workers=1):
            pass
        middle = time.perf_counter()
        for a, b in pairs:
            entails(a, b, solver="minisat22")
        row_times.append((middle - start) / rows)
        query_times.append((time.perf_counter() - middle) / rows)
    ratios = [row / query for row, query in zip(row_times, query_times, strict=True)]
    return {
        "row_microseconds": 1e6 * statistics.median(row_times),
        "query_microseconds": 1e6 * statistics.median(query_times),
        "ratio": statistics.median(ratios),
    }


def memory_of(*arguments: str) -> dict[str, float]:
    """Seconds and peak memory in MiB of a possibleworlds command, its workers included."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "possibleworlds", *arguments], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"seconds": time.perf_counter() - start, "peak_mib": peak / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--memory", action="store_true", help="also 5 million rows (minutes)")
    arguments = parser.parse_args()
    result: dict[str, object] = {"generate": row_against_query(arguments.rows)}
    with tempfile.TemporaryDirectory() as folder:
        paper = Path(folder) / "paper"
        result["paper preset, 2 workers"] = memory_of("generate", str(paper), "--workers", "2")
        if arguments.memory:
            many = Path(folder) / "many"
            result["generate 5,000,000 rows"] = memory_of(
                "generate", str(many), "--rows", "5000000"
            )
            train = str(many / "train.txt")
            result["verify 5,000,000 rows"] = memory_of("verify", train)
            result["stats 5,000,000 rows"] = memory_of("stats", train)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
