"""What holds for every network of the registry."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from possibleworlds.data.files import read
from possibleworlds.data.pairs import Pairs
from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.errors import UserError
from possibleworlds.logic import Formula
from possibleworlds.models import Batch, Model, Options, names, resolve
from possibleworlds.models.bow import LinearBow
from possibleworlds.models.guidedworldnet import GuidedWorldNet
from possibleworlds.models.sequences import CLOSE_CODE, OPEN_CODE, PADDING_CODE, TURNSTILE_CODE
from possibleworlds.models.transformer import timing_signals
from possibleworlds.models.trees.forest import Forest
from possibleworlds.training.batches import Dataset, row_log_probabilities
from possibleworlds.training.loop import Trainer
from possibleworlds.training.settings import RunSettings, TrainingSettings
from tests.conftest import DATA_FORMULAS

SMALL = {
    "size": 4,
    "mlp_size": 4,
    "layers": 2,
    "heads": 2,
    "filter_size": 4,
    "channels": 4,
    "worlds": 3,
    "world_size": 5,
    "steps": 2,
    "search_evaluations": 50,
}
ROWS = st.lists(
    st.tuples(DATA_FORMULAS, DATA_FORMULAS, st.sampled_from([0, 1])), min_size=1, max_size=6
)
GRID = {
    "learning_rate": [1e-5, 1e-4, 1e-3],
    "batch_size": [64, 128],
    "permute_symbols": [False, True],
}


def small(name: str, **others: object) -> Model:
    kind = resolve(name)
    known = {field.name for field in fields(kind.settings_class)}
    chosen = {key: value for key, value in {**SMALL, **others}.items() if key in known}
    torch.manual_seed(0)
    return kind(kind.settings_class(**chosen)).double().eval()


def whole(pairs: Pairs) -> Batch:
    return Batch.of(Forest(pairs.code, pairs.offsets), pairs.left, pairs.right)


@pytest.mark.parametrize("name", names())
@settings(max_examples=15)
@given(rows=ROWS)
def test_a_score_does_not_depend_on_the_other_rows(
    name: str, rows: list[tuple[str, str, int]]
) -> None:
    model = small(name)
    together = row_log_probabilities(model, Dataset(Pairs.of(rows)))
    assert_close(np.exp(together).sum(1), np.ones(len(rows)), rtol=0, atol=1e-9)
    for row, expected in zip(rows, together, strict=True):
        alone = row_log_probabilities(model, Dataset(Pairs.of([row])))[0]
        assert_close(alone, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", names())
def test_every_weight_is_learnt(name: str) -> None:
    model = small(name, pooling=1, unguided_fraction=0.0).train()
    rows = [("pq&r|~", "pq>", 1), ("p", "q~", 0), ("pq|", "rs>~t&", 0)]
    batch = whole(Pairs.of(rows))
    torch.nn.functional.nll_loss(model(batch), torch.tensor([1, 0, 0])).backward()
    for weight_name, weight in model.named_parameters():
        assert weight.grad is not None, weight_name
        assert weight.grad.isfinite().all()
        if "attn.in_proj_bias" not in weight_name:
            assert weight.grad.abs().sum() > 0, weight_name


@pytest.mark.parametrize("name", names())
def test_four_tuples_are_evaluated_as_their_rows_are(name: str) -> None:
    model = small(name, fixed_worlds=True, steps=0)
    a1, b1, a2, b2 = "pq&", "qr|", "pr>~", "s~p|"
    rows = [(a1, b1, 1), (a2, b2, 1), (a1, b2, 0), (a2, b1, 0)]
    data = Dataset(Pairs.of(rows * 1))
    assert data.rows_per_unit == 4
    permutation = np.random.default_rng(0).permutation(26)[None]
    batch, labels = data.batch(np.array([0]), permutation)
    assert labels.tolist() == [1, 1, 0, 0]
    assert len(batch.formula) == 4
    pairs = data.pairs
    apart = Batch.of(data.forest, pairs.left, pairs.right, permutation)
    torch.manual_seed(1)
    together = model(batch)
    torch.manual_seed(1)
    assert_close(together, model(apart), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("loss", [Model.loss, LinearBow.loss])
def test_a_linear_bag_of_words_learns_from_errors_alone(loss: Callable[..., torch.Tensor]) -> None:
    a1, b1, a2, b2 = "pq&", "qr|", "pr>~", "s~p|"
    pairs = Pairs.of([(a1, b1, 1), (a2, b2, 1), (a1, b2, 0), (a2, b1, 0)])
    model, batch, labels = small("linear-bow"), whole(pairs), torch.tensor([1, 1, 0, 0])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(1000):
        optimizer.zero_grad()
        loss(model, model(batch), labels).backward()
        optimizer.step()
    said = model(batch).exp()[:, 1]
    if loss is Model.loss:
        assert_close(said, torch.full_like(said, 0.5), rtol=0, atol=0.01)
    else:
        assert int((said.round() == labels).sum()) == 3


def infix(rpn: str) -> str:
    formula = Formula(tuple(rpn))
    match ["".join(child.rpn) for child in formula.children]:
        case [inner]:
            return f"~{infix(inner)}"
        case [left, right]:
            return f"({infix(left)}{formula.root}{infix(right)})"
    return formula.root


@settings(max_examples=30)
@given(ROWS)
def test_sequences_are_bracketed_infix_text(rows: list[tuple[str, str, int]]) -> None:
    signs = {**dict(enumerate("~&|>abcdefghijklmnopqrstuvwxyz")), OPEN_CODE: "(", CLOSE_CODE: ")"}
    signs |= {TURNSTILE_CODE: "⊨", PADDING_CODE: ""}
    batch = whole(Pairs.of(rows))
    sequences, is_right = batch.side_by_side
    for i, (a, b, _) in enumerate(rows):
        joined = batch.joined.symbols[i].tolist()
        assert "".join(signs[s] for s in joined) == f"{infix(a)}⊨{infix(b)}"
        symbols = sequences.symbols[i].tolist()
        assert "".join(signs[s] for s in symbols) == f"{infix(a)}{infix(b)}"
        right = [s for s, r in zip(symbols, is_right[i].tolist(), strict=True) if r]
        assert "".join(signs[s] for s in right) == infix(b)
        alone = batch.sequences.symbols[batch.left[i]].tolist()
        assert "".join(signs[s] for s in alone) == infix(a)


def test_permuting_symbols_renames_what_every_network_sees() -> None:
    pairs = Pairs.of([("pq&", "p", 1)])
    renamed = Pairs.of([("qp&", "q", 1)])
    forest = Forest(pairs.code, pairs.offsets)
    swap = np.arange(26)
    swap[[15, 16]] = [16, 15]
    batch = Batch.of(forest, pairs.left, pairs.right, swap[None])
    other = whole(renamed)
    assert_close(batch.symbol_frequencies, other.symbol_frequencies)
    assert_close(batch.symbol_frequencies.sum(1), torch.ones(2))
    assert batch.sequences.symbols.tolist() == other.sequences.symbols.tolist()
    assert batch.nodes.code.tolist() == other.nodes.code.tolist()


def test_symbols_are_permuted_from_the_epoch_that_is_told() -> None:
    data = Dataset(Pairs.of([("pq&", "p", 1)] * 8))
    settings_ = TrainingSettings(batch_size=4, permute_after=3)
    trainer = Trainer(small("treenet"), settings_, data, data, 0)
    permuted = []
    for batch, _ in trainer.batches():
        permuted.append(bool((batch.renaming != np.arange(26)).any()))
        trainer.progress.step += 1
        if trainer.progress.step == 6:
            break
    assert permuted == [False] * 4 + [True] * 2


@pytest.mark.parametrize("name", names())
def test_search_spaces_are_of_settings_that_exist(name: str) -> None:
    kind = resolve(name)
    known = {f.name for f in (*fields(kind.settings_class), *fields(TrainingSettings))}
    assert kind.search_space.keys() <= known
    assert {key: kind.search_space[key] for key in GRID} == GRID
    for key, values in kind.search_space.items():
        for value in values:
            RunSettings.read(kind, {key: value})
    assert kind.__doc__


def test_the_papers_grid() -> None:
    assert resolve("convnet").search_space["pooling"] == [0, 5, 3, 1]
    assert resolve("convnet").search_space["kernel"] == [5, 7, 9]
    assert resolve("convnet").search_space["layers"] == [4, 6, 8]
    assert resolve("transformer").search_space["filter_size"] == [128, 256, 384]
    assert resolve("transformer").search_space["layers"] == [6, 8, 10]
    assert resolve("treelstm").search_space["mlp_layers"] == [2, 3]


@pytest.mark.parametrize("name", ["linear-bow", "mlp-bow", "treenet"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_one_sided_networks_see_one_side(name: str, side: str) -> None:
    model = small(name, side=side)
    rows = [("pq&", "p", 1), ("pq&", "r~", 1), ("qr|", "p", 0)]
    first, other_right, other_left = row_log_probabilities(model, Dataset(Pairs.of(rows)))
    assert (first == other_right).all() == (side == "left")
    assert (first == other_left).all() == (side == "right")


def test_the_number_of_worlds_is_free() -> None:
    model = small("possibleworldnet", output_init_scale=1.0)
    data = Dataset(Pairs.of([("pq&", "p", 1)]))
    few = row_log_probabilities(model, data)[0, 1]
    many = row_log_probabilities(model, data, options=Options(worlds=300))[0, 1]
    assert many < few


def test_guided_worlds_stand_still_at_first() -> None:
    batch = whole(Pairs.of([("pq&", "p", 1)]))
    guided, plain = small("guidedworldnet").train(), small("possibleworldnet").train()
    for trained, moves in ((0.0, False), (0.49, False), (0.5, True)):
        torch.manual_seed(0)
        log_probs = guided.log_probs(batch, Options(progress=trained))
        torch.manual_seed(0)
        assert torch.equal(log_probs, plain(batch)) == (not moves)


def test_a_world_is_read_as_an_assignment_by_the_networks_own_judgement() -> None:
    model = small("guidedworldnet", output_init_scale=1.0)
    assert isinstance(model, GuidedWorldNet)
    letters = "abcdefghijklmnopqrstuvwxyz"
    rows = [(v, v + "~", 0) for v in letters] + [(v + "~", v, 0) for v in letters]
    worlds = model.round_worlds(model.draw_worlds(1, 7))
    everywhere = worlds.expand(len(rows), -1, -1)
    a, b = model.sides(whole(Pairs.of(rows)), everywhere)
    z = a + b
    true = (z[:26] < z[26:]).T
    assert torch.equal(model.assignments(worlds[0]), true)


def test_a_thousand_operators_are_no_limit() -> None:
    deep = "p" + "".join(f"{'pqrs'[i % 4]}{'&|>'[i % 3]}" for i in range(1000))
    for name in names():
        log_probs = row_log_probabilities(small(name), Dataset(Pairs.of([(deep, "p", 1)])))
        assert np.isfinite(log_probs).all()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nonsense", "no network called 'nonsense'"),
        ("no.such.module:Net", "No module named 'no'"),
        ("possibleworlds.models.bow:Nothing", "has no attribute 'Nothing'"),
        ("json:JSONDecoder", "not a subclass"),
        (":X", "Empty module name"),
        ("possibleworlds.models:Model", "has no settings_class"),
    ],
)
def test_unknown_networks_are_refused(name: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        resolve(name, trust=True)
    if ":" in name:
        with pytest.raises(UserError, match="is no network of this package: it would import"):
            resolve(name)


def test_settings_are_checked() -> None:
    kind = resolve("treenet")
    read = RunSettings.read(kind, {"size": "32", "permute_symbols": "false"})
    assert (read.network.size, read.training.permute_symbols) == (32, False)
    assert replace(read.training, epochs=3.0).epochs == 3.0
    for given_, problem in [
        ({"sizes": "3"}, "no setting 'sizes'"),
        ({"size": "many"}, "size='many': not int"),
        ({"permute_symbols": "maybe"}, "not bool"),
        ({"batch_size": "6"}, "batch_size cannot be 6"),
        ({"permute_after": "-1"}, "permute_after cannot be -1"),
        ({"learning_rate": "-1"}, "learning_rate cannot be"),
        ({"schedule": "steep"}, "schedule cannot be"),
        ({"epochs": "nan"}, "cannot have epochs=nan"),
        ({"minutes": "inf"}, "cannot have minutes=inf"),
        ({"size": "0"}, "TreeNet cannot have size=0"),
    ]:
        with pytest.raises(UserError, match=problem):
            RunSettings.read(kind, given_)


def test_worlds_are_corners_unless_they_are_not() -> None:
    for corners, inside in ((True, False), (False, True)):
        model = small("possibleworldnet", binary_worlds=corners)
        worlds = model.round_worlds(model.draw_worlds(1, 50))
        assert ((worlds.abs() < 1).any()) == inside
        assert worlds.abs().max() <= 1
        assert 0.4 < (worlds < 0).double().mean() < 0.6


def test_a_variable_starts_with_a_coordinate_of_its_own() -> None:
    torch.manual_seed(0)
    without, with_own = (
        small("possibleworldnet", variable_prior=0.0),
        small("possibleworldnet", variable_prior=2.0),
    )
    added = (with_own.w4 - without.w4).detach()
    k = added.shape[1]
    own = added[torch.arange(26), torch.arange(26) % k]
    assert torch.allclose(own, own[:1].expand(26, -1), atol=1e-5)
    assert torch.allclose(own.norm(dim=-1), torch.full((26,), 2.0, dtype=own.dtype), atol=1e-5)
    assert added.norm() == pytest.approx(2 * 26**0.5, rel=1e-5)


def test_convnet_tells_pairs_apart_from_the_start(tmp_path: Path) -> None:
    generate_folder(tmp_path, free_splits(80, (1, 10), (1, 10), "fourtuples")[:1], seed=0)
    batch = whole(read(tmp_path / "train.txt"))
    kind = resolve("convnet")
    for seed in range(5):
        torch.manual_seed(seed)
        no, yes = kind(kind.settings_class()).forward(batch).unbind(1)
        assert (yes - no).std() > 0.2  # at 0.05 some seeds learn nothing for epochs


@pytest.mark.filterwarnings("ignore:Using padding")  # of torch, of an even kernel
@pytest.mark.parametrize(("kernel", "pooling"), [(5, 3), (4, 1), (7, 0)])
@settings(max_examples=15)
@given(rows=ROWS)
def test_convolutions_agree_with_those_of_one_sequence_alone(
    kernel: int, pooling: int, rows: list[tuple[str, str, int]]
) -> None:
    encoder = small("convnet", kernel=kernel, pooling=pooling).encoder
    sequences = whole(Pairs.of(rows)).sequences

    def alone(symbols: torch.Tensor) -> torch.Tensor:
        x = encoder.embedding(symbols).T[None]
        for i, convolution in enumerate(encoder.convolutions, 1):
            weights = convolution.weight, convolution.bias
            x = torch.nn.functional.conv1d(x, *weights, padding="same").relu()
            if pooling and i % pooling == 0:
                x = torch.nn.functional.max_pool1d(x, 2, ceil_mode=True)
        return encoder.mlp(x.sum(2) / kernel)

    pieces = zip(sequences.symbols, sequences.lengths, strict=True)
    expected = torch.cat([alone(symbols[:length]) for symbols, length in pieces])
    encodings = encoder(sequences)
    assert_close(encodings, expected, rtol=1e-12, atol=1e-12)
    slope = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).view_as(expected)
    weights = list(encoder.parameters())
    ours, theirs = (torch.autograd.grad((y * slope).sum(), weights) for y in (encodings, expected))
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("precision", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)]
)
@settings(max_examples=15)
@given(rows=ROWS)
def test_lstms_agree_with_packed_sequences(
    precision: torch.dtype, tolerance: float, rows: list[tuple[str, str, int]]
) -> None:
    encoder = small("bilstm").encoder.to(precision).train()
    sequences = whole(Pairs.of(rows)).sequences
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        encoder.embedding(sequences.symbols),
        sequences.lengths,
        batch_first=True,
        enforce_sorted=False,
    )
    expected = torch.cat(encoder.lstm(packed)[1][0].unbind(0), -1)
    encodings = encoder(sequences)
    assert_close(encodings, expected, rtol=tolerance, atol=tolerance)
    slope = torch.linspace(-1, 1, expected.numel(), dtype=precision).view_as(expected)
    weights = list(encoder.parameters())
    ours, theirs = (torch.autograd.grad((y * slope).sum(), weights) for y in (encodings, expected))
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, rtol=tolerance, atol=tolerance)


@settings(max_examples=15)
@given(rows=ROWS)
def test_transformers_agree_with_padded_sequences(rows: list[tuple[str, str, int]]) -> None:
    model = small("transformer")
    batch = whole(Pairs.of(rows))
    sequences, is_right = batch.side_by_side
    x = model.embedding(sequences.symbols) * model.settings.size**0.5
    x = x + timing_signals(*x.shape[1:]) + is_right[..., None] * model.right_bias
    absent = ~sequences.present
    memory = model.encoder(x, src_key_padding_mask=absent)
    start = model.start.expand(len(x), 1, -1)
    logit = model.logit(model.decoder(start, memory, memory_key_padding_mask=absent)[:, 0])
    expected = torch.nn.functional.logsigmoid(torch.cat((-logit, logit), 1))
    log_probs = model(batch)
    assert_close(log_probs, expected, rtol=1e-10, atol=1e-10)
    slope = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).view_as(expected)
    weights = list(model.parameters())
    ours, theirs = (torch.autograd.grad((y * slope).sum(), weights) for y in (log_probs, expected))
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, rtol=1e-9, atol=1e-10)


def test_dropout_is_for_training_only() -> None:
    batch = whole(Pairs.of([("pq&", "p", 1), ("pq|r>", "q", 0)]))
    model = small("transformer", dropout=0.5)
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))
