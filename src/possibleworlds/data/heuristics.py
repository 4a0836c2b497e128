"""The three published heuristics, which guess entailment without reasoning."""

from possibleworlds.logic.alphabet import IMPLIES, LETTERS, NOT

Literals = tuple[int, int]
Heuristics = tuple[bool, bool, bool]
BIT = {letter: 1 << i for i, letter in enumerate(LETTERS)}


def literals(rpn: str) -> Literals:
    """Compute the positive and the negated variables in negation normal form, as bit sets."""
    plain = negated = 0
    positive = True
    waiting: list[bool] = []
    for symbol in reversed(rpn):
        bit = BIT.get(symbol)
        if bit:
            if positive:
                plain |= bit
            else:
                negated |= bit
            if waiting:
                positive = waiting.pop()
        elif symbol == NOT:
            positive = not positive
        else:
            # The right side is read next; the left one of → is negated in the normal form.
            waiting.append(positive != (symbol == IMPLIES))
    return plain, negated


def nothing_new(a: Literals, b: Literals) -> tuple[bool, bool]:
    """Compute H2 and H3 from the literals of two formulas."""
    (plain_a, negated_a), (plain_b, negated_b) = a, b
    new_plain, new_negated = plain_b & ~plain_a, negated_b & ~negated_a
    new_variables = (new_plain | new_negated) & ~(plain_a | negated_a)
    return not new_variables, not (new_plain or new_negated)


def heuristics(a: str, b: str) -> Heuristics:
    """Compute H1: A is at least as long as B; H2: no new variables in B; H3: no new literals."""
    return len(a) >= len(b), *nothing_new(literals(a), literals(b))
