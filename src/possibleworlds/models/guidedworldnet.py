"""A PossibleWorldNet that searches for the world that refutes an entailment.

Each pair starts from random worlds of its own. They move down the gradient of
z = W_f [sat3(w, A), sat3(w, B)] + b_f, which is the lower the more w speaks against "A entails B",
and the product is taken over the worlds where they arrive. The search knows no logic, only what the
network has learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from possibleworlds.models.base import DEFAULT_OPTIONS, Options
from possibleworlds.models.batch import Batch
from possibleworlds.models.possibleworldnet import (
    Imagined,
    PossibleWorldNet,
    PossibleWorldNetSettings,
)
from possibleworlds.models.trees.engine import scores, world_gradients


@dataclass(frozen=True)
class GuidedWorldNetSettings(PossibleWorldNetSettings):
    """Sizes of a GuidedWorldNet, and how far its worlds move."""

    worlds: int = 64
    steps: int = 24  # T
    step_length: float = 0.5
    unguided_fraction: float = 0.5  # of training, at first, with worlds that do not move
    # Then each batch has a search of its own, with longer steps than those of an evaluation: worlds
    # of a kind that training never visits cause false refutations.
    training_step_length: float = 1.0
    training_steps: int = 12  # uniform from 1 to this
    training_worlds: int = 64  # log-uniform from a quarter of this to this, and fewer where
    training_evaluations: int = 256  # worlds x (steps + 1) would exceed this


class GuidedWorldNet(PossibleWorldNet):
    """The paper's PossibleWorldNet, with worlds guided by its own gradient."""

    name: ClassVar[str] = "guidedworldnet"
    summary: ClassVar[str] = "worlds moved by gradient towards a countermodel"
    citation: ClassVar[str] = (
        "this package; after Evans et al. 2018, "
        '"Can Neural Networks Understand Logical Entailment?"'
    )
    settings: GuidedWorldNetSettings
    settings_class: ClassVar[type] = GuidedWorldNetSettings
    training_defaults: ClassVar[dict[str, Any]] = {
        **PossibleWorldNet.training_defaults,
        "validation_rows": 2000,
        "evaluations": 8,
    }
    may_be_zero: ClassVar[frozenset[str]] = PossibleWorldNet.may_be_zero | {"steps"}
    search_space: ClassVar[dict[str, list[Any]]] = {
        **PossibleWorldNet.search_space,
        "worlds": [32, 64],
        "steps": [8, 16, 24],
        "step_length": [0.5, 1.0],
    }

    has_steps: ClassVar[bool] = True

    def n_steps(self, options: Options = DEFAULT_OPTIONS) -> int:
        """Return the number of steps that each world of an evaluation is moved."""
        return self.settings.steps if options.steps is None else options.steps

    def evaluations(self, options: Options = DEFAULT_OPTIONS) -> int:
        """Return how many worlds a pair is evaluated in: each once a step, and where it ends."""
        return self.n_worlds(options) * (self.n_steps(options) + 1)

    def imagine(self, batch: Batch, options: Options = DEFAULT_OPTIONS) -> Imagined:
        """Evaluate each pair in worlds that a search has led to; 0 steps are the plain model."""
        steps = self.n_steps(options)
        unguided = self.training and options.progress < self.settings.unguided_fraction
        if steps == 0 or unguided:
            return super().imagine(batch, options)
        pairs = len(batch.left)
        if self.training:
            n, steps = self.draw_search()
            return self.search_and_evaluate(batch, self.draw_worlds(pairs, n), steps)
        # All pairs start from the same worlds, so that none depends on the rest of the batch.
        worlds = self.draw_worlds(1, self.n_worlds(options), first_world=options.first_world)
        return self.search_and_evaluate(batch, worlds.expand(pairs, -1, -1), steps)

    def draw_search(self) -> tuple[int, int]:
        """Draw the numbers of worlds and of steps for a batch of training."""
        s = self.settings
        steps = 1 + int(torch.randint(s.training_steps, ()))
        n = round(s.training_worlds * 4.0 ** -torch.rand(()).item())
        return max(1, min(n, s.training_evaluations // (steps + 1))), steps

    def search_and_evaluate(self, batch: Batch, worlds: Tensor, steps: int) -> Imagined:
        """Move each pair's worlds towards a refutation, and evaluate it where they arrive."""
        worlds = self.round_worlds(self.search(batch, worlds, steps))
        parameters = self.parameters_of_sat3
        as_left, as_right = scores(batch, worlds, parameters, self.workspace, private=True)
        return Imagined(worlds, as_left[0::2] + as_right[1::2] + self.f.bias)

    @torch.no_grad()
    def search(self, batch: Batch, worlds: Tensor, steps: int) -> Tensor:
        """Move worlds (pairs, n, k) down the gradient of z by steps of fixed length, in [-1, 1]."""
        s = self.settings
        step_length = s.training_step_length if self.training else s.step_length
        parameters = self.parameters_of_sat3
        for _ in range(steps):
            gradient = world_gradients(batch, worlds, parameters, self.workspace)  # (pairs, n, k)
            length = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
            gradient *= step_length / length.clamp_min_(1e-30)
            worlds = (worlds - gradient).clamp_(-1, 1)
        return worlds
