"""Test (exam): entailments that logic textbooks have names for, written for this project."""

from itertools import chain

import numpy as np

from possibleworlds.data.keys import pair_key
from possibleworlds.data.mutate import exchanges, small_changes
from possibleworlds.data.pairs import Pair
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.syntax import parse

LETTERS_OF_EXAM = "pqrs"
ENTAILMENTS = [
    ("modus ponens", "(p -> q) & p", "q"),
    ("modus tollens", "(p -> q) & ~q", "~p"),
    ("hypothetical syllogism", "(p -> q) & (q -> r)", "p -> r"),
    ("sorites of three steps", "(p -> q) & (q -> r) & (r -> s)", "p -> s"),
    ("disjunctive syllogism", "(p | q) & ~p", "q"),
    ("modus ponendo tollens", "~(p & q) & p", "~q"),
    ("constructive dilemma", "(p -> q) & (r -> s) & (p | r)", "q | s"),
    ("destructive dilemma", "(p -> q) & (r -> s) & (~q | ~s)", "~p | ~r"),
    ("simple constructive dilemma", "(p -> r) & (q -> r) & (p | q)", "r"),
    ("simple destructive dilemma", "(p -> q) & (p -> r) & (~q | ~r)", "~p"),
    ("bidirectional dilemma", "(p -> q) & (r -> s) & (p | ~s)", "q | ~r"),
    ("simplification", "p & q", "p"),
    ("adjunction of consequences", "(p -> q) & (p -> r)", "p -> q & r"),
    ("addition", "p", "p | q"),
    ("resolution", "(p | q) & (~p | r)", "q | r"),
    ("unit resolution on three literals", "(p | q | r) & ~q", "p | r"),
    ("double negation introduction", "p", "~~p"),
    ("double negation elimination", "~~p", "p"),
    ("explosion (Duns Scotus)", "p", "~p -> q"),
    ("excluded middle from anything", "q", "p | ~p"),
    ("non-contradiction from anything", "q", "~(p & ~p)"),
    ("reductio ad absurdum", "p -> q & ~q", "~p"),
    ("consequentia mirabilis", "~p -> p", "p"),
    ("self-refutation", "p -> ~p", "~p"),
    ("Peirce's law", "(p -> q) -> p", "p"),
    ("case of Peirce", "((p -> q) -> r) & ~r", "p"),
    ("De Morgan, negated conjunction", "~(p & q)", "~p | ~q"),
    ("De Morgan, negated disjunction", "~(p | q)", "~p & ~q"),
    ("De Morgan, disjunction of negations", "~p | ~q", "~(p & q)"),
    ("De Morgan, conjunction of negations", "~p & ~q", "~(p | q)"),
    ("De Morgan for three", "~(p & q & r)", "~p | ~q | ~r"),
    ("contraposition", "p -> q", "~q -> ~p"),
    ("converse contraposition", "~q -> ~p", "p -> q"),
    ("contraposition of a negated consequent", "p -> ~q", "q -> ~p"),
    ("contraposition of a negated antecedent", "~p -> q", "~q -> p"),
    ("exportation", "p & q -> r", "p -> q -> r"),
    ("importation", "p -> q -> r", "p & q -> r"),
    ("permutation of antecedents", "p -> q -> r", "q -> p -> r"),
    ("contraction of antecedents", "p -> p -> q", "p -> q"),
    ("distribution of implication (Frege)", "p -> q -> r", "(p -> q) -> p -> r"),
    ("self-distribution, converse", "(p -> q) -> p -> r", "p -> q -> r"),
    ("paradox of implication, positive", "q", "p -> q"),
    ("paradox of implication, negative", "~p", "p -> q"),
    ("negated implication, antecedent", "~(p -> q)", "p"),
    ("negated implication, consequent", "~(p -> q)", "~q"),
    ("material implication", "p -> q", "~p | q"),
    ("material implication, converse", "~p | q", "p -> q"),
    ("implication as denied conjunction", "p -> q", "~(p & ~q)"),
    ("disjunction as implication", "p | q", "~p -> q"),
    ("disjunction as repeated implication", "p | q", "(p -> q) -> q"),
    ("Lukasiewicz on disjunction", "(p -> q) -> q", "p | q"),
    ("distribution of and over or", "p & (q | r)", "p & q | p & r"),
    ("factoring out and", "p & q | p & r", "p & (q | r)"),
    ("distribution of or over and", "p | q & r", "(p | q) & (p | r)"),
    ("factoring out or", "(p | q) & (p | r)", "p | q & r"),
    ("absorption of and", "p & (p | q)", "p"),
    ("absorption of or", "p | p & q", "p"),
    ("absorption law of implication", "p -> q", "p -> p & q"),
    ("commutation of and", "p & q", "q & p"),
    ("commutation of or", "p | q", "q | p"),
    ("association of and", "p & (q & r)", "(p & q) & r"),
    ("association of or", "p | (q | r)", "(p | q) | r"),
    ("idempotence of or", "p | p", "p"),
    ("idempotence of and", "p", "p & p"),
    ("monotony of the antecedent", "p -> q", "p & r -> q"),
    ("weakening of the consequent", "p -> q", "p -> q | r"),
    ("praeclarum theorema", "(p -> q) & (r -> s)", "p & r -> q & s"),
    ("composition of alternatives", "(p -> q) & (r -> s)", "p | r -> q | s"),
    ("proof by cases", "(p -> r) & (q -> r)", "p | q -> r"),
    ("splitting a disjunctive antecedent", "p | q -> r", "(p -> r) & (q -> r)"),
    ("splitting a conjunctive consequent", "p -> q & r", "p -> q"),
    ("exhaustive cases", "(p -> q) & (~p -> q)", "q"),
    ("conditional excluded middle", "~(p -> q)", "p -> ~q"),
    ("conjunctive antecedent split (classical)", "p & q -> r", "(p -> r) | (q -> r)"),
    ("disjunctive consequent split (classical)", "p -> q | r", "(p -> q) | (p -> r)"),
    ("linearity (Dummett)", "r", "(p -> q) | (q -> p)"),
    ("weak excluded middle", "q", "~p | ~~p"),
    ("Boethius", "p -> q", "(q -> r) -> p -> r"),
    ("prefixing", "p -> q", "(r -> p) -> r -> q"),
    ("assertion", "p", "(p -> q) -> q"),
    ("transposition of a side premise", "p & q -> r", "p & ~r -> ~q"),
    ("antilogism", "p & q -> ~r", "p & r -> ~q"),
    ("equivalence elimination", "(p -> q) & (q -> p) & ~p", "~q"),
    ("equivalence as agreement", "(p -> q) & (q -> p)", "p & q | ~p & ~q"),
    ("disagreement as exclusive or", "~(p & q) & (p | q)", "(p -> ~q) & (~q -> p)"),
    ("majority is monotone", "p & q | q & r | p & r", "p | q"),
    ("consensus", "p & q | ~p & r", "(p | r) & (~p | q)"),
    ("if-then-else", "(p -> q) & (~p -> r)", "p & q | ~p & r"),
    ("Clavius with a detour", "(~p -> q) & (q -> p)", "p"),
]
"""Name, A, B; every A entails its B, and no two pairs are equal up to renaming."""
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
"""The best known arguments that do not follow, for the playground; no part of the exam."""


def exam_pairs(rng: np.random.Generator) -> list[list[Pair]]:
    """Build (A, B, 1), (A, B*, 0): B* by an exchange where one works, else by a small change."""
    units: list[list[Pair]] = []
    keys: set[int] = set()
    for _, premise, conclusion in ENTAILMENTS:
        a, b = "".join(parse(premise).rpn), "".join(parse(conclusion).rpn)
        for mutant in chain(exchanges(rng, b), small_changes(rng, b, letters=LETTERS_OF_EXAM)):
            key = pair_key(a, mutant)
            if key not in keys and not entails(Formula(tuple(a)), Formula(tuple(mutant))):
                keys.add(key)
                units.append([Pair(a, b, True), Pair(a, mutant, False)])
                break
    return units
