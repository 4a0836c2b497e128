"""Locks: one holder at a time, and none that is dead."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from possibleworlds import storage
from possibleworlds.errors import StorageError
from possibleworlds.storage import acquire_lock, held_locks, read_lock


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "HEARTBEAT", 0.05)
    monkeypatch.setattr(storage, "LOCK_TIMEOUT", 1.0)
    monkeypatch.setattr(storage, "DEAD_PROCESS_TIMEOUT", 0.2)


def until(true: Callable[[], bool]) -> None:
    """Wait for what another process or thread does, for a minute at most."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_lock_is_held_by_one_and_given_back(tmp_path: Path) -> None:
    first = acquire_lock(tmp_path / "x")
    assert first
    first.progress = {"share": 0.5}
    assert acquire_lock(tmp_path / "x") is None
    assert acquire_lock(tmp_path / "y")
    until(lambda: held_locks(tmp_path)["x"].get("share") == 0.5)
    first.release()
    assert "x" not in held_locks(tmp_path)
    second = acquire_lock(tmp_path / "x")
    assert second
    assert [path.name for path in tmp_path.glob("x*")] == ["x.1"]
    second.release()


def test_a_lock_that_cannot_be_read_or_made(tmp_path: Path) -> None:
    (tmp_path / "x.0").mkdir()
    assert "unreadable" in read_lock(tmp_path / "x.0")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file/x: File exists"):
        acquire_lock(tmp_path / "file" / "x")


def hold(path: Path) -> None:
    acquire_lock(path)
    time.sleep(60)


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=hold, args=(tmp_path / "x",))
    process.start()
    until(lambda: bool(held_locks(tmp_path)))
    assert acquire_lock(tmp_path / "x") is None
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    lock = acquire_lock(tmp_path / "x")
    assert lock
    lock.release()


def test_a_holder_that_stood_still_finds_its_lock_lost(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=hold, args=(tmp_path / "x",))
    process.start()
    until(lambda: bool(held_locks(tmp_path)))
    os.kill(process.pid or 0, signal.SIGSTOP)
    taken = acquire_lock(tmp_path / "x")  # only after it has been patient
    assert taken
    os.kill(process.pid or 0, signal.SIGCONT)
    time.sleep(0.3)
    assert not taken.lost
    assert [path.name for path in tmp_path.iterdir()] == ["x.1"]
    taken.path.with_name("x.2").touch()
    until(lambda: taken.lost)
    process.kill()
    process.join()


def compete(path: Path, wins: Path, everyone: Barrier) -> None:
    lock = acquire_lock(path)
    if lock:
        with wins.open("a") as file:
            file.write("won\n")
    everyone.wait(60)  # a lock ends with its holder


def test_of_many_only_one_wins(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "x.7").touch()  # given back
    context = multiprocessing.get_context("fork")
    arguments = (tmp_path / "locks" / "x", tmp_path / "wins", context.Barrier(8))
    processes = [context.Process(target=compete, args=arguments) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert (tmp_path / "wins").read_text() == "won\n"
