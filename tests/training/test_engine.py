"""A run goes on with the engine that began it, and with no other."""

from pathlib import Path
from typing import Any

import pytest

from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.errors import UserError
from possibleworlds.models.trees import native
from possibleworlds.storage import read_json, write_json
from possibleworlds.training.pipeline import Job
from possibleworlds.training.pipeline import run_job as train

SMALL = {"size": 8, "worlds": 4, "epochs": 3.0, "evaluations": 3}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate_folder(folder, free_splits(400, (1, 4), (1, 5), "fourtuples"), seed=0)
    return folder


def job(name: str, data: Path, out: Path, resume: bool = False, **settings: Any) -> Job:
    return Job(name, data, out, settings, resume=resume)


def test_a_run_names_its_engine_and_goes_on_with_no_other(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    folder = tmp_path / "run"
    train(job("possibleworldnet", data, folder, **SMALL))
    run = read_json(folder / "run.json")
    assert run["engine"] == "torch"
    train(job("possibleworldnet", data, folder, resume=True, **SMALL))
    if native._kernel:
        monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "1")
        with pytest.raises(UserError, match="by the torch engine, not by native: POSSIBLEWORLDS_N"):
            train(job("possibleworldnet", data, folder, resume=True, **SMALL))
        monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    write_json(folder / "run.json", {**run, "engine": "native"})
    with pytest.raises(UserError, match="by the native engine, not by torch: to go on, install"):
        train(job("possibleworldnet", data, folder, resume=True, **SMALL))


def test_a_run_from_before_there_were_engines_is_one_of_torch(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    folder = tmp_path / "run"
    train(job("possibleworldnet", data, folder, **SMALL))
    run = read_json(folder / "run.json")
    del run["engine"]
    write_json(folder / "run.json", run)
    train(job("possibleworldnet", data, folder, resume=True, **SMALL))


def test_networks_without_a_kernel_run_on_torch_whatever_there_is(
    data: Path, tmp_path: Path
) -> None:
    train(job("mlp-bow", data, tmp_path / "run", epochs=1.0))
    assert read_json(tmp_path / "run" / "run.json")["engine"] == "torch"


@pytest.mark.parametrize(("size", "is_multiple"), [(8, False), (16, True)])
@pytest.mark.parametrize("name", ["lstm", "treelstm", "treenet"])
def test_the_engine_of_a_size_that_the_kernel_does_not_take_is_torch(
    name: str, size: int, is_multiple: bool, data: Path, tmp_path: Path
) -> None:
    train(job(name, data, tmp_path / "run", size=size, epochs=1.0))
    expected = native.engine() if is_multiple else "torch"
    assert read_json(tmp_path / "run" / "run.json")["engine"] == expected
