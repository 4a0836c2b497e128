"""The download of the published sets, against a server of our own with files of our own."""

import hashlib
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from possibleworlds.data import published
from possibleworlds.data.published import NAMES_THERE, download
from possibleworlds.errors import UserError
from possibleworlds.storage import sha256

CONTENT = {name: name.encode() * 20_000 for name in published.FILES}


class Repository(ThreadingHTTPServer):
    """A server that can cut files short, ignore ranges, or serve something else."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None]] = []
        self.cut: int | None = None
        self.takes_ranges = True
        self.spoiled = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/data"


class Handler(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        byte_range = self.headers["Range"]
        self.server.requests.append((name, byte_range))
        by_name = {NAMES_THERE.get(name, name): content for name, content in CONTENT.items()}
        if name not in by_name or "nowhere" in self.path:
            self.send_error(404)
            return
        content = by_name[name].upper() if self.server.spoiled else by_name[name]
        start = 0
        if byte_range and self.server.takes_ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", byte_range)[1])
            if start >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : self.server.cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(published, "FILES", digests)
    with Repository() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_all_files_are_brought_once(repository: Repository, tmp_path: Path) -> None:
    shown: dict[str, tuple[int, int]] = {}
    progress = lambda name, done, total: shown.update({name: (done, total)})  # noqa: E731
    assert download(tmp_path / "sets", repository.url, progress) == 6
    assert {p.name: p.read_bytes() for p in (tmp_path / "sets").iterdir()} == CONTENT
    assert shown == {name: (len(content),) * 2 for name, content in CONTENT.items()}
    assert ("big_20_test_big.txt", None) in repository.requests
    assert download(tmp_path / "sets", repository.url) == 0
    assert len(repository.requests) == 6


@pytest.mark.parametrize("takes_ranges", [True, False])
def test_an_interrupted_download_is_continued(
    repository: Repository, tmp_path: Path, takes_ranges: bool
) -> None:
    repository.cut, repository.takes_ranges = 70_000, takes_ranges
    with pytest.raises(UserError, match="the same command continues the download"):
        download(tmp_path, repository.url)
    assert (tmp_path / ".validate.txt.download").stat().st_size == 70_000
    repository.cut = None
    assert download(tmp_path, repository.url) == 6
    assert repository.requests[1] == ("validate.txt", "bytes=70000-")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == CONTENT


def test_a_part_that_is_complete_is_not_brought_again(
    repository: Repository, tmp_path: Path
) -> None:
    (tmp_path / ".validate.txt.download").write_bytes(CONTENT["validate.txt"])
    assert download(tmp_path, repository.url) == 6
    assert (tmp_path / "validate.txt").read_bytes() == CONTENT["validate.txt"]


def test_what_is_not_the_published_file_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.spoiled = True
    with pytest.raises(UserError, match=r"validate.txt is not the published file: its SHA-256"):
        download(tmp_path, repository.url)
    assert not list(tmp_path.iterdir())
    (tmp_path / "validate.txt").write_text("mine")
    with pytest.raises(UserError, match="is not the published file; move it away"):
        download(tmp_path, repository.url)
    assert (tmp_path / "validate.txt").read_text() == "mine"


def test_a_missing_file_is_named(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"/nowhere/validate.txt: 404"):
        download(tmp_path, repository.url.replace("/data", "/nowhere"))


def test_a_failed_download_leaves_no_empty_folder(repository: Repository, tmp_path: Path) -> None:
    nowhere = repository.url.replace("/data", "/nowhere")
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "new" / "sets"):
        with pytest.raises(UserError, match="404"):
            download(folder, nowhere)
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]  # which was there before
    repository.cut = 70_000
    with pytest.raises(UserError, match="the same command continues the download"):
        download(tmp_path / "new" / "sets", repository.url)
    assert (tmp_path / "new" / "sets" / ".validate.txt.download").stat().st_size == 70_000


def test_no_connection_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as silent:  # bound, so that no other test has its port, but not listening
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/data"
        command = [sys.executable, "-m", "possibleworlds", "published", "sets", "--source", url]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=100)
    assert done.returncode == 2
    assert re.fullmatch(
        r"\s*error: 127.0.0.1:\d+ cannot be reached \(.*refused\); the same command continues "
        r"the download\n",
        done.stderr,
    )
    assert not list(tmp_path.iterdir())


def test_the_checksums_are_those_of_the_published_files(official: Path) -> None:
    assert {name: sha256(official / name) for name in published.FILES} == published.FILES
