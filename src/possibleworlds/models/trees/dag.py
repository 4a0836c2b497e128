"""Pairs of formulas as directed acyclic graphs, in which equal subformulas share a node."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from possibleworlds.logic.alphabet import N_OPERATORS
from possibleworlds.models.sequences import Ints
from possibleworlds.models.trees.forest import ROOT, SLOTS, Device, Nodes

VARIABLE, PAIR = N_OPERATORS, N_OPERATORS + 1
"""Kinds of nodes after the operators: any variable, and the root of a pair."""
N_KINDS = PAIR + 1
N_EDGE_KINDS = len(SLOTS) + 2
"""The kind of an edge is its slot; two more lead from a pair to its left and right side."""


class Dag(NamedTuple):
    """The graphs of pairs, with their nodes numbered consecutively."""

    kind: Tensor  # of each node
    pair: Tensor  # the pair of each node
    roots: Tensor  # the root of each pair
    child: Tensor  # of each edge
    parent: Tensor  # of each edge
    edge_kind: Tensor  # of each edge

    @classmethod
    def of(cls, nodes: Nodes, device: Device = "cpu") -> Dag:
        """Make the graphs of pairs, where trees 2i and 2i + 1 are pair i.

        "p & p entails p" has three nodes, p, p & p and the root, and two edges from p & p to p:

        >>> from possibleworlds.logic.alphabet import encode
        >>> from possibleworlds.models.trees.forest import Forest
        >>> forest = Forest(encode("pp&p"), np.array([0, 3, 4]))
        >>> nodes = Nodes.of(forest, np.array([0, 1]), np.tile(np.arange(26), (2, 1)))
        >>> dag = Dag.of(nodes)
        >>> dag.kind.tolist(), dag.roots.tolist()
        ([4, 1, 5], [2])
        >>> list(zip(dag.parent.tolist(), dag.child.tolist(), dag.edge_kind.tolist()))
        [(1, 0, 1), (1, 0, 2), (2, 1, 7), (2, 0, 8)]
        """
        number, first = _number_subformulas(nodes)
        n_nodes, n_pairs = len(first), (int(nodes.tree[-1]) + 1) // 2
        inner = first[nodes.code[first] < N_OPERATORS]
        binary = inner[nodes.code[inner] > 0]
        tops = np.flatnonzero(nodes.slot == ROOT)
        children = np.concatenate((inner - nodes.first_child[inner], binary - 1))
        roots = n_nodes + np.arange(len(tops)) // 2
        parent = np.concatenate((number[inner], number[binary], roots))
        edge_kind = np.concatenate((nodes.slot[children], len(SLOTS) + np.arange(len(tops)) % 2))
        arrays = (
            np.concatenate((np.minimum(nodes.code[first], VARIABLE), np.full(n_pairs, PAIR))),
            np.concatenate((nodes.tree[first] // 2, np.arange(n_pairs))),
            n_nodes + np.arange(n_pairs),
            np.concatenate((number[children], number[tops])),
            parent,
            edge_kind.astype(np.int64),
        )
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))


def _number_subformulas(nodes: Nodes) -> tuple[Ints, Ints]:
    """Number the distinct subformulas of pairs; return that of each node, and a node of each."""
    number = np.empty(len(nodes.code), np.int64)
    firsts: list[Ints] = []
    count = 0
    by_height = np.argsort(nodes.height, kind="stable")
    bounds = np.searchsorted(nodes.height[by_height], np.arange(int(nodes.height.max()) + 2))
    for height, (start, stop) in enumerate(pairwise(bounds)):
        level = by_height[start:stop]
        code = nodes.code[level]
        if height == 0:
            key = nodes.tree[level] // 2 * (code.max() + 1) + code
        else:  # the numbers of the arguments identify the pair as well
            left, right = number[level - nodes.first_child[level]], number[level - 1]
            key = (left * (count + 1) + np.where(code > 0, right, 0)) * N_OPERATORS + code
        _, first, of_node = np.unique(key, return_index=True, return_inverse=True)
        number[level] = count + of_node
        firsts.append(level[first])
        count += len(first)
    return number, np.concatenate(firsts)
