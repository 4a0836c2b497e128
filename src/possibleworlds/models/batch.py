"""A batch of pairs of formulas, the input of every network.

A network uses the view that it needs, which is computed on first use:

- `symbol_frequencies`, for bags of words;
- `sequences`, `joined` and `side_by_side`, for networks that read text;
- `calls`, `pair_nodes`, `messages` and `private_messages`, for networks that follow the trees, and
  `plan` and `private_plan`, for the same in the native kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import torch
from torch import Tensor

from possibleworlds.logic.alphabet import N_OPERATORS, N_VARIABLES
from possibleworlds.models.sequences import OPEN_CODE, TURNSTILE_CODE, Ints, Sequences, pad
from possibleworlds.models.trees.forest import Device, Forest, Nodes
from possibleworlds.models.trees.levels import Calls, Messages
from possibleworlds.models.trees.native import Plan


@dataclass(frozen=True)
class Batch:
    """Pairs of trees; a tree is a formula with renamed variables, and is stored only once.

    >>> from possibleworlds.logic.alphabet import encode
    >>> forest = Forest(encode("pq&p"), np.array([0, 3, 4]))  # p & q, and p
    >>> batch = Batch.of(forest, left=np.array([0, 1]), right=np.array([1, 0]))
    >>> batch.formula.tolist(), batch.left.tolist(), batch.right.tolist()
    ([0, 1], [0, 1], [1, 0])
    """

    forest: Forest
    formula: Ints  # of each tree
    renaming: Ints  # (trees, 26): the variables that replace a, b, ...
    left: Tensor  # of each pair: which tree
    right: Tensor
    device: Device = "cpu"

    @classmethod
    def of(
        cls,
        forest: Forest,
        left: Ints,
        right: Ints,
        permutations: Ints | None = None,
        group: Ints | None = None,
        device: Device = "cpu",
    ) -> Batch:
        """Make a batch of pairs of formulas, with pair i permuted by permutations[group[i]]."""
        if permutations is None:
            permutations = np.arange(N_VARIABLES)[None]
        if group is None:
            group = np.zeros(len(left), np.int64)
        key = np.stack((left, right)).astype(np.int64) + group.astype(np.int64) * len(forest)
        trees, of_pair = np.unique(key, return_inverse=True)
        group, formula = np.divmod(trees, len(forest))
        sides = torch.from_numpy(of_pair.reshape(2, -1)).to(device)
        return cls(forest, formula, permutations[group], sides[0], sides[1], device)

    @classmethod
    def of_four_tuples(
        cls, forest: Forest, formulas: Ints, permutations: Ints, device: Device = "cpu"
    ) -> Batch:
        """Make a batch of 4-tuples A1, A2, B1, B2, (units, 4), and permutations, (units, 26)."""
        left, right = _sides_of_four_tuples(len(formulas), device)
        renaming = np.repeat(permutations, 4, axis=0)
        return cls(forest, formulas.ravel(), renaming, left, right, device)

    @cached_property
    def symbol_frequencies(self) -> Tensor:
        """The relative frequency of each symbol in each tree, (trees, 30)."""
        frequencies = torch.from_numpy(self.forest.symbol_frequencies[self.formula])
        variables = frequencies[:, N_OPERATORS:]
        renaming = torch.from_numpy(self.renaming.astype(np.int64))
        variables.scatter_(1, renaming, variables.clone())
        return frequencies.to(self.device)

    @cached_property
    def sequences(self) -> Sequences:
        """The trees as sequences."""
        return pad(*self._symbols_of(np.arange(len(self.formula))), self.device)

    @cached_property
    def joined(self) -> Sequences:
        """Each pair as one sequence A ⊨ B."""
        symbols, lengths = self._symbols_of(self._both_sides)
        symbols = np.insert(symbols, np.cumsum(lengths)[0::2], TURNSTILE_CODE)
        return pad(symbols, lengths[0::2] + lengths[1::2] + 1, self.device)

    @cached_property
    def side_by_side(self) -> tuple[Sequences, Tensor]:
        """Each pair as one sequence A B, and a mask of the positions of B."""
        symbols, lengths = self._symbols_of(self._both_sides)
        sequences = pad(symbols, lengths[0::2] + lengths[1::2], self.device)
        first = torch.from_numpy(lengths[0::2]).to(self.device)[:, None]
        positions = torch.arange(sequences.symbols.shape[1], device=self.device)
        return sequences, (positions >= first) & sequences.present

    def select(self, pairs: Tensor) -> Batch:
        """Make a batch of selected pairs."""
        return replace(self, left=self.left[pairs], right=self.right[pairs])

    @property
    def balanced(self) -> Batch:
        """The same pairs, with chains of operators as balanced trees."""
        return replace(self, forest=self.forest.balanced)

    @property
    def restored(self) -> Batch:
        """The same pairs as `balanced`, with double negations in long chains."""
        return replace(self, forest=self.forest.restored)

    @cached_property
    def has_long_chain(self) -> Tensor:
        """A mask of the pairs that `restored` changes, (pairs,)."""
        sizes = np.diff(self.forest.restored.offsets) != np.diff(self.forest.balanced.offsets)
        of_tree = torch.from_numpy(sizes[self.formula]).to(self.device)
        return of_tree[self.left] | of_tree[self.right]

    @cached_property
    def variables(self) -> Tensor:
        """Which variables each pair has, (pairs, 26)."""
        of_tree = self.symbol_frequencies[:, N_OPERATORS:] > 0
        return of_tree[self.left] | of_tree[self.right]

    @property
    def _both_sides(self) -> Ints:
        """The trees of A and B of each pair, alternating."""
        return torch.stack((self.left, self.right), 1).flatten().cpu().numpy()

    def _symbols_of(self, trees: Ints) -> tuple[Ints, Ints]:
        """Concatenate the sequences of trees, and return their lengths."""
        texts, formula = self.forest.texts, self.formula[trees]
        first = texts.offsets[formula]
        lengths = texts.offsets[formula + 1] - first
        owner = np.repeat(np.arange(len(trees)), lengths)
        symbols = texts.symbols[
            np.arange(len(owner)) + (first - np.cumsum(lengths) + lengths)[owner]
        ]
        variable = np.flatnonzero((symbols >= N_OPERATORS) & (symbols < OPEN_CODE))
        renamed = self.renaming[trees[owner[variable]], symbols[variable] - N_OPERATORS]
        symbols[variable] = renamed + N_OPERATORS
        return symbols, lengths

    @cached_property
    def nodes(self) -> Nodes:
        """All nodes of the trees."""
        return Nodes.of(self.forest, self.formula, self.renaming)

    @cached_property
    def pair_nodes(self) -> Nodes:
        """The nodes of both sides of each pair; trees 2i and 2i + 1 are pair i."""
        trees = self._both_sides
        return Nodes.of(self.forest, self.formula[trees], self.renaming[trees])

    @cached_property
    def calls(self) -> Calls:
        """The order of evaluation by operator."""
        return Calls.of(self.nodes, self.device)

    @cached_property
    def messages(self) -> Messages:
        """The order of evaluation by messages, with equal leaves of all trees shared."""
        return Messages.of(self.nodes, np.zeros(len(self.formula), np.int64), self.device)

    @cached_property
    def private_messages(self) -> Messages:
        """The same with leaves shared within a pair only; trees 2i and 2i + 1 are pair i."""
        domain = np.arange(2 * len(self.left)) // 2
        return Messages.of(self.pair_nodes, domain, self.device)

    @cached_property
    def plan(self) -> Plan:
        """The equivalent of `messages` for the native kernel."""
        return Plan.of(self.forest, self.formula, self.renaming, domain_size=len(self.formula))

    @cached_property
    def private_plan(self) -> Plan:
        """The equivalent of `private_messages` for the native kernel."""
        trees = self._both_sides
        return Plan.of(self.forest, self.formula[trees], self.renaming[trees], domain_size=2)


@cache
def _sides_of_four_tuples(units: int, device: Device) -> tuple[Tensor, Tensor]:
    """Return the trees of both sides of each pair, for trees in the order A1, A2, B1, B2."""
    first = torch.arange(0, 4 * units, 4, device=device)[:, None]
    left, right = torch.tensor([[0, 1, 0, 1], [2, 3, 3, 2]], device=device)
    return (first + left).flatten(), (first + right).flatten()
