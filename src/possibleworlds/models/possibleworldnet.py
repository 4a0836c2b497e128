"""The PossibleWorldNet (section 3.3): does A entail B in every one of n imagined worlds?

    P(A entails B) = product over worlds w of sigmoid(z),  z = W_f [sat3(w, A), sat3(w, B)] + b_f

The paper leaves open some details without which it does not learn: worlds are drawn anew for each
batch, the product over them is taken in log space, and f is initialised with large weights and with
a bias at which P(A entails B) is one half, so that the loss does not start on a plateau.

It learns well with a prior on worlds: their components are -1 or 1 (`binary_worlds`), and the W4 of
each variable is initialised with a component of its own, all in one direction (`variable_prior`),
so that a world starts out close to a truth value per variable. What these mean to the operators and
to f is learnt, and so is W4 itself; `binary_worlds=false`, `variable_prior=0` are the paper's
worlds, without the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from possibleworlds.logic.alphabet import N_OPERATORS, N_VARIABLES
from possibleworlds.models.base import DEFAULT_OPTIONS, LEARNING_GRID, Model, Options
from possibleworlds.models.batch import Batch
from possibleworlds.models.init import even_odds_bias, linear_uniform
from possibleworlds.models.trees import native
from possibleworlds.models.trees.engine import scores
from possibleworlds.models.trees.forest import SLOTS
from possibleworlds.models.trees.sat3 import Parameters
from possibleworlds.models.trees.workspace import Workspace


@dataclass(frozen=True)
class PossibleWorldNetSettings:
    """Sizes of a PossibleWorldNet."""

    size: int = 32  # d, of the vector of a formula in a world
    world_size: int = 26  # k, of the vector of a world
    worlds: int = 128  # n
    binary_worlds: bool = True  # components are -1 or 1, not uniform on [-1, 1]
    variable_prior: float = 2.0  # initial weight of a variable's own component of the world
    fixed_worlds: bool = False  # the same in every batch
    world_seed: int = 0  # of fixed worlds
    output_init_scale: float = 12.0  # factor of the initial W_f


class Imagined(NamedTuple):
    """The worlds in which pairs were evaluated, and how well each agrees with "A entails B"."""

    worlds: Tensor  # (rows, n, k), or (1, n, k) if all pairs share them
    z: Tensor  # (rows, n), the score of each world; negative if it refutes "A entails B"
    evaluations: Tensor | None = None  # (rows,), of a search that may end early; else n
    best_alone: bool = False
    """Whether the best world decides alone, as the worlds of a search are no random sample."""

    @property
    def log_probs(self) -> Tensor:
        """log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        return all_worlds(self.z.amin(1, keepdim=True) if self.best_alone else self.z)


class PossibleWorldNet(Model):
    """A and B are evaluated in random worlds, the same for all pairs of a batch."""

    name: ClassVar[str] = "possibleworldnet"
    summary: ClassVar[str] = "A and B in many imagined worlds"
    family: ClassVar[str] = "worlds"
    citation: ClassVar[str] = (
        'Evans et al. 2018, "Can Neural Networks Understand Logical Entailment?", section 3.3'
    )
    settings_class: ClassVar[type] = PossibleWorldNetSettings
    has_worlds: ClassVar[bool] = True
    training_defaults: ClassVar[dict[str, Any]] = {"learning_rate": 2e-3}
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"world_seed"})
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
    }
    search_share: ClassVar[float] = 0

    def __init__(self, settings: PossibleWorldNetSettings) -> None:
        super().__init__(settings)
        s = settings
        d, k = s.size, s.world_size
        self.w4 = nn.Parameter(linear_uniform(N_VARIABLES, k, d, fan_in=k))
        # W1 of each operator, split into a part for each argument, and transposed: x @ w1[slot].
        self.w1 = nn.Parameter(linear_uniform(len(SLOTS), d, d, fan_in=2 * d))
        self.b1 = nn.Parameter(linear_uniform(N_OPERATORS, d, fan_in=2 * d))
        self.f = nn.Linear(2 * d, 1)
        with torch.no_grad():
            self.f.weight *= s.output_init_scale
            self.f.bias.fill_(even_odds_bias(s.worlds))
            direction = nn.functional.normalize(torch.randn(d), dim=0)
            for variable in range(N_VARIABLES):
                self.w4[variable, variable % k] += s.variable_prior * direction
        self.workspace = Workspace()

    @classmethod
    def engine(cls, device: str, settings: Any) -> str:  # noqa: ARG003
        """Name the engine that computes sat3 on a device: the native kernel, or torch."""
        return native.engine(device)

    def n_worlds(self, options: Options = DEFAULT_OPTIONS) -> int:
        """Return the number of worlds of an evaluation."""
        worlds: int = self.settings.worlds if options.worlds is None else options.worlds
        return worlds

    def worlds_per_round(self, options: Options = DEFAULT_OPTIONS) -> int:
        """Return how many worlds a search in rounds draws at a time."""
        return max(1, self.n_worlds(options) // 4)

    def draw_worlds(self, rows: int, n: int, first_world: int = 0) -> Tensor:
        """Draw n worlds per row uniformly from [-1, 1]^k, after the first ones, (rows, n, k)."""
        generator = None
        if self.settings.fixed_worlds:
            generator = torch.Generator().manual_seed(self.settings.world_seed)
        # Drawn on the CPU, so that they are the same on every device.
        worlds = torch.rand(rows, first_world + n, self.settings.world_size, generator=generator)
        return (2 * worlds[:, first_world:] - 1).to(self.f.weight)

    def round_worlds(self, worlds: Tensor) -> Tensor:
        """Round each world to the nearest corner of [-1, 1]^k, if worlds are binary."""
        return 1 - 2 * (worlds < 0).to(worlds) if self.settings.binary_worlds else worlds

    @property
    def parameters_of_sat3(self) -> Parameters:
        """The parameters of sat3 and of f."""
        return Parameters(self.w4, self.w1, self.b1, self.f.weight.view(2, -1))

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        return self.log_probs(batch)

    def log_probs(self, batch: Batch, options: Options = DEFAULT_OPTIONS) -> Tensor:
        """Compute the same as `forward`, with any number of worlds."""
        return self.imagine(batch, options).log_probs

    def imagine(self, batch: Batch, options: Options = DEFAULT_OPTIONS) -> Imagined:
        """Evaluate each pair in random worlds, the same ones for all."""
        n = self.n_worlds(options)
        worlds = self.round_worlds(self.draw_worlds(1, n, first_world=options.first_world))
        parameters = self.parameters_of_sat3
        as_left, as_right = scores(batch, worlds, parameters, self.workspace)
        left, right = as_left.index_select(0, batch.left), as_right.index_select(0, batch.right)
        return Imagined(worlds, left + right + self.f.bias)

    def assignments(self, worlds: Tensor) -> Tensor:
        """Convert worlds (..., k) to truth assignments (..., 26), as the network itself reads them.

        A variable v counts as true in a world that refutes "v entails not v" better than
        "not v entails v". The variables are those of the batch, after any permutation.
        """
        return self.read_variables(worlds, self.w4)

    @torch.no_grad()
    def read_variables(self, worlds: Tensor, w4: Tensor) -> Tensor:
        """Compute which variables are true in worlds (..., k), (..., 26)."""
        variable = torch.nn.functional.normalize(worlds[..., None, None, :] @ w4, dim=-1)
        negation = torch.nn.functional.normalize(variable @ self.w1[0] + self.b1[0], dim=-1)
        left, right = self.f.weight.view(2, -1)
        return ((variable - negation) @ (left - right)).squeeze(-1) < 0  # (..., 26)


def all_worlds(z: Tensor) -> Tensor:
    """Compute log(1 - P) and log P, (rows, 2), of the product P of sigmoid(z) over worlds."""
    log_p = nn.functional.logsigmoid(z).sum(-1)
    # The bound keeps log(1 - P) finite where P rounds to 1.
    log_q = torch.log(-torch.expm1(log_p.clamp(max=-1e-30)))
    return torch.stack((log_q, log_p), -1)
