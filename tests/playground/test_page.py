"""The page as a file: complete, small, closed to the outside; and the command that writes it."""

import re
import subprocess
import webbrowser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from possibleworlds import entails
from possibleworlds.cli import app
from possibleworlds.data.exam import ENTAILMENTS
from possibleworlds.errors import UserError
from possibleworlds.playground import page
from possibleworlds.playground.page import FALLACIES, HERE, NETWORKS

SOURCES = [path for path in Path(str(HERE)).iterdir() if path.suffix in (".js", ".css", ".html")]


def test_the_page_is_small_and_its_sources_are_readable(page_file: Path) -> None:
    assert page_file.stat().st_size < 1_500_000
    lines = [line for path in SOURCES for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) < 2600
    assert max(map(len, lines)) <= 140


def test_the_page_names_no_other_address(page_file: Path) -> None:
    text = page_file.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "default-src 'none'" in text
    assert "{{" not in text
    assert "innerHTML" not in text
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)


def test_every_time_the_same_page(page_file: Path) -> None:
    assert page.assemble() == page_file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_are_read_without_torch_as_with_it(name: str) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    content = (page.CHECKPOINTS / name / "model.safetensors").read_bytes()
    arrays, expected = page.read_safetensors(content), safetensors.load(content)
    assert arrays.keys() == expected.keys() == set(page.WEIGHTS)
    for key, array in arrays.items():
        np.testing.assert_array_equal(array, expected[key])
    assert sum(array.size for array in arrays.values()) == 28_993


def test_weights_of_another_type_are_refused() -> None:
    header = b'{"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}'
    with pytest.raises(UserError, match="not F32"):
        page.read_safetensors(len(header).to_bytes(8, "little") + header + bytes(8))


def test_examples_and_pairs_are_what_they_are_called() -> None:
    assert all(entails(a, b) for _, a, b in ENTAILMENTS)
    assert not any(entails(a, b) for _, a, b in FALLACIES)
    pairs = page.samples()
    assert pairs.keys() == {"train", "easy", "hard", "big", "massive", "3-CNF"}
    for rows in pairs.values():
        assert len(rows) >= 40
        assert all(entails(a, b) == (label == "1") for a, b, label in rows)
        assert sum(label == "1" for *_, label in rows) * 2 == len(rows)


def test_the_command_saves_the_page(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["playground", "--save", str(path)])
    assert result.exit_code == 0
    assert path.read_text(encoding="utf-8") == page.assemble()


def test_the_command_opens_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert CliRunner().invoke(app, ["playground"]).exit_code == 0
    (address,) = opened
    assert Path(address.removeprefix("file://")).read_text(encoding="utf-8") == page.assemble()


def test_no_place_to_save_to_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "page.html"
    result = CliRunner().invoke(app, ["playground", "--save", str(path)])
    assert isinstance(result.exception, UserError)
    assert str(path) in str(result.exception)


def test_the_script_is_valid(node: str, page_file: Path, tmp_path: Path) -> None:
    """Two modules that define the same name would clash once they are one script."""
    script = re.search(
        r'<script type="module">(.*)</script>', page_file.read_text(encoding="utf-8"), re.DOTALL
    )
    assert script
    (tmp_path / "page.mjs").write_text(script[1], encoding="utf-8")
    subprocess.run([node, "--check", str(tmp_path / "page.mjs")], check=True, timeout=900)
