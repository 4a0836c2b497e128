"""Train the record: every network, three seeds each, evaluated on the published sets.

    possibleworlds published PUBLISHED
    python benchmarks/train_record.py --out OUT --published PUBLISHED
    python benchmarks/train_record.py --out OUT --published PUBLISHED --missing

Can be interrupted at any moment, and goes on where it was; with `--missing`, seeds that are on
record already (results/record.json) are not trained again. The first seed of every row comes before
the second of any. Writes OUT/paper and OUT/wide, the data, and OUT/runs/ROW-SEED, the runs with
their evaluations; beside each, the commit at which it began.

Lengths are in epochs, set before any result was seen by the speed of a network (docs/models.md), so
that a seed takes 2 to 30 minutes of a core; a network whose validation accuracy still rose by more
than 0.2 points over the last third is trained again for four times as long, up to two core-hours a
seed. docs/results.md names the exceptions. Settings are the defaults, but for those in ROWS;
docs/results.md says how they were chosen. `record.py` puts results on record.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pages import commit
from record import RECORD

from possibleworlds.data.files import data_files
from possibleworlds.data.splits import PRESETS, generate_folder
from possibleworlds.storage import read_json
from possibleworlds.training.evaluations import evaluate_into

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Row:
    """A row of the table: a network, the length of its training, and settings of its own."""

    model: str
    epochs: float
    settings: dict[str, object] = field(default_factory=dict)
    data: str = "paper"
    seeds: tuple[int, ...] = SEEDS

    @property
    def options(self) -> list[str]:
        """What `possibleworlds train` is told."""
        changed = [
            word for item in self.settings.items() for word in ("--set", "{}={}".format(*item))
        ]
        return ["--epochs", f"{self.epochs:g}", *changed]

    @property
    def command(self) -> str:
        """The command that trains it, less folders and seed."""
        return f"possibleworlds train {self.model} --data {self.data} {' '.join(self.options)}"


UNIFORM = {"binary_worlds": "false", "variable_prior": 0}
"""Worlds as the paper has them, without the prior."""
TREENET = {"size": 32, "mlp_size": 32, "batch_size": 128}
ROWS = {
    "possibleworldnet-uniform": Row("possibleworldnet", 30, {**UNIFORM, "worlds": 256}),
    "possibleworldnet": Row("possibleworldnet", 6, {"worlds": 256}),
    "guidedworldnet": Row("guidedworldnet", 12, data="wide"),
    "linear-bow": Row("linear-bow", 60),
    "mlp-bow": Row("mlp-bow", 100),
    "treelstm-60": Row("treelstm", 60),
    "treelstm-240": Row("treelstm", 240),
    "treelstm": Row("treelstm", 960),
    "treenet-100": Row("treenet", 100, TREENET),
    "treenet-400": Row("treenet", 400, TREENET),
    "treenet": Row("treenet", 1600, TREENET),
    "lstm-40": Row("lstm", 40),
    "lstm-160": Row("lstm", 160),
    "lstm": Row("lstm", 640),
    "topdownnet": Row("topdownnet", 40),
    "convnet": Row("convnet", 30),
    "graphnet": Row("graphnet", 25),
    "bilstm-30": Row("bilstm", 30),
    "bilstm": Row("bilstm", 120),
    "lstm-traversal-40": Row("lstm-traversal", 40),
    "lstm-traversal": Row("lstm-traversal", 160),
    "bilstm-traversal-20": Row("bilstm-traversal", 20),
    "bilstm-traversal": Row("bilstm-traversal", 80),
    "transformer-20": Row("transformer", 20),
    "transformer": Row("transformer", 80),
    # By gradient steps alone, as tabu search is worse on our validation data.
    "guidedworldnet-uniform": Row(
        "guidedworldnet", 24, {**UNIFORM, "search_evaluations": 0}, data="wide", seeds=(0,)
    ),
    # Like the next row, but on text with rotary positions, to see what tree positions contribute.
    "modern-transformer-rotary": Row("modern-transformer", 25, seeds=(0,)),
    "modern-transformer-paper": Row("modern-transformer", 25, {"positions": "tree"}, seeds=(0,)),
    "modern-transformer-2.5": Row(
        "modern-transformer", 2.5, {"positions": "tree"}, data="large", seeds=(0,)
    ),
    "modern-transformer": Row(
        "modern-transformer", 10, {"positions": "tree"}, data="large", seeds=(0,)
    ),
}
"""By name, in the order in which they are trained."""


def seeds_on_record(record: dict[str, Any], name: str) -> dict[str, Any]:
    """The seeds of a row that are on record, none where the row was trained in another way."""
    row = record.get(name, {})
    return dict(row["seeds"]) if row.get("command") == ROWS[name].command else {}


def command(*arguments: str) -> None:
    """Run a command of the package."""
    subprocess.run([sys.executable, "-m", "possibleworlds", *arguments], check=True)


def pruned(files: Iterable[Path]) -> list[str]:
    """Give the options that leave formulas of files out of training data."""
    return [word for file in files for word in ("--prune-against", str(file))]


def generate(out: Path, published: list[Path]) -> None:
    """Generate the paper's splits, rows whose formulas may be a bare variable, and more rows."""
    command("generate", str(out / "paper"), *pruned(published))
    others = [file for file in data_files([out / "paper"]) if file.stem != "train"]
    command("generate", str(out / "wide"), "--operators", "0-10", *pruned([*published, *others]))
    splits = {split.name: split for split in PRESETS["paper"]}
    generate_folder(out / "exam", [splits["test_exam"]], seed=0)  # whole, as it is not pruned
    large = [replace(splits["train"], rows=1_000_000), splits["validate"]]
    generate_folder(out / "large", large, seed=0, prune_against=[*published, *others])


def own_files(out: Path) -> list[Path]:
    """List our own test sets, with the whole exam."""
    files = [f for f in data_files([out / "paper"]) if f.stem not in ("train", "test_exam")]
    return [*files, *data_files([out / "exam"])]


def train(out: Path, name: str, seed: int, published: list[Path]) -> None:
    """Train and evaluate one seed of a row, as far as that is not done."""
    row, run = ROWS[name], out / "runs" / f"{name}-{seed}"
    folders = ["--data", str(out / row.data), "--out", str(run), "--resume"]
    if not run.with_suffix(".commit").exists():
        run.parent.mkdir(exist_ok=True)
        run.with_suffix(".commit").write_text(commit(), encoding="utf-8")
    command("train", row.model, *folders, "--seed", str(seed), *row.options)
    arguments = [str(path) for path in (run, *published, *own_files(out))]
    subprocess.run([sys.executable, __file__, "--evaluate", *arguments], check=True)


def evaluate(run: str, *files: str) -> None:
    """Evaluate a run on one thread, in a process of its own."""
    import torch

    torch.set_num_threads(1)
    evaluate_into(Path(run), [Path(file) for file in files])


def main() -> None:
    """Train what is left, some runs at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--published", type=Path)
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=ROWS)
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS, choices=SEEDS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--missing", action="store_true", help="only seeds that are not on record")
    parser.add_argument("--evaluate", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.evaluate:
        evaluate(*arguments.evaluate)
        return
    published = data_files([arguments.published])
    arguments.out.mkdir(parents=True, exist_ok=True)
    generate(arguments.out, published)
    record = read_json(RECORD)["rows"] if arguments.missing else {}
    jobs = [
        (name, seed)
        for seed in arguments.seeds
        for name in arguments.only
        if seed in ROWS[name].seeds and str(seed) not in seeds_on_record(record, name)
    ]
    with ThreadPoolExecutor(arguments.processes) as pool:
        for done in [pool.submit(train, arguments.out, *job, published) for job in jobs]:
            done.result()


if __name__ == "__main__":
    main()
