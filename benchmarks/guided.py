"""What limits guided worlds: how they are evaluated, and how they are trained.

    .venv/bin/python benchmarks/guided.py --out out/guided

First the pretrained network with other lengths and numbers of steps. Then short trainings
with one seed and one thread each, all else equal. Both are measured on the pairs of cost.py, which
are generated ones of the hard and the massive kind. A finished run or answer is not repeated.
Writes results/guided.json and the tables of docs/guided-worlds.md.
"""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from cost import SEED, SETS
from headline import own_answers
from pages import replace_part
from train_record import command, pruned

from possibleworlds.data.splits import generate_folder
from possibleworlds.models import Model
from possibleworlds.storage import write_json
from possibleworlds.training.checkpoint import SHIPPED, load_model, read_run

RESULTS = Path(__file__).parent.parent / "results" / "guided.json"
DATA = {"wide": "1-10", "wider": "1-20"}
"""The training data, and how many variables their formulas have; operators are as many, or 0."""
EVALUATED = {
    "default: 64 worlds, 24 steps of 0.5": (64, 24, 0.5),
    "steps of 0.125": (64, 24, 0.125),
    "steps of 0.25": (64, 24, 0.25),
    "steps of 1": (64, 24, 1.0),
    "steps of 2": (64, 24, 2.0),
    "320 worlds, 4 steps": (320, 4, 0.5),
    "178 worlds, 8 steps": (178, 8, 0.5),
    "94 worlds, 16 steps": (94, 16, 0.5),
    "32 worlds, 49 steps": (32, 49, 0.5),
}
SHORT = {"epochs": 1.5, "steps": 16, "evaluations": 2, "validation_rows": 500}
BEGUN_WITH = {"unguided_fraction": 0.3, "training_worlds": 32, "training_evaluations": 128}
"""Where the search for a recipe began; what is not here is as it is now."""
TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "initial recipe": ("wide", {}),
    "steps of 0.5, not 1": ("wide", {"training_step_length": 0.5}),
    "steps of 2": ("wide", {"training_step_length": 2.0}),
    "1 to 4 steps, not 1 to 12": ("wide", {"training_steps": 4}),
    "4 to 16 worlds, not 8 to 32": ("wide", {"training_worlds": 16, "training_evaluations": 64}),
    "16 to 64 worlds": ("wide", {"training_worlds": 64, "training_evaluations": 256}),
    "guided from the first step": ("wide", {"unguided_fraction": 0.0}),
    "half of it with random worlds": ("wide", {"unguided_fraction": 0.5}),
    "never guided": ("wide", {"unguided_fraction": 1.0}),
    "d = 64, not 32": ("wide", {"size": 64}),
    "without the prior on worlds": ("wide", {"variable_prior": 0.0, "binary_worlds": "false"}),
    "the recipe: 16 to 64 worlds after half of it": (
        "wide",
        {"unguided_fraction": 0.5, "training_worlds": 64, "training_evaluations": 256},
    ),
    "apart: up to 20 variables and operators": ("wider", {}),
}


def make_data(out: Path) -> None:
    """The sets to measure on, and training data that are pruned against them."""
    generate_folder(out / "tests", list(SETS.values()), SEED)
    tests = [out / "tests" / split.file for split in SETS.values()]
    for name, variables in DATA.items():
        operators = variables.replace("1-", "0-")
        kind = ["--variables", variables, "--operators", operators]
        command("generate", str(out / name), *kind, *pruned(tests))


def evaluated(name: str, _: Path) -> Model:
    """The pretrained network, with another search."""
    worlds, steps, length = EVALUATED[name]
    model = load_model(SHIPPED / "guidedworldnet")
    model.settings = replace(model.settings, worlds=worlds, steps=steps, step_length=length)
    return model


def trained(name: str, out: Path) -> Model:
    """A network that was trained in another way."""
    data, settings = TRAINED[name]
    options = ["--data", str(out / data), "--out", str(out / name), "--resume"]
    for key, value in {**SHORT, **BEGUN_WITH, **settings}.items():
        options += ["--set", f"{key}={value}"]
    command("train", "guidedworldnet", *options)
    return load_model(out / name)


def measured(kind: str, name: str, out: Path) -> dict[str, Any]:
    """What a network says of each set, unless that is on record."""
    torch.set_num_threads(1)
    kept = out / f"{kind}, {name}.json"
    if not kept.exists():
        make: Callable[[str, Path], Model] = {"evaluated": evaluated, "trained": trained}[kind]
        model = make(name, out)
        by_set = {k: own_answers(model, out / "tests" / s.file) for k, s in SETS.items()}
        write_json(kept, {"name": name, "sets": by_set})
    answers: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return answers


def table(networks: list[dict[str, Any]]) -> str:
    """A line for each network: how much is right, and which way it errs."""
    kinds = " | ".join(f"{kind}, % right | false refutations | missed" for kind in SETS)
    lines = [f"| | {kinds} | random rows, % right |", "| --- |" + " ---: |" * 7]
    keys = ("accuracy", "false_refutations", "missed_countermodels")
    for one in networks:
        cells = [f"{100 * answers[key]:.1f}" for answers in one["sets"].values() for key in keys]
        rows = " / ".join(f"{100 * answers['sampling']:.1f}" for answers in one["sets"].values())
        lines.append(f"| {one['name']} | " + " | ".join([*cells, rows]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/guided"))
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    out = arguments.out
    make_data(out)
    jobs = [("evaluated", name) for name in EVALUATED] + [("trained", name) for name in TRAINED]
    with ProcessPoolExecutor(arguments.processes) as pool:
        calls = {job: pool.submit(measured, *job, out) for job in jobs}
    results = {
        kind: [call.result() for (of, _), call in calls.items() if of == kind]
        for kind in ("evaluated", "trained")
    }
    runs = [read_run(out / name).to_json() for name in TRAINED]
    write_json(RESULTS, {"command": "python benchmarks/guided.py", **results, "runs": runs})
    for kind, lines in results.items():
        replace_part("guided-worlds.md", kind, table(lines))


if __name__ == "__main__":
    main()
