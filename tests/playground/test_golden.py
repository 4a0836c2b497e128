"""JavaScript and Python agree: reading, truth, networks."""

import json
import subprocess
from pathlib import Path

import pytest

from possibleworlds.playground.page import HERE, NETWORKS, network

CHECK = Path(__file__).with_name("check.mjs")


def test_javascript_agrees_with_python(node: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.playground import golden

    golden.write(tmp_path / "golden.json")
    weights = json.dumps({name: network(name) for name in NETWORKS})
    (tmp_path / "networks.json").write_text(weights, encoding="utf-8")
    files = [str(tmp_path / "golden.json"), str(tmp_path / "networks.json")]
    command = [node, str(CHECK), str(HERE), *files]
    output = subprocess.run(command, check=True, timeout=900, capture_output=True, text=True)
    result = json.loads(output.stdout)
    assert result["differences"] == []
    assert result["counts"]["readings"] > 3000
    assert result["counts"]["errors"] > 3000
    assert result["counts"]["truth"] > 1000
    assert result["counts"]["rebalanced"] > 100
    assert result["counts"]["worlds"] > 3000
    assert result["counts"]["refuted"] > 5
    assert result["counts"]["unrefuted"] > 5
    assert result["counts"]["moves"] > 900
    assert result["counts"]["restarts"] > 10
    assert result["largest"]["z"] < 1e-4
