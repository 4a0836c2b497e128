"""Test (exam): entailments that logic textbooks have names for, written for this project."""

from possibleworlds.data.pairs import Pair
from possibleworlds.logic.syntax import parse

EXAM = [
    ("modus ponens", "(p -> q) & p", "q", "r"),
    ("modus tollens", "(p -> q) & ~q", "~p", "~s"),
    ("hypothetical syllogism", "(p -> q) & (q -> r)", "p -> r", "r -> p"),
    ("sorites of three steps", "(p -> q) & (q -> r) & (r -> s)", "p -> s", "p | s"),
    ("disjunctive syllogism", "(p | q) & ~p", "q", "p"),
    ("modus ponendo tollens", "~(p & q) & p", "~q", "~p"),
    ("constructive dilemma", "(p -> q) & (r -> s) & (p | r)", "q | s", "q | p"),
    ("destructive dilemma", "(p -> q) & (r -> s) & (~q | ~s)", "~p | ~r", "~p | ~q"),
    ("simple constructive dilemma", "(p -> r) & (q -> r) & (p | q)", "r", "p"),
    ("simple destructive dilemma", "(p -> q) & (p -> r) & (~q | ~r)", "~p", "~q"),
    ("bidirectional dilemma", "(p -> q) & (r -> s) & (p | ~s)", "q | ~r", "r | ~q"),
    ("simplification", "p & q", "p", "r"),
    ("adjunction of consequences", "(p -> q) & (p -> r)", "p -> q & r", "r -> q & p"),
    ("addition", "p", "p | q", "p -> q"),
    ("resolution", "(p | q) & (~p | r)", "q | r", "p | r"),
    ("unit resolution on three literals", "(p | q | r) & ~q", "p | r", "p | q"),
    ("double negation introduction", "p", "~~p", "~~r"),
    ("double negation elimination", "~~p", "p", "q"),
    ("explosion (Duns Scotus)", "p", "~p -> q", "q -> ~p"),
    ("excluded middle beside anything", "q", "q & (p | ~p)", "p & (p | ~q)"),
    ("non-contradiction beside anything", "q", "q & ~(p & ~p)", "~p & ~(p & q)"),
    ("reductio ad absurdum", "p -> q & ~q", "~p", "~q"),
    ("consequentia mirabilis", "~p -> p", "p", "q"),
    ("self-refutation", "p -> ~p", "~p", "~r"),
    ("Peirce's law", "(p -> q) -> p", "p", "q"),
    ("case of Peirce", "((p -> q) -> r) & ~r", "p", "q"),
    ("De Morgan, negated conjunction", "~(p & q)", "~p | ~q", "~p -> ~q"),
    ("De Morgan, negated disjunction", "~(p | q)", "~p & ~q", "q & ~~p"),
    ("De Morgan, disjunction of negations", "~p | ~q", "~(p & q)", "~(p & p)"),
    ("De Morgan, conjunction of negations", "~p & ~q", "~(p | q)", "~(p -> q)"),
    ("De Morgan for three", "~(p & q & r)", "~p | ~q | ~r", "~p | ~~r | q"),
    ("contraposition", "p -> q", "~q -> ~p", "~p -> ~q"),
    ("converse contraposition", "~q -> ~p", "p -> q", "p | q"),
    ("contraposition of a negated consequent", "p -> ~q", "q -> ~p", "~p -> q"),
    ("contraposition of a negated antecedent", "~p -> q", "~q -> p", "~q | p"),
    ("exportation", "p & q -> r", "p -> q -> r", "p -> r -> q"),
    ("importation", "p -> q -> r", "p & q -> r", "p & r -> q"),
    ("permutation of antecedents", "p -> q -> r", "q -> p -> r", "r -> p -> q"),
    ("contraction of antecedents", "p -> p -> q", "p -> q", "p | q"),
    (
        "distribution of implication (Frege)",
        "p -> q -> r",
        "(p -> q) -> p -> r",
        "(p -> q) | (p -> r)",
    ),
    ("self-distribution, converse", "(p -> q) -> p -> r", "p -> q -> r", "(q -> r) -> p"),
    ("paradox of implication, positive", "q", "p -> q", "p -> r"),
    ("paradox of implication, negative", "~p", "p -> q", "q -> p"),
    ("negated implication, antecedent", "~(p -> q)", "p", "q"),
    ("negated implication, consequent", "~(p -> q)", "~q", "~r"),
    ("material implication", "p -> q", "~p | q", "~q | p"),
    ("material implication, converse", "~p | q", "p -> q", "q -> p"),
    ("implication as denied conjunction", "p -> q", "~(p & ~q)", "~(q & ~p)"),
    ("disjunction as implication", "p | q", "~p -> q", "~p | q"),
    ("disjunction as repeated implication", "p | q", "(p -> q) -> q", "(q -> q) -> p"),
    ("Lukasiewicz on disjunction", "(p -> q) -> q", "p | q", "p -> q"),
    ("distribution of and over or", "p & (q | r)", "p & q | p & r", "p & q -> p & r"),
    ("factoring out and", "p & q | p & r", "p & (q | r)", "q & (p | r)"),
    ("distribution of or over and", "p | q & r", "(p | q) & (p | r)", "(p | q) & (q | r)"),
    ("factoring out or", "(p | q) & (p | r)", "p | q & r", "r | q & p"),
    ("absorption of and", "p & (p | q)", "p", "q"),
    ("absorption of or", "p | p & q", "p", "q"),
    ("absorption law of implication", "p -> q", "p -> p & q", "q -> p & p"),
    ("commutation of and", "p & q", "q & p", "q & s"),
    ("commutation of or", "p | q", "q | p", "p | p"),
    ("association of and", "p & (q & r)", "(p & q) & r", "p & s & r"),
    ("association of or", "p | (q | r)", "(p | q) | r", "p | q | q"),
    ("idempotence of or", "p | p", "p", "s"),
    ("idempotence of and", "p", "p & p", "p & q"),
    ("monotony of the antecedent", "p -> q", "p & r -> q", "p & q -> r"),
    ("weakening of the consequent", "p -> q", "p -> q | r", "q -> p | r"),
    ("praeclarum theorema", "(p -> q) & (r -> s)", "p & r -> q & s", "p & q -> r & s"),
    ("composition of alternatives", "(p -> q) & (r -> s)", "p | r -> q | s", "p | s -> q | r"),
    ("proof by cases", "(p -> r) & (q -> r)", "p | q -> r", "r -> p | q"),
    (
        "splitting a disjunctive antecedent",
        "p | q -> r",
        "(p -> r) & (q -> r)",
        "(r -> p) & (q -> r)",
    ),
    ("splitting a conjunctive consequent", "p -> q & r", "p -> q", "q -> p"),
    ("exhaustive cases", "(p -> q) & (~p -> q)", "q", "p"),
    ("conditional excluded middle", "~(p -> q)", "p -> ~q", "p -> ~p"),
    (
        "conjunctive antecedent split (classical)",
        "p & q -> r",
        "(p -> r) | (q -> r)",
        "(p -> r) -> q -> r",
    ),
    (
        "disjunctive consequent split (classical)",
        "p -> q | r",
        "(p -> q) | (p -> r)",
        "(p -> q) -> p -> r",
    ),
    (
        "linearity beside anything (Dummett)",
        "r",
        "r & ((p -> q) | (q -> p))",
        "r & ((p -> q) | (p -> q))",
    ),
    ("weak excluded middle beside anything", "q", "q & (~p | ~~p)", "p & (~q | ~~p)"),
    ("Boethius", "p -> q", "(q -> r) -> p -> r", "(q -> r) | (p -> r)"),
    ("prefixing", "p -> q", "(r -> p) -> r -> q", "(r -> q) -> r -> p"),
    ("assertion", "p", "(p -> q) -> q", "p | q -> q"),
    ("transposition of a side premise", "p & q -> r", "p & ~r -> ~q", "~q -> p & ~r"),
    ("antilogism", "p & q -> ~r", "p & r -> ~q", "p & p -> ~q"),
    ("equivalence elimination", "(p -> q) & (q -> p) & ~p", "~q", "~r"),
    ("equivalence as agreement", "(p -> q) & (q -> p)", "p & q | ~p & ~q", "~p & q | p & ~q"),
    (
        "disagreement as exclusive or",
        "~(p & q) & (p | q)",
        "(p -> ~q) & (~q -> p)",
        "(p -> q) & (~q -> ~p)",
    ),
    ("majority is monotone", "p & q | q & r | p & r", "p | q", "p -> q"),
    ("consensus", "p & q | ~p & r", "(p | r) & (~p | q)", "(p | q) & (~p | r)"),
    ("if-then-else", "(p -> q) & (~p -> r)", "p & q | ~p & r", "p & r | ~p & q"),
    ("Clavius with a detour", "(~p -> q) & (q -> p)", "p", "q"),
]
"""Name, A, B, B*. A entails B and not B*, and no two pairs are equal up to renaming.

B* is B with two subformulas exchanged, one symbol changed or one negation moved. No B is a
tautology, and B* were chosen such that the conclusions of both classes have nearly the same
statistics, so that B alone does not give away the label.
"""
ENTAILMENTS = [(name, a, b) for name, a, b, _ in EXAM]
FALLACIES = [
    ("affirming the consequent", "(p -> q) & q", "p"),
    ("denying the antecedent", "(p -> q) & ~p", "~q"),
    ("affirming a disjunct", "(p | q) & p", "~q"),
    ("denying a conjunct", "~(p & q) & ~p", "q"),
    ("converse of a conditional", "p -> q", "q -> p"),
    ("inverse of a conditional", "p -> q", "~p -> ~q"),
    ("from or to and", "p | q", "p & q"),
    ("false dilemma", "(p -> r) & (q -> r)", "r"),
    ("common cause", "(p -> q) & (p -> r)", "q -> r"),
    ("weakening the antecedent", "p & q -> r", "p -> r"),
]
"""Well-known invalid arguments, for the playground; not part of the exam."""


def exam_pairs() -> list[list[Pair]]:
    """Build (A, B, 1), (A, B*, 0)."""
    units = []
    for _, *formulas in EXAM:
        a, b, mutant = ("".join(parse(text).rpn) for text in formulas)
        units.append([Pair(a, b, True), Pair(a, mutant, False)])
    return units
