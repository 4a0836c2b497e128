"""The naive sampling of appendix A.2.1, whose biases the paper's own method avoids."""

from collections.abc import Sequence

from possibleworlds.data.fourtuples import Row
from possibleworlds.data.groups import SIDE, Group


def naive_pairs(groups: Sequence[Group]) -> list[list[Row]]:
    """An entailment, then a non-entailment, and so on, each sampled until it came out so."""
    sampled: tuple[list[Row], list[Row]] = ([], [])
    for i in range(SIDE):
        for group in groups:
            label = int(group.entails(i, i))
            sampled[label].append((group.left(i), group.right(i), label))
    negative, positive = sampled
    return [[yes, no] for yes, no in zip(positive, negative, strict=False)]
