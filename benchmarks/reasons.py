"""Are networks with worlds right for the right reason? And what do certified answers gain?

    POSSIBLEWORLDS_OFFICIAL_DATA=PUBLISHED .venv/bin/python benchmarks/reasons.py

Reads the world that decides about a pair as a truth assignment, by the network's own judgement, and
checks it. Both pretrained networks, on samples of the published sets (if they are there) and on
generated pairs. Writes results/reasons.json and a table of docs/guided-worlds.md.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import torch
from pages import commit, replace_part
from search import data_sets

import possibleworlds
from possibleworlds.data.pairs import Pairs
from possibleworlds.models import Model
from possibleworlds.storage import write_json
from possibleworlds.training.batches import Dataset
from possibleworlds.training.certificate import certify, evidence

RESULTS = Path(__file__).parent.parent / "results" / "reasons.json"
ROWS, SAT_ROWS = 400, 60
KINDS = ("published", "massive kind", "giant kind", "3-CNF, 20 variables")
"""The sets of search.py that are measured here, by how their names begin."""


def measure(model: Model, pairs: Pairs) -> dict[str, Any]:
    """Count errors, deciding worlds that are countermodels, and errors of certified answers."""
    data = Dataset(pairs)
    labels = [pair.label for pair in pairs]
    rows = list(zip(evidence(model, data), labels, strict=True))
    entailed = [countermodel is None for countermodel in certify(model, data)]
    return {
        "rows": len(pairs),
        "entailments": sum(labels),
        "false_refutations": sum(label and one.probability <= 0.5 for one, label in rows),
        "missed_countermodels": sum(not label and one.probability > 0.5 for one, label in rows),
        "best_world_is_countermodel": sum(one.refutes for one, _ in rows),
        "certified_missed": sum(
            answer and not label for answer, label in zip(entailed, labels, strict=True)
        ),
    }


def table(networks: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Format a line for each network and set."""
    lines = [
        "| network | set | false refutations | missed countermodels "
        "| best world is a countermodel | missed by certified answers |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, sets in networks.items():
        for kind, it in sets.items():
            negatives = it["rows"] - it["entailments"]
            cells = [name, kind, f"{it['false_refutations']} of {it['entailments']}"]
            cells += [f"{it['missed_countermodels']} of {negatives}"]
            cells += [f"{it['best_world_is_countermodel']} of {negatives}"]
            cells += [f"{it['certified_missed']} of {negatives}"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    folder = os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA")
    sets = dict(data_sets(Path(folder) if folder else None, ROWS, SAT_ROWS))
    networks: dict[str, dict[str, dict[str, Any]]] = {}
    for name in ("possibleworldnet", "guidedworldnet"):
        model = possibleworlds.load(name).model
        by_set = networks.setdefault(name, {})
        for kind, load in sets.items():
            if kind.startswith(KINDS):
                by_set[kind] = measure(model, load())
                print(name, kind, by_set[kind], flush=True)
    write_json(RESULTS, {"commit": commit(), "networks": networks})
    replace_part("guided-worlds.md", "reasons", table(networks))


if __name__ == "__main__":
    main()
