"""What the tests of the experiments share: data small enough to be quick, and the command."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from possibleworlds import cli
from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.training.checkpoint import RUN


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate_folder(folder, free_splits(400, (1, 4), (1, 5), "fourtuples"), seed=0)
    return folder


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "possibleworlds", *map(str, arguments)]


def possible(
    *arguments: str | Path, cwd: Path | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, cwd=cwd, timeout=900)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def run_here(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the command in the folder `here` by this process, which has torch loaded already."""
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(here)  # where workers find the networks, too
    monkeypatch.delitem(sys.modules, "networks", raising=False)

    def run(*arguments: str | Path) -> int:
        code: int = cli.app(list(map(str, arguments)), standalone_mode=False)
        return code

    return run


def outcome(sweep: Path) -> dict[str, Any]:
    """All that a sweep results, without the times it took."""
    stored = json.loads((sweep / "sweep.json").read_text())
    results: dict[str, Any] = {name: n["selection"] for name, n in stored["networks"].items()}
    for trial in sorted((sweep / "trials").iterdir()):
        if (trial / RUN).exists():
            run = json.loads((trial / RUN).read_text())
            for of_time in ("seconds", "pairs_per_second"):
                del run["metrics"][of_time]
            weights = (trial / run["weights"]).read_bytes()
            evaluation = trial / "evaluation.json"
            results[trial.name] = run, weights, evaluation.exists() and evaluation.read_text()
    return results


NETWORKS = """
import os, signal, time
from dataclasses import dataclass
from pathlib import Path
from torch import nn
from possibleworlds.models import (Classifier, Model)

@dataclass(frozen=True)
class Settings:
    size: int = 8

class Plain(Model):
    settings_class = Settings
    search_space = {"size": [4, 8], "learning_rate": [1e-3, 1e-2]}
    training_defaults = {"evaluations": 4}  # each waits for the disk

    def __init__(self, settings):
        super().__init__(settings)
        self.encode = nn.Sequential(nn.Linear(30, settings.size), nn.Tanh())
        self.classifier = Classifier(settings.size, settings.size, 2)

    def forward(self, batch):
        codes = self.encode(batch.symbol_frequencies)
        return self.classifier(codes[batch.left], codes[batch.right])

class Slow(Plain):
    def forward(self, batch):
        if self.training and Path(__file__).with_name("slow").exists():
            time.sleep(0.25)
        return super().forward(batch)

class Counted(Plain):
    def log_probs(self, batch, options):
        if self.training and options.progress == 0:
            with open(Path(__file__).with_name("begun.txt"), "a") as file:
                file.write("begun\\n")
        return super().log_probs(batch, options)

class Broken(Plain):
    search_space = {"size": [4, 5, 6, 7]}

    def log_probs(self, batch, options):
        if options.progress > 0.1 and self.settings.size == 4:
            return super().log_probs(batch, options) * float("nan")
        if self.settings.size == 5:
            raise RuntimeError("can't allocate memory: you tried to allocate 1 TB")
        if self.settings.size == 6:
            raise MemoryError
        return super().log_probs(batch, options)

class Hopeless(Plain):
    search_space = {"size": [4]}

    def forward(self, batch):
        raise ValueError("no way")

class Unevaluable(Plain):
    search_space = {"size": [4]}

    def forward(self, batch):
        if not self.training and not hasattr(self, "was_trained"):  # loaded, not being trained
            raise ValueError("no answer")
        self.was_trained = True
        return super().forward(batch)

class Killed(Plain):
    search_space = {"size": [4, 5]}

    def forward(self, batch):
        if self.settings.size == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(batch)
"""


@contextmanager
def slowed(here: Path) -> Iterator[None]:
    """Have `Slow` take its time over every step, so that a test can find it in the middle."""
    slow = here / "slow"
    slow.touch()
    try:
        yield
    finally:
        slow.unlink()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with networks whose grids are small, or which fail in all sorts of ways."""
    (tmp_path / "networks.py").write_text(NETWORKS)
    return tmp_path
