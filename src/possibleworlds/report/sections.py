"""The sections of a report, in the order of the paper's section 5: text, tables and figures.

A section for which there are no runs says which command provides them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from possibleworlds import paper
from possibleworlds.data.statistics import NEW_VARIABLES, SIDES, FileStatistics
from possibleworlds.paper import SPLITS, TABLE_1
from possibleworlds.report import figures
from possibleworlds.report.material import POSSIBLEWORLDNET, Material
from possibleworlds.report.page import (
    Cell,
    Code,
    Picture,
    Section,
    Table,
    code,
    duration,
    mark_best,
)
from possibleworlds.report.recipes import RunRecipe, generate_command
from possibleworlds.report.runs import Group, SeedMean
from possibleworlds.report.tables import (
    BIAS_ROWS,
    DataRow,
    LearningCurve,
    OneSidedRow,
    PermutationRow,
    ResultRow,
    SamplingRow,
    SizeRow,
    Tables,
    WorldsTables,
    merged,
    table_1_order,
)

BIN_WIDTHS = {"variables": 5, "operators": 10}
"""How wide the ranges of sizes in the tables are."""
FEWEST_ROWS = 20
"""Sizes that fewer rows have are not shown: their accuracy would be noise."""
IN_TRAINING = "validation in training"
"""Stands for a data set where a run was evaluated on none."""


def make_sections(tables: Tables, material: Material) -> list[Section]:
    """Write all sections."""
    return [
        results_section(tables.results, material),
        worlds_section(tables.worlds, material),
        sampling_section(tables.sampling, material),
        size_section(tables.by_size, material),
        permutation_section(tables.permutation),
        curves_section(tables.learning_curves),
        one_sided_section(tables.one_sided),
        data_section(tables.data, material),
        repeat_section(tables.repeat, material),
    ]


def accuracy(value: SeedMean | float | None, muted: bool = False) -> Cell:
    """Show an accuracy in percent, with the standard deviation where there are several seeds."""
    if value is None:
        return Cell("")
    if isinstance(value, float):
        return Cell(f"{100 * value:.1f}", value, muted=muted)
    spread = "" if value.spread is None else f" ± {100 * value.spread:.1f}"
    return Cell(f"{100 * value.mean:.1f}{spread}", value.mean, muted=muted)


def points(gain: float | None) -> Cell:
    """Show a difference of two accuracies, in percentage points."""
    return Cell("") if gain is None else Cell(f"{100 * gain:+.1f}", gain)


def number(value: float, text: str = "") -> Cell:
    """Show a number, rounded unless a text is given."""
    return Cell(text or f"{value:,.0f}", value)


def time(seconds: SeedMean) -> Cell:
    """Show a mean time."""
    return Cell(duration(seconds.mean), seconds.mean)


def words(*texts: str) -> list[Cell]:
    """Show texts."""
    return [Cell(text) for text in texts]


def by_column(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Mark the best of each column."""
    columns = [mark_best(column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def accuracies(row: ResultRow, source: str) -> dict[str, SeedMean]:
    """Give the accuracies of a row on a data set, by split."""
    in_training = {"validate": row.validation} if source == IN_TRAINING else {}
    return row.accuracy.get(source, in_training)


def results_table(rows: Sequence[ResultRow], source: str) -> Table:
    """Put accuracies on a data set beside the paper's, the best of each column in bold."""
    rows = [row for row in rows if accuracies(row, source)]
    several = len({row.trained_on for row in rows}) > 1
    names = ["network", *(["trained on"] if several else [])]
    ours = by_column([[accuracy(accuracies(r, source).get(s)) for s in SPLITS] for r in rows])
    theirs = by_column(
        [[accuracy((row.paper or {}).get(s), muted=True) for s in SPLITS] for row in rows]
    )
    lines: list[list[Cell]] = []
    for row, own, published in zip(rows, ours, theirs, strict=True):
        cost = [
            number(len(row.seeds)),
            number(row.parameters),
            time(row.seconds),
            number(row.pairs_per_second.mean),
        ]
        lines.append([*words(row.model, *([row.trained_on] if several else [])), *own, *cost])
        if row.paper:
            empty = words(*[""] * (len(names) - 1))
            lines.append([Cell("paper", muted=True), *empty, *published, *words("", "", "", "")])
    columns = [split.removeprefix("test_") for split in SPLITS]
    cost_columns = ["seeds", "parameters", "training", "pairs/s"]
    return Table([*names, *columns, *cost_columns], lines, len(names))


def results_section(rows: Sequence[ResultRow], material: Material) -> Section:
    """Show the table of results, and what is to be known of it."""
    section = Section("Results")
    parts = section.parts
    if material.request.note:
        parts.append(material.request.note)
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
        "The paper's figures are on its own sets. Parameters, training time and pairs per second "
        "are means over runs."
    )
    sources = dict.fromkeys(source for row in rows for source in row.accuracy)
    for source in sources or [IN_TRAINING]:
        parts += [f"On {code(source)}:", results_table(rows, source)]
    if not all(row.accuracy for row in rows):
        parts.append(f"Not every run was evaluated: {code(material.evaluate_command)} does that.")
    parts += [
        f"{code(key)} is not the same file for all runs, so its column compares different things."
        for key in ambiguous_keys(material.groups)
    ]
    if material.unfinished:
        listed = ", ".join(code(str(path)) for path in material.unfinished)
        parts.append(f"Not finished, and left out: {listed}; `possibleworlds train --resume`.")
    return section


def ambiguous_keys(groups: Iterable[Group]) -> list[str]:
    """Find keys that stand for different files in the evaluations of different runs."""
    digests: dict[str, set[str]] = {}
    for group in groups:
        for run in group.runs:
            for key, result in run.evaluations.items():
                if "sha256" in result:
                    digests.setdefault(key, set()).add(result["sha256"])
    return [key for key, different in digests.items() if len(different) > 1]


def worlds_section(worlds: WorldsTables, material: Material) -> Section:
    """Show the figure of section 5, and how the number of worlds in evaluation matters."""
    section = Section("The number of worlds")
    parts = section.parts
    trained, evaluated = worlds.in_training, worlds.in_evaluation
    on_validation = {key: by for key, by in evaluated.items() if key.endswith("/validate")}
    if trained:
        caption = "Validation error against training steps, by the number of worlds."
        parts.append(Picture("worlds", caption, figures.worlds_in_training(trained)))
    if trained or on_validation:
        caption = "Accuracy on validation data against worlds, of a network trained with as many"
        caption += " or of the selected one." if on_validation else "."
        picture = figures.worlds_in_evaluation(trained, on_validation)
        parts.append(Picture("worlds-evaluation", caption, picture))
    if trained:
        rows = [[number(r.worlds), accuracy(r.validation), time(r.seconds)] for r in trained]
        parts.append(Table(["worlds", "validation", "training"], rows, words=0))
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


def sampling_section(rows: Sequence[SamplingRow], material: Material) -> Section:
    """Compare truth-table sampling with the network."""
    section = Section("Sampling the truth table instead")
    if not rows:
        section.parts.append(
            "No data with a test set that is hard, big or massive: `possibleworlds generate "
            f"DATA`, then {code(material.request.command + ' --data DATA')}."
        )
        return section
    lines = [
        [
            Cell(row.file),
            number(row.count),
            accuracy(row.paper_refuted, muted=True),
            accuracy(row.refuted),
            *mark_best([accuracy(row.sampling), accuracy(row.network)]),
        ]
        for row in rows
    ]
    columns = ["set", "rows or worlds", "refuted, paper", "refuted", "sampling", POSSIBLEWORLDNET]
    caption = "Accuracy of sampling rows (dashed) and of the network (solid)."
    section.parts += [
        "Look at as many random rows of the truth table as the network imagines worlds: how often "
        "do they hold a countermodel where there is one, by the paper's estimate and here; how "
        f"accurate is it to answer so; and how accurate is {POSSIBLEWORLDNET}?",
        Picture("sampling", caption, figures.sampling(rows)),
        Table(columns, lines),
    ]
    if not any(row.network for row in rows):
        section.parts.append(
            "No PossibleWorldNet was evaluated with these numbers of worlds: "
            f"{code(material.evaluate_command)} does that."
        )
    return section


def size_section(rows: Sequence[SizeRow], material: Material) -> Section:
    """Show accuracy by the size of a pair, for every network."""
    section = Section("What generalises where")
    if not any(row.bins["variables"] for row in rows):
        section.parts.append(
            f"No run was evaluated on a test set: {code(material.evaluate_command)} does that."
        )
        return section
    source = Counter(row.source for row in rows).most_common(1)[0][0]
    rows = [row for row in rows if row.source == source]
    largest = largest_in_training(material)
    note = " Grey: the sizes that training data have." if largest else ""
    for size in BIN_WIDTHS:
        caption = f"Accuracy by number of {size} of a pair, all test sets of {source} together."
        picture = figures.by_size(rows, size, largest.get(size), FEWEST_ROWS)
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
    coarse = [{b.label: b for b in merged(r.bins[size], BIN_WIDTHS[size])} for r in rows]
    counts = {label: part for bins in coarse for label, part in bins.items()}
    large = [part for part in counts.values() if part.rows >= FEWEST_ROWS]
    labels = [part.label for part in sorted(large, key=lambda part: part.low)]
    lines = by_column(
        [[accuracy(b[la].accuracy if la in b else None) for la in labels] for b in coarse]
    )
    pairs = [Cell(f"{counts[label].rows:,}", muted=True) for label in labels]
    named = [[Cell(row.model), *line] for row, line in zip(rows, lines, strict=True)]
    return Table([size, *labels], [[Cell("pairs", muted=True), *pairs], *named])


def permutation_section(rows: Sequence[PermutationRow]) -> Section:
    """Show the effect of symbol permutation for each network."""
    section = Section("Symbol permutation")
    if not rows:
        section.parts.append(
            "No two runs that differ in it alone: `possibleworlds train MODEL --data DATA "
            "--out RUN --set permute_symbols=false`, beside one without that setting."
        )
        return section
    keys = {tuple(key.rsplit("/", 1)) for row in rows for key in row.gain_on_tests}
    tests = ["/".join(key) for key in sorted(keys, key=lambda k: (k[0], SPLITS.index(k[1])))]
    lines = []
    for row in rows:
        low, high = map(points, row.paper_gain or (None, None))
        lines.append(
            [
                Cell(row.model),
                accuracy(row.without_permutation),
                accuracy(row.with_permutation),
                points(row.gain),
                Cell(f"{low.text} to {high.text}" if row.paper_gain else "", muted=True),
                *(points(row.gain_on_tests.get(key)) for key in tests),
            ]
        )
    columns = ["network", "without", "with", "gain", "paper", *(f"gain, {key}" for key in tests)]
    caption = "Validation accuracy without and with symbol permutation."
    section.parts += [
        "Runs that differ in nothing else; accuracy on validation data, gains in points.",
        Picture("permutation", caption, figures.permutation(rows)),
        Table(columns, lines),
    ]
    return section


def curves_section(curves: Sequence[LearningCurve]) -> Section:
    """Show learning curves, by data and by time."""
    section = Section("Learning curves")
    if not curves:
        section.parts.append("No run has a learning curve: `possibleworlds train` writes one.")
    for against, name in (("pairs", "pairs seen"), ("minutes", "training time")) if curves else ():
        caption = f"Accuracy on validation data against {name}, means over seeds."
        picture = figures.learning_curves(curves, against)
        section.parts.append(Picture(f"learning-{against}", caption, picture))
    return section


def one_sided_section(rows: Sequence[OneSidedRow]) -> Section:
    """Show what a network reaches that sees one side alone."""
    section = Section("One side alone")
    if not rows:
        section.parts.append(
            "No run that sees one side alone: `possibleworlds train mlp-bow --data DATA --out RUN "
            "--side left`, also on `possibleworlds generate NAIVE --method naive`."
        )
        return section
    lines = [
        [
            *words(row.model, row.side, row.trained_on),
            accuracy(row.validation),
            accuracy(row.test_easy),
            number(len(row.seeds)),
        ]
        for row in rows
    ]
    columns = ["network", "sees", "trained on", "validation", "test (easy)", "seeds"]
    section.parts += [
        "A network that sees only A, or only B, must stay at 50 % unless the data give something "
        "away, as those of the naive method do.",
        Table(columns, lines, words=3),
    ]
    return section


def data_section(rows: Sequence[DataRow], material: Material) -> Section:
    """Show Table 1 and the bias tables."""
    section = Section("The data")
    if not rows:
        command = code(f"{material.request.command} --data DATA")
        section.parts.append(f"No data folder was found: {command}.")
        return section
    section.parts += [
        "Table 1: means over formulas, and over pairs for variables; operators and length of both "
        "formulas of a pair together in massive and exam.",
        table_1(rows),
    ]
    for row in rows:
        if row.biases:
            section.parts += bias_parts(row, row.biases)
    return section


def table_1(rows: Sequence[DataRow]) -> Table:
    """Put the paper's Table 1 beside ours."""
    lines: list[list[Cell]] = []

    def add(split: str, name: str, values: Iterable[float], muted: bool = False) -> None:
        count, *means, table_rows = values
        texts = [name, f"{count:,}", *(f"{mean:.2f}" for mean in means), f"{table_rows:,.1f}"]
        lines.append([Cell(split), *(Cell(text, muted=muted) for text in texts)])

    splits = dict.fromkeys(split for row in rows for split in row.table_1)
    for split in sorted(splits, key=table_1_order):
        label = split
        for row in rows:
            if split in row.table_1:
                add(label, row.name, row.table_1[split])
                label = ""
        if split in TABLE_1:
            add("", "paper", TABLE_1[split], muted=True)
    columns = ["split", "of", "rows", "variables", "operators", "length", "2^variables"]
    return Table(columns, lines, words=2)


def bias_parts(row: DataRow, biases: FileStatistics) -> list[str | Table]:
    """Show whether superficial features tell positives from negatives, and heuristics."""
    published = {"naive": paper.TABLE_3, "fourtuples": paper.TABLE_4}.get(row.method, {})
    new = paper.NEW_VARIABLES.get(row.method)
    lines = []
    for name, sides in biases.features.items():
        line = [Cell(name)]
        for i, side in enumerate(SIDES):
            comparison, theirs = sides.get(side), published.get(name, ())[4 * i :][:4]
            if name == NEW_VARIABLES and side == "B" and new:
                theirs = new
            means = comparison.means if comparison else ()
            line += [number(mean, f"{mean:.2f}") for mean in means] or words("", "")
            chi_squared = comparison and comparison.chi_squared
            line.append(Cell("") if chi_squared is None else Cell(f"{chi_squared:.1f}"))
            line.append(Cell(f"{theirs[2]:.1f}" if theirs else "", muted=True))
        lines.append(line)
    guesses = ", ".join(
        f"H{i} {right / biases.rows:.1%}" for i, right in enumerate(biases.heuristics_right, 1)
    )
    columns = ["feature", "A+", "A−", "χ²", "χ², paper", "B+", "B−", "χ²", "χ², paper"]
    return [
        f"The first {biases.rows:,} training rows of {code(row.name)}: superficial features, their "
        "means among positives and negatives, and how much their distributions differ (the "
        f"paper's Tables 3 and 4, of {BIAS_ROWS:,} rows). How often guessing by a heuristic is "
        f"right: {guesses}.",
        Table(columns, lines),
    ]


def repeat_section(recipes: Sequence[RunRecipe], material: Material) -> Section:
    """Show how to repeat every number."""
    command = code(material.request.command)
    parts: list[str | Code] = [
        f"This report: {command}. A run is repeated by its command, on data with the given "
        "fingerprints (SHA-256), by the same version; all settings are in `report.json`. One with "
        "`minutes` learns more on a faster machine, and one with `epochs` gives the same weights "
        "on one thread."
    ]
    for folder in material.folders:
        if command := generate_command(folder, material.folders):
            prints = "\n".join(f"# {file} {sha}" for file, sha in folder.fingerprint.items())
            parts.append(Code(f"data: {folder.name}", f"{prints}\n{command}"))
    parts += [Code(f"{r.model}, seed {r.seed}: {r.run}", recipe_lines(r)) for r in recipes]
    return Section("How to repeat this", [*parts])


def recipe_lines(recipe: RunRecipe) -> str:
    """Write a run in a few lines: how it went, its settings, its data, its commands."""
    metrics = recipe.metrics
    settings = " ".join(f"{name}={value}" for name, value in recipe.settings.items())
    lines = [
        f"# version {recipe.version}, torch {recipe.torch}, {duration(metrics['seconds'])}; "
        f"step {metrics['best_step']:,} of {metrics['step']:,} was kept, "
        f"{metrics['validation']:.2%} of validation",
        f"# {settings}",
        *(f"# {file} {sha}" for file, sha in recipe.data.items()),
        recipe.command,
        *recipe.evaluate,
    ]
    return "\n".join(lines)
