"""Language models behind a chat endpoint of the OpenAI kind: ask, keep every reply, score exactly.

Replies are kept in a file as they come, so that an interrupted evaluation goes on where it was and
nothing is paid for twice. Nothing but the standard library is needed.
"""

import hashlib
import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

import possibleworlds
from possibleworlds.data.files import read
from possibleworlds.data.pairs import Pair
from possibleworlds.errors import StorageError, UserError, quoted, reason, shortened
from possibleworlds.language.item import Item
from possibleworlds.language.problems import Problem
from possibleworlds.language.prompts import make_item
from possibleworlds.language.score import Score, score
from possibleworlds.language.wording import Style
from possibleworlds.parallel import StopRequestedError
from possibleworlds.storage import sha256

if TYPE_CHECKING:
    from possibleworlds.training.evaluation import Evaluation

KEY_VARIABLE = "OPENAI_API_KEY"
"""The environment variable that holds the key of the endpoint."""
LARGEST_RESPONSE = 10_000_000
RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
"""HTTP status codes after which the same request may succeed."""


@dataclass(frozen=True)
class Endpoint:
    """Where a language model is asked, and how."""

    url: str
    """Up to and including /v1."""
    model: str
    temperature: float = 0.0
    max_tokens: int = 2048
    timeout: float = 300.0
    retries: int = 6
    concurrency: int = 8

    def validate(self) -> None:
        """Raise UserError if nothing can be asked there."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{quoted(self.url)} is not an address like http://127.0.0.1:8000/v1")
        if not self.model:
            raise UserError("the endpoint needs the name of a model")
        if not 1 <= self.concurrency <= 256:
            raise UserError(f"concurrency must be within 1 to 256, not {self.concurrency}")


@dataclass(frozen=True)
class Reply:
    """What a language model said, and what that cost."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ReplyCache:
    """Replies by the request they answer, in a file of JSON Lines that only grows."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        self.replies: dict[str, Reply] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_bytes().splitlines() if path.exists() else []
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from None
        for line in lines:
            try:
                stored = json.loads(line)
                key, text = stored["request"], stored["text"]
                tokens = int(stored["prompt_tokens"]), int(stored["completion_tokens"])
            except (ValueError, KeyError, TypeError):
                continue  # the end of a line that a killed process began
            if isinstance(key, str) and isinstance(text, str):
                self.replies[key] = Reply(text, *tokens)

    def add(self, request: str, reply: Reply) -> None:
        """Keep a reply."""
        line = json.dumps({"request": request, **asdict(reply)}) + "\n"
        try:
            with self.lock, self.path.open("ab") as file:
                if file.tell() and not self._ends_with_newline():
                    file.write(b"\n")
                file.write(line.encode())
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror}") from None
        self.replies[request] = reply

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def request_key(endpoint: Endpoint, prompt: str) -> str:
    """Name a request by all that decides its reply."""
    parts = [endpoint.model, endpoint.temperature, endpoint.max_tokens, prompt]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def ask(endpoint: Endpoint, prompt: str) -> Reply:
    """Ask once, trying again after faults that pass."""
    body = json.dumps(
        {
            "model": endpoint.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": endpoint.temperature,
            "max_tokens": endpoint.max_tokens,
        }
    ).encode()
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get(KEY_VARIABLE):
        headers["Authorization"] = f"Bearer {key}"
    address = endpoint.url.rstrip("/") + "/chat/completions"
    for attempt in range(endpoint.retries + 1):
        request = urllib.request.Request(address, body, headers)
        pause = min(60.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0)
        try:
            with urllib.request.urlopen(request, timeout=endpoint.timeout) as response:
                return read_reply(response.read(LARGEST_RESPONSE))
        except urllib.error.HTTPError as error:
            problem = (
                f"HTTP {error.code}: {shortened(error.read(300).decode(errors='replace'), 200)}"
            )
            if error.code not in RETRIED:
                raise UserError(f"{address}: {problem}") from None
            after = error.headers.get("Retry-After", "")
            pause = max(pause, min(60.0, float(after)) if after.isdecimal() else 0.0)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            problem = reason(getattr(error, "reason", None) or error)
        if attempt < endpoint.retries:
            time.sleep(pause)
    raise UserError(f"{address}: no reply after {endpoint.retries + 1} attempts: {problem}")


def read_reply(body: bytes) -> Reply:
    """Read the reply in a response."""
    try:
        response = json.loads(body)
        text = response["choices"][0]["message"]["content"]
        usage = response.get("usage") or {}
        tokens = [int(usage.get(f"{name}_tokens") or 0) for name in ("prompt", "completion")]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"the endpoint's response is not a chat completion: {error!r}") from None
    return Reply(text if isinstance(text, str) else "", *tokens)


def ask_all(
    endpoint: Endpoint,
    prompts: Iterable[str],
    cache: ReplyCache,
    progress: Callable[[Reply], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Reply]:
    """Ask every prompt, some at once; those that were answered before are not asked again."""
    endpoint.validate()
    listed = list(prompts)
    keys = [request_key(endpoint, prompt) for prompt in listed]
    open_requests = {
        key: p for key, p in zip(keys, listed, strict=True) if key not in cache.replies
    }
    for key in keys:
        if key not in open_requests:
            progress(cache.replies[key])
    todo = iter(open_requests.items())
    with ThreadPoolExecutor(endpoint.concurrency) as pool:
        running: dict[Future[Reply], str] = {}

        def submit(count: int) -> None:
            for key, prompt in islice(todo, count):
                running[pool.submit(ask, endpoint, prompt)] = key

        submit(endpoint.concurrency)
        try:
            while running:
                done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    reply = future.result()
                    cache.add(running.pop(future), reply)
                    progress(reply)
                if stop():
                    raise StopRequestedError
                submit(len(done))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [cache.replies[key] for key in keys]


def items_of(pairs: Iterable[Pair], style: Style = "unicode") -> Iterator[Item]:
    """Ask of each pair whether its conclusion follows."""
    rng = np.random.default_rng(0)
    for row, pair in enumerate(pairs):
        problem = Problem((pair.premise,), pair.conclusion, bool(pair.label), row)
        yield make_item(problem, "decide", rng, style)


@dataclass(frozen=True)
class ChatResult:
    """The scores of a language model on some pairs, and what they cost."""

    scores: Sequence[Score]
    prompt_tokens: int
    completion_tokens: int

    @property
    def unreadable(self) -> int:
        """How many replies could not be read."""
        return sum(outcome.verdict == "unreadable" for outcome in self.scores)


def evaluate_chat(
    endpoint: Endpoint,
    pairs: Iterable[Pair],
    cache: ReplyCache,
    style: Style = "unicode",
    progress: Callable[[Reply], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> ChatResult:
    """Ask a language model whether A entails B for each pair, and score its replies."""
    items = list(items_of(pairs, style))
    replies = ask_all(endpoint, (item.prompt for item in items), cache, progress, stop)
    scores: list[Any] = [score(r.text, item) for r, item in zip(replies, items, strict=True)]
    return ChatResult(
        scores,
        sum(reply.prompt_tokens for reply in replies),
        sum(reply.completion_tokens for reply in replies),
    )


def evaluate_file(
    endpoint: Endpoint,
    file: Path,
    run: Path,
    cache: ReplyCache,
    progress: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> "tuple[Evaluation, ChatResult]":
    """Evaluate a language model on a data file, into a folder that `report` takes as a run."""
    from possibleworlds.training.evaluation import Evaluation

    pairs = read(file)
    result = evaluate_chat(endpoint, pairs, cache, progress=lambda _: progress(1), stop=stop)
    right = np.array([outcome.verdict == "right" for outcome in result.scores])
    evaluation = Evaluation.of(right, pairs)
    store_results(run, endpoint.model, file, evaluation)
    return evaluation, result


def store_results(folder: Path, model: str, file: Path, evaluation: "Evaluation") -> None:
    """Keep the evaluation of a language model on a file where `report` finds it, like a run's.

    What a report says of training is zero: it happened elsewhere.
    """
    from possibleworlds.logic.alphabet import SYMBOLS
    from possibleworlds.training.checkpoint import FORMAT, Metrics, RunRecord
    from possibleworlds.training.evaluations import EvaluationTask, store

    RunRecord(
        format=FORMAT,
        version=possibleworlds.__version__,
        model=model,
        settings={},
        training={"batch_size": 0, "permute_symbols": False},
        seed=0,
        vocabulary=list(SYMBOLS),
        data={},
        torch="",
        metrics=Metrics(0, 0.0, 0.0, 0, evaluation.accuracy, 0, finished=True),
    ).write(folder)
    store(EvaluationTask(folder, file), {**evaluation.to_json(), "sha256": sha256(file)})
