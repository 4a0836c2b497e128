"""The networks that came after the paper: batched against plain, and that they learn."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

import possibleworlds
from possibleworlds.data.pairs import Pairs
from possibleworlds.logic.alphabet import ARITY, CODES, LETTERS, OPERATORS
from possibleworlds.models import Model, resolve
from possibleworlds.models.graphnet import GraphNet
from possibleworlds.models.modern_transformer import node_sequences
from possibleworlds.models.topdownnet import TopDownNet
from possibleworlds.models.trees.dag import PAIR, VARIABLE, Dag
from possibleworlds.training.batches import Dataset
from tests.conftest import DATA_FORMULAS

ROWS = st.lists(st.tuples(DATA_FORMULAS, DATA_FORMULAS, st.just(0)), min_size=1, max_size=5)
close = {"rtol": 1e-9, "atol": 1e-9}


def small(name: str, **others: object) -> Model:
    torch.manual_seed(0)
    cls = resolve(name)
    return cls(cls.settings_class(size=8, mlp_size=8, **others)).double().eval()


def children(rpn: str) -> list[str]:
    """Split a formula into its arguments."""
    starts: list[int] = []
    for i, symbol in enumerate(rpn[:-1]):
        arity = ARITY.get(symbol, 0)
        starts[len(starts) - arity :] = [starts[-arity] if arity else i]
    return [rpn[a:b] for a, b in zip(starts, [*starts[1:], len(rpn) - 1], strict=True)]


def top_down(model: TopDownNet, a: str, b: str) -> Tensor:
    """Evaluate a pair by plain recursion."""
    occurrences: dict[str, list[Tensor]] = {}

    def visit(rpn: str, x: Tensor) -> None:
        if rpn in LETTERS:
            occurrences.setdefault(rpn, []).append(x)
            return
        arguments = torch.tanh(model.operators[CODES[rpn[-1]]](x)).chunk(ARITY[rpn[-1]])
        for child, argument in zip(children(rpn), arguments, strict=True):
            visit(child, argument)

    of_sides = torch.tanh(model.operators[CODES[">"]](model.question[0])).chunk(2)
    for formula, x in zip((a, b), of_sides, strict=True):
        visit(formula, x)
    variables = [model.over_occurrences(torch.stack(one))[1][0] for one in occurrences.values()]
    encoding = model.over_variables(torch.stack(variables))[1]
    return model.classifier(encoding)[0]


def graph(model: GraphNet, a: str, b: str) -> Tensor:
    """Evaluate a pair by plain message passing between its distinct subformulas."""

    @cache
    def subformulas(rpn: str) -> frozenset[str]:
        return frozenset({rpn}).union(*map(subformulas, children(rpn) if len(rpn) > 1 else []))

    nodes = [*sorted(subformulas(a) | subformulas(b)), "entails"]
    slots = {"~": [0], "&": [1, 2], "|": [3, 4], ">": [5, 6]}
    edges = [
        (rpn, child, slot)
        for rpn in nodes[:-1]
        if len(rpn) > 1
        for child, slot in zip(children(rpn), slots[rpn[-1]], strict=True)
    ] + [("entails", a, 7), ("entails", b, 8)]
    kinds = [PAIR if n == "entails" else min(CODES[n[-1]], VARIABLE) for n in nodes]
    x = dict(zip(nodes, model.embedding(torch.tensor(kinds)), strict=True))
    for layer in model.layers:
        h = {node: layer.norm(state) for node, state in x.items()}
        sent = {node: layer.send(state).chunk(2) for node, state in h.items()}
        zero = torch.zeros_like(h["entails"])
        for node in nodes:
            up = [(sent[c][0] + layer.edge[0, k]).relu() for p, c, k in edges if p == node]
            down = [(sent[p][1] + layer.edge[1, k]).relu() for p, c, k in edges if c == node]
            means = [torch.stack(m).mean(0) if m else zero for m in (up, down)]
            x[node] = x[node] + layer.update(torch.cat((h[node], *means))).relu()
    states = torch.stack([model.norm(x[node]) for node in nodes])
    pooled = torch.cat((states[-1], states.mean(0), states.amax(0)))[None]
    return model.classifier(pooled)[0]


@pytest.mark.parametrize(("name", "plain"), [("topdownnet", top_down), ("graphnet", graph)])
@settings(max_examples=25)
@given(rows=ROWS)
def test_batches_agree_with_plain_evaluation(
    name: str, plain: Callable[[Model, str, str], Tensor], rows: list[tuple[str, str, int]]
) -> None:
    model = small(name, **({"layers": 3} if name == "graphnet" else {}))
    ((order, batch),) = Dataset(Pairs.of(rows)).in_order_of_size()
    expected = torch.stack([plain(model, *rows[i][:2]) for i in order])
    batched = model(batch)
    assert_close(batched, expected, **close)
    parameters = list(model.parameters())
    slope = torch.linspace(-1, 1, batched.numel(), dtype=torch.float64).view_as(batched)
    ours, theirs = (
        torch.autograd.grad((y * slope).sum(), parameters, materialize_grads=True)
        for y in (batched, expected)
    )
    assert_close(ours, theirs, **close)


@settings(max_examples=25)
@given(rows=ROWS)
def test_a_graph_has_each_subformula_once(rows: list[tuple[str, str, int]]) -> None:
    ((order, batch),) = Dataset(Pairs.of(rows)).in_order_of_size()
    dag = Dag.of(batch.pair_nodes)

    def parts(rpn: str) -> set[str]:
        return {rpn}.union(*map(parts, children(rpn) if rpn[-1] in OPERATORS else []))

    expected = [len(parts(rows[i][0]) | parts(rows[i][1])) + 1 for i in order]
    assert torch.bincount(dag.pair).tolist() == expected
    assert (dag.pair[dag.child] == dag.pair[dag.parent]).all()


@pytest.mark.parametrize("name", ["graphnet", "topdownnet"])
def test_names_of_variables_do_not_matter(name: str) -> None:
    data = Dataset(Pairs.of([("pq&r|", "pq>", 1), ("zb&a|", "zb>", 1), ("pq&p|", "pq>", 1)]))
    ((order, batch),) = data.in_order_of_size()
    log_probs = small(name)(batch)[np.argsort(order)]
    assert_close(log_probs[0], log_probs[1], **close)
    assert (log_probs[0] - log_probs[2]).abs().max() > 1e-6


@pytest.mark.parametrize("positions", ["rotary", "tree"])
def test_the_modern_transformer_reads_positions(positions: str) -> None:
    model = small("modern-transformer", heads=2, positions=positions)
    rows = [("pq>", "p", 1), ("qp>", "p", 1), ("pq>r>", "p", 1), ("pqr>>", "p", 1)]
    ((order, batch),) = Dataset(Pairs.of(rows)).in_order_of_size()
    log_probs = model(batch)[np.argsort(order)]
    assert (log_probs[0] - log_probs[1]).abs().max() > 1e-6
    assert (log_probs[2] - log_probs[3]).abs().max() > 1e-6
    for row, expected in zip(rows, log_probs, strict=True):  # padding does not matter
        ((_, alone),) = Dataset(Pairs.of([row])).in_order_of_size()
        assert_close(model(alone)[0], expected, **close)
    assert node_sequences(batch).lengths.max() < batch.joined.lengths.max()


@pytest.mark.parametrize("settings_", [{"heads": 3}, {"positions": "north"}])
def test_settings_that_make_no_modern_transformer(settings_: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        small("modern-transformer", **settings_)


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("graphnet", {"layers": 3}),
        ("topdownnet", {}),
        ("modern-transformer", {"layers": 2}),
        ("modern-transformer", {"layers": 2, "positions": "tree"}),
    ],
)
def test_each_learns_a_small_set(name: str, others: dict[str, object]) -> None:
    pairs = possibleworlds.generate(rows=64, variables=(1, 3), operators=(1, 3), seed=1)
    data = Dataset(pairs)
    cls = resolve(name)
    torch.manual_seed(0)
    model = cls(cls.settings_class(size=32, mlp_size=32, **others)).train()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    identity = np.tile(np.arange(26), (16, 1))
    batch, labels = data.batch(np.arange(16), identity)
    losses = []
    for _ in range(300):
        loss = model.loss(model.log_probs(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if losses[-1] < 0.1:
            break
    assert losses[0] > 0.5
    assert losses[-1] < 0.3
