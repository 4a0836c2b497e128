"""Where calls run: on processes of this machine, or on the nodes of a Ray cluster.

An engine runs a call somewhere, on one core and one thread, and says when it has ended or died. It
knows nothing of what it runs: all that lasts is in the files that calls write.
"""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any, Literal, Protocol, TypeVar

from possibleworlds.errors import UserError, named, reason
from possibleworlds.parallel import AHEAD, OrderedMap, ordered_map

T = TypeVar("T")
R = TypeVar("R")

EngineName = Literal["local", "ray"]
SECONDS_TO_STOP = 120.0
"""How long a call may take to save its work when it is told to stop, which it does between steps
and evaluations."""
SECONDS_TO_CONNECT = 10.0


@dataclass(frozen=True)
class Died:
    """The end of a call without a result: killed, out of memory, or lost with its host."""

    reason: str


class Engine(Protocol):
    """Runs calls elsewhere."""

    @property
    def slots(self) -> int:
        """How many calls can run at once, at present."""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call, to be known by a name."""

    def wait(self, seconds: float) -> dict[str, Any]:
        """What calls have ended with, by name, once one has or the time is over."""

    def stop(self) -> None:
        """Tell all calls to save their work and end, and wait until they have."""


def make_engine(name: EngineName, workers: int, address: str | None) -> Engine:
    """The engine of a name: so many processes, or the Ray cluster at an address."""
    check_address(name, address)
    return RayEngine(address) if name == "ray" else LocalEngine(workers)


def check_address(name: EngineName, address: str | None) -> None:
    """Complain of an address for an engine that needs none."""
    if name == "local" and address:
        raise UserError("--address is of a Ray cluster: it needs --engine ray")


def ending(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call ends with: a result, an error that the user has to know of, or a death."""
    try:
        return function(*arguments)
    except UserError as error:
        return error
    except Exception as error:
        return Died(named(error))


def serve(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Make a call in a process of its own, which leaves Ctrl-C to its parent and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent:
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    connection.send(ending(function, *arguments))


class LocalEngine:
    """A process for each call, forked from a server that has the package loaded."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.running: dict[str, tuple[Any, Connection]] = {}

    @property
    def slots(self) -> int:
        """How many calls can run at once."""
        return self.workers

    @cached_property
    def context(self) -> Any:
        """What makes processes: not by forking this one, which has threads."""
        context = multiprocessing.get_context("forkserver")
        # The first optimizer of a process imports torch._dynamo, which takes seconds.
        context.set_forkserver_preload(["possibleworlds.experiments.trials", "torch._dynamo"])
        # While it loads them, a Ctrl-C would end the server with a traceback. What it starts first,
        # if it is not there, would unblock signals.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        forkserver.ensure_running()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return context

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call, to be known by a name."""
        ours, theirs = self.context.Pipe(duplex=False)
        process = self.context.Process(target=serve, args=(theirs, function, arguments))
        process.start()
        theirs.close()
        self.running[name] = process, ours

    def wait(self, seconds: float) -> dict[str, Any]:
        """What calls have ended with, by name, once one has or the time is over."""
        names = {connection: name for name, (_, connection) in self.running.items()}
        ended = {}
        for connection in wait_for(list(names), seconds):
            name = names[connection]  # type: ignore[index]
            process, ours = self.running.pop(name)
            try:
                ended[name] = ours.recv()
            except EOFError:
                ended[name] = None
            process.join()
            if ended[name] is None:
                ended[name] = Died(how_it_ended(process.exitcode))
            ours.close()
        return raised(ended)

    def stop(self) -> None:
        """Tell all calls to save their work and end, and wait until they have."""
        processes = [process for process, _ in self.running.values()]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(SECONDS_TO_STOP)
            process.kill()
        self.running.clear()


def how_it_ended(code: int) -> str:
    """The exit code of a process in words."""
    if code == -signal.SIGKILL:
        return "its process was killed (out of memory?)"
    return f"its process ended with code {code}"


def raised(ended: dict[str, Any]) -> dict[str, Any]:
    """The results of calls, unless one is an error that the user has to know of."""
    for result in ended.values():
        if isinstance(result, UserError):
            raise result
    return ended


def import_ray(address: str | None) -> Any:
    """Ray, connected to the cluster at an address, or to a new one of this machine alone."""
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
        reason = str(error).splitlines()[0]
        raise UserError(f"no Ray cluster at {address or 'this machine'}: {reason}") from None
    return ray


def call_from(folder: str, function: Callable[..., R], *arguments: Any) -> R:
    """Make a call on a node, where networks of the user's own are found in the driver's folder."""
    if folder not in sys.path:
        sys.path.append(folder)
    return function(*arguments)


def useless(error: Exception) -> UserError:
    """What to say of a node that cannot even begin, say because it lacks this package."""
    last = str(error).strip().splitlines()[-1]
    return UserError(f"a node of the cluster cannot do its work: {last}")


class RayEngine:
    """A task of one core for each call, on whatever nodes the cluster has at the time."""

    def __init__(self, address: str | None) -> None:
        self.ray = import_ray(address)
        # What is lost with its node is begun anew by whoever asked for it, as in LocalEngine.
        self.remote = self.ray.remote(num_cpus=1, max_retries=0)(call_from)
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
        """How many calls can run at once, at present."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call, to be known by a name."""
        self.running[name] = self.remote.remote(os.getcwd(), ending, function, *arguments)

    def wait(self, seconds: float) -> dict[str, Any]:
        """What calls have ended with, by name, once one has or the time is over."""
        names = {reference: name for name, reference in self.running.items()}
        if not names:
            time.sleep(seconds)
            return {}
        self.ray.wait(list(names), num_returns=1, timeout=seconds)
        ready, _ = self.ray.wait(list(names), num_returns=len(names), timeout=0)
        ended: dict[str, Any] = {}
        for reference in ready:
            name = names[reference]
            del self.running[name]
            try:
                ended[name] = self.ray.get(reference)
            except self.deaths as error:
                ended[name] = Died(f"its worker died: {reason(error)}")
            except self.ray.exceptions.RayError as error:
                ended[name] = useless(error)
        return raised(ended)

    def stop(self) -> None:
        """Tell all calls to save their work and end, and wait until they have."""
        references = list(self.running.values())
        for reference in references:
            self.ray.cancel(reference)  # comes as a Ctrl-C, which trainings take as a wish
        if references:
            self.ray.wait(references, num_returns=len(references), timeout=SECONDS_TO_STOP)
        self.running.clear()


def make_map(name: EngineName, address: str | None) -> OrderedMap:
    """What spreads the making of data: processes, or the Ray cluster at an address."""
    check_address(name, address)
    return ray_map(address) if name == "ray" else ordered_map


def ray_map(address: str | None) -> OrderedMap:
    """What ordered_map does, on a Ray cluster; what a lost node had is done again."""
    ray = import_ray(address)
    remote = ray.remote(num_cpus=1, max_retries=-1)(call_from)

    def result(reference: Any) -> Any:
        try:
            found = ray.get(reference)
        except ray.exceptions.RayError as error:
            raise useless(error) from None
        if isinstance(found, Died):
            raise UserError(f"a node of the cluster failed: {found.reason}")
        return raised({"": found})[""]

    def spread(function: Callable[[T], R], tasks: Iterable[T], _: int, /) -> Iterator[R]:
        slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting: deque[Any] = deque()
        try:
            for task in tasks:
                waiting.append(remote.remote(os.getcwd(), ending, function, task))
                if len(waiting) > AHEAD * slots:
                    yield result(waiting.popleft())
            while waiting:
                yield result(waiting.popleft())
        finally:
            for reference in waiting:
                ray.cancel(reference)

    return spread
