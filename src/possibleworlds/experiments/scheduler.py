"""The loop that runs calls on an engine until none is left.

The remaining calls are listed anew each time, since they depend on files that other processes may
write too. A call whose worker dies is repeated; three deaths at the same checkpoint are a failure.
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
"""How long to wait with a call that has returned but still remains: another process is working on
it, or a shared file system lags behind."""
TRUSTED_SECONDS = 30.0
"""The weight, in core-seconds, of the original estimate against measured progress."""


def ignore(*_: object) -> None:
    """Do nothing; the default callback."""


@dataclass(frozen=True)
class Call:
    """A function to call in a worker; calls with the same name run one at a time."""

    name: str
    label: str
    """Its name in the log."""
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    on_result: Callable[[Any], None] = ignore
    on_failure: Callable[[str], None] = ignore
    """Called with the reason when the worker has died too often."""
    checkpoint: Callable[[], int] = lambda: 0
    """Returns the step from which the call would resume."""


@dataclass
class Scheduler:
    """Runs calls on an engine, logs the deaths of workers, and stops on request."""

    engine: Engine
    stop: Stop = lambda: False
    log: Log = ignore

    def run(
        self, calls: Callable[[], Iterable[Call]], refresh: Callable[[], None] = ignore
    ) -> None:
        """Run the remaining calls, as many at once as the engine allows, until there are none."""
        deaths: Counter[tuple[str, int]] = Counter()
        retry_at: dict[str, float] = {}
        running: dict[str, Call] = {}
        try:
            while left := list(calls()):
                for call in left:
                    if len(running) >= self.engine.slots:
                        break
                    is_due = retry_at.get(call.name, 0.0) <= time.monotonic()
                    if is_due and call.name not in running:
                        running[call.name] = call
                        self.engine.submit(call.name, call.function, *call.arguments)
                for name, outcome in self.engine.wait(POLL_SECONDS).items():
                    call = running.pop(name)
                    if not isinstance(outcome, WorkerDied):
                        retry_at[name] = time.monotonic() + RETRY_SECONDS
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
            self.engine.stop()  # lets running calls save their work


class TimeLeft:
    """Estimates the time left, corrected by how long the work has taken so far.

    Work is a list of stages that run one after the other, each a list of the estimated core-seconds
    of its jobs: a job of 8 seconds and then three of 4 take 16 seconds on two cores.

    >>> TimeLeft()([[[8.0], [4.0, 4.0, 4.0]]], slots=2, running=0)
    16.0
    """

    def __init__(self) -> None:
        self.busy = self.done = TRUSTED_SECONDS
        self.last: tuple[float, float, int] | None = None

    def __call__(self, works: Sequence[list[list[float]]], slots: int, running: int) -> float:
        """Estimate the seconds left for several works in parallel, with this many jobs running."""
        left = sum(sum(stage) for stages in works for stage in stages)
        now = time.monotonic()
        if self.last:
            then, left_then, running_then = self.last
            self.busy += running_then * (now - then)
            self.done += max(0.0, left_then - left)
        self.last = now, left, running
        alone = (sum(stage_seconds(stage, slots) for stage in stages) for stages in works)
        return self.busy / self.done * max(left / slots, max(alone, default=0.0))


def stage_seconds(jobs: Sequence[float], slots: int) -> float:
    """Compute how long independent jobs take together."""
    rounds = math.ceil(len(jobs) / slots)
    return max(max(jobs), rounds * sum(jobs) / len(jobs)) if jobs else 0.0
