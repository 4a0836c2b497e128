"""What a row and a training run cost on this machine, and what a billion rows and the grid would.

    .venv/bin/python benchmarks/scaling.py

Generates rows with one process and with all, measures nine settings of each network's grid as a
sweep does, and works the rest out. Writes results/scaling.json and the tables of docs/scaling.md.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pages import replace_part

from possibleworlds.experiments.grid import paper_plan, sample
from possibleworlds.experiments.sweep import MEASURED
from possibleworlds.experiments.trials import measure
from possibleworlds.models.registry import REGISTRY, resolve

RESULTS = Path(__file__).parent.parent / "results" / "scaling.json"
ROWS = 400_000
EPOCHS = 10
CORES = (2, 64, 1000)


def seconds_to_generate(workers: int, folder: Path) -> float:
    """The time in which so many processes generate rows."""
    command = [sys.executable, "-m", "possibleworlds", "generate", str(folder)]
    command += ["--rows", str(ROWS), "--workers", str(workers)]
    began = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def grid_cost(model: str, data: Path) -> dict[str, float]:
    """The grid of a network and the seconds of one core that all of it takes."""
    kind = resolve(model)
    speeds = [speed for speed in measure(model, sample(kind, MEASURED, 0), data) if speed]
    plan = paper_plan(kind, EPOCHS, 0, speeds)
    epoch = sum(speed.epoch for speed in speeds) / len(speeds)
    return {"settings": plan.grid_size, "epoch": epoch, "seconds": plan.seconds(0)}


def data_table(found: dict[str, float]) -> str:
    """Rows a second, and what a billion of them take."""
    lines = ["| processes | rows/s | a row, µs of a core |", "| ---: | ---: | ---: |"]
    for workers, seconds in found.items():
        rate, each = ROWS / seconds, 1e6 * int(workers) * seconds / ROWS
        lines.append(f"| {workers} | {rate:,.0f} | {each:.0f} |")
    workers, seconds = list(found.items())[-1]
    hours = 1e9 * int(workers) * seconds / ROWS / 3600
    listed = ", ".join(f"{duration(hours / cores)} on {cores:,}" for cores in CORES)
    return (
        "\n".join(lines) + f"\n\nA billion rows: {hours:,.0f} core-hours, which is {listed} cores."
    )


def grid_table(found: dict[str, dict[str, float]]) -> str:
    """What the grid of each network takes, and all of them."""
    lines = [
        "| network | settings | an epoch, s | a run, min | three seeds of each, core-hours |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for model, cost in found.items():
        run = cost["seconds"] / 3 / cost["settings"] / 60
        hours = cost["seconds"] / 3600
        lines.append(
            f"| {model} | {cost['settings']:,} | {cost['epoch']:.0f} | {run:.1f} | {hours:,.0f} |"
        )
    hours = sum(cost["seconds"] for cost in found.values()) / 3600
    listed = ", ".join(f"{duration(hours / cores)} on {cores:,}" for cores in CORES)
    return "\n".join(lines) + f"\n\nAll of it: {hours:,.0f} core-hours, which is {listed} cores."


def duration(hours: float) -> str:
    """Hours, or the unit that suits them."""
    if hours >= 48:
        return f"{hours / 24:,.0f} days"
    return f"{hours:.1f} hours" if hours >= 2 else f"{60 * hours:.0f} minutes"


def main() -> None:
    found: dict[str, Any] = {"rows": ROWS, "epochs": EPOCHS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found["generate"] = {
            str(workers): seconds_to_generate(workers, folder / str(workers))
            for workers in sorted({1, len(os.sched_getaffinity(0))})
        }
        command = [sys.executable, "-m", "possibleworlds", "generate", str(folder / "data")]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        names = [name for name, entry in REGISTRY.items() if entry.paper]
        found["grid"] = {model: grid_cost(model, folder / "data") for model in names}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    replace_part("scaling.md", "data", data_table(found["generate"]))
    replace_part("scaling.md", "grid", grid_table(found["grid"]))


if __name__ == "__main__":
    main()
