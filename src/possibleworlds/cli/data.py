"""The commands `generate`, `verify` and `stats`: data sets and what they hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from possibleworlds.cli.console import (
    CORES,
    Address,
    EngineOption,
    Json,
    Workers,
    columns,
    err,
    interrupted,
    named_bars,
    new_group,
    out,
    print_json,
    progress_bars,
)
from possibleworlds.errors import UserError, printable
from possibleworlds.parallel import StopRequestedError

if TYPE_CHECKING:
    from possibleworlds.data.statistics import FileStatistics, SplitStatistics

app = new_group()
SHOWN_EVERY = 500
"""How many rows pass before a progress bar moves, which costs more than a row does."""


def parse_range(text: str) -> tuple[int, int]:
    """The bounds that a text like 1-10, or 5, stands for."""
    bounds = text.split("-")
    if len(bounds) > 2 or not all(bound.isdecimal() for bound in bounds):
        raise UserError(f"{text!r} is not a range like 1-10")
    return int(bounds[0]), int(bounds[-1])


@app.command()
def generate(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to fill.")],
    preset: Annotated[
        Literal["paper", "quick", "small"] | None,
        typer.Option(help="122,000 rows as in the paper, 25,000 or 4,000; else paper."),
    ] = None,
    variables: Annotated[
        str | None, typer.Option(metavar="LOW-HIGH", help="Free setting, else 1-10.")
    ] = None,
    operators: Annotated[
        str | None, typer.Option(metavar="LOW-HIGH", help="Free setting, else 1-10.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Free setting: rows of the training split, else 100,000.")
    ] = None,
    method: Annotated[
        Literal["fourtuples", "naive", "mutated"] | None,
        typer.Option(help="Free setting, else fourtuples."),
    ] = None,
    prune_against: Annotated[
        list[Path] | None,
        typer.Option(help="Leave out the pairs of a file or folder, up to renaming."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")] = 0,
    workers: Workers = CORES,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in OUT.")] = False,
    engine: EngineOption = "local",
    address: Address = None,
) -> None:
    """Generate a data set: the paper's seven splits, or train, validate and test of your own.

    With a free setting there are --rows rows for training and a twentieth for each of the others.
    Run again, the command finishes what an interrupted run left.

    Examples:

        possibleworlds generate data

        possibleworlds generate biased --method naive --rows 50000
    """
    from possibleworlds.data.files import data_files
    from possibleworlds.data.splits import PRESETS, free_splits, generate_folder
    from possibleworlds.experiments.engines import make_map

    free = any(setting is not None for setting in (variables, operators, rows, method))
    if free and preset:
        raise UserError("a preset has settings of its own; give it, or free settings")
    splits = (
        free_splits(
            100_000 if rows is None else rows,
            parse_range(variables or "1-10"),
            parse_range(operators or "1-10"),
            method or "fourtuples",
        )
        if free
        else PRESETS[preset or "paper"]
    )
    spread = make_map(engine, address)
    with progress_bars() as progress:
        try:
            manifest = generate_folder(
                folder,
                splits,
                seed,
                workers,
                force,
                data_files(prune_against or []),
                named_bars(progress),
                spread,
            )
        except (KeyboardInterrupt, StopRequestedError):
            progress.stop()
            interrupted("the same command, given again, finishes the rest")
    total = sum(split["rows"] for split in manifest["splits"].values())
    err.print(f"{total:,} rows in {folder}")


@app.command()
def verify(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Data files or folders.")],
    workers: Workers = CORES,
    as_json: Json = False,
) -> None:
    """Check entailment files: every label anew, format, balance, structure, duplicates, leaks.

    Where a dataset.json describes the files, it is checked that they are still the same.

    Exit code 1 where something is wrong, with a line for each problem.

    Example: `possibleworlds verify data`
    """
    from possibleworlds.data.files import count_lines, data_files
    from possibleworlds.data.verify import CHECKS, Problem
    from possibleworlds.data.verify import verify as verify_files

    files = data_files(paths)
    summaries = []
    wrong = False
    with progress_bars() as progress:
        bars = {
            path: progress.add_task(printable(path.name), total=count_lines(path)) for path in files
        }
        for found in verify_files(
            files, workers, lambda path, rows: progress.update(bars[path], completed=rows)
        ):
            if not isinstance(found, Problem):
                summaries.append(found)
                continue
            wrong = True
            name = printable(str(found.path))
            place = f"{name}:{found.line}" if found.line else name
            if as_json:
                print_json({**found._asdict(), "path": str(found.path)})
            else:
                out.print(f"{place}: {found.check}: {found.message}")
    if as_json:
        for summary in summaries:
            print_json({**summary._asdict(), "path": str(summary.path)})
        raise typer.Exit(wrong)
    table = columns("file", "rows", "positive", "rows form", "problems")
    for path, rows, positive, structure, problems in summaries:
        listed = ", ".join(f"{problems[check]} {check}" for check in CHECKS if problems[check])
        share = f"{positive / max(1, rows):.1%}"
        table.add_row(
            Text(printable(path.name)),
            *(f"{rows:,}", share, structure or "no units", listed or "none"),
        )
    out.print(table)
    raise typer.Exit(wrong)


@app.command()
def stats(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A data file or a folder of them.")],
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw a file's distributions.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Describe data: for a folder the paper's Table 1, for a file its table of requirements.

    Example: `possibleworlds stats data/train.txt --plot biases.png`
    """
    from possibleworlds.data import statistics
    from possibleworlds.data.files import count_lines, data_files, read_pairs

    files = data_files([path])
    if path.is_dir() and plot:
        raise UserError("--plot draws the distributions of one file, not of a folder")
    if plot:
        from possibleworlds.data.plots import check_drawable, plot_distributions

        check_drawable(plot)
    with progress_bars() as progress:
        total = sum(map(count_lines, files))
        bar = progress.add_task(path.name, total=total)

        def counted(file: Path) -> Iterator[Any]:
            row = 0
            for row, pair in enumerate(read_pairs(file), 1):
                if row % SHOWN_EVERY == 0:
                    progress.advance(bar, SHOWN_EVERY)
                yield pair
            progress.advance(bar, row % SHOWN_EVERY)

        if path.is_dir():
            lines = {file.stem: statistics.split_statistics(counted(file)) for file in files}
        else:
            described = statistics.file_statistics(counted(path))
    if path.is_dir():
        print_table_1(lines, as_json)
        return
    if as_json:
        print_json(statistics.as_json(described))
    else:
        print_requirements(described)
    if plot:
        plot_distributions(described, plot)
        err.print(f"drawn in {plot}")


def print_table_1(lines: "dict[str, SplitStatistics]", as_json: bool) -> None:
    """Table 1, ours and the paper's."""
    from possibleworlds.data.statistics import SplitStatistics, as_in_table_1
    from possibleworlds.paper import TABLE_1

    names = sorted(lines, key=lambda name: list(TABLE_1).index(name) if name in TABLE_1 else 99)
    lines = {name: as_in_table_1(name, lines[name]) for name in names}
    if as_json:
        paper = {name: SplitStatistics(*TABLE_1[name])._asdict() for name in TABLE_1}
        print_json({n: {**lines[n]._asdict(), "paper": paper.get(n)} for n in names})
        return
    table = columns("split", "", "rows", "variables", "operators", "length", "2^variables")
    for name in names:
        sources: dict[str, Any] = {"ours": lines[name], "paper": TABLE_1.get(name)}
        for whose, line in sources.items():
            if line:
                rows, variables, operators, length, table_rows = line
                means = (f"{mean:.2f}" for mean in (variables, operators, length))
                label = name if whose == "ours" else ""
                table.add_row(label, whose, f"{rows:,}", *means, f"{table_rows:,.1f}")
    out.print(table)
    out.print("Means; operators and length of a formula, of both together in massive and exam.")


def print_requirements(described: "FileStatistics") -> None:
    """The table of requirements, the heuristics and what sampling a truth table would give."""
    table = columns("", "A+", "A-", "chi²", "df", "B+", "B-", "chi²", "df")
    for name, sides in described.features.items():
        cells: list[str] = []
        for side in ("A", "B"):
            if side in sides:
                found = sides[side]
                means = (f"{mean:.2f}" for mean in found.means)
                cells += [*means, f"{found.chi_squared:.1f}", f"{found.degrees_of_freedom}"]
            else:
                cells += [""] * 4
        table.add_row(name, *cells)
    out.print(table)
    guesses = columns("heuristic", "accuracy")
    explained = ("H1 length(A) ≥ length(B)", "H2 no new variables in B", "H3 no new literals in B")
    for text, right in zip(explained, described.heuristics_right, strict=True):
        guesses.add_row(text, f"{right / described.rows:.1%}")
    out.print()
    out.print(guesses)
    sampling = columns("truth-table rows sampled", "refuted", "accuracy")
    for count, refuted, accuracy in described.sampling():
        sampling.add_row(f"{count}", f"{refuted:.1%}", f"{accuracy:.1%}")
    out.print()
    out.print(sampling)
