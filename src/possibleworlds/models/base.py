"""The base class of all networks, and the options of an evaluation."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from torch import Tensor, nn
from torch.nn.functional import nll_loss

from possibleworlds.errors import UserError
from possibleworlds.models.batch import Batch
from possibleworlds.records import Range, check_argument

MAX_SEARCH = 10**12
"""The largest number of worlds or steps that a network can be evaluated with."""

LEARNING_GRID: dict[str, list[Any]] = {
    "learning_rate": [1e-5, 1e-4, 1e-3],
    "batch_size": [64, 128],
    "permute_symbols": [False, True],
}
"""The part of the paper's grid that all networks share (section 4)."""


@dataclass(frozen=True)
class Options:
    """How a network evaluates a batch; None stands for the network's own setting."""

    worlds: int | None = None
    """The number of worlds of a PossibleWorldNet."""
    steps: int | None = None
    """The number of gradient steps of guided worlds."""
    budget: int | None = None
    """The number of worlds that the search of guided worlds may visit for a pair."""
    share_budget: bool = False
    """Whether the other pairs of the batch may use the budget that refuted pairs leave."""
    first_world: int = 0
    """The number of worlds that were evaluated before, which are not drawn again."""
    progress: float = 1.0
    """The fraction of training that is done, for networks that change during training."""


DEFAULT_OPTIONS = Options()


class Model(nn.Module, ABC):
    """A network that predicts the probability that A entails B for pairs of formulas."""

    name: ClassVar[str]
    """The name that users type. Classes of this folder with a name are listed (registry.py)."""
    summary: ClassVar[str] = ""
    """A one-line description."""
    family: ClassVar[str] = "others"
    """bags, sequences, trees or worlds: whose best network a report names (report/figures.py)."""
    citation: ClassVar[str] = ""
    """The source: authors, year, title."""
    settings_class: ClassVar[type]
    """A frozen dataclass whose fields are the network's own settings, each with a default."""
    training_defaults: ClassVar[dict[str, Any]] = {}
    """Training settings (training/settings.py) with other defaults for this network."""
    search_space: ClassVar[dict[str, list[Any]]] = LEARNING_GRID
    """The paper's grid: values for settings of the network and of its training."""
    search_share: ClassVar[float] = 1.0
    """The share of a search budget, relative to other networks; 0 for no search."""
    published: ClassVar[dict[str, float]] = {}
    """Accuracy in percent on each published split, from a paper other than Evans et al."""
    may_be_zero: ClassVar[frozenset[str]] = frozenset()
    """The integer settings that may be 0; the others are at least 1."""
    has_worlds: ClassVar[bool] = False
    """Whether the network evaluates pairs in worlds, whose number `Options.worlds` sets."""
    has_steps: ClassVar[bool] = False
    """Whether its worlds move, within `Options.steps` or `Options.budget`."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings

    @classmethod
    def engine(cls, device: str, settings: Any) -> str:  # noqa: ARG003
        """Name the engine for a device and settings; a run can only be resumed with the same."""
        return "torch"

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""

    def log_probs(self, batch: Batch, options: Options = DEFAULT_OPTIONS) -> Tensor:  # noqa: ARG002
        """Compute the same as `forward`, with options for networks that support them."""
        log_probs: Tensor = self(batch)
        return log_probs

    def loss(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Compute the loss to minimise: the cross-entropy, unless overridden."""
        return nll_loss(log_probs, labels)

    @classmethod
    def validate_options(cls, options: Options) -> None:
        """Raise UserError if the network cannot be evaluated with these options."""
        for name, supported, what, minimum in (
            ("worlds", cls.has_worlds, "networks with worlds", 1),
            ("steps", cls.has_steps, "networks with guided worlds", 0),
            ("budget", cls.has_steps, "networks with guided worlds", 1),
        ):
            if (value := getattr(options, name)) is None:
                continue
            if not supported:
                raise UserError(f"{name} is for {what}, not for {cls.__name__}")
            check_argument(name, value, Annotated[int, Range(minimum, MAX_SEARCH)])
