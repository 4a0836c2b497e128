"""Train the paper's PossibleWorldNet and the guided one, three seeds each, and ship the best.

    POSSIBLEWORLDS_OFFICIAL_DATA=FOLDER .venv/bin/python benchmarks/headline.py --out out/headline

FOLDER has the published sets, against which the training data are pruned. A finished run is not
repeated, nor is an evaluation: on the published sets, and on generated ones of the massive and the
exam kind. The seed that is best on generated validation data gives certified answers as well and
becomes the pretrained network. Writes results/NAME.json, the checkpoints in src/ and the tables
of docs/guided-worlds.md.
"""

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from pages import FIGURES, replace_part
from train_record import command, generate

from possibleworlds.data.files import data_files, read, read_pairs
from possibleworlds.logic.truth import sample_refuting_bits
from possibleworlds.models import Model, Options
from possibleworlds.paper import TABLE_2
from possibleworlds.storage import write_json
from possibleworlds.training.batches import Dataset
from possibleworlds.training.certificate import PATIENCE, certify, views, with_worlds
from possibleworlds.training.checkpoint import SHIPPED, copy_trained, load_model, read_run

RESULTS = Path(__file__).parent.parent / "results"
SEEDS = (0, 1, 2)
SETS = ("validate", "test_easy", "test_hard", "test_big", "test_massive", "test_exam")
TRAINING = {
    "possibleworldnet": ("paper", ["--epochs", "6", "--set", "worlds=256"]),
    "guidedworldnet": ("wide", ["--epochs", "12"]),
}
"""For each network its training data and how it differs from its defaults."""


def train(name: str, seed: int, out: Path) -> Path:
    """Train a network unless that is done."""
    data, options = TRAINING[name]
    run = out / f"{name}-{seed}"
    folders = ["--data", str(out / data), "--out", str(run), "--resume"]
    command("train", name, *folders, "--seed", str(seed), *options)
    return run


def sampled(file: Path, rows: int) -> float:
    """The accuracy of answering by so many random rows of the truth table."""
    rng, right, total = Random(0), 0, 0
    for pair in read_pairs(file):
        refuted = bool(sample_refuting_bits(rng, pair.a, pair.b, rows))
        right += refuted != pair.label
        total += 1
    return right / total


def gradient_search(model: Model) -> Options:
    """Options for gradient steps alone, without tabu search."""
    return Options(steps=model.settings.steps) if model.has_steps else Options()


def n_evaluations(model: Model) -> int:
    """The number of worlds that a pair is evaluated in by that search."""
    return with_worlds(model).n_worlds() * ((gradient_search(model).steps or 0) + 1)


def own_answers(model: Model, file: Path) -> dict[str, float]:
    """What a network says of a file, and which worlds make it say so."""
    data = Dataset(read(file))
    start = time.process_time()
    row_views = views(model, data, options=gradient_search(model))
    seconds = time.process_time() - start
    visits = n_evaluations(model)
    entailed = [view for view, label in zip(row_views, data.pairs.label, strict=True) if label]
    others = [view for view, label in zip(row_views, data.pairs.label, strict=True) if not label]
    fooled = sum(view.probability <= 0.5 for view in entailed)
    missed = sum(view.probability > 0.5 for view in others)
    return {
        "rows": len(row_views),
        "accuracy": 1 - (fooled + missed) / len(row_views),
        "false_refutations": fooled / max(1, len(entailed)),
        "missed_countermodels": missed / max(1, len(others)),
        "best_world_is_countermodel": sum(view.refutes for view in others) / max(1, len(others)),
        "evaluations": visits,
        "sampling": sampled(file, visits),
        "cpu_seconds": round(seconds, 1),
    }


def certified_answers(model: Model, file: Path) -> dict[str, float]:
    """What a network says of a file where it needs a checked countermodel to say no."""
    data = Dataset(read(file))
    start = time.process_time()
    answers = [
        countermodel is None
        for countermodel in certify(model, data, options=gradient_search(model))
    ]
    seconds = time.process_time() - start
    visits = PATIENCE * n_evaluations(model)
    right = sum(a == bool(y) for a, y in zip(answers, data.pairs.label, strict=True))
    return {
        "accuracy": right / len(data),
        "evaluations": visits,
        "sampling": sampled(file, visits),
        "cpu_seconds": round(seconds, 1),
    }


def measured(kind: str, run: Path, whose: str, file: Path) -> dict[str, float]:
    """Own or certified answers to a file, unless they are on record."""
    torch.set_num_threads(1)
    kept = run / f"{kind}-{whose}-{file.stem}.json"
    if not kept.exists():
        answer = {"own": own_answers, "certified": certified_answers}[kind](load_model(run), file)
        write_json(kept, answer)
    answers: dict[str, float] = json.loads(kept.read_text(encoding="utf-8"))
    return answers


def record(
    name: str, runs: list[Path], files: list[tuple[str, Path]], pool: ProcessPoolExecutor
) -> dict[str, Any]:
    """Evaluate the runs of a network, and ship the one that is best on validation."""
    best = max(runs, key=lambda run: read_run(run).metrics.validation)
    jobs = [("own", run, *file) for run in runs for file in files]
    jobs += [("certified", best, *file) for file in files]
    answers = dict(zip(jobs, pool.map(measured, *zip(*jobs, strict=True)), strict=True))

    def by_set(kind: str, run: Path) -> dict[str, dict[str, Any]]:
        results: dict[str, dict[str, Any]] = {}
        for whose, file in files:
            results.setdefault(whose, {})[file.stem] = answers[kind, run, whose, file]
        return results

    seeds = [{"run": read_run(run).to_json(), "own": by_set("own", run)} for run in runs]
    own = seeds[runs.index(best)]["own"]
    accuracy = {w: {s: round(one["accuracy"], 4) for s, one in own[w].items()} for w in own}
    copy_trained(best, SHIPPED / name, accuracy)
    figures = {
        "seeds": seeds,
        "best_seed": read_run(best).seed,
        "certified": by_set("certified", best),
    }
    write_json(RESULTS / f"{name}.json", figures)
    return figures


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def figures_table(networks: dict[str, Any]) -> str:
    """Own and certified answers of every shipped network beside random rows and the paper."""
    lines = ["| | | " + " | ".join(SETS) + " |", "| --- | --- |" + " ---: |" * len(SETS)]

    def line(first: str, second: str, values: list[float | None]) -> None:
        lines.append(f"| {first} | {second} | " + " | ".join(map(percent, values)) + " |")

    for name, one in networks.items():
        paper = tuple(TABLE_2.get(name, {}).values())
        if paper:
            line("the paper's", "", [value / 100 for value in paper])
        for seed in one["seeds"]:
            number = seed["run"]["seed"]
            chosen = ", pretrained" if number == one["best_seed"] else ""
            for whose, sets in seed["own"].items():
                shown = f"{name}, seed {number}{chosen}"
                line(shown, whose, [sets.get(s, {}).get("accuracy") for s in SETS])
        best = next(s["own"] for s in one["seeds"] if s["run"]["seed"] == one["best_seed"])
        for whose, sets in best.items():
            visits = next(iter(sets.values()))["evaluations"]
            values = [sets.get(s, {}).get("sampling") for s in SETS]
            line(f"{visits:,} random rows", whose, values)
        for whose, sets in one["certified"].items():
            visits = next(iter(sets.values()))["evaluations"]
            line(f"{name}, certified", whose, [sets.get(s, {}).get("accuracy") for s in SETS])
            values = [sets.get(s, {}).get("sampling") for s in SETS]
            line(f"{visits:,} random rows", whose, values)
    return "\n".join(lines)


def draw_reasons(networks: dict[str, Any]) -> None:
    """How the pretrained guided network comes to its answers, set by set."""
    one = networks["guidedworldnet"]
    own = next(s["own"] for s in one["seeds"] if s["run"]["seed"] == one["best_seed"])
    sets = [(whose, stem) for whose in own for stem in SETS if stem in own[whose]]
    names = [f"{stem.removeprefix('test_')}\n{whose}" for whose, stem in sets]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    right_reason = [100 * own[w][s]["best_world_is_countermodel"] for w, s in sets]
    left.plot(names, right_reason, "o", color="#009E73")
    for name, value in zip(names, right_reason, strict=True):
        left.annotate(
            f"{value:.1f}", (name, value), (0, 6), textcoords="offset points", ha="center"
        )
    left.set(ylim=(90, 101), ylabel="%", title="non-entailments whose best world is a countermodel")
    left.margins(x=0.08)
    places = np.arange(len(sets))
    kinds = (("false_refutations", "false refutations", "#D55E00"),)
    kinds += (("missed_countermodels", "missed countermodels", "#0072B2"),)
    for i, (key, label, colour) in enumerate(kinds):
        values = [100 * own[w][s][key] for w, s in sets]
        bars = right.bar(places + 0.4 * i - 0.2, values, 0.4, label=label, color=colour)
        right.bar_label(bars, fmt="%.1f", fontsize="small")
    right.set_xticks(places, names)
    right.set(ylabel="%", title="errors")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.tick_params(axis="x", labelsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FIGURES / "reasons.png", dpi=130)


def reasons_table(networks: dict[str, Any]) -> str:
    """How the pretrained networks come to their answers."""
    lines = [
        "| network | set | false refutations | missed countermodels "
        "| best world is a countermodel | CPU ms a pair |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, one in networks.items():
        best = next(s["own"] for s in one["seeds"] if s["run"]["seed"] == one["best_seed"])
        for whose, sets in best.items():
            for stem in SETS:
                if stem in sets:
                    it = sets[stem]
                    shares = [
                        percent(it[key])
                        for key in (
                            "false_refutations",
                            "missed_countermodels",
                            "best_world_is_countermodel",
                        )
                    ]
                    cost = f"{1000 * it['cpu_seconds'] / it['rows']:.1f}"
                    cells = [name, f"{whose} {stem}", *shares, cost]
                    lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/headline"))
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    out = arguments.out
    published = data_files([Path(os.environ["POSSIBLEWORLDS_OFFICIAL_DATA"])])
    generate(out, published)
    jobs = [(name, seed) for name in TRAINING for seed in SEEDS]
    with ThreadPoolExecutor(arguments.processes) as pool:
        runs = dict(zip(jobs, pool.map(lambda job: train(*job, out), jobs), strict=True))
    files = [("published", file) for file in published]
    files += [("generated", out / "paper" / f"{stem}.txt") for stem in SETS[4:]]
    with ProcessPoolExecutor(arguments.processes) as workers:
        networks = {
            name: record(name, [runs[name, s] for s in SEEDS], files, workers) for name in TRAINING
        }
    replace_part("guided-worlds.md", "figures", figures_table(networks))
    replace_part("guided-worlds.md", "reasons", reasons_table(networks))
    draw_reasons(networks)


if __name__ == "__main__":
    main()
