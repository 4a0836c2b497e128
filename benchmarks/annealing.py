"""How far guided worlds get by annealing: published sets, and 3-CNF at the threshold.

    POSSIBLEWORLDS_OFFICIAL_DATA=PUBLISHED python benchmarks/annealing.py --rows 400 --sat 60

Evaluates the pretrained network by its default search and by gradient steps alone, on a random
sample of each published set and on entailments of two literals from random satisfiable 3-CNF (4.55
clauses a variable). Beside accuracy: false refutations, missed countermodels, evaluations and CPU
milliseconds a pair. Writes results/annealing.json and the table of docs/guided-worlds.md.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from pages import replace_part
from pysat.solvers import Minisat22

import possibleworlds
from possibleworlds.data.files import read
from possibleworlds.data.pairs import Pairs
from possibleworlds.models import Options
from possibleworlds.models.guidedworldnet import GuidedWorldNet
from possibleworlds.paper import SPLITS
from possibleworlds.training.batches import Dataset

RESULTS = Path(__file__).parent.parent / "results" / "annealing.json"
SEARCHES = {"annealing (default)": Options(), "24 gradient steps": Options(steps=24)}
SIZES = (10, 20, 26)
Row = tuple[str, str, int]


def join(parts: list[str], operator: str) -> str:
    """Join formulas in reverse Polish notation as a balanced tree."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return join(parts[:half], operator) + join(parts[half:], operator) + operator


def sat_rows(count: int, variables: int, seed: int) -> list[Row]:
    """Draw as many entailments as non-entailments of two literals from satisfiable 3-CNF."""
    random, rows = Random(seed), []
    missing = {True: count // 2, False: count // 2}
    while any(missing.values()):
        letters = random.sample("abcdefghijklmnopqrstuvwxyz", variables)

        def clause(size: int) -> list[int]:
            chosen = random.sample(range(1, variables + 1), size)
            return [v * random.choice((1, -1)) for v in chosen]

        def text(literals: list[int], letters: list[str] = letters) -> str:
            return join([letters[abs(v) - 1] + "~" * (v < 0) for v in literals], "|")

        cnf, conclusion = [clause(3) for _ in range(round(4.55 * variables))], clause(2)
        with Minisat22(bootstrap_with=cnf) as solver:
            if not solver.solve():
                continue
            label = not solver.solve(assumptions=[-v for v in conclusion])
        if missing[label]:
            missing[label] -= 1
            rows.append((join([text(c) for c in cnf], "&"), text(conclusion), int(label)))
    return rows


def published(file: Path, count: int) -> list[Row]:
    """Draw rows of a published set."""
    pairs = read(file)
    chosen = np.random.default_rng(0).permutation(len(pairs))[:count]
    return [(pairs[int(i)].a, pairs[int(i)].b, int(pairs[int(i)].label)) for i in chosen]


@torch.no_grad()
def measure(model: GuidedWorldNet, rows: list[Row], options: Options) -> dict[str, Any]:
    """Evaluate a network with a search."""
    data = Dataset(Pairs.of(rows))
    predicted, evaluations = np.empty(len(rows)), 0
    start = time.process_time()
    for chosen, batch in data.in_order_of_size():
        torch.manual_seed(0)
        imagined = model.imagine(batch, options)
        predicted[chosen] = imagined.log_probs.argmax(1).numpy()
        if imagined.evaluations is None:
            evaluations += imagined.z.numel() * ((options.steps or 0) + 1)
        else:
            evaluations += int(imagined.evaluations.sum())
    seconds = time.process_time() - start
    label = data.pairs.label
    return {
        "rows": len(rows),
        "accuracy": float((predicted == label).mean()),
        "entailments": int(label.sum()),
        "false_refutations": int((predicted[label == 1] == 0).sum()),
        "missed_countermodels": int((predicted[label == 0] == 1).sum()),
        "evaluations": evaluations / len(rows),
        "cpu_ms": 1000 * seconds / len(rows),
    }


def table(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Format the results as a Markdown table."""
    lines = [
        "| set | rows | search | accuracy, % | false refutations | missed countermodels "
        "| evaluations a pair | CPU ms a pair |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, searches in results.items():
        for search, one in searches.items():
            n, yes = one["rows"], one["entailments"]
            cells = [name, f"{n:,}", search, f"{100 * one['accuracy']:.2f}"]
            cells += [f"{one['false_refutations']} of {yes}"]
            cells += [f"{one['missed_countermodels']} of {n - yes}"]
            cells += [f"{one['evaluations']:,.0f}", f"{one['cpu_ms']:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure everything, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="of each published set, at most")
    parser.add_argument("--sat", type=int, default=400, help="pairs of each size of 3-CNF")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = possibleworlds.load("guidedworldnet").model
    assert isinstance(model, GuidedWorldNet)
    sets: dict[str, list[Row]] = {}
    if folder := os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA"):
        for split in SPLITS:
            rows = published(Path(folder) / f"{split}.txt", arguments.rows)
            sets[f"published {split}"] = rows
    for size in SIZES:
        sets[f"3-CNF, {size} variables"] = sat_rows(arguments.sat, size, seed=size)
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for name, rows in sets.items():
        results[name] = {s: measure(model, rows, options) for s, options in SEARCHES.items()}
        print(name, json.dumps(results[name]), flush=True)
    record = {"arguments": vars(arguments), "machine": platform.machine(), "results": results}
    RESULTS.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    replace_part("guided-worlds.md", "annealing", table(results))


if __name__ == "__main__":
    main()
