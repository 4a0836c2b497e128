"""Data sets for the Hugging Face Hub, read back by `datasets` and validated by mlcroissant."""

import json
from pathlib import Path

import pytest

datasets = pytest.importorskip("datasets", reason="datasets is not installed")
mlc = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")

from possibleworlds.data.files import data_files, read_pairs  # noqa: E402
from possibleworlds.data.splits import PRESETS, generate_folder  # noqa: E402
from possibleworlds.errors import UserError  # noqa: E402
from possibleworlds.integrations.huggingface import export_dataset  # noqa: E402
from possibleworlds.integrations.solvers import record  # noqa: E402


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("out")
    generate_folder(folder, PRESETS["small"], 0)
    export_dataset(data_files([folder]), out)
    return folder, out


def test_datasets_reads_the_same_rows(exported: tuple[Path, Path], tmp_path: Path) -> None:
    folder, out = exported
    loaded = datasets.load_dataset(str(out), cache_dir=str(tmp_path))
    assert set(loaded) == {file.stem for file in data_files([folder])}
    for split, rows in loaded.items():
        assert list(rows) == [record(pair) for pair in read_pairs(folder / f"{split}.txt")]


def test_croissant_is_valid_and_gives_the_rows(exported: tuple[Path, Path]) -> None:
    folder, out = exported
    described = mlc.Dataset(jsonld=str(out / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    first = next(iter(described.records("test_exam")))
    pair = next(read_pairs(folder / "test_exam.txt"))
    assert first["test_exam/A"].decode() == record(pair)["A"]
    assert first["test_exam/label"] == pair.label


def test_the_card_says_how_it_was_made(exported: tuple[Path, Path]) -> None:
    _, out = exported
    card = (out / "README.md").read_text(encoding="utf-8")
    for words in ("license: apache-2.0", "split: test_hard", "seed 0", "## Limits"):
        assert words in card
    assert json.loads((out / "croissant.json").read_text())["license"]


def test_files_of_one_name_are_an_error(exported: tuple[Path, Path], tmp_path: Path) -> None:
    folder, _ = exported
    (tmp_path / "train.txt").write_bytes((folder / "train.txt").read_bytes())
    with pytest.raises(UserError, match="same name"):
        export_dataset([folder / "train.txt", tmp_path / "train.txt"], tmp_path / "out")
