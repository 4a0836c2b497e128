"""Work spread over processes, with results in order and nothing piling up."""

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from possibleworlds.errors import UserError

T = TypeVar("T")
R = TypeVar("R")

INTERRUPT_IGNORED = (signal.SIGINT, signal.SIG_IGN)
AHEAD = 2
"""How many tasks a worker has waiting beside the one it is at."""


def ordered_map(function: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """The results of the tasks, in their order, made by as many processes as there are workers."""
    if workers == 1:
        yield from map(function, tasks)
        return
    pool = ProcessPoolExecutor(workers, initializer=signal.signal, initargs=INTERRUPT_IGNORED)
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
