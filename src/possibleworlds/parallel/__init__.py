"""Work spread over processes, with results in order and nothing piling up.

- `ordered_map`: tasks of one kind; on a Ray cluster, `ray.ray_map`.
- `engines`: calls of any kind, each with an outcome of its own, even where its worker dies.
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
"""Whether work is to stop, asked between two steps."""
Log = Callable[[str], None]
"""What takes a line for people."""

AHEAD = 2
"""How many tasks a worker has waiting beside the one it is at."""


class StopRequestedError(Exception):
    """The user wants the work to stop; what is done so far is safe."""


def cores() -> int:
    """Count the processes that this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def stop_requested(*signals: signal.Signals) -> Iterator[Stop]:
    """Whether one of the signals has come since the beginning.

    Work that asks this stops between two steps, never within one.
    """
    received: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        received.append(number)

    if threading.current_thread() is not threading.main_thread():
        signals = ()  # only the main thread hears of them
    before = {number: signal.signal(number, remember) for number in signals}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def begin_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent process, and end with it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class OrderedMap(Protocol):
    """Whatever computes the results of tasks, in their order, somewhere."""

    def __call__(
        self, function: Callable[[T], R], tasks: Iterable[T], workers: int, /
    ) -> Iterator[R]:
        """Yield the results of the tasks."""


def ordered_map(function: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """Yield the results of the tasks, in their order, computed by a number of processes.

    There are no more processes than tasks, and none but this one for a single task.
    """
    left = iter(tasks)
    first = list(islice(left, workers))
    workers, tasks = len(first), chain(first, left)
    if workers <= 1:
        yield from map(function, tasks)
        return
    pool = ProcessPoolExecutor(workers, initializer=begin_worker, initargs=(os.getpid(),))
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
