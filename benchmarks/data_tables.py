"""Write the tables of docs/data.md: our data beside the paper's Tables 1, 3 and 4 and section 5.

    .venv/bin/python benchmarks/data_tables.py

With POSSIBLEWORLDS_OFFICIAL_DATA naming the published sets, these are described as well.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from pages import replace_part

from possibleworlds.data.files import data_files, read_pairs
from possibleworlds.data.statistics import FileStatistics, file_statistics, split_statistics
from possibleworlds.paper import (
    BOTH_FORMULAS,
    NEW_VARIABLES_IN_B,
    SAMPLING_ON_HARD,
    TABLE_1,
    TABLE_3,
    TABLE_4,
    FeatureLine,
)


def generated(folder: Path, *options: str) -> str:
    """Generate data into a folder; the command."""
    command = ["generate", str(folder), *options]
    subprocess.run([sys.executable, "-m", "possibleworlds", *command], check=True)
    shown = " ".join(["possibleworlds generate", folder.name, *options])
    return f"`{shown}`"


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, all but its first column aligned to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def table_1(folders: dict[str, Path]) -> str:
    """Table 1 for some folders, and the paper's."""
    lines = []
    statistics = {
        (file.stem, whose): split_statistics(read_pairs(file))
        for whose, folder in folders.items()
        for file in data_files([folder])
    }
    for name, paper in TABLE_1.items():
        for whose in folders:
            if (name, whose) in statistics:
                rows, variables, operators, length, table = statistics[name, whose]
                times = 2 if name in BOTH_FORMULAS else 1
                lines.append(
                    (name, whose, rows, variables, times * operators, times * length, table)
                )
        lines.append((name, "paper", *paper))
    return markdown(
        ("split", "", "rows", "variables", "operators", "length", "2^variables"),
        (
            (n, w, f"{r:,}", f"{v:.2f}", f"{o:.2f}", f"{x:.2f}", f"{t:,.1f}")
            for n, w, r, v, o, x, t in lines
        ),
    )


def requirements(
    described: FileStatistics, paper: dict[str, FeatureLine], new: Sequence[float]
) -> str:
    """The table of requirements, each cell ours and then the paper's."""
    rows = []
    for name, sides in described.features.items():
        ours: list[str] = []
        for side in ("A", "B"):
            if side in sides:
                comparison = sides[side]
                ours += [*(f"{m:.2f}" for m in comparison.means), f"{comparison.chi_squared:.1f}"]
            else:
                ours += [""] * 3
        theirs: list[str] = [""] * 6
        if name in paper:
            line = paper[name]
            theirs = [f"{line[i]:g}" for i in (0, 1, 2, 4, 5, 6)]
        elif name == "new variables":
            theirs = ["", "", "", *(f"{x:g}" for x in new[:3])]
        cells = (f"{x} ({y})" if y else x for x, y in zip(ours, theirs, strict=True))
        rows.append((f"`{name}`".replace("|", "\\|"), *cells))
    return markdown(("", "A+", "A−", "χ²", "B+", "B−", "χ²"), rows)


def sampling(described: dict[str, FileStatistics]) -> str:
    """How often random rows of the truth table refute a non-entailment; accuracy in brackets."""
    rows = []
    for name, statistics in described.items():
        by_count = {count: (refuted, right) for count, refuted, right in statistics.sampling()}
        rows.append(
            (name, *(f"{by_count[n][0]:.1%} ({by_count[n][1]:.1%})" for n in SAMPLING_ON_HARD))
        )
    rows.append(("paper, test (hard)", *(f"{x:.1%}" for x in SAMPLING_ON_HARD.values())))
    return markdown(("rows sampled", *map(str, SAMPLING_ON_HARD)), rows)


def guesses(described: dict[str, FileStatistics]) -> str:
    """The accuracy of the three heuristics."""
    rows = [
        (name, *(f"{right / statistics.rows:.1%}" for right in statistics.heuristics_right))
        for name, statistics in described.items()
    ]
    return markdown(("", "H1", "H2", "H3"), rows)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fair, naive, paper = folder / "fair", folder / "naive", folder / "paper"
        commands = {
            "paper": generated(paper),
            "naive": generated(naive, "--method", "naive", "--rows", "50000"),
            "fair": generated(fair, "--rows", "50000"),
        }
        folders = {"ours": paper}
        described = {
            f"ours, {file.stem}": file_statistics(read_pairs(file)) for file in data_files([paper])
        }
        described["ours, naive"] = file_statistics(read_pairs(naive / "train.txt"))
        published = os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA")
        if published:
            folders["published"] = Path(published)
            described |= {
                f"published, {file.stem}": file_statistics(read_pairs(file))
                for file in data_files([Path(published)])
            }
        naive_train = described["ours, naive"]
        fair_train = file_statistics(read_pairs(fair / "train.txt"))
        text = f"""## Table 1: the splits

{commands["paper"]}, then `possibleworlds stats paper`. Means; operators and length are those of
a formula, in massive and exam of both formulas of a pair together, as the paper's evidently are.

{table_1(folders)}

## Table 3: the naive method is biased

{commands["naive"]}, then `possibleworlds stats naive/train.txt`. The paper's figures in brackets.

{requirements(naive_train, TABLE_3, NEW_VARIABLES_IN_B["naive"])}

## Table 4: 4-tuples are not

{commands["fair"]}, then `possibleworlds stats fair/train.txt`. The paper's figures in brackets.

{requirements(fair_train, TABLE_4, NEW_VARIABLES_IN_B["fourtuples"])}

## Guessing without reasoning

The accuracy of the three heuristics, from `possibleworlds stats FILE` for each file:

{guesses(described)}

## Sampling rows of the truth table (section 5)

How often some random rows refute a non-entailment, and in brackets the accuracy of answering
"no" where they do and "yes" where they don't, from `possibleworlds stats FILE` for each file:

{sampling(described)}"""
    replace_part("data.md", "tables", text)


if __name__ == "__main__":
    main()
