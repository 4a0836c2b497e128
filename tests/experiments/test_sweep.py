"""Sweeps: the same results whatever happens on the way."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from possibleworlds import cli, storage
from possibleworlds.data.files import TRAINING_FILES
from possibleworlds.errors import UserError
from possibleworlds.experiments.grid import Budget, SearchRequest, with_defaults
from possibleworlds.experiments.scheduler import Scheduler
from possibleworlds.experiments.sweep import plan_searches, selected_runs
from possibleworlds.experiments.trials import (
    Result,
    Trial,
    TrialProgress,
    read_result,
    record_failure,
    run_trial,
    running_trials,
)
from possibleworlds.models import resolve
from possibleworlds.parallel.engines import LocalEngine
from possibleworlds.storage import exclusive_folder, held_locks, sha256
from possibleworlds.training.checkpoint import read_run
from possibleworlds.training.pipeline import Job, run_job
from possibleworlds.training.speed import measure
from tests.conftest import started
from tests.experiments.conftest import command, outcome, possible, slowed

PLAIN, SLOW = "networks:Plain", "networks:Slow"


def options(data: Path, epochs: int, out: str = "sweep") -> list[str]:
    return ["--data", str(data), "--out", out, "--budget", f"{epochs}epochs", "--workers", "2"]


def test_a_sweep_from_plan_to_evaluation(
    data: Path, here: Path, run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    tests = shutil.copytree(data, here / "elsewhere")
    (tests / "train.txt").unlink()
    done = possible("sweep", PLAIN, *options(data, 24), "--test", tests, cwd=here)
    assert all(len(line) <= 80 for line in done.stderr.splitlines())
    log = " ".join(done.stderr.split())
    assert "measuring speed" in log
    assert "3/3 settings" in log
    assert "the defaults and 2 of 4 settings" in log
    assert "the best 1 with 3 seeds" in log
    assert "of one core" in log
    assert len(re.findall(r"networks:Plain [^:]*seed=\d: \d+\.\d\d% validation accuracy", log)) == 6
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
        evaluations = json.loads((trials[name] / "evaluation.json").read_text())
        own = {f"{data.name}/{path.stem}" for path in data.glob("*.txt") if path.stem != "train"}
        assert evaluations.keys() == own | {"elsewhere/validate", "elsewhere/test_easy"}
        assert evaluations[f"{data.name}/validate"]["accuracy"] == selection["seeds"][name]
        assert evaluations["elsewhere/test_easy"] == evaluations[f"{data.name}/test_easy"]

    files = [here / "sweep" / "sweep.json", *(here / "sweep" / "trials").rglob("*.*")]
    before = [path.stat().st_mtime_ns for path in files]
    assert run_here("sweep", PLAIN, *options(data, 24), "--test", tests) == 0
    assert [path.stat().st_mtime_ns for path in files] == before
    assert capsys.readouterr().out == done.stdout
    run_here("sweep", "--status", "sweep")
    assert capsys.readouterr().out == done.stdout
    run_here("sweep", "--status", "sweep", "--json")
    (state,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (state["model"], state["rung"], state["rungs"]) == (PLAIN, 2, 2)
    assert (state["trials_done"], state["trials_in_rung"]) == (3, 3)
    assert (state["selected"], state["validation"]) == (selection["trial"], selection["validation"])
    assert {trial["trial"] for trial in state["trials"]} == trials.keys()
    chosen = [trial for trial in state["trials"] if trial["progress"] == "selected"]
    assert {trial["trial"]: trial["validation"] for trial in chosen} == selection["seeds"]
    with pytest.raises(UserError, match="a sweep of networks:Plain with 24 epochs, seed 0, not 48"):
        run_here("sweep", PLAIN, *options(data, 48))


def middle_of(sweep: Path) -> list[TrialProgress]:
    """The progress of trials at work that have begun and are far from their end."""
    return [now for now in running_trials(sweep).values() if 0.1 < now.fraction < 0.5]


def test_a_sweep_that_is_killed_and_interrupted_ends_as_an_undisturbed_one(
    data: Path, here: Path, run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    whole, parts = (["sweep", SLOW, *options(data, 48, out)] for out in ("whole", "parts"))
    assert run_here(*whole) == 0
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    for number in (signal.SIGKILL, signal.SIGINT):
        with slowed(here), started(command(*parts), **streams) as running:
            while not middle_of(here / "parts"):
                assert running.poll() is None, "the sweep was over before it could be disturbed"
                time.sleep(0.02)
            run_here("sweep", "--status", "parts")
            assert re.search(r"seed=0 .* \d\d%, .* left", capsys.readouterr().out)
            running.send_signal(number)
            _, said = running.communicate(timeout=300)
            assert "Traceback" not in said
            while held_locks(here / "parts" / "locks"):
                time.sleep(0.02)  # the trials of a killed sweep end a moment after it
    assert running.returncode == 130
    assert "given again, continues" in said
    runs = [json.loads(path.read_text()) for path in here.glob("parts/trials/*/run.json")]
    assert any(run["metrics"]["step"] > 0 and not run["metrics"]["finished"] for run in runs)
    assert run_here(*parts) == 0
    assert outcome(here / "parts") == outcome(here / "whole")


def test_two_sweeps_share_a_folder_and_the_work(data: Path, here: Path) -> None:
    words = command("sweep", "networks:Counted", *options(data, 240))
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(words, cwd=here, **streams) as one, started(words, cwd=here, **streams) as other:
        both = one, other
        said = [running.communicate(timeout=600) for running in both]
    assert [running.returncode for running in both] == [0, 0], said
    assert said[0][0] == said[1][0]
    begun = (here / "begun.txt").read_text().splitlines()
    assert len(begun) == 6  # each trial by one of the two; measuring is not a beginning


def test_trials_that_fail_are_recorded_and_stop_nothing(
    data: Path, here: Path, run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["networks:Broken", "networks:Killed", "networks:Hopeless"]
    grid = ["--data", str(data), "--out", "sweep", "--grid", "paper", "--epochs", "2"]
    assert run_here("sweep", *names, *grid) == 1
    stored = json.loads((here / "sweep" / "sweep.json").read_text())["networks"]
    assert stored["networks:Broken"]["selection"]["settings"]["size"] == 7
    assert stored["networks:Killed"]["selection"]["settings"]["size"] == 5
    assert stored["networks:Hopeless"]["selection"] is None
    failed: dict[str, list[str]] = {}
    for path in (here / "sweep" / "trials").glob("*/failed.json"):
        model = path.parent.name.split("-")[0]
        failed.setdefault(model, []).append(json.loads(path.read_text())["reason"])
    assert set(failed["networks.Broken"]) == {
        "the loss is nan at step 3: try a lower learning_rate",
        "RuntimeError: can't allocate memory: you tried to allocate 1 TB",
        "MemoryError",
    }
    assert failed["networks.Killed"] == ["its process was killed (out of memory?)"] * 3
    assert failed["networks.Hopeless"] == ["ValueError: no way"] * 3
    assert capsys.readouterr().out.count("failed") == 9 + 3 + 3


def test_a_full_disk_is_no_fault_of_a_trial(
    data: Path, here: Path, run_here: Callable[..., int]
) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000));"
    limited += "from possibleworlds.cli import main; main()"
    words = ["sweep", "networks:Counted", *options(data, 12)]
    first = [sys.executable, "-c", limited, *words]
    done = subprocess.run(first, cwd=here, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].endswith("File too large")
    assert "Traceback" not in done.stderr
    assert not list(here.rglob("failed.json"))
    assert run_here(*words) == 0


def test_an_evaluation_that_fails_stops_nothing_else(
    data: Path, here: Path, run_here: Callable[..., int]
) -> None:
    with pytest.raises(UserError, match=r"cannot be evaluated: ValueError: no answer$"):
        run_here("sweep", "networks:Unevaluable", PLAIN, *options(data, 24))
    networks = json.loads((here / "sweep" / "sweep.json").read_text())["networks"]
    for name in networks[PLAIN]["selection"]["seeds"]:
        assert (here / "sweep" / "trials" / name / "evaluation.json").exists()


def trial_on(data: Path) -> Trial:
    values = with_defaults(resolve("linear-bow"), {"epochs": 1.0})
    return Trial("linear-bow", values, 0, {name: sha256(data / name) for name in TRAINING_FILES})


def test_a_trial_on_which_another_process_stands_still_is_busy(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "FOLDER_TIMEOUT", 0.1)  # seconds of waiting in vain
    trial = trial_on(data)
    with exclusive_folder(tmp_path / "trials" / trial.name):
        assert run_trial(tmp_path, trial, data) == "busy"
    assert run_trial(tmp_path, trial, data) == "done"
    assert read_result(tmp_path, trial.name) != Result()


def test_a_host_without_the_engine_of_a_trial_does_not_fail_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSSIBLEWORLDS_NATIVE", "0")
    trial = trial_on(data)
    run = tmp_path / "trials" / trial.name
    run_job(Job(trial.model, data, run, trial.settings, trial.seed))
    record = read_run(run)
    replace(record, engine="native", metrics=replace(record.metrics, finished=False)).write(run)
    with pytest.raises(UserError, match="by the native engine, not by torch"):
        run_trial(tmp_path, trial, data)
    assert read_result(tmp_path, trial.name) is None
    assert not held_locks(tmp_path / "locks")


def test_data_that_have_changed_are_not_trained_on(data: Path, tmp_path: Path) -> None:
    trial = trial_on(data)
    changed = shutil.copytree(data, tmp_path / "changed")
    with (changed / "train.txt").open("a") as file:
        file.write("a,a,1,1,1,1\n")
    with pytest.raises(UserError, match="has changed since"):
        run_trial(tmp_path, trial, changed)
    assert not (tmp_path / "trials").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sweep"], "needs networks, --data and --out"),
        (["sweep", "nonsense", "--data", "DATA", "--out", "s"], "no network called"),
        (["sweep", "treenet", "--data", "nowhere", "--out", "s"], "nowhere"),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--budget", "soon"], "not a budget"),
        (
            ["sweep", "treenet", "--data", "DATA", "--out", "s", "--budget", "1h", "--grid=paper"],
            "takes no --budget",
        ),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--epochs", "3"], "--grid paper"),
        (
            ["sweep", "treenet", "--data", "DATA", "--out", "s", "--test", "published"],
            "published: No such file or directory; `possibleworlds published published` downloads",
        ),
        (["reproduce", "--preset", "tiny", "--test", "a/b"], "`possibleworlds published a/b` down"),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--address", "x"], "--engine ray"),
        (["generate", "s", "--address", "x"], "--engine ray"),
        (["sweep", "--status", "nowhere"], "nowhere is not a sweep"),
        (
            ["sweep", "treenet", "--data", "DATA", "--out", "s", "--grid=paper", "--epochs=0"],
            "be 0",
        ),
        (["sweep", "treenet", "--data", "DATA", "--out", "s", "--test", __file__], ":1: 1 fields"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], problem: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    filled = [argument.replace("DATA", str(data)) for argument in arguments]
    with pytest.raises(UserError, match=problem) as caught:
        cli.app(filled, standalone_mode=False)
    assert "\n" not in str(caught.value)
    assert not os.listdir(tmp_path)


def test_a_speed_that_was_lost_is_measured_again(data: Path, tmp_path: Path) -> None:
    class Killing(LocalEngine):
        """Loses the first process that it starts."""

        def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
            super().submit(name, function, *arguments)
            if not lost:
                self.running[name][0].kill()
                lost.append(name)

    lost: list[str] = []
    budget = Budget(30.0, "seconds")
    request = SearchRequest(budget, 10.0, 0)
    shown: list[tuple[int, int]] = []
    requests = {"linear-bow": request}
    show = lambda done, total: shown.append((done, total))  # noqa: E731
    (search,) = plan_searches(tmp_path, requests, data, Scheduler(Killing(1)), show)
    assert lost == ["linear-bow 0"]
    assert search.plan.evaluation > 0
    candidates = len(search.plan.candidates)
    assert {total for _, total in shown} == {candidates}
    done = [done for done, _ in shown]
    assert done == sorted(done)
    assert {*range(candidates + 1)} <= {0, *done}  # one by one: there is one process


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 2, "data": {}, "networks": {}}',
        '{"format": 2, "networks": {"treenet": {}}}',
        '{"format": 2, "data": {}, "networks": {"treenet": {}}}',
    ],
)
def test_a_damaged_sweep_is_one_clear_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(UserError, match=re.escape(str(tmp_path / "sweep.json"))) as caught:
        cli.app(["sweep", "--status", str(tmp_path)], standalone_mode=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "cannot be read"),
        ("[]", "does not hold an object"),
        ("{}", "lacks reason"),
        ('{"reason": null}', "reason must be a text, not None"),
        ('{"reason": {"a": 1}}', "reason must be a text"),
        ("[" * 100_000, "cannot be read"),
        ('{"reason": "a', "cannot be read"),
    ],
)
def test_a_damaged_failure_is_one_clear_line(content: str, problem: str, tmp_path: Path) -> None:
    record_failure(tmp_path, "a", "no way")
    assert read_result(tmp_path, "a") == Result(failure="no way")
    path = tmp_path / "trials" / "a" / "failed.json"
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(str(path))) as caught:
        read_result(tmp_path, "a")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "cannot be read"),
        ("3", "does not hold an object"),
        ("{}", "lacks selected"),
        ('{"selected": "treenet-1"}', "selected must be a list"),
        ('{"selected": {"a": 1}}', "selected must be a list"),
        ('{"selected": ["a", 1]}', "selected.1 must be a text"),
    ],
)
def test_a_damaged_selection_is_one_clear_line(content: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "selected.json"
    path.write_text('{"selected": ["a"], "later": true}')
    assert selected_runs(tmp_path) == {"a"}
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(str(path))) as caught:
        selected_runs(tmp_path)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_ray_it_is_said_how_to_get_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, here = tmp_path / "hidden", tmp_path / "here"
    hidden.mkdir()
    here.mkdir()
    (hidden / "ray.py").write_text("raise ModuleNotFoundError(name='ray')")
    monkeypatch.setenv("PYTHONPATH", str(hidden), prepend=os.pathsep)
    for start in (["sweep", "treenet", "--data", str(data), "--out", "s"], ["generate", "s"]):
        done = possible(*start, "--engine", "ray", cwd=here, code=2)
        assert done.stderr == "error: ray is missing: pip install 'possibleworlds[ray]'\n"
    assert not os.listdir(here)


class Operations(TorchDispatchMode):
    """Counts what torch does: a clock that no other process slows down."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.count += 1
        return func(*args, **(kwargs or {}))


def operations_a_call(function: Callable[[], object]) -> float:
    function()  # the first has more to do
    with Operations() as operations:
        function()
    return operations.count


def test_the_later_steps_of_a_training_count_for_its_length(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{measure.__module__}.seconds_per_call", operations_a_call)
    settings = {"size": 8, "worlds": 8, "training_worlds": 8, "training_steps": 1}
    settings["training_moves"] = 0  # as their number is random
    candidates = [{**settings, "unguided_fraction": share} for share in (1.0, 0.5, 0.0)]
    speeds = [measure("guidedworldnet", candidate, data) for candidate in candidates]
    plain, half, guided = (speed.epoch for speed in speeds if speed)
    assert 1.1 * plain < half < 0.95 * guided
    assert half == pytest.approx((plain + guided) / 2, rel=0.02)
