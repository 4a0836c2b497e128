from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from possibleworlds.data.cnf import cnf_four_tuple
from possibleworlds.data.counting import count_along_tree
from possibleworlds.data.exam import ENTAILMENTS, exam_pairs
from possibleworlds.data.fourtuples import four_tuples
from possibleworlds.data.generation import FREE, ROWS_TOGETHER, free_split, generate
from possibleworlds.data.groups import sample_groups, satisfiable, tilted
from possibleworlds.data.keys import pair_key
from possibleworlds.data.mutate import exchanges, mutated_pairs
from possibleworlds.data.naive import naive_pairs
from possibleworlds.data.statistics import NEW_VARIABLES, file_statistics
from possibleworlds.errors import UserError
from possibleworlds.logic import Formula, count_models, entails, parse
from possibleworlds.paper import TABLE_1
from tests.conftest import DATA_FORMULAS

Bounds = tuple[int, int]


def truth(a: str, b: str) -> int:
    return int(entails(Formula(tuple(a)), Formula(tuple(b)), "minisat22"))


@settings(max_examples=10)
@given(st.integers(0, 1000), st.sampled_from([((1, 10), (1, 10)), ((12, 20), (10, 30))]))
def test_four_tuples_are_what_the_paper_says(seed: int, bounds: tuple[Bounds, Bounds]) -> None:
    groups = sample_groups(np.random.default_rng(seed), 3, *bounds)
    for group in groups:
        units = four_tuples(group)
        for (a1, b1, one), (a2, b2, two), (a3, b3, three), (a4, b4, four) in units:
            assert (a3, b3, a4, b4) == (a1, b2, a2, b1)
            assert (one, two, three, four) == (1, 1, 0, 0)
            labels = [truth(a1, b1), truth(a2, b2), truth(a3, b3), truth(a4, b4)]
            assert labels == [1, 1, 0, 0]
            low, high = bounds[1]
            assert all(low <= Formula(tuple(f)).operators <= high for f in (a1, b1, a2, b2))


def test_four_tuples_have_the_papers_means() -> None:
    groups = sample_groups(np.random.default_rng(0), 300, (1, 10), (1, 10))
    rows = [row for group in groups for unit in four_tuples(group) for row in unit]
    operators = np.mean([sum(map((a + b).count, "~&|>")) / 2 for a, b, _ in rows])
    variables = np.mean([len(set(a + b) - set("~&|>")) for a, b, _ in rows])
    assert operators == pytest.approx(TABLE_1["train"][2], rel=0.03)
    assert variables == pytest.approx(TABLE_1["train"][1], rel=0.03)


def test_a_tilt_prefers_one_end_of_the_bounds() -> None:
    uniform = (np.arange(10_000) + 0.5) / 10_000
    counts = Counter(tilted(uniform, (3, 7), 0.2).tolist())
    assert counts == {3: 1600, 4: 1800, 5: 2000, 6: 2200, 7: 2400}
    assert set(tilted(uniform, (4, 4), 0.2).tolist()) == {4}
    groups = sample_groups(np.random.default_rng(0), 40, (1, 2), (1, 2), tilt=0.5)
    assert Counter(len(group.names) for group in groups) == {1: 10, 2: 30}
    operators = Counter(Formula(tuple(f)).operators for g in groups for f in g.formulas)
    assert operators[1] / operators.total() == pytest.approx(0.75, abs=0.01)
    groups = sample_groups(np.random.default_rng(0), 40, (1, 2), (1, 2), 0.5, operator_tilt=0)
    assert Counter(len(group.names) for group in groups) == {1: 10, 2: 30}
    operators = Counter(Formula(tuple(f)).operators for g in groups for f in g.formulas)
    assert operators[1] / operators.total() == pytest.approx(0.5, abs=0.01)


def test_naive_pairs_alternate_and_are_labelled_truly() -> None:
    groups = sample_groups(np.random.default_rng(0), 4, (1, 10), (1, 10))
    units = naive_pairs(groups)
    assert len(units) > 20
    for unit in units:
        assert [label for *_, label in unit] == [1, 0]
        assert [truth(a, b) for a, b, _ in unit] == [1, 0]


@pytest.mark.parametrize("bounds", [((20, 26), (20, 30)), ((1, 5), (3, 8))])
def test_mutated_pairs_have_the_same_symbols(bounds: tuple[Bounds, Bounds]) -> None:
    rng = np.random.default_rng(0)
    units = [u for group in sample_groups(rng, 3, *bounds) for u in mutated_pairs(group, rng)]
    assert len(units) > 5
    for (a, b, one), (a_again, mutant, zero) in units:
        assert (one, zero, a) == (1, 0, a_again)
        assert Counter(b) == Counter(mutant)
        assert b != mutant
        assert count_models(Formula(tuple(b))) == count_models(Formula(tuple(mutant)))
        assert not entails(Formula(tuple(a)), "⊥", "minisat22")
        assert not entails("⊤", Formula(tuple(b)), "minisat22")
        assert [truth(a, b), truth(a, mutant)] == [1, 0]


@given(DATA_FORMULAS)
def test_models_are_counted_along_the_tree_as_in_the_truth_table(rpn: str) -> None:
    assert count_along_tree(rpn) == count_models(Formula(tuple(rpn)))


def test_models_of_26_variables_are_counted_along_the_tree() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert count_along_tree("a" + "".join(f"{x}&" for x in letters[1:])) == 1
    assert count_along_tree("a" + "".join(f"{x}|" for x in letters[1:])) == 2**26 - 1
    # (a → b) ∧ (b → c) ∧ ... ∧ (y → z): once a variable is true, so are those after it.
    steps = [f"{x}{y}>" for x, y in pairwise(letters)]
    assert count_along_tree(steps[0] + "".join(f"{step}&" for step in steps[1:])) == 27


def test_a_short_search_leaves_fewer_variables_in_mutated_conclusions() -> None:
    def variables(search_rows: int) -> list[int]:
        rng = np.random.default_rng(0)
        groups = sample_groups(rng, 4, (20, 26), (20, 30))
        units = [u for g in groups for u in mutated_pairs(g, rng, search_rows)]
        return [len(set(b) - set("~&|>")) for (_, b, _), _ in units]

    assert max(variables(1 << 13)) <= 13 < max(variables(0))


@given(DATA_FORMULAS)
def test_exchanges_are_other_formulas_of_the_same_symbols(rpn: str) -> None:
    for other in exchanges(np.random.default_rng(0), rpn):
        Formula(tuple(other))
        assert Counter(other) == Counter(rpn)
        assert len(other) == len(rpn)


def test_every_exchange_is_found() -> None:
    others = set(exchanges(np.random.default_rng(0), "pq&r>"))
    assert others == {"qp&r>", "rpq&>", "rq&p>", "pr&q>"}


def test_the_exam_holds_classics_by_name_and_is_sound() -> None:
    names = [name for name, _, _ in ENTAILMENTS]
    assert len(names) == len(set(names)) >= 60
    for classic in (
        "modus ponens",
        "Peirce",
        "De Morgan",
        "exportation",
        "explosion",
        "absorption",
    ):
        assert any(classic in name for name in names)
    assert all(entails(a, b, "minisat22") for _, a, b in ENTAILMENTS)
    keys = {pair_key("".join(parse(a).rpn), "".join(parse(b).rpn)) for _, a, b in ENTAILMENTS}
    assert len(keys) == len(names)


def test_exam_rows_are_balanced_true_and_different() -> None:
    units = exam_pairs()
    rows = [row for unit in units for row in unit]
    assert len(units) == len(ENTAILMENTS)
    assert len(rows) >= 100
    assert all(truth(a, b) == label for a, b, label in rows)
    assert [label for *_, label in rows] == [1, 0] * len(units)
    assert len({pair_key(a, b) for a, b, _ in rows}) == len(rows)


def test_no_side_of_the_exam_gives_its_label_away() -> None:
    rows = [row for unit in exam_pairs() for row in unit]
    assert all(satisfiable((row.a, True)) and satisfiable((row.b, False)) for row in rows)
    features = file_statistics(rows).features
    new_variables = features.pop(NEW_VARIABLES)["B"]
    assert new_variables.chi_squared < 6  # chance alone would give 2: there are three values
    assert all(sides["A"].chi_squared == 0 for sides in features.values())
    assert all(sides["B"].chi_squared < 0.5 for sides in features.values())


def test_cnf_four_tuples_are_labelled_truly_and_have_premises_at_the_threshold() -> None:
    rng = np.random.default_rng(0)
    units = [unit for _ in range(5) if (unit := cnf_four_tuple(rng, 12, 55))]
    assert units
    for unit in units:
        assert [pair.label for pair in unit] == [True, True, False, False]
        assert [truth(pair.a, pair.b) for pair in unit] == [1, 1, 0, 0]
        (a1, b1, _), (a2, b2, _), third, fourth = unit
        assert (third[:2], fourth[:2]) == ((a1, b2), (a2, b1))
        assert all(a.count("&") == 54 and a.count("|") == 110 for a in (a1, a2))
        assert all(Formula(tuple(b.replace("~", ""))).operators == 1 for b in (b1, b2))


def test_python_knows_the_methods_of_the_command_line() -> None:
    for method, kind in FREE.items():
        together = ROWS_TOGETHER[kind.method]
        if method != "giant":  # slow
            pairs = generate(rows=together, method=method, seed=3)  # type: ignore[arg-type]
            assert len(pairs) == together
        split = free_split("any", together, method=method)  # type: ignore[arg-type]
        assert (split.variables, split.operators) == (kind.variables, kind.operators)
    with pytest.raises(UserError, match="'exam' is not a method"):
        generate(rows=4, method="exam")  # type: ignore[arg-type]
