"""Locks: one holder at a time, and none that is dead; files: whole, and nothing beside them."""

import errno
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from possibleworlds import storage
from possibleworlds.errors import StorageError
from possibleworlds.storage import (
    acquire_lock,
    atomic_write,
    exclusive_folder,
    held_locks,
    is_temporary,
    read_lock,
    removed_if_empty,
    write_text,
)


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


def write_slowly(path: Path, started: Any, go_on: Any) -> None:
    with atomic_write(path) as file:
        file.write("half")
        file.flush()
        started.set()
        go_on.wait(60)
        file.write(" and half")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A process in the middle of writing x.txt, and what lets it go on."""
    context = multiprocessing.get_context("fork")
    started, go_on = context.Event(), context.Event()
    arguments = (tmp_path / "x.txt", started, go_on)
    process = context.Process(target=write_slowly, args=arguments)
    process.start()
    assert started.wait(60)
    yield process, go_on
    process.kill()
    process.join()


def temporary_files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if is_temporary(path)]


@pytest.mark.parametrize("way", ["the same file", "the folder", "a lock"])
def test_what_a_killed_writer_left_is_removed_by_the_next(
    way: str, tmp_path: Path, writer: tuple[Any, Any]
) -> None:
    process, _ = writer
    (half,) = temporary_files(tmp_path)
    process.kill()
    process.join()
    assert half.read_text() == "half"
    write_text(tmp_path / "another.txt", "whole")
    assert half.exists()
    if way == "the same file":
        write_text(tmp_path / "x.txt", "whole")
    elif way == "the folder":
        with exclusive_folder(tmp_path):
            pass
    else:
        lock = acquire_lock(tmp_path / "x.txt")
        assert lock
        lock.release()
    assert not temporary_files(tmp_path)


def test_what_a_living_process_writes_is_left_to_it(
    tmp_path: Path, writer: tuple[Any, Any]
) -> None:
    process, go_on = writer
    write_text(tmp_path / "x.txt", "whole")
    with exclusive_folder(tmp_path):
        assert len(temporary_files(tmp_path)) == 1
    go_on.set()
    process.join()
    assert process.exitcode == 0
    assert (tmp_path / "x.txt").read_text() == "half and half"
    assert not temporary_files(tmp_path)


def test_only_what_is_ours_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "thesis.txt"
    target.write_text("mine")
    ours = tmp_path / f".x.txt.{16 * '0'}.part"
    ours.write_text("half")
    (tmp_path / f".x.txt.{16 * '1'}.part").symlink_to(target)
    (tmp_path / f".x.txt.{16 * '2'}.part").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / f".x.txt.{16 * '3'}.part")
    (tmp_path / f".x.txt.{16 * '4'}.part").mkdir()
    for name in ("x.txt.part", ".x.txt.part", f".x.txt.{15 * '5'}.part", f"x.txt.{16 * '5'}.part"):
        (tmp_path / name).touch()
    before = set(tmp_path.iterdir())
    with exclusive_folder(tmp_path):
        write_text(tmp_path / "x.txt", "whole")
    assert set(tmp_path.iterdir()) == before - {ours} | {tmp_path / "x.txt"}
    assert target.read_text() == "mine"


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, removed = pytest.importorskip("fcntl").flock, []

    def faster(descriptor: int, operation: int) -> None:
        if not removed:
            removed.extend(temporary_files(tmp_path))
            removed[0].unlink()
        real(descriptor, operation)

    monkeypatch.setattr("fcntl.flock", faster)
    write_text(tmp_path / "x.txt", "whole")
    assert len(removed) == 1
    assert (tmp_path / "x.txt").read_text() == "whole"
    assert not temporary_files(tmp_path)


def test_without_locks_files_are_written_and_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    left = tmp_path / f".x.txt.{16 * '0'}.part"
    left.touch()
    monkeypatch.setattr("fcntl.flock", unsupported)
    with exclusive_folder(tmp_path):
        write_text(tmp_path / "x.txt", "whole")
    assert (tmp_path / "x.txt").read_text() == "whole"
    assert temporary_files(tmp_path) == [left]


def write_often(path: Path, text: str) -> None:
    for _ in range(200):
        write_text(path, text)


def test_many_who_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    texts = [4000 * letter for letter in "abcd"]
    arguments = [(tmp_path / "x.txt", text) for text in texts]
    processes = [context.Process(target=write_often, args=one) for one in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert (tmp_path / "x.txt").read_text() in texts
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.parametrize("error", [StorageError, KeyboardInterrupt])
def test_new_folders_without_content_are_removed(
    error: type[BaseException], tmp_path: Path
) -> None:
    old, new, filled = tmp_path / "old", tmp_path / "new" / "inner", tmp_path / "filled" / "inner"
    old.mkdir()

    def fail(folder: Path) -> None:
        with removed_if_empty(folder), exclusive_folder(folder):
            if folder == filled:
                (folder / "file").touch()
            raise error

    for folder in (old, new, filled):
        with pytest.raises(error):
            fail(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"old", "filled"}
