from itertools import product
from random import Random

import pytest
from hypothesis import given, settings

import possibleworlds as pw
from possibleworlds.errors import UserError
from possibleworlds.logic import Formula, entailment
from possibleworlds.logic.sat import find_model
from possibleworlds.logic.truth import COUNTED_VARIABLES, evaluate_bits, random_columns, table_bits
from tests.conftest import formulas


def truth_by_recursion(formula: Formula, assignment: dict[str, bool]) -> bool:
    values = [truth_by_recursion(child, assignment) for child in formula.children]
    match formula.root:
        case "~":
            return not values[0]
        case "&":
            return values[0] and values[1]
        case "|":
            return values[0] or values[1]
        case ">":
            return not values[0] or values[1]
        case "=":
            return values[0] == values[1]
        case "1" | "0":
            return formula.root == "1"
    return assignment[formula.root]


@given(formulas())
def test_truth_tables_agree_with_plain_recursion(formula: Formula) -> None:
    table = table_bits(formula)
    names = formula.variables
    for row in range(1 << len(names)):
        assignment = {name: bool(row >> j & 1) for j, name in enumerate(names)}
        expected = truth_by_recursion(formula, assignment)
        assert bool(table >> row & 1) == expected
        assert formula.evaluate(assignment) == expected
    assert pw.count_models(formula) == table.bit_count()


@given(formulas(), formulas())
def test_table_sampling_and_solvers_agree(a: Formula, b: Formula) -> None:
    expected = all(
        not truth_by_recursion(a, w) or truth_by_recursion(b, w)
        for w in (
            dict(zip(names, values, strict=True))
            for names in [sorted({*a.variables, *b.variables})]
            for values in product((False, True), repeat=len(names))
        )
    )
    for solver in (None, "minisat22", "glucose4"):
        model = pw.countermodel(a, b, solver)
        assert (model is None) == expected
        if model is not None:
            assert a.evaluate(model)
            assert not b.evaluate(model)
            assert set(model) == {*a.variables, *b.variables}


@given(formulas(), formulas())
def test_beyond_truth_tables_refutation_and_solver_agree_with_them(a: Formula, b: Formula) -> None:
    with pytest.MonkeyPatch.context() as patch:
        expected = pw.entails(a, b)
        patch.setattr(entailment, "MAX_TABLE_VARIABLES", -1)
        patch.setattr(entailment, "RANDOM_ROWS", 2)
        assert pw.entails(a, b) == expected


@given(formulas())
def test_models_and_equivalence(formula: Formula) -> None:
    model = find_model([(formula, True)])
    assert (model is None) == (pw.count_models(formula) == 0)
    assert pw.equivalent(formula, ~~formula)
    assert not pw.equivalent(formula, ~formula)


@given(formulas())
def test_sampled_rows_are_rows_of_the_table(formula: Formula) -> None:
    names = formula.variables
    columns = random_columns(Random(1), names, 16)
    sampled = evaluate_bits(formula.rpn, columns, (1 << 16) - 1)
    table = table_bits(formula)
    for i in range(16):
        row = sum((columns[name] >> i & 1) << j for j, name in enumerate(names))
        assert sampled >> i & 1 == table >> row & 1


def test_text_is_taken_everywhere() -> None:
    assert pw.entails("p & q", "q")
    assert pw.countermodel("p | q", "q") == {"p": True, "q": False}
    assert pw.count_models("p | q") == 3
    assert pw.equivalent("p -> q", "~p | q")
    assert pw.parse("p <-> ⊤").evaluate({"p": True})


def test_many_variables_are_no_limit_for_entailment() -> None:
    chain = " & ".join(f"(x{i} -> x{i + 1})" for i in range(300))
    assert pw.entails(f"x0 & {chain}", "x300")
    model = pw.countermodel(f"x300 & {chain}", "x0")
    assert model is not None
    assert pw.parse(f"x300 & {chain}").evaluate(model)
    assert not model["x0"]


@settings(max_examples=10)
@given(formulas())
def test_counting_in_blocks_gives_the_whole(formula: Formula) -> None:
    with pytest.MonkeyPatch.context() as patch:
        expected = pw.count_models(formula)
        patch.setattr("possibleworlds.logic.truth.TABLE_VARIABLES", 2)
        assert pw.count_models(formula) == expected


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(UserError, match="no solver called 'nonsense'"):
        pw.entails("p", "q", solver="nonsense")
    with pytest.raises(UserError, match="too long"):
        pw.count_models(" | ".join(f"x{i}" for i in range(COUNTED_VARIABLES + 1)))
    with pytest.raises(UserError, match="'q'"):
        pw.parse("p & q").evaluate({"p": True})


def test_deep_formulas_are_decided() -> None:
    deep = "~" * 100_000 + "p"
    assert pw.entails(deep, "p")
    wide = " & ".join(f"x{i}" for i in range(100_000))
    assert pw.entails(wide, "x77")
    assert not pw.entails("x77", wide)


def test_several_premises() -> None:
    assert pw.entails(["p", "p -> q"], "q")
    assert pw.entails(("p", pw.parse("p -> q")), pw.parse("q"))
    assert pw.entails("p, p -> q", "q")
    assert pw.entails("p, p -> q |= q")
    assert pw.entails([], "p | ~p")
    assert pw.entails("|= p | ~p")
    assert pw.countermodel(["p | q", "p -> r"], "r") == {"p": False, "q": True, "r": False}
    assert pw.countermodel([], "p") == {"p": False}
    with pytest.raises(UserError, match="no conclusion"):
        pw.entails(["p", "q"])
    with pytest.raises(UserError, match="written like"):
        pw.entails("p")
