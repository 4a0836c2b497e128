"""The selection rule that sweeps, reports and pretrained networks share.

Settings are selected by their mean validation accuracy over seeds; of the seeds of the selected
settings, the one with the best validation accuracy is released. Test data play no part in either.
Ties go to the first in order.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

SELECTED = "selected.json"


@dataclass(frozen=True)
class SelectedRuns:
    """The content of selected.json: the names of the runs next to it that may appear in results."""

    selected: list[str]


def rank_settings(validation: Mapping[K, Sequence[float]]) -> list[K]:
    """Rank settings by the mean validation accuracy of their seeds, best first.

    >>> rank_settings({"lucky once": [0.9, 0.5, 0.5], "steady": [0.8, 0.8, 0.8], "failed": []})
    ['steady', 'lucky once']
    """
    means = {key: fmean(seeds) for key, seeds in validation.items() if seeds}
    return sorted(means, key=lambda key: -means[key])


def rank_seeds(validation: Mapping[K, float]) -> list[K]:
    """Rank the seeds of the selected settings by validation accuracy, best first."""
    return sorted(validation, key=lambda key: -validation[key])
