"""What one formula of a pair tells of its label, by the method that generated the pair.

    python benchmarks/one_side.py OUT

Trains networks that see only A or only B on 4-tuples and on naive pairs, and a gradient-boosted
classifier on features of either side of massive, giant and 3-CNF pairs. All but those on naive
pairs must stay at 50 %. Needs scikit-learn, a development dependency. Writes parts of docs/data.md;
a finished training is not repeated.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from fidelity import connected, side, table
from pages import replace_part
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold

from possibleworlds import generate
from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.data.splits import PRESETS, generate_folder
from possibleworlds.logic.alphabet import OPERATORS
from possibleworlds.logic.formula import levels, spans

SEED = 11
MASSIVE_SIZES = {"train": 12_000, "validate": 1_000, "test_massive": 4_000}
SIZES = {"train": 40_000, "validate": 4_000, "test_easy": 4_000}
NETWORKS, EPOCHS = ("linear-bow", "mlp-bow", "treenet"), "4"
FOLDS = 5
DEEPEST_LEVEL = 4


def features(rpn: str) -> list[float]:
    """Compute features of one formula: its size, its shape, and where its operators stand."""
    depth = levels(rpn)
    leaves = [level for symbol, level in zip(rpn, depth, strict=True) if symbol not in OPERATORS]
    inner = {rpn[start : end + 1] for end, start in enumerate(spans(rpn))}
    at_level = [
        sum(pair == (operator, level) for pair in zip(rpn, depth, strict=True))
        for level in range(DEEPEST_LEVEL + 1)
        for operator in OPERATORS
    ]
    places = min(leaves), sum(leaves) / len(leaves), leaves[0], leaves[-1], len(inner)
    return [*side(rpn), *at_level, *places, rpn.count("~~")]


def boosted(pairs: Sequence[Pair], formula: int) -> float:
    """Compute the cross-validated accuracy of a classifier that sees A (0) or B (1)."""
    x = np.array([features(pair[formula]) for pair in pairs])
    y = np.array([pair.label for pair in pairs], int)
    groups = np.unique(connected(pairs), return_inverse=True)[1]
    right = 0
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=0).split(x, y, groups):
        classifier = HistGradientBoostingClassifier(random_state=0).fit(x[train], y[train])
        right += int((classifier.predict(x[test]) == y[test]).sum())
    return right / len(pairs)


def network(name: str, side: str, data: Path, run: Path) -> float:
    """Train a network that sees one side, unless that is done, and evaluate it."""
    possibleworlds = [sys.executable, "-m", "possibleworlds"]
    options = ["--side", side, "--epochs", EPOCHS, "--resume"]
    train = ["train", name, "--data", str(data), "--out", str(run), *options]
    subprocess.run([*possibleworlds, *train], check=True)
    (test,) = data.glob("test_*.txt")
    evaluate = ["evaluate", str(run), str(test), "--json"]
    line = subprocess.run([*possibleworlds, *evaluate], check=True, stdout=subprocess.PIPE)
    return float(json.loads(line.stdout)["accuracy"])


def make_splits(folder: Path, like: str, sizes: dict[str, int], **changes: Any) -> Path:
    """Generate splits that are all of the kind of one of the paper's."""
    split = next(one for one in PRESETS["paper"] if one.name == like)
    splits = [replace(split, name=name, rows=rows, **changes) for name, rows in sizes.items()]
    generate_folder(folder, splits, SEED)
    return folder


def networks_table(out: Path) -> str:
    """Train networks on either side of 4-tuples and of naive pairs."""
    methods = {
        "4-tuples": make_splits(out / "four_tuple", "train", SIZES),
        "naive": make_splits(out / "naive", "train", SIZES, method="naive"),
    }
    rows = [
        (
            name,
            letter,
            *(
                f"{network(name, side, data, out / f'{name}-{side}-{data.name}'):.1%}"
                for data in methods.values()
            ),
        )
        for name in NETWORKS
        for side, letter in (("left", "A"), ("right", "B"))
    ]
    return table(("network", "sees", *methods), rows)


def features_table(out: Path) -> str:
    """Measure what features of either side tell, where B* takes the place of B and in 3-CNF."""
    folder = make_splits(out / "massive", "test_massive", MASSIVE_SIZES)
    sets: dict[str, Sequence[Pair]] = {
        "massive": list(read_pairs(folder / "test_massive.txt")),
        "giant": generate(600, method="giant", seed=SEED),
        "sat": generate(1_200, method="sat", seed=SEED),
    }
    rows = []
    for name, pairs in sets.items():
        shares = [f"{boosted(pairs, formula):.1%}" for formula in (0, 1)]
        interval = 1.96 * (0.25 / len(pairs)) ** 0.5
        trained = ""
        if name == "massive":
            trained = f"{network('treenet', 'right', folder, out / 'treenet'):.1%}"
        rows.append((name, f"{len(pairs):,}", *shares, trained, f"±{100 * interval:.1f}"))
    header = ("set", "rows", "features of A", "features of B", "treenet, B", "95 % interval")
    return table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    for part, make in (("one side, networks", networks_table), ("one side", features_table)):
        text = make(out)
        print(text)
        replace_part("data.md", part, text)


if __name__ == "__main__":
    main()
