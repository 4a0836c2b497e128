"""Evaluations of a language model on data files, in a folder that `report` reads as a run."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

import possibleworlds
from possibleworlds.data.files import read
from possibleworlds.errors import UserError, quoted, shortened
from possibleworlds.integrations.chat import ChatResult, Endpoint, ReplyCache, evaluate_chat
from possibleworlds.logic.alphabet import SYMBOLS
from possibleworlds.storage import is_temporary, sha256
from possibleworlds.training.checkpoint import RUN, RUN_FORMAT, Metrics, RunRecord, read_run
from possibleworlds.training.evaluation import Evaluation
from possibleworlds.training.evaluations import EVALUATION, EvaluationTask, store

REPLIES = "replies.jsonl"
"""The file of replies in a folder of results."""


def evaluate_file(
    endpoint: Endpoint,
    file: Path,
    run: Path,
    cache: ReplyCache,
    progress: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Evaluation, ChatResult]:
    """Evaluate a language model on a data file, into a folder that `report` reads as a run."""
    check_folder(run, endpoint)
    pairs = read(file)
    result = evaluate_chat(endpoint, pairs, cache, progress=lambda _: progress(1), stop=stop)
    right = np.array([outcome.verdict == "right" for outcome in result.scores])
    evaluation = Evaluation.of(right, pairs)
    store_results(run, endpoint, file, evaluation)
    return evaluation, result


def check_folder(folder: Path, endpoint: Endpoint) -> None:
    """Raise UserError if a folder holds anything but replies and results with these settings."""
    try:
        content = {p.name for p in folder.iterdir() if not is_temporary(p)}
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}") from None
    advice = "--out names another folder"
    if RUN in content:
        record = read_run(folder)
        if record.model != endpoint.model or not record.is_language_model:
            what = "results of" if record.is_language_model else "a run of the network"
            raise UserError(f"{folder} holds {what} {shortened(record.model)}; {advice}")
        max_tokens = record.settings.get("max_tokens", Endpoint.max_tokens)
        if max_tokens != endpoint.max_tokens:
            what = f"results with max_tokens {quoted(max_tokens)}"
            raise UserError(f"{folder} holds {what}, not {endpoint.max_tokens}; {advice}")
    if content - ({REPLIES, RUN, EVALUATION} if RUN in content else {REPLIES}):
        raise UserError(f"{folder} holds something else than results of {endpoint.model}; {advice}")


def store_results(folder: Path, endpoint: Endpoint, file: Path, evaluation: Evaluation) -> None:
    """Store the evaluation of a language model on a file in the form of a run, for `report`.

    All training metrics are zero, as the model was trained elsewhere.
    """
    RunRecord(
        format=RUN_FORMAT,
        version=possibleworlds.__version__,
        model=endpoint.model,
        settings={"max_tokens": endpoint.max_tokens},
        training={"batch_size": 0, "permute_symbols": False},
        seed=0,
        vocabulary=list(SYMBOLS),
        data={},
        torch="",
        metrics=Metrics(0, 0.0, 0.0, 0, 0.0, 0, finished=True),
    ).write(folder)
    store(EvaluationTask(folder, file), {**evaluation.to_json(), "sha256": sha256(file)})
