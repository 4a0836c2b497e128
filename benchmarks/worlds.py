"""What the number of worlds does (section 5), and what reviewers of the paper wanted to know.

    .venv/bin/python benchmarks/worlds.py --out out/worlds

Short trainings of PossibleWorldNet on the paper's data, one seed and one thread each, all else
equal: the number of worlds; the size of a world; worlds drawn anew or fixed; the prior on worlds.
A finished run is not repeated. Accuracy is on our validation set. Writes results/worlds.json,
the figures and the tables of docs/worlds.md.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from baselines import random_rows
from pages import FIGURES, replace_part

import possibleworlds
from possibleworlds.data.files import read
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import read_run

RESULTS = Path(__file__).parent.parent / "results" / "worlds.json"
WORLDS = (1, 4, 16, 32, 64, 128, 256)
SIZES = (4, 8, 13, 26, 52)
NO_PRIOR = {"variable_prior": 0.0, "binary_worlds": "false"}
Settings = dict[str, Any]


def studies() -> dict[str, dict[str, Settings]]:
    """For each question the settings of the runs that answer it, by what they are called."""
    with_prior, without = "with the prior", "without"
    return {
        "worlds": {str(n): {"worlds": n} for n in WORLDS},
        "size of a world": {
            f"{k}, {name}": {"worlds": 64, "world_size": k, **prior}
            for k in SIZES
            for name, prior in ((with_prior, {}), (without, NO_PRIOR))
        },
        "prior": {
            "binary worlds and variable prior": {"worlds": 64},
            "variable prior only": {"worlds": 64, "binary_worlds": "false"},
            "binary worlds only": {"worlds": 64, "variable_prior": 0.0},
            "neither": {"worlds": 64, **NO_PRIOR},
        },
        "drawing": {
            "anew for each batch": {"worlds": 64},
            "fixed": {"worlds": 64, "fixed_worlds": "true"},
            "anew, without the prior": {"worlds": 64, **NO_PRIOR},
            "fixed, without the prior": {"worlds": 64, "fixed_worlds": "true", **NO_PRIOR},
        },
    }


def train(settings: Settings, epochs: float, out: Path) -> dict[str, Any]:
    """Train with these settings unless that is done; what the run says, and its history."""
    run = out / ("run-" + "-".join(f"{key}={value}" for key, value in sorted(settings.items())))
    command = [sys.executable, "-m", "possibleworlds", "train", "possibleworldnet", "--resume"]
    command += ["--data", str(out / "data"), "--out", str(run), "--epochs", str(epochs)]
    for key, value in {**settings, "evaluations": 12, "validation_rows": 2000}.items():
        command += ["--set", f"{key}={value}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    history = list(map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines()))
    return {"run": read_run(run).to_json(), "history": history}


def by_worlds_evaluated(data: Path) -> dict[str, dict[str, float]]:
    """The accuracy of the pretrained network, and of random rows, by their number."""
    torch.set_num_threads(1)
    network = possibleworlds.load("possibleworldnet")
    pairs = read(data / "validate.txt")
    rows, by_number = Dataset(pairs), {}
    for n in (*WORLDS, 512, 1024):
        right = network.evaluate(rows, worlds=n).accuracy
        by_number[str(n)] = {
            "network": right,
            "sampling": random_rows(pairs, n),
        }
    return by_number


def draw(results: dict[str, Any]) -> None:
    """The two figures."""
    colours = plt.get_cmap("viridis")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for i, (n, run) in enumerate(results["studies"]["worlds"].items()):
        steps = [line["step"] for line in run["history"]]
        errors = [100 * (1 - line["validation"]) for line in run["history"]]
        shade = colours(0.95 * i / (len(WORLDS) - 1))
        left.plot(steps, errors, color=shade, marker=".")
        left.annotate(
            f"{n} world{'s' if i else ''}",
            (steps[-1], errors[-1]),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    left.set(xlabel="training steps", ylabel="validation error, %", yscale="log")
    left.set_yticks([0.3, 1, 3, 10, 30], ["0.3", "1", "3", "10", "30"], minor=False)
    left.minorticks_off()
    left.set_xlim(right=1.24 * steps[-1])
    evaluated = results["by_worlds_evaluated"]
    for name, style in (("network", "o-"), ("sampling", "k:")):
        values = [100 * accuracies[name] for accuracies in evaluated.values()]
        label = "worlds" if name == "network" else "random rows of the truth table"
        right.plot([int(n) for n in evaluated], values, style, label=label)
    right.legend(frameon=False)
    right.set(xlabel="worlds of the evaluation, or rows", xscale="log", ylabel="accuracy, %")
    right.set_xticks([int(n) for n in evaluated], list(evaluated), minor=False)
    right.minorticks_off()
    right.set_title("the pretrained network, trained with 256", fontsize="medium")
    left.set_title("trained and evaluated with as many worlds", fontsize="medium")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "worlds.png", dpi=130)

    figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
    for name, style in (("with the prior", "o-"), ("without", "s--")):
        runs = {k: results["studies"]["size of a world"][f"{k}, {name}"] for k in SIZES}
        values = [100 * run["history"][-1]["validation"] for run in runs.values()]
        axes.plot(list(SIZES), values, style, label=name)
    axes.set(xlabel="k, numbers in a world", ylabel="validation accuracy, %", xscale="log")
    axes.set_xticks(list(SIZES), [str(k) for k in SIZES], minor=False)
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(FIGURES / "world-size.png", dpi=130)


def table(runs: dict[str, Any], first: str, evaluated: dict[str, dict[str, float]]) -> str:
    """A line for each run: accuracy at the end, that of as many random rows, and time."""
    lines = [
        f"| {first} | validation, % | as many random rows, % | training, minutes |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, run in runs.items():
        accuracy = f"{100 * run['history'][-1]['validation']:.1f}"
        rows = f"{100 * evaluated[str(run['run']['settings']['worlds'])]['sampling']:.1f}"
        minutes = f"{run['run']['metrics']['seconds'] / 60:.1f}"
        lines.append(f"| {name} | {accuracy} | {rows} | {minutes} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/worlds"))
    arguments = parser.parse_args()
    out, epochs = arguments.out, arguments.epochs
    command = [sys.executable, "-m", "possibleworlds", "generate", str(out / "data")]
    subprocess.run(command, check=True)
    planned = studies()
    jobs = [settings for runs in planned.values() for settings in runs.values()]
    distinct = {json.dumps(job, sort_keys=True): job for job in jobs}
    with ThreadPoolExecutor(arguments.processes) as pool:
        trained = pool.map(lambda job: train(job, epochs, out), distinct.values())
        by_settings = dict(zip(distinct, trained, strict=True))
    results = {
        "command": f"python benchmarks/worlds.py --epochs {epochs:g}",
        "studies": {
            question: {
                name: by_settings[json.dumps(settings, sort_keys=True)]
                for name, settings in runs.items()
            }
            for question, runs in planned.items()
        },
        "by_worlds_evaluated": by_worlds_evaluated(out / "data"),
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    draw(results)
    for question, runs in results["studies"].items():
        replace_part("worlds.md", question, table(runs, question, results["by_worlds_evaluated"]))


if __name__ == "__main__":
    main()
