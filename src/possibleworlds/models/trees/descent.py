"""Orders of evaluation from the root down: the nodes of many trees, depth by depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from possibleworlds.logic.alphabet import N_OPERATORS
from possibleworlds.models.sequences import Ints
from possibleworlds.models.trees.forest import ROOT, Nodes

MAX_PATH = 16
"""The length of paths; for deeper nodes, only the part nearest to them is kept."""


class Depth(NamedTuple):
    """The nodes of one depth, with the positions of each operator and of variables."""

    nodes: Ints
    operators: Sequence[Ints]  # the positions of the nodes with each operator
    leaves: Ints  # the positions of variables


def descend(nodes: Nodes) -> list[Depth]:
    """Order nodes by depth: after the roots, the children of the nodes of each operator in turn.

    p & ~q has the root (node 3), then p and ~q (nodes 0 and 2), then q (node 1):

    >>> from possibleworlds.logic.alphabet import encode
    >>> from possibleworlds.models.trees.forest import Forest
    >>> forest = Forest(encode("pq~&"), np.array([0, 4]))
    >>> depths = descend(Nodes.of(forest, np.array([0]), np.arange(26)[None]))
    >>> [(depth.nodes.tolist(), depth.leaves.tolist()) for depth in depths]
    [([3], []), ([0, 2], [0]), ([1], [0])]
    """
    depths = []
    current = np.flatnonzero(nodes.slot == ROOT)
    while len(current):
        code = nodes.code[current]
        operators = [np.flatnonzero(code == operator) for operator in range(N_OPERATORS)]
        depths.append(Depth(current, operators, np.flatnonzero(code >= N_OPERATORS)))
        children = [current[operators[0]] - 1]
        for positions in operators[1:]:
            parents = current[positions]
            pairs = np.stack((parents - nodes.first_child[parents], parents - 1), 1)
            children.append(pairs.ravel())
        current = np.concatenate(children)
    return depths


def paths(nodes: Nodes) -> Ints:
    """Return the path from each node to its root, (nodes, MAX_PATH).

    A step is 1 from a first argument and 2 from a second one; 0 is beyond the root. In p & ~q:

    >>> from possibleworlds.logic.alphabet import encode
    >>> from possibleworlds.models.trees.forest import Forest
    >>> forest = Forest(encode("pq~&"), np.array([0, 4]))
    >>> paths(Nodes.of(forest, np.array([0]), np.arange(26)[None]))[:, :3].tolist()
    [[1, 0, 0], [1, 2, 0], [2, 0, 0], [0, 0, 0]]
    """
    path = np.zeros((len(nodes.code), MAX_PATH), np.int64)
    for depth in descend(nodes)[1:]:
        current, slot = depth.nodes, nodes.slot[depth.nodes]
        path[current, 1:] = path[current + nodes.parent[current], :-1]
        path[current, 0] = np.where((slot > 0) & (slot % 2 == 0), 2, 1)
    return path
