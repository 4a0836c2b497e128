"""The whole job on tiny data: it ends, goes on where it was stopped, and says what it left out."""

import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from possibleworlds import cli
from possibleworlds.cli import experiments
from possibleworlds.data.splits import generate_folder, paper_layout
from possibleworlds.errors import UserError
from possibleworlds.experiments import presets, reproduce
from possibleworlds.experiments.grid import Budget
from possibleworlds.experiments.presets import PlannedRun, Preset
from possibleworlds.experiments.reproduce import Reproduction
from possibleworlds.experiments.scheduler import Scheduler
from possibleworlds.models.registry import resolve
from possibleworlds.paper import TABLE_2
from possibleworlds.parallel import StopRequestedError
from possibleworlds.parallel.engines import LocalEngine
from possibleworlds.report.material import Material, ReportRequest
from possibleworlds.report.report import pending_evaluations, write_report
from possibleworlds.training.evaluations import evaluate_tasks
from tests.conftest import started, wait_for_file
from tests.experiments.conftest import command

TINY = {"epochs": 1.0, "evaluations": 2}


def tiny(budget: Budget | None = None) -> Preset:
    return replace(presets.tiny(), budget=budget)


def at_work(preset: Preset, out: Path, tests: tuple[Path, ...] = ()) -> Reproduction:
    return Reproduction(preset, out, tests, Scheduler(LocalEngine(2)))


def finish(work: Reproduction) -> dict[str, bytes]:
    """Do all of it; the weights of each run."""
    work.make_data(lambda *_: None)
    work.measure()
    work.train(lambda *_: None)
    return {path.parent.name: path.read_bytes() for path in work.runs.rglob("model-*.safetensors")}


def report(work: Reproduction) -> None:
    request = ReportRequest([work.out], work.test_folders, "the command", work.preset.note)
    evaluate_tasks(pending_evaluations(Material(request)), 2, lambda: False, lambda _: None)
    write_report(request, work.out / "report", lambda _: None)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("done")
    generate_folder(out / "theirs", paper_layout(4, 4, 40, 4, 4, 4)[3:4], 7)
    work = at_work(tiny(), out / "out", (out / "theirs",))
    finish(work)
    report(work)
    return out / "out"


def test_report_has_it_all(done: Path) -> None:
    text = (done / "report" / "report.md").read_text()
    assert "Everything is tiny." in text
    numbers = json.loads((done / "report" / "report.json").read_text())
    assert [row["model"] for row in numbers["results"]] == ["mlp-bow", "possibleworldnet"]
    assert numbers["results"][0]["seeds"] == [0, 1]
    assert numbers["results"][0]["accuracy"].keys() == {"data", "theirs"}
    assert [row["side"] for row in numbers["one_sided"]].count("left") == 2
    assert {row["trained_on"] for row in numbers["one_sided"]} == {
        "data (4-tuples)",
        "naive (naive)",
    }


def test_data_are_pruned_against_the_tests(done: Path) -> None:
    manifests = {f: json.loads((done / f / "dataset.json").read_text()) for f in ("data", "naive")}
    pruned = {f: [p["file"] for p in m["pruned_against"]] for f, m in manifests.items()}
    assert pruned["data"] == ["test_easy.txt"]
    assert {"validate.txt", "test_massive.txt"} <= set(pruned["naive"])
    assert "train.txt" not in pruned["naive"]


def test_nothing_is_done_twice(done: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (done / "runs" / "trials").rglob("*.*")}
    work = at_work(tiny(), done, (done.parent / "theirs",))
    work.make_data(lambda *_: None)
    work.measure()
    assert work.expected == {}
    report(work)
    after = {path: path.stat().st_mtime_ns for path in (done / "runs" / "trials").rglob("*.*")}
    assert before == after


def test_stopped_and_gone_on_with(done: Path, tmp_path: Path) -> None:
    stop_requests = iter([False] * 3 + [True] * 1000)
    work = at_work(tiny(), tmp_path / "out", (done.parent / "theirs",))
    work.make_data(lambda *_: None)
    work.measure()
    assert len(work.expected) == 8
    assert all(seconds > 0 for seconds in work.expected.values())
    work.scheduler.stop = lambda: next(stop_requests)
    with pytest.raises(StopRequestedError):
        work.train(lambda *_: None)
    undisturbed = {p.parent.name: p.read_bytes() for p in done.rglob("model-*.safetensors")}
    assert finish(at_work(tiny(), tmp_path / "out", (done.parent / "theirs",))) == undisturbed


def test_search_is_part_of_it(tmp_path: Path) -> None:
    work = at_work(presets.tiny(), tmp_path)
    finish(work)
    work.plan_search()
    assert [search.model for search in work.searches] == ["linear-bow", "mlp-bow"]
    work.search(lambda: None)
    report(work)
    numbers = json.loads((tmp_path / "report" / "report.json").read_text())
    linear = numbers["results"][0]
    assert linear["model"] == "linear-bow"
    assert len(linear["seeds"]) == 3
    assert linear["accuracy"]["data"].keys() == {
        split.name for split in tiny().splits["data"] if split.name != "train"
    }


def test_a_run_that_cannot_be_had_does_not_stop_the_rest(tmp_path: Path) -> None:
    heavy = PlannedRun("mlp-bow", {**TINY, "size": 2**40})
    preset = tiny()
    work = at_work(replace(preset, runs=[heavy, *preset.runs]), tmp_path)
    assert len(finish(work)) == 8
    assert [line for line in work.failures() if "failed: " in line] == work.failures()
    assert len(work.failures()) == 1
    assert len(list(work.runs.rglob("failed.json"))) == 1


def test_presets_cover_the_paper() -> None:
    assert {run.model for run in presets.quick().runs} == {*TABLE_2, "guidedworldnet"}
    whole = presets.paper(Budget(3600, "seconds"))
    with_worlds = {run.model for run in whole.runs if run.is_result}
    assert with_worlds == {"possibleworldnet", "guidedworldnet"}
    assert {*whole.searched} == {*TABLE_2} - {"possibleworldnet"}
    for planned in (*presets.quick().runs, *whole.runs):
        assert planned.settings["minutes"] or planned.settings["epochs"]
        resolve(planned.model)
    seeds = {run.model: run.seeds for run in whole.runs if run.seeds > 1}
    assert seeds == {"possibleworldnet": 3, "guidedworldnet": 3}


def test_damaged_data_are_found_out(tmp_path: Path) -> None:
    work = at_work(tiny(), tmp_path)
    work.make_data(lambda *_: None)
    train = tmp_path / "data" / "train.txt"
    first, rest = train.read_text().split("\n", 1)
    a, b, label, *others = first.split(",")
    train.write_text(",".join([a, b, str(1 - int(label)), *others]) + "\n" + rest)
    manifest = json.loads((tmp_path / "data" / "dataset.json").read_text())
    manifest["splits"]["train"]["sha256"] = reproduce.sha256(train)
    (tmp_path / "data" / "dataset.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"train.txt:1: "):
        work.make_data(lambda *_: None)


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "--preset", "tiny", "--out", str(tmp_path / "out")]
    with started(command(*words), stderr=subprocess.PIPE) as process:
        wait_for_file(process, tmp_path, "run.json")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "interrupted; the same command, given again, continues" in said
    assert "left to train: " in said
    assert "Traceback" not in said
    assert cli.app(words, standalone_mode=False) == 0
    log = capsys.readouterr().err
    assert all(len(line) <= 80 for line in log.splitlines() if str(tmp_path) not in line)
    assert (tmp_path / "out" / "report" / "report.html").exists()
    assert cli.app(words, standalone_mode=False) == 0
    assert "left to train: 0 s of one core" in capsys.readouterr().err


def test_a_folder_is_for_one_thing(tmp_path: Path) -> None:
    work = at_work(tiny(), tmp_path)
    work.begin({"preset": "quick", "budget": None})
    work.begin({"preset": "quick", "budget": None})
    with pytest.raises(UserError, match="is for preset quick; choose another --out"):
        work.begin({"preset": "paper", "budget": "2h"})
    (tmp_path / "reproduce.json").unlink()
    (tmp_path / "letter.txt").touch()
    with pytest.raises(UserError, match=r"holds letter.txt; choose another --out"):
        work.begin({"preset": "quick", "budget": None})


def test_folders_to_test_with_have_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "a" / "theirs").mkdir(parents=True)
    (tmp_path / "b" / "theirs").mkdir(parents=True)
    with pytest.raises(UserError, match="another data folder is also called data"):
        at_work(tiny(), tmp_path / "out", (tmp_path / "data",))
    with pytest.raises(UserError, match="called theirs"):
        at_work(tiny(), tmp_path / "out", (tmp_path / "a" / "theirs", tmp_path / "b" / "theirs"))
    with pytest.raises(UserError, match="not a folder"):
        at_work(tiny(), tmp_path / "out", (tmp_path / "none",))


@pytest.mark.parametrize("preset", ["tiny", "quick"])
def test_a_budget_is_for_the_paper(preset: Literal["tiny", "quick"]) -> None:
    with pytest.raises(UserError, match="--budget is only for --preset paper"):
        experiments.reproduce(preset, budget="2h")
