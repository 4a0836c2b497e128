"""The most that any linear bag of words can reach, and how it answers.

    POSSIBLEWORLDS_OFFICIAL_DATA=FOLDER .venv/bin/python benchmarks/linear_bow.py

Its answer depends on nine numbers: how often each operator stands in A and in B, among their
symbols, is weighed and added to a constant. Many starts descend on the expected errors on the
training rows of the paper preset, with answers that become surer; of those that say mostly no and
of those that say mostly yes, the best on these rows is measured on rows it has not seen. Takes a
minute or two. Writes the table of docs/results.md.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import torch
from pages import replace_part
from torch import Tensor
from train_record import command, pruned

from possibleworlds.data.files import data_files, read
from possibleworlds.logic.alphabet import N_OPERATORS
from possibleworlds.models.trees.forest import Forest

STARTS, STEPS, ROWS_AT_ONCE, SURENESS = 64, 1500, 8192, 32.0


def rows_of(file: Path) -> tuple[Tensor, Tensor]:
    """What a linear bag of words gets to see of each row, [rows, 9], and the answers."""
    pairs = read(file)
    shares = Forest(pairs.code, pairs.offsets).symbol_frequencies[:, :N_OPERATORS]
    one = np.ones((len(pairs), 1), np.float32)
    inputs = np.concatenate((one, shares[pairs.left], shares[pairs.right]), 1)
    return torch.from_numpy(inputs), torch.from_numpy(pairs.label) == 1


def descend(inputs: Tensor, entailed: Tensor) -> Tensor:
    """Weights that each start arrives at, [9, starts]."""
    torch.manual_seed(0)
    weights = torch.randn(9, STARTS)
    scores = inputs[:ROWS_AT_ONCE] @ weights
    # From those that say yes to hardly anything to those that say it to nearly everything.
    weights[0] -= scores.mean(0) + torch.linspace(1.5, -1.5, STARTS) * scores.std(0)
    weights.requires_grad_()
    optimizer = torch.optim.Adam([weights], lr=0.05)
    for step in range(STEPS):
        drawn = torch.randint(len(inputs), (ROWS_AT_ONCE,))
        scores = inputs[drawn] @ (weights / weights[1:].norm(dim=0))
        towards_truth = torch.where(entailed[drawn, None], scores, -scores)
        right = torch.sigmoid(towards_truth * (2 + (SURENESS - 2) * step / STEPS))
        optimizer.zero_grad()
        (-right.mean(0).sum()).backward()
        optimizer.step()
    return weights.detach()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/linear-bow"))
    out = parser.parse_args().out
    published = Path(os.environ["POSSIBLEWORLDS_OFFICIAL_DATA"])
    command("generate", str(out / "paper"), *pruned(data_files([published])))
    command("generate", str(out / "more"), "--rows", "1000000", "--seed", "1")
    sets = {
        "training rows": rows_of(out / "paper" / "train.txt"),
        "1,000,000 others": rows_of(out / "more" / "train.txt"),
        "our validation": rows_of(out / "paper" / "validate.txt"),
        "published validation": rows_of(published / "validate.txt"),
    }
    weights = descend(*sets["training rows"])
    says = {name: inputs @ weights > 0 for name, (inputs, _) in sets.items()}
    right = {name: (says[name] == sets[name][1][:, None]).float().mean(0) for name in sets}
    yes = says["training rows"].float().mean(0)
    lines = ["| says yes to | " + " | ".join(sets) + " |", "| ---: |" + " ---: |" * len(sets)]
    for family in (yes < 0.5, yes >= 0.5):
        best = int(torch.where(family, right["training rows"], 0.0).argmax())
        cells = [f"{100 * share[best]:.1f}" for share in (yes, *right.values())]
        lines.append("| " + " | ".join(cells) + " |")
    base = [f"{100 * (~entailed).float().mean():.1f}" for _, entailed in sets.values()]
    lines.append("| " + " | ".join(["0.0", *base]) + " |")
    replace_part("results.md", "linear", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
