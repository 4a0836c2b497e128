"""What the README says of our results is what is on record, and what ships is what was selected."""

import json
from pathlib import Path

import pytest

from benchmarks import record
from possibleworlds.models.registry import names
from possibleworlds.training.checkpoint import SHIPPED, load_model, read_run

ROOT = Path(__file__).parent.parent
PRETRAINED = [name for name in names() if (SHIPPED / name).is_dir()]
ON_RECORD = json.loads((ROOT / "results" / "paper.json").read_text(encoding="utf-8"))


def test_readme_is_up_to_date() -> None:
    table = record.table(ON_RECORD)
    assert f"<!-- results: begin -->\n{table}\n<!-- results: end -->" in (
        ROOT / "README.md"
    ).read_text(encoding="utf-8")
    assert len(table.splitlines()) == 4 + len(PRETRAINED)


@pytest.mark.parametrize("name", PRETRAINED)
def test_what_ships_is_on_record(name: str) -> None:
    ready = read_run(SHIPPED / name)
    load_model(SHIPPED / name)
    described = ready.flat_settings
    recorded = [run for run in ON_RECORD["repeat"] if run["model"] == name]
    same = [run for run in recorded if run["settings"] == described]
    (chosen,) = (run for run in same if run["seed"] == ready.seed)
    for metric in ("validation", "best_step", "parameters"):
        assert chosen["metrics"][metric] == getattr(ready.metrics, metric)
    if name.endswith("worldnet"):
        assert ready.metrics.validation == max(run["metrics"]["validation"] for run in same)
    else:  # as in the paper
        (row,) = (row for row in ON_RECORD["results"] if row["model"] == name)
        best = max(record.published(row)["validate"]["values"])
        assert ready.accuracy["published"]["validate"] == pytest.approx(best, abs=1e-4)


def test_what_ships_is_small() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 20e6
