"""Connect to a Ray cluster, and map over it in order."""

import logging
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from possibleworlds.errors import UserError, missing_package
from possibleworlds.parallel import AHEAD, OrderedMap

T = TypeVar("T")
R = TypeVar("R")

SECONDS_TO_CONNECT = 10.0


def connect_ray(address: str | None) -> Any:
    """Connect Ray to the cluster at an address, or to a new one for this machine alone."""
    if address is None:
        # Otherwise Ray listens on all interfaces, and anyone who reaches a port may run code. This
        # is read when Ray is imported; it makes the loopback interface the address of the node.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
    except ModuleNotFoundError:
        raise missing_package("ray", "ray") from None
    try:
        host, _, port = (address or "").removeprefix("ray://").rpartition(":")
        if port.isdecimal():  # Ray itself would keep trying for minutes
            socket.create_connection((host, int(port)), SECONDS_TO_CONNECT).close()
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address is None:
            ray.init("local", include_dashboard=False, **options)
        else:
            ray.init(address, **options)
    except (RuntimeError, ValueError, OSError) as error:
        first_line = str(error).splitlines()[0]
        raise UserError(f"no Ray cluster at {address or 'this machine'}: {first_line}") from None
    return ray


def ray_slots(ray: Any) -> int:
    """Count the calls of one core that the cluster can currently run at once."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def call_from(folder: str, function: Callable[..., R], *arguments: Any) -> R:
    """Make a call on a node, with the driver's folder on its path for the user's own networks."""
    if folder not in sys.path:
        sys.path.append(folder)
    return function(*arguments)


def node_error(error: Exception) -> UserError:
    """Describe why a call failed on a node, such as a missing package."""
    return UserError(f"a node of the cluster failed: {str(error).strip().splitlines()[-1]}")


def ray_map(address: str | None) -> OrderedMap:
    """Make an ordered map on a Ray cluster, which repeats tasks that were lost with a node."""
    ray = connect_ray(address)
    remote = ray.remote(num_cpus=1, max_retries=-1)(call_from)

    def result(reference: Any) -> Any:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, UserError) else node_error(error) from None
        except ray.exceptions.RayError as error:
            raise node_error(error) from None

    def cluster_map(function: Callable[[T], R], tasks: Iterable[T], _: int, /) -> Iterator[R]:
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

    return cluster_map
