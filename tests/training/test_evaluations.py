"""Stored evaluations: those of files and weights as they are now."""

from pathlib import Path

import possibleworlds as pw
from possibleworlds.training.evaluations import evaluate_into, pending_tasks, read_evaluations


def test_a_file_that_is_written_again_is_evaluated_again(tmp_path: Path) -> None:
    file, run = tmp_path / "data" / "test_easy.txt", tmp_path / "run"
    file.parent.mkdir()
    pairs = pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)
    pw.train("linear-bow", pairs, epochs=1).save(run)
    stored = []
    for rows in (40, 80):
        pairs[:rows].save(file)
        stored.append(evaluate_into(run, [file])["data/test_easy"])
        assert pending_tasks(run, [file]) == []
    assert [evaluation["rows"] for evaluation in stored] == [40, 80]
    assert stored[0]["sha256"] != stored[1]["sha256"]


def test_a_run_that_is_trained_further_is_evaluated_again(tmp_path: Path) -> None:
    file, run = tmp_path / "data" / "test_easy.txt", tmp_path / "run"
    file.parent.mkdir()
    pairs = pw.generate(rows=400, variables=(1, 3), operators=(1, 3), seed=0)
    pairs.save(file)
    pw.train("linear-bow", pairs, epochs=1, out=run)
    before = evaluate_into(run, [file])["data/test_easy"]
    pw.train("linear-bow", pairs, epochs=30, out=run, resume=True)
    assert read_evaluations(run) == {}
    after = evaluate_into(run, [file])["data/test_easy"]
    assert after["weights"] != before["weights"]
    assert after["accuracy"] == pw.evaluate(run, pairs).accuracy != before["accuracy"]
    assert pending_tasks(run, [file]) == []
