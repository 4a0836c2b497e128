"""The paper's tables of statistics: Table 1 (splits), Tables 3 and 4 (requirements), section 5.

Everything is counted in one pass over a file of any size.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from possibleworlds.data.heuristics import heuristics
from possibleworlds.data.pairs import Pair
from possibleworlds.logic.alphabet import OPERATORS
from possibleworlds.logic.formula import Formula, levels, variables_of
from possibleworlds.logic.truth import count_models, sample_refuting_bits
from possibleworlds.paper import BOTH_FORMULAS

TREE_LEVELS = (0, 1, 2)
FEATURES = (
    "length",
    *(f"num({operator})" for operator in OPERATORS),
    *(f"num_at({level},{operator})" for operator in OPERATORS for level in TREE_LEVELS),
    "#sat",
)
SAMPLED_ROWS = (32, 64, 128, 256)
NEW_VARIABLES = "new variables"
FIGURES = ("positive_mean", "negative_mean", "chi_squared")


class SplitStatistics(NamedTuple):
    """A row of Table 1: means over the formulas of a split, and over its pairs for variables."""

    rows: int
    variables: float
    operators: float
    length: float
    table_rows: float


def split_statistics(pairs: Iterable[Pair]) -> SplitStatistics:
    """Compute the row of Table 1 for pairs."""
    rows = variables = operators = length = table_rows = 0
    for pair in pairs:
        both = pair.a + pair.b
        count = len(variables_of(both))
        rows += 1
        variables += count
        operators += sum(map(both.count, OPERATORS))
        length += len(both)
        table_rows += 1 << count
    return SplitStatistics(
        rows, variables / rows, operators / 2 / rows, length / 2 / rows, table_rows / rows
    )


def as_in_table_1(name: str, line: SplitStatistics) -> SplitStatistics:
    """Sum over both formulas of a pair in the splits where the paper does so."""
    if name not in BOTH_FORMULAS:
        return line
    return line._replace(operators=2 * line.operators, length=2 * line.length)


@lru_cache(maxsize=64)
def features(rpn: str) -> tuple[int, ...]:
    """Compute the features of a formula that appendix A.1 lists."""
    places = list(zip(levels(rpn), rpn, strict=True))
    return (
        len(rpn),
        *map(rpn.count, OPERATORS),
        *(places.count((level, operator)) for operator in OPERATORS for level in TREE_LEVELS),
        count_models(Formula(tuple(rpn))),
    )


@dataclass
class Comparison:
    """How often each value of a feature occurs among positives and among negatives."""

    positive: Counter[int] = field(default_factory=Counter)
    negative: Counter[int] = field(default_factory=Counter)

    def of(self, label: int) -> Counter[int]:
        """Return the counts among the rows of one label."""
        return self.positive if label else self.negative

    @property
    def means(self) -> tuple[float, float]:
        """The mean among positives, and among negatives."""
        return mean(self.positive), mean(self.negative)

    @property
    def chi_squared(self) -> float:
        """The sum of (x - y)² / (x + y) over all values."""
        values = self.positive.keys() | self.negative.keys()
        counts = ((self.positive[value], self.negative[value]) for value in values)
        return sum((x - y) ** 2 / (x + y) for x, y in counts)

    @property
    def degrees_of_freedom(self) -> int:
        """One less than the number of values."""
        return max(0, len(self.positive.keys() | self.negative.keys()) - 1)

    @property
    def known_figures(self) -> tuple[float | None, float | None, float | None]:
        """Both means and chi²; None where a class is empty, or chi² has no degree of freedom."""
        positive, negative = self.means
        is_comparable = self.positive and self.negative and self.degrees_of_freedom
        return (
            positive if self.positive else None,
            negative if self.negative else None,
            self.chi_squared if is_comparable else None,
        )


def mean(counts: Counter[int]) -> float:
    """Compute the mean of counted values."""
    return sum(value * n for value, n in counts.items()) / max(1, counts.total())


SIDES = ("A", "B")


@dataclass
class FileStatistics:
    """The tables of requirements, the heuristics and the sampling estimate for one file."""

    rows: int = 0
    positive: int = 0
    features: dict[str, dict[str, Comparison]] = field(
        default_factory=lambda: {
            **{name: {side: Comparison() for side in SIDES} for name in FEATURES},
            NEW_VARIABLES: {"B": Comparison()},
        }
    )
    """By feature, then by side, A or B."""
    heuristics_right: list[int] = field(default_factory=lambda: [0, 0, 0])
    row_sampling: "RowSampling" = field(default_factory=lambda: RowSampling())

    def sampling(self) -> Iterator[tuple[int, float, float]]:
        """Yield the rows sampled, the fraction of non-entailments refuted, and the accuracy."""
        return self.row_sampling.results()


@dataclass
class RowSampling:
    """How well random rows of the truth table decide entailment (section 5)."""

    positive: int = 0
    negative: int = 0
    refuted: dict[int, int] = field(default_factory=lambda: dict.fromkeys(SAMPLED_ROWS, 0))
    """The number of non-entailments refuted, by the number of rows sampled."""

    def add(self, pair: Pair, rng: Random) -> None:
        """Sample rows for a pair, unless it is an entailment, which no row refutes."""
        if pair.label:
            self.positive += 1
            return
        self.negative += 1
        bits = sample_refuting_bits(rng, pair.a, pair.b, max(SAMPLED_ROWS))
        for count in SAMPLED_ROWS:
            self.refuted[count] += bool(bits & ((1 << count) - 1))

    def results(self) -> Iterator[tuple[int, float, float]]:
        """Yield the rows sampled, the fraction of non-entailments refuted, and the accuracy."""
        rows = max(1, self.positive + self.negative)
        for count, refuted in self.refuted.items():
            yield count, refuted / max(1, self.negative), (self.positive + refuted) / rows


def sample_truth_tables(pairs: Iterable[Pair], seed: int = 0) -> RowSampling:
    """Decide pairs by random rows of their truth tables."""
    sampling, rng = RowSampling(), Random(seed)
    for pair in pairs:
        sampling.add(pair, rng)
    return sampling


def file_statistics(pairs: Iterable[Pair], seed: int = 0) -> FileStatistics:
    """Compute the statistics of pairs; the seed is for sampling rows."""
    total = FileStatistics()
    rng = Random(seed)
    counts = {
        (side, label): [total.features[name][side].of(label) for name in FEATURES]
        for side in SIDES
        for label in (0, 1)
    }
    for pair in pairs:
        total.rows += 1
        total.positive += pair.label
        for side, rpn in zip(SIDES, (pair.a, pair.b), strict=True):
            for values, value in zip(counts[side, pair.label], features(rpn), strict=True):
                values[value] += 1
        new = len(set(pair.b).difference(pair.a, OPERATORS))
        total.features[NEW_VARIABLES]["B"].of(pair.label)[new] += 1
        for i, guess in enumerate(heuristics(pair.a, pair.b)):
            total.heuristics_right[i] += guess == pair.label
        total.row_sampling.add(pair, rng)
    return total


def as_json(statistics: FileStatistics) -> dict[str, Any]:
    """Convert the statistics of a file to JSON values."""
    return {
        "rows": statistics.rows,
        "positive": statistics.positive,
        "features": {
            name: {
                side: {
                    **dict(zip(FIGURES, comparison.known_figures, strict=True)),
                    "degrees_of_freedom": comparison.degrees_of_freedom,
                }
                for side, comparison in sides.items()
            }
            for name, sides in statistics.features.items()
        },
        "heuristics": {
            f"H{i}": right / statistics.rows
            for i, right in enumerate(statistics.heuristics_right, 1)
        },
        "truth_table_sampling": [
            {
                "sampled_rows": count,
                "refuted": refuted if statistics.row_sampling.negative else None,
                "accuracy": accuracy,
            }
            for count, refuted, accuracy in statistics.sampling()
        ],
    }
