import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.errors import UserError
from possibleworlds.logic import Formula, FormulaError, parse, to_text
from possibleworlds.logic.syntax import MEANING, Notation, parse_sequent
from tests.conftest import formulas

STYLES: tuple[Notation, ...] = ("published", "ascii", "unicode", "latex")
DEEP = 40_000


@given(formulas(), st.sampled_from(STYLES))
def test_reading_what_was_printed_gives_the_same_formula(formula: Formula, style: Notation) -> None:
    assert parse(to_text(formula, style)) == formula


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("~((p&q))", "~((p&q))"),
        ("p & ~q -> r", "((p&~(q))>r)"),
        ("!p && q || r => s", "(((~(p)&q)|r)>s)"),
        ("¬p ∧ q ∨ r → s", "(((~(p)&q)|r)>s)"),
        (r"\neg p \wedge q \vee r \rightarrow s", "(((~(p)&q)|r)>s)"),
        (r"\left(p \to q\right) \land \lnot [p]", "((p>q)&~(p))"),
        (r"$p \to q$", "(p>q)"),
        (r"\(p \to (q)\)", "(p>q)"),
        (r" $$ p \to q $$ ", "(p>q)"),
        (r"\[p \to [q]\]", "(p>q)"),
        ("p -> q -> r", "(p>(q>r))"),
        ("p & q & r", "((p&q)&r)"),
        ("p | q & r", "(p|(q&r))"),
        ("p <-> q -> r", "(p<->(q>r))"),
        ("⊤ → ⊥", "(1>0)"),
        ("true | false", "(1|0)"),
        ("not p and q or r implies s iff android", "((((~(p)&q)|r)>s)<->android)"),
        ("rain & wet_2'", "(rain&wet_2')"),
        (r"\mathit{rain\_1}' \wedge p", "(rain_1'&p)"),
        (r"\text{rain} \land \mathrm{wet_2}", "(rain&wet_2)"),
        (r"p_{1} \to x_{10}'", "(p_1>x_10')"),
        ("p ^ q", "~((p<->q))"),
        ("p xor q ⊕ r", "~((~((p<->q))<->r))"),
        ("p | q ^ r & s", "(p|~((q<->(r&s))))"),
        ("p <- q", "(q>p)"),
        ("p <- q & r <- ~s", "(~(s)>((q&r)>p))"),
        ("(p <- q) ^ (r <- s)", "~(((q>p)<->(s>r)))"),
        ("NOT p AND q OR r IMPLIES TRUE XOR FALSE IFF s", "((((~(p)&q)|r)>~((1<->0)))<->s)"),
        ("Not p And q Or r Implies True Xor False Iff s", "((((~(p)&q)|r)>~((1<->0)))<->s)"),
    ],
)
def test_every_way_of_writing_is_read(text: str, published: str) -> None:
    assert to_text(parse(text), "published") == published


def test_printing_leaves_out_brackets_that_are_not_needed() -> None:
    formula = parse("(((p -> q) -> r) & (~(s) | (p & (q & r))))")
    assert to_text(formula, "ascii") == "((p -> q) -> r) & (~s | p & (q & r))"
    assert to_text(formula) == "((p → q) → r) ∧ (¬s ∨ p ∧ (q ∧ r))"
    assert to_text(parse("rain -> p"), "latex") == r"\mathit{rain} \rightarrow p"


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("p & ) q", "expected a formula before ')'", 4),
        ("p q", "expected an operator before 'q'", 2),
        ("(p | q", "this bracket is never closed", 0),
        ("p)", "this bracket was never opened", 1),
        ("[p)", "this bracket does not close '['", 2),
        ("(p] & [q)", "this bracket does not close '('", 2),
        ("", "an empty formula", 0),
        ("p &", "the formula ends too early", 3),
        ("p $ q", "expected an operator before 'q'", 4),
        ("p # q", "cannot read '#'", 2),
        (r"p \foo q", r"cannot read '\\foo'", 2),
        ("p ~ q", "expected an operator before '~'", 2),
        ("p & 2x", "cannot read '2x'", 4),
        ("p |= q", "premises and conclusion, not one formula", 3),
        ("p ⊨ q", "premises and conclusion, not one formula", 2),
        ("p = q", "cannot read '='", 2),
    ],
)
def test_a_malformed_formula_is_shown_with_a_caret(text: str, problem: str, place: int) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    message, shown, caret = str(caught.value).split("\n")
    assert message == problem
    assert shown == f"  {text}"
    assert caret == " " * (2 + place) + "^"


def test_the_caret_stays_under_its_place_in_a_long_formula() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("x" * 500 + " & & " + "y" * 500)
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 80
    assert shown[len(caret) - 1] == "&"


@given(st.text(max_size=40) | st.text("pq()~&|>-<=!\\ negto{}[]_'10", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parsed = parse(text)
    except UserError:
        return
    assert parse(to_text(parsed)) == parsed


@given(formulas(), formulas())
def test_the_operators_that_are_only_read_mean_what_they_say(a: Formula, b: Formula) -> None:
    assert parse(f"({a}) ^ ({b})") == ~a.iff(b)
    assert parse(f"({a}) <- ({b})") == b >> a


@given(st.lists(formulas(), max_size=3), formulas(), st.sampled_from(STYLES))
def test_premises_and_conclusion_are_read_as_they_are_printed(
    premises: list[Formula], conclusion: Formula, style: Notation
) -> None:
    left = ", ".join(to_text(premise, style) for premise in premises)
    for sign in ("|=", "|/=", "⊨", "⊭", "⊢", "|-", r"\models", r"\not\models", r"\nvDash"):
        text = f"{left} {sign} {to_text(conclusion, style)}"
        assert parse_sequent(text) == (premises, conclusion)


@pytest.mark.parametrize("text", ["p, q", "p |= q |= r", "p, |= q", "|=", "p |= "])
def test_a_malformed_sequent_is_an_error(text: str) -> None:
    with pytest.raises(UserError):
        parse_sequent(text)


DEEP_TEXTS = {
    "converses": "p" + " <- p" * DEEP,
    "negations": "~" * DEEP + "p",
    "conjunction to the left": " & ".join(f"x{i}" for i in range(DEEP)),
    "conjunction to the right": "".join(f"(x{i} & " for i in range(DEEP)) + "y" + ")" * DEEP,
}


@pytest.mark.parametrize("text", DEEP_TEXTS.values(), ids=DEEP_TEXTS.keys())
def test_depth_is_no_limit(text: str) -> None:
    formula = parse(text)
    for style in STYLES:
        assert parse(to_text(formula, style)) == formula
    assert formula.evaluate(dict.fromkeys(formula.variables, True))
    assert formula.basic() == formula
    assert hash(formula) == hash(parse(text))


def test_a_long_chain_of_exclusive_ors_is_read() -> None:
    formula = parse("p" + " ^ p" * DEEP)
    assert formula.length == 1 + 3 * DEEP
    assert parse(to_text(formula)) == formula


def test_deep_equivalences_below_negations_are_rewritten() -> None:
    assert parse("~" * DEEP + "(p <-> q)").basic().length == DEEP + 7
    long = parse(" & ".join(["p"] * 700_000))
    assert long.basic() == long


def test_megabytes_are_read_in_linear_time() -> None:
    def seconds(copies: int) -> float:
        text = " & ".join(["(p | ~q -> r)"] * copies)
        start = time.process_time()
        parse(text)
        return time.process_time() - start

    seconds(1000)
    short, long = seconds(20_000), seconds(160_000)
    assert long < 8 * short * 4


def test_an_error_shows_little_and_nothing_that_moves_the_cursor() -> None:
    for text in ("p" * 9000 + " q", "9" * 9000, "\\" + "x" * 9000, "p \x1b[31m\u202e\0\udcff q"):
        with pytest.raises(FormulaError) as caught:
            parse(text)
        lines = str(caught.value).split("\n")
        assert len(lines) == 3
        assert all(line.isprintable() and len(line) < 100 for line in lines)


@pytest.mark.parametrize("name", ["1", "0", "1a", "true", "not", "\\_"])
def test_a_long_latex_name_is_the_name_of_a_variable(name: str) -> None:
    if name == "\\_":
        assert parse(r"\mathit{\_}").variables == ("_",)
        return
    with pytest.raises(FormulaError, match="not the name of a variable") as caught:
        parse(rf"p \wedge \mathit{{{name}}}")
    assert caught.value.place == 9


def test_every_spelling_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formulas.md").read_text(encoding="utf-8")
    listed = " ".join(re.findall("`(.+?)`", page)).replace("\\|", "|").split()
    assert {s.lower() if s.isalpha() else s for s in MEANING} <= set(listed)


def test_texts_are_written_too_and_other_things_refused() -> None:
    assert to_text("p <-> q", "latex") == r"p \leftrightarrow q"
    with pytest.raises(UserError, match="no style called 'html'; there are unicode, ascii"):
        to_text("p", "html")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unsupported operand"):
        parse("p") & "q"  # type: ignore[operator]
