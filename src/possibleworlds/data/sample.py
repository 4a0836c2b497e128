"""Random formulas with a given number of operators (section 2 of the paper), many at a time.

Formulas are columns of an array of codes, in reverse Polish notation and ending on the last row,
with PADDING before their start. Letter j of the alphabet stands for variable j of the formula until
`spell` names the variables.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data import native
from possibleworlds.logic.alphabet import CODES, IMPLIES, N_OPERATORS, NOT, OPERATORS, OR, SYMBOLS

PADDING = len(SYMBOLS)
ALL = ~np.uint64(0)
FLIP_LEFT, FLIP_RIGHT = np.zeros((2, N_OPERATORS, 1), np.uint64)
FLIP_LEFT[CODES[OR]] = FLIP_RIGHT[CODES[OR]] = FLIP_RIGHT[CODES[IMPLIES]] = ALL

Codes = NDArray[np.uint8]
Words = NDArray[np.uint64]


def sample_codes(
    rng: np.random.Generator, operators: NDArray[np.int64], variables: NDArray[np.int64]
) -> Codes:
    """Sample a formula for each number of operators and of variables.

    An operator is uniform among the four; ¬ leaves the other operators to its argument, a binary
    one splits them uniformly among its two sides; a leaf is uniform among the variables.
    """
    count, longest = len(operators), 2 * int(operators.max()) + 1
    codes = np.full((longest, count), PADDING, np.uint8)
    choices = variables.astype(np.float32)
    if native.kernel:
        draw = partial(random_numbers, rng)
        native.kernel.sample(codes, operators.astype(np.int32), choices, draw)
        return codes
    # All formulas grow together, one symbol per step, from the root and right sides first, which is
    # reverse Polish notation from its end. Each has a stack of the sizes of subformulas still to be
    # written: `sizes` holds stack level l of formula i at l * count + i, and `top` points there.
    sizes = np.zeros((longest // 2 + 3) * count, np.int32)
    sizes[:count] = operators
    top = active = np.arange(count)
    for place in range(longest - 1, -1, -1):
        size = sizes.take(top)
        draw, split = random_numbers(rng, len(active))
        leaf = size == 0
        code = (draw * np.where(leaf, choices, np.float32(N_OPERATORS))).astype(np.uint8)
        code += np.where(leaf, np.uint8(N_OPERATORS), np.uint8(0))
        codes[place, active] = code
        unary = code == CODES[NOT]
        left = np.where(unary, size - 1, (split * size).astype(np.int32))
        sizes[top] = left
        sizes[top + count] = size - 1 - left
        top = np.where(leaf, top - count, np.where(unary, top, top + count))
        growing = np.flatnonzero(top >= 0)
        active, top, choices = active.take(growing), top.take(growing), choices.take(growing)
    return codes


def random_numbers(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Draw two numbers for a symbol of each formula: its choice, and the split of its operators."""
    return rng.random((2, count), dtype=np.float32)


def spell(codes: Codes, variables: Sequence[str]) -> list[str]:
    """Convert the formulas to text; each string of variables names those of an equal share.

    A share is one string, in which formulas have equal widths with at least one leading space.
    """
    padded = np.vstack([np.full_like(codes[:1], PADDING), codes]).T.tobytes()
    share = len(padded) // len(variables)
    tables = ("".join([*OPERATORS, names]).ljust(256).encode() for names in variables)
    return [
        padded[i * share : (i + 1) * share].translate(table).decode()
        for i, table in enumerate(tables)
    ]


def truth_words(codes: Codes, columns: Words) -> Words:
    """Compute the truth values of each formula, a row of 64-bit words, from those of variables."""
    longest, count = codes.shape
    if native.kernel:
        words = np.empty((count, columns.shape[1]), np.uint64)
        native.kernel.truth(np.ascontiguousarray(codes), columns, words, columns.shape[1])
        return words
    stack = np.zeros(((longest // 2 + 2) * count, columns.shape[1]), np.uint64)
    top = np.arange(count) - count
    for code in codes:
        leaf = np.flatnonzero((code >= N_OPERATORS) & (code < PADDING))
        place = top.take(leaf) + count
        top[leaf] = place
        stack[place] = columns.take(code.take(leaf) - N_OPERATORS, axis=0)
        stack[top[code == CODES[NOT]]] ^= ALL
        binary = np.flatnonzero((code > CODES[NOT]) & (code < N_OPERATORS))
        right = top.take(binary)
        place = right - count
        top[binary] = place
        # a ∨ b is ¬(¬a ∧ ¬b) and a → b is ¬(a ∧ ¬b): all reduce to ∧ and negations.
        operator = code.take(binary)
        flip_right = FLIP_RIGHT.take(operator, axis=0)
        both = stack.take(place, axis=0) ^ FLIP_LEFT.take(operator, axis=0)
        both &= stack.take(right, axis=0) ^ flip_right
        both ^= flip_right
        stack[place] = both
    return stack[:count]


def table_words(variables: int) -> Words:
    """Compute the columns of a whole truth table, in 64-bit words."""
    inside = [int("".join(str(r >> j & 1) for r in range(63, -1, -1)), 2) for j in range(6)]
    words = np.arange(1 << max(0, variables - 6), dtype=np.uint64)
    return np.array(
        [
            np.full_like(words, inside[j]) if j < 6 else -(words >> np.uint64(j - 6) & np.uint64(1))
            for j in range(variables)
        ]
    )


def random_words(rng: np.random.Generator, variables: int, words: int) -> Words:
    """Draw the columns of a sample of rows of the truth table."""
    return rng.integers(1 << 64, size=(variables, words), dtype=np.uint64)
