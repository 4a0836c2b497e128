"""Evaluations of a run, kept in its folder as evaluation.json.

A key is FOLDER/FILE, like "data/test_easy"; with "@64" at its end where a network with worlds was
asked with 64 of them instead of those of its training.
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from possibleworlds.data.arrays import load_pairs
from possibleworlds.errors import UserError
from possibleworlds.storage import exclusive_folder, read_json, sha256, write_json
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import load_model
from possibleworlds.training.evaluation import describe
from possibleworlds.training.predictor import Predictor

EVALUATION = "evaluation.json"

Evaluations = dict[str, dict[str, Any]]


def key_of(file: Path, worlds: int | None = None) -> str:
    """What the evaluation on a file is called."""
    asked = f"@{worlds}" if worlds else ""
    return f"{file.resolve().parent.name}/{file.stem}{asked}"


def parts_of(key: str) -> tuple[str, str]:
    """The file of an evaluation; and the number of worlds, if it is not that of the training."""
    file, _, worlds = key.rpartition("@")
    return (file, worlds) if file and worlds.isdecimal() else (key, "")


def read_evaluations(run: Path) -> Evaluations:
    """What is known of a run, by file; nothing where it was never evaluated."""
    found = read_json(run / EVALUATION)
    if not all(map(is_evaluation, found.values())):
        raise UserError(f"{run / EVALUATION} does not hold evaluations")
    return found


def is_evaluation(value: Any) -> bool:
    """Whether a value is what `describe` says of a file, as far as it will be used."""
    if not isinstance(value, dict) or not are_numbers([value.get("accuracy")]):
        return False
    parts = [value.get("by_variables", {}), value.get("by_operators", {})]
    return all(
        isinstance(part, dict)
        and all(re.fullmatch(r"\d{1,9}(-\d{1,9})?", size) for size in part)
        and all(
            isinstance(of_size, dict)
            and are_numbers([of_size.get("rows"), of_size.get("accuracy")])
            and of_size["rows"] > 0
            for of_size in part.values()
        )
        for part in parts
    )


def are_numbers(values: Iterable[Any]) -> bool:
    """Whether values from a JSON file can be calculated with."""
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)


class Question(NamedTuple):
    """A run to be evaluated on a file, with other worlds than its own if their number is given."""

    run: Path
    file: Path
    worlds: int | None = None


def missing(run: Path, files: Sequence[Path], worlds: int | None = None) -> list[Question]:
    """What is not known of a run on these files as they are."""
    found = read_evaluations(run)

    def is_known(file: Path) -> bool:
        return found.get(key_of(file, worlds), {}).get("sha256") == digest(file)

    return [Question(run, file, worlds) for file in files if not is_known(file)]


digest = cache(sha256)


@cache
def dataset(file: Path) -> Dataset:
    """A file, ready for many networks."""
    return Dataset(load_pairs(file))


def answer(question: Question) -> dict[str, Any]:
    """How often a run is right on a file."""
    data = dataset(question.file)
    predictor = Predictor(load_model(question.run)).look_at(question.worlds)
    right = predictor.answers(data) == data.pairs.label
    return {**describe(right, data), "sha256": digest(question.file)}


def keep(question: Question, found: dict[str, Any]) -> None:
    """Put what was found into the folder of the run, where other processes may do the same."""
    with exclusive_folder(question.run):
        known = read_evaluations(question.run)
        known[key_of(question.file, question.worlds)] = found
        write_json(question.run / EVALUATION, known)


def evaluate_into(run: Path, files: Sequence[Path], worlds: int | None = None) -> Evaluations:
    """Evaluate a run on the files that it was not yet evaluated on, and keep what is found."""
    for question in missing(run, files, worlds):
        keep(question, answer(question))
    return read_evaluations(run)
