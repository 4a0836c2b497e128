"""How the rows of a split are generated: in blocks, by any number of processes, pruned in order.

A block of groups has its own seed, so that it is the same wherever it is made; blocks are pruned
one after the other, so that the rows are the same for any number of processes.
"""

import math
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, islice
from typing import Annotated, Literal, TypeVar

import numpy as np

from possibleworlds import records
from possibleworlds.data.exam import exam_pairs
from possibleworlds.data.fourtuples import four_tuples
from possibleworlds.data.groups import Range, sample_groups
from possibleworlds.data.keys import pair_keys
from possibleworlds.data.mutate import mutated_pairs
from possibleworlds.data.naive import naive_pairs
from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import N_VARIABLES
from possibleworlds.parallel import OrderedMap, ordered_map

Method = Literal["fourtuples", "naive", "mutated", "exam"]
T = TypeVar("T")

ROWS_TOGETHER = {"fourtuples": 4, "naive": 2, "mutated": 2, "exam": 2}
"""How many rows form a unit, which is kept or pruned as a whole."""
LARGEST_BLOCK = {"fourtuples": 128, "naive": 128, "mutated": 16}
"""How many groups are made at once; fewer for a small split."""
FRUITLESS_BLOCKS = 20
"""After this many blocks of groups without a new row, the generator gives up."""
MOST_ROUNDS = 16
"""Of making blocks, about, until their number has doubled."""
ROWS_OF_STREAM = 10_000
"""A stream comes in blocks like those of a split of this many rows."""


Seed = Annotated[int, records.Range(0)]
Count = Annotated[int, records.Range(1)]


@dataclass(frozen=True)
class Split:
    """The settings of one split."""

    name: str
    rows: int
    variables: Range = (1, 10)
    operators: Range = (1, 10)
    method: Method = "fourtuples"

    @property
    def file(self) -> str:
        """The name of the split's file."""
        return f"{self.name}.txt"

    def validate(self) -> None:
        """Raise UserError if no data can have these settings."""
        records.check_argument("rows", self.rows, int)
        records.check_argument("variables", self.variables, tuple[int, int])
        records.check_argument("operators", self.operators, tuple[int, int])
        records.check_argument("method", self.method, str)
        if self.method not in ROWS_TOGETHER:
            raise UserError(f"{self.method!r} is not a method: {', '.join(ROWS_TOGETHER)}")
        low, high = self.variables
        if not 1 <= low <= high <= N_VARIABLES:
            raise UserError(f"variables {low}-{high}: must be a range within 1-{N_VARIABLES}")
        low, high = self.operators
        if not 0 <= low <= high <= 1000:
            raise UserError(f"operators {low}-{high}: must be a range within 0-1000")
        together = ROWS_TOGETHER[self.method]
        if self.rows < together or self.rows % together:
            raise UserError(
                f"{self.rows} rows: {self.method!r} needs a positive multiple of {together}"
            )


class KeySet:
    """A set of positive 64-bit keys, about 20 bytes each: open addressing in one array."""

    def __init__(self, capacity: int) -> None:
        self.mask = (1 << max(4, (2 * capacity).bit_length())) - 1
        self.slots = array("Q", bytes(8)) * (self.mask + 1)

    def add_new(self, keys: Iterable[int]) -> bool:
        """Add the keys if they differ and none is in the set; return whether they were added."""
        slots, mask = self.slots, self.mask
        placed: list[int] = []
        for key in keys:
            place = key & mask
            while slots[place] and slots[place] != key:
                place = (place + 1) & mask
            if slots[place]:
                for undone in placed:
                    slots[undone] = 0
                return False
            slots[place] = key
            placed.append(place)
        return True

    def add_pairs(self, pairs: Sequence[Pair]) -> None:
        """Add the keys of pairs, up to renaming."""
        for key in pair_keys((pair.a, pair.b) for pair in pairs):
            self.add_new([key])


def make_units(split: Split, seed: int, number: int) -> list[list[Pair]]:
    """Make the units of rows of a block of groups."""
    if split.method == "exam":
        # the exam is the same for everybody
        return exam_pairs(np.random.default_rng([0, zlib.crc32(split.name.encode()), number]))
    rng = np.random.default_rng([seed, zlib.crc32(split.name.encode()), number])
    size = min(LARGEST_BLOCK[split.method], 4 + split.rows // 16)
    groups = sample_groups(rng, size, split.variables, split.operators)
    match split.method:
        case "fourtuples":
            units = [unit for group in groups for unit in four_tuples(group)]
        case "mutated":
            units = [unit for group in groups for unit in mutated_pairs(group, rng)]
        case "naive":
            units = naive_pairs(groups)
    return [units[i] for i in rng.permutation(len(units))]


def make_block(
    split: Split, seed: int, form: Callable[[list[Pair]], T], number: int
) -> list[tuple[T, list[int]]]:
    """Make a block: each unit in the form wanted, with the keys of its rows."""
    units = make_units(split, seed, number)
    keys = iter(pair_keys((pair.a, pair.b) for unit in units for pair in unit))
    return [(form(unit), list(islice(keys, len(unit)))) for unit in units]


def generate_units(
    split: Split,
    seed: int,
    used: KeySet,
    workers: int,
    form: Callable[[list[Pair]], T],
    spread: OrderedMap = ordered_map,
) -> Iterator[T]:
    """Generate the units of a split, without pairs that are in use already, up to renaming."""
    make = partial(make_block, split, seed, form)
    missing, fruitless, blocks = split.rows, 0, 0
    while True:
        # No more blocks at a time than are expected to be needed, so that none is made in vain. The
        # first one shows how many rows a block gives.
        made = split.rows - missing
        needed = math.ceil(missing * blocks / made) if made else 1
        until = blocks + max(needed, blocks // MOST_ROUNDS)
        for block in spread(make, range(blocks, until), workers):
            before = missing
            for unit, keys in block:
                if not used.add_new(keys):
                    continue
                yield unit
                missing -= len(keys)
                if not missing:
                    return
            if split.method == "exam":
                return
            fruitless = fruitless + 1 if missing == before else 0
            if fruitless == FRUITLESS_BLOCKS:
                rows = f"{split.rows - missing} of {split.rows} rows"
                raise UserError(
                    f"{split.name}: only {rows} are to be found, different up to renaming, "
                    "with these variables and operators"
                )
        blocks = until


def generate_pairs(split: Split, seed: int, used: KeySet, workers: int) -> Pairs:
    """Generate the pairs of a split in memory."""
    return Pairs.of(chain.from_iterable(generate_units(split, seed, used, workers, list)))


def generate(
    rows: int,
    variables: Range = (1, 10),
    operators: Range = (1, 10),
    method: Method = "fourtuples",
    seed: int = 0,
    workers: int = 1,
) -> Pairs:
    """Generate labelled pairs in memory, no two equal up to renaming of variables.

    The same as `train.txt` of `possibleworlds generate` with these settings.

    >>> pairs = generate(rows=8, variables=(1, 3), operators=(1, 4), seed=0)
    >>> len(pairs), [pair.label for pair in pairs[:4]]
    (8, [True, True, False, False])
    """
    split = Split("train", rows, variables, operators, method)
    split.validate()
    records.check_argument("seed", seed, Seed)
    records.check_argument("workers", workers, Count)
    return generate_pairs(split, seed, KeySet(rows), workers)


def stream(
    variables: Range = (1, 10),
    operators: Range = (1, 10),
    method: Method = "fourtuples",
    seed: int = 0,
) -> Iterator[Pair]:
    """Generate labelled pairs without end, in constant memory; now and then one comes again.

    >>> from itertools import islice
    >>> [pair.label for pair in islice(stream(seed=1), 4)]
    [True, True, False, False]
    """
    split = Split("stream", ROWS_OF_STREAM, variables, operators, method)
    split.validate()
    records.check_argument("seed", seed, Seed)
    return (pair for n in count() for unit in make_units(split, seed, n) for pair in unit)
