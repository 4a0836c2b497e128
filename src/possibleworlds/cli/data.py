"""The commands `generate`, `label`, `published`, `verify` and `stats`: data sets."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import DownloadColumn
from typer import Argument, Option

import possibleworlds
from possibleworlds.cli import console
from possibleworlds.cli.console import Bars, log
from possibleworlds.data import files, splits, statistics
from possibleworlds.data.files import count_lines, data_files, read_watched, shown_name
from possibleworlds.data.generation import FreeMethod, Prune
from possibleworlds.data.plots import check_drawable, plot_distributions
from possibleworlds.data.statistics import FileStatistics, SplitStatistics
from possibleworlds.data.verify import CHECKS, FileProblem
from possibleworlds.data.verify import verify as verify_files
from possibleworlds.errors import UserError, printable, quoted
from possibleworlds.paper import TABLE_1
from possibleworlds.parallel.engines import make_map

app = typer.Typer(rich_markup_mode="markdown")


def parse_range(text: str | None) -> tuple[int, int] | None:
    """Parse a range such as 1-10, or 5."""
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,9}(-[0-9]{1,9})?", text):
        raise UserError(f"{quoted(text)} is not a range like 1-10")
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def parse_count(text: str) -> int:
    """Parse a number such as 20000, 20_000, 20k or 1.5M."""
    match = re.fullmatch(r"([0-9][0-9_,]{0,14}(?:\.[0-9]{1,9})?)([kKmM]?)", text)
    if not match:
        raise UserError(f"{quoted(text)} is not a number of rows like 20000 or 20k")
    scale = {"": 1, "k": 1_000, "m": 1_000_000}[match[2].lower()]
    return round(float(re.sub("[_,]", "", match[1])) * scale)


@app.command()
def generate(
    folder: Annotated[Path, Argument(metavar="OUT", help="The folder to fill.")],
    preset: Annotated[
        Literal["paper", "quick", "small"] | None,
        Option(help="The paper's splits, of 122,000, 25,000 or 4,000 rows; default paper."),
    ] = None,
    variables: Annotated[
        str | None,
        Option(
            metavar="LOW-HIGH", help="Variables drawn from; a pair may have fewer; default 1-10."
        ),
    ] = None,
    operators: Annotated[
        str | None, Option(metavar="LOW-HIGH", help="Operators per formula; default 1-10.")
    ] = None,
    rows: Annotated[str | None, Option(help="Training rows, such as 20k; default 100k.")] = None,
    method: Annotated[
        FreeMethod | None,
        Option(
            help="How pairs are made; default fourtuples. giant: mutated, 26 variables, 40-60 "
            "operators; sat: random 3-CNF premises, 20 variables."
        ),
    ] = None,
    exact_variables: Annotated[
        bool, Option("--exact-variables", help="Each pair contains all its variables.")
    ] = False,
    clauses: Annotated[int | None, Option(help="With sat; default 4.55 per variable.")] = None,
    prune_against: Annotated[
        list[Path] | None, Option(help="Exclude what a file or folder contains, up to renaming.")
    ] = None,
    prune: Annotated[
        Prune,
        Option(
            help="What no split may share with the training data or --prune-against: formulas on "
            "the same side, or whole pairs."
        ),
    ] = "formulas",
    seed: Annotated[int, Option(min=0, help="Same seed, same bytes.")] = 0,
    workers: console.Workers = console.CORES,
    force: Annotated[bool, Option("--force", help="Overwrite what is in OUT.")] = False,
    engine: console.EngineOption = "local",
    address: console.Address = None,
) -> None:
    """Generate the paper's seven splits, or training, validation and test data of your own.

    Settings from --variables to --clauses replace the preset; validation and test then each have a
    twentieth of --rows. To finish an interrupted run, repeat the command.

    Examples:

        possibleworlds generate data

        possibleworlds generate biased --method naive --rows 50000
    """
    chosen = splits.PRESETS[preset or "paper"]
    custom = (variables, operators, rows, method, clauses, exact_variables or None)
    if any(setting is not None for setting in custom):
        if preset:
            raise UserError("give either --preset or settings such as --rows, not both")
        count, sizes = parse_count(rows or "100k"), (parse_range(variables), parse_range(operators))
        method = method or "fourtuples"
        chosen = splits.free_splits(count, *sizes, method, exact_variables, clauses or 0)
    parallel_map = make_map(engine, address)
    with console.resumable("the same command, given again, finishes the rest"), Bars() as bars:
        pruned = data_files(prune_against or [])
        manifest = splits.generate_folder(
            folder, chosen, seed, workers, force, pruned, bars.show, parallel_map, prune
        )
    log(f"{sum(split['rows'] for split in manifest['splits'].values()):,} rows in {folder}")


@app.command()
def label(paths: console.Files) -> None:
    """Label your own pairs: print them in the published format.

    A line is A,B or A,B,label in any notation, or an argument such as p, p -> q |= q; the file - is
    standard input. Each pair is printed as A,B,E,H1,H2,H3; variables that are not a single letter
    are renamed. Wrong labels are corrected and reported.

    Examples:

        possibleworlds label mine.txt > labelled.txt

        echo "rain -> wet, ~wet -> ~rain" | possibleworlds label -
    """
    for path in data_files(paths):
        for number, pair in enumerate(files.read_pairs(path), 1):
            truth = possibleworlds.entails(pair.premise, pair.conclusion)
            if truth != pair.label:
                place = f"{shown_name(path)}:{number}"
                verb = "entails" if truth else "does not entail"
                log(f"{place}: the label was {pair.label:d}, but A {verb} B")
            print(files.format_rows([(pair.a, pair.b, truth)]), end="")


@app.command()
def published(
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder to fill.")],
    source: Annotated[
        str | None, Option(metavar="URL", help="A mirror, instead of the public repository.")
    ] = None,
) -> None:
    """Download the six validation and test sets that were published with the paper.

    They come from github.com/google-deepmind/logical-entailment-dataset, 2 MB in all, and are
    checked against their SHA-256. To continue an interrupted download, repeat the command.

    Examples:

        possibleworlds published published

        possibleworlds evaluate treenet published/test_easy.txt
    """
    from possibleworlds.data.published import FILES, PUBLISHED_SOURCE, download

    with console.resumable("the same command continues"), Bars(DownloadColumn()) as bars:
        new = download(folder, source or PUBLISHED_SOURCE, bars.show)
    log(f"{len(FILES)} files in {folder}, {new} of them new; all have the expected SHA-256")


@app.command()
def verify(
    paths: console.Files, workers: console.Workers = console.CORES, as_json: console.Json = False
) -> None:
    """Check entailment files: labels, format, balance, structure, duplicates and leaks.

    If there is a dataset.json, the files must also match it. Prints a line for each problem; exit
    code 1 if there are any.

    Example: `possibleworlds verify data`
    """
    data = data_files(paths)
    names, sizes = console.short_names(data), {path: count_lines(path) for path in data}
    lines, wrong = [], False
    with Bars() as bars:

        def show(path: Path, rows: int) -> None:
            bars.show(names[path], rows, sizes[path])

        for result in verify_files(data, workers, show):
            wrong |= isinstance(result, FileProblem)
            if as_json:
                console.print_json({**result._asdict(), "path": shown_name(result.path)})
            elif isinstance(result, FileProblem):
                print(printable(str(result)))
            else:
                path, rows, positive, structure, counts = result
                problems = ", ".join(f"{counts[c]} {c}" for c in CHECKS if counts[c])
                numbers = f"{rows:,}", f"{positive / max(1, rows):.1%}"
                lines.append((names[path], *numbers, structure or "none", problems or "none"))
    if not as_json:
        console.print_table(("file", "rows", "positive", "structure", "problems"), lines)
    raise typer.Exit(wrong)


@app.command()
def stats(
    path: Annotated[Path, Argument(metavar="PATH", help="A data file or a folder of them.")],
    plot: Annotated[
        Path | None, Option(metavar="FILE.png", help="Plot the distributions of a file.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Describe data: the paper's Table 1 for a folder, its Tables 3 and 4 for a file.

    Example: `possibleworlds stats data/train.txt --plot biases.png`
    """
    data, is_folder = data_files([path]), path.is_dir()
    if is_folder and plot:
        raise UserError("--plot draws the distributions of one file, not of a folder")
    if plot:
        check_drawable(plot)
    with Bars() as bars:
        advance = bars.counter(path.name or str(path), sum(map(count_lines, data)))
        if is_folder:
            lines = {f.stem: statistics.split_statistics(read_watched(f, advance)) for f in data}
        else:
            described = statistics.file_statistics(read_watched(data[0], advance))
    if is_folder:
        print_table_1(lines, as_json)
        return
    if as_json:
        console.print_json(statistics.as_json(described))
    else:
        print_biases(described)
    if plot:
        plot_distributions(described, plot)
        log(f"plot written to {plot}")


def print_table_1(lines: dict[str, SplitStatistics], as_json: bool) -> None:
    """Print Table 1 of the data next to the paper's."""
    paper = {name: SplitStatistics(*line) for name, line in TABLE_1.items()}
    names = sorted(lines, key=lambda name: list(paper).index(name) if name in paper else 99)
    ours = {name: statistics.as_in_table_1(name, lines[name]) for name in names}
    if as_json:
        in_paper = {name: line._asdict() for name, line in paper.items()}
        console.print_json({n: {**ours[n]._asdict(), "paper": in_paper.get(n)} for n in names})
        return
    cells = []
    for name in names:
        for title, source, line in ((name, "ours", ours[name]), ("", "paper", paper.get(name))):
            if line:
                rows, *means, table_rows = line
                texts = f"{rows:,}", *(f"{mean:.2f}" for mean in means), f"{table_rows:,.1f}"
                cells.append((title, source, *texts))
    headers = ("split", "", "rows", "variables", "operators", "length", "2^variables")
    console.print_table(headers, cells)
    print("Means; operators and length of a formula, of both together in massive and exam.")


def print_biases(described: FileStatistics) -> None:
    """Print the bias tables, the accuracy of heuristics, and that of sampling truth tables."""
    lines = []
    for name, sides in described.features.items():
        cells = []
        for side in statistics.SIDES:
            if feature := sides.get(side):
                digits = (".2f", ".2f", ".1f")
                for figure, form in zip(feature.known_figures, digits, strict=True):
                    cells.append("-" if figure is None else format(figure, form))
                cells.append(f"{feature.degrees_of_freedom}")
            else:
                cells += [""] * 4
        lines.append((name, *cells))
    console.print_table(("", "A+", "A-", "chi²", "df", "B+", "B-", "chi²", "df"), lines)
    names = ("H1 length(A) ≥ length(B)", "H2 no new variables in B", "H3 no new literals in B")
    accuracies = [f"{right / described.rows:.1%}" for right in described.heuristics_right]
    print()
    console.print_table(("heuristic", "accuracy"), zip(names, accuracies, strict=True))
    print()
    has_negatives = described.positive < described.rows
    sampling = [
        (n, f"{refuted:.1%}" if has_negatives else "-", f"{right:.1%}")
        for n, refuted, right in described.sampling()
    ]
    console.print_table(("truth-table rows sampled", "refuted", "accuracy"), sampling)
