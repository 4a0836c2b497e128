"""Formulas up to renaming of variables: de Bruijn form and alpha-equivalence."""

from collections.abc import Sequence
from hashlib import blake2b

from possibleworlds.logic.formula import ARITY, CONSTANTS, LETTERS, Formula

FIRST_LETTERS = [LETTERS[:count].encode() for count in range(len(LETTERS) + 1)]


def de_bruijn(a: str, b: str) -> bytes:
    """A pair over the variables a to z, renamed so that they first occur in alphabetical order."""
    pair = f"{a},{b}".encode()
    order = bytes(dict.fromkeys(pair.translate(None, b"~&|>,")))
    return pair.translate(bytes.maketrans(order, FIRST_LETTERS[len(order)]))


def pair_key(a: str, b: str) -> int:
    """A positive 64-bit number: the same for pairs that are equal up to renaming."""
    return int.from_bytes(blake2b(de_bruijn(a, b), digest_size=8).digest()) or 1


def alpha_equivalent(left: Sequence[Formula], right: Sequence[Formula]) -> bool:
    """Whether one renaming turns each formula on the left into the one beside it on the right."""
    if [f.length for f in left] != [f.length for f in right]:
        return False
    to: dict[str, str] = {symbol: symbol for symbol in (*ARITY, *CONSTANTS)}
    back = dict(to)
    return all(
        to.setdefault(x, y) == y and back.setdefault(y, x) == x
        for f, g in zip(left, right, strict=True)
        for x, y in zip(f.rpn, g.rpn, strict=True)
    )
