from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.data.keys import pair_key, pair_keys, row_keys
from possibleworlds.logic import Formula, alpha_equivalent
from tests.conftest import DATA_FORMULAS

RENAMINGS = st.permutations("pqrst").map(lambda to: dict(zip("pqrst", to, strict=True)))


def renamed(rpn: str, names: dict[str, str]) -> str:
    return "".join(names.get(symbol, symbol) for symbol in rpn)


@given(DATA_FORMULAS, DATA_FORMULAS, RENAMINGS)
def test_renaming_keeps_the_key(a: str, b: str, names: dict[str, str]) -> None:
    a2, b2 = renamed(a, names), renamed(b, names)
    assert pair_key(a, b) == pair_key(a2, b2)
    left, right = [Formula(tuple(a)), Formula(tuple(b))], [Formula(tuple(a2)), Formula(tuple(b2))]
    assert alpha_equivalent(left, right)


@given(DATA_FORMULAS, DATA_FORMULAS, DATA_FORMULAS, DATA_FORMULAS)
def test_equal_keys_mean_equal_up_to_renaming(a: str, b: str, c: str, d: str) -> None:
    left, right = [Formula(tuple(a)), Formula(tuple(b))], [Formula(tuple(c)), Formula(tuple(d))]
    assert (pair_key(a, b) == pair_key(c, d)) == alpha_equivalent(left, right)


def test_the_papers_example_and_near_misses() -> None:
    assert pair_key("p", "q~p&") == pair_key("r", "s~r&")
    assert pair_key("p", "q~p&") != pair_key("p", "p~q&")
    assert pair_key("pq&", "p") != pair_key("pq&", "q")
    assert pair_key("pq&", "p") != pair_key("pp&", "p")
    assert pair_key("p", "pq&") != pair_key("pp", "q&")


@given(st.lists(st.tuples(DATA_FORMULAS, DATA_FORMULAS)))
def test_keys_of_many_pairs_are_those_of_each(pairs: list[tuple[str, str]]) -> None:
    assert pair_keys(pairs) == [pair_key(a, b) for a, b in pairs]


def numbered(a: str, b: str) -> tuple[str, str]:
    """Number the variables in the order in which they first occur in A and then B."""
    letters = dict.fromkeys(symbol for symbol in a + b if symbol.isalpha())
    names = dict(zip(letters, "ABCDEFGHIJ", strict=False))
    return renamed(a, names), renamed(b, names)


@given(DATA_FORMULAS, DATA_FORMULAS, DATA_FORMULAS, DATA_FORMULAS)
def test_formulas_share_keys_where_they_are_numbered_alike(a: str, b: str, c: str, d: str) -> None:
    pairs = [(a, b), (c, d), (a, d), (c, b), (b, a), (b, b), (a, a)]
    rows = list(zip(map(numbered, *zip(*pairs, strict=True)), row_keys(pairs), strict=True))
    for (premise, conclusion), key in rows:
        for (other_premise, other_conclusion), other in rows:
            assert (key.premise == other.premise) == (premise == other_premise)
            assert (key.conclusion == other.conclusion) == (conclusion == other_conclusion)


def test_a_new_variable_is_numbered_on_from_the_premise() -> None:
    pairs = [("p", "q"), ("pp&", "q"), ("pq&", "q"), ("pq&", "r"), ("p", "p")]
    keys = [row.conclusion for row in row_keys(pairs)]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys)) == 3
