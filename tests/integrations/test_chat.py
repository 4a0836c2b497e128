"""Language models behind a chat endpoint: a real server on this machine, with real faults."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.errors import UserError
from possibleworlds.integrations import chat
from possibleworlds.integrations.chat import Endpoint, ReplyCache, evaluate_chat, items_of
from possibleworlds.parallel import StopRequestedError

PAIRS = [Pair("pq&", "q", True), Pair("pq|", "q", False), Pair("p", "pq|", True)]
ANSWERS = {item.prompt: item.answer for item in items_of(PAIRS)}


class Server(ThreadingHTTPServer):
    """Answers each prompt, after as many faults as it is told to show first."""

    daemon_threads = True

    def __init__(self, faults: tuple[int, ...] = (), replies: dict[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.replies = list(faults), ANSWERS if replies is None else replies
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers["Authorization"])
        if self.path != "/v1/chat/completions":
            self.send_error(404)
            return
        if self.server.faults:
            self.send_response(self.server.faults.pop(0))
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"busy")
            return
        answer = self.server.replies[body["messages"][0]["content"]]
        message = {"role": "assistant", "content": f"Well.\nAnswer: {answer}"}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        content = json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def serving(*faults: int, replies: dict[str, str] | None = None) -> Iterator[Server]:
    server = Server(faults, replies)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat.time, "sleep", lambda _: None)


def test_replies_are_scored_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chat.KEY_VARIABLE, "secret")
    with serving() as server:
        result = evaluate_chat(
            Endpoint(server.url, "tiny"), PAIRS, ReplyCache(tmp_path / "replies.jsonl")
        )
        assert set(server.keys) == {"Bearer secret"}
    assert [s.verdict for s in result.scores] == ["right"] * 3
    assert (result.prompt_tokens, result.completion_tokens, result.unreadable) == (21, 9, 0)
    assert "secret" not in (tmp_path / "replies.jsonl").read_text()


def test_wrong_and_unreadable_replies(tmp_path: Path) -> None:
    prompts = list(ANSWERS)
    replies = dict(zip(prompts, ("no", "perhaps", "yes"), strict=True))
    with serving(replies=replies) as server:
        result = evaluate_chat(Endpoint(server.url, "tiny"), PAIRS, ReplyCache(tmp_path / "r"))
    assert [s.verdict for s in result.scores] == ["wrong", "unreadable", "right"]
    assert result.unreadable == 1


def test_faults_that_pass_are_tried_again(tmp_path: Path) -> None:
    with serving(503, 429, 500) as server:
        endpoint = Endpoint(server.url, "tiny", concurrency=1)
        result = evaluate_chat(endpoint, PAIRS, ReplyCache(tmp_path / "r"))
        assert len(server.requests) == 6
    assert all(s.verdict == "right" for s in result.scores)


def test_faults_that_stay_are_clear_errors(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "r")
    with serving(401) as server, pytest.raises(UserError, match="HTTP 401: busy"):
        evaluate_chat(Endpoint(server.url, "tiny", concurrency=1), PAIRS, cache)
    gone = server.url
    with pytest.raises(UserError, match="no reply after 2 attempts"):
        evaluate_chat(Endpoint(gone, "tiny", retries=1), PAIRS, cache)
    for url in ("ftp://127.0.0.1/v1", "127.0.0.1:80", ""):
        with pytest.raises(UserError, match="not an address"):
            evaluate_chat(Endpoint(url, "tiny"), PAIRS, cache)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"choices": []}', b'{"choices": 3}', b"\xff"])
def test_responses_that_are_none(body: bytes) -> None:
    with pytest.raises(UserError, match="not a chat completion"):
        chat.read_reply(body)


def test_an_interrupted_evaluation_goes_on(tmp_path: Path) -> None:
    path, seen = tmp_path / "replies.jsonl", Counter[str]()
    with serving() as server:
        endpoint = Endpoint(server.url, "tiny", concurrency=1)
        with pytest.raises(StopRequestedError):
            evaluate_chat(endpoint, PAIRS, ReplyCache(path), stop=lambda: len(server.requests) == 1)
        with path.open("ab") as file:
            file.write(b'{"request": "ab')  # a killed process was in the middle of a line
        evaluate_chat(endpoint, PAIRS, ReplyCache(path))
        evaluate_chat(endpoint, PAIRS, ReplyCache(path))
        for request in server.requests:
            seen[request["messages"][0]["content"]] += 1
    assert len(seen) == 3
    assert max(seen.values()) <= 2  # the one that was under way, at most
    assert sum(seen.values()) <= 4
    with serving() as server:
        evaluate_chat(Endpoint(server.url, "other"), PAIRS, ReplyCache(path))
        assert len(server.requests) == 3  # another model's replies are other replies


def test_the_command_line_prints_the_same_table(tmp_path: Path) -> None:
    data = tmp_path / "test_easy.txt"
    Pairs.of(PAIRS).save(data)
    with serving(503) as server:
        command = [sys.executable, "-m", "possibleworlds", "evaluate", "--endpoint", server.url]
        command += ["--model", "tiny", "--out", str(tmp_path / "lm"), str(data)]
        for asked in (4, 4):  # the second time nothing is asked again
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert "100.00%" in done.stdout
            assert "21 tokens of prompts, 9 of replies" in done.stderr
            assert len(server.requests) == asked
    report = [sys.executable, "-m", "possibleworlds", "report", str(tmp_path / "lm"), "--out"]
    done = subprocess.run([*report, str(tmp_path / "report")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "tiny" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    bad = subprocess.run([*command[:5], "ftp://x", str(data)], capture_output=True, text=True)
    assert bad.returncode == 2
    assert "not an address" in bad.stderr
