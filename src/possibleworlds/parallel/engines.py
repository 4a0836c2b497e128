"""Engines run calls in processes on this machine, or on the nodes of a Ray cluster.

An engine runs a call on one core and one thread, and reports its outcome. It knows nothing about
the call: everything that lasts is in the files that calls write.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any, Literal, Protocol

from possibleworlds.errors import UserError, named, reason
from possibleworlds.parallel import OrderedMap, ordered_map, ray

EngineName = Literal["local", "ray"]
SAFE_PATH = "PYTHONSAFEPATH"
SECONDS_TO_STOP = 120.0
"""How long a call may take to save its work on request, which it does between steps and
evaluations."""


@dataclass(frozen=True)
class WorkerDied:
    """The outcome of a call without a result: killed, out of memory, or lost with its host."""

    reason: str


class Engine(Protocol):
    """Runs calls in workers."""

    @property
    def slots(self) -> int:
        """The number of calls that can currently run at once."""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call under a name."""

    def wait(self, seconds: float) -> dict[str, Any]:
        """Return the outcomes of calls by name, as soon as there is one or the time is up."""

    def stop(self) -> None:
        """Tell all calls to save their work and end, and wait until they have."""


def check_address(name: EngineName, address: str | None) -> None:
    """Raise UserError if an address is set for an engine that has none."""
    if name == "local" and address:
        raise UserError("--address is of a Ray cluster: it needs --engine ray")


def make_engine(name: EngineName, workers: int, address: str | None) -> Engine:
    """Make an engine with this many processes, or on the Ray cluster at an address."""
    check_address(name, address)
    return RayEngine(address) if name == "ray" else LocalEngine(workers)


def make_map(name: EngineName, address: str | None) -> OrderedMap:
    """Return an ordered map over processes, or over the Ray cluster at an address."""
    check_address(name, address)
    return ray.ray_map(address) if name == "ray" else ordered_map


def outcome_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """Make a call and return its result, a UserError, or WorkerDied."""
    try:
        return function(*arguments)
    except UserError as error:
        return error
    except Exception as error:
        return WorkerDied(named(error))


def raise_user_errors(outcomes: dict[str, Any]) -> dict[str, Any]:
    """Return the outcomes of calls; raise the first UserError among them."""
    for outcome in outcomes.values():
        if isinstance(outcome, UserError):
            raise outcome
    return outcomes


def serve_call(
    connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """Make a call in a worker process, which leaves Ctrl-C to its parent and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent:
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    connection.send(outcome_of(function, *arguments))


@contextmanager
def safe_path() -> Iterator[None]:
    """Start new interpreters without the current folder, which may not be trusted, on their path.

    A process that is forked for a call gets the path of this one, not that of the server.
    """
    previous = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if previous is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = previous


class LocalEngine:
    """Runs each call in a process, forked from a server that has loaded the package."""

    def __init__(self, workers: int) -> None:
        self.slots = workers
        self.running: dict[str, tuple[Any, Connection]] = {}
        self.not_started: dict[str, Any] = {}

    @cached_property
    def context(self) -> Any:
        """The fork server, started on first use, as this process has threads and cannot fork."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["possibleworlds.experiments.trials"])
        # While the server loads modules, a Ctrl-C would end it with a traceback. The resource
        # tracker, which it would start first, unblocks signals.
        with safe_path():
            resource_tracker.ensure_running()
            previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            forkserver.ensure_running()
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        return context

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call under a name."""
        ours, theirs = self.context.Pipe(duplex=False)
        process = self.context.Process(target=serve_call, args=(theirs, function, arguments))
        try:
            with safe_path():  # a dead server is started again
                process.start()
        except (OSError, EOFError) as error:  # the server has died; the next call restarts it
            self.not_started[name] = WorkerDied(f"its process did not start: {reason(error)}")
        else:
            self.running[name] = process, ours
        theirs.close()

    def wait(self, seconds: float) -> dict[str, Any]:
        """Return the outcomes of calls by name, as soon as there is one or the time is up."""
        names = {connection: name for name, (_, connection) in self.running.items()}
        outcomes, self.not_started = self.not_started, {}
        for connection in wait_for(list(names), 0.0 if outcomes else seconds):
            name = names[connection]  # type: ignore[index]
            process, ours = self.running.pop(name)
            try:
                outcomes[name] = ours.recv()
                process.join()
            except (EOFError, OSError):
                process.join()
                outcomes[name] = WorkerDied(describe_exit(process.exitcode))
            ours.close()
        return raise_user_errors(outcomes)

    def stop(self) -> None:
        """Tell all calls to save their work and end, and wait until they have."""
        processes = [process for process, _ in self.running.values()]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(SECONDS_TO_STOP)
            process.kill()
        self.running.clear()


def describe_exit(code: int) -> str:
    """Describe the exit code of a process."""
    if code == -signal.SIGKILL:
        return "its process was killed (out of memory?)"
    return f"its process ended with code {code}"


class RayEngine:
    """Runs each call as a task of one core, on any node of the cluster."""

    def __init__(self, address: str | None) -> None:
        self.ray = ray.connect_ray(address)
        # The scheduler restarts calls that are lost with a node, as with LocalEngine.
        self.remote = self.ray.remote(num_cpus=1, max_retries=0)(ray.call_from)
        known = self.ray.exceptions
        self.deaths = (
            known.LocalRayletDiedError,
            known.NodeDiedError,
            known.OutOfMemoryError,
            known.WorkerCrashedError,
        )
        self.running: dict[str, Any] = {}

    @property
    def slots(self) -> int:
        """The number of calls that can currently run at once."""
        return ray.ray_slots(self.ray)

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call under a name."""
        self.running[name] = self.remote.remote(os.getcwd(), outcome_of, function, *arguments)

    def wait(self, seconds: float) -> dict[str, Any]:
        """Return the outcomes of calls by name, as soon as there is one or the time is up."""
        names = {reference: name for name, reference in self.running.items()}
        if not names:
            time.sleep(seconds)
            return {}
        self.ray.wait(list(names), num_returns=1, timeout=seconds)
        ready, _ = self.ray.wait(list(names), num_returns=len(names), timeout=0)
        outcomes: dict[str, Any] = {}
        for reference in ready:
            name = names[reference]
            del self.running[name]
            try:
                outcomes[name] = self.ray.get(reference)
            except self.deaths as error:
                outcomes[name] = WorkerDied(f"its worker died: {reason(error)}")
            except self.ray.exceptions.RayError as error:
                outcomes[name] = ray.node_error(error)
        return raise_user_errors(outcomes)

    def stop(self) -> None:
        """Tell all calls to save their work and end, and wait until they have."""
        references = list(self.running.values())
        for reference in references:
            self.ray.cancel(reference)  # arrives as a Ctrl-C, on which training stops and saves
        if references:
            self.ray.wait(references, num_returns=len(references), timeout=SECONDS_TO_STOP)
        self.running.clear()
