"""What limits guided worlds: short trainings that differ in one setting each.

    .venv/bin/python benchmarks/guided.py --out out/guided

One seed and one thread each, evaluated by gradient steps on generated pairs of the hard and the
massive kind. A finished run or evaluation is not repeated. Writes results/guided.json and a table
of docs/guided-worlds.md.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch
from baselines import random_rows
from pages import commit, replace_part
from search import measure
from train_record import command, pruned

from possibleworlds.data.files import read
from possibleworlds.data.generation import Split
from possibleworlds.data.splits import generate_folder
from possibleworlds.models import Model, Options
from possibleworlds.storage import read_json, write_json
from possibleworlds.training.certificate import with_worlds
from possibleworlds.training.checkpoint import load_model, read_run

RESULTS = Path(__file__).parent.parent / "results" / "guided.json"
SEED = 1  # of the sets to measure on
TESTS = {
    "hard": Split("test_hard", 1000, (5, 10), (15, 20)),
    "massive": Split("test_massive", 1000, (20, 26), (20, 30), "mutated"),
}
DATA = {"wide": "1-10", "wider": "1-20"}
"""The training data, and how many variables their formulas have; operators are as many, or 0."""
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
    "random worlds in the first half of training": ("wide", {"unguided_fraction": 0.5}),
    "never guided": ("wide", {"unguided_fraction": 1.0}),
    "d = 64, not 32": ("wide", {"size": 64}),
    "without the prior on worlds": ("wide", {"variable_prior": 0.0, "binary_worlds": "false"}),
    "final recipe: 16 to 64 worlds, random in the first half": (
        "wide",
        {"unguided_fraction": 0.5, "training_worlds": 64, "training_evaluations": 256},
    ),
    "training data with up to 20 variables and operators": ("wider", {}),
}


def make_data(out: Path) -> None:
    """The sets to measure on, and training data that are pruned against them."""
    generate_folder(out / "tests", list(TESTS.values()), SEED)
    tests = [out / "tests" / split.file for split in TESTS.values()]
    for name, variables in DATA.items():
        operators = variables.replace("1-", "0-")
        kind = ["--variables", variables, "--operators", operators]
        command("generate", str(out / name), *kind, *pruned(tests))


def trained(name: str, out: Path) -> Model:
    """A network that was trained in another way."""
    data, settings = TRAINED[name]
    options = ["--data", str(out / data), "--out", str(out / name), "--resume"]
    for key, value in {**SHORT, **BEGUN_WITH, **settings}.items():
        options += ["--set", f"{key}={value}"]
    command("train", "guidedworldnet", *options)
    return load_model(out / name)


def measured(name: str, out: Path) -> dict[str, Any]:
    """Train and evaluate a network, unless that is on record."""
    torch.set_num_threads(1)
    kept = out / f"{name}.json"
    if not kept.exists():
        model = with_worlds(trained(name, out))
        search = Options(steps=int(SHORT["steps"]))
        by_set: dict[str, Any] = {}
        for kind, split in TESTS.items():
            pairs = read(out / "tests" / split.file)
            result = measure(model, pairs, search)
            by_set[kind] = result | {
                "random_rows": random_rows(pairs, round(result["evaluations"]))
            }
        write_json(kept, {"name": name, "sets": by_set})
    return read_json(kept)


def table(networks: list[dict[str, Any]]) -> str:
    """Format a line for each network: how much is right, and which way it errs."""
    kinds = " | ".join(f"{kind}, % right | false refutations | missed" for kind in TESTS)
    lines = [f"| | {kinds} | random rows, % right |", "| --- |" + " ---: |" * 7]
    for one in networks:
        cells = []
        for it in one["sets"].values():
            entailments, others = it["entailments"], it["rows"] - it["entailments"]
            errors = (
                it["false_refutations"] / entailments,
                it["missed_countermodels"] / others,
            )
            cells += [f"{100 * share:.1f}" for share in (it["accuracy"], *errors)]
        rows = " / ".join(f"{100 * it['random_rows']:.1f}" for it in one["sets"].values())
        lines.append(f"| {one['name']} | " + " | ".join([*cells, rows]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/guided"))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="write the table alone, from results")
    arguments = parser.parse_args()
    if arguments.table:
        replace_part("guided-worlds.md", "trained", table(read_json(RESULTS)["trained"]))
        return
    out = arguments.out
    make_data(out)
    with ProcessPoolExecutor(arguments.processes) as pool:
        results = list(pool.map(partial(measured, out=out), TRAINED))
    runs = [read_run(out / name).to_json() for name in TRAINED]
    write_json(RESULTS, {"commit": commit(), "trained": results, "runs": runs})
    replace_part("guided-worlds.md", "trained", table(results))


if __name__ == "__main__":
    main()
