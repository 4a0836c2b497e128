"""Names, sizes and types that a stranger, or a slip, may give: one clear line, and no more."""

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import possibleworlds as pw
from possibleworlds import storage
from possibleworlds.data.files import read_pairs
from possibleworlds.data.plots import plot_distributions
from possibleworlds.data.published import fetch
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.data.statistics import file_statistics
from possibleworlds.errors import StorageError, UserError
from possibleworlds.experiments.grid import (
    Budget,
    Candidate,
    Rung,
    SearchPlan,
    SearchRequest,
    with_defaults,
)
from possibleworlds.experiments.reproduce import holds
from possibleworlds.experiments.sweep import (
    SWEEP,
    NetworkRecord,
    SweepRecord,
    read_searches,
)
from possibleworlds.integrations.cards import split_names
from possibleworlds.integrations.chat import Endpoint, ReplyCache
from possibleworlds.language.item import Item
from possibleworlds.models.registry import resolve
from possibleworlds.training.batches import MAX_LENGTH, Dataset
from possibleworlds.training.checkpoint import load_tensors, pretrained_copy
from possibleworlds.training.evaluations import EVALUATION, read_evaluations
from tests.conftest import run_here

ESCAPE = "\x1b]0;owned\x07\x9b31m\u202e"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    pairs = pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)
    for name in ("train", "validate", f"test{ESCAPE}"):
        pairs.save(folder / f"{name}.txt")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["stats", "FILE"],
        ["stats", "FILE", "--json"],
        ["verify", "FOLDER"],
        ["evaluate", "treenet", "FILE"],
        ["evaluate", "treenet", "FILE", "--json"],
        ["predict", "treenet", "FILE", "--json"],
        ["evaluate", ESCAPE, "FILE"],
    ],
)
def test_no_terminal_escapes_from_names_of_files(arguments: list[str], data: Path) -> None:
    names = {"FILE": str(data / f"test{ESCAPE}.txt"), "FOLDER": str(data)}
    done = run_here(*(names.get(a, a) for a in arguments))
    shown = done.stdout + done.stderr
    assert shown
    assert all(line.isprintable() for line in shown.split("\n"))
    if "--json" in arguments and "stats" not in arguments:
        assert json.loads(done.stdout.splitlines()[0])["file"] == names["FILE"]


def test_a_symlink_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("precious")
    for name in (".x.json.part", "x.json"):
        (tmp_path / name).symlink_to(tmp_path / "theirs")
    storage.write_json(tmp_path / "x.json", {"a": 1})
    assert (tmp_path / "theirs").read_text() == "precious"
    assert storage.read_json(tmp_path / "x.json") == {"a": 1}
    assert not (tmp_path / "x.json").is_symlink()


def test_figures_and_copies_are_not_written_through_a_symlink(tmp_path: Path) -> None:
    theirs, data, out = tmp_path / "theirs", tmp_path / "data.txt", tmp_path / "report"
    theirs.write_text("precious")
    data.write_text("(p&q),p,1,1,1,1\n")
    copy = out / "pretrained" / "linear-bow"
    copy.mkdir(parents=True)
    written = [tmp_path / "plot.png", copy / "run.json", copy / "model.safetensors"]
    for path in written:
        path.symlink_to(theirs)
    statistics = file_statistics(read_pairs(data))
    statistics.features = {"length": statistics.features["length"]}  # the others take seconds
    plot_distributions(statistics, written[0])
    assert pretrained_copy(Path("linear-bow"), out) == copy
    assert theirs.read_text() == "precious"
    assert not any(path.is_symlink() for path in written)


def test_a_damaged_mark_of_what_was_verified_does_not_count(tmp_path: Path) -> None:
    mark, pipe = tmp_path / "mark", tmp_path / "pipe"
    os.mkfifo(pipe)
    mark.write_bytes(b"\xff")
    assert not holds(mark, "a")
    assert not holds(pipe, "a")
    assert not holds(tmp_path / "missing", "a")
    mark.write_text("a")
    assert holds(mark, "a")


def test_files_that_were_never_completed_are_removed(tmp_path: Path) -> None:
    names: list[str] = []

    def interrupted() -> None:
        with storage.atomic_write(tmp_path / "x.json") as file:
            file.write("a")
            names.extend(os.listdir(tmp_path))
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    assert os.listdir(tmp_path) == []
    assert len(set(names)) == 2  # nobody can foresee the name
    for name in names:
        (tmp_path / name).touch()  # as a killed process leaves it
    (tmp_path / ".thesis.part").touch()
    with storage.exclusive_folder(tmp_path):
        assert os.listdir(tmp_path) == [".thesis.part"]
    with pytest.raises(StorageError, match=r"nowhere/x\.json: No such file"):
        storage.write_json(tmp_path / "nowhere" / "x.json", {})


def test_what_is_too_large_or_no_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with path.open("wb") as file:
        file.truncate(storage.MAX_JSON_BYTES + 1)
    with pytest.raises(UserError, match="the limit is"):
        storage.read_json(path)
    tensors = tmp_path / "model.safetensors"
    with tensors.open("wb") as file:
        file.truncate(1 << 34)  # of which nothing is on the disk
    with pytest.raises(UserError, match="more than 536,870,912 bytes"):
        load_tensors(tensors)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(UserError, match="not a regular file"):
            storage.read_json(tmp_path / "pipe")
    with pytest.raises(UserError, match="4,000,001 characters"):
        pw.parse("~" * 4_000_000 + "p")
    with pytest.raises(UserError, match="networks take up to 20,000"):
        Dataset(pw.Pairs.of([("p" + "~" * MAX_LENGTH, "p", 0)]))


ITEM = pw.tasks()[0].to_json()


@pytest.mark.parametrize(
    "call",
    [
        lambda: pw.parse(3),
        lambda: pw.entails(3, "q"),
        lambda: pw.entails("p", 3),
        lambda: pw.entails(None, None),
        lambda: pw.count_models(b"p"),
        lambda: pw.countermodel(["p", 3], "q"),
        lambda: pw.generate(rows="8", variables=(1, 3), operators=(1, 3), seed=0),
        lambda: pw.generate(rows=8, variables="3", operators=(1, 3), seed=0),
        lambda: pw.generate(rows=8, variables=(1, 3), operators=("a", 3), seed=0),
        lambda: pw.generate(rows=8, variables=(1, 3), operators=(1, 3), seed="a"),
        lambda: pw.read(3),
        lambda: pw.load(3),
        lambda: pw.paper_splits(scale="a"),
        lambda: pw.read(__file__, rows=-1),
        lambda: pw.read(__file__, rows="a"),
        lambda: pw.tasks(size=10**18),
        lambda: pw.score("yes", 3),
        lambda: Item.from_json({**ITEM, "kind": "x"}),
        lambda: Item.from_json({**ITEM, "min_operators": float("inf")}),
        lambda: Endpoint(3, "m").validate(),  # type: ignore[arg-type]
        lambda: Endpoint("http://a/v1", "m", concurrency="x").validate(),  # type: ignore[arg-type]
        lambda: Endpoint("http://a/v1", "m", temperature=float("nan")).validate(),
        lambda: ReplyCache(3),  # type: ignore[arg-type]
        lambda: split_names([Path("a\nb.txt")]),
        lambda: split_names([Path("a: b.txt")]),
    ],
)
def test_wrong_types_are_named(call: Any) -> None:
    with pytest.raises(UserError) as caught:
        call()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "7", "[" * 100_000, '{"pid": -1}', '{"pid": "x", "host": 3}', "\udcff", "null"],
)
def test_a_damaged_lock_is_no_traceback(text: str, tmp_path: Path) -> None:
    for name in ("x.0", "x.²", f"x.{'9' * 100}", "x.-1"):
        (tmp_path / name).write_text(text, errors="surrogateescape")
    host = storage.socket.gethostname()
    (tmp_path / "y.3").write_text(json.dumps({"host": host, "pid": 2**80}))
    for message in storage.held_locks(tmp_path).values():
        assert isinstance(message, dict)
    assert storage.last_lock_number(tmp_path / "x") == 0


@pytest.mark.parametrize("name", ["x" * 5000, "../../x", "\0", "", "a\nb"])
def test_a_sweep_names_only_networks(name: str, tmp_path: Path) -> None:
    plan = SearchPlan(
        with_defaults(resolve("treenet"), {}),
        [Rung(1, 1, 5)],
        [Candidate({}, [1.0], [1.0])],
        0,
        24,
        1.0,
    )
    network = NetworkRecord(SearchRequest(Budget(9.0, "epochs"), 10.0, 0), plan, None)
    record = asdict(SweepRecord({}, 8, {"treenet": network}))
    storage.write_json(
        tmp_path / SWEEP, {**record, "networks": {name: record["networks"]["treenet"]}}
    )
    with pytest.raises(UserError, match="is not the name of a network"):
        read_searches(tmp_path)


def test_damaged_files_of_json(tmp_path: Path) -> None:
    for evaluation in (
        {"a": {"accuracy": 10**400}},
        {"a": {"accuracy": 0.5, "by_variables": {"²": {"rows": 1, "accuracy": 1.0}}}},
        {"a": {"accuracy": 0.5, "errors": [-1]}},
        {"a": 1},
    ):
        (tmp_path / EVALUATION).write_text(json.dumps(evaluation))
        with pytest.raises(UserError, match="does not hold evaluations"):
            read_evaluations(tmp_path)
    for seed in ("Infinity", "1e999", '"x"', "[1]"):
        rest = '"settings": [], "splits": {}, "pruned_against": [], "prune": "formulas"'
        (tmp_path / MANIFEST).write_text(f'{{"seed": 0, {rest}}}')
        read_manifest(tmp_path)
        (tmp_path / MANIFEST).write_text(f'{{"seed": {seed}, {rest}}}')
        with pytest.raises(UserError, match="cannot be read"):
            read_manifest(tmp_path)


PIPES = {
    "train --data DATA --out OUT linear-bow": "DATA/train.txt",
    "generate OUT --rows 8 --prune-against DATA/train.txt": "DATA/train.txt",
    "evaluate RUN DATA/validate.txt": "RUN/model-1.safetensors",
    "sweep --status SWEEP": "SWEEP/locks/linear-bow-0.0",
}
"""What blocked for ever where a file was a pipe."""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes that have names")
@pytest.mark.parametrize("command", PIPES)
def test_a_pipe_in_the_place_of_a_file_is_no_file(command: str, tmp_path: Path) -> None:
    pairs = pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)
    (tmp_path / "DATA").mkdir()
    for name in ("train", "validate"):
        pairs.save(tmp_path / "DATA" / f"{name}.txt")
    settings = {"epochs": 0.01, "evaluations": 1, "size": 4}
    pw.train("linear-bow", pairs, pairs, out=tmp_path / "RUN", **settings)
    write_sweep(tmp_path / "SWEEP")
    pipe = tmp_path / PIPES[command]
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    done = run_in_a_fork(*command.split(), cwd=tmp_path)
    assert "Traceback" not in done.stderr
    if "SWEEP" not in command:  # where nothing is known of a lock, somebody may hold it
        assert done.returncode == 2
        assert f"{pipe.name}" in done.stderr
        assert "not a regular file" in done.stderr


def run_in_a_fork(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run the command by a copy of this process, which is killed if it waits for ever."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        waiting = pool.submit(run_here, *arguments, cwd=cwd)
        try:
            return waiting.result(timeout=120)
        except TimeoutError:
            for process in multiprocessing.active_children():
                process.kill()
            pytest.fail("still waiting")


def write_sweep(folder: Path) -> None:
    base = with_defaults(resolve("linear-bow"), {})
    plan = SearchPlan(base, [Rung(1, 1, 5)], [Candidate({}, [1.0], [1.0])], 0, 24, 1.0)
    request = SearchRequest(Budget(9.0, "epochs"), 10.0, 0)
    record = SweepRecord({"train.txt": "a"}, 80, {"linear-bow": NetworkRecord(request, plan, None)})
    (folder / "locks").mkdir(parents=True)
    storage.write_json(folder / SWEEP, asdict(record))


def test_a_download_is_not_written_through_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "x.txt").write_text("rows")
    (tmp_path / "theirs").write_text("precious")
    part = tmp_path / ".x.txt.download"
    part.symlink_to(tmp_path / "theirs")
    with pytest.raises(StorageError, match=r"x\.txt\.download: "):
        fetch((tmp_path / "source" / "x.txt").as_uri(), part, lambda *_: None)
    assert (tmp_path / "theirs").read_text() == "precious"


def test_a_symlink_to_itself_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    command = [sys.executable, "-m", "possibleworlds", "verify", str(tmp_path / "loop")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_weights_and_worlds_of_a_stranger_are_checked(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    copy = pretrained_copy(Path("possibleworldnet"), tmp_path)
    assert copy
    run = json.loads((copy / "run.json").read_text("utf-8"))
    weights = copy / run["weights"]
    tensors = load_file(weights)
    next(iter(tensors.values())).view(-1)[0] = torch.nan
    save_file(tensors, weights)
    with pytest.raises(UserError, match="weights that are not numbers"):
        pw.load(copy)
    run["settings"]["worlds"] = 10**9
    (copy / "run.json").write_text(json.dumps(run))
    with pytest.raises(UserError, match="cannot have worlds=1000000000"):
        pw.load(copy)
