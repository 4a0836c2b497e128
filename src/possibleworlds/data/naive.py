"""The naive sampling of appendix A.2.1, whose biases the paper's preferred method avoids."""

from collections.abc import Sequence

from possibleworlds.data.groups import SIDE, Group
from possibleworlds.data.pairs import Pair


def naive_pairs(groups: Sequence[Group]) -> list[list[Pair]]:
    """Sample entailments and non-entailments independently, and pair them up."""
    sampled: tuple[list[Pair], list[Pair]] = ([], [])
    for i in range(SIDE):
        for group in groups:
            label = group.entails(i, i)
            sampled[label].append(Pair(group.left(i), group.right(i), label))
    negative, positive = sampled
    return [[yes, no] for yes, no in zip(positive, negative, strict=False)]
