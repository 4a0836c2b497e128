"""Pairs as people write them: `A,B` or `A,B,label` in any notation, or `p, p -> q |= q`.

They become rows of data like any other: ↔, ⊤ and ⊥ are rewritten, variables become letters, and a
label that is missing is decided exactly.
"""

from collections.abc import Iterable
from typing import Any

from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.errors import UserError, quoted
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula, conjunction, variables_of
from possibleworlds.logic.syntax import PREMISE_SEPARATOR, TURNSTILE, parse, parse_sequent

LABELS = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}


def is_own(line: str) -> bool:
    """Whether a line has the form of a pair that somebody wrote, not that of a data file."""
    if line.count(",") == 5 and line.isascii() and not any(sign in line for sign in "=-\\"):
        return False  # a row of a data file, or a spoiled one: looked at first, as there are many
    return len(PREMISE_SEPARATOR.split(line.rstrip("\r\n"))) in (2, 3) or bool(
        TURNSTILE.search(line)
    )


def parse_own(line: str) -> tuple[Formula, Formula, bool | None]:
    """Read premise, conclusion and label; None where there is no label.

    >>> a, b, label = parse_own("rain -> wet, ~wet -> ~rain, yes")
    >>> print(a, b, label, sep="; ")
    rain → wet; ¬wet → ¬rain; True
    """
    text = line.rstrip("\r\n")
    if TURNSTILE.search(text):
        premises, conclusion = parse_sequent(text)
        return conjunction(premises), conclusion, None
    a, b, *rest = PREMISE_SEPARATOR.split(text)
    label = rest[0].strip().lower() if rest else None
    if label is not None and label not in LABELS:
        raise UserError(f"a label is 1 or 0, yes or no, not {quoted(rest[0].strip())}")
    return parse(a), parse(b), None if label is None else LABELS[label]


def read_own(line: str) -> Pair:
    """Read a pair that somebody wrote as a row of data; decide its label if it has none."""
    a, b, label = parse_own(line)
    row, _ = to_letters(a, b)
    return Pair(*row, entails(a, b) if label is None else label)


def to_letters(a: Formula | str, b: Formula | str) -> tuple[tuple[str, str], dict[str, str]]:
    """Bring a pair into the vocabulary of data and networks; give what each letter stands for.

    Variables of other names become letters that are still free. A letter that only serves to
    write a constant, ⊤ as p ∨ ¬p, stands for nothing.

    >>> to_letters("rain & q", "⊤")
    (('aq&', 'pp~|'), {'a': 'rain', 'q': 'q'})
    """
    a, b = parse(a), parse(b)
    names = variables_of(a.rpn, b.rpn)
    a, b = a.basic(), b.basic()
    every_name = variables_of(a.rpn, b.rpn)
    if len(every_name) > len(LETTERS):
        raise UserError(f"{len(every_name)} variables; the networks know {len(LETTERS)}")
    free = iter(sorted(set(LETTERS) - set(every_name)))
    letters = {
        name: name if len(name) == 1 and name in LETTERS else next(free) for name in every_name
    }
    row = "".join(a.rename(letters).rpn), "".join(b.rename(letters).rpn)
    return row, {letters[name]: name for name in names}


def own_pairs(rows: Iterable[Any]) -> Pairs:
    """Make pairs of (A, B) or (A, B, label), formulas or texts; decide labels that are missing.

    >>> pairs = own_pairs([("p & q", "q"), ("p | q", "q", False)])
    >>> [pair.label for pair in pairs]
    [True, False]
    """
    return Pairs.of(own_pair(number, row) for number, row in enumerate(rows))


def own_pair(number: int, row: Any) -> Pair:
    """Make one of them; raise UserError, with its number, if it is none."""
    is_row = isinstance(row, tuple | list) and len(row) in (2, 3)
    if not is_row or not all(isinstance(side, Formula | str) for side in row[:2]):
        expected = "a pair is (A, B) or (A, B, label), with formulas or texts"
        raise UserError(f"row {number}: {expected}, not {quoted(row)}")
    if len(row) == 3 and row[2] not in (True, False):
        raise UserError(f"row {number}: a label is True or False, not {quoted(row[2])}")
    letters, _ = to_letters(row[0], row[1])
    return Pair(*letters, entails(row[0], row[1]) if len(row) == 2 else bool(row[2]))
