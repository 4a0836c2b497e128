"""What the kernel in C gains over torch in each kind of network, and how its cost grows.

    .venv/bin/python benchmarks/engines.py

Both engines and torch.mm take turns in one process on one thread; each figure is the least CPU time
of its turns. Writes results/engines.json, docs/figures/engines.png and a part of docs/models.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cost
import matplotlib.pyplot as plt
import numpy as np
import torch
from pages import FIGURES, replace_part
from train import BATCHES, LABELS, Bench, best_time, evaluate_alone, made, multiplication_rate

import possibleworlds
from possibleworlds.data.files import read
from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.models import Options
from possibleworlds.models.guidedworldnet import GuidedWorldNet
from possibleworlds.models.possibleworldnet import PossibleWorldNet
from possibleworlds.models.trees import native
from possibleworlds.models.trees.forest import Forest
from possibleworlds.training.batches import Dataset

RESULTS = Path(__file__).parent.parent / "results" / "engines.json"
ENGINES = {"torch": "0", "native": "1"}
GROWTH = {
    "operators": [250, 500, 1000, 2000, 4000],
    "worlds": [16, 32, 64, 128, 256, 512],
    "size": [8, 16, 32, 48, 64, 96, 128],
}
"""Operators of one formula that is evaluated; worlds, and d, of a training step."""


def choose(engine: str) -> None:
    """Let networks run on an engine from now on."""
    os.environ["POSSIBLEWORLDS_NATIVE"] = ENGINES[engine]


def in_turns(run: Callable[[], object], rounds: int) -> dict[str, float]:
    """The CPU time of a run on each engine, in seconds."""
    taken: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for _ in range(rounds):
        for engine, times in taken.items():
            choose(engine)
            times.append(best_time(run, 2))
    return {engine: min(times) for engine, times in taken.items()}


def learn(bench: Bench) -> None:
    """One pass over the batches of a benchmark."""
    for batch in bench.batches():
        bench.trainer.train_step(batch, LABELS)


def training(data: Dataset, name: str, rounds: int = 4, **settings: Any) -> dict[str, Any]:
    """Milliseconds of a training step on each engine; as shares of torch.mm, where counted."""
    torch.manual_seed(0)
    bench = Bench(made(name, **settings), data)
    rates, times = [], []
    for _ in range(rounds):
        times.append(in_turns(partial(learn, bench), 1))
        rates.append(multiplication_rate())
    best = {engine: min(t[engine] for t in times) / BATCHES for engine in ENGINES}
    row: dict[str, Any] = {"network": name, "settings": settings}
    row["ms"] = {engine: 1e3 * seconds for engine, seconds in best.items()}
    if name == "possibleworldnet":
        assert isinstance(bench.model, PossibleWorldNet)
        work, rate = bench.flops(), max(rates)
        row["gflops_of_mm"] = rate / 1e9
        row["share_of_mm"] = {engine: work / s / rate for engine, s in best.items()}
    return row


def guided_evaluation(rows: int = 100) -> dict[str, float]:
    """CPU milliseconds a pair of the massive kind, with as many worlds and steps as by default."""
    data = Dataset(possibleworlds.generate(rows, seed=cost.SEED, **cost.SETS["massive"]))
    model = possibleworlds.load("guidedworldnet").model.eval()

    def run() -> None:
        with torch.no_grad():
            for _, batch in data.in_order_of_size():
                torch.manual_seed(0)
                model.log_probs(batch, Options())

    return {engine: 1e3 * s / rows for engine, s in in_turns(run, 2).items()}


def shared_vectors(rows: int = 32) -> dict[str, float]:
    """CPU microseconds of the kernel for an evaluation, with and without sharing vectors.

    Of each pair of the massive kind, a world and all that differ from it in one variable: worlds
    that agree on the variables of a subformula can share its vector.
    """
    data = Dataset(possibleworlds.generate(rows, seed=cost.SEED, **cost.SETS["massive"]))
    model = possibleworlds.load("guidedworldnet").model
    assert isinstance(model, GuidedWorldNet)
    k, parameters = model.settings.world_size, model.pruned_parameters
    ((_, batch),) = list(data.in_order_of_size())
    one = torch.randint(2, (rows, 1, k), generator=torch.Generator().manual_seed(0)) * 2.0 - 1
    worlds = torch.cat((one, one * (1 - 2 * torch.eye(k))), 1)  # (pairs, 1 + k, k)
    call = native._Call(batch.private_plan, model.workspace, worlds, parameters)
    scores, units = worlds.new_empty(call.scores_shape), call.keep_units()
    choose("native")
    times: dict[str, list[float]] = {"shared": [], "alone": []}
    for _ in range(5):
        times["shared"].append(best_time(lambda: call.run(None, scores), 4))
        times["alone"].append(best_time(lambda: call.run(units, scores), 4))
    return {how: 1e6 * min(t) / worlds.shape[:2].numel() for how, t in times.items()}


def one_formula(operators: int) -> dict[str, float]:
    """CPU milliseconds to evaluate one formula in 128 worlds."""
    code = [4]
    for i in range(operators):
        code += [4 + i % 26, 1 + i % 3]
    forest = Forest(np.array(code, np.uint8), np.array([0, len(code)]))
    model = made("possibleworldnet").eval()
    with torch.no_grad():
        times = in_turns(partial(evaluate_alone, model, forest), 4)
    return {engine: 1e3 * seconds for engine, seconds in times.items()}


def memory_of(engine: str) -> float:
    """The memory of a process that trains with 256 worlds and d = 64, in MiB."""
    program = (
        "import sys, torch; sys.path.insert(0, sys.argv[1]); import train\n"
        "from pathlib import Path\n"
        "torch.set_num_threads(1)\n"
        "data = train.Dataset(train.read(Path(sys.argv[2])))\n"
        "print(train.memory(data))"
    )
    with tempfile.TemporaryDirectory() as folder:
        generate_folder(Path(folder), free_splits(4000, (1, 10), (1, 10), "fourtuples"), seed=0)
        command = [sys.executable, "-c", program, str(Path(__file__).parent)]
        text = subprocess.check_output(
            [*command, str(Path(folder) / "train.txt")],
            env={**os.environ, "POSSIBLEWORLDS_NATIVE": ENGINES[engine]},
            text=True,
        )
    return float(text.split(":")[1].split()[0])


def measure() -> dict[str, Any]:
    """All figures."""
    results: dict[str, Any] = {"engine": native.describe()}
    results["memory_mib"] = {engine: memory_of(engine) for engine in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        generate_folder(Path(folder), free_splits(4000, (1, 10), (1, 10), "fourtuples"), seed=0)
        data = Dataset(read(Path(folder) / "train.txt"))
    results["training"] = [
        training(data, "possibleworldnet", size=32, worlds=128),
        training(data, "possibleworldnet", size=64, worlds=32),
        training(data, "guidedworldnet", unguided_fraction=1.0),
        training(data, "guidedworldnet", unguided_fraction=0.0),
        training(data, "lstm"),
        training(data, "lstm-traversal"),
        training(data, "treelstm"),
        training(data, "treenet"),
    ]
    results["evaluation_us"] = shared_vectors()
    results["guided_evaluation_ms"] = guided_evaluation()
    results["growth"] = {
        "operators": {n: one_formula(n) for n in GROWTH["operators"]},
        "worlds": {
            n: training(data, "possibleworldnet", 2, worlds=n)["ms"] for n in GROWTH["worlds"]
        },
        "size": {d: training(data, "possibleworldnet", 2, size=d)["ms"] for d in GROWTH["size"]},
    }
    return results


def table(results: dict[str, Any]) -> str:
    """The figures of both engines side by side."""
    lines = ["| | torch | native | ratio |", "| --- | ---: | ---: | ---: |"]

    def add(name: str, values: dict[str, float], form: str) -> None:
        cells = " | ".join(form.format(values[engine]) for engine in ENGINES)
        lines.append(f"| {name} | {cells} | {values['native'] / values['torch']:.2f} |")

    for row in results["training"]:
        s = row["settings"]
        if row["network"] == "possibleworldnet":
            what = f"possibleworldnet, d = {s['size']}, {s['worlds']} worlds"
            add(f"training {what}: ms a step", row["ms"], "{:.1f}")
            add("the same, as a share of `torch.mm`", row["share_of_mm"], "{:.0%}")
        else:
            worlds = {1.0: ", unguided worlds", 0.0: ", guided worlds"}
            kind = worlds[s["unguided_fraction"]] if s else ""
            pairs = {engine: 64e3 / ms for engine, ms in row["ms"].items()}
            add(f"training {row['network']}{kind}: pairs/s", pairs, "{:,.0f}")
    evaluation = results["guided_evaluation_ms"]
    add("evaluating guidedworldnet, massive kind: CPU ms a pair", evaluation, "{:.1f}")
    longest = results["growth"]["operators"][2000]
    add("one formula of 2,000 operators in 128 worlds: ms", longest, "{:.1f}")
    memory = results["memory_mib"]
    add("training with 256 worlds and d = 64: MiB of the whole process", memory, "{:.0f}")
    return "\n".join(lines)


def draw(growth: dict[str, dict[int, dict[str, float]]]) -> None:
    """Cost against operators, worlds and d, a panel each."""
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    titles = {
        "operators": ("operators of one formula", "ms to evaluate it in 128 worlds"),
        "worlds": ("worlds, at d = 32", "ms a training step"),
        "size": ("d, with 128 worlds", "ms a training step"),
    }
    for axes, (kind, (x_label, y_label)) in zip(panels, titles.items(), strict=True):
        times = growth[kind]
        for engine, style in zip(ENGINES, ("s--", "o-"), strict=True):
            axes.plot(list(times), [t[engine] for t in times.values()], style, label=engine)
        axes.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
        axes.set_xticks(list(times), map(str, times))
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    panels[0].legend()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "engines.png", dpi=130)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    if native.engine() != "native":
        raise SystemExit("the kernel is not built here")
    torch.set_num_threads(1)
    results = measure()
    recorded = {"command": "python benchmarks/engines.py", **results}
    RESULTS.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    draw(results["growth"])
    print(table(results))
    replace_part("models.md", "engines", table(results))
    us = results["evaluation_us"]
    sharing = (
        f"In a world and all that differ from it in one variable (pairs of the massive kind), an "
        f"evaluation takes {us['shared']:.1f} µs where worlds share vectors, {us['alone']:.1f} µs "
        f"where they do not: {us['alone'] / us['shared']:.1f} times as long."
    )
    print(sharing)
    replace_part("models.md", "sharing", sharing)


if __name__ == "__main__":
    main()
