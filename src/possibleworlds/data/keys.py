"""Keys that tell pairs and formulas apart up to renaming of variables."""

from collections.abc import Iterable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from possibleworlds.logic.alphabet import LETTERS, OPERATORS, SYMBOLS, encode

NUMBERS = LETTERS.encode()
NO_LETTERS = "".join((*OPERATORS, ",")).encode()
RIGHT = np.uint64(0x9E3779B97F4A7C15)
"""Any odd number: it tells the places of the right formula from those of the left one."""


def pair_keys(pairs: Iterable[tuple[str, str]]) -> list[int]:
    """Compute a 64-bit key > 0 of each pair: the same for pairs that are equal up to renaming.

    Such pairs have the same operators at the same places, and the same sets of places that hold
    one variable. A set is known by the sum of random numbers that stand for its places, and the
    sets of all variables, which have no order, by the sum of the hashes of those sums.
    """
    known: dict[str, int] = {}
    both = np.array([known.setdefault(rpn, len(known)) for pair in pairs for rpn in pair], np.intp)
    lefts, rights = both.reshape(-1, 2).T.copy()
    symbols = encode("".join(known))
    lengths = np.array([len(rpn) for rpn in known], np.intp)
    formulas = np.repeat(np.arange(len(known)), lengths)
    places = np.arange(1, len(symbols) + 1) - np.repeat(lengths.cumsum() - lengths, lengths)
    sums = np.zeros((len(SYMBOLS), len(known)), np.uint64)
    np.add.at(sums.ravel(), symbols * np.intp(len(known)) + formulas, hashed(places))
    keys = np.zeros(len(lefts), np.uint64)
    for symbol, sums_of_symbol in zip(SYMBOLS, sums, strict=True):
        sets = sums_of_symbol.take(lefts) + RIGHT * sums_of_symbol.take(rights)
        if symbol in OPERATORS:
            sets += np.uint64(ord(symbol))
        keys += hashed(sets)
    positive: list[int] = np.maximum(keys, 1).tolist()
    return positive


def formula_keys(a: str, b: str) -> tuple[int, int]:
    """Compute positive 64-bit keys of A up to renaming, and of B numbered on from A.

    Variables are numbered in the order in which they first occur in A and then B (de Bruijn).

    >>> formula_keys("pq&", "qr|") == formula_keys("xa&", "ab|")
    True
    >>> formula_keys("pq&", "qr|")[1] == formula_keys("pq&", "pr|")[1]
    False
    """
    both = f"{a},{b}".encode()
    names = bytes(dict.fromkeys(both.translate(None, NO_LETTERS)))
    numbered = both.translate(bytes.maketrans(names, NUMBERS[: len(names)]))
    premise, _, conclusion = numbered.partition(b",")
    return bytes_key(premise), bytes_key(conclusion)


def bytes_key(text: bytes) -> int:
    """Hash a text to a positive 64-bit number, by two checksums that are several times as fast."""
    return crc32(text) << 32 | crc32(text[::-1]) or 1


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
