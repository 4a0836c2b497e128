"""The command `possibleworlds`: parse the arguments, call the package, print.

Data goes to standard output, words for people beside it to standard error. Exit codes: 0 for yes
and for success, 1 for no and for problems found, 2 for input that cannot be used.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

import possibleworlds
from possibleworlds.errors import UserError
from possibleworlds.logic.formula import AND, Formula
from possibleworlds.logic.syntax import Style, parse, to_text

if TYPE_CHECKING:
    from possibleworlds.data.statistics import FileStatistics, SplitStatistics

app = typer.Typer(
    name="possibleworlds",
    help="Propositional entailment: exact answers, data with guarantees, networks that learn it.",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 120)
err = Console(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def cores() -> int:
    """How many processes this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Workers = Annotated[
    int,
    typer.Option(min=1, show_default="one a core", help="Processes to use."),
]
CORES = cores()
USAGE_ERROR: Any = typer.BadParameter.__base__
"""What is raised for arguments that do not fit; typer gives it no name of its own."""


def main() -> None:
    """Run the command, with one clear line for whatever a user can do wrong."""
    try:
        sys.exit(app(standalone_mode=False))
    except UserError as error:
        fail(str(error))
    except USAGE_ERROR as error:
        fail(error.format_message())
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def fail(message: str) -> NoReturn:
    """Say what is wrong and exit with code 2."""
    err.print(f"error: {message}", markup=False, soft_wrap=True)
    sys.exit(2)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Progress bars on standard error, with the time left."""
    with Progress(
        TextColumn("{task.description:>12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
    ) as progress:
        yield progress


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, ensure_ascii=False))


def version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        print(possibleworlds.__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Propositional entailment: exact answers, data with guarantees, networks that learn it."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def entails(
    formulas: Annotated[list[str], typer.Argument(metavar="[A] B", help="Premise and conclusion.")],
    premise: Annotated[list[str] | None, typer.Option(help="A further premise.")] = None,
    solver: Annotated[
        str | None, typer.Option(help="Decide by this solver of python-sat, say minisat22.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Does A entail B? Exit code 0 for yes, 1 for no with a countermodel.

    Formulas may be written in ASCII, Unicode or LaTeX, with any names for variables.

    Examples:

        possibleworlds entails "p & q" "q"

        possibleworlds entails "wet" --premise "rain -> wet" --premise "rain"
    """
    *first, conclusion = map(parse, formulas)
    if len(first) > 1:
        raise UserError("more than two formulas; give further premises with --premise")
    premises = [*first, *map(parse, premise or [])]
    if not premises:
        raise UserError("no premise; give A and B, or B and --premise A")
    a = conjunction(premises)
    model = possibleworlds.countermodel(a, conclusion, solver)
    if as_json:
        print_json({"entails": model is None, "countermodel": model})
    elif model is None:
        out.print(f"yes: {', '.join(map(to_text, premises))} ⊨ {to_text(conclusion)}", markup=False)
    else:
        out.print(f"no: {', '.join(map(to_text, premises))} ⊭ {to_text(conclusion)}", markup=False)
        values = ", ".join(
            f"{name} {'true' if value else 'false'}" for name, value in model.items()
        )
        out.print(f"countermodel: {values}", markup=False)
    raise typer.Exit(0 if model is None else 1)


def conjunction(formulas: list[Formula]) -> Formula:
    """All the formulas joined by ∧."""
    rpn = list(formulas[0].rpn)
    for formula in formulas[1:]:
        rpn += [*formula.rpn, AND]
    return Formula(tuple(rpn))


@app.command()
def show(
    formula: Annotated[str, typer.Argument(metavar="FORMULA")],
    basic: Annotated[bool, typer.Option("--basic", help="Rewrite ↔, ⊤ and ⊥.")] = False,
    as_json: Json = False,
) -> None:
    """A formula in every way of writing, its size and its number of models.

    Example: `possibleworlds show "p <-> q" --basic`
    """
    read = parse(formula).basic() if basic else parse(formula)
    facts: dict[str, Any] = {style: to_text(read, style) for style in STYLES}
    facts |= {"variables": list(read.variables), "operators": read.operators, "length": read.length}
    try:
        facts["models"] = possibleworlds.count_models(read)
    except UserError as error:
        facts["models"] = None
        err.print(f"{error}", markup=False)
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else value
        out.print(f"{name:>10}  {text}", markup=False)


STYLES: tuple[Style, ...] = ("unicode", "ascii", "latex", "published")


def parse_range(text: str) -> tuple[int, int]:
    """The bounds that a text like 1-10, or 5, stands for."""
    low, _, high = text.partition("-")
    if not (low.isdecimal() and (high or low).isdecimal()):
        raise UserError(f"{text!r} is not a range like 1-10")
    return int(low), int(high or low)


@app.command()
def generate(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to fill.")],
    preset: Annotated[
        Literal["paper", "small"], typer.Option(help="122,000 rows as in the paper, or 4,000.")
    ] = "paper",
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
        list[Path] | None, typer.Option(help="Leave out the pairs of this file, up to renaming.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")] = 0,
    workers: Workers = CORES,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in OUT.")] = False,
) -> None:
    """Generate a data set: the paper's seven splits, or train, validate and test of your own.

    With a free setting there are --rows rows for training and a twentieth for each of the others.
    Run again, the command finishes what an interrupted run left.

    Examples:

        possibleworlds generate data

        possibleworlds generate biased --method naive --rows 50000
    """
    from possibleworlds.data.files import data_files
    from possibleworlds.data.splits import PRESETS, free_splits
    from possibleworlds.data.splits import generate as generate_into

    free = any(setting is not None for setting in (variables, operators, rows, method))
    splits = (
        free_splits(
            100_000 if rows is None else rows,
            parse_range(variables or "1-10"),
            parse_range(operators or "1-10"),
            method or "fourtuples",
        )
        if free
        else PRESETS[preset]
    )
    with progress_bars() as progress:
        bars = {split.name: progress.add_task(split.name, total=split.rows) for split in splits}
        manifest = generate_into(
            folder,
            splits,
            seed,
            workers,
            force,
            data_files(prune_against or []),
            lambda name, done, total: progress.update(bars[name], completed=done, total=total),
        )
    total = sum(split["rows"] for split in manifest["splits"].values())
    err.print(f"{total:,} rows in {folder}", markup=False)


@app.command()
def verify(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Data files or folders.")],
    workers: Workers = CORES,
    as_json: Json = False,
) -> None:
    """Check entailment files: every label anew, format, balance, structure, duplicates, leaks.

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
        bars = {path: progress.add_task(path.name, total=count_lines(path)) for path in files}
        for found in verify_files(
            files, workers, lambda path, rows: progress.update(bars[path], completed=rows)
        ):
            if not isinstance(found, Problem):
                summaries.append(found)
                continue
            wrong = True
            place = f"{found.path}:{found.line}" if found.line else f"{found.path}"
            if as_json:
                print_json({**found._asdict(), "path": str(found.path)})
            else:
                out.print(f"{place}: {found.check}: {found.message}", markup=False)
    if as_json:
        for summary in summaries:
            print_json({**summary._asdict(), "path": str(summary.path)})
        raise typer.Exit(wrong)
    table = columns("file", "rows", "positive", "rows form", "problems")
    for path, rows, positive, structure, problems in summaries:
        listed = ", ".join(f"{problems[check]} {check}" for check in CHECKS if problems[check])
        share = f"{positive / max(1, rows):.1%}"
        table.add_row(path.name, f"{rows:,}", share, structure or "no units", listed or "none")
    out.print(table)
    raise typer.Exit(wrong)


def columns(first: str, *others: str) -> Table:
    """An empty table whose columns but the first are aligned to the right."""
    table = Table(first, box=None)
    for name in others:
        table.add_column(name, justify="right")
    return table


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
    with progress_bars() as progress:
        total = sum(map(count_lines, files))
        bar = progress.add_task(path.name, total=total)

        def counted(file: Path) -> Iterator[Any]:
            for pair in read_pairs(file):
                progress.advance(bar)
                yield pair

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
        from possibleworlds.data.plots import plot_distributions

        plot_distributions(described, plot)
        err.print(f"drawn in {plot}", markup=False)


def print_table_1(lines: "dict[str, SplitStatistics]", as_json: bool) -> None:
    """Table 1, ours and the paper's."""
    from possibleworlds.data.paper import BOTH_FORMULAS, TABLE_1

    names = sorted(lines, key=lambda name: list(TABLE_1).index(name) if name in TABLE_1 else 99)
    if as_json:
        print_json({name: lines[name]._asdict() for name in names})
        return
    table = columns("split", "", "rows", "variables", "operators", "length", "2^variables")
    for name in names:
        for whose, line in (("ours", lines[name]), ("paper", TABLE_1.get(name))):
            if line:
                rows, variables, operators, length, table_rows = line
                if whose == "ours" and name in BOTH_FORMULAS:
                    operators, length = 2 * operators, 2 * length
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
