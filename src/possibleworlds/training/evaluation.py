"""The accuracy of a network on a data set, in total and by size of the pairs, without torch."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data.pairs import Pairs
from possibleworlds.display import html_table
from possibleworlds.records import from_json

OPERATORS_PER_BIN = 5


@dataclass(frozen=True)
class Bin:
    """The rows of one size, and the accuracy on them."""

    rows: int
    accuracy: float


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The accuracy of a network on a data set."""

    rows: int
    correct: int
    accuracy: float
    interval: tuple[float, float]
    """The 95 % confidence interval of the accuracy (Wilson)."""
    by_variables: dict[str, Bin]
    """By the number of distinct variables of a pair."""
    by_operators: dict[str, Bin]
    """By the number of operators of a pair, in ranges such as "5-9"."""
    all_four: float | None = None
    """The fraction of 4-tuples with all four rows right; None if the rows form no 4-tuples."""

    @classmethod
    def of(cls, right: NDArray[np.bool_], pairs: Pairs) -> "Evaluation":
        """Summarise which rows of a data set were predicted correctly."""
        correct, rows = int(right.sum()), len(right)
        is_four_tuples = pairs.rows_together == 4
        return cls(
            rows,
            correct,
            correct / rows,
            interval(correct, rows),
            by_value(right, pairs.variables, 1),
            by_value(right, pairs.operators, OPERATORS_PER_BIN),
            float(right.reshape(-1, 4).all(1).mean()) if is_four_tuples else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Convert the evaluation to JSON values."""
        return {**asdict(self), "interval": list(self.interval)}

    @classmethod
    def from_json(cls, value: Any, where: str = "evaluation") -> "Evaluation":
        """Read the output of `to_json`; raise UserError with the place if it is not valid."""
        return from_json(value, cls, where)

    @property
    def cells(self) -> dict[str, str]:
        """The main figures, as text."""
        low, high = self.interval
        cells = {
            "rows": f"{self.rows:,}",
            "accuracy": f"{self.accuracy:.2%}",
            "95 % interval": f"{low:.2%} – {high:.2%}",
        }
        if self.all_four is not None:
            cells["all four right"] = f"{self.all_four:.2%}"
        return cells

    def __repr__(self) -> str:
        return f"<Evaluation: {', '.join(f'{name} {text}' for name, text in self.cells.items())}>"

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        return html_table([self.cells])


def interval(correct: int, rows: int) -> tuple[float, float]:
    """Compute the 95 % confidence interval of an accuracy (Wilson)."""
    z = 1.959964
    p, n = correct / rows, rows
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def by_value(right: NDArray[np.bool_], values: NDArray[np.int64], width: int) -> dict[str, Bin]:
    """Count rows and compute the accuracy for each range of values."""
    bins = {}
    for low in np.unique(values // width) * width:
        inside = right[(values >= low) & (values < low + width)]
        name = f"{low}" if width == 1 else f"{low}-{low + width - 1}"
        bins[name] = Bin(len(inside), float(inside.mean()))
    return bins
