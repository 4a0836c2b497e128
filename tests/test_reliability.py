"""The programs that measure reliability, on a small scale."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("kill.py", "--kills", "3"), ("fuzz.py", "--inputs", "2000", "--workers", "2")]
)
def test_nothing_is_corrupt_and_every_error_is_clear(arguments: tuple[str, ...]) -> None:
    program, *options = arguments
    command = [sys.executable, str(ROOT / "benchmarks" / program), *options, "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
