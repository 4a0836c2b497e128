"""How well a classifier tells our splits from the published ones, and how their statistics compare.

    python benchmarks/fidelity.py PUBLISHED [GENERATED ...] [--by-rows]

PUBLISHED is the folder of the published sets; GENERATED are folders of `possibleworlds generate`,
of seeds 0, 1 and 2, made anew if they are not given. Needs scikit-learn, a development dependency.
Writes a part of docs/data.md.

- A gradient-boosted classifier sees the variables and operators of each side and in common, the
  count of each operator, the root and the depth of each side, and the label.
- Rows that share a formula are in the same fold: else the classifier would recognise the other rows
  of a 4-tuple, or the other half of a pair of test (massive), rather than the split. Beside it are
  consecutive folds, scikit-learn's default, and folds drawn row by row, which let it do so.
- The controls are the published validation set against the published test (easy), and, by rows, a
  published set against itself: its connected rows are split at random into two halves.
- With --by-rows, only this: how much of what folds by rows tell is due to 4-tuples being whole.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import replace_part
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.data.splits import PRESETS, generate_folder
from possibleworlds.data.statistics import sample_truth_tables, split_statistics
from possibleworlds.logic.alphabet import OPERATORS
from possibleworlds.logic.formula import levels, variables_of
from possibleworlds.paper import SPLITS, TABLE_1

FROM_TABLE_1 = {"train": TABLE_1["train"], "test_big": TABLE_1["test_big"]}
"""Where the file is not to be had, or not the one of the paper."""
FOLDS = 5
SEEDS = 3


def side(rpn: str) -> list[int]:
    """Compute the features of one formula."""
    counts = [rpn.count(operator) for operator in OPERATORS]
    root = OPERATORS.index(rpn[-1]) + 1 if rpn[-1] in OPERATORS else 0
    return [len(variables_of(rpn)), sum(counts), *counts, root, max(levels(rpn))]


def features(pair: Pair) -> list[int]:
    """Compute the features of a pair."""
    shared = set(variables_of(pair.a)) & set(variables_of(pair.b))
    return [*side(pair.a), *side(pair.b), len(shared), int(pair.label)]


def connected(pairs: Sequence[Pair]) -> list[str]:
    """Name, for each pair, the set of pairs that it shares formulas with, directly or not."""
    parent: dict[str, str] = {}

    def root(formula: str) -> str:
        while parent.setdefault(formula, formula) != formula:
            parent[formula] = parent[parent[formula]]
            formula = parent[formula]
        return formula

    for pair in pairs:
        parent[root(pair.a)] = root(pair.b)
    return [root(pair.a) for pair in pairs]


def halves(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Split pairs at random into two halves that share no formula."""
    names = connected(pairs)
    distinct = sorted(set(names))
    parts = np.random.default_rng(0).permutation(len(distinct)) % 2
    part = dict(zip(distinct, parts.tolist(), strict=True))
    first, second = ([p for p, n in zip(pairs, names, strict=True) if part[n] == i] for i in (1, 0))
    return first, second


FOLDS_OF: dict[str, Any] = {
    "by formula": GroupKFold(FOLDS, shuffle=True, random_state=0),
    "consecutive": StratifiedKFold(FOLDS),
    "by rows": KFold(FOLDS, shuffle=True, random_state=0),
}
"""Rows that share a formula are in the same fold; nearly always so, as in the file; or anywhere."""


def auc(ours: Sequence[Pair], theirs: Sequence[Pair], folds: str = "by formula") -> float:
    """Compute the cross-validated AUC of telling two lists of pairs apart."""
    x: NDArray[np.float64] = np.array([features(pair) for pair in (*ours, *theirs)], float)
    y = np.repeat([0, 1], [len(ours), len(theirs)])
    names = [*(f"0{n}" for n in connected(ours)), *(f"1{n}" for n in connected(theirs))]
    groups = np.unique(names, return_inverse=True)[1]
    scores = np.zeros(len(y))
    for train, test in FOLDS_OF[folds].split(x, y, groups):
        classifier = HistGradientBoostingClassifier(random_state=0).fit(x[train], y[train])
        scores[test] = classifier.predict_proba(x[test])[:, 1]
    return float(roc_auc_score(y, scores))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


Splits = dict[str, list[Pair]]


def read_splits(folder: Path) -> Splits:
    """Read the splits of a folder."""
    return {file.stem: list(read_pairs(file)) for file in sorted(folder.glob("*.txt"))}


def aucs(seeds: Sequence[Splits], theirs: Splits) -> str:
    """Tabulate the AUC of telling ours from theirs, for each seed and both kinds of folds."""
    first, *others = (
        f"{auc(theirs['validate'], theirs['test_easy'], folds):.3f}" for folds in FOLDS_OF
    )
    rows = [
        ("published validate against test_easy", *[first] * len(seeds), *others, ""),
        *(
            (
                name,
                *(f"{auc(mine[name], theirs[name]):.3f}" for mine in seeds),
                f"{auc(seeds[0][name], theirs[name], 'consecutive'):.3f}",
                f"{auc(seeds[0][name], theirs[name], 'by rows'):.3f}",
                f"{auc(*halves(theirs[name]), 'by rows'):.3f}",
            )
            for name in SPLITS
            if name in theirs and name != "test_exam"
        ),
    ]
    others = ["seed 0, consecutive", "seed 0, by rows", "published halves, by rows"]
    header = ("split", *(f"seed {seed}" for seed in range(len(seeds))), *others)
    return table(header, rows)


def by_rows(seeds: Sequence[Splits], theirs: Splits) -> str:
    """Tabulate the AUC by rows with whole 4-tuples, with one row of each, and of ours from ours."""
    rows = []
    for name in ("validate", "test_easy", "test_hard"):
        single = [mine[name][4 * i + i % 4] for mine in seeds for i in range(len(mine[name]) // 4)]
        first, second = seeds[0][name], seeds[1][name]
        compared = (first, theirs[name]), (single, theirs[name]), (first, second)
        rows.append((name, *(f"{auc(*both, 'by rows'):.3f}" for both in compared)))
    header = "whole 4-tuples", "one row of each 4-tuple", "our seed 0 from our seed 1"
    return table(("split", *header), rows)


def means(seeds: Sequence[Splits], theirs: Splits) -> str:
    """Tabulate mean variables, operators and 2^variables beside the reference, for each seed."""
    rows = []
    for name in TABLE_1:
        lines = [split_statistics(mine[name]) for mine in seeds]
        reference: Sequence[float] = (
            FROM_TABLE_1[name] if name in FROM_TABLE_1 else split_statistics(theirs[name])
        )
        for what, i in (("variables", 1), ("operators", 2), ("2^variables", 4)):
            shares = (f"{line[i]:,.2f} ({line[i] / reference[i] - 1:+.1%})" for line in lines)
            rows.append((f"{name}, {what}", f"{reference[i]:,.2f}", *shares))
    header = ("split", "published", *(f"seed {seed}" for seed in range(len(seeds))))
    return table(header, rows)


def sampling(seeds: Sequence[Splits], theirs: Splits) -> str:
    """Tabulate the accuracy of random rows of the truth table, published and for each seed."""
    rows = []
    for name in SPLITS:
        if name in theirs:
            for whose, splits in (("published", theirs), *enumerate(seeds)):
                scores = sample_truth_tables(splits[name]).results()
                label = whose if whose == "published" else f"seed {whose}"
                rows.append((f"{name}, {label}", *(f"{score:.1%}" for *_, score in scores)))
    return table(("split", "32", "64", "128", "256"), rows)


def compare(seeds: Sequence[Splits], theirs: Splits) -> str:
    """Compare our splits, those of each seed, with the published ones."""
    return f"""The AUC of the classifier, where 0.5 is chance, with folds by formula; with
consecutive folds (scikit-learn's default); and with folds by rows, which separate
rows that share a formula:

{aucs(seeds, theirs)}

Means, and how far they are from the published ones; from Table 1 for train and test_big:

{means(seeds, theirs)}

Accuracy of answering by random rows of the truth table:

{sampling(seeds, theirs)}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("published", type=Path)
    parser.add_argument("generated", type=Path, nargs="*")
    parser.add_argument("--by-rows", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = arguments.generated
        if not folders:
            folders = [Path(temporary) / str(seed) for seed in range(SEEDS)]
            for seed, folder in enumerate(folders):
                generate_folder(folder, PRESETS["paper"], seed=seed, workers=2)
        seeds = [read_splits(folder) for folder in folders]
        theirs = read_splits(arguments.published)
        text = by_rows(seeds, theirs) if arguments.by_rows else compare(seeds, theirs)
    print(text)
    replace_part("data.md", "by rows" if arguments.by_rows else "fidelity", text)


if __name__ == "__main__":
    main()
