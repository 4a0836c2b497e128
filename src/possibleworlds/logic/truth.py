"""Truth tables as bit sets.

The values of a formula under many assignments are one Python integer, with a bit for each; ¬ ∧ ∨ →
are then single operations on integers. A whole truth table, a sample of its rows and a single
assignment differ only in the columns of the variables.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import ARITY
from possibleworlds.logic.formula import Formula, variables_of
from possibleworlds.logic.limits import check_timeout, run_limited
from possibleworlds.logic.syntax import parse, to_text

TABLE_VARIABLES = 20
"""The most variables of a truth table that is computed in one piece (128 KiB per column)."""
COUNTED_VARIABLES = 30
"""The most variables for which models are counted, which would otherwise take hours."""


COUNTED_SYMBOLS = 1 << 42
"""The same for truth-table rows times symbols of the formula: about 10 s on one core."""
TABLE_BYTES = 256 << 20
"""The memory for the values of all subformulas together."""


def stack_depth(rpn: Sequence[str]) -> int:
    """Count the most values that the evaluation of a formula keeps at a time.

    >>> stack_depth("pqr&|"), stack_depth("pq|r&")
    (3, 2)
    """
    depth = deepest = 0
    for symbol in rpn:
        depth += 1 - ARITY.get(symbol, 0)
        deepest = max(deepest, depth)
    return deepest


def evaluate_bits(rpn: Sequence[str], columns: Mapping[str, int], everywhere: int) -> int:
    """Compute the bit set of the assignments that make a formula true.

    `everywhere` has a bit for each assignment.
    """
    stack: list[int] = []
    push, pop, column_of = stack.append, stack.pop, columns.get
    for symbol in rpn:
        column = column_of(symbol)
        if column is not None:
            push(column)
        elif symbol == "~":
            stack[-1] ^= everywhere
        elif symbol == "&":
            right = pop()
            stack[-1] &= right
        elif symbol == "|":
            right = pop()
            stack[-1] |= right
        elif symbol == ">":
            right = pop()
            stack[-1] = stack[-1] ^ everywhere | right
        elif symbol == "=":
            right = pop()
            stack[-1] ^= everywhere ^ right
        elif symbol in "10":
            push(everywhere if symbol == "1" else 0)
        else:
            raise UserError(f"no truth value is given for the variable {symbol!r}")
    return pop()


def refuting_bits(
    a: Sequence[str], b: Sequence[str], columns: Mapping[str, int], everywhere: int
) -> int:
    """Compute the bit set of the assignments that make A true and B false."""
    true = evaluate_bits(a, columns, everywhere)
    return true & ~evaluate_bits(b, columns, everywhere) if true else 0


@cache
def table_columns(count: int) -> tuple[int, ...]:
    """Compute the columns of a truth table: in row r, variable j is true where bit j of r is set.

    >>> [f"{column:04b}" for column in table_columns(2)]
    ['1010', '1100']
    """
    rows = 1 << count
    everywhere = (1 << rows) - 1
    return tuple(
        # 2^j zeros and 2^j ones, repeated: `everywhere` divided by a block of 2^(j + 1) ones has a
        # one where each block starts.
        everywhere // ((1 << (1 << (j + 1))) - 1) * (((1 << (1 << j)) - 1) << (1 << j))
        for j in range(count)
    )


def table_bits(formula: Formula | str, variables: tuple[str, ...] | None = None) -> int:
    """Compute the bit set of true rows, over the formula's variables or those passed."""
    formula = parse(formula)
    names = formula.variables if variables is None else variables
    if len(names) > TABLE_VARIABLES:
        raise UserError(f"a truth table of {len(names)} variables is too large")
    columns = dict(zip(names, table_columns(len(names)), strict=True))
    return evaluate_bits(formula.rpn, columns, (1 << (1 << len(names))) - 1)


def random_columns(rng: Random, variables: tuple[str, ...], rows: int) -> dict[str, int]:
    """Draw random truth values: the columns of a sample of rows of the truth table."""
    return {variable: rng.getrandbits(rows) for variable in variables}


def sample_refuting_bits(rng: Random, a: Sequence[str], b: Sequence[str], rows: int) -> int:
    """Sample rows of the truth table: the bit set of those that make A true and B false."""
    columns = random_columns(rng, variables_of(a, b), rows)
    return refuting_bits(a, b, columns, (1 << rows) - 1)


def count_models(formula: Formula | str, timeout: float | None = None) -> int:
    """Count the assignments to the variables of a formula that make it true.

    With a timeout in seconds, UndecidedError is raised if that takes longer.
    """
    formula = parse(formula)
    names = formula.variables
    if len(names) > COUNTED_VARIABLES:
        raise UserError(f"counting the models of {len(names)} variables would take too long")
    if timeout is not None:
        check_timeout(timeout)
        return int(run_limited("count_models", [to_text(formula, "ascii")], timeout))
    if len(formula.rpn) << len(names) > COUNTED_SYMBOLS:
        size = f"{len(names)} variables and {len(formula.rpn):,} symbols"
        raise UserError(f"counting the models of {size} would take too long")
    return count_rows(formula)


def count_rows(formula: Formula | str) -> int:
    """Count the true rows of a formula's truth table, without any limit."""
    formula = parse(formula)
    names = formula.variables
    # To bound the memory of the stack, deeper formulas are evaluated on fewer rows at once.
    in_one_piece = TABLE_VARIABLES
    while in_one_piece and stack_depth(formula.rpn) << in_one_piece > 8 * TABLE_BYTES:
        in_one_piece -= 1
    inner, outer = names[:in_one_piece], names[in_one_piece:]
    everywhere = (1 << (1 << len(inner))) - 1
    columns = dict(zip(inner, table_columns(len(inner)), strict=True))
    total = 0
    for block in range(1 << len(outer)):
        columns |= {v: everywhere if block >> j & 1 else 0 for j, v in enumerate(outer)}
        total += evaluate_bits(formula.rpn, columns, everywhere).bit_count()
    return total
