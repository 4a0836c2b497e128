"""Keys that tell pairs and formulas apart up to renaming of variables."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data import native
from possibleworlds.logic.alphabet import N_OPERATORS, OPERATORS, SYMBOLS, encode

RIGHT_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Any odd number: it tells the places of the right formula from those of the left one."""


class RowKeys(NamedTuple):
    """Positive 64-bit keys of a row, which others that are equal up to renaming share."""

    pair: int
    premise: int
    conclusion: int
    """Of B with its variables numbered on from those of A, in the order in which they first occur
    in A and then B (de Bruijn)."""


def row_keys(pairs: Iterable[tuple[str, str]]) -> list[RowKeys]:
    """Compute the keys of rows.

    Formulas that are equal up to renaming have the same operators at the same places, and the same
    sets of places that hold one variable. A set is known by the sum of random numbers that stand
    for its places, and the sets of all variables, which have no order, by the sum of the hashes of
    those sums. In a conclusion, the set of a variable is told from others by its number, too.

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
    """Compute where the symbols of formulas stand, their numbers, and which symbol has a number.

    The places of a symbol are known by a sum of random numbers, 0 where it does not occur: (30, F)
    for F formulas. Variables are numbered from 1 in the order in which they first occur, other
    symbols are 0: (30, F). Line n has the variable of number n + 1 of each formula, and 0, which is
    an operator, where there is none.
    """
    symbols = encode("".join(formulas)).astype(np.intp)
    lengths = np.array([len(rpn) for rpn in formulas], np.intp)
    starts = lengths.cumsum() - lengths
    places = np.arange(1, len(symbols) + 1) - np.repeat(starts, lengths)
    owners = np.repeat(np.arange(len(formulas)), lengths)
    cells = symbols * len(formulas) + owners
    sums, numbers = np.zeros((2, len(SYMBOLS), len(formulas)), np.uint64)
    np.add.at(sums.ravel(), cells, hashed(places))
    # Written from the end on, the first occurrence is the last to be written.
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
    """Compute a key of each pair: the same for pairs that are equal up to renaming."""
    return [row.pair for row in row_keys(pairs)]


def pair_key(a: str, b: str) -> int:
    """Compute the key of one pair."""
    return pair_keys([(a, b)])[0]


def hashed(numbers: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Hash numbers, different ones to different ones (the finaliser of SplitMix64)."""
    mixed = numbers.astype(np.uint64)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
