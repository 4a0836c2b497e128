"""What a row and a training run cost on this machine, and what a billion rows and the grid would.

    .venv/bin/python benchmarks/scaling.py

Generates a million rows, measures nine settings of each network's grid as a sweep does, and works
the rest out. Writes results/scaling.json and the tables of docs/scaling.md.
"""

import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from pages import replace_part

from possibleworlds.data.splits import PRESETS, free_splits, generate_folder
from possibleworlds.experiments.grid import SearchRequest, make_plan, points_to_measure
from possibleworlds.models.registry import resolve
from possibleworlds.paper import TABLE_2
from possibleworlds.training.speed import measure

RESULTS = Path(__file__).parent.parent / "results" / "scaling.json"
ROWS = 1_000_000
EPOCHS = 10
CORES = (2, 64, 1000)


def cost_of_rows(workers: int, folder: Path) -> dict[str, float]:
    """What rows cost: seconds of the clock, of the process that prunes, and of all others."""
    began, own = time.perf_counter(), time.process_time()
    others = children_seconds()
    made = generate_folder(folder, free_splits(ROWS, (1, 10), (1, 10), "fourtuples"), 0, workers)
    return {
        "rows": sum(split["rows"] for split in made["splits"].values()),
        "clock": time.perf_counter() - began,
        "pruning": time.process_time() - own,
        "making": children_seconds() - others,
    }


def children_seconds() -> float:
    """The CPU time of all processes that this one had."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def grid_cost(model: str, data: Path) -> dict[str, float]:
    """The grid of a network and the seconds of one core that all of it takes."""
    kind = resolve(model)
    request = SearchRequest(None, EPOCHS, 0)
    points = points_to_measure(kind, request)
    speeds = [speed for point in points if (speed := measure(model, point, data))]
    plan = make_plan(kind, request, points, speeds)
    epoch = sum(speed.epoch for speed in speeds) / len(speeds)
    return {"settings": plan.grid_size, "epoch": epoch, "seconds": plan.seconds(0)}


def data_table(cost: dict[str, float]) -> str:
    """What a row takes, and what a billion would."""
    rows, making, pruning = cost["rows"], cost["making"], cost["pruning"]
    row, parent = 1e6 * (making + pruning) / rows, 1e6 * pruning / rows
    hours, least = (1e9 * microseconds / 1e6 / 3600 for microseconds in (row, parent))
    # As data.generation.KeySet takes it, for pairs, premises and conclusions.
    keys = 3 * 4 * 2 ** (2 * 10**9).bit_length() / 2**30
    lines = [
        "| | |",
        "| --- | ---: |",
        f"| rows generated, {cost['workers']:.0f} processes | {rows:,.0f} |",
        f"| rows a second | {rows / cost['clock']:,.0f} |",
        f"| CPU time of a row | {row:.1f} µs |",
        f"| of it in the one process that prunes and writes | {parent:.1f} µs |",
        f"| a billion rows | {hours:,.1f} core-hours |",
        f"| the same, with as many cores as are of use ({row / parent:.0f}) | {least:,.1f} hours |",
        f"| memory for the keys of a billion rows | {keys:.0f} GiB |",
    ]
    return "\n".join(lines)


def grid_table(costs: dict[str, dict[str, float]]) -> str:
    """What the grid of each network takes, and all of them."""
    lines = [
        "| network | settings | an epoch, s | a run, min | three seeds of each, core-hours |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for model, cost in costs.items():
        run = cost["seconds"] / 3 / cost["settings"] / 60
        hours = cost["seconds"] / 3600
        lines.append(
            f"| {model} | {cost['settings']:,} | {cost['epoch']:.0f} | {run:.1f} | {hours:,.0f} |"
        )
    hours = sum(cost["seconds"] for cost in costs.values()) / 3600
    listed = ", ".join(f"{duration(hours / cores)} on {cores:,}" for cores in CORES)
    return "\n".join(lines) + f"\n\nAll of it: {hours:,.0f} core-hours, which is {listed} cores."


def duration(hours: float) -> str:
    """Hours, or the unit that suits them."""
    if hours >= 48:
        return f"{hours / 24:,.0f} days"
    return f"{hours:.1f} hours" if hours >= 2 else f"{60 * hours:.0f} minutes"


def main() -> None:
    results: dict[str, Any] = {"epochs": EPOCHS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        workers = len(os.sched_getaffinity(0))
        results["generate"] = {"workers": workers, **cost_of_rows(workers, folder / "rows")}
        generate_folder(folder / "data", PRESETS["paper"], 0, workers)
        names = list(TABLE_2)
        results["grid"] = {model: grid_cost(model, folder / "data") for model in names}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    replace_part("scaling.md", "data", data_table(results["generate"]))
    replace_part("scaling.md", "grid", grid_table(results["grid"]))


if __name__ == "__main__":
    main()
