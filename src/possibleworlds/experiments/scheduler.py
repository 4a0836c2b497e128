"""The one loop that makes calls on an engine until none is left to be made.

Which calls are left is asked for again and again, since it follows from files that other processes
may write too. A call whose worker dies is made again; three deaths at the same checkpoint make it a
failure.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from possibleworlds.parallel import Log, Stop, StopRequestedError
from possibleworlds.parallel.engines import Engine, WorkerDied

MAX_DEATHS = 3
POLL_SECONDS = 0.5
RETRY_SECONDS = 5.0
"""How long a call rests that has ended and is still left to be made: another process is at work on
it, or a shared file system is late."""
TRUSTED_SECONDS = 30.0
"""Of one core: for how long what was expected counts as much as what has been measured since."""


def ignore(*_: object) -> None:
    """Do nothing, whatever there is to tell."""


@dataclass(frozen=True)
class Call:
    """A function to be called elsewhere; of calls with the same name one runs at a time."""

    name: str
    label: str
    """What it is called in the log."""
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    on_result: Callable[[Any], None] = ignore
    on_failure: Callable[[str], None] = ignore
    """Takes the reason, when the worker has died too often."""
    checkpoint: Callable[[], int] = lambda: 0
    """How far the call has come that would be resumed."""


@dataclass
class Scheduler:
    """Makes calls on an engine, logs the deaths of workers, and ends when it is told to stop."""

    engine: Engine
    stop: Stop = lambda: False
    log: Log = ignore

    def run(
        self, calls: Callable[[], Iterable[Call]], refresh: Callable[[], None] = ignore
    ) -> None:
        """Make the calls that are left, as many at once as the engine can, until there are none."""
        deaths: Counter[tuple[str, int]] = Counter()
        resting: dict[str, float] = {}
        running: dict[str, Call] = {}
        try:
            while left := list(calls()):
                for call in left:
                    if len(running) >= self.engine.slots:
                        break
                    if call.name not in running and resting.get(call.name, 0.0) <= time.monotonic():
                        running[call.name] = call
                        self.engine.submit(call.name, call.function, *call.arguments)
                for name, outcome in self.engine.wait(POLL_SECONDS).items():
                    call = running.pop(name)
                    if not isinstance(outcome, WorkerDied):
                        resting[name] = time.monotonic() + RETRY_SECONDS
                        call.on_result(outcome)
                        continue
                    death = name, call.checkpoint()
                    deaths[death] += 1
                    self.log(f"{call.label}: {outcome.reason}; at step {death[1]}")
                    if deaths[death] == MAX_DEATHS:
                        call.on_failure(outcome.reason)
                refresh()
                if self.stop():
                    raise StopRequestedError
        finally:
            self.engine.stop()  # lets calls save their work, whatever the reason


class TimeLeft:
    """Estimates the time left, corrected again and again by how long the work has taken so far.

    Work is the expected seconds of pieces, on one core each, in stages that wait for each other:
    one piece of 8 seconds and then three of 4 take 16 on two cores, if they take what is expected.

    >>> TimeLeft()([[[8.0], [4.0, 4.0, 4.0]]], slots=2, running=0)
    16.0
    """

    def __init__(self) -> None:
        self.busy = self.done = TRUSTED_SECONDS
        self.last: tuple[float, float, int] | None = None

    def __call__(self, works: Sequence[list[list[float]]], slots: int, running: int) -> float:
        """Estimate the seconds left of some works side by side, of which some pieces run now."""
        left = sum(sum(stage) for stages in works for stage in stages)
        now = time.monotonic()
        if self.last:
            then, left_then, running_then = self.last
            self.busy += running_then * (now - then)
            self.done += max(0.0, left_then - left)
        self.last = now, left, running
        alone = (sum(stage_seconds(stage, slots) for stage in stages) for stages in works)
        return self.busy / self.done * max(left / slots, max(alone, default=0.0))


def stage_seconds(pieces: Sequence[float], slots: int) -> float:
    """Compute how long pieces take that do not wait for each other."""
    rounds = math.ceil(len(pieces) / slots)
    return max(max(pieces), rounds * sum(pieces) / len(pieces)) if pieces else 0.0
