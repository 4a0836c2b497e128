"""Train every network of the paper for a short, equal time, and tabulate what each has learnt.

    .venv/bin/python benchmarks/first_figures.py --minutes 5 --processes 2 --out out/first

One core and one seed for each; a finished run is not repeated. With POSSIBLEWORLDS_OFFICIAL_DATA
naming the published sets, training data are pruned against them and they are evaluated as well.
Writes results/first.json, and with it the tables of docs/models.md.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from headline import sampled
from pages import replace_part

from possibleworlds.data.files import data_files
from possibleworlds.data.splits import read_manifest
from possibleworlds.paper import TABLE_2
from possibleworlds.training.checkpoint import read_run

RESULTS = Path(__file__).parent.parent / "results" / "first.json"
SPLITS = ("validate", "test_easy", "test_hard", "test_big", "test_massive", "test_exam")
ONE_SIDED = ("linear-bow", "mlp-bow", "treenet")


def command(*arguments: str) -> str:
    """Run possibleworlds; what it prints."""
    full = [sys.executable, "-m", "possibleworlds", *arguments]
    return subprocess.run(full, check=True, stdout=subprocess.PIPE, text=True).stdout


def generate(folder: Path, *options: str) -> None:
    """Generate data, pruned against the published sets where they are."""
    published = os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA")
    against = data_files([Path(published)]) if published else []
    prune = [word for path in against for word in ("--prune-against", str(path))]
    command("generate", str(folder), *options, *prune)


def train(name: str, data: Path, out: Path, *options: str) -> dict[str, Any]:
    """Train a network unless that is done; what its run says."""
    command("train", name, "--data", str(data), "--out", str(out), "--resume", *options)
    return read_run(out).to_json()


def accuracies(run: Path, folder: Path) -> dict[str, float]:
    """The accuracy of a run on the files of a folder, but not on its training data."""
    files = [str(file) for file in data_files([folder]) if file.stem != "train"]
    lines = map(json.loads, command("evaluate", str(run), *files, "--json").splitlines())
    return {Path(line["file"]).stem: line["accuracy"] for line in lines}


def first_figures(name: str, out: Path, minutes: float) -> dict[str, Any]:
    """Train a network of the paper, and evaluate it on all there is, unless that is done."""
    run = train(name, out / "data", out / name, "--minutes", str(minutes))
    kept = out / name / "figures.json"
    if not kept.exists():
        measured = {"run": run, "ours": accuracies(out / name, out / "data")}
        if published := os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA"):
            measured["published"] = accuracies(out / name, Path(published))
        if "worlds" in run["settings"]:
            measured["as_many_rows"] = as_many_rows(run, out)
        kept.write_text(json.dumps(measured), encoding="utf-8")
    figures: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return figures


def one_sided(name: str, side: str, out: Path) -> dict[str, dict[str, Any]]:
    """The accuracy on test (easy) of a network that sees one side, by the method of the data."""
    by_method = {}
    for method, data in (("4-tuples", out / "data"), ("naive", out / "naive")):
        run = out / f"{name}-{side}-{method}"
        trained = train(name, data, run, "--minutes", "0.5", "--side", side)
        line = command("evaluate", str(run), str(data / "test_easy.txt"), "--json")
        by_method[method] = {"accuracy": json.loads(line)["accuracy"], "run": trained}
    return by_method


def as_many_rows(run: dict[str, Any], out: Path) -> dict[str, dict[str, float]]:
    """What random rows of the truth table give, as many as a network has worlds."""
    folders = {"ours": out / "data"}
    if published := os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA"):
        folders["published"] = Path(published)
    n = run["settings"]["worlds"]
    return {
        whose: {f.stem: sampled(f, n) for f in data_files([folder]) if f.stem != "train"}
        for whose, folder in folders.items()
    }


def cells_of(accuracy: dict[str, float]) -> list[str]:
    return [f"{100 * accuracy[split]:.1f}" if split in accuracy else "" for split in SPLITS]


def table(figures: dict[str, Any]) -> str:
    """A line for each network: ours on ours, ours on the published sets, the paper's."""
    lines = [
        "| network | | " + " | ".join(SPLITS) + " | parameters | pairs/s |",
        "| --- | --- |" + " ---: |" * (len(SPLITS) + 2),
    ]
    for name, measured in figures["networks"].items():
        metrics = measured["run"]["metrics"]
        last = [f"{metrics['parameters']:,}", f"{metrics['pairs_per_second']:,.0f}"]
        for whose in ("ours", "published"):
            if whose in measured:
                shown = name if whose == "ours" else ""
                cells = [shown, f"on {whose}", *cells_of(measured[whose]), *last]
                lines.append("| " + " | ".join(cells) + " |")
                last = ["", ""]
        paper = tuple(TABLE_2.get(name, {}).values())
        if paper:
            cells = [f"{accuracy:.1f}" for accuracy in paper]
            lines.append("| | *paper* | " + " | ".join([*(f"*{c}*" for c in cells), *last]) + " |")
        for whose, accuracy in measured.get("as_many_rows", {}).items():
            first = f"{measured['run']['settings']['worlds']} random rows of the truth table"
            cells = [first, f"on {whose}", *cells_of(accuracy), *last]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def one_sided_table(figures: dict[str, Any]) -> str:
    """A line for each network and side."""
    lines = ["| network | sees | 4-tuples | naive |", "| --- | --- | ---: | ---: |"]
    for key, by_method in figures["one_sided"].items():
        name, side = key.split("/")
        tuples, naive = (by_method[method]["accuracy"] for method in ("4-tuples", "naive"))
        lines.append(f"| {name} | {side} | {tuples:.1%} | {naive:.1%} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/first"))
    arguments = parser.parse_args()
    out, minutes, processes = arguments.out, arguments.minutes, arguments.processes
    generate(out / "data")
    generate(out / "naive", "--method", "naive")
    names = list(TABLE_2)
    sides = [(name, side) for name in ONE_SIDED for side in ("left", "right")]
    with ThreadPoolExecutor(processes) as pool:
        networks = pool.map(lambda name: first_figures(name, out, minutes), names)
        checks = pool.map(lambda check: one_sided(*check, out), sides)
        figures = {
            "command": "python benchmarks/first_figures.py "
            f"--minutes {minutes:g} --processes {processes}",
            "data": read_manifest(out / "data")["splits"],
            "networks": dict(zip(names, networks, strict=True)),
            "one_sided": {f"{n}/{s}": f for (n, s), f in zip(sides, checks, strict=True)},
        }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    replace_part("models.md", "figures", table(figures))
    replace_part("models.md", "one-sided", one_sided_table(figures))


if __name__ == "__main__":
    main()
