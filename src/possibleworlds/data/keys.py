"""Keys that identify pairs and formulas up to renaming of variables."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data import native
from possibleworlds.logic.alphabet import N_OPERATORS, OPERATORS, SYMBOLS, encode

RIGHT_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Any odd number: it separates the positions in the right formula from those in the left."""


class RowKeys(NamedTuple):
    """Positive 64-bit keys of a row, the same for rows that are equal up to renaming."""

    pair: int
    premise: int
    conclusion: int
    """The key of B with its variables numbered by their first occurrence in A and then in B."""


def row_keys(pairs: Iterable[tuple[str, str]]) -> list[RowKeys]:
    """Compute the keys of rows.

    Formulas that are equal up to renaming have the same operators at the same positions, and the
    same sets of positions with one variable. The key of a set is the sum of random numbers for its
    positions, and that of the sets of all variables, which have no order, the sum of the hashes of
    those sums. In a conclusion, the key of a variable's set also depends on its number.

    >>> row_keys([("pq&", "qr|")]) == row_keys([("xa&", "ab|")])
    True
    >>> row_keys([("pq&", "qr|")])[0].conclusion == row_keys([("pq&", "pr|")])[0].conclusion
    False
    """
    if native.kernel:
        keys_of = native.kernel.keys
        return [RowKeys(*keys_of(a, b)) for a, b in pairs]
    known: dict[str, int] = {}
    both = np.array([known.setdefault(rpn, len(known)) for pair in pairs for rpn in pair], np.intp)
    lefts, rights = both.reshape(-1, 2).T.copy()
    sums, numbers, variables = symbol_sets(list(known))
    premises = np.zeros(len(known), np.uint64)
    keys, conclusions = np.zeros((2, len(lefts)), np.uint64)
    for symbol, of_symbol in zip(SYMBOLS, sums, strict=True):
        operator = np.uint64(ord(symbol) if symbol in OPERATORS else 0)
        in_right = of_symbol.take(rights)
        keys += hashed(of_symbol.take(lefts) + RIGHT_FACTOR * in_right + operator)
        premises += hashed(of_symbol + operator)
        if operator:
            conclusions += hashed(in_right + operator)
    last = numbers.max(axis=0, initial=0).take(lefts)
    for nth_variable in variables:
        symbol_of_right = nth_variable.take(rights) * len(known)
        in_right = sums.ravel().take(symbol_of_right + rights)
        number = numbers.ravel().take(symbol_of_right + lefts)
        last += number == 0
        hashes = hashed(in_right + RIGHT_FACTOR * np.where(number, number, last))
        conclusions += np.where(symbol_of_right, hashes, 0)
    columns = (keys, premises.take(lefts), conclusions)
    return [*map(RowKeys, *(np.maximum(column, 1).tolist() for column in columns))]


def symbol_sets(
    formulas: Sequence[str],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.intp]]:
    """Compute the positions of symbols in formulas, their numbers, and the symbol of each number.

    The positions of a symbol are a sum of random numbers, 0 if it does not occur: (30, F) for F
    formulas. Variables are numbered from 1 by first occurrence, other symbols are 0: (30, F). Row n
    has variable n + 1 of each formula, and 0, which is an operator, if there is none.
    """
    symbols = encode("".join(formulas)).astype(np.intp)
    lengths = np.array([len(rpn) for rpn in formulas], np.intp)
    starts = lengths.cumsum() - lengths
    places = np.arange(1, len(symbols) + 1) - np.repeat(starts, lengths)
    owners = np.repeat(np.arange(len(formulas)), lengths)
    cells = symbols * len(formulas) + owners
    sums, numbers = np.zeros((2, len(SYMBOLS), len(formulas)), np.uint64)
    np.add.at(sums.ravel(), cells, hashed(places))
    # Written from the end, the first occurrence is the last to be written.
    numbers.ravel()[cells[::-1]] = places[::-1]
    first = (numbers.ravel().take(cells) == places) & (symbols >= N_OPERATORS)
    counted = first.cumsum()
    counted -= np.repeat(counted[starts] - first[starts], lengths)
    numbers[:] = 0
    numbers.ravel()[cells[first]] = counted[first]
    variables = np.zeros((counted.max(initial=0), len(formulas)), np.intp)
    variables[counted[first] - 1, owners[first]] = symbols[first]
    return sums, numbers, variables


def pair_keys(pairs: Iterable[tuple[str, str]]) -> list[int]:
    """Compute a key for each pair, the same for pairs that are equal up to renaming."""
    return [row.pair for row in row_keys(pairs)]


def pair_key(a: str, b: str) -> int:
    """Compute the key of one pair."""
    return pair_keys([(a, b)])[0]


def hashed(numbers: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Hash numbers without collisions (the finaliser of SplitMix64)."""
    mixed = numbers.astype(np.uint64)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
