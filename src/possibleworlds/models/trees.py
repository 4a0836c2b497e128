"""Batches of formulas as flat arrays, and the order in which the tree models evaluate them.

Formulas come in reverse Polish order, one array for a whole data set. What depends on a formula
alone (`Forest`) is computed once, at loading; what depends on a batch (`Batch` and the two orders
of evaluation) is a few dozen vectorised steps. Both orders go by height, so that a loop over
heights, not over nodes, evaluates everything:

- `Calls` sorts the nodes of a height by their operator: gather the arguments, apply it.
- `Messages` sorts them by the place (`slot`) they fill in their parent. Where an operator is
  linear, W [l, r] = W_l l + W_r r, each node multiplies itself by the matrix of its slot, and a
  parent only adds up what it is sent. Leaves are few: those equal in name and slot send once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from possibleworlds.logic.alphabet import LETTERS, OPERATORS
from possibleworlds.models.sequences import OPEN, TURNSTILE, Sequences, Texts, pad, texts_of

Ints = NDArray[np.integer]
Device = torch.device | str

N_OPERATORS, N_VARIABLES = len(OPERATORS), len(LETTERS)
SLOTS = ("~", "& left", "& right", "| left", "| right", "> left", "> right")
ROOT = len(SLOTS)  # the slot of a formula that is no part of another


class Forest:
    """Formulas in reverse Polish order, and for each node its height and where its family is."""

    def __init__(self, code: NDArray[np.uint8], offsets: Ints) -> None:
        """Take symbols 0-3 for ~ & | > and 4-29 for a-z; code[offsets[i]:offsets[i+1]] is one."""
        self.code, self.offsets = code, offsets
        node = np.arange(len(code))
        inner = code < N_OPERATORS
        binary = inner & (code > 0)
        # A binary node leaves the stack as high as its left argument did, and all in between, the
        # right argument, higher: its left child is the last node before it of its stack height.
        stack = np.cumsum(1 - inner - binary.astype(np.int64))
        by_stack = np.argsort(stack, kind="stable")
        left = node - 1
        left[by_stack[1:]] = np.where(binary[by_stack[1:]], by_stack[:-1], left[by_stack[1:]])

        self.back = np.where(inner, node - left, 0).astype(np.int32)  # to the first child
        self.up = np.zeros(len(code), np.int32)  # to the parent
        self.slot = np.full(len(code), ROOT, np.int32)
        for child, parents, side in ((left, inner, 0), (node - 1, binary, 1)):
            self.up[child[parents]] = (node - child)[parents]
            self.slot[child[parents]] = np.maximum(2 * code[parents].astype(np.int32) - 1, 0) + side

        self.height = np.zeros(len(code), np.int32)
        waiting = inner.astype(np.int8) + binary  # for so many children
        done = np.flatnonzero(~inner)
        while len(done := done[self.up[done] > 0]):
            parent = done + self.up[done]
            self.height[parent] = self.height[done] + 1  # the last child to come is the highest
            np.subtract.at(waiting, parent, 1)
            done = np.unique(parent[waiting[parent] == 0])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def texts(self) -> Texts:
        """The formulas as sequences of symbols."""
        return texts_of(self.code, self.offsets)

    @cached_property
    def shares(self) -> NDArray[np.float32]:
        """How large a share of each formula each symbol is, [formulas, 30]."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        places = owner * (N_OPERATORS + N_VARIABLES) + self.code
        size = len(self) * (N_OPERATORS + N_VARIABLES)
        counts = np.bincount(places, minlength=size).astype(np.float32).reshape(len(self), -1)
        return counts / counts.sum(1, keepdims=True)


@dataclass(frozen=True)
class Batch:
    """Pairs of trees; a tree is a formula under a permutation of symbols, and kept only once."""

    forest: Forest
    formula: Ints  # of each tree
    symbols: Ints  # of each tree: the variable to put in the place of a, b, ...
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
        """Make a batch of pairs of formulas, the i-th one's symbols by permutations[group[i]]."""
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
        """Make a batch of the four pairs of each A1, A2, B1, B2; [units, 4], and [units, 26]."""
        left, right = _sides_of_four_tuples(len(formulas), device)
        symbols = np.repeat(permutations, 4, axis=0)
        return cls(forest, formulas.ravel(), symbols, left, right, device)

    @cached_property
    def shares(self) -> Tensor:
        """How large a share of each distinct tree each symbol is, [trees, 30]."""
        shares = torch.from_numpy(self.forest.shares[self.formula])
        variables = shares[:, N_OPERATORS:]
        renaming = torch.from_numpy(self.symbols.astype(np.int64))
        variables.scatter_(1, renaming, variables.clone())
        return shares.to(self.device)

    @cached_property
    def sequences(self) -> Sequences:
        """The distinct trees as sequences."""
        return pad(*self._symbols_of(np.arange(len(self.formula))), self.device)

    @cached_property
    def joined(self) -> Sequences:
        """Each pair as one sequence A ⊨ B."""
        symbols, lengths = self._symbols_of(self._both_sides)
        symbols = np.insert(symbols, np.cumsum(lengths)[0::2], TURNSTILE)
        return pad(symbols, lengths[0::2] + lengths[1::2] + 1, self.device)

    @cached_property
    def side_by_side(self) -> tuple[Sequences, Tensor]:
        """Each pair as one sequence A B, and which places are those of B."""
        symbols, lengths = self._symbols_of(self._both_sides)
        sequences = pad(symbols, lengths[0::2] + lengths[1::2], self.device)
        first = torch.from_numpy(lengths[0::2]).to(self.device)[:, None]
        places = torch.arange(sequences.symbols.shape[1], device=self.device)
        return sequences, (places >= first) & sequences.present

    @property
    def _both_sides(self) -> Ints:
        """The trees of A and B of each pair, in turns."""
        return torch.stack((self.left, self.right), 1).flatten().cpu().numpy()

    def _symbols_of(self, trees: Ints) -> tuple[Ints, Ints]:
        """Give the sequences of some trees one after the other, and their lengths."""
        texts, formula = self.forest.texts, self.formula[trees]
        first = texts.offsets[formula]
        lengths = texts.offsets[formula + 1] - first
        owner = np.repeat(np.arange(len(trees)), lengths)
        symbols = texts.symbols[
            np.arange(len(owner)) + (first - np.cumsum(lengths) + lengths)[owner]
        ]
        variable = np.flatnonzero((symbols >= N_OPERATORS) & (symbols < OPEN))
        renamed = self.symbols[trees[owner[variable]], symbols[variable] - N_OPERATORS]
        symbols[variable] = renamed + N_OPERATORS
        return symbols, lengths

    @cached_property
    def nodes(self) -> Nodes:
        """All nodes of the distinct trees."""
        return Nodes.of(self.forest, self.formula, self.symbols)

    @cached_property
    def calls(self) -> Calls:
        """The order of evaluation operator by operator."""
        return Calls.of(self.nodes, self.device)

    @cached_property
    def messages(self) -> Messages:
        """The order of evaluation by messages, where equal leaves of all trees are the same."""
        return Messages.of(self.nodes, np.zeros(len(self.formula), np.int64), self.device)

    @cached_property
    def private_messages(self) -> Messages:
        """The order where only leaves of one pair are the same; trees 2i and 2i + 1 are pair i."""
        trees = self._both_sides
        nodes = Nodes.of(self.forest, self.formula[trees], self.symbols[trees])
        return Messages.of(nodes, np.arange(len(trees)) // 2, self.device)


@cache
def _sides_of_four_tuples(units: int, device: Device) -> tuple[Tensor, Tensor]:
    """Which trees are the sides of each pair, where trees come as A1, A2, B1, B2."""
    first = torch.arange(0, 4 * units, 4, device=device)[:, None]
    left, right = torch.tensor([[0, 1, 0, 1], [2, 3, 3, 2]], device=device)
    return (first + left).flatten(), (first + right).flatten()


class Nodes(NamedTuple):
    """The nodes of some trees one after the other, each tree in reverse Polish order."""

    tree: Ints
    code: Ints  # variables already renamed
    slot: Ints
    height: Ints
    back: Ints
    up: Ints

    @classmethod
    def of(cls, forest: Forest, formula: Ints, symbols: Ints) -> Nodes:
        """Copy the nodes of the given formulas, renaming variables."""
        first = forest.offsets[formula]
        size = forest.offsets[formula + 1] - first
        tree = np.repeat(np.arange(len(formula)), size)
        index = np.arange(len(tree)) + (first - np.cumsum(size) + size)[tree]
        code = forest.code[index].astype(np.int64)
        leaf = np.flatnonzero(code >= N_OPERATORS)
        code[leaf] = symbols[tree[leaf], code[leaf] - N_OPERATORS] + N_OPERATORS
        return cls(
            tree,
            code,
            forest.slot[index],
            forest.height[index],
            forest.back[index],
            forest.up[index],
        )


def _runs(kind: Ints) -> list[int]:
    """Find where the runs of equal kind begin in an array, and where the last one ends."""
    inside = (np.flatnonzero(kind[1:] != kind[:-1]) + 1).tolist()
    return [0, *inside, len(kind)] if len(kind) else [0]


def _starts(kind: Ints, n_kinds: int) -> Ints:
    """Find where each kind begins in a sorted array, and where the last one ends."""
    return np.searchsorted(kind, np.arange(n_kinds + 1))


class Call(NamedTuple):
    """The inner rows of one height."""

    start: int  # not counting the rows of variables
    stop: int
    groups: list[tuple[int, int]]  # operator and number of each group of rows
    children: Tensor  # two rows for each row; the second child of a negation is the row of zeros


@dataclass(frozen=True)
class Calls:
    """Rows of an evaluation: variables, inner nodes by height and operator, a row of zeros."""

    n_inner: int
    sizes: list[int]  # rows in each group: neighbours of equal height and operator
    levels: list[Call]
    by_operator: Tensor  # inner rows, those of ~ first
    operator_sizes: list[int]
    roots: Tensor  # row of each tree's root

    @classmethod
    def of(cls, nodes: Nodes, device: Device = "cpu") -> Calls:
        """Order the nodes of trees."""
        _, code, slot, height, back, _ = nodes
        row = code - N_OPERATORS
        inner = np.flatnonzero(row < 0)
        inner = inner[np.argsort(height[inner] * N_OPERATORS + code[inner], kind="stable")]
        operator, heights = code[inner], height[inner]
        row[inner] = np.arange(N_VARIABLES, N_VARIABLES + len(inner))
        pairs = np.stack((row[inner - back[inner]], row[inner - 1]), 1)
        pairs[operator == 0, 1] = N_VARIABLES + len(inner)
        children = torch.from_numpy(pairs.ravel()).to(device)

        cuts, level_cuts = _runs(heights * N_OPERATORS + operator), _runs(heights)
        groups: list[list[tuple[int, int]]] = [[] for _ in level_cuts[1:]]
        kinds = zip(heights[cuts[:-1]].tolist(), operator[cuts[:-1]].tolist(), strict=True)
        for i, (at, kind) in enumerate(kinds):
            groups[at - 1].append((kind, i))
        levels = [
            Call(start, stop, group, children[2 * start : 2 * stop])
            for start, stop, group in zip(level_cuts, level_cuts[1:], groups, strict=False)
        ]
        return cls(
            len(inner),
            np.diff(cuts).tolist(),
            levels,
            torch.from_numpy(np.argsort(operator, kind="stable")).to(device),
            np.bincount(operator, minlength=N_OPERATORS).tolist(),
            torch.from_numpy(row[slot == ROOT]).to(device),
        )


class Level(NamedTuple):
    """The inner rows of one height."""

    size: int
    groups: list[tuple[int, int]]  # slot and number of each group of rows, that of roots last
    inputs: Tensor  # the rows that each row adds up
    first_input: Tensor  # where in `inputs` each row's begin, and where the last one's end
    outputs: Tensor  # the row that each row's message goes to, those of roots left out


@dataclass(frozen=True)
class Messages:
    """Rows of an evaluation: the distinct (leaf, slot), the inner nodes by height, the biases."""

    domain: Tensor  # of each distinct leaf: which set of worlds it lives in
    variables: list[tuple[int, int]]  # their names: variable, and for how many of the leaves
    by_domain: Tensor  # the distinct leaves of each domain,
    first_of_domain: Tensor  # and where each domain's begin

    n_rows: int  # not counting the biases, which are the last `N_OPERATORS` rows
    sizes: list[int]  # rows in each group: neighbours of equal height and slot
    leaf: Tensor  # of each leaf row: the distinct leaf it stands for
    leaf_groups: list[tuple[int, int]]
    leaf_outputs: Tensor  # the rows that the leaf rows' messages go to,
    first_leaf_output: Tensor  # and where each leaf row's begin
    copies: Tensor  # the leaf rows that stand for each distinct leaf,
    first_copy: Tensor  # and where each leaf's begin
    levels: list[Level]
    operator: Tensor  # of each inner row
    root_groups: list[int]  # those of slot ROOT
    roots: Tensor  # of each tree: which of their rows is its root

    @classmethod
    def of(cls, nodes: Nodes, domain: Ints, device: Device = "cpu") -> Messages:
        """Order the nodes of trees; those of one domain have their leaves in common."""
        tree, code, slot, height, back, up = nodes
        is_leaf = code >= N_OPERATORS
        leaf, inner = np.flatnonzero(is_leaf), np.flatnonzero(~is_leaf)

        n_domains = int(domain[-1]) + 1
        name = (code[leaf] - N_OPERATORS) * n_domains + domain[tree[leaf]]
        names, name_of = np.unique(name, return_inverse=True)
        sent, sent_by = np.unique(slot[leaf] * len(names) + name_of, return_inverse=True)
        sent_slot, leaf_of = np.divmod(sent, len(names))
        inner = inner[np.argsort(height[inner] * (ROOT + 1) + slot[inner], kind="stable")]
        n_leaf, n_rows = len(sent), len(sent) + len(inner)
        row = np.empty(len(code), np.int64)
        row[leaf] = sent_by
        row[inner] = np.arange(n_leaf, n_rows)

        # An inner row adds up the bias of its operator and the messages of its children,
        operator = code[inner]
        inputs = np.stack((n_rows + operator, row[inner - 1], row[inner - back[inner]]), 1)
        present = np.ones_like(inputs, bool)
        present[:, 2] = operator > 0
        inputs = inputs[present]
        first_input = np.concatenate(([0], np.cumsum(2 + present[:, 2])))
        # and sends one message itself, while that of a leaf row may go to many rows.
        outputs = row[inner + up[inner]]
        by_sender = np.argsort(sent_by, kind="stable")
        by_sender = by_sender[slot[leaf[by_sender]] < ROOT]
        receiver = leaf[by_sender] + up[leaf[by_sender]]
        by_leaf = np.argsort(leaf_of, kind="stable")

        def tensor(array: Ints) -> Tensor:
            return torch.from_numpy(array).to(device)

        slots = np.concatenate((sent_slot, slot[inner]))
        heights = np.concatenate((np.zeros(n_leaf, np.int64), height[inner]))
        cuts, level_cuts = _runs(heights * (ROOT + 1) + slots), _runs(heights)
        sizes, kinds = np.diff(cuts).tolist(), slots[cuts[:-1]].tolist()
        groups: list[list[tuple[int, int]]] = [[] for _ in level_cuts[1:]]
        for i, (at, kind) in enumerate(zip(heights[cuts[:-1]].tolist(), kinds, strict=True)):
            groups[at].append((kind, i))
        levels = []
        for group, start, stop in zip(groups[1:], level_cuts[1:], level_cuts[2:], strict=False):
            first = first_input[start - n_leaf : stop - n_leaf + 1]
            last_slot, last = group[-1]
            senders = stop - start - (sizes[last] if last_slot == ROOT else 0)
            levels.append(
                Level(
                    stop - start,
                    group,
                    tensor(inputs[first[0] : first[-1]]),
                    tensor(first - first[0]),
                    tensor(outputs[start - n_leaf :][:senders]),
                )
            )

        variables, domains = np.divmod(names, n_domains)
        of_variable = _runs(variables)
        by_domain = np.argsort(domains, kind="stable")
        return cls(
            domain=tensor(domains),
            variables=list(
                zip(
                    variables[of_variable[:-1]].tolist(), np.diff(of_variable).tolist(), strict=True
                )
            ),
            by_domain=tensor(by_domain),
            first_of_domain=tensor(_starts(domains[by_domain], n_domains)),
            n_rows=n_rows,
            sizes=sizes,
            leaf=tensor(leaf_of),
            leaf_groups=groups[0],
            leaf_outputs=tensor(row[receiver]),
            first_leaf_output=tensor(_starts(sent_by[by_sender], int((sent_slot < ROOT).sum()))),
            copies=tensor(by_leaf),
            first_copy=tensor(_starts(leaf_of[by_leaf], len(names))),
            levels=levels,
            operator=tensor(operator),
            root_groups=[i for i, kind in enumerate(kinds) if kind == ROOT],
            roots=tensor(np.searchsorted(np.flatnonzero(slots == ROOT), row[slot == ROOT])),
        )


def uniform(*shape: int, fan_in: int) -> Tensor:
    """Draw weights the way nn.Linear does."""
    return torch.empty(shape).uniform_(-(fan_in**-0.5), fan_in**-0.5)


def by_operator(slots: Tensor) -> list[Tensor]:
    """Put the matrices of an operator's arguments, [slots, d, m], one below the other."""
    negation, binary = slots.split([1, len(slots) - 1])
    return [negation[0], *binary.view(N_OPERATORS - 1, -1, slots.shape[2]).unbind()]
