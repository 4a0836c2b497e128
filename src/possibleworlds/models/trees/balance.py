"""Balance chains of one operator: ((a & b) & c) & d becomes (a & b) & (c & d).

In a long chain, a conjunct far from the root hardly affects the output of the network at the root,
so a search cannot tell whether few or many of them are violated. In a balanced tree, all have about
the same distance from the root. Two laws are used: & and | are associative, and a > (b > c) is
(a & b) > c.
"""

from collections import deque
from collections.abc import Iterable

from possibleworlds.logic.alphabet import AND, CODES, IMPLIES, N_OPERATORS, OR

CONJUNCTION, DISJUNCTION, IMPLICATION = CODES[AND], CODES[OR], CODES[IMPLIES]
ASSOCIATIVE = (CONJUNCTION, DISJUNCTION)
Node = int | tuple[int, deque["Node"]]
"""A variable; or an operator with its operands, any number of them if it is associative."""


def balance(codes: Iterable[int]) -> list[int]:
    """Balance a formula in reverse Polish notation, keeping the order of operands.

    >>> import numpy as np
    >>> from possibleworlds.logic.alphabet import decode, encode
    >>> [decode(np.uint8(balance(encode(rpn)))) for rpn in ("ab&c&d&", "abcd|||~", "abcde>>>>")]
    ['ab&cd&&', 'ab|cd||~', 'ab&cd&&e>']
    """
    stack: list[Node] = []
    for code in codes:
        if code >= N_OPERATORS:
            stack.append(int(code))
            continue
        right = stack.pop()
        if code == IMPLICATION:
            stack.append(implication(stack.pop(), right))
        elif code in ASSOCIATIVE:
            stack.append((int(code), merge_operands(int(code), stack.pop(), right)))
        else:
            stack.append((int(code), deque([right])))
    return codes_from_root(stack[0])[::-1]


def implication(left: Node, right: Node) -> Node:
    """Make left > right, or (left & a) > b if right is a > b."""
    if isinstance(right, tuple) and right[0] == IMPLICATION:
        left = CONJUNCTION, merge_operands(CONJUNCTION, left, right[1][0])
        right = right[1][1]
    return IMPLICATION, deque([left, right])


def merge_operands(code: int, left: Node, right: Node) -> deque[Node]:
    """List both operands, replacing one that has the same operator by its own operands."""
    first = left[1] if isinstance(left, tuple) and left[0] == code else deque([left])
    second = right[1] if isinstance(right, tuple) and right[0] == code else deque([right])
    if len(first) < len(second):  # so that a chain of any length takes linear time
        second.extendleft(reversed(first))
        return second
    first.extend(second)
    return first


def codes_from_root(root: Node) -> list[int]:
    """List the codes of a formula from the root: operator, right operands, left operands."""
    codes: list[int] = []
    todo: list[tuple[int, list[Node]]] = [(0, [root])]
    while todo:
        code, operands = todo.pop()
        if len(operands) > 1:
            half = (len(operands) + 1) // 2
            codes.append(code)
            todo += [(code, operands[:half]), (code, operands[half:])]
            continue
        (operand,) = operands
        if isinstance(operand, int):
            codes.append(operand)
            continue
        if len(operand[1]) == 1:
            codes.append(operand[0])
        todo.append((operand[0], list(operand[1])))
    return codes
