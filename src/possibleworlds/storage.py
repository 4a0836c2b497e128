"""Everything that touches a disk safely: atomic files, JSON, hashes and locks.

- `atomic_write`: a file appears under its name only when it is complete.
- `exclusive_folder`: one process at a time writes to a folder of this host.
- `Lock`: the same across hosts that share a file system, with a heartbeat.

A lock is a series of files NAME.0, NAME.1, ...; only the last one counts. Its holder rewrites it
every second: that is the heartbeat, which also carries the progress for others to read. An emptied
file is a lock that was released. Where neither happens the holder is dead, and another process may
create the next file of the series, which only one of them can do. The last file is never deleted,
so that no process acts on what was true a moment ago. Clocks of different hosts are never compared.
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
"""The size of a JSON file that is read; its values take up to 20 times as much memory."""
TEMPORARY = ".part"
"""How the names of files end that are being written."""
ENDING = len(f".{secrets.token_hex(8)}{TEMPORARY}")
"""How much longer than that of the file their names are, apart from a dot in front."""
FOLDER_TIMEOUT = 5.0
"""Seconds to wait for a folder: workers of a killed process outlive it by a second or so."""
HEARTBEAT = 1.0
"""Seconds between two heartbeats of a lock."""
LOCK_TIMEOUT = 120.0
"""Seconds without a heartbeat after which the holder is taken for dead; network file systems
cache."""
DEAD_PROCESS_TIMEOUT = 3 * HEARTBEAT
"""The same where this host has no such process; a container of the same host name may have it."""
LOCK_FILE_SIZE = 400
"""Bytes of a lock file at least, so that a heartbeat overwrites the one before it completely."""


@contextmanager
def atomic_write(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that takes its name only when it is complete, and on the disk.

    Until then it has a name that nobody can foresee, and was created by this call: a symlink or a
    file of somebody else in a shared folder is never written to. What processes that were killed
    have left of the same file is removed.
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
    """Create a file beside another one to be written in its place; remove it if it is not moved.

    It is locked until then, so that others see that somebody writes to it.
    """
    remove_temporary_files(path.parent, path.name)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for is_last in (False, False, True):
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
        descriptor = os.open(part, flags, 0o666)
        if not fcntl:
            break
        # The lock is that of all copies of the descriptor, and stays when the file is closed.
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
    """Put the names in a folder on the disk, so that none overtakes those before it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_temporary(path: Path) -> bool:
    """Whether a file was never completed, by its name."""
    return re.fullmatch(rf"\..+\.[0-9a-f]{{16}}{re.escape(TEMPORARY)}", path.name) is not None


def remove_temporary_files(folder: Path, name: str = "") -> None:
    """Remove the files that killed processes have left in a folder, or those of one file there.

    A process locks the file that it writes, and the lock ends with it. So what is locked, and
    whatever cannot be, is left alone, as are symlinks and all but regular files.
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
    """Whether a name is still that of an open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def write_text(path: Path, text: str) -> None:
    """Replace a text file."""
    with atomic_write(path) as file:
        file.write(text)


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def read_bounded(path: Path) -> str:
    """Read a small text file; raise ValueError for anything else, such as a pipe or 1 GB."""
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
    """Read the object that a JSON file holds; an empty one where there is no file."""
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
    """Read a JSON file that holds the fields of a dataclass; raise UserError if it does not."""
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
def exclusive_folder(folder: Path) -> Iterator[None]:
    """Create a folder if need be, and be the only process of this host that writes to it.

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
        """Whether another process took this one for dead, say because it was suspended."""
        self.progress: dict[str, Any] = {}
        """What other processes can read about the work."""
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
                continue  # a full disk, or an unreachable file server: the next may come through
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
    """Acquire the lock of this name; None where another process holds it."""
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
    # A hard link appears together with its content, and fails where another process was faster.
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
        if (now := read_lock(file)) != first:
            return bool(now)
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
    """Give the path of a file of the series."""
    return path.with_name(f"{path.name}.{number}")


def last_lock_number(path: Path) -> int:
    """Find the number of the last file of the series; -1 where there is none."""
    parts = (name.rpartition(".") for name in os.listdir(path.parent))
    return max(
        (int(n) for name, _, n in parts if name == path.name and is_lock_number(n)), default=-1
    )


def is_lock_number(text: str) -> bool:
    """Whether a text is the number of a file of a series, and not merely some digits."""
    return text.isascii() and text.isdecimal() and len(text) < 16


def holder_is_gone(message: dict[str, Any]) -> bool:
    """Whether the holder was a process of this host that no longer exists."""
    if message.get("host") != socket.gethostname():
        return False
    pid = message.get("pid")
    if not isinstance(pid, int) or not 0 < pid < 1 << 31:
        return False  # no message of ours, or one that was caught in the middle of a write
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)  # not where another user runs it
    return False


def lock_message(content: dict[str, Any]) -> bytes:
    """Encode what this process writes in one go, so that a reader sees it whole."""
    holder = {"host": socket.gethostname(), "pid": os.getpid()}
    return json.dumps({**holder, **content}).ljust(LOCK_FILE_SIZE).encode()


def read_lock(file: Path) -> dict[str, Any]:
    """Read the holder's message; an empty one where nobody holds the lock."""
    try:
        text = read_bounded(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        return {"unreadable": str(error)}  # an unreachable file server, say: nothing is known
    try:
        message = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        message = None
    # Anything else was caught in the middle of a write, so that somebody is alive.
    return message if isinstance(message, dict) else {"unreadable": text}
