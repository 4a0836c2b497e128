"""What one formula of a pair tells of its label, where B* takes the place of B and in 3-CNF.

    python benchmarks/one_side.py OUT

Generates pairs like those of test (massive), giant ones and 3-CNF ones into the folder OUT, trains
a TreeNet that sees only B, and a gradient-boosted classifier on features of A and of B. All must
stay at 50 %. Needs scikit-learn, a development dependency. Writes a part of docs/data.md.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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
SIZES = {"train": 12_000, "validate": 1_000, "test_massive": 4_000}
NETWORK, EPOCHS = "treenet", "4"
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


def network(data: Path, run: Path) -> float:
    """Train a network that sees only B, unless that is done, and evaluate it."""
    possibleworlds = [sys.executable, "-m", "possibleworlds"]
    options = ["--side", "right", "--epochs", EPOCHS, "--resume"]
    train = ["train", NETWORK, "--data", str(data), "--out", str(run), *options]
    subprocess.run([*possibleworlds, *train], check=True)
    evaluate = ["evaluate", str(run), str(data / "test_massive.txt"), "--json"]
    line = subprocess.run([*possibleworlds, *evaluate], check=True, stdout=subprocess.PIPE)
    return float(json.loads(line.stdout)["accuracy"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    massive = next(split for split in PRESETS["paper"] if split.name == "test_massive")
    splits = [replace(massive, name=name, rows=rows) for name, rows in SIZES.items()]
    generate_folder(out / "massive", splits, SEED)
    sets: dict[str, Sequence[Pair]] = {
        "massive": list(read_pairs(out / "massive" / "test_massive.txt")),
        "giant": generate(600, method="giant", seed=SEED),
        "sat": generate(1_200, method="sat", seed=SEED),
    }
    rows = []
    for name, pairs in sets.items():
        shares = [f"{boosted(pairs, formula):.1%}" for formula in (0, 1)]
        interval = 1.96 * (0.25 / len(pairs)) ** 0.5
        trained = f"{network(out / 'massive', out / NETWORK):.1%}" if name == "massive" else ""
        rows.append((name, f"{len(pairs):,}", *shares, trained, f"±{100 * interval:.1f}"))
    header = ("set", "rows", "features of A", "features of B", f"{NETWORK}, B", "95 % interval")
    text = table(header, rows)
    print(text)
    replace_part("data.md", "one side", text)


if __name__ == "__main__":
    main()
