"""The page in a file, and where the tests of it find a browser."""

import base64
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from possibleworlds.playground import page
from tests.playground.browser import Windows


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assembled page."""
    path = tmp_path_factory.mktemp("playground") / "playground.html"
    page.save(path)
    return path


@pytest.fixture(scope="session")
def windows(browser: Any, page_file: Path) -> Windows:
    """Windows of Chromium, which visits share."""
    return Windows(browser, page_file)


def biased_page(bias: float) -> str:
    """Assemble the page with networks whose scores are higher by a bias than they have learnt."""

    def biased(name: str) -> dict[str, Any]:
        learnt = page.network(name)
        weights = np.frombuffer(base64.b64decode(learnt["weights"]), "<f4").copy()
        weights[4 * learnt["settings"]["size"]] += bias  # f.bias comes after b1
        return {**learnt, "weights": base64.b64encode(weights.tobytes()).decode()}

    networks, source = {name: biased(name) for name in page.NETWORKS}, page.source
    by_sides = "Math.max(a, b) + Math.log1p("  # the score of guided worlds, which has no f.bias
    assert source("network.js").count(by_sides) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "network", networks.__getitem__)
        patch.setattr(
            page, "source", lambda name: source(name).replace(by_sides, f"{bias} + {by_sides}")
        )
        return page.assemble()


@pytest.fixture(scope="session")
def never_refuting(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Windows:
    """Windows with networks that take everything for an entailment, whatever they have learnt."""
    path = tmp_path_factory.mktemp("playground") / "never.html"
    path.write_text(biased_page(1000), encoding="utf-8")
    return Windows(browser, path)


@pytest.fixture(scope="session")
def always_refuting(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Windows:
    """Windows with networks that take nothing for an entailment."""
    path = tmp_path_factory.mktemp("playground") / "always.html"
    path.write_text(biased_page(-1000), encoding="utf-8")
    return Windows(browser, path)


@pytest.fixture(scope="session")
def node() -> str:
    """The command that runs JavaScript; tests are skipped where there is none."""
    command = shutil.which("node")
    if command is None:
        pytest.skip("node is not installed")
    return command
