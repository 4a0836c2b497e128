"""Pairs from users: `A,B` or `A,B,label` in any notation, or `p, p -> q |= q`.

They are converted to rows of data: ↔, ⊤ and ⊥ are rewritten, variables become letters, and a
missing label is decided exactly.
"""

from collections.abc import Iterable
from typing import Any

from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.errors import UserError, quoted
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.formula import Formula, conjunction, variables_of
from possibleworlds.logic.syntax import PREMISE_SEPARATOR, TURNSTILE, parse, parse_sequent

HEADERS = {(a, b) for a in ("premise", "premises") for b in ("conclusion", "hypothesis")}
LABELS = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}


def is_user_line(line: str) -> bool:
    """Whether a line is a pair from a user, not a row of a data file."""
    # Rows of a data file, valid or damaged, are the most common case, so they are checked first.
    if line.count(",") == 5 and line.isascii() and not any(sign in line for sign in "=-\\"):
        return False
    is_list = len(PREMISE_SEPARATOR.split(line.rstrip("\r\n"))) in (2, 3)
    return is_list or bool(TURNSTILE.search(line))


def parse_user_line(line: str) -> tuple[Formula, Formula, bool | None]:
    """Parse premise, conclusion and label; None if there is no label.

    >>> a, b, label = parse_user_line("rain -> wet, ~wet -> ~rain, yes")
    >>> print(a, b, label, sep="; ")
    rain → wet; ¬wet → ¬rain; True
    """
    text = line.rstrip("\r\n")
    if TURNSTILE.search(text):
        premises, conclusion = parse_sequent(text)
        return conjunction(premises), conclusion, None
    a, b, *rest = PREMISE_SEPARATOR.split(text)
    if (a.strip().lower(), b.strip().lower()) in HEADERS:
        raise UserError(f"{quoted(text)} is a header; leave it out")
    label = rest[0].strip().lower() if rest else None
    if label is not None and label not in LABELS:
        raise UserError(f"a label is 1 or 0, yes or no, not {quoted(rest[0].strip())}")
    return parse(a), parse(b), None if label is None else LABELS[label]


def read_user_line(line: str) -> Pair:
    """Convert a pair from a user to a row of data; decide its label if it has none."""
    a, b, label = parse_user_line(line)
    row, _ = to_letters(a, b)
    return Pair(*row, entails(a, b) if label is None else label)


def variable_names(line: str) -> dict[str, str]:
    """Return the variable of each letter that stands for one in a pair from a user.

    >>> variable_names("rain -> q, q")
    {'a': 'rain', 'q': 'q'}
    """
    a, b, _ = parse_user_line(line)
    return to_letters(a, b)[1]


def to_letters(a: Formula | str, b: Formula | str) -> tuple[tuple[str, str], dict[str, str]]:
    """Convert a pair to the vocabulary of data and networks; return the variable of each letter.

    Variables with other names become unused letters. A letter that is only needed to write a
    constant, ⊤ as p ∨ ¬p, has no variable.

    >>> to_letters("rain & q", "⊤")
    (('aq&', 'pp~|'), {'a': 'rain', 'q': 'q'})
    """
    a, b = parse(a), parse(b)
    names = variables_of(a.rpn, b.rpn)
    a, b = a.basic(), b.basic()
    all_names = variables_of(a.rpn, b.rpn)
    if len(all_names) > len(LETTERS):
        raise UserError(f"{len(all_names)} variables; the networks know {len(LETTERS)}")
    unused = iter(sorted(set(LETTERS) - set(all_names)))
    is_letter = {name: len(name) == 1 and name in LETTERS for name in all_names}
    letters = {name: name if is_letter[name] else next(unused) for name in all_names}
    row = "".join(a.rename(letters).rpn), "".join(b.rename(letters).rpn)
    return row, {letters[name]: name for name in names}


def user_pairs(rows: Iterable[Any]) -> Pairs:
    """Make pairs from pairs, or from (A, B) or (A, B, label) with formulas or texts.

    Missing labels are decided.

    >>> pairs = user_pairs([("p & q", "q"), ("p | q", "q", False)])
    >>> [pair.label for pair in pairs]
    [True, False]
    """
    return Pairs.of(user_pair(number, row) for number, row in enumerate(rows))


def user_pair(number: int, row: Any) -> Pair:
    """Make a pair from a row; raise UserError with its number if it is invalid."""
    if isinstance(row, Pair):  # with formulas in reverse Polish notation
        row = row.premise, row.conclusion, row.label
    is_row = isinstance(row, tuple | list) and len(row) in (2, 3)
    if not is_row or not all(isinstance(side, Formula | str) for side in row[:2]):
        expected = "a pair is (A, B) or (A, B, label), with formulas or texts"
        raise UserError(f"row {number}: {expected}, not {quoted(row)}")
    if len(row) == 3 and row[2] not in (True, False):
        raise UserError(f"row {number}: a label is True or False, not {quoted(row[2])}")
    letters, _ = to_letters(row[0], row[1])
    return Pair(*letters, entails(row[0], row[1]) if len(row) == 2 else bool(row[2]))
