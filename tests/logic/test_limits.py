"""Exact answers within a time, and Ctrl-C within a solver."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import possibleworlds as pw
from tests.conftest import started


def pigeonhole(holes: int) -> tuple[str, str]:
    """Formulas A and B: if every one of n + 1 pigeons has a hole, some two share one."""
    pigeons = range(holes + 1)
    each = [" | ".join(f"x{p}_{h}" for h in range(holes)) for p in pigeons]
    shared = [f"x{p}_{h} & x{q}_{h}" for h in range(holes) for p in pigeons for q in range(p)]
    return " & ".join(f"({one})" for one in each), " | ".join(f"({one})" for one in shared)


HARD = pigeonhole(14)


@pytest.mark.parametrize("solver", [None, "cadical153", "lingeling", "glucose4", "minisat22"])
def test_every_solver_gives_up_in_time(solver: str | None) -> None:
    with pytest.raises(pw.UndecidedError, match=r"undecided after 0\.5 s"):
        pw.entails(*HARD, solver=solver, timeout=0.5)


def test_answers_are_the_same_with_a_timeout() -> None:
    assert pw.entails("rain & q'", "q'", timeout=60)
    assert pw.countermodel("p | q", "p", timeout=60) == pw.countermodel("p | q", "p")
    assert pw.equivalent("p -> q", "~q -> ~p", timeout=60)
    assert pw.count_models("p | q", timeout=60) == 3
    for seconds in (0, -1, "5", True, float("nan")):
        with pytest.raises(pw.UserError, match="timeout must be"):
            pw.entails("p", "q", timeout=seconds)  # type: ignore[arg-type]
    with pytest.raises(pw.UserError, match="no solver called"):
        pw.entails("p", "q", solver="nonsense", timeout=60)


def test_counting_gives_up_in_time_and_is_bounded() -> None:
    wide = " & ".join(f"(x{i} | x{(i + 1) % 28})" for i in range(28))
    with pytest.raises(pw.UndecidedError):
        pw.count_models(f"({wide}) | " * 200 + "x0", timeout=0.5)
    with pytest.raises(pw.UserError, match="would take too long"):
        pw.count_models(" & ".join(f"(x{i % 30} | x0)" for i in range(5000)))
    with pytest.raises(pw.UserError, match="31 variables"):
        pw.count_models(" & ".join(f"x{i}" for i in range(31)))


def test_counting_a_deep_formula_takes_little_memory() -> None:
    code = """
import resource, possibleworlds as pw
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
nested = "".join(f"(x{i % 18} | " for i in range(5000)) + "x0" + ")" * 5000
assert pw.count_models(nested) == 2**18 - 1
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000  # KiB
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "possibleworlds", "entails", *HARD, *options]


def cpu_seconds(process: int) -> float:
    """What a process and its children have used so far, whatever else the machine does."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if process in (int(path.parent.name), int(fields[1])):
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


LOADED = """
import sys, possibleworlds.cli, pysat.solvers
print("loaded", flush=True)
possibleworlds.cli.main()
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("options", [[], ["--solver", "cadical153"], ["--timeout", "1000"]])
def test_ctrl_c_within_a_solver_is_no_answer(options: list[str]) -> None:
    words = [sys.executable, "-c", LOADED, "entails", *HARD, *options]
    with started(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stdout.readline() == "loaded\n"
        before = cpu_seconds(running.pid)
        while cpu_seconds(running.pid) - before < 1.0:  # all but a quarter in the solver
            assert running.poll() is None, running.communicate()
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=300)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert out == ""


def test_the_command_gives_up_in_time() -> None:
    done = subprocess.run(command("--timeout", "0.5"), capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stdout == "undecided after 0.5 s\n"
    done = subprocess.run(command("--timeout", "0.5", "--json"), capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stdout == '{"entails": null, "countermodel": null}\n'


def test_output_that_nobody_reads_ends_quietly() -> None:
    words = [sys.executable, "-m", "possibleworlds", "entails", "p", "q"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout
    running.stdout.close()
    assert running.wait() == 128 + 13
    assert running.stderr
    assert running.stderr.read() == b""
