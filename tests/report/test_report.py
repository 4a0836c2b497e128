import base64
import hashlib
import itertools
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from possibleworlds import entails, parse
from possibleworlds.cli import app
from possibleworlds.data.generation import FREE
from possibleworlds.data.published import FILES
from possibleworlds.data.splits import (
    PRESETS,
    free_splits,
    generate_folder,
    paper_layout,
    read_manifest,
)
from possibleworlds.errors import UserError
from possibleworlds.experiments import sweep
from possibleworlds.experiments.grid import Candidate, Rung, SearchPlan
from possibleworlds.logic.alphabet import LETTERS, OPERATORS
from possibleworlds.models.registry import resolve
from possibleworlds.paper import TABLE_1, TABLE_2
from possibleworlds.report import comparisons, figures, results, sizes, worlds
from possibleworlds.report import page as pages
from possibleworlds.report import runs as report_runs
from possibleworlds.report.cells import table
from possibleworlds.report.material import Material, ReportRequest, find_data
from possibleworlds.report.recipes import generate_command, split_options
from possibleworlds.report.report import pending_evaluations, write_report
from possibleworlds.report.results import ResultRow, result_row, results_table
from possibleworlds.report.runs import CurvePoint, Run, find_runs, select
from possibleworlds.report.sizes import SizeBin
from possibleworlds.report.summary import summarise
from possibleworlds.training.checkpoint import RUN_FORMAT
from possibleworlds.training.evaluations import (
    digest,
    evaluate_into,
    evaluate_tasks,
    pending_tasks,
    read_evaluations,
)
from possibleworlds.training.pipeline import Job
from possibleworlds.training.pipeline import run_job as train
from possibleworlds.training.predictor import load
from possibleworlds.training.settings import RunSettings
from tests.conftest import run_here


def make_run(
    folder: Path,
    model: str = "treenet",
    seed: int = 0,
    validation: float = 0.7,
    tests: dict[str, float] | None = None,
    finished: bool = True,
    data: str = "d",
    **settings: Any,
) -> Path:
    """A run folder as training and evaluation leave it, without weights."""
    folder.mkdir(parents=True)
    training = {"batch_size": 64, "permute_symbols": True, "epochs": 1.0}
    own = {name: value for name, value in settings.items() if name not in training}
    run = {
        "format": RUN_FORMAT,
        "version": "0.1.0",
        "model": model,
        "settings": own,
        "training": {**training, **{k: v for k, v in settings.items() if k in training}},
        "seed": seed,
        "vocabulary": [*OPERATORS, *LETTERS],
        "data": {"train.txt": data * 64, "validate.txt": data * 64},
        "torch": "2",
        "metrics": {
            "step": 200,
            "seconds": 30.0 + seed,
            "pairs_per_second": 1000.0,
            "best_step": 200,
            "validation": validation,
            "parameters": 1234,
            "finished": finished,
        },
    }
    (folder / "run.json").write_text(json.dumps(run))
    lines = [
        {"step": 100 * i, "seconds": 15.0 * i, "loss": 0.6, "accuracy": 0.6, "validation": v}
        for i, v in ((1, 0.5), (2, validation))
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    parts = {"rows": 100, "accuracy": 0.6}
    evaluations = {
        key: {
            "rows": 100,
            "correct": round(100 * accuracy),
            "accuracy": accuracy,
            "interval": [0.0, 1.0],
            "sha256": FILES[f"{Path(key).name}.txt"] if key.startswith("published/") else None,
            "by_variables": {"3": {**parts, "accuracy": accuracy}},
            "by_operators": {"5-9": {**parts, "accuracy": accuracy}},
        }
        for key, accuracy in (tests or {}).items()
    }
    if evaluations:
        (folder / "evaluation.json").write_text(json.dumps(evaluations))
    return folder


def cells(table: pages.Table, network: str) -> dict[str, pages.Cell]:
    """The line of a network, by the names of the columns."""
    (line,) = (row for row in table.rows if row[0].text == network)
    return dict(zip((column.text for column in table.columns), line, strict=True))


def runs_in(folder: Path) -> list[Run]:
    return find_runs([folder])[0]


def results_in(folder: Path) -> list[ResultRow]:
    material = Material(request(folder))
    return [result_row(group, material) for group in material.groups]


def silent(_: str) -> None:
    pass


def request(*folders: Path, data: tuple[Path, ...] = ()) -> ReportRequest:
    return ReportRequest(list(folders), list(data), "possibleworlds report RUNS --out OUT")


def test_mean_spread_best_and_cost_over_seeds(tmp_path: Path) -> None:
    for seed, accuracy in enumerate((0.70, 0.72, 0.74)):
        tests = {"published/test_easy": accuracy, "published/test_hard": 0.6}
        make_run(tmp_path / f"tree-{seed}", seed=seed, tests=tests)
    make_run(
        tmp_path / "bow",
        "mlp-bow",
        tests={"published/test_easy": 0.55, "published/test_hard": 0.65},
    )
    table = results_table(results_in(tmp_path), "published")
    tree, bow = cells(table, "treenet"), cells(table, "mlp-bow")
    assert (tree["easy"].text, tree["easy"].bold) == ("72.0 ± 2.0", True)
    assert (tree["hard"].text, tree["hard"].bold) == ("60.0 ± 0.0", False)
    assert (bow["easy"].text, bow["easy"].bold) == ("55.0", False)
    assert (bow["hard"].text, bow["hard"].bold) == ("65.0", True)
    assert tree["seeds"].text == "3"
    assert tree["parameters"].text == "1,234"
    assert tree["training"].text == "31 s"
    assert tree["pairs/s"].text == "1,000"
    # 72 of 100 rows; the interval does not shrink with the number of seeds.
    assert tree["easy"].details == ("62.5–79.9", f"paper {TABLE_2['treenet']['test_easy']}")
    assert tree["easy"].bar == pytest.approx(0.44)
    # The paper's order.
    assert [row[0].text for row in table.rows] == ["mlp-bow", "treenet"]


def test_ties_are_all_best(tmp_path: Path) -> None:
    for model, accuracy in (("treenet", 0.70004), ("treelstm", 0.7), ("lstm", 0.6)):
        make_run(tmp_path / model, model, tests={"data/test_easy": accuracy})
    table = results_table(results_in(tmp_path), "data")
    easy = {row[0].text: (row[1].text, row[1].bold) for row in table.rows}
    best = ("70.0", True)
    assert easy == {"treenet": best, "treelstm": best, "lstm": ("60.0", False)}


def test_settings_are_selected_by_mean_validation_and_never_by_tests(tmp_path: Path) -> None:
    # The best single run and the best test accuracy belong to settings that are worse on average.
    for seed, validation in enumerate((0.9, 0.5)):
        tests = {"data/test_easy": 0.99}
        make_run(tmp_path / f"a{seed}", seed=seed, validation=validation, tests=tests, size=32)
    for seed, validation in enumerate((0.75, 0.76)):
        tests = {"data/test_easy": 0.60}
        make_run(tmp_path / f"b{seed}", seed=seed, validation=validation, tests=tests, size=64)
    (group,) = select(runs_in(tmp_path))
    assert {run.settings["size"] for run in group.runs} == {64}
    assert group.validation.mean == pytest.approx(0.755)


def sweep_record(seeds: dict[str, dict[str, float]]) -> dict[str, Any]:
    """What sweep.json says of a sweep that selected these runs of each network."""
    base = RunSettings.read(resolve("treenet"), {}).flat()
    plan = SearchPlan(base, [Rung(1, 1, 1)], [Candidate({}, [1.0], [1.0])], 0, 1, 1.0)
    networks = {
        model: sweep.NetworkRecord(
            sweep.SearchRequest(None, 1.0, 0),
            plan,
            sweep.Selection(next(iter(own)), max(own.values()), {}, own) if own else None,
        )
        for model, own in seeds.items()
    }
    return asdict(sweep.SweepRecord({}, 2000, networks))


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("selected.json", {"selected": ["a"]}),
        ("sweep.json", sweep_record({"treenet": {"a": 0.6}, "lstm": {}})),
    ],
)
def test_only_what_a_sweep_has_selected_stands_in_the_results(
    name: str, stored: dict[str, Any], tmp_path: Path
) -> None:
    make_run(tmp_path / "sweep" / "trials" / "a", validation=0.6, size=32)
    make_run(tmp_path / "sweep" / "trials" / "b", validation=0.9, size=64)
    (tmp_path / "sweep" / name).write_text(json.dumps(stored))
    for folder in (tmp_path, tmp_path / "sweep"):
        (group,) = select(runs_in(folder))
        assert [run.path.name for run in group.runs] == ["a"]
    # A folder above the one that was named has no say.
    (group,) = select(runs_in(tmp_path / "sweep" / "trials"))
    assert [run.path.name for run in group.runs] == ["b"]


def test_a_sweep_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = sweep_record({"treenet": {"a": 0.6}})
    for name in ("a", "b", "c"):
        make_run(tmp_path / "trials" / name, size=ord(name))
    (tmp_path / "sweep.json").write_text(json.dumps(stored))
    read: list[Path] = []

    def counted(folder: Path) -> sweep.SweepRecord:
        read.append(folder)
        return read_sweep(folder)

    read_sweep = sweep.read_sweep
    monkeypatch.setattr(sweep, "read_sweep", counted)
    assert [run.selected for run in runs_in(tmp_path)] == [True, False, False]
    assert read == [tmp_path]


def test_one_sided_runs_and_other_data_stand_apart(tmp_path: Path) -> None:
    make_run(tmp_path / "both", validation=0.6)
    make_run(tmp_path / "left", validation=0.9, side="left")
    make_run(tmp_path / "naive", validation=0.9, data="e")
    trained_on = [row.trained_on for row in results_in(tmp_path)]
    assert trained_on == ["data dddddddd", "data eeeeeeee"]
    page = write_report(request(tmp_path), tmp_path / "out", silent).read_text()
    assert "<small>trained on data eeeeeeee</small>" in page
    (row,) = comparisons.one_sided_rows(Material(request(tmp_path)))
    assert (row.side, row.validation.mean) == ("left", 0.9)


def test_a_setting_called_side_may_be_anything(tmp_path: Path) -> None:
    make_run(tmp_path / "cube", model="networks:Cube", side=8)
    (run,) = runs_in(tmp_path)
    assert run.side == "both"


def test_a_run_given_twice_or_copied_counts_once(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    make_run(tmp_path / "copy")
    runs, _ = find_runs([tmp_path, tmp_path / "a"])
    make_run(tmp_path / "b" / "unfinished", finished=False)
    assert len(find_runs([tmp_path, tmp_path / "b"])[1]) == 1
    (group,) = select(runs)
    assert len(runs) == 2
    assert len(group.runs) == 1
    assert group.validation.spread is None


def test_an_accuracy_needs_every_seed(tmp_path: Path) -> None:
    make_run(tmp_path / "a", seed=0, tests={"data/test_easy": 0.7, "data/test_hard": 0.6})
    make_run(tmp_path / "b", seed=1, tests={"data/test_easy": 0.8})
    (group,) = select(runs_in(tmp_path))
    assert list(group.accuracy) == ["data/test_easy"]


def test_symbol_permutation_compares_runs_that_differ_in_nothing_else(tmp_path: Path) -> None:
    make_run(tmp_path / "with", validation=0.8, tests={"data/test_easy": 0.75})
    make_run(
        tmp_path / "without", validation=0.7, tests={"data/test_easy": 0.7}, permute_symbols=False
    )
    make_run(tmp_path / "alone", "lstm", permute_symbols=False)
    make_run(tmp_path / "other", "lstm", size=32)
    (pair,) = report_runs.permutation_pairs(runs_in(tmp_path))
    row = comparisons.permutation_row(*pair)
    assert row.model == "treenet"
    assert row.gain == pytest.approx(0.1)
    (gain,) = row.gain_on_tests.values()
    assert gain.difference == pytest.approx(0.05)
    assert gain.half_width == pytest.approx(1.96 * ((0.75 * 0.25 + 0.7 * 0.3) / 100) ** 0.5)


def test_worlds_in_training_and_in_evaluation(tmp_path: Path) -> None:
    name = "possibleworldnet"
    for count in (256, 4, 16):
        make_run(tmp_path / f"w{count}", name, validation=0.5 + count / 1000, worlds=count)
    make_run(
        tmp_path / "asked",
        name,
        validation=0.95,
        worlds=64,
        tests={"data/validate": 0.9, "data/validate@4": 0.6, "data/test_easy": 0.9},
        epochs=9.0,
    )
    runs = runs_in(tmp_path)
    series = worlds.worlds_in_training(report_runs.worlds_series(runs))
    assert [row.worlds for row in series] == [4, 16, 256]
    assert (series[0].points[1].step, series[0].points[1].validation) == (200, 0.504)
    (group,) = select(runs)
    evaluated = worlds.worlds_in_evaluation(group)
    assert {n: value.mean for n, value in evaluated["data/validate"].items()} == {4: 0.6, 64: 0.9}
    assert list(evaluated) == ["data/validate"]
    assert list(group.accuracy_by_source["data"]) == ["validate", "test_easy"]


def test_worlds_without_learning_curves(tmp_path: Path) -> None:
    for count in (4, 16):
        run = make_run(tmp_path / f"w{count}", "possibleworldnet", worlds=count)
        (run / "metrics.jsonl").write_text("")
    page = write_report(request(tmp_path), tmp_path / "out", silent)
    assert "| 16 |  | 70.0 |  | 30 s |" in page.with_suffix(".md").read_text()
    assert not [*page.parent.glob("**/worlds*.svg")]  # there is nothing to draw


def test_sizes_are_pooled_by_rows(tmp_path: Path) -> None:
    make_run(tmp_path / "a", tests={"data/test_easy": 0.5, "data/test_hard": 0.7})
    (row,) = sizes.size_rows(select(runs_in(tmp_path)))
    assert row.bins["variables"] == [SizeBin(3, 3, 200, pytest.approx(0.6))]
    # A size that a run has a single pair of, in another file of the same name.
    other = make_run(tmp_path / "b", seed=1, tests={"data/test_easy": 0.5, "data/test_hard": 0.7})
    stored = json.loads((other / "evaluation.json").read_text())
    stored["data/test_easy"]["by_variables"] = {"9": {"rows": 1, "accuracy": 1.0}}
    (other / "evaluation.json").write_text(json.dumps(stored))
    (row,) = sizes.size_rows(select(runs_in(tmp_path)))
    assert [(part.label, part.rows) for part in row.bins["variables"]] == [("3", 150), ("9", 1)]
    write_report(request(tmp_path), tmp_path / "out", silent)
    bins = [SizeBin(3, 3, 1, 1.0), SizeBin(4, 4, 3, 0.0)]
    assert sizes.merge_bins(bins, 5) == [SizeBin(3, 4, 4, 0.25)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny networks trained for a moment, for every part of a report."""
    folder = tmp_path_factory.mktemp("report")
    generate_folder(folder / "data", paper_layout(160, 40, 40, 40, 40, 20), 0)
    generate_folder(folder / "naive", free_splits(80, (1, 5), (1, 5), "naive"), 0)
    small = {"epochs": 1, "evaluations": 2}
    jobs: dict[str, tuple[str, str, dict[str, Any], int]] = {
        "bow-0": ("mlp-bow", "data", {}, 0),
        "bow-1": ("mlp-bow", "data", {}, 1),
        "plain": ("mlp-bow", "data", {"permute_symbols": False}, 0),
        "left": ("linear-bow", "data", {"side": "left"}, 0),
        "naive-left": ("linear-bow", "naive", {"side": "left"}, 0),
        "w2": ("possibleworldnet", "data", {"size": 4, "worlds": 2}, 0),
        "w4": ("possibleworldnet", "data", {"size": 4, "worlds": 4}, 0),
    }
    for name, (model, data, settings, seed) in jobs.items():
        train(Job(model, folder / data, folder / "runs" / name, {**small, **settings}, seed))
    return folder


@pytest.fixture(scope="module")
def report(trained: Path) -> Path:
    about = request(trained / "runs", data=(trained / "data", trained / "naive"))
    evaluate_tasks(pending_evaluations(Material(about)), 2, lambda: False, lambda _: None)
    return write_report(about, trained / "report", silent).parent


def test_evaluations_are_kept_and_not_repeated(trained: Path, report: Path) -> None:
    assert report.exists()
    groups = select(runs_in(trained / "runs"))
    (selected,) = (group for group in groups if group.model == "mlp-bow")
    evaluations = read_evaluations(selected.first.path)
    assert {f"data/{name}" for name in TABLE_1 if name != "train"} == evaluations.keys()
    files = [trained / "data" / "test_easy.txt", trained / "naive" / "test_easy.txt"]
    again = evaluate_into(trained / "runs" / "w4", files[:1], worlds=2)
    assert "data/test_easy@2" in again
    assert pending_tasks(trained / "runs" / "w4", files[:1], 2) == []
    assert len(pending_tasks(trained / "runs" / "w4", files[:1], 3)) == 1
    assert "naive/test_easy" in read_evaluations(trained / "runs" / "naive-left")


def test_evaluations_on_files_that_have_changed_do_not_count(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "a", tests={"data/test_easy": 0.7, "other/test_easy": 0.6})
    stored = json.loads((run / "evaluation.json").read_text())
    for evaluation in stored.values():
        evaluation["sha256"] = "of another file"
    (run / "evaluation.json").write_text(json.dumps(stored))
    generate_folder(tmp_path / "data", free_splits(80, (1, 3), (1, 3), "fourtuples"), seed=0)
    about = request(tmp_path / "runs", data=(tmp_path / "data",))
    assert Material(about).runs[0].evaluations.keys() == {"other/test_easy"}


@pytest.mark.parametrize(
    "options",
    [
        *(f"--rows 8 --variables 8 --method {method}" for method in FREE),
        "--rows 40 --exact-variables --prune pairs --variables 3 --operators 2-4",
        "--rows 40 --method sat --variables 8-9 --clauses 36",
        "--rows 40 --method mutated --seed 3 --prune-against ../other",
    ],
)
def test_the_printed_command_repeats_the_data(tmp_path: Path, options: str) -> None:
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
    if "--prune-against" in options:
        generate_folder(tmp_path / "other", free_splits(40, (1, 2), (1, 2)), seed=1)
    run_here("generate", "data", *options.split(), "--workers", "1", cwd=tmp_path / "here")
    data = tmp_path / "here" / "data"
    folders = find_data([tmp_path], [])
    (folder,) = (folder for folder in folders if folder.path == data)
    program, *words = shlex.split(generate_command(folder, folders))
    assert program == "possibleworlds"
    words[1] = "data"
    again = run_here(*words, "--workers", "1", cwd=tmp_path / "there")
    assert again.returncode == 0, again.stderr
    first, second = (read_manifest(path / "data") for path in (data.parent, tmp_path / "there"))
    assert second == first


def test_data_that_no_command_gives_have_none(tmp_path: Path) -> None:
    tilted = [replace(split, tilt=0.1) for split in free_splits(40, (1, 3), (1, 3))]
    wide = free_splits(40, (1, 3), (0, 3))[:2]
    for name, splits in {"tilted": tilted, "wide": wide}.items():
        generate_folder(tmp_path / name, splits, seed=0)
    commands = {f.name: generate_command(f, []) for f in find_data([tmp_path], [])}
    assert not commands["tilted"]
    assert "--operators 0-3" in commands["wide"]  # followed by another split
    assert split_options(PRESETS["small"]) == ["--preset", "small"]


def test_different_data_of_one_name_are_refused(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a")
    folders = [tmp_path / name / "data" for name in ("x", "y", "z")]
    for folder, seed in zip(folders, (0, 0, 1), strict=True):
        folder.parent.mkdir()
        generate_folder(folder, free_splits(80, (1, 3), (1, 3), "fourtuples"), seed)
    assert len(Material(request(tmp_path / "runs", data=tuple(folders[:2]))).test_folders) == 2
    with pytest.raises(UserError, match="differ and are both called data/"):
        Material(request(tmp_path / "runs", data=tuple(folders)))


def test_any_files_can_be_drawn() -> None:
    rows = [worlds.SamplingRow(f"folder-{i}\x01", 1, 0.5, None, 0.5, None) for i in range(21)]
    drawings = worlds.draw_sampling(rows)
    assert "folder-20" in drawings[20]
    tree = ElementTree.fromstring(pages.Picture("sampling", "", drawings).svg())
    assert len(tree.findall("{http://www.w3.org/2000/svg}svg")) == 21


class Tags(HTMLParser):
    """Collect the tags of a page with their attributes, and see that they are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def assert_only_our_own(self) -> None:
        """Check that no tag can load, run or submit anything but the page's own script."""
        for tag, attributes in self.tags:
            assert tag not in ("img", "iframe", "object", "embed", "link", "form", "base", "input")
            assert not any(name.startswith("on") or name == "src" for name in attributes)
            link = attributes.get("href") or "#"
            assert link.startswith(("#", "playground.html#")), link
        assert [tag for tag, _ in self.tags].count("script") == 1


def test_the_page_needs_nothing_beside_itself(report: Path) -> None:
    page = (report / "report.html").read_text()
    parsed = Tags(page)
    parsed.assert_only_our_own()
    assert not re.search(r"@import|url\(|https?:", page)
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert page.count("<figure") == 8
    for anchor in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{anchor}"' in page


def test_every_part_is_there_and_markdown_has_its_pictures(report: Path) -> None:
    text = (report / "report.md").read_text()
    assert not re.search(r"^No |Not every", text, re.MULTILINE)
    pictures = re.findall(r"!\[.*\]\((.*)\)", text)
    assert len(pictures) == 8
    for picture in pictures:
        svg = (report / picture).read_text()
        ElementTree.fromstring(svg)
        assert not re.search(r"<script|href|url\(| on\w+=", svg)
    for part in (
        "Table 1",
        r"num(\&)",
        r"| test\_exam |",
        "naive (naive)",
        "possibleworlds generate",
    ):
        assert part in text


def test_markdown_html_and_json_agree(report: Path) -> None:
    numbers = json.loads((report / "report.json").read_text())
    text, page = (report / "report.md").read_text(), (report / "report.html").read_text()
    for row in numbers["results"]:
        value = row["accuracy"]["data"]["test_hard"]
        shown = f"{100 * value['mean']:.1f}"
        if value["spread"] is not None:
            shown += f" ± {100 * value['spread']:.1f}"
        name = row["model"]
        table = text.split("**On `data`**")[1]
        line = next(line for line in table.splitlines() if line.startswith(f"| {name} |"))
        assert shown in line
        assert shown in page
    assert len(numbers["results"]) == 2
    hard = [row for row in numbers["sampling"] if row["file"] == "data/test_hard"]
    assert [row["count"] for row in hard] == [32, 64, 128, 256]
    assert all(row["network"]["mean"] >= 0 for row in hard)


def test_every_run_can_be_repeated(trained: Path, report: Path) -> None:
    numbers = json.loads((report / "report.json").read_text())
    by_name = {Path(run["run"]).name: run for run in numbers["repeat"]}
    assert set(by_name) == {path.name for path in (trained / "runs").iterdir()}
    words = by_name["w4"]["command"].split()
    assert words[:3] == ["possibleworlds", "train", "possibleworldnet"]
    assert words[words.index("--data") + 1] == str(trained / "data")
    assert {"worlds=4", "size=4", "epochs=1.0", "evaluations=2"} < set(words)
    run = by_name["plain"]
    assert "permute_symbols=false" in run["command"]
    assert run["settings"]["batch_size"] == 64
    assert len(run["data"]["train.txt"]) == 64
    page = (report / "report.html").read_text()
    assert str(trained / "data") not in page
    assert "possibleworlds train possibleworldnet --data data --out RUN" in page
    again = trained / "again"
    command = by_name["bow-1"]["command"].replace("RUN", str(again)).split()
    assert run_here(*command[1:]).returncode == 0
    stored = (json.loads((p / "run.json").read_text()) for p in (again, trained / "runs" / "bow-1"))
    one, other = ({**run["metrics"], "seconds": 0, "pairs_per_second": 0} for run in stored)
    assert one == other


def test_every_evaluation_can_be_repeated(report: Path) -> None:
    numbers = json.loads((report / "report.json").read_text())
    # With its own worlds, and with other numbers.
    run = next(run for run in numbers["repeat"] if len(run["evaluate"]) > 1)
    for line in run["evaluate"]:
        program, *words = line.replace("RUN", run["run"]).split()
        assert program == "possibleworlds"
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output


def test_what_is_missing_is_named_with_its_command(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a")
    make_run(tmp_path / "runs" / "b", "lstm", finished=False)
    write_report(request(tmp_path / "runs"), tmp_path / "out", silent)
    text = (tmp_path / "out" / "report.md").read_text()
    assert "possibleworlds report RUNS --out OUT --data DATA --evaluate" in text
    assert text.count("\nNo ") == 9
    assert "Left out, as they are not finished: `b`." in text
    assert str(tmp_path) not in text.split("## How to repeat this")[0]
    assert "**validation in training**" in text
    assert "\n| treenet | 70.0 |" in text


def test_only_sets_with_the_papers_settings_are_compared_with_its_figures(tmp_path: Path) -> None:
    like_the_paper = [split for split in paper_layout(80, 20, 20, 20, 20, 20) if split.rows < 80]
    generate_folder(tmp_path / "like", like_the_paper, seed=0)
    generate_folder(tmp_path / "own", free_splits(80, (1, 3), (1, 3)), seed=0)
    keys = "like/test_easy", "like/test_hard", "own/test_easy", "elsewhere/test_easy"
    make_run(tmp_path / "runs" / "tree", tests=dict.fromkeys(keys, 0.7))
    report = request(tmp_path / "runs", data=(tmp_path / "like", tmp_path / "own"))
    write_report(report, tmp_path / "out", silent)
    numbers = json.loads((tmp_path / "out" / "report.json").read_text())
    assert numbers["results"][0]["comparable"] == ["like/test_easy", "like/test_hard"]
    text = (tmp_path / "out" / "report.md").read_text()
    assert "of 2 accuracies are at least as high as in the paper" in text
    easy, hard = (f"paper {TABLE_2['treenet'][split]}" for split in ("test_easy", "test_hard"))
    assert (text.count(easy), text.count(hard)) == (1, 1)
    assert "| validate | *paper* |" in text  # Table 1
    assert "| train | *paper* |" not in text


def test_same_runs_same_report(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a", tests={"data/test_easy": 0.7})
    pages_written = []
    for out in ("one", "two"):
        write_report(request(tmp_path / "runs"), tmp_path / out, silent)
        pages_written.append((tmp_path / out / "report.html").read_bytes())
    assert pages_written[0] == pages_written[1]


HOSTILE = "<img src=x onerror=alert(1)>`*|[a](javascript:x)\n# b"


def test_text_from_elsewhere_cannot_break_the_page() -> None:
    axis = figures.Axis("", 0, 1, [])
    parts: list[pages.Part] = [
        table([HOSTILE, "|"], [[pages.Cell(HOSTILE), pages.Cell("a|b & c", bold=True)]]),
        pages.Code(HOSTILE, f"{HOSTILE}\n```\n<script>"),
        pages.code(HOSTILE),
        pages.Picture("x", HOSTILE, [figures.Panel(axis, axis).draw(HOSTILE, [])]),
    ]
    page = pages.to_html("t", {"A": parts})
    assert "<img src=x" not in page
    Tags(page).assert_only_our_own()
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 8
    assert "<strong>a|b &amp; c</strong>" in page
    text = pages.to_markdown("t", {"A": parts})
    outside = re.sub(r"(`+)[^`].*?\1", "", re.sub(r"(?s)\n````.*?\n````\n", "\n", text))
    assert not re.search(r"(?<!\\)<|(?<!\\)\[a", outside)
    assert "\n# b" not in text.replace(f"\n{HOSTILE}", "")
    assert r"**a\|b \& c**" in text


def test_text_is_shown_as_it_is_written() -> None:
    """Emphasis does not reach into code, empty cells have none, and bytes that are no text show."""
    parts: list[pages.Part] = [
        f"*a* {pages.code('b*c*d')}",
        table(["x"], [[pages.Cell("", muted=True)], [pages.Cell("y", muted=True)]]),
        pages.Code("z", "one \udcff\x01\ntwo"),
    ]
    page, text = pages.to_html("t", {"A": parts}), pages.to_markdown("t", {"A": parts})
    assert "<em>a</em> <code>b&#42;c&#42;d</code>" in page
    assert page.count("<em>") == 2
    assert "|  |\n| *y* |" in text
    for written in (page, text):
        assert "one \\udcff\\x01\ntwo" in written
        written.encode()


def test_every_sentence_is_used() -> None:
    names = re.findall(r"^## (.*)$", pages.asset("texts.md"), re.MULTILINE)
    sources = "".join(path.read_text() for path in Path(pages.__file__).parent.glob("*.py"))
    assert [name for name in names if f'text("{name}"' not in re.sub(r"\(\s+", "(", sources)] == []


def broken_run(folder: Path) -> None:
    make_run(folder / "a")
    (folder / "a" / "run.json").write_text("{")


def run_without_a_metric(folder: Path) -> None:
    path = make_run(folder / "a") / "run.json"
    path.write_text(path.read_text().replace("pairs_per_second", "pairs"))


def broken_evaluation(folder: Path) -> None:
    make_run(folder / "a")
    (folder / "a" / "evaluation.json").write_text('{"data/test_easy": 0.5}')


def broken_metrics(folder: Path) -> None:
    make_run(folder / "a")
    (folder / "a" / "metrics.jsonl").write_text("[1]\n")


def spoiled(name: str, place: list[str], value: object) -> Callable[[Path], None]:
    """What makes a run with another value somewhere in a file."""

    def prepare(folder: Path) -> None:
        path = make_run(folder / "a", tests={"d/x": 0.5}) / name
        stored = json.loads(path.read_text().splitlines()[0]) if path.exists() else {}
        part = stored
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        path.write_text(json.dumps(stored) + "\n")

    return prepare


def worlds_of(count: int) -> Callable[[Path], None]:
    """What makes a PossibleWorldNet with such a number of worlds."""
    return lambda folder: make_run(folder / "a", "possibleworldnet", worlds=count) and None


def broken_sweep(folder: Path) -> None:
    make_run(folder / "a")
    (folder / "sweep.json").write_text("[]")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda _: None, "not a folder"),
        (lambda folder: folder.mkdir(), "no finished run"),
        (lambda folder: make_run(folder / "a", finished=False), "no finished run"),
        (broken_run, "run.json cannot be read"),
        (run_without_a_metric, "run.json lacks pairs_per_second of metrics"),
        (
            spoiled("run.json", ["metrics", "validation"], "high"),
            "metrics.validation must be a number",
        ),
        (spoiled("run.json", ["metrics", "seconds"], None), "metrics.seconds must be a number"),
        (spoiled("run.json", ["training", "batch_size"], "x"), "has no number for batch_size"),
        (spoiled("run.json", ["model"], "possibleworldnet"), "has no number for worlds"),
        (worlds_of(0), "has no number for worlds"),
        (worlds_of(10**400), "has no number for worlds"),
        (spoiled("run.json", ["data"], {"train.txt": 5}), "data.train.txt must be a text"),
        (spoiled("evaluation.json", ["d/x", "accuracy"], "a"), "does not hold evaluations"),
        (spoiled("evaluation.json", ["d/x", "by_variables"], {"x": {}}), "not hold evaluations"),
        (spoiled("evaluation.json", ["d/x", "rows"], "x"), "one: d/x.rows must be a whole number"),
        (spoiled("evaluation.json", ["d/x", "sha256"], ["x"]), "one: d/x.sha256 must be a text"),
        (
            spoiled(
                "evaluation.json", ["d/x", "by_operators"], {"0-4": {"rows": 0, "accuracy": 0.5}}
            ),
            "not hold eval",
        ),
        (
            spoiled("metrics.jsonl", ["validation"], "a"),
            "metrics.jsonl: 0.validation must be a number",
        ),
        (broken_evaluation, "evaluation.json does not hold evaluations"),
        (broken_metrics, "metrics.jsonl: 0 must be an object"),
        (broken_sweep, "sweep.json does not hold an object"),
        (spoiled("../selected.json", ["selected"], 3), "selected must be a list, not 3"),
    ],
)
def test_bad_input_is_one_line(prepare: Any, message: str, tmp_path: Path) -> None:
    prepare(tmp_path / "runs")
    with pytest.raises(UserError, match=message) as caught:
        write_report(request(tmp_path / "runs"), tmp_path / "out", silent)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_hostile_names_never_become_markup(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>`|&\"'"
    folder = tmp_path / name
    generate_folder(folder / f"{name}-data", free_splits(80, (1, 3), (1, 3), "fourtuples"), seed=0)
    (folder / f"{name}-data" / "train.txt").rename(folder / f"{name}-data" / "test_hard.txt")
    (folder / f"{name}-data" / "dataset.json").unlink()
    settings = {name: name, "unguided_fraction": name}
    for i, count in enumerate((4, 16)):
        tests = {f"{name}/test_easy": 0.7, f"{name}-data/validate": 0.6}
        tests[f"{name}-data/validate@0"] = tests[f"{name}-data/validate@{'9' * 5000}"] = 0.6
        models = ("</script><script>alert(1)//", "possibleworldnet")
        make_run(folder / f"{name}-{i}", models[i], tests=tests, worlds=count, **settings)
    make_run(folder / "unfinished" / name, finished=False)
    about = request(folder, data=(folder / f"{name}-data",))
    out = write_report(about, tmp_path / "out", silent).parent
    page = (out / "report.html").read_text()
    parsed = Tags(page)
    parsed.assert_only_our_own()
    assert any(name in text for text in parsed.texts)
    text = (out / "report.md").read_text()
    outside = re.sub(r"(?s)\n(`{3,})console.*?\n\1\n", "\n", text)
    assert not re.search(r"(?<!\\)<", re.sub(r"`[^`\n]*`", "", outside))


def test_a_report_imports_nothing_that_a_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    make_run(tmp_path / "a", "evil:X")
    monkeypatch.chdir(tmp_path)
    write_report(request(tmp_path), tmp_path / "out", silent)
    assert "evil" not in sys.modules


def test_what_was_found_is_said_in_numbers_of_the_tables(tmp_path: Path) -> None:
    for model, easy, massive in (("treenet", 0.7, 0.5), ("mlp-bow", 0.6, 0.55)):
        tests = {"published/test_easy": easy, "published/test_massive": massive}
        make_run(tmp_path / model, model, tests=tests)
    best, paper, families = summarise(results_in(tmp_path), [])
    assert best.startswith(
        "Of 2 networks, **`treenet`** is the most accurate on `published`: 60.0 %"
    )
    assert "next is `mlp-bow` with 57.5 %" in best
    # 60.0 - 57.1, 55.0 - 49.9, 70.0 - 72.2 and 50.0 - 56.6
    assert paper.startswith("2 of 4 accuracies are at least as high as in the paper")
    assert "from −6.6 points (`treenet` on massive) to +5.1 points (`mlp-bow` on massive)" in paper
    assert "from 60.0 to 55.0 % for the best bag of words (massive)" in families
    assert "from 70.0 to 50.0 % for the best tree or graph network (massive)" in families
    make_run(
        tmp_path / "a", "lstm", tests={"published/test_easy": 1.0, "published/test_massive": 1.0}
    )
    best, _, families = summarise(results_in(tmp_path), [])
    assert "100.0 % on average over easy and massive; next is" in best
    assert families.endswith(
        "and stays at 100.0 % or more for the best sequence network; guessing gives 50 %."
    )
    make_run(tmp_path / "empty" / "a")
    assert summarise(results_in(tmp_path / "empty"), []) == []


def test_networks_stand_beside_random_rows(report: Path) -> None:
    stored = json.loads((report / "report.json").read_text())
    (row,) = (
        row for row in stored["sampling"] if (row["file"], row["count"]) == ("data/test_hard", 64)
    )
    text = (report / "report.md").read_text().split("**On `data`**")[1]
    header, _, *lines = text.strip().split("\n\n")[0].splitlines()
    (line,) = (line for line in lines if line.startswith("| *64 random rows* |"))
    column = header.split(" | ").index("hard")
    assert line.split(" | ")[column] == f"*{100 * row['sampling']:.1f}*"


def test_errors_are_wrong_answers_the_shortest_first(trained: Path, report: Path) -> None:
    stored = json.loads((report / "report.json").read_text())
    rows = [row for row in stored["errors"] if row["model"] == "mlp-bow"]
    assert len(rows) == 10
    network = load(trained / "runs" / "bow-0")
    for row in rows:
        assert network.decide(row["premise"], row["conclusion"]).entails != row["entails"]
        assert entails(row["premise"], row["conclusion"]) == row["entails"]
    sizes = [len(parse(row["premise"]).rpn) + len(parse(row["conclusion"]).rpn) for row in rows]
    assert sizes == sorted(sizes)
    page = (report / "report.html").read_text()
    (address,) = {
        link.partition("#")[2]
        for _, attributes in Tags(page).tags
        if (link := attributes.get("href") or "").startswith("playground.html")
        and parse_qs(link.partition("#")[2])["a"] == [rows[0]["premise"]]
        and parse_qs(link.partition("#")[2])["b"] == [rows[0]["conclusion"]]
    }
    assert "%" in address or address.isascii()


def test_a_network_without_errors_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "test_easy.txt"
    file.write_text("(a&b),a,1,1,1,1\na,(a&b),0,0,1,0\n", encoding="utf-8")
    wrong: dict[str, list[int]] = {"treenet": [], "lstm": [1]}
    for name, errors in wrong.items():
        make_run(tmp_path / name, name, tests={"data/test_easy": 1 - len(errors) / 2})
        path = tmp_path / name / "evaluation.json"
        evaluations = json.loads(path.read_text())
        evaluations["data/test_easy"] |= {"sha256": digest(file), "errors": errors}
        path.write_text(json.dumps(evaluations))
    material = Material(request(tmp_path, data=(tmp_path / "data",)))
    rows = [
        row for group in material.one_per_network for row in results.error_rows(group, material)
    ]
    assert [(row.model, row.entails) for row in rows] == [("lstm", False)]
    *_, last = results.errors_section(rows, material)
    assert last == "`treenet` made no error on these sets."


def test_a_number_and_its_percent_sign_stay_together() -> None:
    assert pages.inline("84.0 % on big, `50 %`") == "84.0&nbsp;% on big, <code>50&nbsp;%</code>"


def test_bins_of_few_pairs_are_joined() -> None:
    bins = [SizeBin(i, i, rows, i / 10) for i, rows in enumerate((240, 80, 140, 200, 60))]
    wide = sizes.merge_small_bins(bins)
    assert [(part.low, part.high, part.rows) for part in wide] == [
        (0, 0, 240),
        (1, 2, 220),
        (3, 4, 260),
    ]
    assert sum(part.rows * part.accuracy for part in wide) == pytest.approx(
        sum(part.rows * part.accuracy for part in bins)
    )
    assert sizes.merge_small_bins(bins[1:2]) == bins[1:2]
    assert sizes.merge_small_bins([]) == []


def test_worlds_are_compared_at_equal_steps() -> None:
    curve = [CurvePoint(0, 0, 0.5), CurvePoint(100, 1, 0.7), CurvePoint(200, 2, 0.8)]
    assert worlds.accuracy_at(150, curve) == pytest.approx(0.75)
    assert worlds.accuracy_at(200, curve) == pytest.approx(0.8)
    assert worlds.accuracy_at(300, curve) is None
    assert worlds.accuracy_at(100, curve[1:2]) == pytest.approx(0.7)
    assert worlds.accuracy_at(0, []) is None


@given(st.lists(st.floats(26, 192), max_size=13))
def test_labels_of_lines_do_not_cover_each_other(places: list[float]) -> None:
    spread = figures.spread_out(places, 26, 192)
    ordered = sorted(spread)
    assert all(b - a >= figures.LABEL_GAP - 1e-6 for a, b in itertools.pairwise(ordered))
    assert all(26 - 1e-6 <= y <= 192 + 1e-6 for y in spread)
    assert sorted(range(len(places)), key=lambda i: places[i]) == sorted(
        range(len(places)), key=lambda i: spread[i]
    )


def test_bad_folders_are_one_line(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "a")
    with pytest.raises(UserError, match="none: not a folder"):
        write_report(
            request(tmp_path / "runs", data=(tmp_path / "none",)), tmp_path / "out", silent
        )
    with pytest.raises(UserError, match=r"run.json: "):
        write_report(request(tmp_path / "runs"), run / "run.json", silent)


def test_the_command(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a")
    command = [sys.executable, "-m", "possibleworlds", "report"]
    done = subprocess.run(
        [*command, "runs", "--out", "out"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "written: out/report.html\n")
    assert (tmp_path / "out" / "report.json").exists()
    assert "<title>" in (tmp_path / "out" / "playground.html").read_text()
    done = run_here("report", "runs", "--out", "out", "--evaluate", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: --evaluate needs data to evaluate on: --data DIR\n"


def test_help_needs_neither_torch_nor_matplotlib() -> None:
    code = "import sys, possibleworlds.cli; print({'torch', 'matplotlib'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n"
