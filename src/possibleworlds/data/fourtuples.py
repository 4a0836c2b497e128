"""The paper's preferred sampling: every formula in one entailment and in one non-entailment."""

from possibleworlds.data import native
from possibleworlds.data.groups import SIDE, Group
from possibleworlds.data.pairs import Pair

ENTAILMENTS_EXAMINED = 100
"""How many entailments of a group are examined, trivial ones included."""


def four_tuples(group: Group) -> list[list[Pair]]:
    """Match a group's entailments to (A1, B1, 1), (A2, B2, 1), (A1, B2, 0), (A2, B1, 0)."""
    units = []
    for i1, j1, i2, j2 in matches(group):
        a1, b1, a2, b2 = group.left(i1), group.right(j1), group.left(i2), group.right(j2)
        entailments = [Pair(a1, b1, True), Pair(a2, b2, True)]
        units.append([*entailments, Pair(a1, b2, False), Pair(a2, b1, False)])
    return units


def matches(group: Group) -> list[tuple[int, int, int, int]]:
    """Find entailments i1, j1 and i2, j2 where neither left formula entails the other right one."""
    if group.exact and native.kernel:
        return list(native.kernel.match(group.words, SIDE, ENTAILMENTS_EXAMINED))
    quadruples = []
    used_left: set[int] = set()
    used_right: set[int] = set()
    waiting: list[tuple[int, int, int, int]] = []
    examined = 0
    for i2, j2 in group.unrefuted():
        # Pairs with a contradiction as premise or a tautology as conclusion cannot be refuted: they
        # are in no 4-tuple, and count only towards the number examined.
        if group.trivial(i2, j2):
            examined += 1
        elif i2 not in used_left and j2 not in used_right and group.unrefuted_entails(i2, j2):
            examined += 1
            used_left.add(i2)
            used_right.add(j2)
            left2, right2 = group.truth(i2), group.truth(SIDE + j2)
            for place, (i1, j1, left1, right1) in enumerate(waiting):
                if (left1 & ~right2 or not group.unrefuted_entails(i1, j2)) and (
                    left2 & ~right1 or not group.unrefuted_entails(i2, j1)
                ):
                    del waiting[place]
                    quadruples.append((i1, j1, i2, j2))
                    break
            else:
                waiting.append((i2, j2, left2, right2))
        if examined == ENTAILMENTS_EXAMINED:
            break
    return quadruples
