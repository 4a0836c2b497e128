"""Runs of one operator as balanced trees: ((a & b) & c) & d as (a & b) & (c & d).

In a long chain, a conjunct far from the root hardly moves what the network computes at the root, so
that a search cannot tell whether few or many of them are violated. In a balanced tree all are about
as far from it. Two laws are used: & and | are associative, and a > (b > c) is (a & b) > c.
"""

from collections import deque
from collections.abc import Iterable

from possibleworlds.logic.alphabet import CODES, N_OPERATORS

AND, OR, IMPLIES = (CODES[symbol] for symbol in "&|>")
ASSOCIATIVE = (AND, OR)
Node = int | tuple[int, deque["Node"]]
"""A variable; or an operator with its operands, any number of them if it is associative."""


def balance(codes: Iterable[int]) -> list[int]:
    """Rewrite a formula in reverse Polish order; operands stay in their order.

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
        if code == IMPLIES:
            stack.append(implication(stack.pop(), right))
        elif code in ASSOCIATIVE:
            stack.append((int(code), merged(int(code), stack.pop(), right)))
        else:
            stack.append((int(code), deque([right])))
    return from_root(stack[0])[::-1]


def implication(left: Node, right: Node) -> Node:
    """Make left > right, or (left & a) > b if right is a > b."""
    if isinstance(right, tuple) and right[0] == IMPLIES:
        left, right = (AND, merged(AND, left, right[1][0])), right[1][1]
    return IMPLIES, deque([left, right])


def merged(code: int, left: Node, right: Node) -> deque[Node]:
    """List two operands, an operand with the same operator by its own operands."""
    first = left[1] if isinstance(left, tuple) and left[0] == code else deque([left])
    second = right[1] if isinstance(right, tuple) and right[0] == code else deque([right])
    if len(first) < len(second):  # so that a chain of any length takes linear time
        second.extendleft(reversed(first))
        return second
    first.extend(second)
    return first


def from_root(root: Node) -> list[int]:
    """List the codes of a formula from the root, each operator before its right, then its left."""
    codes: list[int] = []
    todo: list[tuple[int, list[Node]]] = [(0, [root])]
    while todo:
        code, operands = todo.pop()
        if len(operands) > 1:
            half = (len(operands) + 1) // 2
            codes.append(code)
            todo += [(code, operands[:half]), (code, operands[half:])]
            continue
        (only,) = operands
        if isinstance(only, int):
            codes.append(only)
        elif len(only[1]) > 1:
            todo.append((only[0], list(only[1])))
        else:
            codes.append(only[0])
            todo.append((only[0], list(only[1])))
    return codes
