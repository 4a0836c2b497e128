"""Formulas up to renaming of variables."""

from collections.abc import Sequence

from possibleworlds.logic.alphabet import ARITY, CONSTANTS
from possibleworlds.logic.formula import Formula


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
