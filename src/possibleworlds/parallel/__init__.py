"""Parallel work on processes, with results in order and a bounded number of pending tasks.

- `ordered_map`: one function on many tasks; on a Ray cluster, `ray.ray_map`.
- `engines`: calls of any function, each with an outcome, even if its worker dies.
"""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from types import FrameType
from typing import Protocol, TypeVar

from possibleworlds.errors import UserError

T = TypeVar("T")
R = TypeVar("R")

Stop = Callable[[], bool]
"""Returns whether to stop; called between two steps of work."""
Log = Callable[[str], None]
"""Receives a message for people."""

AHEAD = 2
"""How many tasks are submitted per worker ahead of the results."""


class StopRequestedError(Exception):
    """The user has asked to stop; the work so far is safe."""


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def stop_requested(*signals: signal.Signals) -> Iterator[Stop]:
    """Yield a function that tells whether one of the signals has arrived.

    Work that calls it between two steps is never interrupted within one.
    """
    received: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        received.append(number)

    if threading.current_thread() is not threading.main_thread():
        signals = ()  # only the main thread receives them
    previous = {number: signal.signal(number, remember) for number in signals}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def start_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent process, and exit with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class OrderedMap(Protocol):
    """A function that computes the results of tasks in parallel, in order."""

    def __call__(
        self, function: Callable[[T], R], tasks: Iterable[T], workers: int, /
    ) -> Iterator[R]:
        """Yield the results of the tasks."""


def ordered_map(function: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """Yield the results of the tasks in order, computed by several processes.

    There are no more processes than tasks, and a single task runs in this process.
    """
    left = iter(tasks)
    first = list(islice(left, workers))
    workers, tasks = len(first), chain(first, left)
    if workers <= 1:
        yield from map(function, tasks)
        return
    pool = ProcessPoolExecutor(workers, initializer=start_worker, initargs=(os.getpid(),))
    try:
        waiting: deque[Future[R]] = deque()
        for task in tasks:
            waiting.append(pool.submit(function, task))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError("a worker process was killed (out of memory?)") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
