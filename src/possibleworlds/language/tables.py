"""Read truth values in a Markdown table."""

import re

TRUE_WORDS = r"true|t|1|\\top|⊤|yes|wahr"
FALSE_WORDS = r"false|f|0|\\bot|⊥|no|falsch"
VALUE = rf"(?:{TRUE_WORDS}|{FALSE_WORDS})(?!\w|\.\d|/)"
TABLE = re.compile(r"(?:^[ \t]*\|.*\|[ \t]*(?:\n|\Z))+", re.MULTILINE)


def without_tables(text: str) -> str:
    """Convert tables to lists of values: rows of a name and a value, or one row below the names.

    >>> without_tables("| p | q |\\n|---|---|\\n| T | F |")
    'p = T, q = F'
    """
    return TABLE.sub(lambda table: table_as_list(table[0]), text)


def table_as_list(table: str) -> str:
    """Convert a table to a list of values; return it unchanged if it has another shape."""
    rows = [[cell.strip() for cell in row.strip()[1:-1].split("|")] for row in table.splitlines()]
    if len(rows) < 3 or any(cell.strip(" :-") for cell in rows[1]) or len(set(map(len, rows))) > 1:
        return table
    header, body = rows[0], rows[2:]
    labels = header[0].lower(), body[0][0].strip("*_").lower()
    if len(body) == 1 and (labels[0] in ("", "#", "row") or labels[1] in ("value", "truth value")):
        header, body = header[1:], [body[0][1:]]
    if len(body) == 1 and re.match(VALUE, body[0][0].strip("*_`$ "), re.IGNORECASE):
        return ", ".join(f"{name} = {value}" for name, value in zip(header, body[0], strict=True))
    if all(len(row) == 2 for row in body):
        return ", ".join(f"{name} = {value}" for name, value in body)
    return table
