"""Compute the numbers of a report, compose its sections, and write it to files."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import possibleworlds
from possibleworlds.data.splits import MANIFEST
from possibleworlds.data.statistics import FileStatistics, as_json
from possibleworlds.errors import UserError
from possibleworlds.paper import WORLDS
from possibleworlds.report import comparisons, datasets, recipes, results, sizes, summary, worlds
from possibleworlds.report.material import Material, ReportRequest
from possibleworlds.report.page import Picture, Sections, to_html, to_markdown
from possibleworlds.report.runs import RunGroup
from possibleworlds.storage import write_text
from possibleworlds.training.evaluations import EvaluationTask, pending_tasks

TITLE = "Can neural networks understand logical entailment?"
PAGE = "report.html"


def pending_evaluations(material: Material) -> list[EvaluationTask]:
    """List the evaluations that the report needs and its runs lack."""

    def of_splits(splits: Iterable[str], files: Iterable[Path]) -> list[Path]:
        return [file for file in files if file.stem in splits]

    files = [file for folder in material.test_folders for file in folder.splits]
    permuted = [group for pair in material.permutation_pairs for group in pair]
    needed: list[tuple[list[RunGroup], list[Path], int | None]] = [
        (material.groups, files, None),
        (permuted, of_splits(["test_easy"], files), None),
    ]
    if material.possibleworldnet:
        by_worlds = of_splits(["validate", *worlds.SAMPLED_SPLITS], files)
        needed += [([material.possibleworldnet], by_worlds, count) for count in WORLDS]
    for group in material.one_sided:
        if folder := material.folder_of(group.first.data):
            needed.append(([group], of_splits(["test_easy"], folder.files), None))
    pending = [
        task
        for groups, evaluated_on, count in needed
        for run in (run for group in groups for run in group.runs)
        # The replies of a language model are evaluated when they are requested.
        if not run.record.is_language_model and (material.request.trust or not run.is_unregistered)
        for task in pending_tasks(run.path, evaluated_on, count, run.is_unregistered)
    ]
    return list(dict.fromkeys(pending))


def write_report(request: ReportRequest, out: Path, log: Callable[[str], None]) -> Path:
    """Write report.html, report.md, report.json and the figures; return the path of the page."""
    if (out / MANIFEST).exists():
        raise UserError(f"{out} holds a data set; choose another folder for the report")
    material = Material(request)
    for folder in material.folders:
        log(f"reading {folder.path}")
    numbers, sections = compose(material)
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from None
    for part in (part for parts in sections.values() for part in parts):
        if isinstance(part, Picture):
            write_text(out / part.file, part.svg())
    write_text(out / "report.json", json.dumps(numbers, indent=1, default=row_values) + "\n")
    write_text(out / "report.md", to_markdown(TITLE, sections))
    write_text(out / PAGE, to_html(TITLE, sections))
    return out / PAGE


def row_values(value: Any) -> dict[str, Any]:
    """Convert a row of a table to JSON values."""
    return as_json(value) if isinstance(value, FileStatistics) else vars(value)


def compose(material: Material) -> tuple[dict[str, Any], Sections]:
    """Compute the numbers of a report, as stored in report.json, and its sections."""
    groups, one_per_network = material.groups, material.one_per_network
    rows = [results.result_row(group, material) for group in groups]
    trained = worlds.worlds_in_training(material.worlds_series)
    evaluated = worlds.worlds_in_evaluation(material.possibleworldnet)
    sampled = worlds.sampling_rows(material, evaluated)
    by_size = sizes.size_rows(one_per_network)
    wrong = [row for group in one_per_network for row in results.error_rows(group, material)]
    permuted = [comparisons.permutation_row(*pair) for pair in material.permutation_pairs]
    learning = [group for group in one_per_network if group.curve]
    one_sided = comparisons.one_sided_rows(material)
    data = [datasets.data_row(folder) for folder in material.folders]
    numbers = {
        "title": TITLE,
        "version": possibleworlds.__version__,
        "command": material.request.command,
        "note": material.request.note,
        "results": rows,
        "worlds": {"in_training": trained, "in_evaluation": evaluated},
        "sampling": sampled,
        "by_size": by_size,
        "permutation": permuted,
        "learning_curves": [
            {"model": g.model, "batch_size": g.first.settings["batch_size"], "points": g.curve}
            for g in learning
        ],
        "one_sided": one_sided,
        "errors": wrong,
        "data": data,
        "repeat": [recipes.recipe(run, material) for run in material.used],
    }
    sections = {
        "In short": summary.summary_section(rows, sampled, material.request.note),
        "Results": results.results_section(rows, sampled, material),
        "What generalises where": sizes.size_section(by_size, material),
        "A gallery of errors": results.errors_section(wrong, material),
        "Sampling the truth table instead": worlds.sampling_section(sampled, material),
        "The number of worlds": worlds.worlds_section(trained, evaluated, material),
        "Symbol permutation": comparisons.permutation_section(permuted),
        "Learning curves": comparisons.curves_section(learning),
        "One side alone": comparisons.one_sided_section(one_sided),
        "The data": datasets.data_section(data, material),
        "How to repeat this": recipes.repeat_section(material),
    }
    return numbers, sections
