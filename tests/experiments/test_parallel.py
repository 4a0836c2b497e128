"""Work spread over processes: as many as are of use, and the loss of one is no silence."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest

from possibleworlds.data.generation import Pruner, generate_units
from possibleworlds.data.splits import PRESETS
from possibleworlds.errors import UserError
from possibleworlds.experiments.scheduler import Call, Scheduler
from possibleworlds.parallel import ordered_map
from possibleworlds.parallel.engines import LocalEngine
from tests.conftest import started, wait_for_file
from tests.experiments.conftest import command, slowed


def process_of(task: int) -> tuple[int, int]:
    time.sleep(0.05)
    return task, os.getpid()


@pytest.mark.parametrize(("tasks", "workers"), [(3, 300), (1, 2), (0, 2), (5, 1), (5, 2)])
def test_no_more_processes_than_tasks(tasks: int, workers: int) -> None:
    results = list(ordered_map(process_of, iter(range(tasks)), workers))
    assert [task for task, _ in results] == list(range(tasks))
    processes = {process for _, process in results}
    assert len(processes) <= min(tasks, workers)
    assert (os.getpid() in processes) == (min(tasks, workers) == 1)


def quit_at_two(task: int) -> int:
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_a_killed_worker_is_one_clear_line() -> None:
    with pytest.raises(UserError, match="a worker process was killed"):
        list(ordered_map(quit_at_two, range(8), 2))


def test_few_blocks_are_made_in_vain() -> None:
    made: dict[int, list[int]] = {}

    def counting(workers: int) -> Any:
        def spread(function: Callable[..., Any], tasks: Iterable[int], _: int) -> Iterator[Any]:
            numbers = list(tasks)  # what workers would do ahead, in the worst case
            made.setdefault(workers, []).extend(numbers)
            yield from map(function, numbers)

        return spread

    for split in PRESETS["small"]:
        units = list(generate_units(split, 0, Pruner("pairs", [split]), 2, list, counting(2)))
        lazy = list(generate_units(split, 0, Pruner("pairs", [split]), 1, list, ordered_map))
        assert units == lazy
        assert made[2] == list(range(len(made[2])))
        # All blocks but the last ones were needed: without these, rows are missing.
        needed = made.pop(2)
        assert len(needed) <= 1 + 1.5 * len(set(needed[: max(1, len(needed) * 2 // 3)]))


def answer(value: int) -> int:
    return value


def test_the_death_of_the_server_of_processes_stops_nothing() -> None:
    results: list[int] = []
    engine = LocalEngine(1)

    def kill_server(result: int) -> None:
        results.append(result)
        server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
        os.kill(server, signal.SIGKILL)

    def calls() -> list[Call]:
        number = len(results)
        return [Call(f"call {number}", "a call", answer, (number,), kill_server)] * (number < 3)

    Scheduler(engine).run(calls)
    assert results == [0, 1, 2]


def test_output_to_a_closed_pipe_ends_without_a_word() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command("--help"), stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 128 + signal.SIGPIPE


def server_of(process: int) -> int:
    """Find the server that forks the workers of a process."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == str(process) and b"forkserver" in (path / "cmdline").read_bytes():
                return int(path.name)
    pytest.fail("no server of processes")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_a_sweep_outlives_its_server_of_processes(data: Path, here: Path) -> None:
    options = ["--data", data, "--out", "sweep", "--budget", "24epochs", "--workers", "1"]
    words = command("sweep", "networks:Slow", *options)
    with started(words, cwd=here, stderr=subprocess.PIPE) as running:
        with slowed(here):
            wait_for_file(running, here, "sweep/trials/*/run.json")
            os.kill(server_of(running.pid), signal.SIGKILL)
        _, log = running.communicate(timeout=600)
    assert running.returncode == 0, log
    assert "Traceback" not in log
    selections = json.loads((here / "sweep" / "sweep.json").read_text())["networks"]
    assert len(selections["networks:Slow"]["selection"]["seeds"]) == 3
