"""How far guided worlds get by tabu search: the published sets, larger ones, and other kinds.

    POSSIBLEWORLDS_OFFICIAL_DATA=PUBLISHED python benchmarks/search.py --write
    python benchmarks/search.py --entailments --write    # how many are falsely refuted
    POSSIBLEWORLDS_OFFICIAL_DATA=PUBLISHED python benchmarks/search.py --baselines --write

Evaluates a guided network by its default search and by gradient steps alone. Beside accuracy: false
refutations, missed countermodels, evaluations and CPU milliseconds a pair; what as many random rows
of the truth table and as many flips of WalkSAT do; and MiniSat's time. Sets that are in
results/search.json already are not measured again, so it can be interrupted; --baselines measures
only what stands beside the network anew.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from families import FAMILIES, draw
from pages import commit, replace_part
from walksat import walksat

import possibleworlds
from possibleworlds.data.files import read
from possibleworlds.data.pairs import Pairs
from possibleworlds.logic.sat import find_model
from possibleworlds.logic.truth import sample_refuting_bits
from possibleworlds.models import Options
from possibleworlds.models.guidedworldnet import GuidedWorldNet
from possibleworlds.models.possibleworldnet import PossibleWorldNet
from possibleworlds.paper import SPLITS
from possibleworlds.storage import read_json, write_json
from possibleworlds.training.batches import Dataset

RESULTS = Path(__file__).parent.parent / "results" / "search.json"
SEARCHES = {"tabu": Options(), "gradient": Options(steps=24)}
SIZES = (10, 14, 17, 20, 23, 26)
"""Numbers of variables of 3-CNF."""
ENTAILMENTS: dict[str, dict[str, Any]] = {
    "1-10 variables, 1-10 operators": {},
    "5-10 variables, 15-20 operators": {"variables": (5, 10), "operators": (15, 20)},
    "massive kind": {"variables": (20, 25), "operators": (20, 30), "method": "mutated"},
    "3-CNF, 20 variables": {"method": "sat"},
}
ENTAILMENT_ROWS, PART = 10_000, 1_000
"""How many entailments of each kind are evaluated, and how many at a time."""


def published(file: Path, count: int) -> Pairs:
    """Draw rows of a published set."""
    pairs = read(file)
    return Pairs.of(pairs[int(i)] for i in np.random.default_rng(0).permutation(len(pairs))[:count])


def baselines(pairs: Pairs, evaluations: int) -> dict[str, float]:
    """Measure random rows and WalkSAT, with as many rows or flips, and MiniSat's time.

    Neither of the first two ever refutes an entailment, so only non-entailments are tried.
    """
    random, by_rows, by_flips = Random(0), 0, 0
    negatives = [pair for pair in pairs if not pair.label]
    for pair in negatives:
        by_rows += bool(sample_refuting_bits(random, pair.a, pair.b, evaluations))
        by_flips += walksat(random, pair, evaluations) is not None
    formulas = [((pair.premise, True), (pair.conclusion, False)) for pair in pairs]
    start = time.process_time()
    for formula in formulas:
        find_model(formula)
    seconds = time.process_time() - start
    return {
        "random_rows": 1 - (len(negatives) - by_rows) / len(pairs),
        "walksat": 1 - (len(negatives) - by_flips) / len(pairs),
        "minisat_ms": 1000 * seconds / len(pairs),
    }


@torch.no_grad()
def measure(model: PossibleWorldNet, pairs: Pairs, options: Options) -> dict[str, Any]:
    """Evaluate a network with a search."""
    data = Dataset(pairs)
    predicted, evaluations = np.empty(len(pairs)), 0
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
        "rows": len(pairs),
        "accuracy": float((predicted == label).mean()),
        "entailments": int(label.sum()),
        "false_refutations": int((predicted[label == 1] == 0).sum()),
        "missed_countermodels": int((predicted[label == 0] == 1).sum()),
        "evaluations": evaluations / len(pairs),
        "cpu_ms": 1000 * seconds / len(pairs),
    }


def table(results: dict[str, dict[str, Any]]) -> str:
    """Format the results as a Markdown table."""
    lines = [
        "| set | rows | accuracy | false refutations | missed countermodels | evaluations a pair "
        "| CPU ms a pair | by gradient steps alone | random rows | WalkSAT | MiniSat, ms a pair |",
        "| --- |" + " ---: |" * 10,
    ]
    for name, one in results.items():
        search, other = one["tabu"], one["baselines"]
        n, yes = search["rows"], search["entailments"]
        cells = [name, f"{n:,}", f"**{100 * search['accuracy']:.2f}**"]
        cells += [f"{search['false_refutations']} of {yes:,}"]
        cells += [f"{search['missed_countermodels']} of {n - yes:,}"]
        cells += [f"{search['evaluations']:,.0f}", f"{search['cpu_ms']:.1f}"]
        cells += [f"{100 * one['gradient']['accuracy']:.2f}"]
        cells += [f"{100 * other['random_rows']:.2f}", f"{100 * other['walksat']:.2f}"]
        cells += [f"{other['minisat_ms']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def minisat_sentence(results: dict[str, dict[str, Any]]) -> str:
    """Say how much faster MiniSat is than the network, at least and at most."""
    ratios = [one["tabu"]["cpu_ms"] / one["baselines"]["minisat_ms"] for one in results.values()]
    return (
        f"MiniSat is exact, and {min(ratios):.0f} to {max(ratios):.0f} times as fast; the question "
        "is how close a network can come without\nhaving been told what the operators mean."
    )


def data_sets(
    folder: Path | None, rows: int, sat: int
) -> Iterator[tuple[str, Callable[[], Pairs]]]:
    """Name the sets, each with what reads or generates it."""
    for split in SPLITS if folder else ():
        yield f"published {split}", partial(published, folder / f"{split}.txt", rows)
    # Seeds that no training and no choice of settings has used.
    kinds: dict[str, dict[str, Any]] = {
        "generated, 1-10 variables, 1-10 operators": {},
        "generated, 5-10 variables, 15-20 operators": {"variables": (5, 10), "operators": (15, 20)},
        "massive kind": {"variables": (20, 25), "operators": (20, 30), "method": "mutated"},
        "giant kind": {"method": "giant"},
    }
    for name, settings in kinds.items():
        yield name, partial(possibleworlds.generate, rows, seed=1018, **settings)
    for size in SIZES:
        settings = {"method": "sat", "variables": (size, size), "seed": 1018}
        yield f"3-CNF, {size} variables", partial(possibleworlds.generate, sat, **settings)
    for name, family in FAMILIES.items():
        yield name, partial(draw, family, sat, 1018)


def entailments_alone(seed: int, **settings: Any) -> Pairs:
    """Generate pairs and keep the entailments."""
    pairs = possibleworlds.generate(2 * PART, seed=seed, **settings)
    return Pairs.of(pair for pair in pairs if pair.label)


def count_false_refutations(model: GuidedWorldNet, record: dict[str, Any], state: Path) -> None:
    """Evaluate entailments of each kind, as far as they are not on record yet."""
    results = record.setdefault("entailments", {})
    for name, settings in ENTAILMENTS.items():
        one = results.setdefault(name, {"commit": commit(), "rows": 0, "false_refutations": 0})
        while (done := one["rows"]) < ENTAILMENT_ROWS:
            if commit() not in one["commit"].split(", "):
                one["commit"] += f", {commit()}"
            part = measure(model, entailments_alone(2018 + done // PART, **settings), Options())
            for key in ("rows", "false_refutations"):
                one[key] += part[key]
            for key in ("evaluations", "cpu_ms"):  # means
                one[key] = (done * one.get(key, 0.0) + part["rows"] * part[key]) / one["rows"]
            write_json(state, record)
            print(name, json.dumps(one), flush=True)


def entailments_table(results: dict[str, dict[str, Any]]) -> str:
    """Format false refutations as a Markdown table."""
    lines = [
        "| entailments | number | false refutations | evaluations a pair | CPU ms a pair |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, one in results.items():
        cells = [name, f"{one['rows']:,}", str(one["false_refutations"])]
        cells += [f"{one['evaluations']:,.0f}", f"{one['cpu_ms']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure each set that is not on record yet, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="guidedworldnet", help="a name, or a run folder")
    parser.add_argument("--rows", type=int, default=10_000, help="of each set, at most")
    parser.add_argument(
        "--sat", type=int, default=400, help="of each set of 3-CNF, and of other kinds"
    )
    parser.add_argument("--only", default="", help="measure only sets whose names contain this")
    parser.add_argument("--entailments", action="store_true", help="measure those alone, but more")
    parser.add_argument("--baselines", action="store_true", help="measure the baselines again")
    parser.add_argument("--state", type=Path, default=RESULTS)
    parser.add_argument("--write", action="store_true", help="the table of docs/guided-worlds.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = possibleworlds.load(arguments.network).model
    assert isinstance(model, GuidedWorldNet)
    request = {name: getattr(arguments, name) for name in ("network", "rows", "sat")}
    record = read_json(arguments.state)
    if record.get("request") != request:
        record = {"request": request, "commit": commit(), "results": {}}
    if arguments.entailments:
        record = read_json(arguments.state)
        count_false_refutations(model, record, arguments.state)
        if arguments.write:
            table_text = entailments_table(record["entailments"])
            replace_part("guided-worlds.md", "entailments", table_text)
        return
    folder = os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA")
    for name, load in data_sets(Path(folder) if folder else None, arguments.rows, arguments.sat):
        result = record["results"].get(name, {})
        if arguments.only not in name or (result and not arguments.baselines):
            continue
        pairs = load()
        if not result:
            result = {key: measure(model, pairs, options) for key, options in SEARCHES.items()}
        result["baselines"] = baselines(pairs, round(result["tabu"]["evaluations"]))
        record["results"][name] = result
        write_json(arguments.state, record)
        print(name, json.dumps(result), flush=True)
    if arguments.write:
        replace_part("guided-worlds.md", "search", table(record["results"]))
        replace_part("guided-worlds.md", "minisat", minisat_sentence(record["results"]))


if __name__ == "__main__":
    main()
