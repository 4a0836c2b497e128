"""The report: what runs and data say, in the order of the paper's section 5, on one page.

A part for which there are no runs is left out, with one line that says which command provides them.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

import possibleworlds
from possibleworlds import paper
from possibleworlds.data.statistics import NEW_VARIABLES, SIDES
from possibleworlds.errors import UserError
from possibleworlds.experiments.evaluations import (
    EvaluationTask,
    digest,
    evaluate_task,
    evaluation_key,
    pending_tasks,
    split_key,
    store,
)
from possibleworlds.paper import SPLITS, TABLE_1, WORLDS
from possibleworlds.parallel import StopRequestedError, ordered_map
from possibleworlds.report import figures, findings
from possibleworlds.report.findings import SAMPLED_SPLITS, TESTS, WITH_WORLDS, Found
from possibleworlds.report.page import Code, Picture, Section, Table, duration, to_html, to_markdown
from possibleworlds.report.runs import (
    DataFolder,
    Group,
    Run,
    Value,
    choose,
    find_data,
    find_runs,
    grouped,
)
from possibleworlds.storage import atomic_write

TITLE = "Can neural networks understand logical entailment?"
PAGE = "report.html"
WIDTHS = {"variables": 5, "operators": 10}
"""How wide the ranges of sizes in the tables are."""

Say = Callable[[str], None]
Stop = Callable[[], bool]
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Wanted:
    """What a report is to be about, and the command that asks for it."""

    folders: Sequence[Path]
    data: Sequence[Path]
    command: str
    note: str = ""
    """What the page is to say before all else."""


class Material:
    """All that a report is made from."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.folders = find_data(wanted.folders, wanted.data)
        runs, self.unfinished = find_runs(wanted.folders)
        digests = digests_of(self.tests)
        self.runs = [only_of_files(run, digests) for run in runs]
        self.groups = choose(self.runs)
        self.twins = findings.permutation_twins(self.runs)
        self.family = findings.worlds_family(self.runs)
        self.one_sided = grouped(run for run in self.runs if run.side != "both")

    @property
    def one_each(self) -> list[Group]:
        """One group for each network, for the figures: that on the data which most were given."""
        used = Counter(json.dumps(group.first.data) for group in self.groups)
        by_use = sorted(self.groups, key=lambda group: -used[json.dumps(group.first.data)])
        kept: dict[str, Group] = {}
        for group in by_use:
            kept.setdefault(group.first.model, group)
        return [group for group in self.groups if group in kept.values()]

    @property
    def with_worlds(self) -> Group | None:
        """The selected PossibleWorldNet."""
        return next((g for g in self.one_each if g.first.model == WITH_WORLDS), None)

    @property
    def tests(self) -> list[DataFolder]:
        """The data to test with: what was given, and what was found with unbiased test sets."""
        given = {path.resolve() for path in self.wanted.data}
        return [
            folder
            for folder in self.folders
            if folder.method != "naive"
            and (folder.path.resolve() in given or any(f.stem in TESTS for f in folder.files))
        ]

    @property
    def with_evaluation(self) -> str:
        """The command that evaluates what was not."""
        data = "" if self.tests else " --data DATA"
        return f"`{self.wanted.command}{data} --evaluate`"

    @property
    def used(self) -> list[Run]:
        """Every run that a number of the report comes from."""
        compared = [group for pair in self.twins for group in pair]
        groups = [*self.groups, *self.family, *compared, *self.one_sided]
        return list({run.path: run for group in groups for run in group.runs}.values())


def digests_of(folders: Iterable[DataFolder]) -> dict[str, str]:
    """The SHA-256 of each file, by what evaluations on it are called."""
    files: dict[str, Path] = {}
    for file in (f for folder in folders for f in folder.files if f.stem in SPLITS):
        same = files.setdefault(evaluation_key(file), file)
        if digest(same) != digest(file):
            raise UserError(f"{same} and {file} differ and are both called {evaluation_key(file)}")
    return {key: digest(file) for key, file in files.items()}


def only_of_files(run: Run, digests: dict[str, str]) -> Run:
    """A run without evaluations on files that have changed since."""

    def is_current(key: str) -> bool:
        now = digests.get(split_key(key)[0])
        return run.evaluations[key].get("sha256") in (now, None) or now is None

    return replace(run, evaluations={k: v for k, v in run.evaluations.items() if is_current(k)})


def questions(material: Material) -> list[EvaluationTask]:
    """What is not known of the runs that the report compares."""
    files = [file for f in material.tests for file in f.files if file.stem in SPLITS]
    some = [file for file in files if file.stem in ("validate", *SAMPLED_SPLITS)]
    found: dict[EvaluationTask, None] = {}
    for group in material.groups:
        for run in group.runs:
            found |= dict.fromkeys(pending_tasks(run.path, files))
    easy = [file for file in files if file.stem == "test_easy"]
    for run in (run for pair in material.twins for group in pair for run in group.runs):
        found |= dict.fromkeys(pending_tasks(run.path, easy))
    if material.with_worlds:
        for run in material.with_worlds.runs:
            for worlds in WORLDS:
                found |= dict.fromkeys(pending_tasks(run.path, some, worlds))
    for group in material.one_sided:
        own = [f for f in material.folders if f.fingerprint == group.first.data]
        theirs = [file for folder in own[:1] for file in folder.files if file.stem == "test_easy"]
        for run in group.runs:
            found |= dict.fromkeys(pending_tasks(run.path, theirs))
    return list(found)


def answer_and_keep(question: EvaluationTask) -> None:
    """What is done in a process of its own."""
    torch.set_num_threads(1)  # a second one gains nothing on pieces so small
    store(question, evaluate_task(question))


def evaluate(asked: Sequence[EvaluationTask], workers: int, stop: Stop, progress: Progress) -> None:
    """Answer questions with so many processes, and keep each answer at once."""
    for done, _ in enumerate(ordered_map(answer_and_keep, asked, workers), 1):
        progress(done)
        if stop():
            raise StopRequestedError


def write_report(wanted: Wanted, out: Path, say: Say) -> Path:
    """Write report.html, report.md, report.json and the figures; the page."""
    material = Material(wanted)
    found, sections = make_report(material, say)
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from None
    for section in sections:
        for part in section.parts:
            if isinstance(part, Picture):
                write(out / part.file, part.svg.decode())
    write(out / "report.json", json.dumps(found, indent=1, default=asdict) + "\n")
    write(out / "report.md", to_markdown(TITLE, sections))
    write(out / PAGE, to_html(TITLE, sections))
    return out / PAGE


def write(path: Path, text: str) -> None:
    """Replace a text file."""
    with atomic_write(path) as file:
        file.write(text)


def make_report(material: Material, say: Say) -> tuple[Found, list[Section]]:
    """The findings, and the sections that show them."""
    asked = findings.worlds_asked(material.with_worlds)
    for folder in material.folders:
        say(f"reading {folder.path}")
    found: Found = {
        "title": TITLE,
        "version": possibleworlds.__version__,
        "command": material.wanted.command,
        "note": material.wanted.note,
        "results": findings.results(material.groups, material.folders),
        "worlds": {"in_training": findings.worlds_in_training(material.family), "asked": asked},
        "sampling": findings.sampling(material.tests, asked),
        "by_size": findings.by_size(material.one_each),
        "permutation": findings.permutation(material.twins),
        "learning_curves": findings.learning_curves(material.one_each),
        "one_sided": findings.one_sided(material.one_sided, material.folders),
        "data": [findings.describe_data(folder) for folder in material.folders],
        "repeat": [findings.repeat(run, material.folders) for run in material.used],
    }
    sections = [
        results_section(found["results"], material),
        worlds_section(found["worlds"], material),
        sampling_section(found["sampling"], material),
        size_section(found["by_size"], material),
        permutation_section(found["permutation"]),
        curves_section(found["learning_curves"]),
        one_sided_section(found["one_sided"]),
        data_section(found["data"], material),
        repeat_section(found["repeat"], material),
    ]
    return found, sections


def shown(value: Value | None) -> str:
    """An accuracy in percent, with its spread where there are several seeds."""
    if value is None:
        return ""
    spread = "" if value.spread is None else f" ± {100 * value.spread:.1f}"
    return f"{100 * value.mean:.1f}{spread}"


def points(gain: float) -> str:
    """A difference of two accuracies, in points of percent."""
    return f"{100 * gain:+.1f}"


def short(split: str) -> str:
    """The name of a split, as a column has room for it."""
    return split.removeprefix("test_")


def lines_of(row: Found) -> dict[str, dict[str, Value]]:
    """The accuracies of a row by their folder; those of the training where there are no others."""
    return row["accuracy"] or {"validation in training": {"validate": row["validation"]}}


def best(rows: Iterable[Found]) -> dict[tuple[str, str], float]:
    """The best accuracy on each folder and split, as it is shown; and the paper's best."""
    found: dict[tuple[str, str], float] = {}

    def note(source: str, split: str, accuracy: float) -> None:
        found[source, split] = max(round(100 * accuracy, 1), found.get((source, split), 0.0))

    for row in rows:
        for source, values in lines_of(row).items():
            for split, value in values.items():
                note(source, split, value.mean)
        for split, accuracy in (row["paper"] or {}).items():
            note("paper", split, accuracy)
    return found


def results_table(rows: Sequence[Found]) -> Table:
    """Our accuracies, folder by folder, and the paper's below them; the best ones in bold."""
    several = len({row["trained_on"] for row in rows}) > 1
    top = best(rows)
    words = ["network", *(["trained on"] if several else []), "on"]
    numbers = [*map(short, SPLITS), "seeds", "parameters", "training", "pairs/s"]
    lines: list[list[str]] = []
    for row in rows:
        first = [row["model"], *([row["trained_on"]] if several else [])]
        last = [
            str(len(row["seeds"])),
            f"{row['parameters']:,}",
            duration(row["seconds"].mean),
            f"{row['pairs_per_second'].mean:,.0f}",
        ]
        for source, values in lines_of(row).items():
            cells = []
            for split in SPLITS:
                value = values.get(split)
                is_best = value and round(100 * value.mean, 1) == top[source, split]
                cells.append(f"**{shown(value)}**" if is_best else shown(value))
            lines.append([*first, source, *cells, *last])
            last = [""] * len(last)
        if row["paper"]:
            cells = [f"{100 * accuracy:.1f}" for accuracy in row["paper"].values()]
            marked = [
                f"**{cell}**" if float(cell) == top["paper", split] else f"*{cell}*"
                for split, cell in zip(SPLITS, cells, strict=True)
            ]
            lines.append(["*paper*", *[""] * len(first), *marked, *last])
    return Table([*words, *numbers], lines, len(words))


def results_section(rows: Sequence[Found], material: Material) -> Section:
    """The table of results, and what is to be known of it."""
    section = Section("Results")
    parts = section.parts
    if material.wanted.note:
        parts.append(material.wanted.note)
    if not rows:
        parts.append(
            "No run may stand in the results: `possibleworlds train MODEL --data DATA --out RUN` "
            "makes one, and a sweep that is finished has selected some."
        )
        return section
    parts.append(
        f"Accuracy in percent, of {len(rows)} settings selected from {len(material.runs)} runs: "
        "mean ± standard deviation over seeds; the best on each set, and of the paper, in bold. "
        "Settings were selected by their accuracy on validation data, never on test data. "
        "The paper's figures are on its own sets. Parameters, time of training and pairs a second "
        "are those of a run, on average."
    )
    parts.append(results_table(rows))
    if not all(row["accuracy"] for row in rows):
        parts.append(f"Not every run was evaluated: {material.with_evaluation} does that.")
    parts += [
        f"{key} is not the same file for all runs, so its column compares different things."
        for key in not_the_same(material.groups)
    ]
    if material.unfinished:
        listed = ", ".join(f"`{path}`" for path in material.unfinished)
        parts.append(f"Not finished, and left out: {listed}; `possibleworlds train --resume`.")
    return section


def not_the_same(groups: Iterable[Group]) -> list[str]:
    """The names that stand for different files in the evaluations of different runs."""
    digests: dict[str, set[str]] = {}
    for group in groups:
        for run in group.runs:
            for key, result in run.evaluations.items():
                if "sha256" in result:
                    digests.setdefault(key, set()).add(result["sha256"])
    return [key for key, different in digests.items() if len(different) > 1]


def worlds_section(found: Found, material: Material) -> Section:
    """The figure of section 5, and how the number of worlds in an evaluation matters."""
    section = Section("The number of worlds")
    parts = section.parts
    in_training, asked = found["in_training"], found["asked"]
    on_validation = {key: by for key, by in asked.items() if key.endswith("/validate")}
    if in_training:
        shows = "Validation error against training steps, by the number of worlds."
        parts.append(Picture("worlds", shows, figures.worlds_in_training(in_training)))
    if in_training or on_validation:
        shows = "Accuracy on validation data against worlds, of a network trained with as many"
        shows += " or of the selected one." if on_validation else "."
        picture = figures.worlds_asked(in_training, on_validation)
        parts.append(Picture("worlds-asked", shows, picture))
    if in_training:
        rows = [
            [f"{row['worlds']}", shown(row["validation"]), duration(row["seconds"].mean)]
            for row in in_training
        ]
        parts.append(Table(["worlds", "validation", "training"], rows, words=0))
    else:
        parts.append(
            "No runs that differ in the number of worlds alone: "
            "`possibleworlds train possibleworldnet --data DATA --out RUNS/16 --set worlds=16`, "
            "and so on with 1, 4, 64 and 256."
        )
    if not asked:
        parts.append(
            "No PossibleWorldNet was asked with other numbers of worlds: "
            f"{material.with_evaluation} does that."
        )
    return section


def sampling_section(rows: Sequence[Found], material: Material) -> Section:
    """Truth-table sampling against the network."""
    section = Section("Sampling the truth table instead")
    if not rows:
        section.parts.append(
            "No data with a test set that is hard, big or massive: "
            f"`possibleworlds generate DATA`, then `{material.wanted.command} --data DATA`."
        )
        return section
    section.parts += [
        "What if as many random rows of the truth table were looked at, as the network imagines "
        "worlds? How often they hold a countermodel where there is one, as the paper estimates "
        f"and here; the accuracy of answering so; and that of {WITH_WORLDS}.",
        Picture(
            "sampling",
            "Accuracy of sampling rows (dashed) and of the network (solid).",
            figures.sampling(rows),
        ),
        Table(
            ["set", "rows or worlds", "found, paper", "found", "sampling", WITH_WORLDS],
            [
                [
                    row["file"],
                    f"{row['rows_or_worlds']}",
                    f"*{100 * row['paper_refuted']:.1f}*" if row["paper_refuted"] else "",
                    f"{100 * row['refuted']:.1f}",
                    *in_bold([shown(Value(row["sampling"], None, [])), shown(row[WITH_WORLDS])]),
                ]
                for row in rows
            ],
        ),
    ]
    if not any(row[WITH_WORLDS] for row in rows):
        section.parts.append(
            "No PossibleWorldNet was asked with these numbers of worlds: "
            f"{material.with_evaluation} does that."
        )
    return section


def in_bold(cells: list[str]) -> list[str]:
    """The cells, with the largest in bold where there are several."""
    numbers = [float(cell.split()[0]) for cell in cells if cell]
    if len(numbers) < 2:
        return cells
    return [f"**{c}**" if c and float(c.split()[0]) == max(numbers) else c for c in cells]


def size_section(found: Sequence[Found], material: Material) -> Section:
    """Accuracy by the size of a pair, for every network."""
    section = Section("What generalises where")
    if not any(row["variables"] for row in found):
        section.parts.append(
            f"No run was evaluated on a test set: {material.with_evaluation} does that."
        )
        return section
    sources = Counter(row["source"] for row in found)
    source = sources.most_common(1)[0][0]
    rows = [row for row in found if row["source"] == source]
    ranges = training_ranges(material)
    note = " Grey: the sizes that training data have." if ranges else ""
    for what in WIDTHS:
        shows = f"Accuracy by number of {what} of a pair, all test sets of {source} together.{note}"
        picture = figures.by_size(rows, what, ranges.get(what))
        section.parts.append(Picture(f"by-{what}", shows, picture))
    section.parts += [size_table(rows, what) for what in WIDTHS]
    return section


def training_ranges(material: Material) -> dict[str, int]:
    """The most variables and operators that a pair of the training data can have, if known."""
    used = Counter(json.dumps(group.first.data) for group in material.groups).most_common(1)
    for folder in material.folders:
        if folder.train and json.dumps(folder.fingerprint) == used[0][0]:
            # A pair shares its variables; its operators are those of two formulas.
            return {
                "variables": folder.train["variables"][1],
                "operators": 2 * folder.train["operators"][1],
            }
    return {}


def size_table(rows: Sequence[Found], what: str) -> Table:
    """A line for each network, a column for each range of sizes, the best in bold."""
    coarse = [findings.coarser(row[what], WIDTHS[what]) for row in rows]
    counts = {size: part["rows"] for parts in coarse for size, part in parts.items()}
    enough = (size for size, rows in counts.items() if rows >= findings.FEWEST_ROWS)
    sizes = sorted(enough, key=findings.lowest)
    columns = [
        in_bold([f"{100 * p[size]['accuracy']:.1f}" if size in p else "" for p in coarse])
        for size in sizes
    ]
    lines = [["*pairs*", *(f"*{counts[size]:,.0f}*" for size in sizes)]]
    for i, row in enumerate(rows):
        lines.append([row["model"], *(column[i] for column in columns)])
    return Table([what, *sizes], lines)


def permutation_section(rows: Sequence[Found]) -> Section:
    """The effect of symbol permutation for each network."""
    section = Section("Symbol permutation")
    if not rows:
        section.parts.append(
            "No two runs that differ in it alone: `possibleworlds train MODEL --data DATA "
            "--out RUN --set permute_symbols=false`, beside one without that setting."
        )
        return section
    keys = {key for row in rows for key in row["gain_on_tests"]}
    tests = sorted(keys, key=lambda key: (key.partition("/")[0], SPLITS.index(Path(key).name)))
    lines = []
    for row in rows:
        low_high = row["paper_gain"]
        lines.append(
            [
                row["model"],
                shown(row["without"]),
                shown(row["with"]),
                points(row["gain"]),
                f"*{points(low_high[0])} to {points(low_high[1])}*" if low_high else "",
                *(
                    points(row["gain_on_tests"][key]) if key in row["gain_on_tests"] else ""
                    for key in tests
                ),
            ]
        )
    columns = ["network", "without", "with", "gain", "paper", *(f"gain, {key}" for key in tests)]
    section.parts += [
        "Runs that differ in nothing else; accuracy on validation data, gains in points.",
        Picture(
            "permutation",
            "Validation accuracy without and with symbol permutation.",
            figures.permutation(rows),
        ),
        Table(columns, lines),
    ]
    return section


def curves_section(found: Sequence[Found]) -> Section:
    """Learning curves, by data and by time."""
    section = Section("Learning curves")
    if not found:
        section.parts.append("No run has a learning curve: `possibleworlds train` writes one.")
        return section
    for against, words in (("pairs", "pairs seen"), ("minutes", "time of training")):
        shows = (
            f"Accuracy on the validation data of the training against {words}, means over seeds."
        )
        picture = figures.learning_curves(found, against)
        section.parts.append(Picture(f"learning-{against}", shows, picture))
    return section


def one_sided_section(rows: Sequence[Found]) -> Section:
    """What a network reaches that sees one side alone."""
    section = Section("One side alone")
    if not rows:
        section.parts.append(
            "No run that sees one side alone: `possibleworlds train mlp-bow --data DATA --out RUN "
            "--side left`, also on `possibleworlds generate NAIVE --method naive`."
        )
        return section
    section.parts += [
        "A network that sees only A, or only B, must stay at 50 % unless the data give something "
        "away, as those of the naive method do.",
        Table(
            ["network", "sees", "trained on", "validation", "test (easy)", "seeds"],
            [
                [
                    row["model"],
                    row["side"],
                    row["trained_on"],
                    shown(row["validation"]),
                    shown(row["test_easy"]),
                    str(len(row["seeds"])),
                ]
                for row in rows
            ],
            words=3,
        ),
    ]
    return section


def data_section(found: Sequence[Found], material: Material) -> Section:
    """Table 1 and the bias tables."""
    section = Section("The data")
    if not found:
        section.parts.append(f"No data folder was found: `{material.wanted.command} --data DATA`.")
        return section
    section.parts += [
        "Table 1: means over formulas, and over pairs for variables; operators and length of both "
        "formulas of a pair together in massive and exam.",
        table_1(found),
    ]
    for data in found:
        if data["biases"]:
            section.parts += bias_parts(data)
    return section


def table_1(found: Sequence[Found]) -> Table:
    """The paper's Table 1 and ours."""
    lines: list[list[str]] = []

    def add(split: str, whose: str, values: Iterable[float], emphasis: str) -> None:
        rows, *means, table_rows = values
        cells = [f"{rows:,}", *(f"{mean:.2f}" for mean in means), f"{table_rows:,.1f}"]
        lines.append([split, whose, *(f"{emphasis}{cell}{emphasis}" for cell in cells)])

    splits = dict.fromkeys(split for data in found for split in data["table_1"])
    for split in sorted(splits, key=findings.in_order_of_table_1):
        name = split
        for data in found:
            if split in data["table_1"]:
                add(name, data["folder"], data["table_1"][split].values(), "")
                name = ""
        if split in TABLE_1:
            add("", "*paper*", TABLE_1[split], "*")
    columns = ["split", "of", "rows", "variables", "operators", "length", "2^variables"]
    return Table(columns, lines, words=2)


def bias_parts(data: Found) -> list[str | Table]:
    """Whether superficial features tell positives from negatives, and what heuristics reach."""
    tables = {"naive": paper.TABLE_3, "fourtuples": paper.TABLE_4}
    published = tables.get(data["method"], {})
    new = paper.NEW_VARIABLES.get(data["method"])
    biases = data["biases"]
    lines = []
    for name, sides in biases["features"].items():
        line = [f"`{name}`"]
        for i, side in enumerate(SIDES):
            means, theirs = sides.get(side), published.get(name, ())[4 * i :][:4]
            if name == NEW_VARIABLES and side == "B" and new:
                theirs = new
            ours = (means["positive_mean"], means["negative_mean"]) if means else ()
            line += [f"{mean:.2f}" for mean in ours] or ["", ""]
            line.append(f"{means['chi_squared']:.1f}" if means else "")
            line.append(f"*{theirs[2]:.1f}*" if theirs else "")
        lines.append(line)
    guesses = ", ".join(f"{name} {right:.1%}" for name, right in biases["heuristics"].items())
    columns = ["feature", "A+", "A−", "χ²", "χ², paper", "B+", "B−", "χ²", "χ², paper"]
    return [
        f"The first {biases['rows']:,} rows of `{data['folder']}/train.txt`: superficial features, "
        "their means among positives and negatives, and how different their distributions are "
        f"(the paper's Tables 3 and 4, of {findings.ROWS_OF_BIAS_TABLES:,} rows). "
        f"How often guessing by a heuristic is right: {guesses}.",
        Table(columns, lines),
    ]


def repeat_section(runs: Sequence[Found], material: Material) -> Section:
    """How to repeat every number."""
    section = Section("How to repeat this")
    section.parts.append(
        f"This report, by version {possibleworlds.__version__}: `{material.wanted.command}`. A run "
        "is repeated by its command, on data with the fingerprints (SHA-256) given, by the same "
        "version; all settings are in `report.json`. One with `minutes` learns more on a faster "
        "machine, and one with `epochs` gives the same weights on one thread."
    )
    for folder in material.folders:
        if command := findings.generate_command(folder, material.folders):
            prints = "\n".join(f"# {file} {sha}" for file, sha in folder.fingerprint.items())
            section.parts.append(Code(f"data: {folder.path}", f"{prints}\n{command}"))
    section.parts += [
        Code(f"{run['model']}, seed {run['seed']}: {run['run']}", recipe(run)) for run in runs
    ]
    return section


def recipe(run: Found) -> str:
    """A run in a few lines: how it went, its settings, its data, its command."""
    metrics: dict[str, Any] = run["metrics"]
    settings = " ".join(f"{name}={value}" for name, value in run["settings"].items())
    lines = [
        f"# version {run['version']}, torch {run['torch']}, {duration(metrics['seconds'])}; "
        f"step {metrics['best_step']:,} of {metrics['step']:,} was kept, "
        f"{metrics['validation']:.2%} of validation",
        f"# {settings}",
        *(f"# {file} {digest}" for file, digest in run["data"].items()),
        run["command"],
        *run["evaluate"],
    ]
    return "\n".join(lines)
