"""The report: material, tables, sections and one page."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch

from possibleworlds.errors import UserError
from possibleworlds.models.registry import names
from possibleworlds.paper import SPLITS, WORLDS
from possibleworlds.parallel import StopRequestedError, ordered_map
from possibleworlds.report import appendix
from possibleworlds.report import sections as sections_of
from possibleworlds.report.material import Material, ReportRequest
from possibleworlds.report.page import Picture, to_html, to_markdown
from possibleworlds.report.runs import Group
from possibleworlds.report.tables import SAMPLED_SPLITS, collect
from possibleworlds.storage import write_text
from possibleworlds.training.evaluations import (
    EvaluationTask,
    evaluate_task,
    pending_tasks,
    store,
)

PAGE = "report.html"


def pending_evaluations(material: Material) -> list[EvaluationTask]:
    """List what the runs that the report compares were not evaluated on."""
    files = [file for folder in material.test_folders for file in folder.files]
    files = [file for file in files if file.stem in SPLITS]
    easy = [file for file in files if file.stem == "test_easy"]
    pending: dict[EvaluationTask, None] = {}

    def add(groups: Iterable[Group], files: Sequence[Path], worlds: int | None = None) -> None:
        # A class that a run folder names is not imported for a report.
        for run in (run for group in groups for run in group.runs if run.model in names()):
            pending.update(dict.fromkeys(pending_tasks(run.path, files, worlds)))

    add(material.groups, files)
    add((group for pair in material.permutation_pairs for group in pair), easy)
    if material.possibleworldnet:
        some = [file for file in files if file.stem in ("validate", *SAMPLED_SPLITS)]
        for worlds in WORLDS:
            add([material.possibleworldnet], some, worlds)
    for group in material.one_sided:
        if own := material.folder_of(group.first):
            add([group], [file for file in own.files if file.stem == "test_easy"])
    return list(pending)


def evaluate_and_store(task: EvaluationTask) -> None:
    """Evaluate a run on a file, in a process of its own."""
    torch.set_num_threads(1)  # a second one gains nothing on pieces so small
    store(task, evaluate_task(task))


def evaluate(
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


def write_report(request: ReportRequest, out: Path, log: Callable[[str], None]) -> Path:
    """Write report.html, report.md, report.json and the figures; give the page."""
    material = Material(request)
    tables = collect(material, log)
    sections = [
        sections_of.summary_section(tables),
        sections_of.results_section(tables, material),
        sections_of.size_section(tables, material),
        sections_of.errors_section(tables, material),
        sections_of.sampling_section(tables, material),
        sections_of.worlds_section(tables, material),
        sections_of.permutation_section(tables),
        sections_of.curves_section(tables, material),
        sections_of.one_sided_section(tables),
        appendix.data_section(tables, material),
        appendix.repeat_section(tables, material),
    ]
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from None
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, Picture):
            write_text(out / part.file, part.svg())
    write_text(out / "report.json", tables.to_json())
    write_text(out / "report.md", to_markdown(tables.title, sections))
    write_text(out / PAGE, to_html(tables.title, sections))
    return out / PAGE
