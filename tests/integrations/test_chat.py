"""Language models behind a chat endpoint: a real server on this machine, with real faults."""

import contextlib
import json
import os
import signal
import socket
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
from typer.testing import CliRunner

from possibleworlds.cli import app
from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.errors import UserError
from possibleworlds.integrations import chat, chat_run
from possibleworlds.integrations.chat import Endpoint, ReplyCache, ask, evaluate_chat, items_of
from possibleworlds.logic.alphabet import SYMBOLS
from possibleworlds.parallel import StopRequestedError
from tests.conftest import run_here
from tests.test_cli import without_torch

PAIRS = [Pair("pq&", "q", True), Pair("pq|", "q", False), Pair("p", "pq|", True)]
ANSWERS = {item.prompt: item.answer for item in items_of(PAIRS)}


class Server(ThreadingHTTPServer):
    """Answers each prompt, after as many faults as it is told to show first."""

    daemon_threads = True

    def __init__(self, faults: tuple[int, ...] = (), replies: dict[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.replies = list(faults), ANSWERS if replies is None else replies
        self.unsupported: dict[str, str] = {}
        """The error for each option that is refused."""
        self.finish_reason = "stop"
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
        for option, problem in self.server.unsupported.items():
            if option in body:
                error = {"message": problem, "type": "invalid_request_error", "param": option}
                self.respond(400, {"error": error})
                return
        answer = self.server.replies[body["messages"][0]["content"]]
        text = answer if "\n" in answer else f"Well.\nAnswer: {answer}"
        message = {"role": "assistant", "content": text}
        choice = {"message": message, "finish_reason": self.server.finish_reason}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        self.respond(200, {"choices": [choice], "usage": usage})

    def respond(self, status: int, value: dict[str, Any]) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
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


NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0.0 with this model. "
    "Only the default (1) value is supported."
)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_options_that_a_model_does_not_support_are_left_out(
    tmp_path: Path, concurrency: int
) -> None:
    with serving() as server:
        server.unsupported = {"max_tokens": NO_MAX_TOKENS, "temperature": NO_TEMPERATURE}
        endpoint = Endpoint(server.url, "tiny", concurrency=concurrency, retries=0, max_tokens=99)
        result = evaluate_chat(endpoint, PAIRS, ReplyCache(tmp_path / "r"))
        assert result.scores[0].verdict == "right"
        right = [r for r in server.requests if not r.keys() & {"temperature", "max_tokens"}]
        assert [request["max_completion_tokens"] for request in right] == [99] * 3
        if concurrency == 1:
            assert len(server.requests) == 5  # the later ones know


def test_a_wrong_value_of_an_option_is_an_error(tmp_path: Path) -> None:
    with serving() as server:
        server.unsupported = {"temperature": "temperature must be at most 2"}
        endpoint = Endpoint(server.url, "tiny", temperature=3.0, concurrency=1)
        with pytest.raises(UserError, match=r"HTTP 400: .*temperature must be at most 2"):
            evaluate_chat(endpoint, PAIRS, ReplyCache(tmp_path / "r"))
        assert len(server.requests) == 1


def test_of_a_reply_that_is_cut_off_only_a_marked_answer_counts(tmp_path: Path) -> None:
    texts = ("p, q: T, T.\nThen q is true. Yes", "p, q: T → F is false.\nNo", "So.\nAnswer: yes")
    replies = dict(zip(ANSWERS, texts, strict=True))
    for finish_reason, verdicts in (
        ("stop", ["right"] * 3),
        ("length", ["unreadable", "unreadable", "right"]),
    ):
        path = tmp_path / finish_reason
        with serving(replies=replies) as server:
            server.finish_reason = finish_reason
            for _ in range(2):  # the second time from the file
                result = evaluate_chat(Endpoint(server.url, "tiny"), PAIRS, ReplyCache(path))
                assert [s.verdict for s in result.scores] == verdicts
            assert len(server.requests) == 3


def test_faults_that_stay_are_clear_errors(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "r")
    with serving(401) as server, pytest.raises(UserError, match="HTTP 401: busy"):
        evaluate_chat(Endpoint(server.url, "tiny", concurrency=1), PAIRS, cache)
    with socket.socket() as silent:  # bound, so that no other test has its port, but not listening
        silent.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(UserError, match="refused; is the server running"):
            evaluate_chat(Endpoint(gone, "tiny"), PAIRS, ReplyCache(tmp_path / "gone"))
        with pytest.raises(UserError, match="no reply after 2 attempts"):  # it was there before
            ask(Endpoint(gone, "tiny", retries=1), "p", reached=lambda: True)
    for url in ("ftp://127.0.0.1/v1", "127.0.0.1:80", ""):
        with pytest.raises(UserError, match="not an address"):
            evaluate_chat(Endpoint(url, "tiny"), PAIRS, cache)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"choices": []}', b'{"choices": 3}', b"\xff", b"\xff" * 9000, b"[" * 100_000],
)
def test_responses_that_are_none(body: bytes) -> None:
    with pytest.raises(UserError, match="not a chat completion") as error:
        chat.read_reply(body)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("tokens", ["1e999", "-1", "NaN", '"7"', "9" * 4000, "null", "true", "[]"])
def test_numbers_of_tokens_that_are_none(tokens: str, tmp_path: Path) -> None:
    usage = '"usage": {"prompt_tokens": ' + tokens + "}"
    body = '{"choices": [{"message": {"content": "yes"}}], ' + usage + "}"
    assert chat.read_reply(body.encode()) == chat.Reply("yes", 0, 0)
    line = '{"request": "x", "text": "yes", "prompt_tokens": ' + tokens + "}\n"
    (tmp_path / "replies.jsonl").write_text(line)
    assert not ReplyCache(tmp_path / "replies.jsonl").replies


def test_a_damaged_file_of_replies_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    ReplyCache(path).add("request", chat.Reply("yes", 1, 2))
    good = path.read_bytes()
    path.write_bytes(b"[" * 100_000 + b"\n\xff\n[]\n{}\n" + good + good[:20])
    assert ReplyCache(path).replies == {"request": chat.Reply("yes", 1, 2)}


def test_a_symlink_or_a_pipe_is_no_file_of_replies(tmp_path: Path) -> None:
    theirs, link, pipe = tmp_path / "theirs", tmp_path / "link", tmp_path / "pipe"
    theirs.write_text("precious")
    cache = ReplyCache(link)
    link.symlink_to(theirs)
    os.mkfifo(pipe)
    with pytest.raises(UserError):
        cache.add("request", chat.Reply("yes"))
    for path in (link, pipe):
        with pytest.raises(UserError, match=f"{path}: "):
            ReplyCache(path)
    assert theirs.read_text() == "precious"


@pytest.mark.parametrize(
    "url",
    [
        *("http://[", "http://[::1", "http://a:b/v1", "http://a:99999/v1", "http://a/\nv1"),
        *(f"http://{'a' * 70}.x/v1", "http://a..b", "http://a/é", "http://\0a", "http://a b/v1"),
        "http://user:secret@a/v1",
    ],
)
def test_addresses_that_are_none(url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not an address"):
        evaluate_chat(Endpoint(url, "tiny"), PAIRS, ReplyCache(tmp_path / "r"))


@pytest.mark.parametrize("key", ["a\nb", "é名", "\udcff"])
def test_a_key_that_cannot_be_sent_is_not_shown(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(chat.KEY_VARIABLE, key)
    with pytest.raises(UserError, match=chat.KEY_VARIABLE) as error:
        evaluate_chat(Endpoint("http://127.0.0.1:9/v1", "tiny"), PAIRS, ReplyCache(tmp_path / "r"))
    assert key not in str(error.value)


OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def sending(*pieces: bytes) -> Iterator[str]:
    """Send the same bytes to whoever connects, one piece after the other, and hold the line."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1 << 16)
                        for piece in pieces:
                            connection.sendall(piece)
                            released.wait(0.01)

        released = threading.Event()
        threading.Thread(target=send, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            released.set()


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (b"nonsense\r\n\r\n", "nonsense"),
        (b"HTTP/1.1 200 " + b"a" * 70_000, "status line"),
        (OK + b"X: y\r\n" * 200 + b"\r\n", "headers"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "no reply after 1 attempts"),
        (b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP 500"),
        (b"HTTP/1.1 302 X\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n", "HTTP 302"),
    ],
)
def test_servers_that_do_not_speak_http(response: bytes, message: str) -> None:
    with sending(response) as url, pytest.raises(UserError, match=message):
        chat.ask(Endpoint(url, "tiny", retries=0), "p")


def test_the_key_follows_no_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chat.KEY_VARIABLE, "secret")
    with serving() as elsewhere:
        response = f"HTTP/1.1 302 X\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n"
        with sending(response.encode()) as url, pytest.raises(UserError, match="HTTP 302"):
            chat.ask(Endpoint(url, "tiny", retries=0), "p")
        assert not elsewhere.keys


def test_a_response_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    head = OK + b"Content-Length: 100000\r\n\r\n"
    with sending(head, *([b" "] * 1000)) as url, pytest.raises(UserError, match="longer than"):
        chat.ask(Endpoint(url, "tiny", timeout=0.2, retries=0), "p")
    monkeypatch.setattr(chat, "MAX_RESPONSE_BYTES", 1000)
    with sending(head, b" " * 2000) as url, pytest.raises(UserError, match="more than 1,000 bytes"):
        chat.ask(Endpoint(url, "tiny", retries=0), "p")


def test_nobody_waits_for_replies_when_the_work_is_stopped(tmp_path: Path) -> None:
    """The server never replies, and the time for a request is longer than that of this test."""
    data = tmp_path / "test_easy.txt"
    Pairs.of(PAIRS).save(data)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        command = [sys.executable, "-m", "possibleworlds", "evaluate", "--endpoint", url]
        command += ["--model", "tiny", "--out", str(tmp_path / "lm"), str(data)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        listener.settimeout(200)
        connection, _ = listener.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=200)
    assert process.returncode == 130
    assert "the same command continues" in messages


def test_an_interrupted_evaluation_goes_on(tmp_path: Path) -> None:
    path, requests = tmp_path / "replies.jsonl", Counter[str]()
    with serving() as server:
        endpoint = Endpoint(server.url, "tiny", concurrency=1)
        with pytest.raises(StopRequestedError):
            evaluate_chat(endpoint, PAIRS, ReplyCache(path), stop=lambda: bool(server.requests))
        with path.open("ab") as file:
            file.write(b'{"request": "ab')  # a killed process was in the middle of a line
        evaluate_chat(endpoint, PAIRS, ReplyCache(path))
        evaluate_chat(endpoint, PAIRS, ReplyCache(path))
        for request in server.requests:
            requests[request["messages"][0]["content"]] += 1
    assert len(requests) == 3
    assert max(requests.values()) <= 2  # the one that was under way, at most
    assert sum(requests.values()) <= 4
    with serving() as server:
        evaluate_chat(Endpoint(server.url, "other"), PAIRS, ReplyCache(path))
        assert len(server.requests) == 3  # another model's replies are other replies


def test_the_command_line_prints_the_same_table(tmp_path: Path) -> None:
    data = tmp_path / "sets" / "test_easy.txt"
    data.parent.mkdir()
    Pairs.of(PAIRS).save(data)
    with serving(503) as server:
        command = ["evaluate", "--endpoint", server.url]
        options = ["--model", "tiny", "--out", str(tmp_path / "lm"), str(data)]
        for total_requests in (4, 4):  # the second time nothing is requested again
            done = run_here(*command, *options)
            assert done.returncode == 0, done.stderr
            assert "100.00%" in done.stdout
            assert "21 tokens of prompts, 9 of replies" in done.stderr
            assert len(server.requests) == total_requests
    options = ["--out", str(tmp_path / "report"), "--data", str(data.parent)]
    done = run_here("report", tmp_path / "lm", *options)
    assert done.returncode == 0, done.stderr
    assert "tiny" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    written = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    repeat = "possibleworlds evaluate --endpoint URL --model tiny --max-tokens 2048"
    assert f"\n{repeat} sets/test_easy.txt\n" in written
    (row,) = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))["results"]
    assert row["trained_on"] == ""  # not the folder, which has no training data either
    assert row["validation"] is None
    assert json.loads((tmp_path / "lm" / "run.json").read_text())["metrics"]["validation"] == 0
    assert "possibleworlds train tiny" not in written
    bad = run_here("evaluate", "--endpoint", "ftp://x", data)
    assert bad.returncode == 2
    assert "not an address" in bad.stderr


def trained_run(folder: Path, model: str = "tiny") -> None:
    """Write a run that has no checkpoint yet, so that run.json is its only file."""
    record = {"format": 2, "version": "0", "model": model, "settings": {}, "training": {}}
    record |= {"seed": 0, "vocabulary": list(SYMBOLS), "data": {}, "torch": "2.0"}
    (folder / "run.json").write_text(json.dumps(record))


def other_results(folder: Path) -> None:
    trained_run(folder, "other")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"torch": ""}))


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (trained_run, "holds a run of the network tiny"),
        (other_results, "holds results of other"),
        (lambda folder: (folder / "train.txt").write_text("p,p,1\n"), "something else"),
        (lambda folder: (folder / "evaluation.json").write_text("{}"), "something else"),
        (lambda folder: (folder / "run.json").write_text("precious"), "cannot be read"),
    ],
)
def test_a_folder_of_something_else_is_left_alone(
    fill: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder, data = Path("runs", "tiny"), Path("data.txt")
    folder.mkdir(parents=True)
    Pairs.of(PAIRS).save(data)
    fill(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with serving() as server:
        command = ["evaluate", "--endpoint", server.url, "--model", "tiny", str(data)]
        for out in ([], ["--out", str(folder)]):
            result = CliRunner().invoke(app, [*command, *out])
            assert isinstance(result.exception, UserError)
            assert message in str(result.exception)
        cache = ReplyCache("replies.jsonl")
        with pytest.raises(UserError, match=message):
            chat_run.evaluate_file(Endpoint(server.url, "tiny"), data, folder, cache)
        assert not server.requests
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_endpoint_is_evaluated_without_torch(tmp_path: Path) -> None:
    Pairs.of([(pair.a, pair.b, pair.label) for pair in PAIRS]).save(tmp_path / "pairs.txt")
    with serving() as server:
        words = ["possibleworlds", "evaluate", "--endpoint", server.url, "--model", "tiny"]
        words += [str(tmp_path / "pairs.txt"), "--out", str(tmp_path / "run"), "--json"]
        done = without_torch(f"from possibleworlds.cli import main; sys.argv = {words}; main()")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accuracy"] == 1.0
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "evaluation.json",
        "replies.jsonl",
        "run.json",
    }


def test_accuracy_on_test_data_is_no_validation_accuracy(tmp_path: Path) -> None:
    Pairs.of(PAIRS).save(tmp_path / "pairs.txt")
    run = str(tmp_path / "lm")
    with serving() as server:
        command = ["evaluate", "--endpoint", server.url, "--model", "tiny", "--out", run]
        assert CliRunner().invoke(app, [*command, str(tmp_path / "pairs.txt")]).exit_code == 0
    report = ["report", run, "--out", str(tmp_path / "report")]
    assert CliRunner().invoke(app, report).exit_code == 0
    assert "validation in training" not in (tmp_path / "report" / "report.md").read_text("utf-8")


def test_the_length_of_replies_is_an_option(tmp_path: Path) -> None:
    data, run = tmp_path / "pairs.txt", tmp_path / "lm"
    Pairs.of(PAIRS).save(data)
    with serving() as server:
        command = ["evaluate", str(data), "--endpoint", server.url, "--model", "tiny"]
        short = [*command, "--out", str(run), "--max-tokens", "5"]
        assert CliRunner().invoke(app, short).exit_code == 0
        assert {request["max_tokens"] for request in server.requests} == {5}
        assert json.loads((run / "run.json").read_text())["settings"] == {"max_tokens": 5}
        longer = CliRunner().invoke(app, [*command, "--out", str(run)])
        assert "holds results with max_tokens 5, not 2048" in str(longer.exception)
        assert CliRunner().invoke(app, [*command, "--out", f"{run}2"]).exit_code == 0
        assert server.requests[-1]["max_tokens"] == 2048
    without = CliRunner().invoke(app, ["evaluate", "treenet", str(data), "--max-tokens", "5"])
    assert "--max-tokens is for a language model" in str(without.exception)


@pytest.mark.parametrize("option", [["--certify"], ["--worlds", "8"], ["--budget", "100"]])
def test_options_of_worlds_do_not_apply_to_an_endpoint(tmp_path: Path, option: list[str]) -> None:
    (tmp_path / "data.txt").write_text("p,p,1,1,1,1\n")
    result = CliRunner().invoke(
        app, ["evaluate", str(tmp_path / "data.txt"), "--endpoint", "http://x/v1", *option]
    )
    assert "a language model has no worlds" in str(result.exception)
