"""Write a network of your own, train it, and compare it with ours, in a few minutes on one core.

    python examples/train_your_own.py [ROWS]

ROWS is the size of the training data, 20,000 unless you say otherwise.
"""

import sys
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import possibleworlds as pw
from possibleworlds.models import Batch, Classifier, Model


@dataclass(frozen=True)
class BilinearSettings:
    """Sizes of the network."""

    size: int = 64


class Bilinear(Model):
    """The mean of the symbols' vectors of each side, and their products."""

    settings_class = BilinearSettings

    def __init__(self, settings: BilinearSettings) -> None:
        super().__init__(settings)
        self.embedding = nn.Parameter(torch.randn(30, settings.size))
        self.mixed = nn.Linear(settings.size, settings.size)
        self.classifier = Classifier(settings.size, 64, 2)

    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        means = batch.symbol_frequencies @ self.embedding  # (trees, size)
        left, right = means[batch.left], means[batch.right]  # (rows, size)
        return self.classifier(left * self.mixed(right), right)


def main(rows: int) -> None:
    """Train both networks on the same data, and print their accuracies."""
    splits = pw.paper_splits(seed=0, scale=rows / 100_000)  # no formula leaks between them
    train, validate, test = (splits[name] for name in ("train", "validate", "test_hard"))
    for network in (Bilinear, "treenet"):
        result = pw.train(network, train, validate=validate, epochs=3, seed=0)
        name = network if isinstance(network, str) else network.__name__
        hard = pw.evaluate(result.network, test)
        print(
            f"{name:10} validation {pw.evaluate(result.network, validate).accuracy:.1%}", end="  "
        )
        low, high = hard.interval
        print(f"longer formulas {hard.accuracy:.1%} ({low:.1%} to {high:.1%})", end="  ")
        print(f"all four of a 4-tuple {hard.all_four:.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
