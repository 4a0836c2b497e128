"""Balance chains of operators: ((a & b) & c) & d becomes (a & b) & (c & d).

In a long chain, a conjunct far from the root hardly affects the output of the network at the root,
so a search cannot tell whether few or many of them are violated. In a balanced tree, all have about
the same distance from the root.

- Runs of & and of | are balanced, and a > (b > c) becomes (a & b) > c.
- A chain of MIN_CHAIN or more members is balanced even if it is written in several notations, as
  a & ~(b > ~c) is a & b & c, and a > (b | ~c) is ~a | b | ~c. Equal members are kept once.
- The longer a chain, the further its vectors drift from any that the network has learnt, until a
  disjunction of 20 false members seems true. Conjunctions drift less, so a long disjunction is
  written as ~(~a & ~b & ...). On demand, a long chain is also restored: each of its operators is
  negated twice. This changes no truth value, but a negation, which is in most formulas that the
  network has learnt, brings vectors back.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from possibleworlds.logic.alphabet import AND, CODES, IMPLIES, N_OPERATORS, NOT, OR

NOT_CODE, CONJUNCTION, DISJUNCTION, IMPLICATION = (CODES[op] for op in (NOT, AND, OR, IMPLIES))
DUAL = {CONJUNCTION: DISJUNCTION, DISJUNCTION: CONJUNCTION}
MIN_CHAIN = 8
"""The fewest members of a chain that is rewritten; shorter ones stay as in the training data."""
Members = deque[tuple[bool, "Node"]]
"""Nodes, each with whether it is negated."""


@dataclass(eq=False)
class Node:
    """A node of a formula, as it is written and as a chain.

    A node that becomes part of the run or the chain of its parent gives its operands or members to
    it: it is never written by itself, or its chain is too short to be rewritten.
    """

    code: int
    key: int
    """The same for equal subformulas."""
    operands: deque["Node"] = field(default_factory=deque)
    """Any number for & and |."""
    kind: int = -1
    """Whether the chain is a conjunction or a disjunction; -1 for a variable or its negation."""
    members: Members = field(default_factory=deque)
    is_flipped: bool = False
    """Whether the members are to be negated."""


def balance(codes: Iterable[int], restore: bool = False) -> list[int]:
    """Balance a formula in reverse Polish notation, keeping the order of operands.

    >>> import numpy as np
    >>> from possibleworlds.logic.alphabet import decode, encode
    >>> def balanced(rpn: str, restore: bool = False) -> str:
    ...     return decode(np.uint8(balance(encode(rpn), restore)))
    >>> [balanced(rpn) for rpn in ("ab&c&d&", "abcd|||~", "abcde>>>>")]
    ['ab&cd&&', 'ab|cd||~', 'ab&cd&&e>']
    >>> balanced("a" + "".join(f"{v}~>~" for v in "bcdefgh"))  # ~(~(a > ~b) > ~c) and so on
    'ab&cd&&ef&gh&&&'
    >>> balanced("abcdefgh|||||||"), balanced("abcdefgh&&&&&&&", restore=True)
    ('a~b~&c~d~&&e~f~&g~h~&&&~', 'ab&~~cd&~~&~~ef&~~gh&~~&~~&~~')
    """
    stack: list[Node] = []
    keys: dict[tuple[int, ...], int] = {}
    for code in map(int, codes):
        right = stack.pop() if code < N_OPERATORS else None
        left = stack.pop() if right and code != NOT_CODE else None
        parts = tuple(node.key for node in (left, right) if node)
        node = Node(code, keys.setdefault((code, *parts), len(keys)))
        if right and not left:
            negate(node, right)
        elif left and right:
            join(node, left, right)
        stack.append(node)
    return codes_from_root(stack[0], restore)[::-1]


def negate(node: Node, operand: Node) -> None:
    """Make a node the negation of another one."""
    node.operands.append(operand)
    if operand.kind in DUAL:
        node.kind, node.members = DUAL[operand.kind], operand.members
        node.is_flipped = not operand.is_flipped


def join(node: Node, left: Node, right: Node) -> None:
    """Give a node with a binary operator its operands and members."""
    node.kind = DISJUNCTION if node.code == IMPLICATION else node.code
    first = members_of(left, node.kind, is_negated=node.code == IMPLICATION)
    second = members_of(right, node.kind)
    node.members, node.is_flipped = merge_members(*first, *second)
    if node.code != IMPLICATION:
        node.operands = merge_operands(node.code, left, right)
        return
    if right.code == IMPLICATION:  # left > (a > b) is (left & a) > b
        premise, right = right.operands
        left = Node(CONJUNCTION, -1, merge_operands(CONJUNCTION, left, premise))
    node.operands = deque([left, right])


def members_of(node: Node, kind: int, is_negated: bool = False) -> tuple[Members, bool]:
    """Return the members of a node in a chain of this kind, and whether they are to be negated."""
    if node.kind == (DUAL[kind] if is_negated else kind):
        return node.members, node.is_flipped != is_negated
    if node.code == NOT_CODE and node.kind not in DUAL:
        return members_of(node.operands[0], kind, not is_negated)
    return deque([(is_negated, node)]), False


def merge_members(
    left: Members, left_flipped: bool, right: Members, right_flipped: bool
) -> tuple[Members, bool]:
    """Merge two lists; the shorter becomes part of the longer, which takes less time."""
    flip = left_flipped != right_flipped
    if len(left) < len(right):
        right.extendleft((negated != flip, node) for negated, node in reversed(left))
        return right, right_flipped
    left.extend((negated != flip, node) for negated, node in right)
    return left, left_flipped


def merge_operands(code: int, left: Node, right: Node) -> deque[Node]:
    """List both operands, replacing one that has the same operator by its own operands."""
    first = left.operands if left.code == code else deque([left])
    second = right.operands if right.code == code else deque([right])
    if len(first) < len(second):
        second.extendleft(reversed(first))
        return second
    first.extend(second)
    return first


def codes_from_root(root: Node, restore: bool) -> list[int]:
    """List the codes of a formula from the root: operator, right operands, left operands."""
    codes: list[int] = []
    todo: list[tuple[list[int], list[tuple[bool, Node]]]] = [([], [(False, root)])]
    while todo:
        joint, parts = todo.pop()  # the codes that join two parts
        if len(parts) > 1:
            half = (len(parts) + 1) // 2
            codes += joint
            todo += [(joint, parts[:half]), (joint, parts[half:])]
            continue
        ((is_negated, node),) = parts
        if is_negated:
            codes.append(NOT_CODE)
        if len(node.members) >= MIN_CHAIN:
            is_disjunction = node.kind == DISJUNCTION
            if is_disjunction:
                codes.append(NOT_CODE)
            flip = node.is_flipped != is_disjunction
            flipped = [(negated != flip, part) for negated, part in node.members]
            distinct = {(negated, part.key): (negated, part) for negated, part in flipped}
            joint = [*([NOT_CODE, NOT_CODE] if restore else []), CONJUNCTION]
            todo.append((joint, list(distinct.values())))
            continue
        if len(node.operands) < 2:
            codes.append(node.code)
        if node.operands:
            todo.append(([node.code], [(False, operand) for operand in node.operands]))
    return codes
