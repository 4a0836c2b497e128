"""Pretrained networks for the Hugging Face Hub: saved and loaded by huggingface_hub itself."""

from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")

import possibleworlds as pw
from possibleworlds.integrations.hub import HubNetwork, export_network
from possibleworlds.models.registry import names
from possibleworlds.training.checkpoint import SHIPPED

PRETRAINED = [name for name in names() if (SHIPPED / name).is_dir()]


@pytest.mark.parametrize("name", PRETRAINED)
def test_a_network_is_the_same_after_a_round_trip(name: str, tmp_path: Path) -> None:
    folder = export_network(name, tmp_path)
    assert {"config.json", "model.safetensors", "README.md"} <= {p.name for p in folder.iterdir()}
    there, here = HubNetwork.from_pretrained(str(folder)).network(), pw.load(name)
    for a, b in (("p & q", "q"), ("p -> q", "q -> p"), ("~(p | q)", "~p & ~q")):
        assert there.probability(a, b) == here.probability(a, b)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"# {name}" in card
    assert "license: apache-2.0" in card


def test_only_networks_of_the_package_are_made(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model": "os:system", "settings": {}}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(pw.UserError, match="not a network of this package"):
        HubNetwork.from_pretrained(str(tmp_path))
