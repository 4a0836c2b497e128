"""A PossibleWorldNet that searches for the world that refutes an entailment.

Each pair starts from its own random worlds. They move down the gradient of
z = W_f [sat3(w, A), sat3(w, B)] + b_f, which is lower the stronger w is as evidence against
"A entails B", and the product is taken over the worlds where they arrive. An evaluation takes only
a few such steps and continues by tabu search (tabu.py), until a world refutes the entailment or a
budget is spent; the best world then decides. The search knows no logic, only what the network has
learnt; but an evaluation first balances chains of operators (trees/balance.py).

Tabu search scores a world by both sides. With z = a + b + b_f, where a is W_f's term of A and b
that of B, e^a acts as the odds that A is false in w, and e^b as the odds that B is true. Their sum
is about the odds that w does not refute the entailment, so the score is log(e^a + e^b), negative
only if both a and b are. In z, one can compensate for the other: a search on z moves away from
countermodels that make B only just false, towards worlds that make both sides more and more false.

In a long chain of operators, vectors drift: this grades worlds by how many members are violated,
which guides the search, but it can make a false chain seem true. So a world that may refute a pair
is judged by formulas whose long chains are restored (trees/balance.py), and that decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from possibleworlds.models import tabu
from possibleworlds.models.base import DEFAULT_OPTIONS, Options
from possibleworlds.models.batch import Batch
from possibleworlds.models.possibleworldnet import (
    Imagined,
    PossibleWorldNet,
    PossibleWorldNetSettings,
)
from possibleworlds.models.tabu import score_of
from possibleworlds.models.trees.engine import scores, world_gradients
from possibleworlds.models.trees.sat3 import Parameters

DOUBT = 2.0
"""Worlds with a score below this are judged by restored formulas."""


@dataclass(frozen=True)
class GuidedWorldNetSettings(PossibleWorldNetSettings):
    """Sizes of a GuidedWorldNet, and the lengths of its searches."""

    worlds: int = 64
    # of tabu search, for each variable of a pair; 0 for gradient steps alone
    search_evaluations: int = 2000
    descent_steps: int = 4  # of the gradient, before tabu search
    steps: int = 24  # T, of the gradient alone
    step_length: float = 0.5
    unguided_fraction: float = 0.5  # the first part of training, with worlds that do not move
    # Then each batch has its own search, with longer steps than in evaluation: worlds of a kind
    # that training never visits cause false refutations.
    training_step_length: float = 1.0
    training_steps: int = 12  # uniform from 1 to this
    training_worlds: int = 64  # at most; log-uniform from a quarter of it
    training_evaluations: int = 256  # at most: worlds x (steps + 1) of a pair
    training_moves: int = 8  # of tabu search after these steps, uniform from 0 to this


class GuidedWorldNet(PossibleWorldNet):
    """The paper's PossibleWorldNet, with worlds guided by its own gradient."""

    name: ClassVar[str] = "guidedworldnet"
    summary: ClassVar[str] = "worlds that seek a countermodel"
    family: ClassVar[str] = "worlds"
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
    may_be_zero: ClassVar[frozenset[str]] = PossibleWorldNet.may_be_zero | {
        "steps",
        "descent_steps",
        "search_evaluations",
        "training_moves",
    }
    search_space: ClassVar[dict[str, list[Any]]] = {
        **PossibleWorldNet.search_space,
        "worlds": [32, 64],
        "steps": [8, 16, 24],
        "step_length": [0.5, 1.0],
    }

    has_steps: ClassVar[bool] = True

    @property
    def pruned_parameters(self) -> Parameters:
        """The parameters of sat3 and of f where worlds are guided, with W4 pruned.

        Each variable depends only on components that matter to it. The small rest of W4, if it were
        used, would add up over 20 components and more, so that a search could find worlds in which
        a variable is both true and false. Only gradient steps need the rest: without it, the vector
        of a variable does not change with the length of its component.
        """
        parameters = self.parameters_of_sat3
        if not self.settings.variable_prior:
            return parameters
        w4 = parameters.w4
        matters = tabu.relevant_components(w4, torch.eye(len(w4)).to(w4))
        return parameters._replace(w4=w4 * matters[..., None])

    def has_tabu_search(self, options: Options = DEFAULT_OPTIONS) -> bool:
        """Whether an evaluation has a tabu search; otherwise worlds only follow the gradient."""
        by_default = options.steps is None and self.settings.search_evaluations > 0
        return options.budget is not None or by_default

    def worlds_per_round(self, options: Options = DEFAULT_OPTIONS) -> int:
        """Return how many worlds a search in rounds draws at a time."""
        if self.has_tabu_search(options):
            return self.n_worlds(options)
        return super().worlds_per_round(options)

    def imagine(self, batch: Batch, options: Options = DEFAULT_OPTIONS) -> Imagined:
        """Evaluate each pair in the worlds of a search; 0 steps are a PossibleWorldNet."""
        steps = self.settings.steps if options.steps is None else options.steps
        unguided = self.training and options.progress < self.settings.unguided_fraction
        if unguided or (steps == 0 and (self.training or not self.has_tabu_search(options))):
            return super().imagine(batch, options)
        pairs = len(batch.left)
        if self.training:
            n, steps = self.draw_search()
            return self.search_and_evaluate(batch, self.draw_worlds(pairs, n), steps)
        # All pairs start from the same worlds, so that results do not depend on the batch.
        n = min(self.n_worlds(options), options.budget or self.n_worlds(options))
        worlds = self.draw_worlds(1, n, first_world=options.first_world).expand(pairs, -1, -1)
        if self.has_tabu_search(options):
            return self.search_on(batch, worlds, options)
        return self.search_and_evaluate(batch.balanced, worlds, steps)

    @torch.no_grad()
    def search_on(self, batch: Batch, worlds: Tensor, options: Options) -> Imagined:
        """Search by a few gradient steps and a tabu search, until refuted or out of budget."""
        s, n, variables = self.settings, worlds.shape[1], batch.variables
        steps = s.descent_steps if options.steps is None else options.steps
        relevant = tabu.relevant_components(self.w4, variables.to(self.w4))
        # Worlds differ only in components that matter to the pair; the others could mislead it.
        worlds = torch.where(relevant[:, None], worlds, worlds[:, :1])
        if options.budget is None:
            budgets = n * (1 + steps) + s.search_evaluations * variables.sum(1)
        else:
            steps = min(steps, options.budget // n - 1)
            budgets = torch.full_like(batch.left, options.budget)
        balanced = batch.balanced
        worlds = self.round_worlds(self.search(balanced, worlds, steps, relevant))
        evaluator = partial(self.judge, balanced, batch.restored, batch.has_long_chain)
        score = score_of(*evaluator()(torch.arange(len(worlds), device=worlds.device), worlds))
        visited = tabu.Visited.start(worlds, score, evaluations=n * (1 + steps))
        tabu.search(visited, evaluator, relevant, budgets, options.share_budget)
        return Imagined(visited.worlds, visited.score, visited.evaluations, best_alone=True)

    def evaluator(self, batch: Batch) -> tabu.Evaluate:
        """Return a function that evaluates pairs in worlds, and orders their nodes only once."""
        part, part_rows = batch, torch.arange(len(batch.left), device=batch.device)
        parameters = self.pruned_parameters

        def evaluate(rows: Tensor, worlds: Tensor) -> tuple[Tensor, Tensor]:
            nonlocal part, part_rows
            if not torch.equal(rows, part_rows):
                part, part_rows = batch.select(rows), rows
            return self.sides(part, worlds, parameters)

        return evaluate

    def judge(self, balanced: Batch, restored: Batch, has_long_chain: Tensor) -> tabu.Evaluate:
        """Return a function that evaluates balanced pairs, and judges worlds by restored ones.

        Worlds in doubt are judged, and the best of each pair, which then may refute it after all.
        """
        grade, decide = self.evaluator(balanced), self.evaluator(restored)

        def evaluate(rows: Tensor, worlds: Tensor) -> tuple[Tensor, Tensor]:
            a, b = grade(rows, worlds)
            pairs = has_long_chain[rows].nonzero()[:, 0]
            if len(pairs):
                score = score_of(a[pairs], b[pairs])
                n_doubtful = (score < DOUBT).sum(1, keepdim=True)
                most = max(1, int(n_doubtful.max()))
                places = pairs[:, None], score.topk(most, largest=False).indices  # (pairs, most)
                judgement = decide(rows[pairs], worlds[places])
                is_judged = torch.arange(most, device=score.device) < n_doubtful
                is_judged[:, 0] |= score_of(*judgement)[:, 0] < 0  # the best world, even if clear
                for term, judged in zip((a, b), judgement, strict=True):
                    term[places] = torch.where(is_judged, judged, term[places])
            return a, b

        return evaluate

    def assignments(self, worlds: Tensor) -> Tensor:
        """Convert worlds (..., k) to truth assignments (..., 26), as a search reads them."""
        return self.read_variables(worlds, self.pruned_parameters.w4)

    def draw_search(self) -> tuple[int, int]:
        """Draw the number of worlds and steps for a training batch."""
        s = self.settings
        steps = 1 + int(torch.randint(s.training_steps, ()))
        n = round(s.training_worlds * 4.0 ** -torch.rand(()).item())
        return max(1, min(n, s.training_evaluations // (steps + 1))), steps

    def search_and_evaluate(self, batch: Batch, worlds: Tensor, steps: int) -> Imagined:
        """Move each pair's worlds towards a refutation, and evaluate it where they arrive."""
        worlds = self.round_worlds(self.search(batch, worlds, steps))
        if self.training and self.settings.training_moves:
            worlds = self.search_in_training(batch, worlds)
        return Imagined(worlds, self.evaluate(batch, worlds))

    @torch.no_grad()
    def search_in_training(self, batch: Batch, worlds: Tensor) -> Tensor:
        """Make a random number of moves from the best worlds, whether they refute or not."""
        moves = int(torch.randint(self.settings.training_moves + 1, ()))
        score = score_of(*self.sides(batch, worlds))
        visited = tabu.Visited.start(worlds, score, evaluations=0)
        relevant = tabu.relevant_components(self.w4, batch.variables.to(self.w4))
        tabu.walk(visited, partial(self.evaluator, batch), relevant, moves)
        return visited.worlds

    def sides(
        self, batch: Batch, worlds: Tensor, parameters: Parameters | None = None
    ) -> tuple[Tensor, Tensor]:
        """Compute the terms of A and of B in z, in each pair's own worlds, (pairs, n) each."""
        parameters = parameters or self.pruned_parameters
        as_left, as_right = scores(batch, worlds, parameters, self.workspace, private=True)
        return as_left[0::2], as_right[1::2]

    def evaluate(self, batch: Batch, worlds: Tensor) -> Tensor:
        """Compute z of each pair in its own worlds (pairs, n, k), (pairs, n)."""
        a, b = self.sides(batch, worlds)
        return a + b + self.f.bias

    @torch.no_grad()
    def search(
        self, batch: Batch, worlds: Tensor, steps: int, movable: Tensor | None = None
    ) -> Tensor:
        """Move worlds (pairs, n, k) down the gradient of z by steps of fixed length, in [-1, 1].

        `movable` is a mask of the components that may change, (pairs, k); all by default.
        """
        s = self.settings
        step_length = s.training_step_length if self.training else s.step_length
        parameters = self.parameters_of_sat3
        for _ in range(steps):
            gradient = world_gradients(batch, worlds, parameters, self.workspace)  # (pairs, n, k)
            if movable is not None:
                gradient *= movable[:, None]
            length = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
            gradient *= step_length / length.clamp_min_(1e-30)
            worlds = (worlds - gradient).clamp_(-1, 1)
        return worlds
