"""Truth tables to read: their rows, their marks, and what they look like."""

import pytest
from hypothesis import given

import possibleworlds as pw
from possibleworlds.logic.truth import evaluate_bits
from tests.conftest import formulas


@given(formulas(), formulas())
def test_rows_and_countermodels_are_those_of_the_formulas(a: pw.Formula, b: pw.Formula) -> None:
    if len({*a.variables, *b.variables}) > 6:
        return
    table = pw.truth_table(a, b)
    names = [name for name in table[0] if name in {*a.variables, *b.variables}]
    assert len(table) == 2 ** len(names)
    values = [tuple(row[name] for name in names) for row in table]
    assert values == sorted(values, reverse=True)  # all true first, the last changes fastest
    for row in table:
        assert row[str(a)] == evaluate_bits(a.rpn, row, 1)
        assert row[str(b)] == evaluate_bits(b.rpn, row, 1)
    assert bool(table.countermodels) == (not pw.entails(a, b))


def test_a_table_is_shown_as_text_and_in_notebooks() -> None:
    argument = pw.truth_table(["rain -> wet", "wet"], "rain")
    assert repr(argument).splitlines() == [
        "rain  wet  rain → wet",
        " T     T       T       ✓",
        " T     F       F",
        " F     T       T       ✗",
        " F     F       T",
    ]
    assert argument.countermodels == [{"rain": False, "wet": True, "rain → wet": True}]
    assert "<th>rain → wet</th>" in argument._repr_html_()
    assert pw.truth_table("p, ~p").countermodels == []  # no conclusion
    assert repr(pw.truth_table("true")) == "⊤\nT"
    long = repr(pw.truth_table(" & ".join("abcdefgh")))
    assert long.endswith("\n... and 192 more rows")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "no formula"),
        ((3,), "premises are formulas or texts"),
        (("p &",), "ends too early"),
        ((" & ".join("abcdefghijklmnopq"),), "17 variables has too many rows"),
    ],
)
def test_tables_that_are_none(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(pw.UserError, match=message):
        pw.truth_table(*arguments)
