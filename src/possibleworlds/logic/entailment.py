"""Decide entailment: by truth table for few variables, else by random rows and then MiniSat."""

from collections.abc import Sequence
from random import Random

from possibleworlds.errors import UserError, quoted
from possibleworlds.logic.formula import Formula, conjunction, variables_of
from possibleworlds.logic.limits import check_timeout, run_limited
from possibleworlds.logic.sat import DEFAULT_SOLVER, find_model
from possibleworlds.logic.syntax import parse, parse_premises, parse_sequent, to_text
from possibleworlds.logic.truth import random_columns, refuting_bits, table_columns

Premises = Formula | str | Sequence[Formula | str]
"""One premise or several; in a text, commas separate them."""
MAX_TABLE_VARIABLES = 12
"""Up to this many variables, a truth table is faster than a solver."""
RANDOM_ROWS = 1024


def read_premises(a: Premises) -> list[Formula]:
    """Parse one premise or several."""
    if isinstance(a, str):
        return parse_premises(a)
    if not isinstance(a, Formula | Sequence):
        raise UserError(f"premises are formulas or texts, not {quoted(a)}")
    return [a] if isinstance(a, Formula) else list(map(parse, a))


def read_sequent(a: Premises, b: Formula | str | None) -> tuple[list[Formula], Formula]:
    """Parse premises and conclusion, from two arguments or one text such as "p, p -> q |= q".

    >>> read_sequent("p, p -> q", "q") == read_sequent(["p", "p -> q"], "q")
    True
    """
    if b is None:
        if not isinstance(a, str):
            raise UserError("no conclusion")
        return parse_sequent(a)
    return read_premises(a), parse(b)


def countermodel(
    a: Premises,
    b: Formula | str | None = None,
    solver: str | None = None,
    timeout: float | None = None,
) -> dict[str, bool] | None:
    """Find an assignment that makes A true and B false; None if A entails B.

    With a timeout in seconds, UndecidedError is raised if that takes longer.

    >>> countermodel("p | q", "p")
    {'p': False, 'q': True}
    >>> countermodel(["p | q", "~p"], "q") is None
    True
    """
    premises, b = read_sequent(a, b)
    a = conjunction(premises)
    if timeout is not None:
        check_timeout(timeout)
        texts = [to_text(formula, "ascii") for formula in (a, b)]
        refuting_assignment: dict[str, bool] | None
        refuting_assignment = run_limited("countermodel", [*texts, solver], timeout)
        return refuting_assignment
    if solver is not None:
        return find_model([(a, True), (b, False)], solver)
    variables = variables_of(a.rpn, b.rpn)
    if len(variables) <= MAX_TABLE_VARIABLES:
        columns = dict(zip(variables, table_columns(len(variables)), strict=True))
        rows = 1 << len(variables)
    else:
        rows = RANDOM_ROWS
        columns = random_columns(Random(0), variables, rows)
    if refuting := refuting_bits(a.rpn, b.rpn, columns, (1 << rows) - 1):
        row = (refuting & -refuting).bit_length() - 1
        return {v: bool(columns[v] >> row & 1) for v in variables}
    if len(variables) <= MAX_TABLE_VARIABLES:
        return None
    return find_model([(a, True), (b, False)], DEFAULT_SOLVER)


def entails(
    a: Premises,
    b: Formula | str | None = None,
    solver: str | None = None,
    timeout: float | None = None,
) -> bool:
    """Whether B is true wherever A is; decided by `solver` alone if one is named.

    A is one premise or several, and a text may hold both sides:

    >>> entails(["p", "p -> q"], "q"), entails("p, p -> q |= q")
    (True, True)
    """
    return countermodel(a, b, solver, timeout) is None


def equivalent(
    a: Formula | str, b: Formula | str, solver: str | None = None, timeout: float | None = None
) -> bool:
    """Whether A and B are true in the same assignments."""
    a, b = parse(a), parse(b)
    return entails(a, b, solver, timeout) and entails(b, a, solver, timeout)
