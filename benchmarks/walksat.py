"""WalkSAT (Selman et al. 1994), a local search that is told the rules, to compare networks with."""

from random import Random
from typing import Any

from possibleworlds.data.pairs import Pair
from possibleworlds.logic.alphabet import AND, ARITY, IMPLIES, NOT, OR
from possibleworlds.logic.formula import variables_of

NOISE = 0.5
"""How often a random variable of a violated clause is flipped if every flip violates another."""
Node = str | tuple[Any, ...]
"""A formula as a tree: a variable, or an operator and its parts, `(AND, "p", "q")`."""
Signed = tuple[Node, bool]
"""A formula that is to be true, or to be false."""


def tree(rpn: str) -> Node:
    """Read a formula in reverse Polish notation as a tree."""
    stack: list[Node] = []
    for symbol in rpn:
        arity = ARITY.get(symbol, 0)
        parts = [stack.pop() for _ in range(arity)]
        stack.append((symbol, *reversed(parts)) if arity else symbol)
    return stack[0]


def members(formula: Signed, of_conjunction: bool) -> list[Signed]:
    """Split a formula into its conjuncts, or into its disjuncts, whatever operators join them."""
    waiting, done = [formula], []
    while waiting:
        node, value = waiting.pop()
        symbol = node[0] if isinstance(node, tuple) else ""
        joined = (AND,) if value == of_conjunction else (OR, IMPLIES)
        if symbol == NOT:
            waiting.append((node[1], not value))
        elif symbol in joined:
            waiting += [(node[2], value), (node[1], value != (symbol == IMPLIES))]
        else:
            done.append((node, value))
    return done


def clauses_of(pair: Pair) -> tuple[list[list[int]], dict[str, int]]:
    """Build clauses for A and not B, and number the variables.

    A CNF keeps its clauses. Members of clauses that are not literals get variables of their own,
    which imply them (Plaisted & Greenbaum 1986).
    """
    number = {v: i + 1 for i, v in enumerate(variables_of(pair.a, pair.b))}
    named: dict[Signed, int] = {}
    waiting: list[tuple[Signed, list[int]]] = [
        ((tree(pair.a), True), []),
        ((tree(pair.b), False), []),
    ]
    clauses: list[list[int]] = []

    def literal(member: Signed) -> int:
        node, value = member
        if isinstance(node, str):
            return number[node] if value else -number[node]
        if member not in named:
            named[member] = len(number) + len(named) + 1
            waiting.append((member, [-named[member]]))
        return named[member]

    while waiting:
        formula, condition = waiting.pop()
        for conjunct in members(formula, True):
            literals = {literal(member) for member in members(conjunct, False)}
            if not any(-one in literals for one in literals):
                clauses.append([*condition, *sorted(literals)])
    return clauses, number


def walksat(random: Random, pair: Pair, flips: int) -> dict[str, bool] | None:
    """Search for a countermodel within some flips, from one random assignment."""
    clauses, number = clauses_of(pair)
    n = max([*number.values(), *(abs(one) for clause in clauses for one in clause)])
    occurrences: dict[int, list[int]] = {v * sign: [] for v in range(1, n + 1) for sign in (1, -1)}
    for i, clause in enumerate(clauses):
        for literal in clause:
            occurrences[literal].append(i)
    true = {v if random.random() < 0.5 else -v for v in range(1, n + 1)}
    n_true = [sum(literal in true for literal in clause) for clause in clauses]
    violated = {i for i, count in enumerate(n_true) if not count}

    def breaks(literal: int) -> int:
        """How many clauses making a literal true would violate."""
        return sum(n_true[i] == 1 for i in occurrences[-literal])

    for _ in range(flips):
        if not violated:
            break
        clause = clauses[random.choice(tuple(violated))]
        counts = [breaks(literal) for literal in clause]
        if min(counts) > 0 and random.random() < NOISE:
            literal = random.choice(clause)
        else:
            literal = clause[counts.index(min(counts))]
        true.remove(-literal)
        true.add(literal)
        for i in occurrences[literal]:
            n_true[i] += 1
            violated.discard(i)
        for i in occurrences[-literal]:
            n_true[i] -= 1
            if not n_true[i]:
                violated.add(i)
    return None if violated else {variable: i in true for variable, i in number.items()}
