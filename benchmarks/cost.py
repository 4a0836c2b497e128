"""What guidance costs, and gains, beside random worlds and random rows of the truth table.

    .venv/bin/python benchmarks/cost.py

Both pretrained networks, evaluated with different numbers of worlds or budgets in one run on one
thread, on generated pairs of the hard and the massive kind. Writes results/cost.json, the figure
and the table of docs/guided-worlds.md.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from baselines import random_rows
from pages import FIGURES, commit, replace_part
from search import measure

import possibleworlds
from possibleworlds.models import Options
from possibleworlds.storage import write_json
from possibleworlds.training.certificate import with_worlds

RESULTS = Path(__file__).parent.parent / "results" / "cost.json"
ROWS, SEED = 1000, 3018  # a seed that no training and no choice of settings has used
SETS: dict[str, dict[str, Any]] = {
    "hard": {"variables": (5, 10), "operators": (15, 20)},
    "massive": {"variables": (20, 25), "operators": (20, 30), "method": "mutated"},
}
EVALUATIONS = (16, 64, 256, 1024, 4096, 16384)


def options(name: str, evaluations: int) -> Options:
    """Evaluate in so many worlds: random ones, or those of a search."""
    if name == "guidedworldnet":
        return Options(budget=evaluations)
    return Options(worlds=evaluations)


def measure_all() -> dict[str, list[dict[str, Any]]]:
    """Measure accuracy and cost of both networks, and of random rows, on each set."""
    by_set: dict[str, list[dict[str, Any]]] = {}
    for kind, settings in SETS.items():
        pairs = possibleworlds.generate(ROWS, seed=SEED, **settings)
        lines = by_set.setdefault(kind, [])
        for name in ("possibleworldnet", "guidedworldnet"):
            model = with_worlds(possibleworlds.load(name).model)
            for n in EVALUATIONS:
                # More random worlds than 4,096 do not fit into memory.
                if name == "guidedworldnet" or n <= 4096:
                    result = measure(model, pairs, options(name, n))
                    lines.append({"network": name, "budget": n, **result})
        rows = {n: random_rows(pairs, n) for n in EVALUATIONS}
        lines[:] = [line | {"random_rows": rows[line["budget"]]} for line in lines]
    return by_set


def draw(by_set: dict[str, list[dict[str, Any]]]) -> None:
    """Draw accuracy against evaluations, a panel for each set."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    styles = {"possibleworldnet": "s--", "guidedworldnet": "o-"}
    for axes, (kind, lines) in zip(panels, by_set.items(), strict=True):
        for name, style in styles.items():
            points = [
                (line["budget"], 100 * line["accuracy"])
                for line in lines
                if line["network"] == name
            ]
            axes.plot(*zip(*points, strict=True), style, label=name)
        rows = {line["budget"]: 100 * line["random_rows"] for line in lines}
        axes.plot(sorted(rows), [rows[n] for n in sorted(rows)], "k:", label="random rows")
        axes.set(xscale="log", xlabel="evaluations a pair, at most")
        axes.set(ylabel="accuracy, %", title=kind)
        axes.grid(alpha=0.3)
    panels[0].legend()
    figure.savefig(FIGURES / "guided.png", dpi=130)


def table(by_set: dict[str, list[dict[str, Any]]]) -> str:
    """Format a line for each set, network and number of evaluations."""
    lines = [
        "| set | network | evaluations, at most | used, on average | accuracy, % "
        "| false refutations | as many random rows, % | CPU ms a pair |",
        "| --- | --- |" + " ---: |" * 6,
    ]
    for kind, ways in by_set.items():
        for it in ways:
            cells = [kind, it["network"], f"{it['budget']:,}", f"{it['evaluations']:,.0f}"]
            cells += [f"{100 * it['accuracy']:.1f}", str(it["false_refutations"])]
            cells += [f"{100 * it['random_rows']:.1f}", f"{it['cpu_ms']:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    by_set = measure_all()
    write_json(RESULTS, {"commit": commit(), "rows": ROWS, "seed": SEED, "sets": by_set})
    draw(by_set)
    replace_part("guided-worlds.md", "cost", table(by_set))


if __name__ == "__main__":
    main()
