from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.logic import Formula, alpha_equivalent
from possibleworlds.logic.alpha import de_bruijn, pair_key
from tests.conftest import DATA_FORMULAS

RENAMINGS = st.permutations("pqrst").map(lambda to: dict(zip("pqrst", to, strict=True)))


def renamed(rpn: str, names: dict[str, str]) -> str:
    return "".join(names.get(symbol, symbol) for symbol in rpn)


@given(DATA_FORMULAS, DATA_FORMULAS, RENAMINGS)
def test_renaming_keeps_the_de_bruijn_form(a: str, b: str, names: dict[str, str]) -> None:
    a2, b2 = renamed(a, names), renamed(b, names)
    assert de_bruijn(a, b) == de_bruijn(a2, b2)
    assert pair_key(a, b) == pair_key(a2, b2)
    left, right = [Formula(tuple(a)), Formula(tuple(b))], [Formula(tuple(a2)), Formula(tuple(b2))]
    assert alpha_equivalent(left, right)


@given(DATA_FORMULAS, DATA_FORMULAS, DATA_FORMULAS, DATA_FORMULAS)
def test_equal_forms_mean_equal_up_to_renaming(a: str, b: str, c: str, d: str) -> None:
    left, right = [Formula(tuple(a)), Formula(tuple(b))], [Formula(tuple(c)), Formula(tuple(d))]
    assert (de_bruijn(a, b) == de_bruijn(c, d)) == alpha_equivalent(left, right)
    assert (pair_key(a, b) == pair_key(c, d)) == alpha_equivalent(left, right)


def test_the_papers_example_and_near_misses() -> None:
    assert de_bruijn("p", "q~p&") == de_bruijn("r", "s~r&")
    assert de_bruijn("p", "q~p&") != de_bruijn("p", "p~q&")
    assert de_bruijn("pq&", "p") != de_bruijn("pq&", "q")
    assert de_bruijn("pq&", "p") != de_bruijn("pp&", "p")
    assert de_bruijn("p", "pq&") != de_bruijn("pp", "q&")
