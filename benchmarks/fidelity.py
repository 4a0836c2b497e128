"""How well a classifier tells our splits from the published ones, and how their statistics compare.

    python benchmarks/fidelity.py PUBLISHED [GENERATED]

PUBLISHED is the folder of the published sets; GENERATED one of `possibleworlds generate`, made anew
if it is not given. Needs scikit-learn, a development dependency. Writes a part of docs/data.md.

- A gradient-boosted classifier sees the variables and operators of each side and in common, the
  count of each operator, the root and the depth of each side, and the label.
- Rows that share a formula are in the same fold: else the classifier would recognise the other rows
  of a 4-tuple, or the other half of a pair of test (massive), rather than the split.
- The control is the published validation set against the published test (easy).
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pages import replace_part
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

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


def auc(ours: Sequence[Pair], theirs: Sequence[Pair]) -> float:
    """Compute the cross-validated AUC of telling two lists of pairs apart."""
    x: NDArray[np.float64] = np.array([features(pair) for pair in (*ours, *theirs)], float)
    y = np.repeat([0, 1], [len(ours), len(theirs)])
    names = [*(f"0{n}" for n in connected(ours)), *(f"1{n}" for n in connected(theirs))]
    groups = np.unique(names, return_inverse=True)[1]
    scores = np.zeros(len(y))
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=0).split(x, y, groups):
        classifier = HistGradientBoostingClassifier(random_state=0).fit(x[train], y[train])
        scores[test] = classifier.predict_proba(x[test])[:, 1]
    return float(roc_auc_score(y, scores))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compare(ours: Path, published: Path) -> str:
    """Compare the splits of two folders."""
    mine = {f.stem: list(read_pairs(f)) for f in sorted(ours.glob("*.txt"))}
    theirs = {f.stem: list(read_pairs(f)) for f in sorted(published.glob("*.txt"))}
    control = auc(theirs["validate"], theirs["test_easy"])
    aucs = [("published validate against published test_easy", f"{control:.3f}")]
    aucs += [
        (name, f"{auc(mine[name], theirs[name]):.3f}")
        for name in SPLITS
        if name in theirs and name != "test_exam"
    ]
    means, sampling = [], []
    for name in TABLE_1:
        line = split_statistics(mine[name])
        reference: Sequence[float] = (
            FROM_TABLE_1[name] if name in FROM_TABLE_1 else split_statistics(theirs[name])
        )
        cells = (
            f"{x:,.2f} / {y:,.2f} ({x / y - 1:+.1%})"
            for x, y in ((line[i], reference[i]) for i in (1, 2, 4))
        )
        means.append((name, *cells))
        if name in theirs:
            scores = zip(
                sample_truth_tables(mine[name]).results(),
                sample_truth_tables(theirs[name]).results(),
                strict=True,
            )
            sampling.append((name, *(f"{x:.1%} / {y:.1%}" for (*_, x), (*_, y) in scores)))
    return f"""The AUC of the classifier, where 0.5 is chance:

{table(("split", "AUC"), aucs)}

Means, ours / published; Table 1 of the paper for train and test_big:

{table(("split", "variables", "operators", "2^variables"), means)}

Accuracy of answering by random rows of the truth table, ours / published:

{table(("split", "32", "64", "128", "256"), sampling)}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("published", type=Path)
    parser.add_argument("generated", type=Path, nargs="?")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.generated or Path(temporary) / "paper"
        if not arguments.generated:
            generate_folder(folder, PRESETS["paper"], seed=0, workers=2)
        text = compare(folder, arguments.published)
    print(text)
    replace_part("data.md", "fidelity", text)


if __name__ == "__main__":
    main()
