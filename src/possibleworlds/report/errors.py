"""A gallery of errors: the shortest pairs that each network got wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.report.cells import table
from possibleworlds.report.material import Material
from possibleworlds.report.page import PLAYGROUND, Cell, Part, code, text
from possibleworlds.report.runs import Group
from possibleworlds.training.evaluations import MOST_ERRORS, digest, evaluation_key


@dataclass(frozen=True)
class ErrorRow:
    """A pair that a network got wrong."""

    model: str
    file: str
    premise: str
    conclusion: str
    entails: bool  # what is true, not what the network said


def error_rows(group: Group, material: Material) -> list[ErrorRow]:
    """List the shortest pairs of the test sets that a network got wrong."""
    shortest: list[tuple[int, str, Pair]] = []
    for file in (file for folder in material.test_folders for file in folder.files):
        key = evaluation_key(file)
        evaluation = group.first.evaluations.get(key, {})
        wrong = evaluation.get("errors") or []
        if wrong and evaluation.get("sha256") == digest(file):
            pairs = dict(zip(range(max(wrong) + 1), read_pairs(file), strict=False))
            in_file = [pairs[row] for row in wrong if row in pairs]
            shortest += [(len(pair.a) + len(pair.b), key, pair) for pair in in_file]
    shortest.sort(key=lambda item: item[:2])
    return [
        ErrorRow(group.model, key, str(pair.premise), str(pair.conclusion), bool(pair.label))
        for _, key, pair in shortest[:MOST_ERRORS]
    ]


def errors_section(rows: Sequence[ErrorRow], material: Material) -> list[Part]:
    """Show the shortest pairs that each network got wrong."""
    if not rows:
        return [text("no errors", command=code(material.evaluate_command))]
    parts: list[Part] = [text("errors")]
    columns = ["premise", "conclusion", "truth", "set", ""]
    for model in dict.fromkeys(row.model for row in rows):
        lines = []
        for row in (row for row in rows if row.model == model):
            link = f"{PLAYGROUND}#{urlencode({'a': row.premise, 'b': row.conclusion})}"
            lines.append(
                [
                    Cell(row.premise, kind="formula"),
                    Cell(row.conclusion, kind="formula"),
                    "follows" if row.entails else "does not follow",
                    row.file.rpartition("/")[2],
                    Cell("try it", link=link),
                ]
            )
        parts.append(replace(table(columns, lines, words=len(columns)), title=model))
    return parts
