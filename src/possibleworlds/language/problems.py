"""The problems behind items: generated pairs, with one premise or several.

Problems come from 4-tuples (section 2), so that neither the premises nor the conclusion alone gives
away the label, and no premises contradict each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from operator import and_

import numpy as np

from possibleworlds.data.generation import FREE, Split, make_units
from possibleworlds.data.groups import sample_groups
from possibleworlds.data.keys import pair_keys
from possibleworlds.data.splits import PRESETS
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula, conjunction, variables_of
from possibleworlds.logic.truth import count_rows, table_bits

GROUPS_AT_ONCE = 8
TAUTOLOGY = "a tautology"
FRUITLESS_DRAWS = 50
"""After this many blocks without a new problem, the search for more ends."""


@dataclass(frozen=True)
class Problem:
    """Premises, a conclusion, and whether it follows."""

    premises: tuple[Formula, ...]
    conclusion: Formula
    label: bool
    group: int
    """Problems with the same number come from one 4-tuple, or from one mutated pair."""
    block: int = 0
    """The number of blocks of formulas that were drawn before."""


SOURCES = ("fourtuples", "validate", "easy", "hard", "big", "massive", "exam", "giant", "sat")
"""`fourtuples` has custom sizes, the others those of a kind of test set."""
KINDS_OF_SET = {
    **{split.name.removeprefix("test_"): split for split in PRESETS["paper"]},
    **{name: replace(FREE[name], name=name) for name in ("giant", "sat")},
}
ROWS_AT_ONCE = 64
"""Rows are generated in blocks like those of a split of this many rows."""
MAX_VARIABLES_OF_SEVERAL = 10
"""Sets of several premises are found by whole truth tables, which limits their variables."""

Unit = list[tuple[tuple[str, ...], str, bool]]
"""Rows that stay together: premises and conclusion in reverse Polish notation, and the label."""


def problems(
    source: str, variables: tuple[int, int], operators: tuple[int, int], premises: int, seed: int
) -> Iterator[Problem]:
    """Generate problems, endlessly or until there are no more; no two are equal up to renaming."""
    split = split_of_source(source, variables, operators)
    split.validate()
    known: set[int] = set()
    group = fruitless = 0
    for number in count():
        rng = np.random.default_rng([seed, number])
        if premises > 1:
            units = several_premises(rng, variables, operators, premises)
        elif split.method == "exam" and number:
            return
        else:
            units = [
                [((pair.a,), pair.b, pair.label) for pair in unit]
                for unit in make_units(split, seed, number)
            ]
        before = group
        for unit in units:
            keys = pair_keys((joined(rows), b) for rows, b, _ in unit)
            if known.isdisjoint(keys) and len(set(keys)) == len(keys):
                known.update(keys)
                for i in rng.permutation(len(unit)):
                    left, right, label = unit[i]
                    formulas = tuple(Formula(tuple(rpn)) for rpn in left)
                    yield Problem(formulas, Formula(tuple(right)), label, group, number)
                group += 1
        fruitless = fruitless + 1 if group == before else 0
        if fruitless == FRUITLESS_DRAWS:
            return


def why_no_conclusion(premises: Sequence[Formula], conclusion: Formula) -> str:
    """Say why a formula is not a proper conclusion from premises; empty if it is one."""
    together, operators = conjunction(premises), sum(premise.operators for premise in premises)
    if not set(conclusion.variables) <= set(together.variables):
        return "it has a variable that the premises do not have"
    if entails(Formula(("1",)), conclusion):
        return TAUTOLOGY
    if not entails(together, conclusion):
        return "it does not follow from the premises"
    if entails(conclusion, together):
        several = "premises together" if len(premises) > 1 else "premise"
        return f"it is equivalent to the {several}"
    if len(premises) > 1 and any(
        entails(conjunction([*premises[:i], *premises[i + 1 :]]), conclusion)
        for i in range(len(premises))
    ):
        return "it follows without one of the premises"
    # Without these, weakening the premises by a rare case, or a disjunction of a few variables
    # whatever the premises, is often right.
    if conclusion.operators > operators:
        return f"more than {operators} operators"
    n_cases = 1 << len(conclusion.variables)
    true = count_rows(conclusion)
    if 4 * true > 3 * n_cases:
        return "true in more than 3/4 of all cases"
    true <<= len(together.variables) - len(conclusion.variables)
    times = "true in more than twice as many cases as the premises"
    return times if true > 2 * count_rows(together) else ""


def split_of_source(source: str, variables: tuple[int, int], operators: tuple[int, int]) -> Split:
    """Return the settings of the rows of a source."""
    if source == "fourtuples":
        return Split("fourtuples", ROWS_AT_ONCE, variables, operators)
    return replace(KINDS_OF_SET[source], rows=ROWS_AT_ONCE)


def joined(rpns: tuple[str, ...]) -> str:
    """Join formulas in reverse Polish notation by ∧."""
    return rpns[0] + "".join(f"{rpn}&" for rpn in rpns[1:])


def several_premises(
    rng: np.random.Generator, variables: tuple[int, int], operators: tuple[int, int], premises: int
) -> list[Unit]:
    """Generate 4-tuples of premise sets P1, P2 and conclusions B1, B2: P1 entails B1 but not B2,
    and P2 entails B2 but not B1."""
    units: list[Unit] = []
    for group in sample_groups(rng, GROUPS_AT_ONCE, variables, operators):
        half = len(group.formulas) // 2
        names = variables_of(*group.formulas)
        distinct = {rpn: Formula(tuple(rpn)) for rpn in group.formulas}  # few if they are short
        table_of = {rpn: table_bits(formula, names) for rpn, formula in distinct.items()}
        tables = [table_of[rpn] for rpn in group.formulas]
        all_rows = (1 << (1 << len(names))) - 1
        sets = [rng.choice(half, premises, replace=False).tolist() for _ in range(half)]
        worlds = [reduce(and_, (tables[i] for i in chosen)) for chosen in sets]
        waiting: list[tuple[int, int]] = []
        used: set[int] = set()
        for i, true in enumerate(worlds):
            for j in rng.permutation(np.arange(half, 2 * half)).tolist():
                if j in used or not true or tables[j] == all_rows or true & ~tables[j]:
                    continue
                match = next(
                    (
                        (i1, j1)
                        for i1, j1 in waiting
                        if worlds[i1] & ~tables[j] and true & ~tables[j1]
                    ),
                    None,
                )
                used.add(j)
                if match is None:
                    waiting.append((i, j))
                else:
                    waiting.remove(match)
                    i1, j1 = match
                    first, second = (tuple(group.formulas[x] for x in sets[y]) for y in (i1, i))
                    b1, b2 = group.formulas[j1], group.formulas[j]
                    units.append(
                        [
                            (first, b1, True),
                            (second, b2, True),
                            (first, b2, False),
                            (second, b1, False),
                        ]
                    )
                break
    return units
