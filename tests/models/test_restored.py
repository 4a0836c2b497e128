"""Long chains of operators are judged with double negations, as their vectors drift otherwise."""

from functools import reduce
from operator import and_, or_
from random import Random

import pytest
import torch

import possibleworlds
from possibleworlds.data.pairs import Pairs
from possibleworlds.logic import Formula, entails
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.models import guidedworldnet
from possibleworlds.models.guidedworldnet import GuidedWorldNet
from possibleworlds.models.tabu import score_of
from possibleworlds.training.batches import Dataset

V = [Formula.variable(letter) for letter in LETTERS]


def pretrained() -> GuidedWorldNet:
    model = possibleworlds.load("guidedworldnet").model.eval()
    assert isinstance(model, GuidedWorldNet)
    return model


def pairs_of(*formulas: tuple[Formula, Formula]) -> Pairs:
    rows = [("".join(a.rpn), "".join(b.rpn), int(entails(a, b))) for a, b in formulas]
    return Pairs.of(rows)


def dilemma(cases: int, known: int) -> tuple[Formula, Formula]:
    """Any of the cases holds, and g follows from some of them."""
    *v, g = V[: cases + 1]
    return reduce(and_, [reduce(or_, v), *(x >> g for x in v[:known])]), g


def syllogism(cases: int, excluded: int) -> tuple[Formula, Formula]:
    """Any of the cases holds, and all but the last, or fewer, are excluded."""
    v = V[:cases]
    return reduce(and_, [reduce(or_, v), *(~x for x in v[:excluded])]), v[-1]


@pytest.mark.parametrize("cases", [8, 12, 17, 20, 25])
def test_arguments_by_cases_are_judged_right(cases: int) -> None:
    network = possibleworlds.load("guidedworldnet")
    for premise in (
        reduce(or_, V[:cases]) >> V[25],
        V[25] | reduce(and_, [~x for x in V[:cases]]),
        V[25] | reduce(and_, V[:cases]),
    ):
        decision = network.decide(premise, V[25])
        assert not decision.entails
        assert decision.refutes
    for argument in (dilemma, syllogism):
        full = cases if argument is dilemma else cases - 1
        assert network.decide(*argument(cases, full)).entails
        decision = network.decide(*argument(cases, full - 1))
        assert not decision.entails
        assert decision.refutes


@torch.no_grad()
@pytest.mark.parametrize("n", [8, 13, 20, 26, 60, 300])
@pytest.mark.parametrize("value", [False, True])
def test_a_long_chain_has_its_value(n: int, value: bool) -> None:
    """A conjunction of true members, or a disjunction of false ones; then with one unlike them."""
    model, random = pretrained(), Random(n)
    worlds = model.round_worlds(model.draw_worlds(1, 1))
    truth = dict(zip(LETTERS, model.assignments(worlds)[0, 0].tolist(), strict=True))
    like = [x if x.evaluate(truth) == value else ~x for x in random.sample(V, 26)]
    join, dual = (and_, or_) if value else (or_, and_)
    if n <= 26:
        members = like[:n]
    else:
        members = [dual(random.choice(like), random.choice([x, ~x])) for x in V * (n // 13)][:n]
    unlike = reduce(join, [~x for x in random.sample(like, 3)])
    for formula in (reduce(join, members), reduce(join, [*members[1:], unlike])):
        ((_, batch),) = Dataset(pairs_of((formula, formula))).in_order_of_size()
        a, b = (term.item() for term in model.sides(batch.restored, worlds))
        assert (a < 0, b < 0) == ((True, False) if formula.evaluate(truth) else (False, True))
        assert min(abs(a), abs(b)) > 2


@torch.no_grad()
@pytest.mark.parametrize("doubt", [0.0, 4.0, 7.0])
def test_worlds_in_doubt_and_the_best_are_judged_and_others_graded(
    doubt: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guidedworldnet, "DOUBT", doubt)
    model = pretrained()
    pairs = pairs_of(
        dilemma(17, 17), dilemma(20, 19), (V[0] | V[1], V[0]), (reduce(or_, V[:20]) >> V[20], V[20])
    )
    ((chosen, batch),) = Dataset(pairs).in_order_of_size()
    assert batch.has_long_chain.tolist() == [pairs[int(i)].premise.operators > 5 for i in chosen]
    worlds = model.round_worlds(model.draw_worlds(len(pairs), 300))
    worlds[:, 0] = 1 - 2 * model.assignments(torch.ones(1, 26))[0].float()  # all variables false
    evaluate = model.judge(batch.balanced, batch.restored, batch.has_long_chain)
    rows = torch.tensor([3, 1, 0, 2])
    terms = evaluate(rows, worlds)
    graded = model.sides(batch.balanced.select(rows), worlds)
    restored = model.sides(batch.restored.select(rows), worlds)
    is_judged = score_of(*graded) < doubt
    best = score_of(*graded).argmin(1, keepdim=True)
    is_judged |= torch.zeros_like(is_judged).scatter(1, best, True) & (score_of(*restored) < 0)
    is_judged &= batch.has_long_chain[rows, None]
    assert is_judged.any()
    assert not is_judged.all()
    for term, grade, judgement in zip(terms, graded, restored, strict=True):
        assert torch.allclose(term, torch.where(is_judged, judgement, grade), atol=1e-5)


def test_a_judgement_does_not_depend_on_the_other_pairs() -> None:
    network = possibleworlds.load("guidedworldnet")
    formulas = [dilemma(17, 17), dilemma(20, 19), syllogism(20, 18), (V[0] | V[1], V[0])]
    for budget in (None, 500):
        alone = [network.probability(*pair, budget=budget) for pair in formulas]
        together = network.probability(*map(list, zip(*formulas, strict=True)), budget=budget)
        assert together == pytest.approx(alone, rel=1e-4)
