"""What answers without a network: random rows of the truth table."""

from collections.abc import Iterable
from random import Random

from possibleworlds.data.pairs import Pair
from possibleworlds.logic.truth import sample_refuting_bits


def random_rows(pairs: Iterable[Pair], count: int) -> float:
    """Compute the accuracy of answering "no" if one of so many random rows is a countermodel."""
    random = Random(0)
    right = [
        bool(sample_refuting_bits(random, pair.a, pair.b, count)) != pair.label for pair in pairs
    ]
    return sum(right) / len(right)
