"""Stored evaluations: those of files as they are now."""

from pathlib import Path

import possibleworlds as pw
from possibleworlds.training.evaluations import evaluate_into, pending_tasks


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
