"""A lock on a file system that hosts share; it dies with the process that holds it.

A lock is a series of files, NAME.0, NAME.1, ...; the last of them counts. Whoever holds it writes
into its file every second: that is the heartbeat, and it carries the progress for others to see.
An emptied file is a lock that was given back. Where neither happens the holder is dead, and the
next file of the series may be made, which only one process can do. The last file is never deleted,
so that nobody is fooled by what was true a moment ago. Clocks of hosts are not compared.
"""

import json
import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from possibleworlds.errors import StorageError

BEAT = 1.0
"""Seconds between two heartbeats."""
PATIENCE = 120.0
"""Seconds without one after which a holder is taken for dead; caches of shared files are slow."""
PATIENCE_WITHOUT_PROCESS = 3 * BEAT
"""The same where this host has no such process; another container of the same name may have it."""
LENGTH = 400
"""What a file holds at least, so that the next heartbeat covers all of the last one."""


class Lock:
    """A lock that this process holds until it gives it back or ends."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.number = path, number
        self.lost = False
        """Whether another process took this one for dead, say because it was suspended."""
        self.progress: dict[str, Any] = {}
        """What others get to see of the work."""
        self.given_back = threading.Event()
        self.thread = threading.Thread(target=self.beat, daemon=True)
        self.thread.start()

    def beat(self) -> None:
        """Show that the process lives, until the lock is given back or lost."""
        own, following = (numbered(self.path, self.number + i) for i in (0, 1))
        count = 0
        while not self.given_back.wait(BEAT):
            count += 1
            try:
                with own.open("r+b", buffering=0) as file:
                    file.write(message({**self.progress, "beat": count}))
                self.lost = following.exists()
            except FileNotFoundError:
                self.lost = True
            except OSError:
                continue  # a full disk, or a file server that is away: the next may come through
            if self.lost:
                return

    def release(self) -> None:
        """Give the lock back."""
        self.given_back.set()
        self.thread.join()
        if not self.lost:
            with suppress(OSError):  # then it dies with this process
                os.truncate(numbered(self.path, self.number), 0)


def acquire(path: Path) -> Lock | None:
    """The lock of this name, or None where another process holds it."""
    try:
        return try_to_acquire(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None


def try_to_acquire(path: Path) -> Lock | None:
    """The same, where the file system lets it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = last_number(path)
    if number >= 0 and is_alive(numbered(path, number)):
        return None
    number += 1
    # A link comes into being with its content, and fails where another process was faster.
    made = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        made.write_bytes(message({"beat": 0}))
        os.link(made, numbered(path, number))
    except FileExistsError:
        return None
    finally:
        made.unlink(missing_ok=True)
    if last_number(path) != number:
        numbered(path, number).unlink(missing_ok=True)
        return None
    for earlier in range(number):
        numbered(path, earlier).unlink(missing_ok=True)
    return Lock(path, number)


def is_alive(file: Path) -> bool:
    """Whether a lock is held, by looking at it until its heart beats or patience ends."""
    first = read(file)
    if not first:
        return False
    until = time.monotonic() + (PATIENCE_WITHOUT_PROCESS if is_gone(first) else PATIENCE)
    while time.monotonic() < until:
        time.sleep(BEAT / 4)
        if (now := read(file)) != first:
            return bool(now)
    return False


def held(folder: Path) -> dict[str, dict[str, Any]]:
    """What the holders of the locks in a folder say, by name, as far as they seem alive."""
    latest: dict[str, int] = {}
    for entry in os.scandir(folder) if folder.is_dir() else ():
        name, _, number = entry.name.rpartition(".")
        if number.isdecimal():
            latest[name] = max(int(number), latest.get(name, -1))
    said = {name: read(numbered(folder / name, number)) for name, number in latest.items()}
    return {name: found for name, found in said.items() if found and not is_gone(found)}


def numbered(path: Path, number: int) -> Path:
    """A file of the series."""
    return path.with_name(f"{path.name}.{number}")


def last_number(path: Path) -> int:
    """The number of the last file of the series; -1 where there is none."""
    parts = (name.rpartition(".") for name in os.listdir(path.parent))
    return max((int(n) for name, _, n in parts if name == path.name and n.isdecimal()), default=-1)


def is_gone(said: dict[str, Any]) -> bool:
    """Whether the holder was a process of this host that it no longer has."""
    if said.get("host") != socket.gethostname():
        return False
    try:
        os.kill(said["pid"], 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)  # not where another user has it
    return False


def message(said: dict[str, Any]) -> bytes:
    """What this process writes, at once, so that a reader sees it whole."""
    who = {"host": socket.gethostname(), "pid": os.getpid()}
    return json.dumps({**who, **said}).ljust(LENGTH).encode()


def read(file: Path) -> dict[str, Any]:
    """What the holder says, or nothing where there is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        return {"unreadable": str(error)}  # a file server that is away: nothing is known
    try:
        said: dict[str, Any] = json.loads(text) if text else {}
    except ValueError:
        return {"unreadable": text}  # caught in the middle of a write: somebody is alive
    return said
