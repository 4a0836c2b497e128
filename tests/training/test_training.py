"""Training, run folders, evaluation and predictions, on data small enough to be quick."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import possibleworlds
from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.errors import UserError
from possibleworlds.models.registry import names, resolve
from possibleworlds.parallel import StopRequestedError
from possibleworlds.training.checkpoint import (
    METRICS,
    RUN,
    SHIPPED,
    find_run,
    read_run,
)
from possibleworlds.training.evaluation import interval
from possibleworlds.training.loop import Trainer
from possibleworlds.training.pipeline import Job
from possibleworlds.training.pipeline import run_job as train
from tests.conftest import run_here, started

QUICK = {"epochs": 3.0, "evaluations": 3, "size": 8}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate_folder(folder, free_splits(800, (1, 4), (1, 5), "fourtuples"), seed=0)
    return folder


def quick(name: str, data: Path, out: Path, **more: Any) -> Job:
    resume = more.pop("resume", False)
    return Job(name, data, out, {**QUICK, **more}, resume=resume)


def model_file(run: Path) -> Path:
    return run / (read_run(run).weights or "")


def state_file(run: Path) -> Path:
    return run / (read_run(run).state or "")


def weights(run: Path) -> dict[str, bytes]:
    return {name: t.numpy().tobytes() for name, t in load_file(model_file(run)).items()}


def state(run: Path) -> dict[str, bytes]:
    return {name: t.numpy().tobytes() for name, t in load_file(state_file(run)).items()}


def history(run: Path) -> list[dict[str, float]]:
    lines = map(json.loads, (run / METRICS).read_text().splitlines())
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_a_run_folder_holds_all_that_is_needed(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(quick("treenet", data, run))
    described = json.loads((run / RUN).read_text())
    tensor_files = {described["weights"], described["state"]}
    assert tensor_files == {
        f"model-{described['metrics']['best_step']}.safetensors",
        "state-39.safetensors",
    }
    assert {p.name for p in run.iterdir()} == {RUN, METRICS, *tensor_files}
    assert described["model"] == "treenet"
    assert described["settings"]["size"] == 8
    assert described["training"]["epochs"] == 3
    assert described["metrics"]["finished"]
    assert described["data"].keys() == {"train.txt", "validate.txt"}
    lines = [json.loads(line) for line in (run / METRICS).read_text().splitlines()]
    assert [line["step"] for line in lines] == [13, 26, 39]
    assert described["metrics"]["validation"] == max(line["validation"] for line in lines)


@pytest.mark.parametrize("name", ["treenet", "possibleworldnet", "lstm"])
def test_the_same_seed_gives_the_same_weights(name: str, data: Path, tmp_path: Path) -> None:
    runs = []
    for folder in ("one", "two"):
        train(quick(name, data, tmp_path / folder))
        runs.append((weights(tmp_path / folder), state(tmp_path / folder)))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", ["treelstm", "possibleworldnet", "guidedworldnet", "transformer"])
def test_an_interrupted_run_ends_as_an_undisturbed_one(
    name: str, data: Path, tmp_path: Path
) -> None:
    small = {"worlds": 8} if "world" in name else {"dropout": 0.1} if name == "transformer" else {}
    small |= {"layers": 1} if name == "transformer" else {}
    train(quick(name, data, tmp_path / "whole", **small))

    def interrupt(trainer: Trainer) -> None:
        if trainer.progress.step in (5, 20):
            os.kill(os.getpid(), signal.SIGINT)

    job = quick(name, data, tmp_path / "parts", resume=True, **small)
    for _ in range(2):
        with pytest.raises(StopRequestedError):
            train(job, interrupt)
    train(job)
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
    assert state(tmp_path / "parts") == state(tmp_path / "whole")
    assert history(tmp_path / "parts") == history(tmp_path / "whole")


def saved_step(run: Path) -> int:
    """The step of the last checkpoint of a run; 0 before the first."""
    record = json.loads((run / RUN).read_text()) if (run / RUN).exists() else {}
    return (record.get("metrics") or {"step": 0})["step"]


def test_a_killed_run_ends_as_an_undisturbed_one(data: Path, tmp_path: Path) -> None:
    command = ["train", "treenet", "--data", str(data), "--set", "size=8", "--epochs", "20"]
    assert run_here(*command, "--out", tmp_path / "whole").returncode == 0
    parts = tmp_path / "parts"
    resumed = [*command, "--out", str(parts), "--resume"]
    for _ in range(2):
        before = saved_step(parts)
        words = [sys.executable, "-m", "possibleworlds", *resumed]
        with started(words, stderr=subprocess.DEVNULL) as running:
            while saved_step(parts) == before and running.poll() is None:
                time.sleep(0.02)
            running.kill()
    assert run_here(*resumed).returncode == 0
    assert weights(parts) == weights(tmp_path / "whole")
    assert history(parts) == history(tmp_path / "whole")


def test_ctrl_c_saves_the_run(data: Path, tmp_path: Path) -> None:
    options = ["--data", str(data), "--out", "run", "--epochs", "100000"]
    command = [sys.executable, "-m", "possibleworlds", "train", "treenet", *options]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run" / RUN).exists():
        time.sleep(0.05)
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "--resume continues" in said
    assert json.loads((tmp_path / "run" / RUN).read_text())["metrics"]["step"] > 0


def test_two_processes_do_not_train_one_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("possibleworlds.storage.FOLDER_TIMEOUT", 0.1)
    job = quick("treenet", data, tmp_path / "run", resume=True)

    def meanwhile(trainer: Trainer) -> None:
        if trainer.progress.step == 5:
            with pytest.raises(UserError, match="another process is writing to it"):
                train(job)

    train(job, meanwhile)
    train(quick("treenet", data, tmp_path / "whole"))
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")


def test_the_best_validation_step_is_kept(data: Path, tmp_path: Path) -> None:
    result = train(quick("treenet", data, tmp_path / "run", epochs=6.0, evaluations=6))
    best = max(result.history, key=lambda line: (line.validation, line.step))
    assert result.metrics.best_step == best.step
    model = possibleworlds.load(tmp_path / "run").model
    assert type(model).__name__ == "TreeNet"


def test_networks_learn(data: Path, tmp_path: Path) -> None:
    result = train(quick("treenet", data, tmp_path / "run", epochs=80.0, size=32))
    assert result.history[-1].accuracy > 0.75


def test_a_run_is_not_overwritten_nor_mixed_up(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(quick("treenet", data, run))
    with pytest.raises(UserError, match=r"--resume \(in Python, resume=True\) continues it"):
        train(quick("treenet", data, run))
    with pytest.raises(UserError, match="a run of treenet, not of treelstm"):
        train(quick("treelstm", data, run, resume=True))
    with pytest.raises(UserError, match="started with seed 0"):
        train(replace(quick("treenet", data, run, resume=True), seed=7))
    with pytest.raises(UserError, match="has size=8"):
        train(quick("treenet", data, run, resume=True, size=16))
    other = tmp_path / "other"
    generate_folder(other, free_splits(80, (1, 4), (1, 5), "fourtuples"), seed=9)
    with pytest.raises(UserError, match="other data"):
        train(quick("treenet", other, run, resume=True))
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.tex").touch()
    with pytest.raises(UserError, match="not a run"):
        train(quick("treenet", data, full))
    with pytest.raises(UserError, match="No such file"):
        train(quick("treenet", tmp_path / "nothing", tmp_path / "new"))
    with pytest.raises(UserError, match="Not a directory"):
        train(quick("treenet", data, full / "thesis.tex"))
    with pytest.raises(UserError, match="Not a directory"):
        train(quick("treenet", data, full / "thesis.tex" / "run"))


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "treenet"
    train(quick("treenet", data, folder))
    return folder


def spoiled(run: Path, to: Path, **changes: Any) -> Path:
    to.mkdir()
    described = json.loads((run / RUN).read_text())
    (to / RUN).write_text(json.dumps({**described, **changes}))
    shutil.copy(model_file(run), to)
    shutil.copy(state_file(run), to)
    return to


def test_a_run_comes_before_a_pretrained_network_of_its_name(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_run("treenet") == SHIPPED / "treenet"
    (tmp_path / "treenet").mkdir()
    assert find_run("treenet") == SHIPPED / "treenet"
    shutil.copy(run / RUN, tmp_path / "treenet")
    assert find_run("treenet") == Path("treenet")


def test_a_bad_checkpoint_is_refused_in_one_line(run: Path, tmp_path: Path) -> None:
    bad = {
        "is not a run": tmp_path,
        "format is 99": spoiled(run, tmp_path / "a", format=99),
        "the vocabulary differs": spoiled(run, tmp_path / "b", vocabulary=["~"]),
        "no network called": spoiled(run, tmp_path / "c", model="nonsense"),
        "no setting 'colour'": spoiled(run, tmp_path / "d", settings={"colour": 1}),
        r"b13 is \(4, 16\) where the network has \(4, 32\)": spoiled(
            run, tmp_path / "e", settings={"size": 16}
        ),
        "make no network": spoiled(run, tmp_path / "f", settings={"side": "x"}),
        "cannot have size='x'": spoiled(run, tmp_path / "k", settings={"size": "x"}),
        "cannot have mlp_layers=1000000": spoiled(
            run, tmp_path / "l", settings={"mlp_layers": 10**9}
        ),
        "seed must be from 0 to": spoiled(run, tmp_path / "m", seed=-1),
        r"format is 'a\\nb'": spoiled(run, tmp_path / "n", format="a\nb"),
        "no network called 'xxx": spoiled(run, tmp_path / "o", model="x" * 9000),
        "it would import the module 'xxx": spoiled(run, tmp_path / "p", model="x" * 9000 + ":y"),
        r"settings must be an object, not \[\]": spoiled(run, tmp_path / "g", settings=[]),
    }
    cut = spoiled(run, tmp_path / "h")
    model_file(cut).write_bytes(model_file(run).read_bytes()[:500])
    bad["cannot be read"] = cut
    not_json = spoiled(run, tmp_path / "i")
    (not_json / RUN).write_text("{")
    bad[r"run\.json cannot be read"] = not_json
    deep = spoiled(run, tmp_path / "q")
    (deep / RUN).write_text("[" * 100_000)
    bad["maximum recursion depth"] = deep
    lacking = spoiled(run, tmp_path / "j")
    tensors = load_file(model_file(run))
    tensors.pop("embedding")
    save_file(tensors, model_file(lacking))
    bad["embedding is nothing where"] = lacking
    for problem, folder in bad.items():
        with pytest.raises(UserError, match=problem) as caught:
            possibleworlds.load(folder)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 1000


def test_settings_of_a_larger_network_are_refused_before_there_is_memory_for_it(
    run: Path, tmp_path: Path
) -> None:
    for name in names():  # each can be made without memory for its weights
        kind = resolve(name)
        with torch.device("meta"):
            assert all(weight.is_meta for weight in kind(kind.settings_class()).parameters())
    large = spoiled(run, tmp_path / "large", settings={"size": 10**7})
    with pytest.raises(UserError, match=r"where the network has \(4, 20000000\)"):
        possibleworlds.load(large)


def test_a_spoiled_state_is_refused(data: Path, run: Path, tmp_path: Path) -> None:
    broken = spoiled(run, tmp_path / "broken")
    save_file({"random": torch.get_rng_state()}, state_file(broken))
    with pytest.raises(UserError, match="does not fit the run"):
        train(quick("treenet", data, broken, resume=True))
    with safe_open(state_file(run), framework="pt") as file:
        progress = json.loads(file.metadata()["progress"])
    tensors = load_file(state_file(run))
    spoil: list[tuple[str, dict[str, torch.Tensor], str]] = [
        ("exp_avg.b13 is", {"exp_avg.b13": torch.zeros(1)}, json.dumps(progress)),
        ("weight.b13 is", {"weight.b13": torch.zeros(1)}, json.dumps(progress)),
        ("step must be a whole number, not 'x'", {}, json.dumps({**progress, "step": "x"})),
        ("recursion", {}, "[" * 100_000),
        ("step must be from 0 to", {}, json.dumps({**progress, "step": -5})),
        ("history must be a list", {}, json.dumps({**progress, "history": {"step": 1}})),
        ("history.0 must be an object", {}, json.dumps({**progress, "history": [1]})),
        (
            "progress lacks loss of history.0",
            {},
            json.dumps({**progress, "history": [{"step": 1, "seconds": 1}]}),
        ),
    ]
    for problem, changed, said in spoil:
        save_file({**tensors, **changed}, state_file(broken), {"progress": said})
        with pytest.raises(UserError, match=problem):
            train(quick("treenet", data, broken, resume=True))


def test_a_full_disk_leaves_the_last_checkpoint(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this machine")
    folder = tmp_path / "run"
    monkeypatch.setattr("possibleworlds.training.pipeline.SECONDS_BETWEEN_CHECKPOINTS", 0.0)

    real = os.open

    def fill_the_disk(trainer: Trainer) -> None:
        if trainer.progress.step == 20:
            monkeypatch.setattr("possibleworlds.storage.os.open", without_space)

    def without_space(path: Any, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(".part"):
            return real("/dev/full", os.O_WRONLY)
        return real(path, flags, mode)

    with pytest.raises(UserError, match=r"state-20.*: No space left"):
        train(quick("treenet", data, folder), fill_the_disk)
    monkeypatch.undo()
    train(quick("treenet", data, folder, resume=True))
    train(quick("treenet", data, tmp_path / "whole"))
    assert weights(folder) == weights(tmp_path / "whole")


def test_a_loss_that_is_no_number_is_said(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the loss is"):
        train(
            quick(
                "mlp-bow",
                data,
                tmp_path / "run",
                learning_rate=9.0,
                max_grad_norm=0.0,
                epochs=500.0,
                mlp_layers=40,
            )
        )


def test_predictions_from_python(run: Path) -> None:
    network = possibleworlds.load(run)
    one = network.probability("p & q", "q")
    assert isinstance(one, float)
    assert 0 < one < 1
    many = network.probability(["p & q", "p | q"], ["q", possibleworlds.parse("q")])
    assert isinstance(many, np.ndarray)
    assert many[0] == pytest.approx(one, abs=1e-6)
    assert len(network.probability([], [])) == 0  # type: ignore[arg-type]
    assert network.probability("p <-> ⊤", "p") == network.probability(
        possibleworlds.parse("p <-> ⊤").basic(), "p"
    )
    for first, second in (("rain", "wet"), ("ab", "cd"), ("a'", "B")):
        renamed = network.probability(f"{first} & {second}", second)
        assert renamed == pytest.approx(network.probability("a & b", "b"), abs=1e-6)
    with pytest.raises(UserError, match="27 variables"):
        network.probability(" & ".join(f"x{i}" for i in range(27)), "x0")
    with pytest.raises(UserError, match="differ in length"):
        network.probability(["p"], ["q", "r"])
    with pytest.raises(UserError, match="two formulas, or two sequences"):
        network.probability("p", ["q", "r"])


def test_wilson_interval() -> None:
    assert interval(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert interval(100, 100)[1] == 1.0
    assert interval(0, 10)[0] == 0.0


def test_the_commands(data: Path, run: Path, tmp_path: Path) -> None:
    def output(*arguments: str, code: int = 0) -> str:
        done = run_here(*arguments)
        assert done.returncode == code, done.stderr
        return done.stdout

    test = str(data / "test_easy.txt")
    evaluated = output("evaluate", str(run), test, str(data / "validate.txt"), "--json")
    lines = [json.loads(line) for line in evaluated.splitlines()]
    assert [line["file"] for line in lines] == [test, str(data / "validate.txt")]
    for line in lines:
        assert line["accuracy"] == line["correct"] / line["rows"]
        assert line["interval"][0] <= line["accuracy"] <= line["interval"][1]
        assert sum(part["rows"] for part in line["by_variables"].values()) == line["rows"]
        assert sum(part["rows"] for part in line["by_operators"].values()) == line["rows"]
    described = json.loads((run / RUN).read_text())
    assert lines[1]["accuracy"] == described["metrics"]["validation"]
    elsewhere = shutil.copy(test, tmp_path)
    both = output("evaluate", str(run), test, str(elsewhere))
    assert "95 % interval" in both
    assert both.count(f"{tmp_path.name}/test_easy ") == 2  # a column by each kind of size

    predicted = output("predict", str(run), test).split()
    assert len(predicted) == lines[0]["rows"]
    network = possibleworlds.load(run)
    first = Path(test).read_text().splitlines()[0].split(",")
    assert float(predicted[0]) == pytest.approx(network.probability(*first[:2]), abs=1e-5)
    as_json = output("predict", str(run), test, "--json").splitlines()
    assert json.loads(as_json[0])["line"] == 1

    decided = output("entails", "p -> q", "q -> p", "--model", str(run), code=1)
    assert "says" in decided
    assert "countermodel: p false, q true" in decided
    answer = json.loads(output("entails", "p", "p", "--model", str(run), "--json"))
    assert 0 < answer["probability"] < 1

    listed = [json.loads(line) for line in output("models", "--json").splitlines()]
    assert len(listed) >= 12
    by_name = {line["name"]: line for line in listed}
    line = by_name["possibleworldnet"]
    assert line["pretrained"]["validate"] > 0.985
    assert line["paper"]["validate"] == pytest.approx(0.987)
    assert line["parameters"] == 28993
    assert line["summary"] == "A and B in many imagined worlds"
    for name, line in by_name.items():
        if line["pretrained"]:
            weights = possibleworlds.load(name).model.parameters()
            assert line["parameters"] == sum(weight.numel() for weight in weights)
        for accuracies in filter(None, (line["paper"], line["pretrained"])):
            assert all(0 < share <= 1 for share in accuracies.values())
    table = output("models")
    assert "possibleworldnet" in table
    assert all(len(shown) <= 80 for shown in table.splitlines())


def test_the_recipe_of_a_pretrained_network(data: Path, tmp_path: Path) -> None:
    options = ["--data", str(data), "--out", str(tmp_path / "run"), "--preset", "best"]
    done = run_here("train", "possibleworldnet", *options, "--epochs", "0.01", "--seed", "3")
    assert done.returncode == 0
    assert "the pretrained network was trained on different data" in done.stderr
    stored = json.loads((tmp_path / "run" / RUN).read_text())
    ready = read_run(SHIPPED / "possibleworldnet")
    assert stored["settings"] == ready.settings
    assert stored["training"] == {**ready.training, "epochs": 0.01}
    assert stored["seed"] == 3


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["evaluate", "nowhere", "x.txt"],
            "nowhere is neither a run folder nor a pretrained network",
        ),
        (["evaluate", "RUN", "nowhere.txt"], "nowhere.txt: No such file"),
        (
            ["evaluate", "RUN", "DATA/test_easy.txt", "--worlds", "3"],
            "worlds is for networks with worlds",
        ),
        (["predict", "RUN", "nowhere.txt"], "nowhere.txt: No such file"),
        (["train", "nonsense", "--data", "DATA", "--out", "r"], "no network called"),
        (["train", "treenet", "--data", "DATA", "--out", "r", "--set", "size"], "name=value"),
        (["train", "treenet", "--data", "nowhere", "--out", "r"], "nowhere/train.txt"),
        (["train", "lstm", "--data", "DATA", "--out", "r", "--side", "left"], "no setting 'side'"),
        (
            ["train", "mlp-bow", "--data", "DATA", "--out", "r", "--set", "side=up"],
            "side must be both, left or right",
        ),
        (
            ["train", "treenet", "--data", "DATA", "--out", "r", "--set", "size=-1"],
            "cannot have size=-1",
        ),
        (["entails", "p", "q", "--model", "nowhere"], "pretrained network (linear-bow, mlp-bow"),
        (["entails", "p", "q", "--model", ""], "is not a run"),
        (["train", "treenet", "--data", "DATA", "--out", "r", "--minutes", "0"], "trains nothing"),
        (["train", "transformer", "--data", "DATA", "--out", "r", "--set", "size=33"], "even"),
        (
            ["train", "treenet", "--data", "DATA", "--out", "r", "--device", "mars"],
            ": device mars: ",
        ),
        (["evaluate", "RUN", "DATA/test_easy.txt", "--certify"], "has no worlds"),
        (
            ["evaluate", "RUN", "DATA/test_easy.txt", "--steps", "3"],
            "steps is for networks with guided worlds",
        ),
        (["entails", "p", "q", "--model=possibleworldnet", "--worlds", "9" * 12], "enough memory"),
        (["entails", "p", "q", "--model=possibleworldnet", "--worlds", "9" * 20], "must be from 1"),
        (["entails", "p", "q", "--certify"], "--certify is for the answer of a network"),
        (["entails", "p", "q", "--worlds", "3"], "--worlds is for the answer of a network"),
        (
            ["train", "a.b:C", "--data", "DATA", "--out", "r", "--preset", "best"],
            "no pretrained a.b:C",
        ),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], problem: str, data: Path, run: Path, tmp_path: Path
) -> None:
    filled = [a.replace("RUN", str(run)).replace("DATA", str(data)) for a in arguments]
    done = run_here(*filled, cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (tmp_path / "r").exists()


def test_tensorboard_events(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    out = tmp_path / "run"
    quick_options = ["--epochs", "1", "--set", "size=8", "--tensorboard"]
    done = run_here("train", "treenet", "--data", str(data), "--out", str(out), *quick_options)
    assert done.returncode == 0, done.stderr
    assert list((out / "tensorboard").iterdir())


def test_buffers_and_tied_weights_are_kept(data: Path, tmp_path: Path) -> None:
    code = """
from dataclasses import dataclass
from torch import nn
from possibleworlds.models import (Classifier, Model)

@dataclass(frozen=True)
class Settings:
    size: int = 8

class Tied(Model):
    settings_class = Settings

    def __init__(self, settings):
        super().__init__(settings)
        self.encode = nn.Sequential(nn.Linear(30, settings.size), nn.BatchNorm1d(settings.size))
        self.again = self.encode[0]
        self.classifier = Classifier(settings.size, settings.size, 2)

    def forward(self, batch):
        codes = self.encode(batch.symbol_frequencies)
        return self.classifier(codes[batch.left], codes[batch.right])
"""
    (tmp_path / "tied.py").write_text(code)
    options = ["--data", str(data), "--out", "run", "--epochs", "1"]
    assert run_here("train", "tied:Tied", *options, cwd=tmp_path).returncode == 0
    done = run_here(
        "evaluate", "run", str(data / "validate.txt"), "--trust", "--json", cwd=tmp_path
    )
    described = json.loads((tmp_path / "run" / RUN).read_text())
    assert json.loads(done.stdout)["accuracy"] == described["metrics"]["validation"]


def test_a_finished_run_is_mended_by_resuming(data: Path, run: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(run, tmp_path / "copy")
    whole = (run / METRICS).read_text()
    (copied / METRICS).unlink()
    train(quick("treenet", data, copied, resume=True))
    assert (copied / METRICS).read_text() == whole


def test_a_network_of_ones_own(data: Path, tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "your-own-network.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "my_network.py").write_text(code, encoding="utf-8")
    name = "my_network:CountNet"
    options = ["--data", str(data), "--out", "run", "--epochs", "1"]
    done = run_here("train", name, *options, "--set", "size=8", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    test = str(data / "test_easy.txt")
    done = run_here("evaluate", "run", test, "--trust", "--json", cwd=tmp_path)
    assert 0 <= json.loads(done.stdout)["accuracy"] <= 1
    report = ["report", "run", "--out", "page", "--data", str(data)]
    assert run_here(*report, "--evaluate", cwd=tmp_path).returncode == 0
    assert "--evaluate --trust" in (tmp_path / "page" / "report.md").read_text(encoding="utf-8")
    assert run_here(*report, "--evaluate", "--trust", cwd=tmp_path).returncode == 0
    (row,) = json.loads((tmp_path / "page" / "report.json").read_text(encoding="utf-8"))["results"]
    assert row["accuracy"][data.name]["test_easy"]["mean"] == json.loads(done.stdout)["accuracy"]
