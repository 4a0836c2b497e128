"""Tabu search for a world that refutes an entailment, by the network's own score of a world.

- Several chains of worlds walk through the corners of [-1, 1]^k. A move evaluates every flip of one
  component and makes the one with the lowest score, even if that is higher than before. The
  component is then tabu for a number of moves, so that a chain leaves a local minimum instead of
  falling back into it.
- Only components that matter to the variables of the pair, by the network's W4, are flipped or
  drawn; the others stay as they were at first, since varying them can only cause errors.
- One turn in four, chains rest, and another world climbs: it goes where A and B are as sensitive
  as possible, that is, where as many flips as possible change whether the network takes them to be
  true. It needs no slope of the score. In circuits, for example, the score is flat almost
  everywhere, and two of them differ only where a change deep inside reaches the root.
- Another turn in four evaluates random worlds, for pairs with many countermodels to none of
  which the score or the sensitivity leads.
- Chains restart after 1, 1, 2, 1, 1, 2, 4 ... times as many moves as there are components (Luby et
  al. 1993), each from a random world with a different fraction of positive components.
- If all worlds that differ in components that matter fit into the budget, as with few variables,
  they are evaluated one after the other instead.
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
RANDOM_EVERY = 4
"""One in so many turns is for random worlds."""
CLIMB_EVERY = 2
"""One in so many turns is for the climb, unless it is for random worlds."""
LEAVE = 0.1
"""The probability that the climb goes on to a less sensitive world."""
BLOCK = 64
"""How many of all worlds are evaluated at a time."""
Evaluate = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Computes the terms a of A and b of B (guidedworldnet.py) for the pairs in these rows, in their
worlds: (rows, n, k) -> (rows, n) each; A seems true where a is negative, B false where b is."""


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

    def keep(self, rows: Tensor, score: Tensor, worlds: Tensor) -> None:
        """Keep worlds (rows, m, k) that are better than those at the first m positions so far."""
        m = score.shape[1]
        better = score < self.score[rows, :m]
        self.score[rows, :m] = torch.where(better, score, self.score[rows, :m])
        self.worlds[rows, :m] = torch.where(better[..., None], worlds, self.worlds[rows, :m])

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


def score_of(a: Tensor, b: Tensor) -> Tensor:
    """Compute the score of worlds, log(e^a + e^b), from the terms of both sides."""
    return torch.logaddexp(a, b)


def sensitivity(term: Tensor) -> Tensor:
    """Count the flips that change the truth value of a side, (pairs, m, c) -> (pairs, m).

    The value before the flip is taken to be that after most flips.

    >>> sensitivity(torch.tensor([[[5.0, 4.0, -3.0, 6.0, -2.0]]]))
    tensor([[2]])
    """
    n_true = (term < 0).sum(2)
    return torch.minimum(n_true, term.shape[2] - n_true)


def n_chains(n: int, components: int) -> int:
    """Return the number of chains that have about n flips together."""
    return max(1, (2 * n + components) // (2 * components))


class Chains:
    """The chains of the pairs that have c components to flip, with m chains per pair."""

    def __init__(self, visited: Visited, rows: Tensor, relevant: Tensor, seed: int) -> None:
        self.visited, self.rows = visited, rows
        self.components = relevant[rows].nonzero()[:, 1].view(len(rows), 1, -1, 1)  # (g, 1, c, 1)
        self.is_relevant = relevant[rows][:, None]  # (g, 1, k)
        n, c = visited.score.shape[1], self.components.shape[2]
        self.m = n_chains(n, c)
        self.worlds = visited.worlds[rows, : self.m].clone()  # (g, m, k)
        self.tabu_until = torch.zeros(len(rows), self.m, c, dtype=torch.long, device=rows.device)
        self.climber = self.worlds[:, :1].clone()  # (g, 1, k)
        self.sensitivity = torch.zeros(len(rows), dtype=torch.long, device=rows.device)
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
        self.worlds = torch.where(self.is_relevant, drawn, self.worlds)
        self.tabu_until.zero_()

    def move(self, is_open: Tensor, evaluate: Evaluate) -> None:
        """Take a turn for the open pairs, a mask (pairs,)."""
        pairs = is_open[self.rows].nonzero()[:, 0]
        if not len(pairs):
            return
        self.turns += 1
        if self.turns % RANDOM_EVERY == 0:
            self.evaluate(pairs, self.random_worlds(pairs), evaluate)
        elif self.turns % CLIMB_EVERY == 0:
            proposals = self.proposals(pairs)
            a, b = self.evaluate(pairs, self.flips(pairs, proposals), evaluate)
            self.climb(pairs, proposals, sensitivity(a) + sensitivity(b))
        else:
            if self.moves == self.next_restart:
                self.restart()
            flips = self.flips(pairs, self.worlds[pairs])
            self.make_flips(pairs, flips, score_of(*self.evaluate(pairs, flips, evaluate)))

    def evaluate(self, pairs: Tensor, worlds: Tensor, evaluate: Evaluate) -> tuple[Tensor, Tensor]:
        """Compute both terms in worlds (pairs, m, c, k), and keep the best of each chain."""
        rows = self.rows[pairs]
        a, b = (term.view(worlds.shape[:3]) for term in evaluate(rows, worlds.flatten(1, 2)))
        score, best = score_of(a, b).min(2, keepdim=True)
        self.visited.keep(rows, score[..., 0], take(worlds, best))
        self.visited.evaluations[rows] += self.cost
        return a, b

    def random_worlds(self, pairs: Tensor) -> Tensor:
        """Draw as many worlds as there are flips, the same ones for all pairs, (pairs, m, c, k)."""
        c, k = self.components.shape[2], self.worlds.shape[2]
        drawn = 1 - 2 * (self.draw(self.m, c, k) < 0.5).to(self.worlds)
        return torch.where(self.is_relevant[pairs][:, None], drawn, self.worlds[pairs][:, :, None])

    def flips(self, pairs: Tensor, worlds: Tensor) -> Tensor:
        """List all flips of one component of worlds (pairs, m, k), (pairs, m, c, k)."""
        components = self.components[pairs].expand(-1, self.m, -1, -1)
        flips = worlds[:, :, None].expand(-1, -1, components.shape[2], -1)
        return flips.scatter(3, components, -flips.gather(3, components))

    def proposals(self, pairs: Tensor) -> Tensor:
        """Flip random components of the world that climbs, one in each proposal, (pairs, m, k)."""
        drawn = (self.components.shape[2] * self.draw(self.m)).long()
        components = self.components[pairs][:, 0, drawn]  # (pairs, m, 1)
        worlds = self.climber[pairs].expand(-1, self.m, -1)
        return worlds.scatter(2, components, -worlds.gather(2, components))

    def climb(self, pairs: Tensor, proposals: Tensor, sensitivities: Tensor) -> None:
        """Go to the most sensitive proposal, unless that is a descent; sometimes even then."""
        highest, chosen = sensitivities.max(1)
        goes = (highest >= self.sensitivity[pairs]) | (self.draw() < LEAVE)
        world = take(proposals[:, None], chosen[:, None, None])
        self.climber[pairs] = torch.where(goes[:, None, None], world, self.climber[pairs])
        self.sensitivity[pairs] = torch.where(goes, highest, self.sensitivity[pairs])

    def make_flips(self, pairs: Tensor, flips: Tensor, score: Tensor) -> None:
        """Make the flip of each chain that has the lowest score and is not tabu."""
        tenure = 1 + score.shape[2] // TENURES + (TENURES * self.draw(self.m)).long()
        tabu_until = self.tabu_until[pairs]
        chosen = score.masked_fill(tabu_until > self.moves, torch.inf).argmin(2, keepdim=True)
        self.worlds[pairs] = take(flips, chosen)
        until = (self.moves + tenure).expand(len(pairs), -1)[..., None]
        self.tabu_until[pairs] = tabu_until.scatter(2, chosen, until)
        self.moves += 1


class AllWorlds:
    """All worlds of the pairs that have c components to flip, a block at a time."""

    def __init__(self, visited: Visited, rows: Tensor, relevant: Tensor) -> None:
        self.visited, self.rows = visited, rows
        self.components = relevant[rows].nonzero()[:, 1].view(len(rows), 1, -1)  # (g, 1, c)
        self.first = 0

    @property
    def size(self) -> int:
        """The number of worlds of a pair."""
        return 1 << self.components.shape[2]

    @property
    def cost(self) -> int:
        """The number of worlds of a block, which divides that of all."""
        return min(self.size, BLOCK)

    def move(self, is_open: Tensor, evaluate: Evaluate) -> None:
        """Evaluate the next block of worlds of the open pairs, a mask (pairs,)."""
        pairs = is_open[self.rows].nonzero()[:, 0]
        if not len(pairs):
            return
        rows, components = self.rows[pairs], self.components[pairs].expand(-1, self.cost, -1)
        numbers = torch.arange(self.first, self.first + self.cost, device=rows.device)[:, None]
        is_positive = numbers >> torch.arange(components.shape[2], device=rows.device) & 1
        worlds = self.visited.worlds[rows, :1].expand(-1, self.cost, -1)
        worlds = worlds.scatter(
            2, components, (2 * is_positive - 1).to(worlds).expand_as(components)
        )
        score = score_of(*evaluate(rows, worlds))[:, None]  # (pairs, 1, block)
        best = score.argmin(2, keepdim=True)
        self.visited.keep(rows, score.gather(2, best)[..., 0], take(worlds[:, None], best))
        self.visited.evaluations[rows] += self.cost
        self.first += self.cost


def take(worlds: Tensor, chosen: Tensor) -> Tensor:
    """Select a world, (rows, m, 1), of each chain from worlds (rows, m, c, k)."""
    return worlds.gather(2, chosen[..., None].expand(-1, -1, -1, worlds.shape[3]))[:, :, 0]


def groups(
    visited: Visited, relevant: Tensor, budgets: Tensor | None = None
) -> Iterator[Chains | AllWorlds]:
    """Yield the worlds to move of the pairs with each number of components.

    These are all worlds if they fit into the budget, (pairs,), of a pair, and chains otherwise.
    """
    seed, counts = int(torch.randint(1 << 31, ())), relevant.sum(1)
    left = torch.zeros_like(counts) if budgets is None else budgets - visited.evaluations
    fits = 2.0**counts <= left
    for count in counts.unique():
        of_count = counts == count
        if (of_count & fits).any():
            yield AllWorlds(visited, (of_count & fits).nonzero()[:, 0], relevant)
        if (of_count & ~fits).any():
            yield Chains(visited, (of_count & ~fits).nonzero()[:, 0], relevant, seed)


def walk(visited: Visited, evaluator: Callable[[], Evaluate], relevant: Tensor, moves: int) -> None:
    """Make this many moves for each pair, whether it is refuted or not."""
    for chains in groups(visited, relevant):
        evaluate = evaluator()
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
    parts = [(part, evaluator()) for part in groups(visited, relevant, budgets)]
    costs, last = torch.zeros_like(budgets), torch.full_like(budgets, torch.iinfo(torch.long).max)
    for part, _ in parts:
        costs[part.rows] = part.cost
        if isinstance(part, AllWorlds):
            last[part.rows] = visited.evaluations[part.rows] + part.size
    while True:
        is_open = ~visited.refuted & (visited.evaluations < last)
        if share:
            is_open &= visited.evaluations.sum() + costs[is_open].sum() <= budgets.sum()
        else:
            is_open &= visited.evaluations + costs <= budgets
        if not is_open.any():
            return
        for part, evaluate in parts:
            part.move(is_open, evaluate)
