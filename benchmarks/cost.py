"""What guidance costs, and gains, beside random worlds and random rows of the truth table.

    .venv/bin/python benchmarks/cost.py

Both pretrained networks, evaluated with different numbers of worlds and steps in one run on one
thread, on generated pairs of the hard and the massive kind. Writes results/cost.json, the figure
and the table of docs/guided-worlds.md.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from headline import sampled
from pages import FIGURES, replace_part

import possibleworlds
from possibleworlds.data.files import read
from possibleworlds.data.generation import Split
from possibleworlds.data.splits import generate_folder
from possibleworlds.training.batches import Dataset

RESULTS = Path(__file__).parent.parent / "results" / "cost.json"
SEED = 1  # not that of the sets on which the networks were measured
SETS = {
    "hard": Split("test_hard", 1000, (5, 10), (15, 20)),
    "massive": Split("test_massive", 1000, (20, 26), (20, 30), "mutated"),
}
EVALUATED = {
    "possibleworldnet": [(n, 0) for n in (16, 64, 256, 1024, 4096)],
    "guidedworldnet": [
        (worlds, steps)
        for worlds, both in {8: (1, 4), 16: (4, 8), 32: (8, 16), 64: (16, 24), 128: (24,)}.items()
        for steps in both
    ],
}


def ask(name: str, worlds: int, steps: int, data: Dataset) -> tuple[float, float]:
    """The accuracy of a network, and its CPU time a pair in ms."""
    network = possibleworlds.load(name)
    start = time.process_time()
    evaluation = network.evaluate(data, worlds, steps or None)
    spent = time.process_time() - start
    return evaluation.accuracy, 1000 * spent / len(data)


def measure(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Accuracy and cost of every way of asking, for each set."""
    generate_folder(folder, list(SETS.values()), SEED)
    by_set: dict[str, list[dict[str, Any]]] = {}
    for kind, split in SETS.items():
        file = folder / f"{split.name}.txt"
        data = Dataset(read(file))
        for name, ways in EVALUATED.items():
            for worlds, steps in ways:
                accuracy, cost = ask(name, worlds, steps, data)
                evaluations = worlds * (steps + 1)
                line = {"network": name, "worlds": worlds, "steps": steps, "accuracy": accuracy}
                line |= {"ms": cost, "evaluations": evaluations}
                by_set.setdefault(kind, []).append(line | {"sampling": sampled(file, evaluations)})
    return by_set


def draw(by_set: dict[str, list[dict[str, Any]]]) -> None:
    """Accuracy against evaluations, a panel for each set."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    styles = {"possibleworldnet": "s--", "guidedworldnet": "o-"}
    for axes, (kind, lines) in zip(panels, by_set.items(), strict=True):
        for name, style in styles.items():
            mine = [line for line in lines if line["network"] == name]
            places = [line["evaluations"] for line in mine]
            axes.plot(places, [100 * line["accuracy"] for line in mine], style, label=name)
        rows = {line["evaluations"]: 100 * line["sampling"] for line in lines}
        axes.plot(sorted(rows), [rows[n] for n in sorted(rows)], "k:", label="random rows")
        axes.set(xscale="log", xlabel="evaluations a pair: worlds x (steps + 1)")
        axes.set(ylabel="accuracy, %", title=kind)
        axes.grid(alpha=0.3)
    panels[0].legend()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "guided.png", dpi=130)


def table(by_set: dict[str, list[dict[str, Any]]]) -> str:
    """A line for each set, network and way of asking."""
    lines = [
        "| set | network | worlds x steps | evaluations | accuracy, % | as many random rows, % "
        "| CPU ms a pair |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, ways in by_set.items():
        for it in ways:
            search = f"{it['worlds']} x {it['steps']}"
            shares = f"{100 * it['accuracy']:.1f} | {100 * it['sampling']:.1f}"
            cells = [kind, it["network"], search, f"{it['evaluations']:,}", shares]
            lines.append("| " + " | ".join([*cells, f"{it['ms']:.1f}"]) + " |")
    return "\n".join(lines)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        by_set = measure(Path(folder))
    recorded = {"command": "python benchmarks/cost.py", "seed": SEED, "sets": by_set}
    RESULTS.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    draw(by_set)
    replace_part("guided-worlds.md", "cost", table(by_set))


if __name__ == "__main__":
    main()
