"""A stranger's folders run no code, whatever they name, unless they are trusted."""

import json
from pathlib import Path

import pytest

import possibleworlds as pw
from possibleworlds.training.checkpoint import RUN
from tests.conftest import run_here

EVIL = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
from possibleworlds.models.treenet import TreeNet as X
"""


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A run folder whose run.json names a class beside it, as seen from the folder above."""
    pairs = pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)
    folder = tmp_path / "runs" / "stranger"
    pw.train("treenet", pairs, validate=pairs, epochs=1, size=8).save(folder)
    record = json.loads((folder / RUN).read_text())
    (folder / RUN).write_text(json.dumps({**record, "model": "runs.stranger.evil:X"}))
    (folder / "evil.py").write_text(EVIL)
    data = tmp_path / "data"
    data.mkdir()
    for name in ("train", "validate", "test_easy"):
        pairs.save(data / f"{name}.txt")
    return folder


def test_no_command_imports_what_a_file_names(stranger: Path) -> None:
    above = stranger.parents[1]
    run, ran = str(stranger), stranger / "ran"
    for arguments in (
        ["evaluate", run, "data/validate.txt"],
        ["predict", run, "data/validate.txt"],
        ["entails", "p", "q", "--model", run],
        ["train", "treenet", "--data", "data", "--out", run, "--resume"],
    ):
        done = run_here(*arguments, cwd=above)
        assert done.returncode == 2, arguments
        assert "runs.stranger.evil" in done.stderr
        assert not ran.exists(), arguments
    done = run_here("report", "runs", "--data", "data", "--out", "report", cwd=above)
    assert done.returncode == 0, done.stderr
    assert "runs.stranger.evil:X" in (above / "report" / "report.md").read_text()
    assert not ran.exists()
    with pytest.raises(pw.UserError, match=r"would import the module 'runs\.stranger\.evil'"):
        pw.load(stranger)
    done = run_here("evaluate", run, "data/validate.txt", "--trust", "--json", cwd=above)
    assert done.returncode == 0, done.stderr
    assert ran.exists()


def test_a_file_of_a_run_is_inside_its_folder(stranger: Path) -> None:
    record = json.loads((stranger / RUN).read_text())
    for name in ("../other/model.safetensors", "/etc/passwd", "model-1.safetensors/x", "x.pkl"):
        (stranger / RUN).write_text(json.dumps({**record, "model": "treenet", "weights": name}))
        with pytest.raises(pw.UserError, match="is not the name of a file of a run"):
            pw.load(stranger)
