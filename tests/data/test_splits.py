import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from possibleworlds.data.exam import ENTAILMENTS
from possibleworlds.data.files import read_pairs
from possibleworlds.data.generation import KeySet, Split
from possibleworlds.data.keys import hashed, pair_key
from possibleworlds.data.splits import (
    PRESETS,
    free_splits,
    generate_folder,
    paper_layout,
    read_manifest,
)
from possibleworlds.errors import UserError
from possibleworlds.storage import sha256
from tests.conftest import started, wait_for_file

TINY = paper_layout(200, 40, 40, 40, 40, 20)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    generate_folder(folder, TINY, seed=3)
    return folder


def test_the_paper_preset_is_the_papers() -> None:
    splits = [
        (s.name, s.rows, s.variables, s.operators, s.tilt, s.method) for s in PRESETS["paper"]
    ]
    assert splits == [
        ("test_exam", 2 * len(ENTAILMENTS), (1, 10), (1, 10), 0, "exam"),
        ("train", 100_000, (1, 10), (1, 10), 0.1, "fourtuples"),
        ("validate", 5_000, (1, 10), (1, 10), 0.1, "fourtuples"),
        ("test_easy", 5_000, (1, 10), (1, 10), 0.2, "fourtuples"),
        ("test_hard", 5_000, (1, 10), (15, 20), 0, "fourtuples"),
        ("test_big", 5_000, (1, 16), (11, 30), -0.2, "fourtuples"),
        ("test_massive", 2_230, (20, 26), (20, 30), 0, "mutated"),
    ]


def test_sizes_are_exact_and_halves_positive(tiny: Path) -> None:
    manifest = read_manifest(tiny)
    assert manifest["seed"] == 3
    for split in TINY:
        pairs = list(read_pairs(tiny / split.file))
        assert len(pairs) == split.rows == manifest["splits"][split.name]["rows"]
        assert 2 * sum(pair.label for pair in pairs) == split.rows
        assert manifest["splits"][split.name]["sha256"] == sha256(tiny / split.file)


def test_no_pair_stands_twice_in_the_whole_data_set(tiny: Path) -> None:
    keys = [pair_key(p.a, p.b) for split in TINY for p in read_pairs(tiny / split.file)]
    assert len(keys) == len(set(keys))


def test_ranges_are_kept(tiny: Path) -> None:
    for split in TINY:
        for pair in read_pairs(tiny / split.file):
            names = set(pair.a + pair.b) - set("~&|>")
            assert len(names) <= split.variables[1]
            if split.method != "exam":
                low, high = split.operators
                for rpn in (pair.a, pair.b):
                    assert low <= sum(map(rpn.count, "~&|>")) <= high


def test_same_seed_same_bytes_for_any_number_of_workers(tiny: Path, tmp_path: Path) -> None:
    for workers in (2, 3):
        folder = tmp_path / f"{workers}"
        generate_folder(folder, TINY, seed=3, workers=workers)
        assert contents(folder) == contents(tiny)
    generate_folder(tmp_path / "other", TINY, seed=4)
    assert contents(tmp_path / "other")["train.txt"] != contents(tiny)["train.txt"]


def test_what_was_finished_is_kept_and_the_rest_made(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "resumed"
    generate_folder(folder, TINY, seed=3)
    manifest = json.loads((folder / "dataset.json").read_text())
    for name in ("validate", "test_big"):
        (folder / f"{name}.txt").unlink()
    del manifest["splits"]["test_hard"]
    (folder / "dataset.json").write_text(json.dumps(manifest))
    (folder / ".test_hard.txt.0123456789abcdef.part").write_text("half a row")
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / ".dataset.json.0123456789abcdef.part").write_text("{")
    generate_folder(tmp_path / "killed", TINY[:1], seed=3)
    before = (folder / "train.txt").stat().st_mtime_ns
    generate_folder(folder, TINY, seed=3)
    assert (folder / "train.txt").stat().st_mtime_ns == before
    left = {k: v for k, v in contents(folder).items() if not k.endswith(".part")}
    assert {k: v for k, v in left.items() if k != "dataset.json"} == {
        k: v for k, v in contents(tiny).items() if k != "dataset.json"
    }
    assert read_manifest(folder)["splits"].keys() == read_manifest(tiny)["splits"].keys()


def test_a_finished_file_that_was_changed_is_not_overwritten(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(tiny, folder)
    (folder / "test_exam.txt").unlink()
    with (folder / "train.txt").open("a") as file:
        file.write("p,p,1,1,1,1\n")
    before = contents(folder)
    with pytest.raises(UserError, match=r"train.txt was changed after .* --force"):
        generate_folder(folder, TINY, seed=3)
    assert contents(folder) == before
    generate_folder(folder, TINY, seed=3, force=True)
    assert contents(folder) == contents(tiny)


KILLED = """
import os, signal, sys
from pathlib import Path
from possibleworlds.data.splits import generate_folder
from tests.conftest import wait_for_file
from tests.data.test_splits import TINY

def kill(name, written, rows):
    if name == sys.argv[1] and written >= int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

generate_folder(Path("data"), TINY, seed=3, progress=kill)
"""


@pytest.mark.parametrize(
    ("name", "rows"), [("train", 100), ("train", 200), ("test_hard", 40), ("test_massive", 20)]
)
def test_a_killed_run_leaves_whole_files_and_is_finished_by_another(
    name: str, rows: int, tiny: Path, tmp_path: Path
) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    command = [sys.executable, "-c", KILLED, name, str(rows)]
    killed = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})
    assert killed.returncode == -signal.SIGKILL
    folder = tmp_path / "data"
    names = [split.name for split in TINY]
    finished = names[: names.index(name)]
    manifest = read_manifest(folder)
    assert list(manifest["splits"]) == finished
    complete = {f"{done}.txt": (tiny / f"{done}.txt").read_bytes() for done in finished}
    left = {k: v for k, v in contents(folder).items() if not k.endswith(".part")}
    assert {k: v for k, v in left.items() if k != "dataset.json"} == complete
    times = {file: (folder / file).stat().st_mtime_ns for file in complete}
    generate_folder(folder, TINY, seed=3)
    assert contents(folder) == contents(tiny)
    assert {file: (folder / file).stat().st_mtime_ns for file in complete} == times


def test_a_folder_that_holds_something_is_not_overwritten(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "full"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="thesis"):
        generate_folder(folder, TINY, seed=3)
    with pytest.raises(UserError, match="another data set"):
        generate_folder(tiny, TINY, seed=99)
    (folder / "dataset.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        generate_folder(folder, TINY, seed=3)
    (folder / "test_big.txt").write_text("of another data set")
    generate_folder(folder, TINY[:2], seed=3, force=True)
    assert not (folder / "test_big.txt").exists()
    assert (folder / "thesis.tex").read_text() == "years of work"
    assert read_manifest(folder)["splits"].keys() == {"test_exam", "train"}


@pytest.mark.parametrize(
    ("part", "content"),
    [
        *(("splits", text) for text in ("[]", "7", '{"train": 1}', '{"train": {}}', "[" * 100_000)),
        *(("pruned_against", text) for text in ("3", "[1]", '[{"file": "a"}]')),
        *(
            ("settings", text)
            for text in ("{}2", "[4]", '[{"name": 1, "rows": 4}]', '[{"rows": 4}]')
        ),
        ("seed", "null"),
    ],
)
def test_a_spoiled_description_is_refused(
    part: str, content: str, tiny: Path, tmp_path: Path
) -> None:
    manifest = json.loads((tiny / "dataset.json").read_text())
    text = json.dumps({**manifest, part: "SPOILED"}).replace('"SPOILED"', content)
    (tmp_path / "dataset.json").write_text(text)
    with pytest.raises(UserError, match="cannot be read; generate --force"):
        generate_folder(tmp_path, TINY, seed=3)


def test_two_processes_do_not_fill_one_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "possibleworlds", "generate", "data", "--preset", "small"]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for running in both:
        _, said = running.communicate(timeout=60)
        assert running.returncode == 0 or "data: another process is writing to it" in said
    generate_folder(tmp_path / "undisturbed", PRESETS["small"], seed=0)
    assert contents(tmp_path / "data") == contents(tmp_path / "undisturbed")


def test_pruning_against_other_files(tiny: Path, tmp_path: Path) -> None:
    splits = free_splits(200, (1, 3), (1, 4), "fourtuples")
    generate_folder(tmp_path / "first", splits, seed=0)
    against = tmp_path / "first" / "train.txt"
    generate_folder(tmp_path / "second", splits, seed=0, prune_against=[against])
    old = {pair_key(p.a, p.b) for p in read_pairs(against)}
    for split in splits:
        for pair in read_pairs(tmp_path / "second" / split.file):
            assert pair_key(pair.a, pair.b) not in old
    assert read_manifest(tmp_path / "second")["pruned_against"] == [
        {"file": "train.txt", "sha256": sha256(against)}
    ]
    exam = [split for split in TINY if split.method == "exam"]
    shown: list[tuple[str, int, int]] = []
    generate_folder(
        tmp_path / "exam",
        exam,
        seed=5,
        prune_against=[tiny / "test_exam.txt"],
        progress=lambda *update: shown.append(update),
    )
    assert shown[-1] == ("test_exam", 0, 0)  # complete, however many rows were planned
    assert read_manifest(tmp_path / "exam")["splits"]["test_exam"]["rows"] == 0


@pytest.mark.parametrize("method", ["fourtuples", "naive", "mutated"])
def test_free_settings(method: str, tmp_path: Path) -> None:
    splits = free_splits(80, (2, 5), (3, 6), method)  # type: ignore[arg-type]
    manifest = generate_folder(tmp_path / method, splits, seed=0)
    assert {name: s["rows"] for name, s in manifest["splits"].items()} == {
        "train": 80,
        "validate": 4,
        "test_easy": 4,
    }


def test_the_exam_is_the_same_for_every_seed(tiny: Path, tmp_path: Path) -> None:
    generate_folder(tmp_path / "other", TINY[:1], seed=77)
    assert contents(tmp_path / "other")["test_exam.txt"] == contents(tiny)["test_exam.txt"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("all_processes", [False, True])
def test_workers_end_with_the_run(how: signal.Signals, all_processes: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "possibleworlds", "generate", "data", "--rows", "4000000"]
    words = [*command, "--workers", "2"]
    with started(words, cwd=tmp_path, stderr=subprocess.PIPE) as running:
        wait_for_file(running, tmp_path, ".train.txt.*.part")
        while not any(path.stat().st_size for path in tmp_path.rglob(".train.txt.*.part")):
            assert running.poll() is None, running.communicate()  # until the workers are at work
            time.sleep(0.05)
        if all_processes:
            os.killpg(running.pid, how)
        else:
            running.send_signal(how)
        # The pipe is closed only when the last worker has gone.
        running.communicate(timeout=300)


def test_settings_that_cannot_be_are_refused(tmp_path: Path) -> None:
    for split, problem in [
        (Split("x", 4, variables=(0, 3)), "variables 0-3"),
        (Split("x", 4, variables=(1, 27)), "variables 1-27"),
        (Split("x", 4, operators=(5, 3)), "operators 5-3"),
        (Split("x", 6), "6 rows"),
        (Split("x", 0), "0 rows"),
        (Split("x", 4, tilt=1.0), "tilt 1.0"),
        (Split("x", 4, operator_tilt=-1.0), "tilt -1.0"),
        (Split("x", 4, search_rows=-1), "search_rows"),
    ]:
        with pytest.raises(UserError, match=problem):
            generate_folder(tmp_path / "never", [split], seed=0)
    assert not (tmp_path / "never").exists()


def test_a_failed_run_leaves_nothing_behind(tmp_path: Path) -> None:
    impossible = free_splits(4_000, (1, 1), (1, 1))
    with pytest.raises(UserError, match="only"):
        generate_folder(tmp_path / "new" / "data", impossible, seed=0)
    assert not list(tmp_path.iterdir())
    (tmp_path / "data").mkdir()
    with pytest.raises(UserError, match="only"):
        generate_folder(tmp_path / "data", impossible, seed=0)
    assert not contents(tmp_path / "data")
    generate_folder(tmp_path / "data", TINY[:1], seed=0)  # another request is not refused
    with pytest.raises(UserError, match="only"):  # finished splits stay
        generate_folder(tmp_path / "more", [*TINY[:1], *impossible], seed=0)
    assert contents(tmp_path / "more").keys() == {"dataset.json", "test_exam.txt"}


def test_more_rows_than_there_are_is_said_not_tried_for_ever(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="rows are to be found"):
        generate_folder(tmp_path / "few", [Split("x", 10_000, (1, 1), (0, 1))], seed=0)
    assert not (tmp_path / "few" / "x.txt").exists()


@given(st.lists(st.lists(st.integers(1, 60), max_size=4), max_size=30))
def test_a_key_set_is_a_set(units: list[list[int]]) -> None:
    every_key = hashed(np.arange(1, 61)).tolist()
    keys, expected = KeySet(60), set[int]()
    for numbers in units:
        unit = [every_key[number - 1] for number in numbers]
        new = len(set(unit)) == len(unit) and expected.isdisjoint(unit)
        assert keys.add_new(unit) == new
        if new:
            expected.update(unit)
    assert {key for key in every_key if key in keys} == expected


def test_a_folder_is_not_pruned_against_what_it_is_to_replace(tmp_path: Path) -> None:
    splits = free_splits(80, (1, 4), (1, 4))
    generate_folder(tmp_path, splits, seed=1)
    files = sorted(tmp_path.glob("*.txt"))
    before = [file.read_bytes() for file in files]
    with pytest.raises(UserError, match="prune against other files"):
        generate_folder(tmp_path, splits, seed=1, force=True, prune_against=files)
    assert [file.read_bytes() for file in files] == before


def test_settings_that_do_not_apply_are_errors() -> None:
    with pytest.raises(UserError, match="operators do not apply to the method 'sat'"):
        free_splits(80, (4, 5), (3, 5), "sat")
    with pytest.raises(UserError, match="clauses are for the method 'sat'"):
        free_splits(80, (4, 5), (3, 5), "naive", clauses=3)
