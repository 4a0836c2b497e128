"""The search of guided worlds: tabu search by flips, within a budget, on the network's score."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from operator import and_, or_
from random import Random

import pytest
import torch
from torch import Tensor

import possibleworlds
from possibleworlds.data.pairs import Pairs
from possibleworlds.errors import UserError
from possibleworlds.logic import Formula
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.logic.truth import evaluate_bits
from possibleworlds.models import Batch, Options
from possibleworlds.models.guidedworldnet import GuidedWorldNet, GuidedWorldNetSettings
from possibleworlds.models.tabu import (
    Chains,
    Evaluate,
    Visited,
    n_chains,
    relevant_components,
    score_of,
    search,
    walk,
)
from possibleworlds.training.batches import Dataset, row_log_probabilities
from possibleworlds.training.certificate import certify, evidence

K = 12


N = 6


def by_one_side(score: Tensor) -> tuple[Tensor, Tensor]:
    """Return terms of A and B that have this score."""
    return score, torch.full_like(score, -torch.inf)


def distance(targets: Tensor, lowest: Tensor) -> Evaluate:
    """Return a score that is the distance from the pair's target, plus its lowest score."""

    def evaluate(rows: Tensor, worlds: Tensor) -> tuple[Tensor, Tensor]:
        wrong = (worlds != targets[rows, None]).sum(-1)
        return by_one_side(wrong.float() + lowest[rows, None])

    return evaluate


def toy(
    targets: Tensor,
    lowest: Tensor,
    budgets: Tensor,
    relevant: Tensor | None = None,
    share: bool = False,
) -> Visited:
    """Search from some worlds a pair; by default all components may be flipped."""
    evaluate, every = distance(targets, lowest), torch.arange(len(targets))
    worlds = torch.ones(len(targets), N, K)
    visited = Visited.start(worlds, evaluate(every, worlds)[0], evaluations=N)
    if relevant is None:
        relevant = torch.ones(len(targets), K, dtype=torch.bool)
    torch.manual_seed(1)
    search(visited, lambda: evaluate, relevant, budgets, share)
    assert torch.equal(visited.score, evaluate(every, visited.worlds)[0])
    return visited


def targets(n: int) -> Tensor:
    torch.manual_seed(5)
    return 2.0 * torch.randint(2, (n, K)) - 1


def test_what_can_be_refuted_is_and_stops_early() -> None:
    lowest = torch.tensor([-0.5, 0.5] * 10)
    visited = toy(targets(20), lowest, torch.full((20,), 900))
    assert visited.refuted.tolist() == [True, False] * 10
    assert (visited.evaluations[1::2] == 894).all()  # 6 and 74 moves of 12
    assert (visited.evaluations[0::2] <= N + 2 * K * K).all()  # every second turn comes nearer
    assert (visited.score[1::2].amin(1) == 0.5).all()


def test_budgets_are_kept_and_a_path_does_not_depend_on_other_pairs() -> None:
    lowest, budgets = torch.full((6,), 0.5), torch.tensor([3, 9, 12, 30, 31, 1000])
    relevant = torch.arange(K) < torch.tensor([2, 3, 12, 12, 5, 5])[:, None]
    together = toy(targets(6), lowest, budgets, relevant)
    assert together.evaluations.tolist() == [6, 6, 6, 30, 31, 6 + 2**5]
    for i in range(6):
        rows = slice(i, i + 1)
        alone = toy(targets(6)[rows], lowest[rows], budgets[rows], relevant[rows])
        assert torch.equal(alone.worlds, together.worlds[rows])
        assert torch.equal(alone.evaluations, together.evaluations[rows])


def test_what_refuted_pairs_leave_goes_to_the_others() -> None:
    lowest = torch.tensor([-0.5] * 5 + [0.5])
    shared = toy(targets(6), lowest, torch.full((6,), 300), share=True)
    assert shared.refuted.tolist() == [True] * 5 + [False]
    assert 1800 - K < int(shared.evaluations.sum()) <= 1800
    assert int(shared.evaluations[5]) > 800


def test_a_move_is_the_best_that_is_not_tabu_as_found_by_trying_all() -> None:
    """One chain and the climb, against a plain loop with the same random numbers."""
    random = Random(6)
    terms: dict[tuple[float, ...], tuple[float, float]] = {}

    def plain(world: Sequence[float]) -> tuple[float, float]:
        return terms.setdefault(tuple(world), (random.uniform(-1, 1), random.uniform(-1, 1)))

    def score(world: Sequence[float]) -> float:
        return math.log(sum(map(math.exp, plain(world))))

    def evaluate(_: Tensor, worlds: Tensor) -> tuple[Tensor, Tensor]:
        a, b = torch.tensor([plain(world) for world in worlds[0].tolist()]).T
        return a[None], b[None]

    k, relevant = 9, [0, 2, 3, 4, 5, 7, 8]

    def flips(world: list[float]) -> dict[int, list[float]]:
        return {i: [-x if i == j else x for j, x in enumerate(world)] for i in relevant}

    start = torch.ones(1, 1, k)
    visited = Visited.start(start, score_of(*evaluate(start, start)), evaluations=1)
    mask = torch.zeros(1, k, dtype=torch.bool)
    mask[0, relevant] = True
    chains = Chains(visited, torch.tensor([0]), mask, seed=4)
    world, until, best = [1.0] * k, dict.fromkeys(relevant, 0), score([1.0] * k)
    climber, highest, climbs = world, 0, 0
    drawn = torch.Generator().manual_seed(4)
    move = 0
    for turn in "mcmr" * 4:  # a move, a climb, random worlds; 8 moves without a restart
        if turn == "c":
            i = relevant[int(7 * torch.rand(1, generator=drawn))]
            u = torch.rand((), generator=drawn).item()
            tried = [*flips(flips(climber)[i]).values()]
            signs = [[plain(flip)[side] < 0 for flip in tried] for side in (0, 1)]
            sensitivity = sum(min(sum(side), 7 - sum(side)) for side in signs)
            if sensitivity >= highest or u < 0.1:
                climber, highest, climbs = flips(climber)[i], sensitivity, climbs + 1
        elif turn == "m":
            u = torch.rand(1, generator=drawn).item()
            tried = [*flips(world).values()]
            allowed = {i: flip for i, flip in flips(world).items() if until[i] <= move}
            chosen = min(allowed, key=lambda i: score(allowed[i]))
            world, until[chosen] = allowed[chosen], move + 1 + len(relevant) // 5 + int(5 * u)
            move += 1
        else:
            uniform = torch.rand(7, k, generator=drawn).tolist()
            tried = [
                [
                    (-1.0 if u < 0.5 else 1.0) if i in relevant else world[i]
                    for i, u in enumerate(one)
                ]
                for one in uniform
            ]
        chains.move(torch.tensor([True]), evaluate)
        best = min(best, *map(score, tried))
        assert chains.climber[0, 0].tolist() == climber
        assert chains.worlds[0, 0].tolist() == world
        assert visited.score.item() == pytest.approx(best)
    assert move == 8
    assert 0 < climbs < 4
    assert chains.restarts == 0
    chains.move(torch.tensor([True]), evaluate)
    assert chains.restarts == 1


def test_chains_leave_a_local_minimum_and_restart_everywhere() -> None:
    """All components at 1 are a trap that no single flip leaves; the target is all at -1."""

    def evaluate(_: Tensor, worlds: Tensor) -> tuple[Tensor, Tensor]:
        positive = (worlds > 0).sum(-1).float()
        return by_one_side(torch.where(positive == 0, -1.0, K + 1 - positive))

    worlds = torch.ones(1, N, K)
    visited = Visited.start(worlds, evaluate(worlds, worlds)[0], evaluations=N)
    relevant = torch.ones(1, K, dtype=torch.bool)
    search(visited, lambda: evaluate, relevant, torch.tensor([20_000]))
    assert visited.refuted.all()
    assert (visited.worlds[0, visited.score[0].argmin()] == -1).all()


def test_walks_have_the_same_number_of_moves_for_all_pairs() -> None:
    relevant = torch.arange(K) < torch.tensor([2, 12])[:, None]
    lowest, worlds = torch.tensor([-0.5, -0.5]), torch.ones(2, N, K)
    evaluate = distance(-torch.ones(2, K), lowest)
    visited = Visited.start(worlds, evaluate(torch.arange(2), worlds)[0], evaluations=0)
    walk(visited, lambda: evaluate, relevant, moves=3)  # two of them of the chain
    assert visited.evaluations.tolist() == [3 * 3 * 2, 3 * 1 * 12]
    assert (worlds == 1).all()
    assert visited.score[:, 0].tolist() == [9.5, 9.5]


def test_a_climb_finds_what_has_no_slope() -> None:
    """A is ((x1 → x2) → x3) → ..., B the same with x1 for ¬x1: both flat almost everywhere."""
    n = 16

    def implications(worlds: Tensor, first: Tensor) -> Tensor:
        value = first
        for i in range(1, n):
            value = ~value | (worlds[..., i] > 0)
        return value

    def evaluate(_: Tensor, worlds: Tensor) -> tuple[Tensor, Tensor]:
        a, b = (implications(worlds, sign * worlds[..., 0] > 0) for sign in (1, -1))
        return torch.where(a, -3.0, 3.0), torch.where(b, 3.0, -3.0)

    worlds = torch.ones(1, N, n)
    visited = Visited.start(worlds, score_of(*evaluate(worlds, worlds)), evaluations=N)
    search(visited, lambda: evaluate, torch.ones(1, n, dtype=torch.bool), torch.tensor([16_000]))
    assert visited.refuted.all()
    every = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * n)[None]
    assert (score_of(*evaluate(every, every)) < 0).float().mean() < 1e-4


@pytest.mark.parametrize(("n", "components", "chains"), [(64, 20, 3), (64, 26, 2), (1, 26, 1)])
def test_a_move_costs_about_as_much_as_the_worlds_at_first(
    n: int, components: int, chains: int
) -> None:
    assert n_chains(n, components) == chains


def test_components_are_flipped_that_matter_to_the_pair() -> None:
    w4 = torch.zeros(26, 5, 4)
    w4[0, 1], w4[0, 2], w4[3, 4], w4[3, 0] = 1.0, 0.5, 1.3, 1.0
    variables = torch.zeros(2, 26)
    variables[0, 0] = variables[1, 0] = variables[1, 3] = 1
    assert relevant_components(w4, variables).nonzero().tolist() == [[0, 1], [1, 0], [1, 1], [1, 4]]


def small(**changes: int) -> GuidedWorldNet:
    torch.manual_seed(1)
    return GuidedWorldNet(GuidedWorldNetSettings(size=8, worlds=8, **changes)).eval()


def test_the_budget_of_a_pair_is_that_of_its_variables_or_of_the_options() -> None:
    data = Dataset(Pairs.of([("p", "p", 1), ("pq&r&s&t&u&", "p", 1)]))
    ((_, batch),) = data.in_order_of_size()
    model = small(search_evaluations=9, descent_steps=2)
    with torch.no_grad():
        model.f.weight.zero_()  # a score of log 2 everywhere: nothing is refuted
        # All worlds of one variable; 54 of the 64 worlds of six variables.
        assert model.imagine(batch).evaluations.tolist() == [24 + 2, 24 + 54]  # type: ignore[union-attr]
        for budget, *spent in ((1, 1, 1), (7, 7, 7), (8, 8, 8), (30, 26, 30), (100, 26, 24 + 64)):
            imagined = model.imagine(batch, Options(budget=budget))
            assert imagined.evaluations.tolist() == spent  # type: ignore[union-attr]
            assert imagined.z.shape == (2, min(8, budget))
        assert model.imagine(batch, Options(steps=2)).evaluations is None
        best = model.imagine(batch)
    assert torch.equal(best.log_probs[:, 1], torch.nn.functional.logsigmoid(best.z.amin(1)))


def test_few_worlds_are_all_evaluated() -> None:
    """Each pair is refuted in one world alone, of 2, 128 and 256, and has components to spare."""
    counts = torch.tensor([1, 7, 8, 8])
    relevant = torch.arange(K) < counts[:, None]
    countermodels = torch.where(relevant, targets(4), 1.0)

    def evaluate(rows: Tensor, worlds: Tensor) -> tuple[Tensor, Tensor]:
        refutes = (worlds == countermodels[rows, None]).all(-1) & (rows < 3)[:, None]
        return by_one_side(torch.where(refutes, -1.0, 1.0))

    for share in (False, True):
        visited = Visited.start(torch.ones(4, N, K), torch.ones(4, N), evaluations=N)
        search(visited, lambda: evaluate, relevant, torch.full((4,), 300), share)
        assert visited.refuted.tolist() == [True, True, True, False]
        assert torch.equal(visited.worlds[:3, 0], countermodels[:3])
        assert visited.evaluations[3] == N + 256


def test_a_world_refutes_a_pair_by_both_sides() -> None:
    rows = [("pq&", "p", 1), ("pq|", "p", 0), ("pq>", "qp>", 0), ("pp~|", "q", 0), ("p", "qq~&", 0)]
    ((chosen, batch),) = Dataset(Pairs.of(rows)).in_order_of_size()
    model = possibleworlds.load("guidedworldnet").model
    assert isinstance(model, GuidedWorldNet)
    with torch.no_grad():
        worlds = model.round_worlds(model.draw_worlds(len(rows), 40))
        a, b = model.sides(batch, worlds)
        score = score_of(a, b)
        assert torch.equal(a + b + model.f.bias, model.evaluate(batch, worlds))
    assert torch.allclose(score.exp(), a.exp() + b.exp(), rtol=1e-4)
    for i, scores, read in zip(chosen, score, model.assignments(worlds), strict=True):
        premise, conclusion = (Formula(tuple(side)) for side in rows[i][:2])
        for z, truth in zip(scores.tolist(), read.tolist(), strict=True):
            assignment = dict(zip(LETTERS, truth, strict=True))
            is_true = premise.evaluate(assignment), conclusion.evaluate(assignment)
            assert (z < 0) == (is_true == (True, False))


def test_the_pretrained_network_sees_which_clause_is_missing() -> None:
    """Countermodels of a CNF less a clause make the whole CNF just about false."""
    random = Random(2)
    variables = [Formula.variable(name) for name in random.sample(LETTERS, 20)]
    signs = [[(v, random.random() < 0.5) for v in random.sample(variables, 3)] for _ in range(70)]
    clauses = [reduce(or_, (v if sign else ~v for v, sign in clause)) for clause in signs]
    network = possibleworlds.load("guidedworldnet")
    shuffled = reduce(and_, random.sample(clauses, len(clauses)))
    assert network.decide(reduce(and_, clauses), shuffled).entails
    assert not network.decide(reduce(and_, clauses[1:]), shuffled).entails


def test_gradient_steps_alone_are_as_without_tabu_search() -> None:
    data = Dataset(Pairs.of([("pq&", "p", 1), ("pq|", "p", 0), ("p", "q", 0)]))
    with_search, gradient = small(), small(search_evaluations=0, steps=2)
    assert (
        row_log_probabilities(with_search, data, options=Options(steps=2))
        == row_log_probabilities(gradient, data)
    ).all()


def test_training_meets_the_worlds_of_tabu_search() -> None:
    ((_, batch),) = Dataset(Pairs.of([("pq&r|", "p", 1), ("pq|", "p", 0)])).in_order_of_size()
    plain, searching = small(training_moves=0).train(), small(training_moves=40).train()
    z = []
    for model in (plain, searching):
        torch.manual_seed(2)
        z.append(model.imagine(batch).z.sort(1).values)
    assert z[0].shape == z[1].shape
    assert (z[1] <= z[0] + 1e-5).all()
    assert (z[1] < z[0] - 1e-3).any()
    z[1].sum().backward()
    assert searching.w4.grad is not None


def test_the_pretrained_network_decides_3_cnf_at_the_threshold() -> None:
    data = Dataset(possibleworlds.generate(8, method="sat", seed=0))  # chains of 91 clauses
    model = possibleworlds.load("guidedworldnet").model
    predicted = row_log_probabilities(model, data).argmax(1)
    assert (predicted == data.pairs.label).all()
    by_gradient = row_log_probabilities(model, data, options=Options(steps=24)).argmax(1)
    assert (by_gradient == data.pairs.label).sum() < 7
    refutations = [one.refutes for one in evidence(model, data)]
    assert refutations == (1 - data.pairs.label).astype(bool).tolist()
    # Half of the rows, two of each label, as certificates take longest.
    countermodels = [one is not None for one in certify(model, Dataset(data.pairs[:4]))]
    assert countermodels == refutations[:4] == [False, False, True, True]


def test_the_default_search_is_that_of_the_settings() -> None:
    model = small(search_evaluations=16)
    data = Dataset(Pairs.of([("pq&", "p", 1), ("pq|", "p", 0)]))
    default = row_log_probabilities(model, data)
    budget = 8 * (1 + model.settings.descent_steps) + 16 * 2
    assert (default == row_log_probabilities(model, data, options=Options(budget=budget))).all()
    model.settings = replace(model.settings, search_evaluations=300)
    assert (row_log_probabilities(model, data)[:, 1] <= default[:, 1] + 1e-6).all()


def test_the_budget_from_python() -> None:
    network = possibleworlds.load("guidedworldnet")
    assert network.decide("p & q", "q", budget=100).entails
    decision = network.decide("p | q", "q", budget=100)
    assert (decision.entails, decision.refutes) == (False, True)
    assert network.decide("p | q", "q", certify=True, budget=100).refutes
    pairs = Pairs.of([("pq&", "p", 1), ("pq|", "p", 0)])
    assert possibleworlds.evaluate(network, pairs, budget=200, progress=False).accuracy == 1
    for name, budget in (("lstm", 5), ("possibleworldnet", 5), ("guidedworldnet", 0)):
        with pytest.raises(UserError):
            possibleworlds.load(name).decide("p", "q", budget=budget)
    for seed in (-1, 10**30, "a"):
        with pytest.raises(UserError, match="seed must be"):
            network.probability("p", "q", seed=seed)  # type: ignore[arg-type]


def entailments_of_a_variable(count: int, n_variables: int) -> Pairs:
    """Make pairs p, F | p with all variables in F, once each."""
    random, rows = Random(11), []
    for _ in range(count):
        names = random.sample(LETTERS, n_variables)
        parts = [Formula.variable(name) for name in names]
        while len(parts) > 1:
            i = random.randrange(len(parts) - 1)
            joined = random.choice((and_, or_, Formula.__rshift__))(parts[i], parts[i + 1])
            parts[i : i + 2] = [~joined if random.random() < 0.3 else joined]
        rows.append((names[0], "".join((parts[0] | Formula.variable(names[0])).rpn), True))
    return Pairs.of(rows)


def test_a_variable_keeps_its_value_in_all_worlds() -> None:
    pairs = entailments_of_a_variable(12, 26)
    assert possibleworlds.load("guidedworldnet").evaluate(pairs).accuracy == 1


def test_w4_is_pruned_for_tabu_search_if_variables_have_components_of_their_own() -> None:
    model = GuidedWorldNet(GuidedWorldNetSettings(size=8))
    depends = model.pruned_parameters.w4.square().sum(-1) > 0
    assert torch.equal(depends, torch.eye(26, dtype=torch.bool))
    without_prior = GuidedWorldNet(GuidedWorldNetSettings(size=8, variable_prior=0.0))
    assert torch.equal(without_prior.pruned_parameters.w4, without_prior.w4)


def formulas_of(variables: str, operators: int) -> list[str]:
    """List all formulas with up to so many operators."""
    by_size = [[*variables]]
    for size in range(1, operators + 1):
        negations = [formula + "~" for formula in by_size[-1]]
        splits = [(by_size[left], by_size[size - 1 - left]) for left in range(size)]
        pairs = [pair for split in splits for pair in product(*split)]
        by_size.append([*negations, *(a + b + op for a, b in pairs for op in "&|>")])
    return [formula for formulas in by_size for formula in formulas]


@torch.no_grad()
def test_every_small_formula_is_judged_right_in_every_world() -> None:
    model = possibleworlds.load("guidedworldnet").model.eval()
    assert isinstance(model, GuidedWorldNet)
    rpns = formulas_of("pq", 3)
    assert len(rpns) == 2 + 14 + 182 + 2954
    worlds = torch.ones(4, 26)
    at = [LETTERS.index(v) for v in "pq"]
    worlds[:, at] = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    read = model.assignments(worlds)[:, at]
    columns = {
        v: int((values << torch.arange(4)).sum())
        for v, values in zip("pq", read.T.long(), strict=True)
    }
    truth = torch.tensor(
        [[evaluate_bits(rpn, columns, 15) >> i & 1 for i in range(4)] for rpn in rpns]
    ).bool()
    pairs = Pairs.of([(rpn, rpn, 1) for rpn in rpns])
    batch = Batch.of(Dataset(pairs).forest, pairs.left, pairs.right)
    for each in (batch, batch.balanced):
        a, b = model.sides(each, worlds.expand(len(rpns), -1, -1).contiguous())
        assert torch.equal(a < 0, truth)
        assert torch.equal(b < 0, ~truth)


@pytest.mark.parametrize(
    ("premise", "conclusion"),
    [
        ("(p -> q) & p & p -> q", "p -> q"),
        ("(q | q) & p & p -> q", "p -> q"),
        ("q | (p -> (q -> (p -> q)))", "p -> q"),
    ],
)
def test_what_a_network_trained_without_pruning_misjudged(premise: str, conclusion: str) -> None:
    assert not possibleworlds.load("guidedworldnet").decide(premise, conclusion).entails
