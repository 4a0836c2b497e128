"""The Python API, as a notebook uses it."""

import inspect
import subprocess
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

import possibleworlds as pw
from possibleworlds.models import Batch, Classifier, Model
from possibleworlds.storage import sha256
from possibleworlds.training.checkpoint import SHIPPED, read_run
from possibleworlds.training.evaluation import Evaluation
from possibleworlds.training.predictor import Network


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = pw.generate(rows=10_000, variables=(1, 10), operators=(1, 10), seed=0)
    assert len(pairs) == 10_000
    pair = pairs[0]
    assert isinstance(pair.premise, pw.Formula)
    assert isinstance(pair.conclusion, pw.Formula)
    assert pair.label is pw.entails(pair.premise, pair.conclusion)
    pairs.save("mine.txt")
    assert pw.read("mine.txt") == pairs
    splits = pw.paper_splits(seed=0, scale=0.005)
    assert len(splits) == 7
    for pair in islice(pw.stream(variables=(1, 10), operators=(1, 10), seed=0), 8):
        assert pair.label is pw.entails(pair.premise, pair.conclusion)
    result = pw.train("treenet", splits["train"], validate=splits["validate"], epochs=1, seed=0)
    decision = result.network.decide("p & q", "q")
    assert 0 < decision.probability < 1
    assert result.metrics.finished
    assert 0 <= result.metrics.validation <= 1
    result.save("runs/mine")
    evaluation = pw.evaluate(result.network, splits["test_hard"])
    assert evaluation.interval[0] <= evaluation.accuracy <= evaluation.interval[1]
    assert sum(part.rows for part in evaluation.by_variables.values()) == evaluation.rows
    assert evaluation.all_four is not None
    assert evaluation.all_four <= evaluation.accuracy
    assert pw.evaluate(pw.load("runs/mine"), splits["test_hard"]) == evaluation
    assert {"treenet", "possibleworldnet"} <= {model.name for model in pw.models()}
    assert all(model.summary and model.citation for model in pw.models())


def test_numbers_of_numpy_are_numbers() -> None:
    one, four, rows = np.int64(1), np.int32(4), np.int64(40)
    pairs = pw.generate(rows, variables=(one, four), operators=np.array([1, 4]), seed=one)
    assert pairs == pw.generate(40, variables=(1, 4), operators=(1, 4), seed=1)
    assert next(pw.stream(variables=four, seed=one)) == next(pw.stream(variables=4, seed=1))
    settings: dict[str, Any] = {"variables": four, "seed": one, "shots": one}
    items = pw.tasks("refute", size=four, **settings)
    assert items[one] == pw.tasks("refute", size=4, variables=4, seed=1, shots=1)[1]
    assert len(pw.tasks(level=one, size=four)) == 4
    result = pw.train("mlp-bow", pairs, epochs=one, seed=one, batch_size=four)
    assert (
        result.metrics.validation
        == pw.train("mlp-bow", pairs, epochs=1, seed=1, batch_size=4).metrics.validation
    )


def test_nothing_of_torch_before_it_is_needed() -> None:
    code = (
        "import sys, possibleworlds as pw; pw.entails('p', 'q'); pw.countermodel('p', 'q');"
        "assert 'numpy' not in sys.modules; pw.models();"
        "pw.generate(rows=8, variables=(1, 3), operators=(1, 3), seed=0);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="module")
def pairs() -> pw.Pairs:
    return pw.generate(rows=400, variables=(1, 4), operators=(1, 5), seed=0)


QUICK: dict[str, Any] = {"size": 8, "epochs": 2, "evaluations": 2}


def test_pairs_in_memory_train_as_files_do(pairs: pw.Pairs, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    pairs.save(data / "train.txt")
    pairs[:40].save(data / "validate.txt")
    in_memory = pw.train("treenet", pairs, validate=pairs[:40], **QUICK)
    in_memory.save(tmp_path / "a")
    pw.train("treenet", data, out=tmp_path / "b", **QUICK)
    pw.train("treenet", data / "train.txt", data / "validate.txt", **QUICK).save(tmp_path / "c")
    records = [read_run(tmp_path / name) for name in "abc"]
    assert records[0].data == records[1].data == records[2].data
    for record, name in zip(records, "abc", strict=True):
        for file in (record.weights, record.state):
            ours, first = (load_file(tmp_path / folder / str(file)) for folder in (name, "a"))
            assert ours.keys() == first.keys()
            assert all(torch.equal(ours[key], first[key]) for key in ours)
    with pytest.raises(pw.UserError, match="holds a run already; choose another folder"):
        in_memory.save(tmp_path / "a")
    again = pw.train("treenet", data, out=tmp_path / "a", resume=True, **QUICK)
    assert again.metrics.step == in_memory.metrics.step
    assert again.network.probability("p", "q") == in_memory.network.probability("p", "q")


def test_a_saved_run_names_the_data_that_it_was_trained_on(pairs: pw.Pairs, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("train", "validate"):
        pairs[:40].save(data / f"{name}.txt")
    before = {f"{name}.txt": sha256(data / f"{name}.txt") for name in ("train", "validate")}
    result = pw.train("treenet", data, **QUICK)
    pairs.save(data / "train.txt")
    result.save(tmp_path / "run")
    assert read_run(tmp_path / "run").data == before


def test_pairs_of_ones_own() -> None:
    rows = [("rain -> wet", "~wet -> ~rain"), ("p | q", pw.parse("q")), ("p & q", "q", True)]
    assert pw.evaluate("guidedworldnet", rows, progress=False).accuracy == 1
    wrong = [("p & q", "q", False), ("p", "q")]
    assert pw.evaluate("guidedworldnet", wrong, progress=False).accuracy == 0.5
    network = pw.load("guidedworldnet")
    assert network.evaluate(wrong).accuracy == 0.5
    assert network.predict(wrong).tolist() == [1, 0]
    assert network.predict(pw.Pairs.of([("pq&", "q", True)])).tolist() == [1]
    assert network.decide(["p", "p -> q"], "q") == network.decide("p, p -> q |= q")
    assert network.decide(["rain", "rain -> wet"], "wet").entails
    for bad, message in (
        ([("p",)], r"row 0: a pair is \(A, B\)"),
        ([("p", "q"), ("p", "q", "maybe")], "row 1: a label is True or False, not 'maybe'"),
        ([("p", 3)], "row 0: a pair is"),
        ([], "no pairs"),
    ):
        with pytest.raises(pw.UserError, match=message):
            pw.evaluate(network, bad, progress=False)


def test_lists_of_pairs_are_pairs(pairs: pw.Pairs) -> None:
    chosen = [pair for pair in pairs if len(pair.a) < 12]
    assert pw.evaluate("treenet", chosen) == pw.evaluate("treenet", pw.Pairs.of(chosen))
    streamed = list(islice(pw.stream(seed=3), 40))
    assert pw.train("linear-bow", streamed, epochs=1).metrics.finished
    assert str(pw.Pair("pq&", "r", False)) == "p ∧ q ⊭ r"
    with pytest.raises(pw.UserError, match="3 formulas side by side"):
        pw.evaluate("treenet", [pw.Pair("p & q", "q", True)])
    with pytest.raises(pw.UserError, match="not of type list_iterator"):
        pw.evaluate("treenet", iter(chosen))  # type: ignore[arg-type]


def test_the_callers_threads_and_random_numbers_stay(pairs: pw.Pairs) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.manual_seed(7)
        expected = torch.rand(3)
        torch.manual_seed(7)
        network = pw.train("treenet", pairs, validate=pairs[:40], **QUICK).network
        network.decide("p", "q")
        network.probability(["p"], ["q"])
        pw.evaluate(network, pairs[:40])
        pw.load("possibleworldnet").decide("p", "q", certify=True)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.rand(3), expected)
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class CountSettings:
    size: int = 8


class CountNet(Model):
    """A network of a user."""

    settings_class = CountSettings

    def __init__(self, settings: CountSettings) -> None:
        super().__init__(settings)
        self.encode = nn.Linear(30, settings.size)
        self.classifier = Classifier(settings.size, settings.size, 2)

    def forward(self, batch: Batch) -> Tensor:
        codes = self.encode(batch.symbol_frequencies)
        return self.classifier(codes[batch.left], codes[batch.right])


def test_a_network_of_ones_own(pairs: pw.Pairs, tmp_path: Path) -> None:
    result = pw.train(CountNet, pairs, validate=pairs[:40], **QUICK)
    result.save(tmp_path / "run")
    assert read_run(tmp_path / "run").model == f"{__name__}:CountNet"
    loaded = pw.load(tmp_path / "run", CountNet)
    assert pw.evaluate(loaded, pairs) == pw.evaluate(result.network, pairs)


def test_without_a_validation_set_some_tuples_are_held_out(pairs: pw.Pairs) -> None:
    result = pw.train("treenet", pairs, **QUICK)
    assert len(result.trainer.train) == 360
    assert len(result.trainer.validate) == 40
    held_out = {tuple(pair) for pair in result.trainer.validate.pairs}
    assert held_out.isdisjoint({tuple(pair) for pair in result.trainer.train.pairs})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "nonsense"}, "no network called"),
        ({"epochs": 3, "minutes": 5}, "epochs and minutes both"),
        ({"colour": 3}, "no setting 'colour'"),
        ({"epoch": 3}, "no setting 'epoch'; it has .*size, and its training .*epochs"),
        ({"size": "large"}, "size='large': not int"),
        ({"train": 3}, "train must be pairs"),
        ({"validate": {1}}, "validate must be pairs"),
        ({"validate": [1]}, "row 0: a pair is"),
        ({"train": "nowhere.txt"}, "No such file"),
        ({"seed": -1}, "seed must be"),
        ({"resume": True}, "resume=True needs the folder"),
        ({"seed": "a"}, "seed must be"),
        ({"device": "mars"}, "mars"),
        ({"model": 5}, "a name or a subclass of possibleworlds.models.Model"),
        ({"model": Path}, "a name or a subclass of possibleworlds.models.Model"),
    ],
)
def test_what_cannot_be_trained(arguments: dict[str, Any], message: str, pairs: pw.Pairs) -> None:
    values: dict[str, Any] = {"model": "treenet", "train": pairs, "validate": pairs, **arguments}
    with pytest.raises(pw.UserError, match=message):
        pw.train(values.pop("model"), values.pop("train"), values.pop("validate"), **values)


def test_what_cannot_be_evaluated(pairs: pw.Pairs, tmp_path: Path) -> None:
    with pytest.raises(pw.UserError, match="worlds is for networks with worlds"):
        pw.evaluate("treenet", pairs, worlds=3)
    with pytest.raises(pw.UserError, match="there are no pairs"):
        pw.evaluate("treenet", pairs[:0])
    with pytest.raises(pw.UserError, match="pairs must be pairs"):
        pw.evaluate("treenet", {"p": "q"})  # type: ignore[arg-type]
    with pytest.raises(pw.UserError, match="a network, a run folder or a name"):
        pw.evaluate(None, pairs)  # type: ignore[arg-type]
    with pytest.raises(pw.UserError, match="neither a run folder nor"):
        pw.load(tmp_path / "nowhere")


def test_all_four_counts_tuples() -> None:
    rows = [("p", "q", 0), ("q", "p", 0), ("p", "p", 1), ("q", "q", 1)]
    pairs = pw.Pairs.of(
        [
            *rows,
            *(
                tuple(pair)
                for pair in pw.generate(rows=8, variables=(1, 3), operators=(1, 3), seed=1)
            ),
        ]
    )
    right = np.ones(12, bool)
    right[5] = False
    assert pairs.rows_together == 4
    evaluation = Evaluation.of(right, pairs)
    assert evaluation.all_four == pytest.approx(2 / 3)
    assert evaluation.correct == 11
    assert Evaluation.of(right[:3], pairs[:3]).all_four is None
    assert Evaluation.from_json(evaluation.to_json()) == evaluation
    with pytest.raises(pw.UserError, match="interval must be a list of 2"):
        Evaluation.from_json({**evaluation.to_json(), "interval": [1]})


def test_results_show_as_tables(pairs: pw.Pairs) -> None:
    result = pw.train("treenet", pairs, validate=pairs[:40], **QUICK)
    page = result._repr_html_()
    assert page.count("<tr>") == 3
    assert "(best)" in page
    assert "all four right" in pw.evaluate(result.network, pairs)._repr_html_()
    assert "possibleworldnet" in pw.models()._repr_html_()
    assert "treenet" in repr(result)


@pytest.mark.parametrize("name", sorted(folder.name for folder in SHIPPED.iterdir()))
def test_shipped_weights_on_a_sample_of_the_published_sets(name: str, official: Path) -> None:
    rows = 100 if name == "guidedworldnet" else 400
    for split in ("validate", "test_easy"):
        evaluation = pw.evaluate(name, pw.read(official / f"{split}.txt")[:rows])
        recorded = read_run(SHIPPED / name).accuracy
        assert recorded is not None
        low, high = evaluation.interval
        half = 1.5 * (high - low) / 2  # 1.5 times a 95 % interval: one in 300 by chance
        assert abs(evaluation.accuracy - recorded["published"][split]) < half


@pytest.mark.parametrize("name", ["decide", "probability", "predict", "evaluate"])
def test_options_of_a_network_are_keywords_in_one_order(name: str) -> None:
    parameters = inspect.signature(getattr(Network, name)).parameters.values()
    keywords = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    order = ["worlds", "steps", "budget", "certify", "seed", "progress"]
    assert keywords == [option for option in order if option in keywords]
    assert {one.name for one in parameters} - {*keywords} <= {"self", "a", "b", "pairs"}
