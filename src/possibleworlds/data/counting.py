"""Count the models of a formula along its tree, if its truth table would be too large."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from possibleworlds.logic.alphabet import AND, ARITY, NOT, OR


class Counts(NamedTuple):
    """How often a subformula is true, for each assignment to the variables that it shares."""

    start: int
    """The start of the subformula."""
    shared: str
    """Its variables that also occur outside of it, in alphabetical order."""
    true: NDArray[np.int64]
    """How many assignments to its other variables make it true, with an axis per shared one."""
    others: int
    """The number of variables that occur only in it."""

    def negated(self) -> "Counts":
        """Count how often the subformula is false."""
        return Counts(self.start, self.shared, (1 << self.others) - self.true, self.others)

    def both(self, right: "Counts") -> "Counts":
        """Count how often this subformula and the next one are both true."""
        shared = "".join(sorted({*self.shared, *right.shared}))
        true = self.along(shared) * right.along(shared)
        return Counts(self.start, shared, true, self.others + right.others)

    def along(self, shared: str) -> NDArray[np.int64]:
        """Arrange the counts along the axes of more variables."""
        if not self.shared or self.shared == shared:
            return self.true
        return self.true.reshape([2 if name in self.shared else 1 for name in shared])

    def summed(self, outside: str) -> "Counts":
        """Sum over the variables that do not occur outside the subformula."""
        shared = "".join(name for name in self.shared if name in outside)
        if shared == self.shared:
            return self
        axes = tuple(axis for axis, name in enumerate(self.shared) if name not in outside)
        return Counts(self.start, shared, self.true.sum(axis=axes), self.others + len(axes))


def count_along_tree(rpn: str) -> int:
    """Count the assignments to the variables of a formula over a to z that satisfy it.

    Each variable is summed over as soon as a subformula contains all its occurrences, so that
    arrays have an axis only for each variable that subformulas share. In (p ∧ q) ∨ (¬p ∧ r), q and
    r are never an axis: both sides have a count for each value of p.

    >>> count_along_tree("pq&p~r&|")
    4
    """
    stack: list[Counts] = []
    for place, symbol in enumerate(rpn):
        if symbol == NOT:
            stack.append(stack.pop().negated())
        elif symbol in ARITY:
            right, left = stack.pop(), stack.pop()
            # a ∨ b is ¬(¬a ∧ ¬b) and a → b is ¬(a ∧ ¬b).
            if symbol == AND:
                joint = left.both(right)
            elif symbol == OR:
                joint = left.negated().both(right.negated()).negated()
            else:
                joint = left.both(right.negated()).negated()
            stack.append(joint.summed(rpn[: left.start] + rpn[place + 1 :]))
        else:
            leaf = Counts(place, symbol, np.array([0, 1]), 0)
            stack.append(leaf.summed(rpn[:place] + rpn[place + 1 :]))
    return int(stack[0].true)
