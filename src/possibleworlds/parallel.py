"""Work spread over processes or a Ray cluster: results in order, and nothing piles up."""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, TypeVar

from possibleworlds.errors import UserError

T = TypeVar("T")
R = TypeVar("R")

Stop = Callable[[], bool]
"""Whether work is to stop, asked between two steps."""
Log = Callable[[str], None]
"""What takes a line for people."""

AHEAD = 2
"""How many tasks a worker has waiting beside the one it is at."""
SECONDS_TO_CONNECT = 10.0


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
    """Yield the results of the tasks, in their order, computed by a number of processes."""
    if workers == 1:
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


def connect_ray(address: str | None) -> Any:
    """Connect Ray to the cluster at an address, or to a new one on this machine alone."""
    try:
        import ray
    except ModuleNotFoundError:
        raise UserError("ray is missing: pip install 'possibleworlds[ray]'") from None
    try:
        host, _, port = (address or "").removeprefix("ray://").rpartition(":")
        if port.isdecimal():  # Ray itself would keep on trying for minutes
            socket.create_connection((host, int(port)), SECONDS_TO_CONNECT).close()
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (RuntimeError, ValueError, OSError) as error:
        first_line = str(error).splitlines()[0]
        raise UserError(f"no Ray cluster at {address or 'this machine'}: {first_line}") from None
    return ray


def ray_slots(ray: Any) -> int:
    """How many calls of one core the cluster can run at once, at present."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def call_from(folder: str, function: Callable[..., R], *arguments: Any) -> R:
    """Make a call on a node, which finds the user's own networks in the driver's folder."""
    if folder not in sys.path:
        sys.path.append(folder)
    return function(*arguments)


def node_error(error: Exception) -> UserError:
    """Describe why a call failed on a node, for instance because it lacks this package."""
    return UserError(f"a node of the cluster failed: {str(error).strip().splitlines()[-1]}")


def ray_map(address: str | None) -> OrderedMap:
    """Make an ordered map on a Ray cluster, which repeats what was lost with a node."""
    ray = connect_ray(address)
    remote = ray.remote(num_cpus=1, max_retries=-1)(call_from)

    def result(reference: Any) -> Any:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, UserError) else node_error(error) from None
        except ray.exceptions.RayError as error:
            raise node_error(error) from None

    def spread(function: Callable[[T], R], tasks: Iterable[T], _: int, /) -> Iterator[R]:
        slots = ray_slots(ray)
        waiting: deque[Any] = deque()
        try:
            for task in tasks:
                waiting.append(remote.remote(os.getcwd(), function, task))
                if len(waiting) > AHEAD * slots:
                    yield result(waiting.popleft())
            while waiting:
                yield result(waiting.popleft())
        finally:
            for reference in waiting:
                ray.cancel(reference)

    return spread
