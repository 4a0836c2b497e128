"""Formulas as immutable values.

A formula is stored in reverse Polish notation, as a flat tuple of symbols: `(p & q) > r` is
`p q & r >`. No function is recursive, so depth is unlimited; equality, hashing and pickling are
those of a tuple; a subformula is a slice; and every evaluation is one pass with a stack.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from possibleworlds.errors import UserError, quoted
from possibleworlds.logic.alphabet import (
    AND,
    ARITY,
    CONSTANTS,
    FALSE,
    IFF,
    IMPLIES,
    NOT,
    OR,
    TRUE,
)

WORDS = tuple(
    spelling
    for word in ("true", "false", "not", "and", "or", "xor", "implies", "iff")
    for spelling in (word, word.upper(), word.capitalize())
)
"""Reserved words, which cannot be names of variables."""
NAME = re.compile(rf"(?!(?:{'|'.join(WORDS)})$)[^\W\d]\w*'*")
MAX_REWRITTEN_LENGTH = 1_000_000


@dataclass(frozen=True, slots=True, repr=False)
class Formula:
    """An immutable formula: its symbols in reverse Polish notation.

    >>> p, q = Formula.variable("p"), Formula.variable("q")
    >>> print((p & q) >> ~p)
    p ∧ q → ¬p
    """

    rpn: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.rpn, tuple):
            raise UserError(f"a formula is made from a tuple of symbols, not {quoted(self.rpn)}")
        waiting = 0
        for symbol in self.rpn:
            waiting -= ARITY.get(symbol, 0)
            if waiting < 0:
                raise UserError(f"not a formula: {quoted(symbol)} lacks an argument")
            waiting += 1
        if waiting != 1:
            raise UserError(f"not a formula: {waiting} formulas side by side")
        for symbol in set(self.rpn):
            if symbol not in ARITY and symbol not in CONSTANTS and not NAME.fullmatch(symbol):
                raise UserError(f"not the name of a variable: {quoted(symbol)}")

    @classmethod
    def variable(cls, name: str) -> "Formula":
        """Make a formula that is a single variable."""
        check_names([name])
        return cls((name,))

    def __invert__(self) -> "Formula":
        return Formula((*self.rpn, NOT))

    def __and__(self, other: "Formula") -> "Formula":
        if not isinstance(other, Formula):
            return NotImplemented
        return Formula((*self.rpn, *other.rpn, AND))

    def __or__(self, other: "Formula") -> "Formula":
        if not isinstance(other, Formula):
            return NotImplemented
        return Formula((*self.rpn, *other.rpn, OR))

    def __rshift__(self, other: "Formula") -> "Formula":
        """Implication: `p >> q` is p → q."""
        if not isinstance(other, Formula):
            return NotImplemented
        return Formula((*self.rpn, *other.rpn, IMPLIES))

    def iff(self, other: "Formula") -> "Formula":
        """Equivalence: p ↔ q."""
        if not isinstance(other, Formula):
            raise UserError(f"not a formula, but text: {quoted(other)}; parse(...) reads it")
        return Formula((*self.rpn, *other.rpn, IFF))

    def __str__(self) -> str:
        from possibleworlds.logic.syntax import to_text

        return to_text(self)

    def _repr_latex_(self) -> str:
        """Show the formula in a notebook."""
        from possibleworlds.logic.syntax import to_text

        return f"${to_text(self, 'latex')}$"

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    @property
    def root(self) -> str:
        """The symbol at the top: an operator, a constant or the name of a variable."""
        return self.rpn[-1]

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in order of first occurrence."""
        return variables_of(self.rpn)

    @property
    def operators(self) -> int:
        """The number of operators."""
        return sum(symbol in ARITY for symbol in self.rpn)

    @property
    def length(self) -> int:
        """The number of operators and of occurrences of variables."""
        return len(self.rpn)

    @property
    def children(self) -> tuple["Formula", ...]:
        """The immediate subformulas: none, one or two."""
        arity = ARITY.get(self.root, 0)
        if arity == 0:
            return ()
        if arity == 1:
            return (Formula(self.rpn[:-1]),)
        split = spans(self.rpn)[-2]
        return Formula(self.rpn[:split]), Formula(self.rpn[split:-1])

    def subformulas(self) -> Iterator["Formula"]:
        """Yield every occurrence of a subformula, arguments before their operators."""
        for end, start in enumerate(spans(self.rpn)):
            yield Formula(self.rpn[start : end + 1])

    def evaluate(self, assignment: Mapping[str, bool]) -> bool:
        """Compute the truth value of the formula under an assignment to its variables.

        >>> (Formula.variable("p") & Formula.variable("q")).evaluate({"p": True, "q": False})
        False
        """
        from possibleworlds.logic.truth import evaluate_bits

        check_names(assignment)
        for variable, value in assignment.items():
            if value not in (True, False):
                raise UserError(f"{variable} is true or false, not {quoted(value)}")
        return evaluate_bits(self.rpn, {v: int(x) for v, x in assignment.items()}, 1) == 1

    def rename(self, names: Mapping[str, str]) -> "Formula":
        """Replace variables by other variables."""
        check_names([*names, *names.values()])
        return Formula(tuple(names.get(s, s) for s in self.rpn))

    def basic(self) -> "Formula":
        """Rewrite the formula into ¬ ∧ ∨ →, the operators that the networks know.

        ⊤ becomes p ∨ ¬p, and ⊥ p ∧ ¬p, for the first variable p of the formula; a formula without
        variables gets the variable p.
        """
        if {IFF, *CONSTANTS}.isdisjoint(self.rpn):
            return self
        starts = spans(self.rpn)
        p = next(iter(self.variables), "p")
        spelled_out = {TRUE: (p, p, NOT, OR), FALSE: (p, p, NOT, AND)}
        out: list[str] = []
        todo: list[int | str] = [len(self.rpn) - 1]
        while todo:
            place = todo.pop()
            if isinstance(place, str):
                out.append(place)
                continue
            symbol = self.rpn[place]
            if symbol not in ARITY:
                out.extend(spelled_out.get(symbol, (symbol,)))
            elif symbol == NOT:
                todo += [NOT, place - 1]
            else:
                right, left = place - 1, starts[place - 1] - 1
                if symbol == IFF:
                    todo += [AND, IMPLIES, left, right, IMPLIES, right, left]
                else:
                    todo += [symbol, right, left]
            if len(out) > len(self.rpn) + MAX_REWRITTEN_LENGTH:
                raise UserError("too many nested ↔ to rewrite: each doubles the formula")
        return Formula(tuple(out))


def check_names(names: Iterable[str]) -> None:
    """Raise UserError if a name of a variable is a constant or an operator."""
    for name in names:
        if name in CONSTANTS or name in ARITY:
            raise UserError(f"not the name of a variable: {quoted(name)}")


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """Join formulas by ∧, from the left; the empty conjunction is ⊤.

    >>> conjunction(map(Formula.variable, "pqr")).rpn
    ('p', 'q', '&', 'r', '&')
    """
    rpn: list[str] = []
    for formula in formulas:
        rpn += (*formula.rpn, AND) if rpn else formula.rpn
    return Formula(tuple(rpn) or (TRUE,))


def variables_of(*rpns: Sequence[str]) -> tuple[str, ...]:
    """List the variables of formulas in order of first occurrence."""
    symbols = dict.fromkeys(s for rpn in rpns for s in rpn)
    return tuple(s for s in symbols if s not in ARITY and s not in CONSTANTS)


def spans(rpn: Sequence[str], arities: Mapping[str, int] = ARITY) -> list[int]:
    """Find the start of the subformula that ends at each position.

    >>> spans("pq&r>")
    [0, 1, 0, 3, 0]
    """
    starts: list[int] = []
    open_starts: list[int] = []
    for place, symbol in enumerate(rpn):
        arity = arities.get(symbol, 0)
        start = place
        for _ in range(arity):
            start = open_starts.pop()
        open_starts.append(start)
        starts.append(start)
    return starts


def levels(rpn: Sequence[str]) -> list[int]:
    """Compute the depth of each symbol in the syntax tree; the root has depth 0.

    >>> levels("pq&r>")
    [2, 2, 1, 1, 0]
    """
    depths = [0] * len(rpn)
    waiting = [0]
    for place in range(len(rpn) - 1, -1, -1):
        level = depths[place] = waiting.pop()
        if arity := ARITY.get(rpn[place]):
            waiting += [level + 1] * arity
    return depths
