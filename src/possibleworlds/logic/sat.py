"""Satisfiability: Tseitin clauses, and MiniSat through python-sat."""

from collections.abc import Iterable

from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import AND, CONSTANTS, IMPLIES, NOT, OR, TRUE
from possibleworlds.logic.formula import Formula, variables_of

DEFAULT_SOLVER = "minisat22"


def tseitin(*asserted: tuple[Formula, bool]) -> tuple[list[list[int]], dict[str, int]]:
    """Build clauses that give each formula its truth value, and number the variables."""
    number = {v: i + 1 for i, v in enumerate(variables_of(*(f.rpn for f, _ in asserted)))}
    clauses: list[list[int]] = []
    last = len(number)
    for formula, value in asserted:
        stack: list[int] = []
        for symbol in formula.rpn:
            if symbol in number:
                stack.append(number[symbol])
                continue
            if symbol == NOT:
                stack[-1] = -stack[-1]
                continue
            last += 1
            x = last
            if symbol in CONSTANTS:
                clauses.append([x if symbol == TRUE else -x])
            else:
                b, a = stack.pop(), stack.pop()
                if symbol == AND:
                    clauses += [[-x, a], [-x, b], [x, -a, -b]]
                elif symbol == OR:
                    clauses += [[x, -a], [x, -b], [-x, a, b]]
                elif symbol == IMPLIES:
                    clauses += [[x, a], [x, -b], [-x, -a, b]]
                else:
                    clauses += [[-x, -a, b], [-x, a, -b], [x, a, b], [x, -a, -b]]
            stack.append(x)
        clauses.append([stack[0] if value else -stack[0]])
    return clauses, number


def find_model(
    asserted: Iterable[tuple[Formula, bool]], solver: str = DEFAULT_SOLVER
) -> dict[str, bool] | None:
    """Find an assignment that gives each formula its truth value; None if there is none."""
    from pysat.solvers import Solver, SolverNames

    if solver != DEFAULT_SOLVER:
        # CryptoMiniSat is a separate package, which python-sat only asserts to be installed.
        groups = {key: names for key, names in vars(SolverNames).items() if key != "cryptosat"}
        if not any(solver in names for key, names in groups.items() if not key.startswith("_")):
            raise UserError(f"python-sat has no solver called {solver!r}")
    clauses, number = tseitin(*asserted)
    try:
        with Solver(name=solver, bootstrap_with=clauses) as running:
            if not running.solve():
                return None
            true = set(running.get_model())
    except Exception as error:
        if "keyboard interrupt" in str(error).lower():  # as python-sat reports Ctrl-C
            raise KeyboardInterrupt from None
        raise
    return {variable: i in true for variable, i in number.items()}
