"""A Ray cluster gives what one machine gives, also where it loses a node on the way."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from possibleworlds.experiments.trials import running_trials
from tests.conftest import started
from tests.experiments.conftest import command, outcome, possible, slowed

pytest.importorskip("ray", reason="ray is not to be had for this version of Python")
SLOW = "networks:Slow"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two nodes, of one core each, on this machine."""
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    made.add_node(**small)
    made.wait_for_nodes()
    yield made
    made.shutdown()


def test_generated_bytes_are_the_same(cluster: Any, tmp_path: Path) -> None:
    settings = ["--rows", "2000", "--seed", "3"]
    on_ray = ["--engine", "ray", "--address", cluster.address]
    possible("generate", tmp_path / "local", *settings)
    possible("generate", tmp_path / "ray", *settings, *on_ray)
    for path in (tmp_path / "local").iterdir():
        assert (tmp_path / "ray" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_a_sweep_that_loses_a_node_ends_as_one_on_a_single_machine(
    cluster: Any, data: Path, here: Path
) -> None:
    options = ["--data", str(data), "--budget", "48epochs"]
    possible("sweep", SLOW, *options, "--out", "local", "--workers", "2", cwd=here)
    on_ray = ["--out", "ray", "--engine", "ray", "--address", cluster.address]
    words = command("sweep", SLOW, *options, *on_ray)
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(words, cwd=here, **streams) as running:
        with slowed(here):
            while len([now for now in running_trials(here / "ray").values() if now.step]) < 2:
                assert running.poll() is None, running.communicate()
                time.sleep(0.02)
            node = next(iter(cluster.worker_nodes))
            cluster.remove_node(node, allow_graceful=False)
        _, said = running.communicate(timeout=600)
    assert running.returncode == 0, said
    assert "Traceback" not in said
    assert "died" in said  # with the node, the trial that was on it
    assert outcome(here / "ray") == outcome(here / "local")


def test_no_cluster_is_said_in_one_line(data: Path, here: Path) -> None:
    nowhere = ["--engine", "ray", "--address", "127.0.0.1:1"]
    done = possible("sweep", SLOW, "--data", data, "--out", "s", *nowhere, cwd=here, code=2)
    assert "error: no Ray cluster at 127.0.0.1:1" in done.stderr.splitlines()[-1]


LISTENING = """
import json, os
from pathlib import Path
from possibleworlds.parallel.ray import connect_ray

ray = connect_ray(None)
assert ray.get(ray.remote(num_cpus=1)(lambda: os.getpid()).remote()) != os.getpid()
parents = {}
for path in Path("/proc").glob("[0-9]*"):
    try:
        parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        pass
ours, grown = set(), {os.getpid()}
while grown - ours:
    ours |= grown
    grown = {process for process, parent in parents.items() if parent in ours}
sockets = set()
for process in ours:
    for file in Path(f"/proc/{process}/fd").glob("*"):
        try:
            sockets.add(os.readlink(file).removeprefix("socket:[").rstrip("]"))
        except OSError:
            pass
rows = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}")]
rows = [row for row in rows if row[3] == "0A" and row[9] in sockets]  # those that listen
print(json.dumps([row[1].partition(":")[0] for row in rows]))
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="finds sockets in /proc")
def test_a_cluster_of_our_own_is_reached_from_this_machine_alone() -> None:
    words = [sys.executable, "-c", LISTENING]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    addresses = json.loads(done.stdout)
    loopback = {
        "0100007F",  # 127.0.0.1, as /proc/net/tcp writes it
        "0000000000000000FFFF00000100007F",  # the same by IPv6
        "00000000000000000000000001000000",  # ::1
    }
    assert len(addresses) > 3
    assert set(addresses) <= loopback
