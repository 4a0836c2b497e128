"""The search of guided worlds: annealing by flips, within a budget, on the network's own z."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

import possibleworlds
from possibleworlds.data.pairs import Pairs
from possibleworlds.errors import UserError
from possibleworlds.models import Options
from possibleworlds.models.annealing import COLD, HOT, Chains, anneal, component_weights
from possibleworlds.models.guidedworldnet import GuidedWorldNet, GuidedWorldNetSettings
from possibleworlds.training.batches import Dataset
from possibleworlds.training.certificate import certify, views
from possibleworlds.training.evaluation import row_log_probabilities

K = 12


def toy(targets: Tensor, lowest: Tensor, budgets: Tensor, share: bool = False) -> Chains:
    """Anneal three worlds a pair; z is the distance from the pair's target, plus its lowest z."""

    def evaluate(rows: Tensor, worlds: Tensor) -> Tensor:
        wrong = (worlds != targets[rows, None]).sum(-1)
        return wrong.float() + lowest[rows, None]

    torch.manual_seed(0)
    worlds = torch.ones(len(targets), 3, K)
    chains = Chains.start(worlds, evaluate(torch.arange(len(targets)), worlds), evaluations=3)
    torch.manual_seed(1)
    anneal(chains, evaluate, torch.ones(len(targets), K), budgets, share)
    assert torch.equal(chains.best_z, evaluate(torch.arange(len(targets)), chains.best_worlds))
    return chains


def targets(n: int) -> Tensor:
    torch.manual_seed(5)
    return 2.0 * torch.randint(2, (n, K)) - 1


def test_what_can_be_refuted_is_and_stops_early() -> None:
    lowest = torch.tensor([-0.5, 0.5] * 10)
    chains = toy(targets(20), lowest, torch.full((20,), 900))
    assert chains.refuted.tolist() == [True, False] * 10
    assert (chains.evaluations[1::2] == 900).all()
    assert (chains.evaluations[0::2] < 600).all()
    assert (chains.best_z[1::2].amin(1) == 0.5).all()


def test_budgets_are_kept_and_a_path_does_not_depend_on_other_pairs() -> None:
    lowest = torch.full((6,), 0.5)
    budgets = torch.tensor([3, 5, 6, 30, 31, 300])
    together = toy(targets(6), lowest, budgets)
    assert together.evaluations.tolist() == [3, 3, 6, 30, 30, 300]
    for i in range(6):
        rows = slice(i, i + 1)
        alone = toy(targets(6)[rows], lowest[rows], budgets[rows])
        assert torch.equal(alone.best_worlds, together.best_worlds[rows])
        assert torch.equal(alone.worlds, together.worlds[rows])


def test_what_refuted_pairs_leave_goes_to_the_others() -> None:
    lowest = torch.tensor([-0.5] * 5 + [0.5])
    budgets = torch.full((6,), 300)
    shared = toy(targets(6), lowest, budgets, share=True)
    assert shared.refuted.tolist() == [True] * 5 + [False]
    assert 1797 < int(shared.evaluations.sum()) <= 1800
    assert int(shared.evaluations[5]) > 900


@pytest.mark.parametrize("temperature", [HOT, COLD])
def test_flips_are_kept_by_the_metropolis_rule(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from possibleworlds.models import annealing

    monkeypatch.setattr(annealing, "temperature", lambda _: temperature)
    rise, n = 0.3, 20_000
    worlds = torch.ones(1, n, K)
    chains = Chains.start(worlds, torch.zeros(1, n), evaluations=0)
    torch.manual_seed(0)
    weights, budget = torch.ones(1, K), torch.tensor([n])
    anneal(chains, lambda _, flipped: rise * (flipped < 0).any(-1), weights, budget)
    assert ((chains.worlds < 0).sum(-1) <= 1).all()
    kept = float((chains.z > 0).float().mean())
    assert kept == pytest.approx(np.exp(-rise / temperature), abs=0.02)
    assert (chains.best_z == 0).all()


def test_components_are_drawn_by_what_they_mean_to_the_pair() -> None:
    w4 = torch.zeros(26, 5, 4)
    w4[0, 1], w4[0, 2], w4[3, 4] = 1.0, 0.5, 2.0
    variables = torch.zeros(2, 26)
    variables[0, 0] = variables[1, 0] = variables[1, 3] = 1
    assert component_weights(w4, variables).tolist() == [[0, 4, 1, 0, 0], [0, 4, 1, 0, 16]]


def small(**changes: int) -> GuidedWorldNet:
    torch.manual_seed(1)
    return GuidedWorldNet(GuidedWorldNetSettings(size=8, worlds=8, **changes)).eval()


def test_the_budget_of_a_pair_is_that_of_its_variables_or_of_the_options() -> None:
    data = Dataset(Pairs.of([("p", "p", 1), ("pq&r&", "p", 1)]))
    ((_, batch),) = data.in_order_of_size()
    model = small(flips=3, descent_steps=2)
    with torch.no_grad():
        model.f.bias.fill_(100.0)  # nothing is refuted
        assert model.imagine(batch).evaluations.tolist() == [8 * 6, 8 * 12]  # type: ignore[union-attr]
        for budget, spent in ((1, 1), (7, 7), (8, 8), (30, 24), (100, 96)):
            imagined = model.imagine(batch, Options(budget=budget))
            assert imagined.evaluations.tolist() == [spent, spent]  # type: ignore[union-attr]
            assert imagined.z.shape == (2, min(8, budget))
        assert model.imagine(batch, Options(steps=2)).evaluations is None
        best = model.imagine(batch)
    assert torch.equal(best.log_probs[:, 1], torch.nn.functional.logsigmoid(best.z.amin(1)))


def test_gradient_steps_alone_are_as_without_annealing() -> None:
    data = Dataset(Pairs.of([("pq&", "p", 1), ("pq|", "p", 0), ("p", "q", 0)]))
    annealing, gradient = small(), small(flips=0, steps=2)
    assert (
        row_log_probabilities(annealing, data, options=Options(steps=2))
        == row_log_probabilities(gradient, data)
    ).all()


def test_training_can_meet_annealed_worlds() -> None:
    ((_, batch),) = Dataset(Pairs.of([("pq&r|", "p", 1), ("pq|", "p", 0)])).in_order_of_size()
    plain, annealed = small().train(), small(training_flips=40).train()
    z = []
    for model in (plain, annealed):
        torch.manual_seed(2)
        z.append(model.imagine(batch).z)
    assert z[0].shape == z[1].shape
    assert (z[1] <= z[0] + 1e-5).all()
    assert (z[1] < z[0] - 1e-3).any()
    z[1].sum().backward()
    assert annealed.w4.grad is not None


def test_the_pretrained_network_decides_3_cnf_at_the_threshold() -> None:
    data = Dataset(possibleworlds.generate(12, method="sat", seed=0))  # chains of 91 clauses
    model = possibleworlds.load("guidedworldnet").model
    predicted = row_log_probabilities(model, data).argmax(1)
    assert (predicted == data.pairs.label).all()
    by_gradient = row_log_probabilities(model, data, options=Options(steps=24)).argmax(1)
    assert (by_gradient == data.pairs.label).sum() < 9
    refutations = [view.refutes for view in views(model, data)]
    countermodels = [one is not None for one in certify(model, data)]
    assert refutations == countermodels == (1 - data.pairs.label).astype(bool).tolist()


def test_the_default_search_is_that_of_the_settings() -> None:
    model = small(flips=2)
    data = Dataset(Pairs.of([("pq&", "p", 1), ("pq|", "p", 0)]))
    default = row_log_probabilities(model, data)
    budget = 8 * (1 + model.settings.descent_steps + 2 * 2)
    assert (default == row_log_probabilities(model, data, options=Options(budget=budget))).all()
    model.settings = replace(model.settings, flips=30)
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
