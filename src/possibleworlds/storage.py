"""Everything that touches a disk safely: atomic files, JSON, hashes and locks.

- `atomic_write`: a file appears under its name only when it is complete.
- `exclusive_folder`: one process at a time writes to a folder of this host.
- `Lock`: the same across hosts that share a file system, with a heartbeat.

A lock is a series of files NAME.0, NAME.1, ...; only the last one counts. Its holder rewrites it
every second: this heartbeat also contains its progress, for others to read. An empty file is a lock
that was released. If neither happens, the holder is dead, and another process may create the next
file of the series, which only one of them can do. The last file is never deleted, so that no
process acts on outdated information. Clocks of different hosts are never compared.
"""

import hashlib
import json
import os
import re
import secrets
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from possibleworlds.errors import BusyError, StorageError, UserError, reason
from possibleworlds.records import from_json

try:
    import fcntl
except ImportError:  # on Windows nothing keeps two processes apart
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

MAX_JSON_BYTES = 32 << 20
"""The largest JSON file that is read; its values take up to 20 times as much memory."""
TEMPORARY = ".part"
"""The suffix of files that are being written."""
ENDING = len(f".{secrets.token_hex(8)}{TEMPORARY}")
"""The length that is added to the end of their names."""
FOLDER_TIMEOUT = 5.0
"""Seconds to wait for a folder: workers of a killed process outlive it by about a second."""
HEARTBEAT = 1.0
"""Seconds between two heartbeats of a lock."""
LOCK_TIMEOUT = 120.0
"""Seconds without a heartbeat after which the holder is taken for dead; network file systems
cache."""
DEAD_PROCESS_TIMEOUT = 3 * HEARTBEAT
"""The same if this host has no such process; a container with its host name may have it."""
LOCK_FILE_SIZE = 400
"""The minimum bytes of a lock file, so that a heartbeat overwrites the previous one."""


@contextmanager
def atomic_write(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that gets its name only when it is complete and on the disk.

    Until then it has an unpredictable name, and was created by this call: a symlink or somebody
    else's file in a shared folder is never written to. Temporary files that killed processes have
    left of the same file are removed.
    """
    mode: dict[str, Any] = (
        {"mode": "wb"} if binary else {"mode": "w", "encoding": "utf-8", "newline": "\n"}
    )
    try:
        with temporary_file(path) as (part, descriptor):
            with open(descriptor, **mode) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None


@contextmanager
def temporary_file(path: Path) -> Iterator[tuple[Path, int]]:
    """Create a file to replace another one in the same folder; remove it unless it was moved.

    It is locked until then, so that others see that it is being written.
    """
    remove_temporary_files(path.parent, path.name)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for is_last in (False, False, True):
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
        descriptor = os.open(part, flags, 0o666)
        if not fcntl:
            break
        # All copies of the descriptor share the lock, which stays when the file is closed.
        lock = os.dup(descriptor)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        if is_same_file(part, lock) or is_last:
            break
        os.close(lock)  # another process has removed the file before it was locked
        os.close(descriptor)
    try:
        yield part, descriptor
    finally:
        part.unlink(missing_ok=True)
        if fcntl:
            os.close(lock)


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to the disk, so that they appear in order."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_temporary(path: Path) -> bool:
    """Whether the name of a file is that of one that was never completed."""
    return re.fullmatch(rf"\..+\.[0-9a-f]{{16}}{re.escape(TEMPORARY)}", path.name) is not None


def remove_temporary_files(folder: Path, name: str = "") -> None:
    """Remove the temporary files that killed processes have left in a folder, or those of one file.

    A process locks the file that it writes, and the lock ends with it. So files that are locked, or
    cannot be, are left alone, as are symlinks and everything but regular files.
    """
    if not fcntl:
        return
    for entry in os.listdir(folder):
        path = folder / entry
        if not is_temporary(path) or (name and path.name[1:-ENDING] != name):
            continue
        with suppress(OSError):
            if not stat.S_ISREG(path.lstat().st_mode):
                continue
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if is_same_file(path, descriptor):
                    path.unlink()
            finally:
                os.close(descriptor)


def is_same_file(path: Path, descriptor: int) -> bool:
    """Whether a path still refers to an open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def open_regular(path: str, flags: int) -> int:
    """Open a file, without following a symlink or blocking on a pipe: an opener for `open`."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def write_text(path: Path, text: str) -> None:
    """Replace a text file."""
    with atomic_write(path) as file:
        file.write(text)


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def read_bounded(path: Path) -> str:
    """Read a small text file; raise ValueError for anything else, such as a pipe."""
    if (size := file_size(path)) > MAX_JSON_BYTES:
        raise ValueError(f"{size:,} bytes, and the limit is {MAX_JSON_BYTES:,}")
    return path.read_text(encoding="utf-8")


def file_size(path: Path) -> int:
    """Look up the size of a file; raise ValueError for a pipe or device, which may never end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("not a regular file")
    return status.st_size


def read_json(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file; empty if there is no file."""
    try:
        value = json.loads(read_bounded(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {reason(error)}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} does not hold an object")
    return value


def read_record(path: Path, record: type[T]) -> T:
    """Read a JSON file as a dataclass; raise UserError if it does not fit."""
    return from_json(read_json(path), record, str(path))


def sha256(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    try:
        file_size(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


@contextmanager
def removed_if_empty(folder: Path) -> Iterator[None]:
    """After an error or Ctrl-C, remove a folder, and those above it, that are new and empty."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty
            for path in missing:
                path.rmdir()
        raise


@contextmanager
def exclusive_folder(folder: Path) -> Iterator[None]:
    """Create a folder if needed, and be the only process of this host that writes to it.

    The lock is on the folder itself: it leaves no file behind, and ends with the process.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY) if fcntl else -1
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror}") from None
    try:
        deadline = time.monotonic() + FOLDER_TIMEOUT
        while fcntl:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BusyError(f"{folder}: another process is writing to it") from None
                time.sleep(0.05)
                continue
            except OSError:
                pass  # a file system without locks
            else:
                remove_temporary_files(folder)
            break
        yield
    finally:
        if fcntl:
            # Released explicitly, as worker processes have inherited the descriptor.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


class Lock:
    """A lock that this process holds until it releases it or ends."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.number = path, number
        self.lost = False
        """Whether another process assumed that this one was dead, as after a suspension."""
        self.progress: dict[str, Any] = {}
        """The progress of the work, for other processes to read."""
        self.released = threading.Event()
        self.thread = threading.Thread(target=self.beat, daemon=True)
        self.thread.start()

    def beat(self) -> None:
        """Write heartbeats until the lock is released or lost."""
        current, successor = (lock_file(self.path, self.number + i) for i in (0, 1))
        count = 0
        while not self.released.wait(HEARTBEAT):
            count += 1
            try:
                with current.open("r+b", buffering=0) as file:
                    file.write(lock_message({**self.progress, "beat": count}))
                self.lost = successor.exists()
            except FileNotFoundError:
                self.lost = True
            except OSError:
                continue  # a full disk, or an unreachable file server: the next attempt may succeed
            if self.lost:
                return

    def release(self) -> None:
        """Release the lock."""
        self.released.set()
        self.thread.join()
        if not self.lost:
            with suppress(OSError):  # then it expires with this process
                os.truncate(lock_file(self.path, self.number), 0)


def acquire_lock(path: Path) -> Lock | None:
    """Acquire the lock of this name; None if another process holds it."""
    try:
        return _acquire_lock(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None


def _acquire_lock(path: Path) -> Lock | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    number = last_lock_number(path)
    if number >= 0 and lock_is_alive(lock_file(path, number)):
        return None
    number += 1
    # A hard link appears together with its content, and fails if another process was faster.
    with temporary_file(path) as (draft, descriptor):
        with open(descriptor, "wb") as file:
            file.write(lock_message({"beat": 0}))
        try:
            os.link(draft, lock_file(path, number))
        except FileExistsError:
            return None
    if last_lock_number(path) != number:
        lock_file(path, number).unlink(missing_ok=True)
        return None
    for name in os.listdir(path.parent):
        series, _, n = name.rpartition(".")
        if series == path.name and is_lock_number(n) and int(n) < number:
            path.with_name(name).unlink(missing_ok=True)
    return Lock(path, number)


def lock_is_alive(file: Path) -> bool:
    """Whether a lock is held: watch it until a heartbeat or the timeout."""
    first = read_lock(file)
    if not first:
        return False
    timeout = DEAD_PROCESS_TIMEOUT if holder_is_gone(first) else LOCK_TIMEOUT
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        time.sleep(HEARTBEAT / 4)
        if (latest := read_lock(file)) != first:
            return bool(latest)
    return False


def held_locks(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the messages of the locks in a folder whose holders seem alive, by name."""
    latest: dict[str, int] = {}
    for entry in os.scandir(folder) if folder.is_dir() else ():
        name, _, number = entry.name.rpartition(".")
        if is_lock_number(number):
            latest[name] = max(int(number), latest.get(name, -1))
    messages = {name: read_lock(lock_file(folder / name, n)) for name, n in latest.items()}
    return {name: m for name, m in messages.items() if m and not holder_is_gone(m)}


def lock_file(path: Path, number: int) -> Path:
    """Return the path of a file of the series."""
    return path.with_name(f"{path.name}.{number}")


def last_lock_number(path: Path) -> int:
    """Find the number of the last file of the series; -1 if there is none."""
    parts = (name.rpartition(".") for name in os.listdir(path.parent))
    return max(
        (int(n) for name, _, n in parts if name == path.name and is_lock_number(n)), default=-1
    )


def is_lock_number(text: str) -> bool:
    """Whether a text is the number of a file of a series."""
    return text.isascii() and text.isdecimal() and len(text) < 16


def holder_is_gone(message: dict[str, Any]) -> bool:
    """Whether the holder was a process of this host that no longer exists."""
    if message.get("host") != socket.gethostname():
        return False
    pid = message.get("pid")
    if not isinstance(pid, int) or not 0 < pid < 1 << 31:
        return False  # not a message of this package, or one that is being written
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(
            error, ProcessLookupError
        )  # another user's process raises PermissionError
    return False


def lock_message(content: dict[str, Any]) -> bytes:
    """Encode a message that is written in one call, so that a reader sees all of it."""
    holder = {"host": socket.gethostname(), "pid": os.getpid()}
    return json.dumps({**holder, **content}).ljust(LOCK_FILE_SIZE).encode()


def read_lock(file: Path) -> dict[str, Any]:
    """Read the holder's message; empty if nobody holds the lock."""
    try:
        text = read_bounded(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        return {
            "unreadable": str(error)
        }  # such as an unreachable file server: the state is unknown
    try:
        message = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        message = None
    # Anything else is being written, so the holder is alive.
    return message if isinstance(message, dict) else {"unreadable": text}
