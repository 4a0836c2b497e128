"""The report: the numbers of every question, its section, and one page."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

import possibleworlds
from possibleworlds.errors import UserError
from possibleworlds.models.registry import names
from possibleworlds.paper import WORLDS
from possibleworlds.parallel import StopRequestedError, ordered_map
from possibleworlds.report import comparisons, datasets, recipes, results, summary, worlds
from possibleworlds.report.material import Material, RunGroup
from possibleworlds.report.page import Picture, Section, Sections, text, to_html, to_markdown
from possibleworlds.storage import write_text
from possibleworlds.training.evaluations import EvaluationTask, evaluate_task, pending_tasks, store

TITLE = "Can neural networks understand logical entailment?"
PAGE = "report.html"
SECTIONS = {
    "results": "Results",
    "by_size": "What generalises where",
    "errors": "A gallery of errors",
    "sampling": "Sampling the truth table instead",
    "worlds": "The number of worlds",
    "permutation": "Symbol permutation",
    "learning_curves": "Learning curves",
    "one_sided": "One side alone",
    "data": "The data",
    "repeat": "How to repeat this",
}
"""The titles of the sections that have numbers, by their name in report.json."""


def pending_evaluations(material: Material) -> list[EvaluationTask]:
    """List what the runs that the report compares were not evaluated on."""

    def called(splits: Iterable[str], files: Iterable[Path]) -> list[Path]:
        return [file for file in files if file.stem in splits]

    files = [file for folder in material.test_folders for file in folder.splits]
    needed: list[tuple[RunGroup, list[Path], int | None]] = [
        *((group, files, None) for group in material.groups),
        *((g, called(["test_easy"], files), None) for p in material.permutation_pairs for g in p),
    ]
    if network := material.possibleworldnet:
        some = called(["validate", *worlds.SAMPLED_SPLITS], files)
        needed += [(network, some, count) for count in WORLDS]
    for group in material.one_sided:
        if own := material.folder_of(group.first):
            needed.append((group, called(["test_easy"], own.files), None))
    pending = [
        task
        for group, on, count in needed
        if group.model in names()  # a class that a folder names is not imported for a report
        for run in group.runs
        for task in pending_tasks(run.path, on, count)
    ]
    return list(dict.fromkeys(pending))


def evaluate_and_store(task: EvaluationTask) -> None:
    """Evaluate a run on a file, in a process of its own."""
    torch.set_num_threads(1)  # a second one gains nothing on pieces so small
    store(task, evaluate_task(task))


def evaluate_tasks(
    tasks: Sequence[EvaluationTask],
    workers: int,
    stop: Callable[[], bool],
    progress: Callable[[int], None],
) -> None:
    """Evaluate runs with some processes, and store each result at once."""
    for done, _ in enumerate(ordered_map(evaluate_and_store, tasks, workers), 1):
        progress(done)
        if stop():
            raise StopRequestedError


def write_report(material: Material, out: Path, log: Callable[[str], None]) -> Path:
    """Write report.html, report.md, report.json and the figures; give the page."""
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
    write_text(out / "report.json", json.dumps(numbers, indent=1, default=vars) + "\n")
    write_text(out / "report.md", to_markdown(TITLE, sections))
    write_text(out / PAGE, to_html(TITLE, sections))
    return out / PAGE


def compose(material: Material) -> tuple[dict[str, Any], Sections]:
    """Compute the numbers of a report, as report.json has them, and its sections."""
    sampling = worlds.sampling_rows(material)
    by_key: dict[str, Section] = {
        "results": results.results_section(material, sampling),
        "worlds": worlds.worlds_section(material),
        "sampling": (sampling, worlds.sampling_section(sampling, material)),
        "by_size": comparisons.size_section(material),
        "permutation": comparisons.permutation_section(material),
        "learning_curves": comparisons.curves_section(material),
        "one_sided": comparisons.one_sided_section(material),
        "errors": results.errors_section(material),
        "data": datasets.data_section(material),
        "repeat": recipes.repeat_section(material),
    }
    numbers = {
        "title": TITLE,
        "version": possibleworlds.__version__,
        "command": material.command,
        "note": material.note,
        **{key: stored for key, (stored, _) in by_key.items()},
    }
    in_short = [*summary.summarise(numbers["results"], sampling)] or [text("nothing found")]
    if note := material.note:
        in_short.append(text("note", note=note))
    return numbers, {"In short": in_short, **{t: by_key[key][1] for key, t in SECTIONS.items()}}
