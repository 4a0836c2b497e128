"""Orders of evaluation: the nodes of many trees, height by height.

Trees are evaluated in a loop over heights instead of nodes. There are two orders:

- `Calls` sorts the nodes of a height by operator: gather the arguments, apply the operator.
- `Messages` sorts them by the slot that they fill in their parent. For a linear operator,
  W [l, r] = W_l l + W_r r, each node multiplies its vector by the matrix of its slot, and a parent
  only sums its messages. Leaves with the same variable and slot share one message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from possibleworlds.logic.alphabet import N_OPERATORS, N_VARIABLES
from possibleworlds.models.sequences import Ints
from possibleworlds.models.trees.forest import ROOT, Device, Nodes


class _Groups(NamedTuple):
    """Rows sorted by height and kind, divided into groups of equal height and kind."""

    sizes: list[int]  # of each group
    kinds: list[int]  # of each group
    bounds: list[int]  # the first row of each height, and the end of the last one
    of_height: list[list[tuple[int, int]]]  # kind and number of each group of a height

    @classmethod
    def of(cls, height: Ints, kind: Ints, n_kinds: int) -> _Groups:
        """Divide rows into groups.

        >>> _Groups.of(np.array([1, 1, 1, 2]), np.array([0, 3, 3, 1]), n_kinds=4)
        ... # doctest: +NORMALIZE_WHITESPACE
        _Groups(sizes=[1, 2, 1], kinds=[0, 3, 1], bounds=[0, 3, 4],
                of_height=[[(0, 0), (3, 1)], [(1, 2)]])
        """
        cuts = _run_bounds(height * n_kinds + kind)
        kinds, heights = kind[cuts[:-1]].tolist(), height[cuts[:-1]].tolist()
        bounds: list[int] = []
        of_height: list[list[tuple[int, int]]] = []
        for group, (level, of_group) in enumerate(zip(heights, kinds, strict=True)):
            if not group or level > heights[group - 1]:
                bounds.append(cuts[group])
                of_height.append([])
            of_height[-1].append((of_group, group))
        sizes = [stop - start for start, stop in pairwise(cuts)]
        return cls(sizes, kinds, [*bounds, len(height)], of_height)


def _run_bounds(kind: Ints) -> list[int]:
    """Return the start of each run of equal values, and the end of the last one.

    >>> _run_bounds(np.array([5, 5, 7, 2, 2]))
    [0, 2, 3, 5]
    """
    inside = (np.flatnonzero(kind[1:] != kind[:-1]) + 1).tolist()
    return [0, *inside, len(kind)] if len(kind) else [0]


def _starts(kind: Ints, n_kinds: int) -> Ints:
    """Return the start of each kind in a sorted array, and the end of the last one.

    >>> _starts(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return np.searchsorted(kind, np.arange(n_kinds + 1))


class CallLevel(NamedTuple):
    """The inner rows of one height."""

    groups: list[tuple[int, int]]  # operator and number of each group of rows
    arguments: Tensor  # two rows for each row; the second one of a negation is the row of zeros
    uses: Tensor  # the position of each row among all arguments and, after them, the roots


@dataclass(frozen=True)
class Calls:
    """Rows of an evaluation: variables, inner nodes by height and operator, a row of zeros.

    p & ~q has two inner nodes, ~q in row 26 and the root in row 27; 28 is the row of zeros, and
    p and q are rows 15 and 16. The arguments of both and the root are rows 16, 28, 15, 26 and 27,
    in positions 0 to 4:

    >>> from possibleworlds.logic.alphabet import encode
    >>> from possibleworlds.models.trees.forest import Forest
    >>> forest = Forest(encode("pq~&"), np.array([0, 4]))
    >>> calls = Calls.of(Nodes.of(forest, np.array([0]), np.arange(26)[None]))
    >>> [(groups, rows.tolist(), uses.tolist()) for groups, rows, uses in calls.levels]
    [([(0, 0)], [16, 28], [3]), ([(1, 1)], [15, 26], [4])]
    >>> calls.roots.tolist(), calls.leaf_uses.tolist(), calls.leaves.tolist()
    ([27], [0, 2], [16, 15])
    """

    rows: _Groups  # the inner rows: neighbours of equal height and operator
    arguments: Tensor  # (2 inner,): two rows for each inner row
    uses: Tensor  # (inner,): the position of each inner row among all arguments and roots
    operator: Tensor  # (inner,)
    by_operator: Tensor  # (inner,): inner rows, those of ~ first
    operator_sizes: list[int]
    roots: Tensor  # (trees,): the row of each tree's root
    leaf_uses: Tensor  # (leaves,): the positions of variables among all arguments and roots,
    leaves: Tensor  # (leaves,): and the variable at each position

    @classmethod
    def of(cls, nodes: Nodes, device: Device = "cpu") -> Calls:
        """Order the nodes of trees."""

        def tensor(array: Ints) -> Tensor:
            return torch.from_numpy(array).to(device)

        row = nodes.code - N_OPERATORS
        inner = np.flatnonzero(row < 0)
        kind = nodes.height[inner] * N_OPERATORS + nodes.code[inner]
        inner = inner[np.argsort(kind, kind="stable")]
        operator, zeros = nodes.code[inner], N_VARIABLES + len(inner)
        row[inner] = np.arange(N_VARIABLES, zeros)
        roots = row[nodes.slot == ROOT]
        n_arguments = 2 * len(inner)
        used = np.empty(n_arguments + len(roots), np.int64)  # arguments and roots
        used[0:n_arguments:2] = row[inner - nodes.first_child[inner]]
        used[1:n_arguments:2] = np.where(operator, row[inner - 1], zeros)
        used[n_arguments:] = roots
        uses = np.empty(zeros + 1, np.int64)
        uses[used] = np.arange(len(used))  # an inner node is used once
        leaf_uses = np.flatnonzero(used < N_VARIABLES)
        return cls(
            _Groups.of(nodes.height[inner], operator, N_OPERATORS),
            tensor(used[:n_arguments]),
            tensor(uses[N_VARIABLES:zeros]),
            tensor(operator),
            tensor(np.argsort(operator, kind="stable")),
            np.bincount(operator, minlength=N_OPERATORS).tolist(),
            tensor(roots),
            tensor(leaf_uses),
            tensor(used[leaf_uses]),
        )

    @property
    def n_inner(self) -> int:
        """The number of inner rows."""
        return len(self.operator)

    @cached_property
    def level_sizes(self) -> list[int]:
        """The number of inner rows of each height."""
        return [stop - start for start, stop in pairwise(self.rows.bounds)]

    @cached_property
    def levels(self) -> list[CallLevel]:
        """The inner rows of each height."""
        arguments = self.arguments.split([2 * size for size in self.level_sizes])
        uses = self.uses.split(self.level_sizes)
        return list(map(CallLevel, self.rows.of_height, arguments, uses))

    @cached_property
    def operator_groups(self) -> Ints:
        """Operator and number of rows of each group of inner rows, for the native kernel."""
        return np.array([self.rows.kinds, self.rows.sizes], np.int32).T.copy()

    def vectors(self, variables: Tensor) -> Tensor:
        """Allocate a vector for each row, (rows, d), and fill in those of variables and zeros."""
        vectors = variables.new_empty(N_VARIABLES + self.n_inner + 1, variables.shape[1])
        vectors[:N_VARIABLES] = variables
        vectors[-1] = 0.0
        return vectors

    def by_level(self, vectors: Tensor) -> tuple[Tensor, ...]:
        """Split the vectors of the inner rows by level."""
        return vectors[N_VARIABLES:-1].split(self.level_sizes)

    def groups(self, rows: Tensor, of_negations: int) -> list[Tensor]:
        """Split inner rows into groups; those of negations have `of_negations` columns."""
        return [
            group if operator else group[:, :of_negations]
            for group, operator in zip(rows.split(self.rows.sizes), self.rows.kinds, strict=True)
        ]

    def of_operators(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Gather the inner rows of each operator, those of ~ first."""
        return rows.index_select(0, self.by_operator).split(self.operator_sizes)


class _LeafRows(NamedTuple):
    """Distinct leaves, one for each variable of a domain, and their rows, one for each slot."""

    variable: Ints  # of each distinct leaf
    domain: Ints  # of each distinct leaf
    leaf: Ints  # the distinct leaf of each leaf row
    slot: Ints  # of each leaf row
    node: Ints  # the leaf nodes,
    row: Ints  # and the leaf row of each

    @classmethod
    def of(cls, nodes: Nodes, domain: Ints) -> _LeafRows:
        """Number the distinct leaves by variable and domain, and their rows by slot and leaf."""
        node = np.flatnonzero(nodes.code >= N_OPERATORS)
        n_domains = int(domain[-1]) + 1
        key = (nodes.code[node] - N_OPERATORS) * n_domains + domain[nodes.tree[node]]
        leaves, leaf_of_node = np.unique(key, return_inverse=True)
        rows, row = np.unique(nodes.slot[node] * len(leaves) + leaf_of_node, return_inverse=True)
        slot, leaf = np.divmod(rows, len(leaves))
        return cls(*np.divmod(leaves, n_domains), leaf, slot, node, row)


class MessageLevel(NamedTuple):
    """The inner rows of one height."""

    size: int
    groups: list[tuple[int, int]]  # slot and number of each group of rows, that of roots last
    inputs: Tensor  # the rows that each row sums
    first_input: Tensor  # where the inputs of each row start, and where the last ones end
    outputs: Tensor  # the row that receives each row's message, without those of roots


@dataclass(frozen=True)
class Messages:
    """Rows of an evaluation: the distinct (leaf, slot), the inner nodes by height, the biases.

    p & p has one distinct leaf, p, which fills two slots and so has two rows, 0 and 1. Row 2 is the
    root, and rows 3 to 6 are the biases of ~ & | >:

    >>> from possibleworlds.logic.alphabet import encode
    >>> from possibleworlds.models.trees.forest import Forest
    >>> forest = Forest(encode("pp&"), np.array([0, 3]))
    >>> nodes = Nodes.of(forest, np.array([0]), np.arange(26)[None])
    >>> order = Messages.of(nodes, domain=np.array([0]))
    >>> order.variables  # variable 15, p, is that of one distinct leaf
    [(15, 1)]
    >>> order.leaf.tolist(), order.leaf_groups  # slots 1 and 2 are "& left" and "& right"
    ([0, 0], [(1, 0), (2, 1)])
    >>> level = order.levels[0]
    >>> level.inputs.tolist(), level.first_input.tolist()  # bias of &, right and left argument
    ([4, 1, 0], [0, 3])
    >>> level.groups, level.outputs.tolist()  # slot 7 is ROOT, which sends no message
    ([(7, 2)], [])
    >>> order.leaf_outputs.tolist()  # both leaf rows send to row 2
    [2, 2]
    """

    domain: Tensor  # (leaves,): the set of worlds of each distinct leaf
    variables: list[tuple[int, int]]  # each variable, and its number of distinct leaves
    by_domain: Tensor  # (leaves,): the distinct leaves of each domain,
    first_of_domain: Tensor  # (domains + 1,): and where those of each domain start

    n_rows: int  # not counting the biases, which are the last `N_OPERATORS` rows
    sizes: list[int]  # rows in each group: neighbours of equal height and slot
    leaf: Tensor  # (leaf rows,): the distinct leaf of each leaf row
    leaf_groups: list[tuple[int, int]]
    leaf_outputs: Tensor  # the rows that receive the messages of leaf rows,
    first_leaf_output: Tensor  # and where those of each leaf row start
    copies: Tensor  # the leaf rows of each distinct leaf,
    first_copy: Tensor  # and where those of each leaf start
    levels: list[MessageLevel]
    operator: Tensor  # (inner,)
    root_groups: list[int]  # the groups of slot ROOT
    roots: Tensor  # (trees,): the position of each tree's root among their rows

    @classmethod
    def of(cls, nodes: Nodes, domain: Ints, device: Device = "cpu") -> Messages:
        """Order the nodes of trees; the trees of a domain share their leaves."""

        def tensor(array: Ints) -> Tensor:
            return torch.from_numpy(array).to(device)

        leaves = _LeafRows.of(nodes, domain)
        n_leaf_rows = len(leaves.leaf)
        inner = np.flatnonzero(nodes.code < N_OPERATORS)
        by_height = nodes.height[inner] * (ROOT + 1) + nodes.slot[inner]
        inner = inner[np.argsort(by_height, kind="stable")]
        row = np.empty(len(nodes.code), np.int64)  # of each node
        row[leaves.node] = leaves.row
        row[inner] = np.arange(n_leaf_rows, n_leaf_rows + len(inner))

        slot = np.concatenate((leaves.slot, nodes.slot[inner]))  # of each row
        height = np.concatenate((np.zeros(n_leaf_rows, np.int64), nodes.height[inner]))
        groups = _Groups.of(height, slot, ROOT + 1)
        variable_bounds = _run_bounds(leaves.variable)
        by_domain = np.argsort(leaves.domain, kind="stable")
        by_leaf = np.argsort(leaves.leaf, kind="stable")
        leaf_outputs, first_leaf_output = _leaf_outputs(nodes, leaves, row)
        return cls(
            domain=tensor(leaves.domain),
            variables=list(
                zip(
                    leaves.variable[variable_bounds[:-1]].tolist(),
                    np.diff(variable_bounds).tolist(),
                    strict=True,
                )
            ),
            by_domain=tensor(by_domain),
            first_of_domain=tensor(_starts(leaves.domain[by_domain], int(domain[-1]) + 1)),
            n_rows=len(slot),
            sizes=groups.sizes,
            leaf=tensor(leaves.leaf),
            leaf_groups=groups.of_height[0],
            leaf_outputs=tensor(leaf_outputs),
            first_leaf_output=tensor(first_leaf_output),
            copies=tensor(by_leaf),
            first_copy=tensor(_starts(leaves.leaf[by_leaf], len(leaves.variable))),
            levels=_message_levels(nodes, inner, row, groups, device),
            operator=tensor(nodes.code[inner]),
            root_groups=[group for group, kind in enumerate(groups.kinds) if kind == ROOT],
            roots=tensor(np.searchsorted(np.flatnonzero(slot == ROOT), row[nodes.slot == ROOT])),
        )


def _leaf_outputs(nodes: Nodes, leaves: _LeafRows, row: Ints) -> tuple[Ints, Ints]:
    """Return the rows that receive each leaf row's message, and where those of each start."""
    by_row = np.argsort(leaves.row, kind="stable")
    by_row = by_row[nodes.slot[leaves.node[by_row]] < ROOT]
    sender = leaves.node[by_row]
    n_senders = int((leaves.slot < ROOT).sum())
    return row[sender + nodes.parent[sender]], _starts(leaves.row[by_row], n_senders)


def _message_levels(
    nodes: Nodes, inner: Ints, row: Ints, groups: _Groups, device: Device
) -> list[MessageLevel]:
    """Return the inputs and outputs of the rows of each height above 0."""
    operator, n_rows = nodes.code[inner], groups.bounds[-1]
    first_argument = row[inner - nodes.first_child[inner]]
    inputs = np.stack((n_rows + operator, row[inner - 1], first_argument), 1)
    present = np.ones_like(inputs, bool)
    present[:, 2] = operator > 0  # a negation has one argument
    inputs = inputs[present]
    first_input = np.concatenate(([0], np.cumsum(2 + present[:, 2])))
    outputs = row[inner + nodes.parent[inner]]

    levels = []
    bounds = groups.bounds[1:]
    for of_level, start, stop in zip(groups.of_height[1:], bounds, bounds[1:], strict=False):
        start, stop = start - bounds[0], stop - bounds[0]  # inner rows come after the leaf rows
        first = first_input[start : stop + 1]
        last_slot, last = of_level[-1]
        n_senders = stop - start - (groups.sizes[last] if last_slot == ROOT else 0)
        arrays = inputs[first[0] : first[-1]], first - first[0], outputs[start:][:n_senders]
        tensors = (torch.from_numpy(array).to(device) for array in arrays)
        levels.append(MessageLevel(stop - start, of_level, *tensors))
    return levels
