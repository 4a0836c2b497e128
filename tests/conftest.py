"""What tests share: random formulas, the published sets, a browser, where they are to be had."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from possibleworlds import cli
from possibleworlds.data.files import spooled_input
from possibleworlds.logic import Formula

# A shell lets commands in the background ignore Ctrl-C, and tests send it to their children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def has_room(folder: Path) -> bool:
    """Whether a folder can be written to, holds a gigabyte more, and lets programs run from it."""
    if not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < 1 << 30:
        return False
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC


# Where there is room, the files of tests are in memory: a disk takes 10 ms to have one safely.
MEMORY = Path("/dev/shm")
if has_room(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores, as tests spend a third of their time waiting."""
    return (os.cpu_count() or 1) + 1


NAMES = st.sampled_from(["p", "q", "r", "s", "rain", "x_1", "q'", "a"])


def formulas(
    names: st.SearchStrategy[str] = NAMES, full: bool = True
) -> st.SearchStrategy[Formula]:
    """Formulas of any shape; `full` admits ↔, ⊤ and ⊥."""
    leaves = names.map(Formula.variable)
    if full:
        leaves |= st.sampled_from([Formula(("1",)), Formula(("0",))])

    def grow(smaller: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        pairs = st.tuples(smaller, smaller)
        grown = (
            smaller.map(lambda f: ~f)
            | pairs.map(lambda ab: ab[0] & ab[1])
            | pairs.map(lambda ab: ab[0] | ab[1])
            | pairs.map(lambda ab: ab[0] >> ab[1])
        )
        return grown | pairs.map(lambda ab: ab[0].iff(ab[1])) if full else grown

    return st.recursive(leaves, grow, max_leaves=25)


CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-ipc-flooding-protection",  # so that a test may change the address often
]

LETTERS = st.sampled_from("pqrst")
DATA_FORMULAS = formulas(LETTERS, full=False).map(lambda f: "".join(f.rpn))


@pytest.fixture(scope="session")
def official() -> Path:
    """The folder of the published sets."""
    folder = os.environ.get("POSSIBLEWORLDS_OFFICIAL_DATA")
    if not folder:
        pytest.skip("POSSIBLEWORLDS_OFFICIAL_DATA does not name the folder of the published sets")
    return Path(folder)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium under Playwright, one for all tests of a process: Playwright refuses a second."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    command = next(filter(None, map(shutil.which, names)), None)
    if command is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=command, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


def run_here(
    *arguments: str | Path, cwd: Path | None = None, stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run the command by this process, which has its modules loaded already."""
    spooled_input.cache_clear()
    words = ["possibleworlds", *map(str, arguments)]
    contents = stdin.encode(), b"", b""
    streams = [io.TextIOWrapper(io.BytesIO(content), encoding="utf-8") for content in contents]
    with pytest.MonkeyPatch.context() as patch, chdir(cwd or "."):
        patch.setattr(sys, "argv", words)
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    texts = []
    for stream in streams[1:]:
        stream.seek(0)
        texts.append(stream.read())
    assert "Traceback" not in texts[1]
    return subprocess.CompletedProcess(words, int(ended.value.code or 0), *texts)


@contextmanager
def started(words: Sequence[str | Path], **options: Any) -> "Iterator[subprocess.Popen[str]]":
    """Start a command, and at the end kill it and the processes it has started, if any are left."""
    with subprocess.Popen(words, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):  # where nothing is left
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()


def wait_for_file(process: "subprocess.Popen[str]", folder: Path, pattern: str) -> None:
    """Wait until a process has made a file; fail if it ends before."""
    while not list(folder.rglob(pattern)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
