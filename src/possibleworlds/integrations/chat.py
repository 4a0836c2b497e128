"""Evaluate language models behind an OpenAI-compatible chat endpoint, with exact scores.

Replies are stored in a file as they arrive, so that an interrupted evaluation continues where it
stopped and nothing is paid for twice. It needs only the standard library.
"""

import hashlib
import json
import os
import queue
import random
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Annotated, Any, get_type_hints
from urllib.parse import urlsplit

import numpy as np

from possibleworlds.data.pairs import Pair
from possibleworlds.errors import StorageError, UserError, quoted, reason, shortened
from possibleworlds.language.item import Item
from possibleworlds.language.problems import Problem
from possibleworlds.language.prompts import make_item
from possibleworlds.language.replies import marked_answer, spoken
from possibleworlds.language.score import Score, score
from possibleworlds.language.wording import Style
from possibleworlds.parallel import StopRequestedError
from possibleworlds.records import Range, check_argument, from_json
from possibleworlds.storage import file_size, open_regular

KEY_VARIABLE = "OPENAI_API_KEY"
"""The environment variable that holds the key of the endpoint."""
MAX_RESPONSE_BYTES = 10_000_000
RETRY_STATUSES = {408, 409, 425, 429, 500, 502, 503, 504, 529}
"""HTTP status codes after which the same request may succeed."""

UNREACHABLE = (ConnectionRefusedError, socket.gaierror)
"""Errors that mean that there is no server, rather than that it is busy."""


@dataclass(frozen=True)
class Endpoint:
    """The address of a language model, and the settings of requests."""

    url: str
    """The base address, including /v1."""
    model: str
    temperature: Annotated[float, Range(0)] = 0.0
    max_tokens: Annotated[int, Range(1, 1e9)] = 2048
    """The most tokens of a reply; one that is longer is cut off."""
    timeout: Annotated[float, Range(0.001, 1e6)] = 300.0
    """The seconds that a request may take."""
    retries: Annotated[int, Range(0, 100)] = 6
    concurrency: Annotated[int, Range(1, 256)] = 8

    def validate(self) -> None:
        """Raise UserError if the endpoint cannot be used."""
        for name, kind in get_type_hints(Endpoint, include_extras=True).items():
            check_argument(name, getattr(self, name), kind)
        if not is_address(self.url):
            raise UserError(f"{quoted(self.url)} is not an address like http://127.0.0.1:8000/v1")
        if not self.model:
            raise UserError("the endpoint needs the name of a model")
        key = os.environ.get(KEY_VARIABLE, "")
        if not (key.isascii() and key.isprintable()):
            raise UserError(
                f"{KEY_VARIABLE} holds a key that cannot be sent: it is not printable ASCII"
            )


def is_address(url: str) -> bool:
    """Whether requests can be sent to an address; it may not contain a user name or password."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc
    return is_plain and bool(host) and parts.scheme in ("http", "https")


Tokens = Annotated[int, Range(0, 1e15)]


@dataclass(frozen=True)
class Reply:
    """The reply of a language model, and its cost in tokens."""

    text: str
    prompt_tokens: Tokens = 0
    completion_tokens: Tokens = 0
    cut_off: bool = False
    """Whether it ends at the most tokens of a reply."""


@dataclass(frozen=True)
class StoredReply(Reply):
    """A line of the file of replies."""

    request: str = field(kw_only=True)


class ReplyCache:
    """Replies by request, stored in an append-only JSON Lines file."""

    def __init__(self, path: str | Path) -> None:
        if not isinstance(path, str | Path):
            raise UserError(f"a file of replies is given by its path, not by {quoted(path)}")
        self.path, self.lock = Path(path), threading.Lock()
        path = self.path
        self.replies: dict[str, Reply] = {}
        self.added = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                raise UserError(f"{path}: a symlink, to which no replies are added")
            if path.exists():
                file_size(path)
                self._read_lines(path.read_bytes().splitlines())
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from None
        except ValueError as error:
            raise StorageError(f"{path}: {error}") from None

    def _read_lines(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                stored = from_json(json.loads(line), StoredReply, "")
            except (ValueError, RecursionError, UserError):
                continue  # a line that a killed process left incomplete
            tokens = stored.prompt_tokens, stored.completion_tokens
            self.replies[stored.request] = Reply(stored.text, *tokens, stored.cut_off)

    def add(self, request: str, reply: Reply) -> None:
        """Store a reply."""
        line = json.dumps({"request": request, **asdict(reply)}) + "\n"
        try:
            with self.lock, open(self.path, "ab", opener=open_regular) as file:
                if file.tell() and not self._ends_with_newline():
                    file.write(b"\n")
                file.write(line.encode())
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror}") from None
        self.replies[request] = reply
        self.added += 1

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def request_key(endpoint: Endpoint, prompt: str) -> str:
    """Hash everything that determines the reply to a request."""
    parts = [endpoint.model, endpoint.temperature, endpoint.max_tokens, prompt]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class NoRedirects(urllib.request.HTTPErrorProcessor):
    """Treats a redirect as an error: urllib would send the key to the other host, but no prompt."""

    def http_response(self, request: Any, response: Any) -> Any:
        """Raise HTTPError for any status but success."""
        if 200 <= response.status < 300:
            return response
        raise urllib.error.HTTPError(
            request.full_url, response.status, response.reason, response.headers, response
        )

    https_response = http_response


def ask(
    endpoint: Endpoint,
    prompt: str,
    reached: Callable[[], bool] = lambda: False,
    options: dict[str, Any] | None = None,
) -> Reply:
    """Send a prompt, and retry after temporary errors.

    A failed connection counts as temporary only if the endpoint was `reached` before: a server may
    be restarting, but a wrong address stays wrong. Requests that share `options`, which are those
    of the endpoint at first, send no option again that one of them had to leave out.
    """
    options = request_options(endpoint) if options is None else options
    sent = dict(options)
    messages = [{"role": "user", "content": prompt}]
    body = json.dumps({"model": endpoint.model, "messages": messages, **sent}).encode()
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get(KEY_VARIABLE):
        headers["Authorization"] = f"Bearer {key}"
    address = endpoint.url.rstrip("/") + "/chat/completions"
    opener = urllib.request.build_opener(NoRedirects)
    for attempt in range(endpoint.retries + 1):
        request = urllib.request.Request(address, body, headers)
        pause = min(60.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0)
        try:
            with opener.open(request, timeout=endpoint.timeout) as response:
                return read_reply(read_body(response, endpoint.timeout))
        except urllib.error.HTTPError as error:
            problem = f"HTTP {error.code}: {error_excerpt(error)}"
            if error.code == 400 and leave_out(options, sent, problem):
                return ask(endpoint, prompt, reached, options)
            if error.code not in RETRY_STATUSES:
                raise UserError(f"{address}: {problem}") from None
            after = error.headers.get("Retry-After", "")
            pause = max(pause, min(60.0, float(after)) if after.isdecimal() else 0.0)
        except (OSError, HTTPException) as error:  # errors of urllib are OSErrors, too
            cause = getattr(error, "reason", None) or error
            problem = reason(cause if isinstance(cause, BaseException) else error)
            if isinstance(cause, UNREACHABLE) and not reached():
                raise UserError(f"{address}: {problem}; is the server running?") from None
        if attempt < endpoint.retries:
            time.sleep(pause)
    raise UserError(f"{address}: no reply after {endpoint.retries + 1} attempts: {problem}")


def request_options(endpoint: Endpoint) -> dict[str, Any]:
    """Return the options of requests that most endpoints support."""
    return {"temperature": endpoint.temperature, "max_tokens": endpoint.max_tokens}


def leave_out(options: dict[str, Any], sent: dict[str, Any], problem: str) -> bool:
    """Replace or remove an option that was sent and is not supported; return whether there is one.

    >>> options = {"max_tokens": 5}
    >>> leave_out(options, {**options}, "use 'max_completion_tokens' instead")
    True
    >>> options
    {'max_completion_tokens': 5}
    """
    if "max_tokens" in sent and "max_completion_tokens" in problem:
        options["max_completion_tokens"] = sent["max_tokens"]
        options.pop("max_tokens", None)  # another thread may have been faster
        return True
    if "temperature" in sent and "temperature" in problem and "support" in problem:
        options.pop("temperature", None)
        return True
    return False


def read_body(response: HTTPResponse, timeout: float) -> bytes:
    """Read a whole response within a time limit, however small its pieces are."""
    deadline = time.monotonic() + timeout
    body = b""
    while piece := response.read1(1 << 16):
        body += piece
        if len(body) > MAX_RESPONSE_BYTES:
            raise UserError(f"the endpoint's response has more than {MAX_RESPONSE_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError(f"a response that takes longer than {timeout:g} s")
    return body


def error_excerpt(error: urllib.error.HTTPError) -> str:
    """Read the start of the body of an HTTP error, if possible."""
    try:
        return shortened(error.read(300).decode(errors="replace"), 200)
    except (OSError, HTTPException):
        return ""


def read_reply(body: bytes) -> Reply:
    """Read the reply in a response; an invalid number of tokens counts as 0."""
    try:
        response = json.loads(body)
        choice = response["choices"][0]
        text, cut_off = choice["message"]["content"], choice.get("finish_reason") == "length"
        usage = response.get("usage")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        problem = f"{type(error).__name__}: {reason(error)}"
        raise UserError(f"the endpoint's response is not a chat completion: {problem}") from None
    tokens = []
    for name in ("prompt_tokens", "completion_tokens"):
        try:
            tokens.append(from_json(usage[name], Tokens, name))  # type: ignore[arg-type]
        except (UserError, KeyError, TypeError, IndexError):
            tokens.append(0)
    return Reply(text if isinstance(text, str) else "", tokens[0], tokens[1], cut_off)


def ask_all(
    endpoint: Endpoint,
    prompts: Iterable[str],
    cache: ReplyCache,
    progress: Callable[[Reply], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Reply]:
    """Send prompts concurrently, except those whose replies are in the cache."""
    endpoint.validate()
    prompts = list(prompts)
    keys = [request_key(endpoint, prompt) for prompt in prompts]
    requests = zip(keys, prompts, strict=True)
    open_requests = {key: prompt for key, prompt in requests if key not in cache.replies}
    for key in keys:
        if key not in open_requests:
            progress(cache.replies[key])
    todo: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, Reply | Exception]] = queue.SimpleQueue()
    for request in open_requests.items():
        todo.put(request)
    stopped, options = threading.Event(), request_options(endpoint)

    def work() -> None:
        while not stopped.is_set():
            try:
                key, prompt = todo.get_nowait()
                done.put((key, ask(endpoint, prompt, lambda: cache.added > 0, options)))
            except queue.Empty:
                return
            except Exception as error:
                done.put((key, error))

    # Daemon threads, so that stopping does not wait for replies that may never come.
    for _ in range(min(endpoint.concurrency, len(open_requests))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in open_requests:
            while True:
                if stop():
                    raise StopRequestedError
                try:
                    key, reply = done.get(timeout=0.2)
                    break
                except queue.Empty:
                    continue
            if isinstance(reply, Exception):
                raise reply
            cache.add(key, reply)
            progress(reply)
    finally:
        stopped.set()
        while not done.empty():  # keep what has been paid for
            key, reply = done.get()
            if isinstance(reply, Reply):
                cache.add(key, reply)
    return [cache.replies[key] for key in keys]


def items_of(pairs: Iterable[Pair], style: Style = "unicode") -> Iterator[Item]:
    """Make an item for each pair: does the conclusion follow?"""
    rng = np.random.default_rng(0)
    for row, pair in enumerate(pairs):
        problem = Problem((pair.premise,), pair.conclusion, bool(pair.label), row)
        yield make_item(problem, "decide", rng, style)


@dataclass(frozen=True)
class ChatResult:
    """The scores of a language model on pairs, and their cost in tokens."""

    scores: Sequence[Score]
    prompt_tokens: int
    completion_tokens: int

    @property
    def unreadable(self) -> int:
        """The number of unreadable replies."""
        return sum(outcome.verdict == "unreadable" for outcome in self.scores)


def score_chat_reply(reply: Reply, item: Item) -> Score:
    """Score a reply; of one that was cut off, only a marked answer counts."""
    if reply.cut_off and marked_answer(spoken(reply.text, item.prompt), paragraph=False) is None:
        return Score("unreadable", "", "cut off before an answer")
    return score(reply.text, item)


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
    return ChatResult(
        [score_chat_reply(reply, item) for reply, item in zip(replies, items, strict=True)],
        sum(reply.prompt_tokens for reply in replies),
        sum(reply.completion_tokens for reply in replies),
    )
