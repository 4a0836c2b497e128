import json
from pathlib import Path

import pytest

from possibleworlds.data.files import data_files, read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.data.plots import plot_distributions
from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.data.statistics import (
    FEATURES,
    Comparison,
    as_json,
    features,
    file_statistics,
    split_statistics,
)
from possibleworlds.logic import parse
from possibleworlds.paper import SAMPLING_ON_HARD


def pair(a: str, b: str, label: int) -> Pair:
    return Pair("".join(parse(a).rpn), "".join(parse(b).rpn), bool(label))


def test_features_are_the_papers() -> None:
    values = features("".join(parse("~(p & ~q) -> (p | q)").rpn))
    by_name = dict(zip(FEATURES, values, strict=True))
    assert by_name["length"] == 9
    assert [by_name[f"num({op})"] for op in "~&|>"] == [2, 1, 1, 1]
    assert [by_name[f"num_at(0,{op})"] for op in "~&|>"] == [0, 0, 0, 1]
    assert [by_name[f"num_at(1,{op})"] for op in "~&|>"] == [1, 0, 1, 0]
    assert [by_name[f"num_at(2,{op})"] for op in "~&|>"] == [0, 1, 0, 0]
    assert by_name["#sat"] == 3


def test_chi_squared() -> None:
    comparison = Comparison()
    for value, label, times in [(1, 1, 30), (1, 0, 10), (2, 1, 20), (2, 0, 20), (3, 0, 5)]:
        comparison.of(label)[value] += times
    assert comparison.chi_squared == pytest.approx(20**2 / 40 + 0 + 5**2 / 5)
    assert comparison.degrees_of_freedom == 2
    assert comparison.means == pytest.approx((70 / 50, 65 / 35))


def test_figures_of_an_absent_class_are_not_invented() -> None:
    described = as_json(file_statistics([pair("p & q", "q", 1), pair("p", "p", 1)]))
    length = described["features"]["length"]["A"]
    assert (length["positive_mean"], length["negative_mean"]) == (2, None)
    assert length["chi_squared"] is None
    assert described["truth_table_sampling"][0]["refuted"] is None
    both = as_json(file_statistics([pair("p", "p", 1), pair("p", "q", 0)]))["features"]
    assert both["length"]["A"]["chi_squared"] is None  # there is only one length
    assert both["new variables"]["B"]["chi_squared"] == 2


def test_table_1() -> None:
    line = split_statistics([pair("p & q", "q", 1), pair("p", "~(q | r)", 0)])
    assert line == (2, 2.5, (1 + 0 + 0 + 2) / 4, (3 + 1 + 1 + 4) / 4, (4 + 8) / 2)


def test_sampling_refutes_with_the_chance_it_should() -> None:
    rows = [pair("p & q & r & s & t", "u", 0)] * 2000
    refuted_by_count = {count: refuted for count, refuted, _ in file_statistics(rows).sampling()}
    for count, refuted in refuted_by_count.items():
        assert refuted == pytest.approx(1 - (1 - 1 / 64) ** count, abs=0.035)
    mixed = file_statistics([*rows, *[pair("p", "p", 1)] * 2000])
    assert [accuracy for *_, accuracy in mixed.sampling()] == pytest.approx(
        [(1 + refuted) / 2 for refuted in refuted_by_count.values()]
    )


def test_four_tuples_show_exactly_zero_and_naive_data_the_papers_biases(tmp_path: Path) -> None:
    for method in ("fourtuples", "naive"):
        generate_folder(tmp_path / method, free_splits(2000, (1, 10), (1, 10), method), seed=0)
    fair = file_statistics(read_pairs(tmp_path / "fourtuples" / "train.txt"))
    for name, sides in fair.features.items():
        for comparison in sides.values():
            if name != "new variables":
                assert comparison.chi_squared == 0.0
                assert comparison.means[0] == comparison.means[1]
    assert fair.features["new variables"]["B"].chi_squared > 0
    naive = file_statistics(read_pairs(tmp_path / "naive" / "train.txt"))
    positive, negative = naive.features["num_at(0,&)"]["A"].means
    assert positive > negative + 0.1
    positive, negative = naive.features["num_at(0,&)"]["B"].means
    assert positive < negative - 0.1
    positive, negative = naive.features["#sat"]["A"].means
    assert positive < negative / 1.5
    positive, negative = naive.features["new variables"]["B"].means
    assert positive < negative - 0.3
    json.dumps(as_json(naive))
    # Of all features, tests/test_cli.py draws a plot; these have many values, and one side.
    naive.features = {name: naive.features[name] for name in ("#sat", "new variables")}
    plot_distributions(naive, tmp_path / "naive.png")
    assert (tmp_path / "naive.png").read_bytes().startswith(b"\x89PNG")


def test_the_estimate_on_the_published_hard_set_is_near_the_papers(official: Path) -> None:
    described = file_statistics(read_pairs(official / "test_hard.txt"))
    for count, refuted, _ in described.sampling():
        assert refuted == pytest.approx(SAMPLING_ON_HARD[count], abs=0.06)


def test_table_1_of_the_published_sets(official: Path) -> None:
    lines = {f.stem: split_statistics(read_pairs(f)) for f in data_files([official])}
    assert lines["validate"].variables == pytest.approx(5.18, abs=0.005)
    assert lines["test_easy"].table_rows == pytest.approx(81.0, abs=0.05)
    assert lines["test_hard"].operators == pytest.approx(17.5, abs=0.05)
    assert lines["validate"].length == pytest.approx(13.0, abs=0.1)
