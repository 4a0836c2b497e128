"""What every network has in common, and what its file declares about it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn.functional import nll_loss

from possibleworlds.errors import UserError
from possibleworlds.models.batch import Batch

MAX_SEARCH = 10**12
"""The largest number of worlds, or of steps, that a network can be evaluated with."""

LEARNING_GRID: dict[str, list[Any]] = {
    "learning_rate": [1e-5, 1e-4, 1e-3],
    "batch_size": [64, 128],
    "permute_symbols": [False, True],
}
"""What the paper searches for every network (section 4)."""


@dataclass(frozen=True)
class Options:
    """How a network evaluates a batch; what is None is the network's own setting."""

    worlds: int | None = None
    """The number of worlds of a PossibleWorldNet."""
    steps: int | None = None
    """The number of gradient steps of guided worlds."""
    budget: int | None = None
    """The number of worlds that a pair may be evaluated in by the search of guided worlds."""
    share_budget: bool = False
    """Whether what refuted pairs leave of their budget goes to the other pairs of the batch."""
    first_world: int = 0
    """The number of worlds of an earlier evaluation, which are not drawn again."""
    progress: float = 1.0
    """The fraction of training that is done, for networks that change on the way."""


DEFAULT_OPTIONS = Options()


class Model(nn.Module, ABC):
    """A network that receives pairs of formulas and estimates the probability that A entails B."""

    name: ClassVar[str]
    """What users type. A class of this folder that has a name is listed (registry.py)."""
    summary: ClassVar[str] = ""
    """What the network is, in one line."""
    citation: ClassVar[str] = ""
    """Where it comes from: authors, year, title."""
    settings_class: ClassVar[type]
    """A frozen dataclass whose fields are the network's own settings, each with a default."""
    training_defaults: ClassVar[dict[str, Any]] = {}
    """Settings of the training (training/settings.py) that suit this network better."""
    search_space: ClassVar[dict[str, list[Any]]] = LEARNING_GRID
    """The values of the paper's grid for each setting, of the network or of its training."""
    search_share: ClassVar[float] = 1.0
    """The share of a search budget, relative to other networks; 0 where none is searched for."""
    published: ClassVar[dict[str, float]] = {}
    """Percent right on each published split, of a paper other than Evans et al. (paper.py)."""
    may_be_zero: ClassVar[frozenset[str]] = frozenset()
    """The integer settings that may be 0; the others are at least 1."""
    has_worlds: ClassVar[bool] = False
    """Whether the network evaluates pairs in worlds, whose number `Options.worlds` changes."""
    has_steps: ClassVar[bool] = False
    """Whether these worlds move, as far as `Options.steps` or `Options.budget` allow."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings

    @classmethod
    def engine(cls, device: str) -> str:  # noqa: ARG003
        """Name what computes the network on a device; a run goes on with the same one only."""
        return "torch"

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""

    def log_probs(self, batch: Batch, options: Options = DEFAULT_OPTIONS) -> Tensor:  # noqa: ARG002
        """Compute what `forward` does, with options for the networks that have any."""
        log_probs: Tensor = self(batch)
        return log_probs

    def loss(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Compute the loss to minimise: the cross-entropy, unless overridden."""
        return nll_loss(log_probs, labels)

    @classmethod
    def validate_options(cls, options: Options) -> None:
        """Raise UserError if the network cannot be evaluated with these options."""
        for value, supported, what, minimum in (
            (options.worlds, cls.has_worlds, "worlds", 1),
            (options.steps, cls.has_steps, "worlds that move", 0),
            (options.budget, cls.has_steps, "worlds that move", 1),
        ):
            if value is None:
                continue
            if not supported:
                raise UserError(f"{cls.__name__} imagines no {what}")
            if not minimum <= value <= MAX_SEARCH:
                raise UserError(f"{value} is not within {minimum} to {MAX_SEARCH:,}")
