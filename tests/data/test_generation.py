from itertools import islice
from pathlib import Path

import pytest

import possibleworlds as pw
from possibleworlds.data.files import read
from possibleworlds.data.keys import pair_keys, row_keys
from possibleworlds.data.splits import PRESETS, free_splits, generate_folder, paper_layout
from possibleworlds.errors import UserError


@pytest.mark.parametrize("method", ["fourtuples", "naive", "mutated", "sat"])
def test_pairs_in_memory_are_those_of_the_training_file(method: str, tmp_path: Path) -> None:
    operators = None if method == "sat" else (3, 6)
    splits = free_splits(80, (4, 5), operators, method)
    generate_folder(tmp_path, splits, seed=5)
    for workers in (1, 2):
        pairs = pw.generate(80, (4, 5), operators, method, seed=5, workers=workers)  # type: ignore[arg-type]
        assert pairs == read(tmp_path / "train.txt")


def test_labels_are_true_and_pairs_differ() -> None:
    pairs = pw.generate(rows=400, variables=(1, 4), operators=(1, 6), seed=1)
    assert 2 * sum(pair.label for pair in pairs) == 400
    assert all(pw.entails(p.premise, p.conclusion, "minisat22") == p.label for p in pairs)
    assert len(set(pair_keys((pair.a, pair.b) for pair in pairs))) == 400
    assert pairs.rows_together == 4


def test_a_stream_goes_on_and_is_the_same_again() -> None:
    first = list(islice(pw.stream(variables=(2, 3), operators=(1, 3), seed=2), 30_000))
    assert len(first) == 30_000
    assert first[:5000] == list(islice(pw.stream((2, 3), (1, 3), seed=2), 5000))
    assert first[:5000] != list(islice(pw.stream((2, 3), (1, 3), seed=3), 5000))
    assert all(pw.entails(p.premise, p.conclusion) == p.label for p in first[::997])


def test_the_papers_splits_in_memory_are_those_of_the_folder(tmp_path: Path) -> None:
    sizes = {s.name: s.rows for s in PRESETS["paper"]}
    layout = paper_layout(500, 24, 24, 24, 24, 12)
    splits = pw.paper_splits(seed=3, scale=0.005)
    assert list(splits) == list(sizes)
    assert splits.keys() == {split.name for split in layout}
    generate_folder(tmp_path, layout, seed=3)
    for split in layout:
        assert splits[split.name] == read(tmp_path / split.file), split.name


def test_exact_variables_are_shown_by_every_pair() -> None:
    pairs = pw.generate(200, variables=(3, 5), operators=(2, 8), seed=0, exact_variables=True)
    assert set(pairs.variables.tolist()) <= {3, 4, 5}
    loose = pw.generate(200, variables=(3, 5), operators=(2, 8), seed=0)
    assert min(loose.variables) < 3


def test_no_formula_of_training_is_in_another_split() -> None:
    splits = pw.paper_splits(seed=1, scale=0.004)
    train = row_keys((pair.a, pair.b) for pair in splits.pop("train"))
    premises, conclusions = {row.premise for row in train}, {row.conclusion for row in train}
    del splits["test_exam"]
    for name, pairs in splits.items():
        for row in row_keys((pair.a, pair.b) for pair in pairs):
            assert row.premise not in premises, name
            assert row.conclusion not in conclusions, name


def test_a_single_number_is_a_range() -> None:
    assert list(pw.generate(8, variables=5, operators=4)) == list(
        pw.generate(8, variables=(5, 5), operators=(4, 4))
    )


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(UserError, match="variables 0-3"):
        pw.generate(rows=4, variables=(0, 3))
    with pytest.raises(UserError, match=r"variables must be a number, or the fewest .* not '5'"):
        pw.generate(rows=4, variables="5")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="operators 3-1"):
        pw.stream(operators=(3, 1))
    with pytest.raises(UserError, match="'magic' is not a method"):
        pw.generate(rows=4, method="magic")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="5 rows"):
        pw.generate(rows=5)
    with pytest.raises(UserError, match="at most 1,000,000,000"):
        pw.generate(rows=10**15)
    for clauses in (1.5, "x", True, -1, 1001):
        with pytest.raises(UserError, match="clauses must be"):
            pw.generate(rows=8, method="sat", clauses=clauses)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="clauses must be"):
            pw.stream(method="sat", clauses=clauses)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="exact_variables must be true or false, not 'no'"):
        pw.generate(rows=8, exact_variables="no")  # type: ignore[arg-type]
    for scale in (0, 1e300):
        with pytest.raises(UserError, match=r"scale .*: must be positive"):
            pw.paper_splits(scale=scale)
