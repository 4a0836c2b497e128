"""Equality of formulas up to renaming of variables."""

from collections.abc import Sequence

from possibleworlds.logic.alphabet import ARITY, CONSTANTS
from possibleworlds.logic.formula import Formula


def alpha_equivalent(left: Sequence[Formula], right: Sequence[Formula]) -> bool:
    """Whether one renaming maps each left formula to the corresponding right one."""
    if [f.length for f in left] != [f.length for f in right]:
        return False
    forward: dict[str, str] = {symbol: symbol for symbol in (*ARITY, *CONSTANTS)}
    backward = dict(forward)
    return all(
        forward.setdefault(x, y) == y and backward.setdefault(y, x) == x
        for f, g in zip(left, right, strict=True)
        for x, y in zip(f.rpn, g.rpn, strict=True)
    )
