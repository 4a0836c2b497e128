"""Tabu search for a world that refutes an entailment, by the network's own score of a world.

- Several chains of worlds walk through the corners of [-1, 1]^k. A move evaluates every flip of one
  component and makes the one with the lowest score, even if that is higher than before. The
  component is then tabu for a number of moves, so that a chain leaves a local minimum instead of
  falling back into it.
- Only components that matter to the variables of the pair, by the network's W4, are flipped or
  drawn; the others stay as they were at first, since varying them can only cause errors.
- Every fourth move, chains rest, and as many random worlds are evaluated instead: where the score
  leads astray, the search still finds what random worlds would.
- Chains restart after 1, 1, 2, 1, 1, 2, 4 ... times as many moves as there are components (Luby et
  al. 1993), each from a random world with a different fraction of positive components.
- A pair with a negative score in any world is refuted, and leaves the search.

Pairs with the same number of components move together, with the same random numbers in every
search: so the path of a pair's worlds does not depend on the other pairs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

GOLDEN_RATIO = 0.6180339887
"""Its multiples modulo 1 spread evenly over [0, 1], however many there are."""
SHORTEST_WALK = 8
TENURES = 5
"""A flipped component is tabu for a fifth of the components, and 0 to 4 moves more."""
SAMPLE_EVERY = 4
"""One in so many moves evaluates random worlds."""
Evaluate = Callable[[Tensor, Tensor], Tensor]
"""Computes the scores of the pairs in these rows in their worlds, (rows, n, k) -> (rows, n)."""


@dataclass
class Visited:
    """The best worlds of each pair that a search has visited, and their cost."""

    worlds: Tensor  # (pairs, n, k), the best of chain i at position i
    score: Tensor  # (pairs, n)
    evaluations: Tensor  # (pairs,)

    @classmethod
    def start(cls, worlds: Tensor, score: Tensor, evaluations: int) -> "Visited":
        """Start with worlds of known score, after so many evaluations per pair; best first.

        >>> worlds, score = torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([[6.0, 4.0, 5.0]])
        >>> Visited.start(worlds, score, evaluations=3).worlds.flatten().tolist()
        [2.0, 3.0, 1.0]
        """
        score, order = score.sort(1)
        worlds = worlds.gather(1, order[..., None].expand_as(worlds))
        return cls(worlds, score, torch.full((len(score),), evaluations, device=score.device))

    @property
    def refuted(self) -> Tensor:
        """A mask of the pairs with a world of negative score, (pairs,)."""
        return (self.score < 0).any(1)


def relevant_components(w4: Tensor, variables: Tensor) -> Tensor:
    """Compute a mask of the components of a world that matter to each pair, (pairs, k).

    The weight of a component is the largest squared norm of its part of W4, (26, k, d), over the
    variables of the pair, (pairs, 26); components with at least half the largest weight matter.
    """
    norms = w4.square().sum(-1)  # (26, k)
    weights = (norms * variables[..., None]).amax(1)
    return weights >= weights.amax(1, keepdim=True) / 2


def luby(i: int) -> int:
    """Return the i-th number of Luby's sequence, from i = 1.

    >>> [luby(i) for i in range(1, 16)]
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    while i & (i + 1):
        i -= (1 << i.bit_length() - 1) - 1
    return (i + 1) // 2


def n_chains(n: int, components: int) -> int:
    """Return the number of chains that have about n flips together."""
    return max(1, (2 * n + components) // (2 * components))


class Chains:
    """The chains of the pairs that have c components to flip, with m chains per pair."""

    def __init__(self, visited: Visited, rows: Tensor, relevant: Tensor, seed: int) -> None:
        self.visited, self.rows = visited, rows
        self.components = relevant[rows].nonzero()[:, 1].view(len(rows), 1, -1, 1)  # (g, 1, c, 1)
        self.is_relevant = relevant[rows][:, None, None]  # (g, 1, 1, k)
        n, c = visited.score.shape[1], self.components.shape[2]
        self.m = n_chains(n, c)
        self.worlds = visited.worlds[rows, : self.m].clone()  # (g, m, k)
        self.tabu_until = torch.zeros(len(rows), self.m, c, dtype=torch.long, device=rows.device)
        self.random = torch.Generator().manual_seed(seed)
        self.turns, self.moves, self.restarts, self.next_restart = 0, 0, 0, max(SHORTEST_WALK, c)

    @property
    def cost(self) -> int:
        """The number of evaluations of a move, per pair."""
        return self.m * self.components.shape[2]

    def draw(self, *shape: int) -> Tensor:
        """Draw uniformly from [0, 1), on the CPU, so that results are the same on every device."""
        return torch.rand(shape, generator=self.random).to(self.worlds)

    def restart(self) -> None:
        """Restart from random worlds."""
        self.restarts += 1
        c, first = self.components.shape[2], self.restarts * self.m
        self.next_restart += max(SHORTEST_WALK, luby(self.restarts + 1) * c)
        positive = torch.arange(first, first + self.m)[:, None] * GOLDEN_RATIO % 1  # (m, 1)
        is_positive = self.draw(*self.worlds.shape[1:]) < positive.to(self.worlds)  # (m, k)
        drawn = 2 * is_positive.to(self.worlds) - 1
        self.worlds = torch.where(self.is_relevant[:, 0], drawn, self.worlds)
        self.tabu_until.zero_()

    def move(self, is_open: Tensor, evaluate: Evaluate) -> None:
        """Make a move in each chain of the open pairs, a mask (pairs,), or try random worlds."""
        open_pairs = is_open[self.rows].nonzero()[:, 0]
        if not len(open_pairs):
            return
        self.turns += 1
        is_sample = self.turns % SAMPLE_EVERY == 0
        if not is_sample and self.moves == self.next_restart:
            self.restart()
        rows = self.rows[open_pairs]
        worlds = self.random_worlds(open_pairs) if is_sample else self.flips(open_pairs)
        score = evaluate(rows, worlds.flatten(1, 2)).view(worlds.shape[:3])
        best = score.argmin(2, keepdim=True)
        self.keep(rows, score.gather(2, best)[..., 0], take(worlds, best))
        if not is_sample:
            self.make_flips(open_pairs, worlds, score)
        self.visited.evaluations[rows] += self.cost

    def random_worlds(self, pairs: Tensor) -> Tensor:
        """Draw as many worlds as there are flips, (pairs, m, c, k)."""
        shape = self.m, self.components.shape[2], self.worlds.shape[2]
        drawn = 2 * (self.draw(*shape) >= 0.5).to(self.worlds) - 1
        return torch.where(self.is_relevant[pairs], drawn, self.worlds[pairs, :, None])

    def flips(self, pairs: Tensor) -> Tensor:
        """List all flips of one component of the pairs' worlds, (pairs, m, c, k)."""
        components = self.components[pairs].expand(-1, self.m, -1, -1)
        flips = self.worlds[pairs, :, None].expand(-1, -1, components.shape[2], -1)
        return flips.scatter(3, components, -flips.gather(3, components))

    def make_flips(self, pairs: Tensor, flips: Tensor, score: Tensor) -> None:
        """Make the flip of each chain that has the lowest score and is not tabu."""
        tenure = 1 + score.shape[2] // TENURES + (TENURES * self.draw(self.m)).long()
        tabu_until = self.tabu_until[pairs]
        chosen = score.masked_fill(tabu_until > self.moves, torch.inf).argmin(2, keepdim=True)
        self.worlds[pairs] = take(flips, chosen)
        until = (self.moves + tenure).expand(len(pairs), -1)[..., None]
        self.tabu_until[pairs] = tabu_until.scatter(2, chosen, until)
        self.moves += 1

    def keep(self, rows: Tensor, score: Tensor, worlds: Tensor) -> None:
        """Keep the worlds of chains, (rows, m, k), that are better than all before."""
        visited, m = self.visited, self.m
        better = score < visited.score[rows, :m]
        visited.score[rows, :m] = torch.where(better, score, visited.score[rows, :m])
        kept = torch.where(better[..., None], worlds, visited.worlds[rows, :m])
        visited.worlds[rows, :m] = kept


def take(worlds: Tensor, chosen: Tensor) -> Tensor:
    """Select a world, (rows, m, 1), of each chain from worlds (rows, m, c, k)."""
    return worlds.gather(2, chosen[..., None].expand(-1, -1, -1, worlds.shape[3]))[:, :, 0]


def groups(
    visited: Visited, evaluator: Callable[[], Evaluate], relevant: Tensor
) -> Iterator[tuple[Chains, Evaluate]]:
    """Yield the chains of the pairs with each number of components, and their evaluators."""
    seed, counts = int(torch.randint(1 << 31, ())), relevant.sum(1)
    for count in counts.unique():
        rows = (counts == count).nonzero()[:, 0]
        yield Chains(visited, rows, relevant, seed), evaluator()


def walk(visited: Visited, evaluator: Callable[[], Evaluate], relevant: Tensor, moves: int) -> None:
    """Make this many moves for each pair, whether it is refuted or not."""
    for chains, evaluate in groups(visited, evaluator, relevant):
        for _ in range(moves):
            chains.move(torch.ones_like(visited.refuted), evaluate)


def search(
    visited: Visited,
    evaluator: Callable[[], Evaluate],
    relevant: Tensor,
    budgets: Tensor,
    share: bool = False,
) -> None:
    """Search for better worlds of each pair until it is refuted or its budget, (pairs,), is spent.

    With `share`, all pairs share their budgets: the other pairs may use what refuted ones leave.
    """
    parts, costs = list(groups(visited, evaluator, relevant)), torch.zeros_like(budgets)
    for chains, _ in parts:
        costs[chains.rows] = chains.cost
    while True:
        is_open = ~visited.refuted
        if share:
            is_open &= visited.evaluations.sum() + costs[is_open].sum() <= budgets.sum()
        else:
            is_open &= visited.evaluations + costs <= budgets
        if not is_open.any():
            return
        for chains, evaluate in parts:
            chains.move(is_open, evaluate)
