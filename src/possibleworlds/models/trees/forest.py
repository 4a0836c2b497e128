"""Formulas as flat arrays of nodes.

Formulas are in reverse Polish notation, in one array of codes (logic/alphabet.py) for a whole data
set. Everything that depends on a formula alone (`Forest`) is computed once, when it is loaded;
`Nodes` copies the nodes of a batch from it.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from possibleworlds.logic.alphabet import N_OPERATORS, N_VARIABLES
from possibleworlds.models.sequences import Ints, Texts, texts_of
from possibleworlds.models.trees.balance import balance

Device = torch.device | str

SLOTS = ("~", "& left", "& right", "| left", "| right", "> left", "> right")
"""The slots that a node can fill in its parent: one for each argument of each operator."""
ROOT = len(SLOTS)
"""The slot of the root of a formula."""


class Forest:
    """Formulas in reverse Polish notation, with the height, child, parent and slot of each node.

    The three nodes of p & q are p, q and &:

    >>> from possibleworlds.logic.alphabet import encode
    >>> forest = Forest(encode("pq&"), np.array([0, 3]))
    >>> forest.first_child.tolist()  # how many nodes back; 0 for leaves
    [0, 0, 2]
    >>> forest.parent.tolist()  # how many nodes ahead; 0 for roots
    [2, 1, 0]
    >>> [(*SLOTS, "root")[slot] for slot in forest.slot]
    ['& left', '& right', 'root']
    >>> forest.height.tolist()
    [0, 0, 1]
    """

    def __init__(self, code: NDArray[np.uint8], offsets: Ints) -> None:
        """Index the nodes of all formulas; formula i is code[offsets[i]:offsets[i + 1]]."""
        self.code, self.offsets = code, offsets
        node = np.arange(len(code))
        inner = code < N_OPERATORS
        binary = inner & (code > 0)
        # A binary node leaves the stack as high as its left argument did; the right argument, in
        # between, leaves it higher: the left child is the last earlier node of that stack height.
        stack = np.cumsum(1 - inner - binary.astype(np.int64))
        by_stack = np.argsort(stack, kind="stable")
        left = node - 1
        left[by_stack[1:]] = np.where(binary[by_stack[1:]], by_stack[:-1], left[by_stack[1:]])

        # Relative positions, so that copies of a formula need no renumbering.
        self.first_child = np.where(inner, node - left, 0).astype(np.int32)
        self.parent = np.zeros(len(code), np.int32)
        self.slot = np.full(len(code), ROOT, np.int32)
        for child, parents, side in ((left, inner, 0), (node - 1, binary, 1)):
            self.parent[child[parents]] = (node - child)[parents]
            self.slot[child[parents]] = np.maximum(2 * code[parents].astype(np.int32) - 1, 0) + side
        self.height = self._heights(inner.astype(np.int8) + binary)

    def _heights(self, n_children: NDArray[np.int8]) -> NDArray[np.int32]:
        """Compute the height of each node, from the leaves up."""
        height = np.zeros(len(self.code), np.int32)
        missing = n_children.copy()  # children whose height is not known yet
        done = np.flatnonzero(n_children == 0)
        while len(done := done[self.parent[done] > 0]):
            parent = done + self.parent[done]
            height[parent] = height[done] + 1  # the last child to be done is the highest
            np.subtract.at(missing, parent, 1)
            done = np.unique(parent[missing[parent] == 0])
        return height

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def balanced(self) -> Forest:
        """The formulas, with chains of operators as balanced trees."""
        return self._rewritten(restore=False)

    @cached_property
    def restored(self) -> Forest:
        """The same, with double negations in long chains."""
        return self._rewritten(restore=True)

    def _rewritten(self, restore: bool) -> Forest:
        formulas = [balance(self.code[i:j].tolist(), restore) for i, j in pairwise(self.offsets)]
        offsets = np.cumsum([0, *map(len, formulas)])
        return Forest(np.fromiter(chain.from_iterable(formulas), np.uint8, offsets[-1]), offsets)

    @cached_property
    def texts(self) -> Texts:
        """The formulas as sequences of symbols."""
        return texts_of(self.code, self.offsets)

    @cached_property
    def symbol_frequencies(self) -> NDArray[np.float32]:
        """The relative frequency of each symbol in each formula, (formulas, 30)."""
        n_symbols = N_OPERATORS + N_VARIABLES
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        counts = np.bincount(owner * n_symbols + self.code, minlength=len(self) * n_symbols)
        of_formula = counts.astype(np.float32).reshape(len(self), n_symbols)
        return of_formula / of_formula.sum(1, keepdims=True)


class Nodes(NamedTuple):
    """The nodes of trees, one tree after the other, in reverse Polish notation; each (nodes,)."""

    tree: Ints
    code: Ints  # variables already renamed
    slot: Ints
    height: Ints
    first_child: Ints  # relative, as in `Forest`
    parent: Ints

    @classmethod
    def of(cls, forest: Forest, formula: Ints, renaming: Ints) -> Nodes:
        """Copy the nodes of formulas; in tree i, renaming[i, v] replaces variable v."""
        first = forest.offsets[formula]
        size = forest.offsets[formula + 1] - first
        tree = np.repeat(np.arange(len(formula)), size)
        index = np.arange(len(tree)) + (first - np.cumsum(size) + size)[tree]
        code = forest.code[index].astype(np.int64)
        leaf = np.flatnonzero(code >= N_OPERATORS)
        code[leaf] = renaming[tree[leaf], code[leaf] - N_OPERATORS] + N_OPERATORS
        return cls(
            tree,
            code,
            forest.slot[index],
            forest.height[index],
            forest.first_child[index],
            forest.parent[index],
        )


def by_operator(slots: Tensor) -> list[Tensor]:
    """Stack the matrices of each operator's arguments: (slots, d, m) to (d, m) and (2 d, m)."""
    negation, binary = slots.split([1, len(slots) - 1])
    return [negation[0], *binary.view(N_OPERATORS - 1, -1, slots.shape[2]).unbind()]
