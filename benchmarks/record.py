"""Put the runs of train_record.py on record, and ship the seeds that are best on validation.

    python benchmarks/record.py --out OUT --published PUBLISHED   # OUT as of train_record.py
    python benchmarks/record.py --out OUT --published PUBLISHED --evaluate guidedworldnet
    python benchmarks/record.py                                   # only the tables

With --evaluate, a pretrained network is evaluated again, as after a change of its search, with the
present default as its budget. Writes results/record.json, the tables of README.md and
docs/results.md, the figure of accuracy against the length of training, and the pretrained networks
in src/. Seeds are added as they finish.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from possibleworlds import load
from possibleworlds.data.files import read
from possibleworlds.experiments.selection import rank_seeds
from possibleworlds.models.registry import entries
from possibleworlds.paper import SPLITS, TABLE_2
from possibleworlds.storage import read_json, write_json
from possibleworlds.training.checkpoint import (
    SHIPPED,
    copy_trained,
    read_history,
    read_run,
)
from possibleworlds.training.evaluations import read_evaluations, split_key

RESULTS = Path(__file__).parent.parent / "results"
RECORD = RESULTS / "record.json"
RANDOM_ROWS = (256, 4096)
"""How many random rows of the truth table stand beside the networks."""
NAMES = {
    "possibleworldnet-uniform": "possibleworldnet, uniform worlds, as in the paper",
    "guidedworldnet-uniform": "guidedworldnet, uniform worlds",
    "modern-transformer-rotary": "modern-transformer, rotary instead of tree positions",
    "modern-transformer-paper": "modern-transformer, on the paper's 100,000 rows",
    "modern-transformer": "modern-transformer, on 1,000,000 rows",
}
"""How rows are called that are not called like their network."""


def describe_run(run: Path) -> dict[str, Any]:
    """Describe a finished run: its settings, its learning curve, and its accuracies."""
    record = read_run(run)
    assert record.metrics is not None
    accuracy: dict[str, dict[str, float]] = {"published": {}, "generated": {}}
    for key, evaluation in read_evaluations(run).items():
        file, worlds = split_key(key)
        if worlds:  # another number than in training
            continue
        folder, _, split = file.partition("/")
        if file == "paper/test_exam":  # of which some is pruned
            continue
        whose = "generated" if folder in ("paper", "exam") else "published"
        accuracy[whose][split] = round(evaluation["accuracy"], 6)
    history = read_history(run, record)
    curve = [(line.step, line.validation) for line in history]
    return {
        "validation": record.metrics.validation,
        "best_step": record.metrics.best_step,
        "seconds": round(history[-1].seconds, 1),
        "engine": record.engine,
        "torch": record.torch,
        "curve": curve,
        "accuracy": accuracy,
    }


def put_on_record(out: Path, published: Path) -> None:
    """Add the seeds that are finished, and ship the best seed on record of each row."""
    from baselines import random_rows
    from train_record import ROWS, seeds_on_record

    rows = read_json(RECORD).get("rows", {})
    for name, row in ROWS.items():
        runs = {str(seed): out / "runs" / f"{name}-{seed}" for seed in row.seeds}
        done = {seed: run for seed, run in runs.items() if is_done(run, row.epochs)}
        seeds = seeds_on_record(rows, name)
        if not done or (name in rows and len({*seeds, *done}) < len(rows[name]["seeds"])):
            continue  # nothing to add, or fewer seeds than a shorter training has
        if name in rows and not seeds:
            old = {**rows[name], "pretrained_seed": None}  # it no longer ships
            rows |= {n: old for n, r in ROWS.items() if r.command == old["command"]}
        for seed, run in done.items():
            commit = run.with_suffix(".commit").read_text(encoding="utf-8").strip()
            seeds[seed] = {"commit": commit, **describe_run(run)}
        best = rank_seeds({seed: seeds[seed]["validation"] for seed in sorted(seeds)})[0]
        first = read_run(next(iter(done.values())))
        rows[name] = {
            "model": row.model,
            "command": row.command,
            "version": first.version,
            "settings": first.flat_settings,
            "parameters": first.metrics.parameters if first.metrics else None,
            "pretrained_seed": int(best) if name == row.model else None,
            "seeds": dict(sorted(seeds.items())),
        }
        if name == row.model and best in done:
            copy_trained(done[best], SHIPPED / name, seeds[best]["accuracy"])
    published_sets = {split: read(published / f"{split}.txt") for split in SPLITS}
    by_count = {
        str(count): {s: round(random_rows(pairs, count), 4) for s, pairs in published_sets.items()}
        for count in RANDOM_ROWS
    }
    write_json(RECORD, {"rows": rows, "random_rows": by_count})


def evaluate_again(name: str, out: Path, published: Path) -> None:
    """Evaluate a pretrained network as it is now, and put its accuracies on record."""
    import torch
    from pages import commit
    from train_record import own_files

    from possibleworlds.models.guidedworldnet import GuidedWorldNetSettings

    torch.set_num_threads(1)
    run = read_run(SHIPPED / name)
    if "search_evaluations" in run.settings:
        run.settings["search_evaluations"] = GuidedWorldNetSettings.search_evaluations
        run.write(SHIPPED / name)
    network, record = load(name), read_json(RECORD)
    accuracy = {
        "published": {
            split: network.evaluate(read(published / f"{split}.txt")) for split in SPLITS
        },
        "generated": {file.stem: network.evaluate(read(file)) for file in own_files(out)},
    }
    rounded = {
        whose: {split: round(one.accuracy, 6) for split, one in evaluations.items()}
        for whose, evaluations in accuracy.items()
    }
    seed = str(record["rows"][name]["pretrained_seed"])
    record["rows"][name]["seeds"][seed] |= {"accuracy": rounded, "evaluated": commit()}
    record["rows"][name]["settings"] = run.flat_settings
    write_json(RECORD, record)
    replace(run, accuracy=rounded).write(SHIPPED / name)


def is_done(run: Path, epochs: float) -> bool:
    """Whether a run of this length is finished, and evaluated on all published sets and ours."""
    if not (run / "run.json").exists():
        return False
    record = read_run(run)
    if not record.finished or record.flat_settings["epochs"] != epochs:
        return False
    keys = [split_key(key)[0] for key in read_evaluations(run)]
    return "exam/test_exam" in keys and len(keys) >= 2 * len(SPLITS)


def accuracies(row: dict[str, Any], split: str, whose: str = "published") -> list[float]:
    """The accuracies of the seeds of a row on a set, in percent."""
    return [100 * one["accuracy"][whose][split] for one in row["seeds"].values()]


def with_spread(values: list[float]) -> str:
    """Format a mean and, of several seeds, the standard deviation."""
    return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def paper_figures(name: str, model: str, rows: dict[str, Any]) -> dict[str, float]:
    """The figures of the paper that a network comes from; PossibleWorldNet's stand once."""
    if name == "possibleworldnet" and "possibleworldnet-uniform" in rows:
        return {}
    return entries()[model].published


def table(rows: dict[str, Any]) -> str:
    """Format README's table: means over seeds on the published sets, the paper's in brackets."""
    lines = [
        "| | " + " | ".join(split.removeprefix("test_") for split in SPLITS) + " | parameters |",
        "| --- |" + " ---: |" * (len(SPLITS) + 1),
    ]
    for name in order(rows):
        if is_shorter(name, rows):
            continue
        row = rows[name]
        paper = paper_figures(name, row["model"], rows)
        values = {split: with_spread(accuracies(row, split)) for split in SPLITS}
        cells = [values[s] + (f" ({paper[s]:.1f})" if s in paper else "") for s in SPLITS]
        lines.append(f"| {NAMES.get(name, name)} | {' | '.join(cells)} | {row['parameters']:,} |")
    for count, accuracy in read_json(RECORD)["random_rows"].items():
        cells = [f"*{100 * accuracy[split]:.1f}*" for split in SPLITS]
        lines.append(f"| *{int(count):,} random rows¹* | {' | '.join(cells)} | |")
    return "\n".join(lines)


def is_shorter(name: str, rows: dict[str, Any]) -> bool:
    """Whether the network of a row was trained again for longer."""
    model, _, epochs = name.rpartition("-")
    return epochs.replace(".", "").isdecimal() and model in rows


def order(rows: dict[str, Any]) -> list[str]:
    """List the names of rows: the paper's networks first, then by accuracy on validation."""
    papers = {name: float(i) for i, name in enumerate(TABLE_2)}
    papers |= {"possibleworldnet-uniform": 9.5}

    def key(name: str) -> tuple[float, float]:
        place = papers.get(rows[name]["model"] if is_shorter(name, rows) else name, len(papers))
        return place, mean(accuracies(rows[name], "validate"))

    return sorted(rows, key=key)


def details(rows: dict[str, Any]) -> str:
    """Format docs/results.md's table: how each row was trained, and every seed."""
    lines = [
        "| network | training | our validation, each seed | published validation, each seed "
        "| rise over the last third | minutes a seed |",
        "| --- | --- | --- | --- | ---: | ---: |",
    ]
    for name in order(rows):
        row = rows[name]
        chosen = row["pretrained_seed"]
        each = {
            whose: ", ".join(
                f"**{value:.2f}**" if int(seed) == chosen else f"{value:.2f}"
                for seed, value in zip(row["seeds"], values, strict=True)
            )
            for whose, values in {
                "ours": [100 * one["validation"] for one in row["seeds"].values()],
                "published": accuracies(row, "validate"),
            }.items()
        }
        rise = mean(100 * last_third(one["curve"]) for one in row["seeds"].values())
        minutes = mean(one["seconds"] for one in row["seeds"].values()) / 60
        options = row["command"].partition("--epochs ")[2]
        epochs, *changed = options.split(" --set ")
        rows_each = " of 1,000,000 rows" if " --data large " in row["command"] else ""
        training = ", ".join([f"{epochs} epochs{rows_each}", *(f"`{word}`" for word in changed)])
        cells = [name, training, each["ours"], each["published"], f"{rise:+.2f}", f"{minutes:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def last_third(curve: list[tuple[int, float]]) -> float:
    """By how much the best validation accuracy rose over the last third of training."""
    end = curve[-1][0]
    before = max((value for step, value in curve if step <= 2 * end / 3), default=0.5)
    return max(value for _, value in curve) - before


def draw_curves(rows: dict[str, Any]) -> None:
    """Draw the validation accuracy against the length of training, a panel for each family."""
    import matplotlib.pyplot as plt
    from pages import FIGURES

    families = {
        "bags, convolution, attention": ("bow", "convnet", "transformer"),
        "recurrent": ("lstm", "bilstm", "traversal"),
        "trees and graphs": ("treenet", "treelstm", "topdownnet", "graphnet"),
        "worlds": ("worldnet",),
    }
    panels: dict[str, list[str]] = {family: [] for family in families}
    for name in order(rows):
        family = [f for f, parts in families.items() if any(part in name for part in parts)][-1]
        panels["trees and graphs" if "treelstm" in name else family].append(name)
    if not all(panels.values()):
        return  # too early
    figure, axes = plt.subplots(1, 4, figsize=(12, 4.6), sharey=True, layout="constrained")
    for axis, (family, names) in zip(axes, panels.items(), strict=True):
        for name in sorted(names, key=lambda name: -rows[name]["seeds"]["0"]["curve"][-1][1]):
            row = rows[name]
            curves = [one["curve"] for one in row["seeds"].values()]
            epochs = [step * row["settings"]["batch_size"] / 100_000 for step, _ in curves[0]]
            values = [100 * mean(curve[i][1] for curve in curves) for i in range(len(curves[0]))]
            axis.plot(epochs, values, "o-", markersize=2.5, linewidth=1.2, label=name)
        axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.16))
        axis.set(title=family, xlabel="epochs of 100,000 rows", xscale="log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("our validation data, % right")
    figure.savefig(FIGURES / "training-length.png", dpi=130)


def main() -> None:
    """Put on record what is finished, and write the tables."""
    from pages import replace_part  # beside this file, where it is run as a program

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--published", type=Path)
    parser.add_argument("--evaluate", metavar="NETWORK")
    arguments = parser.parse_args()
    if arguments.evaluate:
        evaluate_again(arguments.evaluate, arguments.out, arguments.published)
    elif arguments.out:
        put_on_record(arguments.out, arguments.published)
    rows = on_record()
    replace_part("../README.md", "results", table(rows))
    replace_part("results.md", "details", details(rows))
    if rows:
        draw_curves(rows)


def on_record() -> dict[str, Any]:
    """Read the rows on record."""
    rows: dict[str, Any] = read_json(RECORD).get("rows", {})
    return rows


if __name__ == "__main__":
    main()
