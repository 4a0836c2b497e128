"""The last sections of a report: the data, and how to repeat every number."""

from collections.abc import Iterable, Sequence

from possibleworlds import paper
from possibleworlds.data.statistics import NEW_VARIABLES, SIDES, FileStatistics
from possibleworlds.paper import TABLE_1
from possibleworlds.report.material import Material
from possibleworlds.report.page import Cell, Code, Part, Section, Table, code, duration
from possibleworlds.report.recipes import RunRecipe, generate_command
from possibleworlds.report.rows import DataRow
from possibleworlds.report.tables import BIAS_ROWS, Tables, table_1_order


def data_section(tables: Tables, material: Material) -> Section:
    """Show Table 1 and the bias tables."""
    section = Section("The data")
    if not tables.data:
        command = code(f"{material.request.command} --data DATA")
        section.parts.append(f"No data folder was found: {command}.")
        return section
    section.parts += [
        "Table 1: means over formulas, and over pairs for variables; operators and length of both "
        "formulas of a pair together in massive and exam.",
        table_1(tables.data),
    ]
    for row in tables.data:
        if row.biases:
            section.parts += bias_parts(row, row.biases)
    return section


def table_1(rows: Sequence[DataRow]) -> Table:
    """Put the paper's Table 1 beside ours."""
    lines: list[list[Cell]] = []

    def add(split: str, name: str, values: Iterable[float], muted: bool = False) -> None:
        count, *means, table_rows = values
        texts = [f"{count:,}", *(f"{mean:.2f}" for mean in means), f"{table_rows:,.1f}"]
        cells = [Cell(t, v, muted=muted) for t, v in zip(texts, values, strict=True)]
        lines.append([Cell(split), Cell(name, muted=muted), *cells])

    splits = dict.fromkeys(split for row in rows for split in row.table_1)
    for split in sorted(splits, key=table_1_order):
        for row in rows:
            if split in row.table_1:
                add(split, row.name, row.table_1[split])
        if split in TABLE_1:
            add(split, "paper", TABLE_1[split], muted=True)
    columns = ["split", "of", "rows", "variables", "operators", "length", "2^variables"]
    return Table(columns, lines, words=2)


def bias_parts(row: DataRow, biases: FileStatistics) -> list[Part]:
    """Show whether superficial features tell positives from negatives, and heuristics."""
    published = {"naive": paper.TABLE_3, "fourtuples": paper.TABLE_4}.get(row.method, {})
    new = paper.NEW_VARIABLES.get(row.method)
    lines = []
    for name, sides in biases.features.items():
        line = [Cell(name)]
        for i, side in enumerate(SIDES):
            theirs = published.get(name, ())[4 * i :][:4]
            if name == NEW_VARIABLES and side == "B" and new:
                theirs = new
            if comparison := sides.get(side):
                line += [Cell(f"{mean:.2f}", mean) for mean in comparison.means]
                line.append(Cell(f"{comparison.chi_squared:,.1f}", comparison.chi_squared))
            else:
                line += [Cell("")] * 3
            line.append(Cell(f"{theirs[2]:,.1f}", theirs[2], muted=True) if theirs else Cell(""))
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


def repeat_section(tables: Tables, material: Material) -> Section:
    """Show how to repeat every number."""
    parts: list[Part] = [
        f"This report, by version {tables.version}: {code(material.request.command)}. A run is "
        "repeated by its command, on data with the given fingerprints (SHA-256), by the same "
        "version; all settings are in `report.json`. One with `minutes` learns more on a faster "
        "machine, and one with `epochs` gives the same weights on one thread."
    ]
    for folder in material.folders:
        if command := generate_command(folder, material.folders):
            prints = "\n".join(f"# {file} {sha}" for file, sha in folder.fingerprint.items())
            parts.append(Code(f"data: {folder.name}", f"{prints}\n{command}"))
    for recipe in tables.repeat:
        title = f"{recipe.model}, seed {recipe.seed}: {recipe.name}"
        parts.append(Code(title, recipe_lines(recipe)))
    return Section("How to repeat this", parts)


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
