"""A run that is killed at any boundary of a write: weights, state and metrics belong together."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import possibleworlds as pw
from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.storage import is_temporary
from possibleworlds.training import checkpoint
from possibleworlds.training.checkpoint import (
    METRICS,
    RUN,
    load_model,
    load_tensors,
    read_history,
    read_run,
)
from possibleworlds.training.pipeline import Job, run_job

if not hasattr(os, "fork"):
    pytest.skip("needs fork", allow_module_level=True)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate_folder(folder, free_splits(160, (1, 3), (1, 3), "fourtuples"), seed=0)
    return folder


def killing(function: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    """Wrap a function so that the process is killed just before or after one of its calls."""

    def boundary() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def call(*arguments: Any, **options: Any) -> Any:
        boundary()
        result = function(*arguments, **options)
        boundary()
        return result

    return call


def train_and_die(job: Job, boundary: int) -> bool:
    """Train in a process that is killed at a boundary; False where the run has fewer."""
    child = os.fork()
    if child == 0:
        left = [boundary]
        os.fsync, os.replace = killing(os.fsync, left), killing(os.replace, left)
        run_job(job)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def check(folder: Path) -> None:
    """Compare all that the files of a run say of its last checkpoint."""
    record = read_run(folder)
    history = read_history(folder, record)
    if record.metrics is None:
        assert (record.weights, record.state, history) == (None, None, [])
        return
    assert record.weights is not None
    assert record.state is not None
    load_model(folder)
    _, metadata = load_tensors(folder / record.weights)
    assert metadata["step"] == str(record.metrics.best_step)
    progress = json.loads(load_tensors(folder / record.state)[1]["progress"])
    assert progress["step"] == record.metrics.step
    assert len(progress["history"]) == len(history)
    assert max(line.validation for line in history) == record.metrics.validation
    if record.finished:  # nobody need go on with it, so that nobody would remove anything
        names = {path.name for path in folder.iterdir() if not is_temporary(path)}
        assert names == {RUN, METRICS, record.weights, record.state}


@pytest.mark.parametrize("length", [{"epochs": 2.0}, {"minutes": 0.003}])
def test_a_kill_at_any_boundary(length: dict[str, float], data: Path, tmp_path: Path) -> None:
    settings = {"size": 4, "mlp_size": 4, "evaluations": 3, **length}
    whole = tmp_path / "whole"
    job = Job("treenet", data, tmp_path / "run", settings, resume=True)
    run_job(Job("treenet", data, whole, settings))
    boundary, kills = 1, 0
    while train_and_die(job, boundary):
        kills += 1
        if (tmp_path / "run" / RUN).exists():
            check(tmp_path / "run")
        run_job(job)
        check(tmp_path / "run")
        record = read_run(tmp_path / "run")
        assert record.finished
        files = {RUN, METRICS, record.weights, record.state}
        assert {path.name for path in (tmp_path / "run").iterdir()} == files
        if "epochs" in length:
            names = [(name, read_run(name)) for name in (whole, tmp_path / "run")]
            ours, theirs = (load_tensors(path / str(r.weights))[0] for path, r in names)
            assert all((ours[name] == theirs[name]).all() for name in ours)
        shutil.rmtree(tmp_path / "run")
        boundary += 3
    assert kills >= 5


def test_a_kill_at_the_end_of_a_run(data: Path, tmp_path: Path) -> None:
    settings = {"size": 4, "mlp_size": 4, "evaluations": 2, "epochs": 1.0}
    boundary, finished = 48, 0
    while train_and_die(Job("treenet", data, tmp_path / f"{boundary}", settings), boundary):
        check(tmp_path / f"{boundary}")
        finished += read_run(tmp_path / f"{boundary}").finished
        boundary += 1
    assert finished


def test_weights_are_those_of_the_record_not_of_a_name(data: Path, tmp_path: Path) -> None:
    settings = {"size": 4, "mlp_size": 4, "epochs": 1.0, "evaluations": 1}
    run_job(Job("treenet", data, tmp_path / "run", settings))
    before = pw.load(tmp_path / "run").probability("p", "q")
    other = tmp_path / "run" / "model-999.safetensors"  # of a checkpoint that was not completed
    other.write_bytes(b"nonsense")
    assert pw.load(tmp_path / "run").probability("p", "q") == before
    run_job(Job("treenet", data, tmp_path / "run", settings, resume=True))
    assert not other.exists()


def test_a_state_is_as_large_as_its_network_makes_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state has the weights, their average, and two moments, which the limit is not for."""
    settings = {"size": 16, "epochs": 1.0, "evaluations": 1}
    run_job(Job("treenet", data, tmp_path / "run", settings))
    record = read_run(tmp_path / "run")
    files = str(record.weights), str(record.state)
    sizes = [(tmp_path / "run" / name).stat().st_size for name in files]
    monkeypatch.setattr(checkpoint, "MAX_TENSOR_BYTES", 2 * sizes[0])
    assert sizes[1] > 2 * sizes[0]
    longer = Job("treenet", data, tmp_path / "run", {**settings, "epochs": 2.0}, resume=True)
    assert run_job(longer).metrics.step == 2 * record.metrics.step
    monkeypatch.setattr(checkpoint, "MAX_TENSOR_BYTES", sizes[0] // 4)
    with pytest.raises(pw.UserError, match="it has more than"):
        run_job(replace(longer, settings={**settings, "epochs": 3.0}))
