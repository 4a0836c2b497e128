"""README's results are those on record, what ships was selected, and benchmarks can be repeated."""

import importlib
import sys
from pathlib import Path

import pytest

from benchmarks import record
from possibleworlds.models.registry import names
from possibleworlds.training.checkpoint import SHIPPED, load_model, read_run

ROOT = Path(__file__).parent.parent
PRETRAINED = [name for name in names() if (SHIPPED / name).is_dir()]
ROWS = record.on_record()


def test_readme_is_up_to_date() -> None:
    table = record.table(ROWS)
    assert f"<!-- results: begin -->\n{table}\n<!-- results: end -->" in (
        ROOT / "README.md"
    ).read_text(encoding="utf-8")
    rows = [name for name in ROWS if not record.is_shorter(name, ROWS)]
    assert len(table.splitlines()) == 2 + len(rows) + len(record.RANDOM_ROWS)
    assert {*PRETRAINED} <= {*ROWS}


def test_details_are_up_to_date() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    part = f"<!-- details: begin -->\n{record.details(ROWS)}\n<!-- details: end -->"
    assert part in page
    chosen = {name for name, row in ROWS.items() if row["pretrained_seed"] is not None}
    assert chosen == {*PRETRAINED}


@pytest.mark.parametrize("name", PRETRAINED)
def test_what_ships_is_on_record(name: str) -> None:
    run = read_run(SHIPPED / name)
    load_model(SHIPPED / name)
    assert run.metrics is not None
    row = ROWS[name]
    assert row["settings"] == run.flat_settings
    assert row["pretrained_seed"] == run.seed
    best = max(seed["validation"] for seed in row["seeds"].values())
    assert row["seeds"][str(run.seed)]["validation"] == run.metrics.validation == best
    assert row["seeds"][str(run.seed)]["accuracy"] == run.accuracy


def test_what_ships_is_small() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 30e6


PROGRAMS = [path.stem for path in sorted((ROOT / "benchmarks").glob("*.py"))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_benchmarks_can_be_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "atheris":  # which fuzz_guided.py needs and `make fuzz` installs
            raise
        pytest.skip("atheris is not installed")
    finally:
        for program in PROGRAMS:  # other tests may have modules of such names
            sys.modules.pop(program, None)
