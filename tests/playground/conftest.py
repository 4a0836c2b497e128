"""The page in a file, and where the tests of it find a browser."""

import shutil
from pathlib import Path

import pytest

from possibleworlds.playground import page


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assembled page."""
    path = tmp_path_factory.mktemp("playground") / "playground.html"
    page.save(path)
    return path


@pytest.fixture(scope="session")
def node() -> str:
    """The command that runs JavaScript; tests are skipped where there is none."""
    command = shutil.which("node")
    if command is None:
        pytest.skip("node is not installed")
    return command
