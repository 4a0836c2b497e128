"""What can be guessed without reasoning: the three heuristics published beside each row."""

from functools import lru_cache

from possibleworlds.logic.formula import LETTERS

BIT = {letter: 1 << i for i, letter in enumerate(LETTERS)}


@lru_cache(maxsize=64)
def literals(rpn: str) -> tuple[int, int]:
    """The variables that stand plain and negated in the negation normal form, as bit sets."""
    plain = negated = 0
    positive = True
    waiting: list[bool] = []
    for symbol in reversed(rpn):
        if symbol == "~":
            positive = not positive
        elif symbol == ">":
            waiting.append(not positive)
        elif symbol in "&|":
            waiting.append(positive)
        else:
            if positive:
                plain |= BIT[symbol]
            else:
                negated |= BIT[symbol]
            if waiting:
                positive = waiting.pop()
    return plain, negated


def heuristics(a: str, b: str) -> tuple[bool, bool, bool]:
    """H1: A is at least as long as B. H2: B has no new variables. H3: B* has no new literals."""
    plain_a, negated_a = literals(a)
    plain_b, negated_b = literals(b)
    no_new_variables = not (plain_b | negated_b) & ~(plain_a | negated_a)
    no_new_literals = not (plain_b & ~plain_a or negated_b & ~negated_a)
    return len(a) >= len(b), no_new_variables, no_new_literals
