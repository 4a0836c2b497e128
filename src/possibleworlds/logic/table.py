"""Truth tables for people: rows to read, to show in a notebook or to pass to pandas."""

from collections.abc import Sequence

from possibleworlds.display import html_table
from possibleworlds.errors import UserError
from possibleworlds.logic.entailment import Premises, read_premises, read_sequent
from possibleworlds.logic.formula import Formula, variables_of
from possibleworlds.logic.syntax import TURNSTILE
from possibleworlds.logic.truth import table_bits

LISTED_VARIABLES = 16
"""The most variables of a table whose rows are listed: 65,536 rows."""
SHOWN_ROWS = 64


class TruthTable(list[dict[str, bool]]):
    """Rows of a truth table: the value of each variable and formula, by its text.

    As in textbooks, the first row makes all variables true, and the last one changes fastest.
    """

    def __init__(self, formulas: Sequence[Formula], conclusion: Formula | None = None) -> None:
        everything = [*formulas, *([] if conclusion is None else [conclusion])]
        names = variables_of(*(formula.rpn for formula in everything))
        if len(names) > LISTED_VARIABLES:
            raise UserError(
                f"a truth table of {len(names)} variables has too many rows; "
                f"those of up to {LISTED_VARIABLES} variables are listed"
            )
        # In the bit sets, the first variable changes fastest, so that the names are reversed.
        columns = {str(formula): table_bits(formula, names[::-1]) for formula in everything}
        places = {name: place for place, name in enumerate(reversed(names))}
        for row in reversed(range(1 << len(names))):
            values = {name: bool(row >> places[name] & 1) for name in names}
            self.append(values | {text: bool(bits >> row & 1) for text, bits in columns.items()})
        self._premises = [str(formula) for formula in formulas]
        self._conclusion = None if conclusion is None else str(conclusion)

    @property
    def countermodels(self) -> list[dict[str, bool]]:
        """The rows in which all premises are true and the conclusion, if there is one, is false."""
        return [row for row in self if self._mark(row) == "✗"]

    def _mark(self, row: dict[str, bool]) -> str:
        if self._conclusion is None or not all(row[premise] for premise in self._premises):
            return ""
        return "✓" if row[self._conclusion] else "✗"

    def _cells(self) -> list[dict[str, str]]:
        rows = [{name: "FT"[value] for name, value in row.items()} for row in self[:SHOWN_ROWS]]
        if self._conclusion is None:
            return rows
        return [row | {"": self._mark(values)} for row, values in zip(rows, self, strict=False)]

    def _rest(self) -> str:
        hidden = len(self) - SHOWN_ROWS
        return f"... and {hidden:,} more rows" if hidden > 0 else ""

    def __repr__(self) -> str:
        cells = self._cells()
        lines = [list(cells[0]), *(list(row.values()) for row in cells)]
        columns = list(cells[0])
        texts = [
            "  ".join(cell.center(len(name)) for cell, name in zip(line, columns, strict=True))
            for line in lines
        ]
        return "\n".join([*map(str.rstrip, texts), self._rest()]).rstrip()

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        return html_table(self._cells()) + self._rest()


def truth_table(a: Premises, b: Formula | str | None = None) -> TruthTable:
    """List the rows of the truth table of a formula, of several, or of premises and a conclusion.

    Each row is a dict of truth values, so that pandas makes a data frame of the table. Rows in
    which all premises are true have a mark: ✓ if the conclusion is true as well, ✗ if it is false.

    >>> truth_table("p -> q, q |= p")
    p  q  p → q
    T  T    T    ✓
    T  F    F
    F  T    T    ✗
    F  F    T
    >>> truth_table("p & ~p")
    p  p ∧ ¬p
    T    F
    F    F
    """
    if b is not None or (isinstance(a, str) and TURNSTILE.search(a)):
        return TruthTable(*read_sequent(a, b))
    formulas = read_premises(a)
    if not formulas:
        raise UserError("no formula")
    return TruthTable(formulas)
