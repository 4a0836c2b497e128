"""Pairs whose premises are random 3-CNF near the threshold of satisfiability.

Rows form 4-tuples, so that neither the premise nor the conclusion alone gives away the label.
"""

from collections.abc import Iterator

import numpy as np

from possibleworlds.data.pairs import Pair
from possibleworlds.logic.alphabet import AND, LETTERS, NOT, OR

CLAUSES_PER_VARIABLE = 4.55
"""Near 4.26, where large random 3-CNF become unsatisfiable; for small ones it is a little more."""

Clause = list[int]
"""Literals: variable i is i, its negation -i, counting from 1."""


class Premise:
    """A satisfiable random 3-CNF, which decides the clauses that it entails."""

    def __init__(self, rng: np.random.Generator, variables: int, clauses: int) -> None:
        from pysat.solvers import Solver

        while True:
            self.clauses = [random_clause(rng, variables, 3) for _ in range(clauses)]
            self.solver = Solver(name="minisat22", bootstrap_with=self.clauses)
            if self.solver.solve():
                break
            self.solver.delete()
        self.models = [set(self.solver.get_model())]

    def entails(self, clause: Clause) -> bool:
        """Whether the premise entails a clause; refuting models are kept for later clauses."""
        if any(model.isdisjoint(clause) for model in self.models):
            return False
        if not self.solver.solve(assumptions=[-literal for literal in clause]):
            return True
        self.models.append(set(self.solver.get_model()))
        return False


def random_clause(rng: np.random.Generator, variables: int, literals: int) -> Clause:
    """Draw a clause of distinct variables, each negated with probability 1/2."""
    names = rng.choice(variables, literals, replace=False) + 1
    signed: Clause = (names * rng.choice((-1, 1), literals)).tolist()
    return signed


def two_literal_clauses(rng: np.random.Generator, variables: int) -> Iterator[Clause]:
    """Yield every clause of two distinct variables once, in random order."""
    pairs = np.transpose(np.triu_indices(variables, 1)) + 1
    signs = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    clauses = (pairs[:, None] * signs).reshape(-1, 2)
    for i in rng.permutation(len(clauses)):
        yield rng.permutation(clauses[i]).tolist()


def cnf_four_tuple(rng: np.random.Generator, variables: int, clauses: int) -> list[Pair]:
    """Build a 4-tuple of two premises and two clauses, each entailed by one; empty if it fails."""
    names = "".join(sorted(rng.permutation(list(LETTERS))[:variables]))
    first, second = (Premise(rng, variables, clauses) for _ in range(2))
    b1 = b2 = None
    for clause in two_literal_clauses(rng, variables):
        if b1 is None and first.entails(clause) and not second.entails(clause):
            b1 = clause
        elif b2 is None and second.entails(clause) and not first.entails(clause):
            b2 = clause
        if b1 and b2:
            break
    for premise in (first, second):
        premise.solver.delete()
    if not (b1 and b2):
        return []
    a1, a2 = to_rpn(first.clauses, names), to_rpn(second.clauses, names)
    c1, c2 = to_rpn([b1], names), to_rpn([b2], names)
    return [Pair(a1, c1, True), Pair(a2, c2, True), Pair(a1, c2, False), Pair(a2, c1, False)]


def to_rpn(clauses: list[Clause], names: str) -> str:
    """Write a conjunction of clauses in reverse Polish notation.

    >>> to_rpn([[1, -2], [2, 3]], "pqr")
    'pq~|qr|&'
    """
    written = []
    for clause in clauses:
        literals = [names[abs(x) - 1] + NOT * (x < 0) for x in clause]
        written.append(literals[0] + "".join(literal + OR for literal in literals[1:]))
    return written[0] + "".join(clause + AND for clause in written[1:])
