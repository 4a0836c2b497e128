"""The sections of a report: first what was found, then text, tables and figures for each question.

A section for which there are no runs says which command provides them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from possibleworlds.paper import SPLITS
from possibleworlds.report import figures
from possibleworlds.report.cells import (
    accuracy,
    as_cell,
    bar,
    by_column,
    network_name,
    points,
    table,
    time_of,
)
from possibleworlds.report.material import POSSIBLEWORLDNET, Material
from possibleworlds.report.page import (
    Cell,
    Part,
    Picture,
    Section,
    Table,
    code,
    listed,
    mark_best,
    playground_link,
)
from possibleworlds.report.rows import (
    ErrorRow,
    Gain,
    PermutationRow,
    ResultRow,
    SamplingRow,
    SizeRow,
    WorldsRow,
)
from possibleworlds.report.runs import CurvePoint, Group, SeedMean
from possibleworlds.report.summary import USUAL_WORLDS, summarise
from possibleworlds.report.tables import SAMPLED_SPLITS, Tables, merged, wide_enough

BIN_WIDTHS = {"variables": 5, "operators": 10}
"""How wide the ranges of sizes in the tables are."""
IN_TRAINING = "validation in training"
"""Stands for a data set where a run was evaluated on none."""


def summary_section(tables: Tables) -> Section:
    """Say what was found."""
    parts: list[Part] = [*summarise(tables)]
    if not parts:
        parts.append("No run was evaluated on a test set, so there is nothing to sum up yet.")
    if tables.note:
        parts.append(f"*How it was made:* {tables.note}")
    return Section("In short", parts)


def results_section(tables: Tables, material: Material) -> Section:
    """Show the table of results, and what is to be known of it."""
    rows = tables.results
    section = Section("Results")
    parts = section.parts
    if not rows:
        parts.append(
            "No run may stand in the results: `possibleworlds train MODEL --data DATA --out RUN` "
            "makes one, and a sweep that is finished has selected some."
        )
        return section
    seeds = {len(row.seeds) for row in rows}
    several = "a mean ± the standard deviation over seeds" if seeds != {1} else "of one seed"
    parts.append(
        f"Accuracy in percent, {several}, of {len(rows)} settings selected from "
        f"{len(material.runs)} runs by their accuracy on validation data, never on test data. "
        "Small: the 95 % interval that follows from the number of pairs alone, and the paper's "
        "figure, on its own sets. A bar begins at 50 %, which is guessing. The best of a column "
        "is in bold."
    )
    sources = dict.fromkeys(source for row in rows for source in row.accuracy)
    for source in sources or [IN_TRAINING]:
        title = source if source == IN_TRAINING else f"On {code(source)}"
        parts += [f"**{title}**", results_table(rows, source, tables.sampling)]
    if not all(row.accuracy for row in rows):
        parts.append(f"Not every run was evaluated: {code(material.evaluate_command)} does that.")
    parts += [
        f"{code(key)} is not the same file for all runs, so its column compares different things."
        for key in ambiguous_keys(material.groups)
    ]
    if material.unfinished:
        names = listed([code(path.name) for path in material.unfinished])
        parts.append(f"Not finished, and left out: {names}; `possibleworlds train --resume`.")
    return section


def results_table(
    rows: Sequence[ResultRow], source: str, sampling: Iterable[SamplingRow] = ()
) -> Table:
    """Show accuracies on a data set beside the paper's, and those of random rows."""

    def of(row: ResultRow) -> dict[str, SeedMean]:
        in_training = {"validate": row.validation} if source == IN_TRAINING else {}
        return row.accuracy.get(source, in_training)

    rows = [row for row in rows if of(row)]
    splits = [split for split in SPLITS if any(split in of(row) for row in rows)]
    cells = [[accuracy(of(row).get(split)) for split in splits] for row in rows]
    for row, line in zip(rows, cells, strict=True):
        for i, split in enumerate(splits):
            paper = (f"paper {100 * row.paper[split]:.1f}",) if row.paper else ()
            line[i] = replace(line[i], details=line[i].details + paper, bar=bar(line[i].value))
    several = len({row.trained_on for row in rows}) > 1
    lines = [
        [
            network_name(row.model),
            *([Cell(row.trained_on)] if several else []),
            *line,
            as_cell(len(row.seeds)),
            as_cell(row.parameters),
            time_of(row.seconds),
            as_cell(round(row.pairs_per_second.mean)),
        ]
        for row, line in zip(rows, by_column(cells), strict=True)
    ]
    baseline = {r.file: r.sampling for r in sampling if r.count == USUAL_WORLDS}
    values = [baseline.get(f"{source}/{split}") for split in splits]
    if any(values):
        named = [Cell(f"{USUAL_WORLDS} random rows", muted=True, kind="baseline")]
        named += [Cell("no training", muted=True)] if several else []
        sampled = [replace(accuracy(value, muted=True), bar=bar(value)) for value in values]
        lines.append([*named, *sampled, *[Cell("")] * 4])
    names = ["network", *(["trained on"] if several else [])]
    columns = [split.removeprefix("test_") for split in splits]
    cost = ["seeds", "parameters", "training", "pairs/s"]
    return Table([*names, *columns, *cost], lines, len(names))


def ambiguous_keys(groups: Iterable[Group]) -> list[str]:
    """Find keys that stand for different files in the evaluations of different runs."""
    digests: dict[str, set[str]] = {}
    for run in (run for group in groups for run in group.runs):
        for key, result in run.evaluations.items():
            if "sha256" in result:
                digests.setdefault(key, set()).add(result["sha256"])
    return [key for key, different in digests.items() if len(different) > 1]


def accuracy_at(step: float, curve: Sequence[CurvePoint]) -> float | None:
    """Interpolate the validation accuracy at a step of training."""
    for before, after in pairwise(curve):
        if before.step <= step <= after.step:
            share = (step - before.step) / max(1.0, after.step - before.step)
            return before.validation + share * (after.validation - before.validation)
    return None


def worlds_section(tables: Tables, material: Material) -> Section:
    """Show the figure of section 5, and how the number of worlds in evaluation matters."""
    section = Section("The number of worlds")
    parts = section.parts
    trained, evaluated = tables.worlds.in_training, tables.worlds.in_evaluation
    on_validation = {key: by for key, by in evaluated.items() if key.endswith("/validate")}
    # Networks that were trained for equal times have seen unequal amounts of data.
    common = min((row.points[-1].step for row in trained if row.points), default=0.0)
    at_common = {row.worlds: accuracy_at(common, row.points) for row in trained}
    if trained:
        caption = "Validation error against training steps, by the number of worlds."
        parts.append(Picture("worlds", caption, figures.worlds_in_training(trained)))
    if trained or on_validation:
        equal = {worlds: value for worlds, value in at_common.items() if value is not None}
        caption = "Accuracy on validation data by worlds in evaluation"
        caption += f"; dashed: trained with as many, after {common:,.0f} steps." if equal else "."
        picture = figures.worlds_in_evaluation(equal, on_validation)
        parts.append(Picture("worlds-evaluation", caption, picture))
    if trained:
        columns: dict[str, Callable[[WorldsRow], Any]] = {
            "worlds": lambda row: row.worlds,
            f"after {common:,.0f} steps": lambda row: accuracy(at_common[row.worlds]),
            "at the best step": lambda row: row.validation,
            "steps": lambda row: round(row.points[-1].step) if row.points else None,
            "training": lambda row: time_of(row.seconds),
        }
        parts.append(
            "Accuracy on validation data. Where training was limited by time, more worlds meant "
            "fewer steps: then compare at equal steps."
        )
        parts.append(table(trained, columns, words=0))
    else:
        parts.append(
            "No runs that differ in the number of worlds alone: "
            "`possibleworlds train possibleworldnet --data DATA --out RUNS/16 --set worlds=16`, "
            "and so on with 1, 4, 64 and 256."
        )
    if not evaluated:
        parts.append(
            "No PossibleWorldNet was evaluated with other numbers of worlds: "
            f"{code(material.evaluate_command)} does that."
        )
    return section


def sampling_section(tables: Tables, material: Material) -> Section:
    """Compare truth-table sampling with the network."""
    rows = [row for row in tables.sampling if row.file.endswith(SAMPLED_SPLITS)]
    section = Section("Sampling the truth table instead")
    if not rows:
        section.parts.append(
            "No data with a test set that is hard, big or massive: `possibleworlds generate "
            f"DATA`, then {code(material.request.command + ' --data DATA')}."
        )
        return section
    columns: dict[str, Callable[[SamplingRow], Any]] = {
        "set": lambda row: row.file,
        "rows or worlds": lambda row: row.count,
        "refuted, paper": lambda row: accuracy(row.paper_refuted, muted=True),
        "refuted": lambda row: accuracy(row.refuted),
    }
    shown = table(rows, columns)
    for row, line in zip(rows, shown.rows, strict=True):
        line += mark_best([accuracy(row.sampling), accuracy(row.network)])
    caption = "Accuracy in percent of random rows (dashed) and of the network with as many worlds."
    section.parts += [
        "Look at as many random rows of the truth table as the network imagines worlds: how often "
        "do they hold a countermodel where there is one, by the paper's estimate and here; how "
        f"accurate is it to answer so; and how accurate is {POSSIBLEWORLDNET}?",
        Picture("sampling", caption, figures.sampling(rows)),
        replace(shown, columns=[*shown.columns, "random rows", POSSIBLEWORLDNET]),
    ]
    if not any(row.network for row in rows):
        section.parts.append(
            "No PossibleWorldNet was evaluated with these numbers of worlds: "
            f"{code(material.evaluate_command)} does that."
        )
    return section


def size_section(tables: Tables, material: Material) -> Section:
    """Show accuracy by the size of a pair, for every network."""
    section = Section("What generalises where")
    if not any(row.bins["variables"] for row in tables.by_size):
        section.parts.append(
            f"No run was evaluated on a test set: {code(material.evaluate_command)} does that."
        )
        return section
    source = Counter(row.source for row in tables.by_size).most_common(1)[0][0]
    rows = [row for row in tables.by_size if row.source == source]
    largest = largest_in_training(material)
    note = " Shaded: the sizes of training data." if largest else ""
    for size in BIN_WIDTHS:
        caption = f"Accuracy in percent by {size} of a pair, all test sets of {source} together."
        picture = figures.by_size(rows, size, largest.get(size))
        section.parts.append(Picture(f"by-{size}", caption + note, picture))
    section.parts += [size_table(rows, size) for size in BIN_WIDTHS]
    return section


def largest_in_training(material: Material) -> dict[str, int]:
    """Find the most variables and operators of a pair of the training data, if known."""
    for group in material.groups:
        folder = material.folder_of(group.first)
        if group.data_key == material.common_data and folder and folder.train:
            # A pair shares its variables; its operators are those of two formulas.
            return {
                "variables": folder.train["variables"][1],
                "operators": 2 * folder.train["operators"][1],
            }
    return {}


def size_table(rows: Sequence[SizeRow], size: str) -> Table:
    """Show a line for each network, a column for each range of sizes."""
    coarse = [wide_enough(merged(row.bins[size], BIN_WIDTHS[size])) for row in rows]
    by_label = [{part.label: part for part in bins} for bins in coarse]
    columns = {part.label: part for bins in coarse for part in bins}
    labels = sorted(columns, key=lambda label: columns[label].low)
    cells = [[accuracy(b[x].accuracy if x in b else None) for x in labels] for b in by_label]
    pairs = [f"{columns[label].rows:,} pairs" for label in labels]
    marked = zip(rows, by_column(cells), strict=True)
    lines = [[network_name(row.model), *line] for row, line in marked]
    return Table([size, *labels], lines, notes=["", *pairs])


def errors_section(tables: Tables, material: Material) -> Section:
    """Show the shortest pairs that each network got wrong."""
    section = Section("A gallery of errors")
    if not tables.errors:
        section.parts.append(
            "No wrong answer is on record, or none was looked for: "
            f"{code(material.evaluate_command)} keeps the shortest."
        )
        return section
    section.parts.append(
        "The shortest pairs of the test sets that each network (its first seed) got wrong. "
        "*Try it* opens a pair in `playground.html` beside this page, with its truth table and "
        "the worlds of two networks (`possibleworlds playground --save` writes it)."
    )
    columns: dict[str, Callable[[ErrorRow], Any]] = {
        "premise": lambda row: Cell(row.premise, kind="formula"),
        "conclusion": lambda row: Cell(row.conclusion, kind="formula"),
        "truth": lambda row: "follows" if row.entails else "does not follow",
        "set": lambda row: row.file.rpartition("/")[2],
        "": lambda row: Cell("try it", link=playground_link(row.premise, row.conclusion)),
    }
    for model in dict.fromkeys(row.model for row in tables.errors):
        own = [row for row in tables.errors if row.model == model]
        shown = table(own, columns, words=len(columns))
        section.parts.append(replace(shown, title=model))
    return section


def permutation_section(tables: Tables) -> Section:
    """Show the effect of symbol permutation for each network."""
    rows = tables.permutation
    section = Section("Symbol permutation")
    if not rows:
        section.parts.append(
            "No two runs that differ in it alone: `possibleworlds train MODEL --data DATA "
            "--out RUN --set permute_symbols=false`, beside one without that setting."
        )
        return section

    def paper_gain(row: PermutationRow) -> Cell:
        low_high = [points(gain).text for gain in row.paper_gain or ()]
        return Cell(" to ".join(low_high), muted=True)

    def gain_on(test: str) -> Callable[[PermutationRow], Cell]:
        return lambda row: gain_cell(row.gain_on_tests.get(test))

    def gain_cell(gain: Gain | None) -> Cell:
        half = gain and gain.half_width
        details = (f"± {100 * half:.1f}",) if half else ()
        return replace(points(gain.difference), details=details) if gain else Cell("")

    keys = {tuple(key.rsplit("/", 1)) for row in rows for key in row.gain_on_tests}
    tests = ["/".join(key) for key in sorted(keys, key=lambda k: (k[0], SPLITS.index(k[1])))]
    columns: dict[str, Callable[[PermutationRow], Any]] = {
        "network": lambda row: network_name(row.model),
        "without": lambda row: row.without_permutation,
        "with": lambda row: row.with_permutation,
        "gain": lambda row: points(row.gain),
        "gain, paper": paper_gain,
        "seeds without": lambda row: len(row.without_permutation.values),
        "seeds with": lambda row: len(row.with_permutation.values),
        **{f"gain, {test}": gain_on(test) for test in tests},
    }
    caption = "Validation accuracy in percent without and with symbol permutation."
    section.parts += [
        "Runs that differ in nothing else; accuracy on validation data, gains in points. Beside a "
        "gain on a test set stands its 95 % interval, from the number of pairs alone. A gain that "
        "is smaller than that, or of one seed, may be chance.",
        Picture("permutation", caption, figures.permutation(rows)),
        table(rows, columns),
    ]
    return section


def curves_section(tables: Tables, material: Material) -> Section:
    """Show learning curves, by data and by time."""
    section = Section("Learning curves")
    if not tables.learning_curves:
        section.parts.append("No run has a learning curve: `possibleworlds train` writes one.")
        return section
    for against, name in (("pairs", "pairs seen"), ("minutes", "training time")):
        caption = f"Accuracy on validation data in percent against {name}, means over seeds."
        picture = figures.learning_curves(tables.learning_curves, against)
        section.parts.append(Picture(f"learning-{against}", caption, picture))
    unguided = {
        group.model: group.first.settings["unguided_fraction"]
        for group in material.one_each
        if group.first.settings.get("unguided_fraction")
    }
    section.parts += [
        f"{code(model)} is trained with worlds that do not move for the first {share:.0%} of its "
        "training, and always evaluated with worlds that do. Such worlds are new to it until "
        "then, so its curve may begin high and fall before it rises."
        for model, share in unguided.items()
    ]
    return section


def one_sided_section(tables: Tables) -> Section:
    """Show what a network reaches that sees one side alone."""
    section = Section("One side alone")
    if not tables.one_sided:
        section.parts.append(
            "No run that sees one side alone: `possibleworlds train mlp-bow --data DATA --out RUN "
            "--side left`, also on `possibleworlds generate NAIVE --method naive`."
        )
        return section
    columns: dict[str, Callable[[Any], Any]] = {
        "network": lambda row: network_name(row.model),
        "sees": lambda row: row.side,
        "trained on": lambda row: row.trained_on,
        "validation": lambda row: row.validation,
        "test (easy)": lambda row: row.test_easy,
        "seeds": lambda row: len(row.seeds),
    }
    section.parts += [
        "A network that sees only A, or only B, must stay at 50 % unless the data give something "
        "away, as those of the naive method do.",
        table(tables.one_sided, columns, words=3),
    ]
    return section
