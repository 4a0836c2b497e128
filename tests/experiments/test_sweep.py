"""Sweeps: the same results whatever happens on the way."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.experiments.conftest import command, outcome, possible

PLAIN = "networks:Plain"


def options(data: Path, epochs: int, out: str = "sweep") -> list[str]:
    return ["--data", str(data), "--out", out, "--budget", f"{epochs}epochs", "--workers", "2"]


def test_a_sweep_from_plan_to_evaluation(data: Path, here: Path) -> None:
    tests = shutil.copytree(data, here / "elsewhere")
    (tests / "train.txt").unlink()
    done = possible("sweep", PLAIN, *options(data, 24), "--test", tests, cwd=here)
    assert "3 of 4 settings" in done.stderr
    assert "the best 1 with 3 seeds" in done.stderr
    assert "of one core" in done.stderr
    assert done.stdout.count("selected") == 3
    stored = json.loads((here / "sweep" / "sweep.json").read_text())
    assert stored["version"]
    network = stored["networks"][PLAIN]
    assert network["plan"]["seed"] == 0
    assert [rung["candidates"] for rung in network["plan"]["rungs"]] == [3, 1]
    trials = {path.name: path for path in (here / "sweep" / "trials").iterdir()}
    assert len(trials) == 6
    evaluated = {name for name, path in trials.items() if (path / "evaluation.json").exists()}
    selection = network["selection"]
    assert evaluated == set(selection["seeds"])
    assert selection["validation"] == max(selection["seeds"].values())
    for name in evaluated:
        found = json.loads((trials[name] / "evaluation.json").read_text())
        own = {path.stem for path in data.glob("*.txt")}
        assert found.keys() == own | {"elsewhere/validate", "elsewhere/test_easy"}
        assert found["validate"]["accuracy"] == selection["seeds"][name]
        assert found["elsewhere/test_easy"] == found["test_easy"]

    files = [here / "sweep" / "sweep.json", *(here / "sweep" / "trials").rglob("*.*")]
    before = [path.stat().st_mtime_ns for path in files]
    possible("sweep", PLAIN, *options(data, 24), "--test", tests, cwd=here)
    assert [path.stat().st_mtime_ns for path in files] == before
    status = possible("sweep", "--status", "sweep", cwd=here).stdout
    assert status == done.stdout
    refused = possible("sweep", PLAIN, *options(data, 48), cwd=here, code=2)
    assert "holds a sweep of networks:Plain with 24 epochs, seed 0, not 48 epochs" in refused.stderr


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of which nobody knows the networks but their module."""
    from tests.experiments.conftest import NETWORKS

    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "networks.py").write_text(NETWORKS)
    possible("sweep", PLAIN, *options(data, 480), cwd=folder)
    return folder / "sweep"


def in_the_middle_of(sweep: Path) -> bool:
    """Whether some trial is at work, and not only just."""
    from possibleworlds.experiments.locks import held

    return any(0.3 < said.get("share", 0) < 0.9 for said in held(sweep / "locks").values())


def test_a_sweep_that_is_killed_and_interrupted_ends_as_an_undisturbed_one(
    data: Path, here: Path, undisturbed: Path
) -> None:
    (here / "sweep").mkdir()
    shutil.copy(undisturbed / "sweep.json", here / "sweep")  # times of this plan do not matter
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        running = subprocess.Popen(
            command("sweep", PLAIN, *options(data, 480)),
            cwd=here,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        while running.poll() is None and not in_the_middle_of(here / "sweep"):
            time.sleep(0.02)
        assert running.poll() is None, "the sweep was over before it could be disturbed"
        status = possible("sweep", "--status", "sweep", cwd=here).stdout
        assert "% " in status
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
        assert "Traceback" not in said
        if number == signal.SIGINT:
            assert running.returncode == 130
            assert "given again, goes on" in said
            at_work = [
                json.loads(path.read_text())["metrics"]
                for path in (here / "sweep" / "trials").glob("*/run.json")
            ]
            assert any(0 < m["step"] and not m["finished"] for m in at_work)
    possible("sweep", PLAIN, *options(data, 480), cwd=here)
    assert outcome(here / "sweep") == outcome(undisturbed)


def test_two_sweeps_share_a_folder_and_the_work(data: Path, here: Path) -> None:
    both = [
        subprocess.Popen(
            command("sweep", "networks:Counted", *options(data, 240)),
            cwd=here,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [running.communicate(timeout=120) for running in both]
    assert [running.returncode for running in both] == [0, 0], said
    assert said[0][0] == said[1][0]
    begun = (here / "begun.txt").read_text().splitlines()
    assert len(begun) == 3 + 6  # candidates measured by one of the two, and trials


def test_trials_that_fail_are_recorded_and_stop_nothing(data: Path, here: Path) -> None:
    names = ["networks:Broken", "networks:Hopeless", PLAIN]
    done = possible("sweep", *names, *options(data, 3 * 12), "--seed", "1", cwd=here, code=1)
    stored = json.loads((here / "sweep" / "sweep.json").read_text())["networks"]
    assert stored[PLAIN]["selection"]["validation"] > 0.4
    assert stored["networks:Hopeless"]["selection"] is None
    reasons = {
        json.loads(path.read_text())["reason"]
        for path in (here / "sweep" / "trials").glob("*/failed.json")
    }
    assert "ValueError: no way" in reasons
    assert done.stdout.count("failed") == len(
        list((here / "sweep" / "trials").glob("*/failed.json"))
    )
    possible("sweep", *names, *options(data, 3 * 12), "--seed", "1", cwd=here, code=1)


def test_all_sorts_of_failure(data: Path, here: Path) -> None:
    grid = ["--data", str(data), "--out", "sweep", "--grid", "paper", "--epochs", "2"]
    possible("sweep", "networks:Broken", "networks:Killed", *grid, cwd=here)
    stored = json.loads((here / "sweep" / "sweep.json").read_text())["networks"]
    assert stored["networks:Broken"]["selection"]["settings"]["size"] == 7
    assert stored["networks:Killed"]["selection"]["settings"]["size"] in (5, 6)
    failed = {}
    for path in (here / "sweep" / "trials").glob("*/failed.json"):
        model = path.parent.name.split("-")[0]
        reason = json.loads(path.read_text())["reason"]
        failed.setdefault(model, []).append(reason)
    assert len(failed["networks.Broken"]) == 9
    assert set(failed["networks.Broken"]) == {
        "the loss is nan at step 7: try a lower learning_rate",
        "RuntimeError: can't allocate memory: you tried to allocate 1 TB",
        "MemoryError",
    }
    assert failed["networks.Killed"] == ["its process was killed (out of memory?)"] * 3


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sweep"], "needs networks, --data and --out"),
        (["sweep", "nonsense", "--data", "DATA", "--out", "s"], "no network called"),
        (["sweep", "treenet", "--data", "nowhere", "--out", "s"], "nowhere"),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--budget", "soon"], "not a budget"),
        (
            ["sweep", "treenet", "--data", "DATA", "--out", "s", "--budget", "1h", "--grid=paper"],
            "makes no sense",
        ),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--epochs", "3"], "--grid paper"),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--test", "no"], "no: No such file"),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--address", "x"], "--engine ray"),
        (["generate", "s", "--address", "x"], "--engine ray"),
        (["sweep", "--status", "nowhere"], "nowhere is not a sweep"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], problem: str, data: Path, tmp_path: Path
) -> None:
    filled = [argument.replace("DATA", str(data)) for argument in arguments]
    done = possible(*filled, cwd=tmp_path, code=2)
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_without_ray_it_is_said_how_to_get_it(data: Path, tmp_path: Path) -> None:
    try:
        import ray  # noqa: F401
    except ModuleNotFoundError:
        pass
    else:
        pytest.skip("ray is installed")
    for start in (["sweep", "treenet", "--data", str(data), "--out", "s"], ["generate", "s"]):
        done = possible(*start, "--engine", "ray", cwd=tmp_path, code=2)
        assert done.stderr == "error: ray is missing: pip install possibleworlds[ray]\n"
    assert not os.listdir(tmp_path)
