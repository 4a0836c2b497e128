"""Put a finished `possibleworlds reproduce --preset paper` on record, and ship what it selected.

    .venv/bin/possibleworlds reproduce --preset paper --budget 3h --out out/paper --test PUBLISHED
    .venv/bin/python benchmarks/record.py --out out/paper

Writes results/paper.json, the tables of README.md and docs/results.md, what stands out in them, and
the pretrained benchmark networks in src/: of the seeds of the selected settings the best on our
validation data (experiments/selection.py). The networks with worlds are shipped by headline.py.
Without --out only the tables are written, from what is on record.
"""

import argparse
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from possibleworlds.experiments.grid import SEEDS
from possibleworlds.experiments.reproduce import REQUEST
from possibleworlds.experiments.sweep import read_sweep
from possibleworlds.training.checkpoint import SHIPPED, copy_trained, read_run
from possibleworlds.training.evaluations import read_evaluations

RESULTS = Path(__file__).parent.parent / "results" / "paper.json"
KEPT = ("command", "note", "version", "results", "permutation", "one_sided", "worlds", "repeat")
"""What is kept of a report; its figures and the description of the data can be made again."""
LENGTH = ("epochs=", "evaluations=", "minutes=")
FAR = 0.05
"""What is far past the paper, as a share of all rows."""
SETS = ("validate", "test_easy", "test_hard", "test_big", "test_massive", "test_exam")


def put_on_record(out: Path, commit: str) -> None:
    """Keep the numbers of a report, each run with its settings, seed and time."""
    report = json.loads((out / "report" / "report.json").read_text(encoding="utf-8"))
    if not all(
        len(row["seeds"]) == SEEDS and len(row["accuracy"]) == 2 for row in report["results"]
    ):
        sys.exit("not every network has three seeds, evaluated on our sets and the published ones")
    for run in report["repeat"]:
        run["run"] = str(Path(run["run"]).relative_to(out.resolve()))
    kept = {"commit": commit, **{name: report[name] for name in KEPT}}
    text = json.dumps(kept, indent=1).replace(str(out.resolve()), "paper")
    for folder in json.loads((out / REQUEST).read_text(encoding="utf-8"))["tests"]:
        text = text.replace(folder, "PUBLISHED")
    RESULTS.write_text(text + "\n", encoding="utf-8")


def ship(out: Path) -> None:
    """Make the best seed of each searched network the pretrained one."""
    for model, network in read_sweep(out / "sweep").networks.items():
        if network.selection:
            best = out / "sweep" / "trials" / network.selection.trial
            copy_trained(best, SHIPPED / model, accuracies(best))


def accuracies(run: Path) -> dict[str, dict[str, float]]:
    """How often a run is right on each of our sets and of the published ones."""
    accuracy: dict[str, dict[str, float]] = {"published": {}, "generated": {}}
    for key, found in read_evaluations(run).items():
        folder, _, split = key.partition("/")
        whose = "generated" if folder == "data" else "published"
        accuracy[whose][split] = round(found["accuracy"], 4)
    return accuracy


def table(record: dict[str, Any]) -> str:
    """Accuracies of the pretrained networks, on published sets if any, and the paper's."""
    lines = [
        "| | " + " | ".join(name.removeprefix("test_") for name in SETS) + " | parameters |",
        "| --- |" + " ---: |" * (len(SETS) + 1),
    ]
    for row in record["results"]:
        sources = sorted(row["accuracy"], key=lambda source: source != "data")
        best = row["seeds"].index(read_run(SHIPPED / row["model"]).seed)
        own = {s: v["values"][best] for w in sources for s, v in row["accuracy"][w].items()}
        paper = row["paper"] or {}
        cells = [
            f"{100 * own[s]:.1f}" + (f" ({100 * paper[s]:.1f})" if s in paper else "") for s in SETS
        ]
        lines.append(f"| {row['model']} | {' | '.join(cells)} | {row['parameters']:,} |")
        if row["model"].endswith("worldnet"):
            lines.append(random_rows(row["model"]))
    return "\n".join(lines)


def random_rows(model: str) -> str:
    """What as many random rows of the truth table would do as a network evaluates worlds."""
    stored = json.loads((RESULTS.parent / f"{model}.json").read_text(encoding="utf-8"))
    found = {s: one for sets in stored["seeds"][0]["own"].values() for s, one in sets.items()}
    cells = " | ".join(f"*{100 * found[s]['sampling']:.1f}*" for s in SETS)
    return f"| *{found['validate']['evaluations']:,} random rows* | {cells} | |"


def published(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What a row says of the published sets."""
    (found,) = (sets for whose, sets in row["accuracy"].items() if whose != "data")
    return dict(found)


def findings(record: dict[str, Any]) -> str:
    """What stands out: against the paper on its own sets, among seeds, and of permutation."""
    ahead: dict[str, dict[str, float]] = {}
    means, other_seed = {}, {}
    for row in record["results"]:
        if not row["paper"]:
            continue
        model, sets = row["model"], published(row)
        best = row["seeds"].index(read_run(SHIPPED / model).seed)
        ahead[model] = {s: sets[s]["values"][best] - row["paper"][s] for s in SETS if s in sets}
        means[model] = sets["validate"]["mean"] - row["paper"]["validate"]
        ours = row["validation"]["values"]
        preferred = sets["validate"]["values"][ours.index(max(ours))]
        other_seed[model] = preferred - row["paper"]["validate"]
    everywhere = [model for model, gains in ahead.items() if min(gains.values()) > 0]
    behind = {model: gains["validate"] for model, gains in ahead.items() if gains["validate"] < 0}
    far = {
        f"{model} {split.removeprefix('test_')}": gain
        for model, gains in ahead.items()
        for split, gain in gains.items()
        if gain >= FAR
    }
    permuted = {row["model"]: row["gain"] for row in record["permutation"]}
    return "\n".join(
        [
            f"- Past the paper on every published set: {', '.join(everywhere)}.",
            f"- Below it on the published validation set, in points: {listed(behind)}.",
            f"- Past it by {100 * FAR:.0f} points and more: {listed(far)}.",
            "- The mean of the three seeds, more than 2 points below the paper on that set: "
            f"{listed({m: gap for m, gap in means.items() if gap < -0.02})}.",
            "- The seed that our own validation data prefer, more than 2 points below: "
            f"{listed({m: gap for m, gap in other_seed.items() if gap < -0.02})}.",
            f"- Gained by symbol permutation on our validation data: {listed(permuted)}.",
        ]
    )


def listed(points: dict[str, float]) -> str:
    """Names with differences in points, largest first."""
    ordered = sorted(points.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * gain:+.1f}" for name, gain in ordered) or "none"


def details(record: dict[str, Any]) -> str:
    """What was selected, and how it went, a line for each network."""
    lines = [
        "| network | settings other than the defaults | our validation, each seed "
        "| published, each seed | a run, min |",
        "| --- | --- | --- | --- | ---: |",
    ]
    for row in record["results"]:
        # The command of a run names what is not a default: --set name=value ... --seed n.
        commands = [run["command"] for run in record["repeat"] if is_of(run, row)]
        given = [word for before, word in pairwise(commands[0].split()) if before == "--set"]
        listed = ", ".join(f"`{word}`" for word in given if not word.startswith(LENGTH)) or "none"
        each = [
            ", ".join(f"{100 * value:.1f}" for value in found["values"])
            for found in (row["validation"], published(row)["validate"])
        ]
        minutes = row["seconds"]["mean"] / 60
        lines.append(f"| {row['model']} | {listed} | {each[0]} | {each[1]} | {minutes:.1f} |")
    return "\n".join(lines)


def is_of(run: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether a run is one of those whose mean a row gives."""
    same = run["metrics"]["validation"] in row["validation"]["values"]
    return run["model"] == row["model"] and run["seed"] in row["seeds"] and same


def main() -> None:
    from pages import commit, replace_part  # beside this file, where it is run as a program

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit", help="of the runs; else that of the working tree")
    arguments = parser.parse_args()
    if arguments.out:
        put_on_record(arguments.out, arguments.commit or commit())
        ship(arguments.out)
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    replace_part("../README.md", "results", table(record))
    replace_part("results.md", "findings", findings(record))
    replace_part("results.md", "details", details(record))


if __name__ == "__main__":
    main()
