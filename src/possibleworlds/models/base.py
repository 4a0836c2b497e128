"""What every network has in common, and what its author has to say about it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn.functional import nll_loss

from possibleworlds.models.trees import Batch

LEARNING_GRID: dict[str, list[Any]] = {
    "learning_rate": [1e-5, 1e-4, 1e-3],
    "batch_size": [64, 128],
    "permute_symbols": [False, True],
}
"""What the paper searches for every network (section 4)."""


class Model(nn.Module, ABC):
    """A network that is given pairs of formulas and says how likely A entails B."""

    settings_class: ClassVar[type]
    """A frozen dataclass whose fields are the network's own settings, each with a default."""
    search_space: ClassVar[dict[str, list[Any]]] = LEARNING_GRID
    """The values of the paper's grid for each setting, of the network or of its training."""
    training_defaults: ClassVar[dict[str, Any]] = {}
    """Settings of the training (training/settings.py) that suit this network better."""
    may_be_zero: ClassVar[frozenset[str]] = frozenset()
    """The whole-numbered settings that may be 0; the others are 1 at least."""
    share_trained: float = 0.0
    """How much of its training lies behind the network, for those that change on the way."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""

    def loss(self, answer: Tensor, labels: Tensor) -> Tensor:
        """What training makes small: the cross-entropy of what forward gave."""
        return nll_loss(answer, labels)
