"""Evaluations of a run, stored in its folder as evaluation.json.

A key is FOLDER/FILE, such as "data/test_easy"; it ends in "@64" if the network was evaluated with
64 worlds instead of as many as in training.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import numpy as np

from possibleworlds.data.files import read
from possibleworlds.errors import UserError, quoted
from possibleworlds.models.settings import LARGEST
from possibleworlds.parallel import StopRequestedError, ordered_map
from possibleworlds.records import Range, from_json
from possibleworlds.storage import exclusive_folder, read_json, sha256, write_json
from possibleworlds.training.checkpoint import load_model, read_run
from possibleworlds.training.evaluation import Evaluation

if TYPE_CHECKING:
    from possibleworlds.models.base import Model
    from possibleworlds.training.batches import Dataset

EVALUATION = "evaluation.json"
MAX_ERRORS = 10
"""How many of the rows that a network got wrong are stored, shortest first."""

T = TypeVar("T")
Evaluations = dict[str, dict[str, Any]]


def evaluation_key(file: Path, worlds: int | None = None) -> str:
    """Return the key of the evaluation on a file."""
    suffix = f"@{worlds}" if worlds else ""
    return f"{file.resolve().parent.name}/{file.stem}{suffix}"


def split_key(key: str) -> tuple[str, str]:
    """Split a key into the file and the number of worlds; empty if that of training."""
    match = re.fullmatch(r"(.+)@([1-9][0-9]{0,8})", key, re.DOTALL)
    return (match[1], match[2]) if match else (key, "")


def read_evaluations(run: Path) -> Evaluations:
    """Read the evaluations of a run with its present weights; empty if it has none."""
    path = run / EVALUATION
    stored = read_json(path)
    try:
        from_json(stored, dict[str, StoredEvaluation], "one")
    except UserError as error:
        raise UserError(f"{path} does not hold evaluations: {error}") from None
    if stored and (weights := digest_of_weights(run)):
        return {key: one for key, one in stored.items() if one.get("weights") == weights}
    return stored


def digest_of_weights(run: Path) -> str | None:
    """Compute the SHA-256 of a run's weights; None if there are none, as for language models."""
    weights = read_run(run).weights
    return digest(run / weights) if weights and (run / weights).exists() else None


@dataclass(frozen=True)
class StoredBin:
    """The accuracy on the rows of one size, as stored in a file."""

    rows: Annotated[int, Range(1, LARGEST)]
    accuracy: Annotated[float, Range(0, 1)]


@dataclass(frozen=True)
class StoredEvaluation:
    """The part of a stored evaluation that is read back."""

    accuracy: Annotated[float, Range(0, 1)]
    rows: Annotated[int, Range(1, LARGEST)] | None = None
    sha256: str | None = None
    """Of the file."""
    weights: str | None = None
    """The SHA-256 of the weights, as a run may be trained further."""
    errors: list[Annotated[int, Range(0, LARGEST)]] = field(default_factory=list)
    by_variables: dict[str, StoredBin] = field(default_factory=dict)
    by_operators: dict[str, StoredBin] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for size in (*self.by_variables, *self.by_operators):
            if not re.fullmatch(r"[0-9]{1,9}(-[0-9]{1,9})?", size):
                raise UserError(f"{quoted(size)} is not a size")


class EvaluationTask(NamedTuple):
    """A run to evaluate on a file, with a different number of worlds if one is set."""

    run: Path
    file: Path
    worlds: int | None = None
    trust: bool = False
    """Whether a class that the run names may be imported, which runs its code."""


def pending_tasks(
    run: Path, files: Sequence[Path], worlds: int | None = None, trust: bool = False
) -> list[EvaluationTask]:
    """List the evaluations that a run lacks, or whose file or weights have changed since."""
    stored = read_evaluations(run)

    def is_current(file: Path) -> bool:
        return stored.get(evaluation_key(file, worlds), {}).get("sha256") == digest(file)

    return [EvaluationTask(run, file, worlds, trust) for file in files if not is_current(file)]


def cached_by_version(function: Callable[[Path], T], maxsize: int | None) -> Callable[[Path], T]:
    """Cache a function of a file, which is computed again when the file has changed."""

    @lru_cache(maxsize)
    def compute(file: Path, *_: int) -> T:
        return function(file)

    def cached(file: Path) -> T:
        try:
            status = file.stat()
        except OSError as error:
            raise UserError(f"{file}: {error.strerror}") from None
        return compute(file, status.st_ino, status.st_mtime_ns, status.st_size)

    return cached


def read_dataset(file: Path) -> "Dataset":
    """Read a file as networks take it."""
    from possibleworlds.training.batches import Dataset

    return Dataset(read(file))


digest = cached_by_version(sha256, maxsize=None)
cached_dataset = cached_by_version(read_dataset, maxsize=8)


def evaluate_task(task: EvaluationTask, model: "type[Model] | None" = None) -> dict[str, Any]:
    """Evaluate a run on a file; its network is registered, trusted, or its class is passed."""
    from possibleworlds.training.predictor import Network

    # Before they are read: if they change now, the run is evaluated again.
    content, weights = digest(task.file), digest_of_weights(task.run)
    data = cached_dataset(task.file)
    network = Network(load_model(task.run, model, task.trust))
    right = network.predict(data, worlds=task.worlds) == data.pairs.label
    lengths = np.diff(data.pairs.offsets)
    wrong = np.flatnonzero(~right)
    sizes = lengths[data.pairs.left[wrong]] + lengths[data.pairs.right[wrong]]
    return {
        **Evaluation.of(right, data.pairs).to_json(),
        "errors": wrong[np.argsort(sizes, kind="stable")][:MAX_ERRORS].tolist(),
        "sha256": content,
        "weights": weights,
    }


def store(task: EvaluationTask, evaluation: dict[str, Any]) -> None:
    """Add an evaluation to the folder of its run, safely with other processes."""
    with exclusive_folder(task.run):
        stored = read_evaluations(task.run)
        stored[evaluation_key(task.file, task.worlds)] = evaluation
        write_json(task.run / EVALUATION, stored)


def evaluate_into(
    run: str | Path, files: Sequence[str | Path], worlds: int | None = None
) -> Evaluations:
    """Run and store the missing evaluations of a run, and return all of them."""
    run = Path(run)
    for task in pending_tasks(run, [Path(file) for file in files], worlds):
        store(task, evaluate_task(task))
    return read_evaluations(run)


def evaluate_and_store(task: EvaluationTask) -> None:
    """Evaluate a run on a file, in a worker process."""
    import torch

    torch.set_num_threads(1)  # more threads gain nothing on batches this small
    store(task, evaluate_task(task))


def evaluate_tasks(
    tasks: Sequence[EvaluationTask],
    workers: int,
    stop: Callable[[], bool],
    progress: Callable[[int], None],
) -> None:
    """Evaluate runs in parallel, and store each result as soon as it is there."""
    for done, _ in enumerate(ordered_map(evaluate_and_store, tasks, workers), 1):
        progress(done)
        if stop():
            raise StopRequestedError
