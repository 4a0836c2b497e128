"""The one loop that makes calls on an engine until none is left to be made.

Which calls are left is asked for again and again, since it follows from files that other processes
may write too. A call whose worker dies is made again; three deaths at the same checkpoint make it a
failure.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from possibleworlds.parallel import Log, Stop, StopRequestedError
from possibleworlds.parallel.engines import Engine, WorkerDied

MAX_DEATHS = 3
POLL_SECONDS = 0.5
RETRY_SECONDS = 5.0
"""How long a call rests that has ended and is still left to be made: another process is at work on
it, or a shared file system is late."""


def ignore(*_: object) -> None:
    """Do nothing, whatever there is to tell."""


@dataclass(frozen=True)
class Call:
    """A function to be called elsewhere; of calls with the same name one runs at a time."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    on_result: Callable[[Any], None] = ignore
    on_failure: Callable[[str], None] = ignore
    """Takes the reason, when the worker has died too often."""
    checkpoint: Callable[[], int] = lambda: 0
    """How far the call has come that would be resumed."""


def run(
    calls: Callable[[], Iterable[Call]],
    engine: Engine,
    stop: Stop = lambda: False,
    log: Log = ignore,
    refresh: Callable[[], None] = ignore,
) -> None:
    """Make the calls that are left, as many at once as the engine can, until there are none."""
    deaths: Counter[tuple[str, int]] = Counter()
    resting: dict[str, float] = {}
    running: dict[str, Call] = {}
    try:
        while left := list(calls()):
            for call in left:
                if len(running) >= engine.slots:
                    break
                if call.name not in running and resting.get(call.name, 0.0) <= time.monotonic():
                    running[call.name] = call
                    engine.submit(call.name, call.function, *call.arguments)
            for name, outcome in engine.wait(POLL_SECONDS).items():
                call = running.pop(name)
                if not isinstance(outcome, WorkerDied):
                    resting[name] = time.monotonic() + RETRY_SECONDS
                    call.on_result(outcome)
                    continue
                death = name, call.checkpoint()
                deaths[death] += 1
                log(f"{name}: {outcome.reason}; at step {death[1]}")
                if deaths[death] == MAX_DEATHS:
                    call.on_failure(outcome.reason)
            refresh()
            if stop():
                raise StopRequestedError
    finally:
        engine.stop()  # lets calls save their work, whatever the reason
