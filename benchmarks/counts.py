"""Counts that are kept, so that several runs of a program add up."""

import json
import os
from pathlib import Path
from typing import Any


def read_counts(path: Path | None) -> list[dict[str, Any]]:
    """Read the records of earlier runs; none where there is no file."""
    records: list[dict[str, Any]] = []
    if path and path.exists():
        records = json.loads(path.read_text(encoding="utf-8"))
    return records


def write_counts(path: Path | None, records: list[dict[str, Any]]) -> None:
    """Keep the records, if there is a file for them."""
    if path:
        part = path.with_name(f"{path.name}.new")
        part.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
        part.replace(path)


def next_seed(records: list[dict[str, Any]]) -> int:
    """Choose the seed after those of earlier runs."""
    return max((int(record["seed"]) for record in records), default=-1) + 1


def described(records: list[dict[str, Any]]) -> str:
    """Say which commits and seeds records are of, and how long they took."""
    commits = ", ".join(dict.fromkeys(record["commit"] for record in records))
    seeds = sorted(record["seed"] for record in records)
    seconds = sum(record["cpu_seconds"] for record in records)
    of = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return f"Commit {commits}, {of}, {seconds:,.0f} s of a core"


def cpu_seconds() -> float:
    """Measure the time of this process and of those that it has waited for, on a core."""
    return sum(os.times()[:4])
