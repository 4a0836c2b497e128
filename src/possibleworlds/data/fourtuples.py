"""The paper's preferred sampling: every formula in one entailment and in one non-entailment."""

from itertools import islice

import numpy as np

from possibleworlds.data.groups import Group

ENTAILMENTS = 250
"""How many entailments a group looks at, trivial ones included."""

Row = tuple[str, str, int]
"""A pair of formulas in reverse Polish order, and whether the first entails the second."""


def four_tuples(group: Group) -> list[list[Row]]:
    """Rows (A1, B1, 1), (A2, B2, 1), (A1, B2, 0), (A2, B1, 0) from a group's entailments."""
    # Neither what follows from a contradiction nor what implies a tautology can be refuted: such
    # pairs are in no 4-tuple, and count only towards the number looked at.
    useful = group.unrefuted & ~group.contradictions[:, None] & ~group.tautologies
    share = int(np.count_nonzero(useful)) / max(1, int(np.count_nonzero(group.unrefuted)))
    found = []
    used_left: set[int] = set()
    used_right: set[int] = set()
    waiting: list[tuple[int, int]] = []
    for i2, j2 in islice(group.entailments(useful), round(share * ENTAILMENTS)):
        if i2 in used_left or j2 in used_right:
            continue
        used_left.add(i2)
        used_right.add(j2)
        for place, (i1, j1) in enumerate(waiting):
            if not group.entails(i1, j2) and not group.entails(i2, j1):
                del waiting[place]
                a1, b1, a2, b2 = group.left(i1), group.right(j1), group.left(i2), group.right(j2)
                found.append([(a1, b1, 1), (a2, b2, 1), (a1, b2, 0), (a2, b1, 0)])
                break
        else:
            waiting.append((i2, j2))
    return found
