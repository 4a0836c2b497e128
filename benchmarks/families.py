"""Entailments unlike the paper's: chains, Horn clauses, colourings, parity, circuits, normal forms.

Each family draws a pair of formulas whose countermodels, if any, are few or far from each other;
`draw` collects as many entailments as non-entailments, decided by MiniSat. `search.py` measures
guided worlds on them.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import combinations, pairwise
from operator import and_, or_
from random import Random

from possibleworlds.data.pairs import Pairs
from possibleworlds.logic import Formula, entails
from possibleworlds.logic.alphabet import LETTERS

Family = Callable[[Random], tuple[Formula, Formula]]


def variables(random: Random, count: int) -> list[Formula]:
    """Draw different variables."""
    return [Formula.variable(name) for name in random.sample(LETTERS, count)]


def literal(random: Random, variable: Formula) -> Formula:
    """Negate a variable, or not."""
    return variable if random.random() < 0.5 else ~variable


def all_of(parts: Sequence[Formula]) -> Formula:
    """Join formulas as a chain of conjunctions."""
    return reduce(and_, parts)


def any_of(parts: Sequence[Formula]) -> Formula:
    """Join formulas as a chain of disjunctions."""
    return reduce(or_, parts)


def same(a: Formula, b: Formula) -> Formula:
    """Whether a and b have the same value, in the operators of the data."""
    return (a >> b) & (b >> a)


def differ(a: Formula, b: Formula) -> Formula:
    """Whether a and b have different values, in the operators of the data."""
    return (a | b) & ~(a & b)


def one_less(random: Random, parts: list[Formula]) -> list[Formula]:
    """Shuffle formulas, and leave one out in half of the cases."""
    random.shuffle(parts)
    return parts[random.random() < 0.5 :]


def implications(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a chain of implications, and from its first to its last variable."""
    v = variables(random, n)
    links = [a >> b for a, b in pairwise(v)]
    return all_of(one_less(random, links)), v[0] >> v[-1]


def equivalences(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a chain of equivalences of literals, and one of its ends."""
    v = variables(random, n)
    links = [same(a, literal(random, b)) for a, b in pairwise(v)]
    return all_of(one_less(random, links)), same(v[0], literal(random, v[-1]))


def horn(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw two facts, rules of two conditions each, and the last variable derived."""
    v = variables(random, n)
    rules = [all_of(random.sample(v[:i], 2)) >> v[i] for i in range(2, n)]
    return all_of([*v[:2], *one_less(random, rules)]), v[-1]


def pigeons(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw n + 1 pigeons in n holes, two of which share one; or two that may."""
    v = variables(random, n * (n + 1))
    place = [v[i * n : (i + 1) * n] for i in range(n + 1)]
    shared = [place[i][j] & place[k][j] for j in range(n) for i in range(n + 1) for k in range(i)]
    return all_of([any_of(holes) for holes in place]), any_of(one_less(random, shared))


def tautology(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a disjunction of conjunctions near the threshold, and an empty premise."""
    v = variables(random, n)
    terms = [
        all_of([literal(random, x) for x in random.sample(v, 3)]) for _ in range(round(4.3 * n))
    ]
    return v[0] | ~v[0], any_of(terms)


def colouring(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a graph to be coloured with three colours, and whether two of its nodes differ."""
    v = variables(random, 2 * n)
    nodes = [(v[2 * i], v[2 * i + 1]) for i in range(n)]

    def alike(i: int, j: int) -> Formula:
        return same(nodes[i][0], nodes[j][0]) & same(nodes[i][1], nodes[j][1])

    edges = random.sample([(i, j) for i in range(n) for j in range(i)], round(2.2 * n))
    first, second = random.sample(range(n), 2)
    rules = [~(a & b) for a, b in nodes] + [~alike(i, j) for i, j in edges]
    return all_of(rules), ~alike(first, second)


def parity(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw the values of n variables, perhaps less one, and the parity of all, a step at a time."""
    first, *v = variables(random, 2 * n - 1)
    inputs, sums = [first, *v[: n - 1]], v[n - 1 :]
    rules = [
        same(new, differ(old, x))
        for new, old, x in zip(sums, [first, *sums], inputs[1:], strict=False)
    ]
    facts = one_less(random, [literal(random, x) for x in inputs])
    return all_of([*rules, *facts]), literal(random, sums[-1])


def clauses(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a 3-CNF, perhaps less a clause, and the same clauses in another order."""
    v = variables(random, n)
    parts = [
        any_of([literal(random, x) for x in random.sample(v, 3)]) for _ in range(round(3.5 * n))
    ]
    whole = all_of(random.sample(parts, len(parts)))
    return all_of(one_less(random, parts)), whole


def curried(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a > (b > (c > ...)), and the same premises in another order, perhaps one negated."""
    *v, last = variables(random, n)
    premises = [literal(random, x) for x in v]
    others = random.sample(premises, len(premises))
    if random.random() < 0.5:
        others[0] = ~others[0]

    def chain(parts: Sequence[Formula]) -> Formula:
        return reduce(lambda rest, part: part >> rest, parts, last)

    return chain(premises), chain(others)


def disjunction(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a disjunction of literals that is written with |, > and ~& in turn, and another such."""
    literals = [literal(random, x) for x in variables(random, n)]
    others = random.sample(literals, n)
    if random.random() < 0.5:
        others[0] = ~others[0]

    def chain(parts: Sequence[Formula]) -> Formula:
        rest, *before = parts
        for part in before:
            rest = random.choice([part | rest, ~part >> rest, ~(~part & ~rest)])
        return rest

    return chain(literals), chain(others)


def in_notations(random: Random, parts: Sequence[Formula]) -> Formula:
    """Join formulas as a conjunction that is written with &, ~> and ~| in turn."""
    rest, *before = parts
    for part in before:
        rest = random.choice([part & rest, ~(part >> ~rest), ~(~part | ~rest)])
    return rest


def clauses_in_notations(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a 3-CNF near the threshold as a conjunction in three notations, and a clause."""
    v = variables(random, n)
    rules = [
        any_of([literal(random, x) for x in random.sample(v, 3)]) for _ in range(round(4.3 * n))
    ]
    return in_notations(random, rules), any_of([literal(random, x) for x in random.sample(v, 2)])


def repeated(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a disjunction of n equal formulas, and a conjunction of n of the same or of another."""

    def small() -> Formula:
        a, b = (literal(random, x) for x in v)
        return random.choice([a & b, a | b, a >> b])

    v = variables(random, 2)
    first = small()
    second = first if random.random() < 0.5 else small()
    return any_of([first] * n), all_of([second] * n)


def left_nested(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw ((a > b) > c) > ..., and the same, perhaps with one literal negated."""
    literals = [literal(random, x) for x in variables(random, n)]
    others = list(literals)
    if random.random() < 0.5:
        place = random.randrange(n)
        others[place] = ~others[place]

    def chain(parts: Sequence[Formula]) -> Formula:
        return reduce(lambda left, right: left >> right, parts)

    return chain(literals), chain(others)


def exclusive(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw n - 1 sums of three variables modulo 2, and a literal."""
    v = variables(random, n)
    sums = [differ(differ(a, b), c) for a, b, c in (random.sample(v, 3) for _ in range(n - 1))]
    return all_of([literal(random, one) for one in sums]), literal(random, random.choice(v))


def carry(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw two circuits for the carry of the sum of two n-bit numbers; half of the second err."""
    v = variables(random, 2 * n)
    first = second = v[0] & v[1]
    faulty = random.randrange(1, n) if random.random() < 0.5 else None
    for i in range(1, n):
        x, y = v[2 * i : 2 * i + 2]
        first = (x & y) | (first & (x | y))
        second = (x & y) | (second & (x if i == faulty else differ(x, y)))
    return first, second


def nested(n: int, operators: int, random: Random) -> tuple[Formula, Formula]:
    """Draw two formulas that grow by one literal at a time, as deep as they are long."""
    v = variables(random, n)

    def grow() -> Formula:
        formula = literal(random, random.choice(v))
        for _ in range(operators):
            pair = [formula, literal(random, random.choice(v))]
            random.shuffle(pair)
            a, b = pair
            formula = random.choice([a & b, a | b, a >> b])
        return formula

    return grow(), grow()


def single_premise(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a variable, and a formula of all variables, or its disjunction with the variable."""
    v = variables(random, n)
    parts = [literal(random, x) for x in v]
    while len(parts) > 1:
        i = random.randrange(len(parts) - 1)
        join = random.choice((and_, or_, Formula.__rshift__))
        parts[i : i + 2] = [join(parts[i], parts[i + 1])]
    return v[0], parts[0] | v[0] if random.random() < 0.5 else parts[0]


def tree_over(random: Random, parts: list[Formula]) -> Formula:
    """Join formulas, in this order, by random operators and some negations."""
    if len(parts) == 1:
        return parts[0]
    cut = random.randrange(1, len(parts))
    a, b = tree_over(random, parts[:cut]), tree_over(random, parts[cut:])
    joined = random.choice([a & b, a | b, a >> b])
    return ~joined if random.random() < 0.15 else joined


def one_symbol(leaves: int, n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a formula, and the same with another operator or variable in one place."""
    v = variables(random, n)
    chosen = v if leaves == n else [random.choice(v) for _ in range(leaves)]
    formula = tree_over(random, [literal(random, x) for x in chosen])
    rpn = list(formula.rpn)
    at = random.choice([i for i, symbol in enumerate(rpn) if symbol != "~"])
    symbols = ["&", "|", ">"] if rpn[at] in "&|>" else [x.rpn[0] for x in v]
    rpn[at] = random.choice([symbol for symbol in symbols if symbol != rpn[at]])
    return formula, Formula(tuple(rpn))


def consequences(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw facts and disjunctions of two of them, of which one may be denied instead."""
    v = variables(random, n)
    parts = [a | b for a, b in combinations(v, 2)]
    if random.random() < 0.5:
        parts[0] = ~(v[0] & v[1])
    return all_of(v), all_of(random.sample(parts, len(parts)))


def cases(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a case distinction, and a conclusion that follows from each case, or all but one."""
    *v, conclusion = variables(random, n + 1)
    rules = one_less(random, [x >> conclusion for x in v])
    return all_of([any_of(v), *rules]), conclusion


def elimination(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a disjunction, and its last member, where the others, or all but one, are excluded."""
    literals = [literal(random, x) for x in variables(random, n)]
    excluded = one_less(random, [~x for x in literals[:-1]])
    return all_of([any_of(random.sample(literals, n)), *excluded]), literals[-1]


def exactly_one(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw that exactly one of n is true, and that it is among some, or among the others."""
    v = variables(random, n)
    some, others = v[: n // 2], one_less(random, v[n // 2 :])
    pairs = [~(a & b) for a, b in combinations(v, 2)]
    return all_of([any_of(v), *random.sample(pairs, len(pairs))]), ~any_of(some) >> any_of(others)


def if_then_else(n: int, random: Random) -> tuple[Formula, Formula]:
    """Draw a nest of if-then-else that is true in one row alone, and a literal."""
    v = variables(random, n)
    formula = literal(random, v[0])
    for x in v[1:]:
        never = x & ~x
        choices = [(x & formula) | (~x & never), (x >> never) & (~x >> formula)]
        formula = random.choice(choices)
    return formula, literal(random, random.choice(v))


FAMILIES: dict[str, Family] = {
    "chain of 15 implications": partial(implications, 16),
    "chain of 25 implications": partial(implications, 26),
    "chain of 15 equivalences": partial(equivalences, 16),
    "chain of 25 equivalences": partial(equivalences, 26),
    "Horn clauses, 12 variables": partial(horn, 12),
    "Horn clauses, 24 variables": partial(horn, 24),
    "5 pigeons in 4 holes": partial(pigeons, 4),
    "DNF tautologies, 20 variables": partial(tautology, 20),
    "colouring 12 nodes": partial(colouring, 12),
    "parity of 13 variables": partial(parity, 13),
    "3-CNF less a clause, 20 variables": partial(clauses, 20),
    "carry circuits, 16 variables": partial(carry, 8),
    "carry circuits, 26 variables": partial(carry, 13),
    "nested 100 deep, 10 variables": partial(nested, 10, 100),
    "premises one by one, 20 variables": partial(curried, 20),
    "sums modulo 2, 16 variables": partial(exclusive, 16),
    "disjunction in three notations, 20 variables": partial(disjunction, 20),
    "3-CNF in three notations, 20 variables": partial(clauses_in_notations, 20),
    "a formula of 2 variables 32 times": partial(repeated, 32),
    "implications nested to the left, 20 variables": partial(left_nested, 20),
    "a variable, and a formula of 26 variables": partial(single_premise, 26),
    "26 variables once each, a symbol changed": partial(one_symbol, 26, 26),
    "20 variables, 40 places, a symbol changed": partial(one_symbol, 40, 20),
    "20 facts and 190 consequences": partial(consequences, 20),
    "a conclusion from each of 17 cases": partial(cases, 17),
    "19 of 20 cases excluded": partial(elimination, 20),
    "exactly one of 20": partial(exactly_one, 20),
    "if-then-else nested 20 deep": partial(if_then_else, 20),
}


def draw(family: Family, count: int, seed: int) -> Pairs:
    """Draw pairs of a family, half of them entailments."""
    random = Random(seed)
    missing = {True: count // 2, False: count // 2}
    rows = []
    while any(missing.values()):
        a, b = family(random)
        label = entails(a, b)
        if missing[label]:
            missing[label] -= 1
            rows.append(("".join(a.rpn), "".join(b.rpn), int(label)))
    return Pairs.of(rows)
