"""Evaluations of a run, kept in its folder as evaluation.json.

A key is FOLDER/FILE, like "data/test_easy"; with "@64" at its end where a network with worlds was
asked with 64 of them instead of those of its training.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from possibleworlds.data.arrays import load_pairs
from possibleworlds.data.splits import sha256
from possibleworlds.errors import UserError
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import load_model, write_json
from possibleworlds.training.evaluation import describe
from possibleworlds.training.predictor import Predictor

EVALUATION = "evaluation.json"

Evaluations = dict[str, dict[str, Any]]


def key_of(file: Path, worlds: int | None = None) -> str:
    """What the evaluation on a file is called."""
    asked = f"@{worlds}" if worlds else ""
    return f"{file.resolve().parent.name}/{file.stem}{asked}"


def read_evaluations(run: Path) -> Evaluations:
    """What is known of a run, by file; nothing where it was never evaluated."""
    path = run / EVALUATION
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict) or not all(map(is_evaluation, found.values())):
        raise UserError(f"{path} does not hold evaluations")
    return found


def is_evaluation(value: Any) -> bool:
    """Whether a value is what `describe` says of a file, as far as it will be used."""
    if not isinstance(value, dict) or not isinstance(value.get("accuracy"), (int, float)):
        return False
    parts = [value.get("by_variables", {}), value.get("by_operators", {})]
    return all(
        isinstance(part, dict)
        and all(isinstance(v, dict) and v.keys() >= {"rows", "accuracy"} for v in part.values())
        for part in parts
    )


def evaluate_into(
    run: Path,
    files: Sequence[Path],
    worlds: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Evaluations:
    """Evaluate a run on the files that it was not yet evaluated on, and keep what is found."""
    found = read_evaluations(run)
    digests = {file: sha256(file) for file in files}
    missing = [
        file
        for file, digest in digests.items()
        if found.get(key_of(file, worlds), {"sha256": ""}).get("sha256", digest) != digest
    ]
    if not missing:
        return found
    predictor = Predictor(load_model(run)).look_at(worlds)
    for file in missing:
        key = key_of(file, worlds)
        say(f"{run}: {key}")
        data = Dataset(load_pairs(file))
        right = predictor.answers(data) == data.pairs.label
        found[key] = {**describe(right, data), "sha256": digests[file]}
        write_json(run / EVALUATION, found)
    return found
