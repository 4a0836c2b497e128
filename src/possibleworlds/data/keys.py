"""Keys that tell pairs apart up to renaming of variables, many at a time."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from possibleworlds.logic.alphabet import LETTERS, OPERATORS

SYMBOLS = "".join(OPERATORS) + LETTERS
NUMBERS = bytes.maketrans(SYMBOLS.encode(), bytes(range(len(SYMBOLS))))
RIGHT = np.uint64(0x9E3779B97F4A7C15)
"""Any odd number: it tells the places of the right formula from those of the left one."""


def pair_keys(pairs: Iterable[tuple[str, str]]) -> list[int]:
    """A positive 64-bit number for each pair: the same for those that are equal up to renaming.

    Such pairs have the same operators at the same places, and the same sets of places that hold
    one variable. A set is known by the sum of random numbers that stand for its places, and the
    sets of all variables, which have no order, by the sum of what those sums are scrambled into.
    """
    known: dict[str, int] = {}
    both = np.array([known.setdefault(rpn, len(known)) for pair in pairs for rpn in pair], np.intp)
    lefts, rights = both.reshape(-1, 2).T.copy()
    symbols = np.frombuffer("".join(known).encode().translate(NUMBERS), np.uint8)
    lengths = np.array([len(rpn) for rpn in known], np.intp)
    formulas = np.repeat(np.arange(len(known)), lengths)
    places = np.arange(1, len(symbols) + 1) - np.repeat(lengths.cumsum() - lengths, lengths)
    sums = np.zeros((len(SYMBOLS), len(known)), np.uint64)
    np.add.at(sums.ravel(), symbols * np.intp(len(known)) + formulas, scrambled(places))
    keys = np.zeros(len(lefts), np.uint64)
    for symbol, sums_of_symbol in zip(SYMBOLS, sums, strict=True):
        sets = sums_of_symbol.take(lefts) + RIGHT * sums_of_symbol.take(rights)
        if symbol in OPERATORS:
            sets += np.uint64(ord(symbol))
        keys += scrambled(sets)
    found: list[int] = np.maximum(keys, 1).tolist()
    return found


def pair_key(a: str, b: str) -> int:
    """The key of one pair."""
    return pair_keys([(a, b)])[0]


def scrambled(numbers: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Numbers as good as random, different for different ones (the end of SplitMix64)."""
    mixed = numbers.astype(np.uint64)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
