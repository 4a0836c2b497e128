"""The rows of a report's tables, which carry numbers; cells.py formats them.

Accuracies are fractions, not percent; `SeedMean` is a mean over seeds.
"""

from dataclasses import dataclass

from possibleworlds.data.statistics import FileStatistics, SplitStatistics
from possibleworlds.report.runs import CurvePoint, SeedMean
from possibleworlds.training.evaluation import interval


@dataclass(frozen=True)
class ResultRow:
    """The accuracy of a network, trained on some data, on all splits."""

    model: str
    trained_on: str
    seeds: list[int]
    validation: SeedMean
    accuracy: dict[str, dict[str, SeedMean]]  # by the name of the data set, then by split
    paper: dict[str, float] | None
    parameters: int
    seconds: SeedMean
    pairs_per_second: SeedMean


@dataclass(frozen=True)
class LearningCurve:
    """The learning curve of a network, means over seeds."""

    model: str
    batch_size: int
    points: list[CurvePoint]


@dataclass(frozen=True)
class SizeBin:
    """The accuracy on pairs of a range of sizes."""

    low: int
    high: int
    rows: int
    accuracy: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval that follows from the number of rows."""
        return interval(round(self.accuracy * self.rows), self.rows)

    @property
    def label(self) -> str:
        """The range, like 5-9 or 3."""
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(frozen=True)
class SizeRow:
    """The accuracy of a network by the size of a pair, over all test sets of a data set."""

    model: str
    source: str
    bins: dict[str, list[SizeBin]]  # by variables, and by operators


@dataclass(frozen=True)
class Gain:
    """A difference of two accuracies on the same test set."""

    difference: float
    half_width: float | None  # of the 95 % interval that follows from the number of rows


@dataclass(frozen=True)
class PermutationRow:
    """What symbol permutation does for a network."""

    model: str
    with_permutation: SeedMean
    without_permutation: SeedMean
    gain: float
    gain_on_tests: dict[str, Gain]
    paper_gain: list[float] | None  # from and to, where the paper names it


@dataclass(frozen=True)
class OneSidedRow:
    """The accuracy of a network that sees one side of each pair."""

    model: str
    side: str
    trained_on: str
    seeds: list[int]
    validation: SeedMean
    test_easy: SeedMean | None


@dataclass(frozen=True)
class WorldsRow:
    """A PossibleWorldNet trained with some number of worlds."""

    worlds: int
    validation: SeedMean
    seconds: SeedMean
    points: list[CurvePoint]


@dataclass(frozen=True)
class WorldsTables:
    """How the number of worlds matters, in training and in evaluation."""

    in_training: list[WorldsRow]
    in_evaluation: dict[str, dict[int, SeedMean]]  # by file, then by the number of worlds


@dataclass(frozen=True)
class SamplingRow:
    """Random rows of the truth table against a network with as many worlds."""

    file: str
    count: int  # of rows, or of worlds
    refuted: float  # the fraction of non-entailments with a countermodel among the rows
    paper_refuted: float | None
    sampling: float  # the accuracy of deciding so
    network: SeedMean | None


@dataclass(frozen=True)
class ErrorRow:
    """A pair that a network got wrong."""

    model: str
    file: str
    premise: str
    conclusion: str
    entails: bool  # what is true, not what the network said


@dataclass(frozen=True)
class DataRow:
    """A data set: Table 1 for its files, and the biases of its training data."""

    name: str
    method: str
    table_1: dict[str, SplitStatistics]
    biases: FileStatistics | None
