"""Does A entail B? A truth table for few variables; else a cheap try to refute, then MiniSat."""

from random import Random

from possibleworlds.logic.formula import Formula, variables_of
from possibleworlds.logic.sat import DEFAULT_SOLVER, find_model
from possibleworlds.logic.syntax import parse
from possibleworlds.logic.truth import random_columns, refuting_bits, table_columns

TABLE_PAYS = 12
"""Up to this many variables a truth table is faster than a solver."""
RANDOM_ROWS = 1024


def countermodel(
    a: Formula | str, b: Formula | str, solver: str | None = None
) -> dict[str, bool] | None:
    """Find an assignment that makes A true and B false; None where A entails B.

    >>> countermodel("p | q", "p")
    {'p': False, 'q': True}
    """
    a, b = parse(a), parse(b)
    if solver is not None:
        return find_model([(a, True), (b, False)], solver)
    variables = variables_of(a.rpn, b.rpn)
    if len(variables) <= TABLE_PAYS:
        columns = dict(zip(variables, table_columns(len(variables)), strict=True))
        rows = 1 << len(variables)
    else:
        rows = RANDOM_ROWS
        columns = random_columns(Random(0), variables, rows)
    if refuting := refuting_bits(a.rpn, b.rpn, columns, (1 << rows) - 1):
        row = (refuting & -refuting).bit_length() - 1
        return {v: bool(columns[v] >> row & 1) for v in variables}
    if len(variables) <= TABLE_PAYS:
        return None
    return find_model([(a, True), (b, False)], DEFAULT_SOLVER)


def entails(a: Formula | str, b: Formula | str, solver: str | None = None) -> bool:
    """Whether B is true wherever A is; decided by `solver` alone where one is named."""
    return countermodel(a, b, solver) is None


def equivalent(a: Formula | str, b: Formula | str, solver: str | None = None) -> bool:
    """Whether A and B are true in the same assignments."""
    a, b = parse(a), parse(b)
    return entails(a, b, solver) and entails(b, a, solver)
