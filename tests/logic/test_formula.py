import pickle
from itertools import product

import pytest
from hypothesis import given

from possibleworlds.errors import UserError
from possibleworlds.logic import Formula, parse
from possibleworlds.logic.alphabet import ARITY
from possibleworlds.logic.formula import levels
from tests.conftest import formulas


def test_a_formula_is_its_reverse_polish_notation() -> None:
    p, q = Formula.variable("p"), Formula.variable("q")
    formula = (p & ~q) >> p.iff(q)
    assert formula.rpn == ("p", "q", "~", "&", "p", "q", "=", ">")
    assert formula.root == ">"
    assert formula.children == (p & ~q, p.iff(q))
    assert formula.variables == ("p", "q")
    assert (formula.operators, formula.length) == (4, 8)
    assert [str(f) for f in (p | ~q).subformulas()] == ["p", "q", "¬q", "p ∨ ¬q"]
    assert (p & q).rename({"p": "q", "q": "r"}) == parse("q & r")


@pytest.mark.parametrize(
    "rpn",
    [(), ("&",), ("p", "q"), ("p", "&"), ("p", "~", "&"), ("1x",), ("true",), ("and",), ("p q",)],
)
def test_what_is_not_a_formula_is_refused(rpn: tuple[str, ...]) -> None:
    with pytest.raises(UserError):
        Formula(rpn)


def test_formulas_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        parse("p").rpn = ("q",)  # type: ignore[misc]


@given(formulas())
def test_children_make_up_the_formula(formula: Formula) -> None:
    rebuilt = (*(s for child in formula.children for s in child.rpn), formula.root)
    assert rebuilt == formula.rpn
    assert len(list(formula.subformulas())) == formula.length
    assert pickle.loads(pickle.dumps(formula)) == formula


@given(formulas())
def test_levels_are_distances_from_the_root(formula: Formula) -> None:
    expected: list[int] = []

    def walk(f: Formula, level: int) -> None:
        for child in f.children:
            walk(child, level + 1)
        expected.append(level)

    walk(formula, 0)
    assert levels(formula.rpn) == expected


@given(formulas())
def test_basic_form_has_four_operators_and_the_same_meaning(formula: Formula) -> None:
    basic = formula.basic()
    assert not {"=", "1", "0"} & set(basic.rpn)
    names = sorted({*formula.variables, *basic.variables})
    for values in product((False, True), repeat=len(names)):
        assignment = dict(zip(names, values, strict=True))
        assert formula.evaluate(assignment) == basic.evaluate(assignment)


def test_too_many_nested_equivalences_are_refused_not_attempted() -> None:
    with pytest.raises(UserError, match="↔"):
        parse("<->".join("p" for _ in range(100))).basic()


def test_arity_covers_the_operators() -> None:
    assert ARITY == {"~": 1, "&": 2, "|": 2, ">": 2, "=": 2}


def test_what_is_no_formula() -> None:
    p = Formula.variable("p")
    for call in (
        lambda: Formula(["p", "q", "&"]),  # type: ignore[arg-type]
        lambda: Formula("pq&"),  # type: ignore[arg-type]
        lambda: Formula.variable("1"),
        lambda: p.rename({"p": "0"}),
        lambda: p.rename({"p": "q", "1": "p"}),
        lambda: p.rename({"&": "q"}),
        lambda: p.evaluate({"p": False, "0": True}),
        lambda: p.evaluate({"p": False, "~": True}),
        lambda: p.iff("q"),  # type: ignore[arg-type]
        lambda: p.evaluate({"p": "false"}),  # type: ignore[dict-item]
        lambda: p.evaluate({"p": 2}),  # type: ignore[dict-item]
    ):
        with pytest.raises(UserError):
            call()
