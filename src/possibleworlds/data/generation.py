"""Generate the rows of a split in blocks, by any number of processes, and prune them in order.

A block of groups has its own seed, so that it is the same wherever it is generated; blocks are
pruned one after the other, so that the rows are the same for any number of processes.
"""

import math
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, islice
from typing import Annotated, Literal, TypeVar

import numpy as np

from possibleworlds import records
from possibleworlds.data.cnf import CLAUSES_PER_VARIABLE, cnf_four_tuple
from possibleworlds.data.exam import exam_pairs
from possibleworlds.data.fourtuples import four_tuples
from possibleworlds.data.groups import Bounds, Group, sample_groups
from possibleworlds.data.keys import RowKeys, row_keys
from possibleworlds.data.mutate import mutated_pairs
from possibleworlds.data.naive import naive_pairs
from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.errors import UserError, quoted
from possibleworlds.logic.alphabet import N_VARIABLES
from possibleworlds.parallel import OrderedMap, ordered_map

Method = Literal["fourtuples", "naive", "mutated", "sat", "exam"]
Prune = Literal["formulas", "pairs"]
T = TypeVar("T")

ROWS_TOGETHER = {"fourtuples": 4, "naive": 2, "mutated": 2, "sat": 4, "exam": 2}
"""The number of rows in a unit, which is kept or pruned as a whole."""
MAX_BLOCK_GROUPS = {"fourtuples": 120, "naive": 120, "mutated": 28, "sat": 16}
"""The number of groups in a block; a small split has smaller blocks."""
TRAINING = "train"
"""The split that the others are pruned against by formula."""
FRUITLESS_BLOCKS = 20
"""After this many blocks of groups without a new row, the generator gives up."""
ROUNDS_TO_DOUBLE = 16
"""About the most rounds of generation until the number of blocks has doubled."""
ROWS_OF_STREAM = 10_000
"""A stream is generated in blocks like those of a split of this many rows."""
MAX_ROWS = 1_000_000_000
"""The most rows of a split, whose keys are kept in memory: more are for a stream."""

Seed = Annotated[int, records.Range(0)]
PositiveInt = Annotated[int, records.Range(1)]


@dataclass(frozen=True)
class Split:
    """The settings of one split."""

    name: str
    rows: int
    variables: Bounds = (1, 10)
    operators: Bounds = (1, 10)
    method: Method = "fourtuples"
    exact_variables: bool = False
    """Whether each pair contains all the variables of its group."""
    clauses: int = 0
    """The clauses of a premise of method "sat"; 0 for about 4.55 per variable."""
    tilt: float = 0.0
    """The preference for groups with many variables and formulas with few operators; if negative,
    for few variables and many operators."""
    operator_tilt: float | None = None
    """The preference for formulas with few operators, if it differs from `tilt`."""
    search_rows: int = 0
    """The limit of truth-table rows in the search for B* of method "mutated"; 0 for none."""

    @property
    def file(self) -> str:
        """The name of the split's file."""
        return f"{self.name}.txt"

    def validate(self) -> None:
        """Raise UserError if the settings are invalid."""
        records.check_argument("rows", self.rows, int)
        for name, bounds in {"variables": self.variables, "operators": self.operators}.items():
            if not isinstance(bounds, tuple | list):
                expected = "a number, or the fewest and the most, such as (1, 10)"
                raise UserError(f"{name} must be {expected}, not {quoted(bounds)}")
            records.check_argument(name, bounds, tuple[int, int])
        records.check_argument("method", self.method, str)
        if self.method not in ROWS_TOGETHER:
            raise UserError(f"{self.method!r} is not a method: {', '.join(ROWS_TOGETHER)}")
        if self.method == "sat" and self.variables[0] < 3:
            raise UserError("a clause of three literals needs 3 variables")
        records.check_argument("exact_variables", self.exact_variables, bool)
        records.check_argument("clauses", self.clauses, Annotated[int, records.Range(0, 1000)])
        for tilt in (self.tilt, self.operator_tilt or 0.0):
            records.check_argument("tilt", tilt, float)
            if not -1 < tilt < 1:
                raise UserError(f"tilt {tilt}: must be between -1 and 1")
        records.check_argument("search_rows", self.search_rows, Seed)
        low, high = self.variables
        if not 1 <= low <= high <= N_VARIABLES:
            raise UserError(f"variables {low}-{high}: must be a range within 1-{N_VARIABLES}")
        low, high = self.operators
        if not 0 <= low <= high <= 1000:
            raise UserError(f"operators {low}-{high}: must be a range within 0-1000")
        together = ROWS_TOGETHER[self.method]
        if not together <= self.rows <= MAX_ROWS or self.rows % together:
            multiple = f"a positive multiple of {together}, at most {MAX_ROWS:,}"
            raise UserError(f"{self.rows} rows: {self.method!r} needs {multiple}")


FreeMethod = Literal["fourtuples", "naive", "mutated", "giant", "sat"]
FREE: dict[str, Split] = {
    "fourtuples": Split("", 0),
    "naive": Split("", 0, method="naive"),
    "mutated": Split("", 0, method="mutated"),
    "giant": Split("", 0, (26, 26), (40, 60), "mutated"),
    "sat": Split("", 0, (20, 20), method="sat"),
}
"""The methods for custom splits, with their default settings."""


class KeySet:
    """A set of positive 64-bit keys, 8 to 16 bytes each: open addressing in one array.

    Only half of a key is stored, in addition to its position. So about once in 2^31 times a key is
    mistaken for another one, and a row is dropped unnecessarily.
    """

    def __init__(self, capacity: int) -> None:
        self.mask = (1 << max(4, (2 * capacity).bit_length())) - 1
        self.slots = array("I", bytes(4)) * (self.mask + 1)

    def add_new(self, keys: Iterable[int]) -> bool:
        """Add the keys if they are distinct and all new; return whether they were added."""
        slots, mask = self.slots, self.mask
        placed: list[int] = []
        for key in keys:
            place, half = key & mask, key >> 32 or 1
            while slots[place] and slots[place] != half:
                place = (place + 1) & mask
            if slots[place]:
                for undone in placed:
                    slots[undone] = 0
                return False
            slots[place] = half
            placed.append(place)
        return True

    def update(self, keys: Iterable[int]) -> None:
        """Add keys, which may be in the set already."""
        slots, mask = self.slots, self.mask
        for key in keys:
            place, half = key & mask, key >> 32 or 1
            while slots[place] and slots[place] != half:
                place = (place + 1) & mask
            slots[place] = half

    def __contains__(self, key: int) -> bool:
        slots, mask = self.slots, self.mask
        place, half = key & mask, key >> 32 or 1
        while slots[place] and slots[place] != half:
            place = (place + 1) & mask
        return bool(slots[place])


class FormulaSets:
    """The premises and the conclusions of rows."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.premises, self.conclusions = KeySet(capacity), KeySet(capacity)

    def add(self, rows: Sequence[RowKeys]) -> None:
        """Add the formulas of rows."""
        self.premises.update({row.premise for row in rows})
        self.conclusions.update({row.conclusion for row in rows})

    def hold_any(self, rows: Iterable[RowKeys]) -> bool:
        """Whether a premise or a conclusion of rows is in the sets."""
        premises, conclusions = self.premises, self.conclusions
        return self.capacity > 0 and any(
            row.premise in premises or row.conclusion in conclusions for row in rows
        )


class Pruner:
    """Excludes from a split what earlier splits and other files contain, up to renaming.

    No pair occurs twice. Pruned by formula, like the published sets, no split shares a premise with
    the training data, nor a conclusion, with variables numbered on from its premise. The training
    data itself is pruned by formula only against other files.
    """

    def __init__(self, prune: Prune, splits: Sequence[Split], other_rows: int = 0) -> None:
        self.by_formula = prune == "formulas"
        self.pairs = KeySet(sum(split.rows for split in splits) + other_rows)
        training_rows = sum(split.rows for split in splits if split.name == TRAINING)
        self.training = FormulaSets(training_rows if self.by_formula else 0)
        self.others = FormulaSets(other_rows if self.by_formula else 0)

    def admit(self, split: Split, rows: Sequence[RowKeys]) -> bool:
        """Add a unit of rows unless one of them is pruned; return whether it was added."""
        is_training = split.name == TRAINING
        by_formula = self.by_formula and split.method != "exam"
        if by_formula and self.others.hold_any(rows):
            return False
        if by_formula and not is_training and self.training.hold_any(rows):
            return False
        if not self.pairs.add_new([row.pair for row in rows]):
            return False
        if is_training and self.by_formula:
            self.training.add(rows)
        return True

    def add_pairs(self, pairs: Sequence[Pair], split: Split | None = None) -> None:
        """Add the pairs of a split that was generated before, or of another file."""
        rows = row_keys((pair.a, pair.b) for pair in pairs)
        self.pairs.update(row.pair for row in rows)
        if self.by_formula and split is None:
            self.others.add(rows)
        elif self.by_formula and split and split.name == TRAINING:
            self.training.add(rows)


def make_units(split: Split, seed: int, number: int) -> list[list[Pair]]:
    """Generate the units of a block of groups."""
    if split.method == "exam":
        return exam_pairs()
    rng = np.random.default_rng([seed, zlib.crc32(split.name.encode()), number])
    size = min(MAX_BLOCK_GROUPS[split.method], 4 + split.rows // 16)
    if split.method == "sat":
        sizes = rng.integers(*split.variables, size, endpoint=True).tolist()
        clauses = [split.clauses or round(CLAUSES_PER_VARIABLE * n) for n in sizes]
        return [u for n, m in zip(sizes, clauses, strict=True) if (u := cnf_four_tuple(rng, n, m))]
    tilts = split.tilt, split.operator_tilt
    groups = sample_groups(rng, size, split.variables, split.operators, *tilts)
    match split.method:
        case "fourtuples":
            of_groups = [complete(split, group, four_tuples(group)) for group in groups]
            units = list(chain.from_iterable(of_groups))
        case "mutated":
            of_groups = [
                complete(split, group, mutated_pairs(group, rng, split.search_rows))
                for group in groups
            ]
            units = list(chain.from_iterable(of_groups))
        case "naive":
            units = naive_pairs(groups)
    return [units[i] for i in rng.permutation(len(units))]


def complete(split: Split, group: Group, units: list[list[Pair]]) -> list[list[Pair]]:
    """Drop the units with a pair that lacks a variable, if all are required."""
    if not split.exact_variables:
        return units
    names = set(group.names)
    return [unit for unit in units if all(names <= {*a, *b} for a, b, _ in unit)]


def make_block(
    split: Split, seed: int, form: Callable[[list[Pair]], T], number: int
) -> list[tuple[T, list[RowKeys]]]:
    """Generate a block: each unit, converted by `form`, with the keys of its rows."""
    units = make_units(split, seed, number)
    keys = iter(row_keys((a, b) for unit in units for a, b, _ in unit))
    return [(form(unit), list(islice(keys, len(unit)))) for unit in units]


def generate_units(
    split: Split,
    seed: int,
    pruner: Pruner,
    workers: int,
    form: Callable[[list[Pair]], T],
    parallel_map: OrderedMap = ordered_map,
) -> Iterator[T]:
    """Generate the units of a split, without those that are pruned."""
    make = partial(make_block, split, seed, form)
    missing, fruitless, blocks = split.rows, 0, 0
    while True:
        # No more blocks at a time than are expected to be needed, so that none is wasted. The first
        # one shows how many rows a block gives.
        done = split.rows - missing
        needed = math.ceil(missing * blocks / done) if done else 1
        until = blocks + max(needed, blocks // ROUNDS_TO_DOUBLE)
        for block in parallel_map(make, range(blocks, until), workers):
            before = missing
            for unit, keys in block:
                if not pruner.admit(split, keys):
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
                hint = "; pruning by pairs leaves more" if pruner.by_formula else ""
                raise UserError(
                    f"{split.name}: only {rows} are to be found, different up to renaming, "
                    f"with these variables and operators{hint}"
                )
        blocks = until


def generate_pairs(split: Split, seed: int, pruner: Pruner, workers: int) -> Pairs:
    """Generate the pairs of a split in memory."""
    return Pairs.of(chain.from_iterable(generate_units(split, seed, pruner, workers, list)))


def generate(
    rows: int,
    variables: Bounds | int | None = None,
    operators: Bounds | int | None = None,
    method: FreeMethod = "fourtuples",
    seed: int = 0,
    workers: int = 1,
    exact_variables: bool = False,
    clauses: int = 0,
) -> Pairs:
    """Generate labelled pairs in memory, no two equal up to renaming of variables.

    The same as `train.txt` of `possibleworlds generate` with these settings. `variables` is the
    number of names that formulas are sampled over; a pair may contain fewer, unless
    `exact_variables`. Both `variables` and `operators` take a range or a single number, and default
    to 1 to 10; but `giant` has 26 variables and 40 to 60 operators, and `sat` 20 variables, with
    `clauses` in its premises. Pairs of two seeds may share formulas; `paper_splits` has training
    and test data that do not.

    >>> pairs = generate(rows=8, variables=(1, 3), operators=(1, 4), seed=0)
    >>> len(pairs), [pair.label for pair in pairs[:4]]
    (8, [True, True, False, False])
    """
    settings = variables, operators, method, exact_variables, clauses
    split = free_split(TRAINING, rows, *settings)
    records.check_argument("seed", seed, Seed)
    records.check_argument("workers", workers, PositiveInt)
    return generate_pairs(split, seed, Pruner("pairs", [split]), workers)


def as_bounds(bounds: Bounds | int | None, default: Bounds) -> Bounds:
    """Convert a single number, which is both the fewest and the most, or None to bounds.

    >>> as_bounds(20, (1, 10)), as_bounds(None, (1, 10))
    ((20, 20), (1, 10))
    """
    if bounds is None:
        return default
    bounds = records.as_python(bounds)
    return (bounds, bounds) if isinstance(bounds, int) else bounds


def free_split(
    name: str,
    rows: int,
    variables: Bounds | int | None = None,
    operators: Bounds | int | None = None,
    method: FreeMethod = "fourtuples",
    exact_variables: bool = False,
    clauses: int = 0,
) -> Split:
    """Make a split with custom settings; raise UserError if they are invalid."""
    records.check_argument("method", method, str)
    if method not in FREE:
        raise UserError(f"{method!r} is not a method: {', '.join(FREE)}")
    if method == "sat" and operators is not None:
        raise UserError("operators do not apply to the method 'sat', but clauses do")
    if method != "sat" and clauses:
        raise UserError("clauses are for the method 'sat'")
    kind = FREE[method]
    split = replace(
        kind,
        name=name,
        rows=records.as_python(rows),
        variables=as_bounds(variables, kind.variables),
        operators=as_bounds(operators, kind.operators),
        exact_variables=exact_variables,
        clauses=records.as_python(clauses),
    )
    split.validate()
    return split


def stream(
    variables: Bounds | int | None = None,
    operators: Bounds | int | None = None,
    method: FreeMethod = "fourtuples",
    seed: int = 0,
    exact_variables: bool = False,
    clauses: int = 0,
) -> Iterator[Pair]:
    """Generate labelled pairs endlessly, in constant memory; occasionally one is repeated.

    >>> from itertools import islice
    >>> [pair.label for pair in islice(stream(seed=1), 4)]
    [True, True, False, False]
    """
    settings = variables, operators, method, exact_variables, clauses
    split = free_split("stream", ROWS_OF_STREAM, *settings)
    records.check_argument("seed", seed, Seed)
    return (pair for n in count() for unit in make_units(split, seed, n) for pair in unit)
