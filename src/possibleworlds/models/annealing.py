"""Simulated annealing of worlds on the network's own z.

- A step flips the sign of one component of every world, and keeps the flip where z falls, or else
  with probability exp(-Δz / T) (the Metropolis rule). It needs forward passes only.
- T falls from `HOT` to `COLD` within a cycle of `CYCLE` steps and begins anew, so that the search
  can be stopped at any time. These values were chosen on generated random 3-CNF.
- Components are drawn by how much they matter to the variables of the pair, by the network's W4.
- A pair whose z is negative in some world is refuted, and leaves the search.

Random numbers are the same for all pairs, so that the path of a pair's worlds does not depend on
the other pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

HOT, COLD, CYCLE = 0.7, 0.15, 50


@dataclass
class Chains:
    """The worlds of some pairs during annealing, and the best of each chain so far."""

    worlds: Tensor  # (pairs, n, k)
    z: Tensor  # (pairs, n)
    best_worlds: Tensor  # (pairs, n, k)
    best_z: Tensor  # (pairs, n)
    evaluations: Tensor  # (pairs,)

    @classmethod
    def start(cls, worlds: Tensor, z: Tensor, evaluations: int) -> "Chains":
        """Begin with worlds whose z is known, after some evaluations a pair."""
        spent = torch.full((len(z),), evaluations)
        return cls(worlds.clone(), z.clone(), worlds.clone(), z.clone(), spent)

    @property
    def refuted(self) -> Tensor:
        """Which pairs have a world with a negative z, (pairs,)."""
        return (self.best_z < 0).any(1)


def temperature(step: int) -> float:
    """Return T at a step: geometric from HOT to COLD within each cycle.

    >>> [round(temperature(step), 2) for step in (0, CYCLE - 1, CYCLE)]
    [0.7, 0.15, 0.7]
    """
    return float(HOT * (COLD / HOT) ** (step % CYCLE / (CYCLE - 1)))


def component_weights(w4: Tensor, variables: Tensor) -> Tensor:
    """Compute how much each component of a world matters to a pair, (pairs, k).

    This is the largest squared norm of its weights in W4, (26, k, d), over the variables of the
    pair, (pairs, 26).
    """
    norms = w4.square().sum(-1)  # (26, k)
    return (norms * variables[..., None]).amax(1)


def flip(worlds: Tensor, weights: Tensor, uniform: Tensor) -> Tensor:
    """Flip one component of each world, drawn by the pair's weights with uniform numbers (n,).

    >>> worlds, weights = torch.ones(1, 2, 3), torch.tensor([[1.0, 0.0, 1.0]])
    >>> flip(worlds, weights, torch.tensor([0.2, 0.9])).tolist()
    [[[-1.0, 1.0, 1.0], [1.0, 1.0, -1.0]]]
    """
    cumulative = weights.cumsum(1)  # (pairs, k)
    targets = cumulative[:, -1:] * uniform  # (pairs, n)
    component = torch.searchsorted(cumulative, targets, right=True)
    component = component.clamp_max_(weights.shape[1] - 1).unsqueeze_(-1)  # (pairs, n, 1)
    return worlds.scatter(2, component, -worlds.gather(2, component))


def anneal(
    chains: Chains,
    evaluate: Callable[[Tensor, Tensor], Tensor],
    weights: Tensor,
    budgets: Tensor,
    share: bool = False,
    stop_refuted: bool = True,
) -> None:
    """Anneal each pair's worlds until it is refuted or its budget, (pairs,), is spent.

    `evaluate(rows, worlds)` computes z for some of the pairs. With `share`, budgets are those of
    all pairs together: what refuted pairs leave goes to the others.
    """
    n, step = chains.z.shape[1], 0
    while True:
        is_open = ~chains.refuted if stop_refuted else torch.ones_like(chains.refuted)
        if share:
            is_open &= chains.evaluations.sum() + n * is_open.sum() <= budgets.sum()
        else:
            is_open &= chains.evaluations + n <= budgets
        rows = torch.nonzero(is_open)[:, 0]
        if not len(rows):
            return
        uniform = torch.rand(2, n).to(chains.z)  # drawn on the CPU: the same on every device
        worlds, z = chains.worlds[rows], chains.z[rows]
        flipped = flip(worlds, weights[rows], uniform[0])
        new_z = evaluate(rows, flipped)
        keep = z - new_z > temperature(step) * uniform[1].log()
        chains.worlds[rows] = torch.where(keep[..., None], flipped, worlds)
        chains.z[rows] = torch.where(keep, new_z, z)
        better = new_z < chains.best_z[rows]
        best_worlds = chains.best_worlds[rows]
        chains.best_worlds[rows] = torch.where(better[..., None], flipped, best_worlds)
        chains.best_z[rows] = torch.where(better, new_z, chains.best_z[rows])
        chains.evaluations[rows] += n
        step += 1
