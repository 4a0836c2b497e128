"""The command `possibleworlds`: parse the arguments, call the package, print.

Data goes to standard output, words for people beside it to standard error. Exit codes: 0 for yes
and for success, 1 for no and for problems found, 2 for input that cannot be used.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

import possibleworlds
from possibleworlds.errors import UserError, printable
from possibleworlds.logic.formula import AND, LETTERS, OPERATORS, Formula
from possibleworlds.logic.syntax import Style, parse, to_text
from possibleworlds.parallel import StopRequestedError
from possibleworlds.storage import sha256

if TYPE_CHECKING:
    from possibleworlds.data.statistics import FileStatistics, SplitStatistics
    from possibleworlds.training.predictor import Predictor

app = typer.Typer(
    name="possibleworlds",
    help="Propositional entailment: exact answers, data with guarantees, networks that learn it.",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
width = None if sys.stdout.isatty() else 120
# What users give may hold square brackets, which are not to be taken for markup.
plain: dict[str, Any] = {"highlight": False, "emoji": False, "markup": False}
out = Console(soft_wrap=True, width=width, **plain)
err = Console(stderr=True, **plain)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Certify = Annotated[
    bool, typer.Option("--certify", help='Say "no" only with a countermodel that was checked.')
]


Worlds = Annotated[int | None, typer.Option(help="Worlds, if not those of the training.")]
Steps = Annotated[int | None, typer.Option(help="Steps that guided worlds move.")]


def cores() -> int:
    """How many processes this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Workers = Annotated[
    int,
    typer.Option(min=1, show_default="one a core", help="Processes to use."),
]
CORES = cores()
EngineOption = Annotated[
    Literal["local", "ray"],
    typer.Option("--engine", help="Processes of this machine, or a Ray cluster."),
]
Address = Annotated[
    str | None,
    typer.Option(help="Of the Ray cluster, if it is not the one of this machine."),
]
SHOWN_EVERY = 500
"""How many rows pass before a progress bar moves, which costs more than a row does."""
USAGE_ERROR: Any = typer.BadParameter.__base__
"""What is raised for arguments that do not fit; typer gives it no name of its own."""


def main() -> None:
    """Run the command, with one clear line for whatever a user can do wrong."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    import possibleworlds.cli_experiments  # noqa: F401  adds its commands

    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except UserError as error:
        fail(str(error))
    except USAGE_ERROR as error:
        fail(error.format_message())
    except typer.Abort:
        sys.exit(130)  # Ctrl-C before there was anything to save
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors", "matplotlib"):
            raise
        fail(f"{error.name} is missing: pip install 'possibleworlds[train]'")
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is not written yet
        fail(f"{error.filename or 'standard output'}: {error.strerror}")
    except (MemoryError, OverflowError):
        fail("not enough memory for that")
    except RuntimeError as error:  # which is what torch raises
        if "allocate memory" not in str(error):
            raise
        fail("not enough memory for that")


def fail(message: str) -> NoReturn:
    """Say what is wrong and exit with code 2."""
    shown = "\n".join(map(printable, message.split("\n")))
    err.print(f"error: {shown}", soft_wrap=True, markup=False)
    sys.exit(2)


def interrupted(advice: str) -> NoReturn:
    """Say how to go on after Ctrl-C and exit with the code for it."""
    err.print(f"interrupted; {advice}")
    raise typer.Exit(130)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Progress bars on standard error, with the time left."""
    with Progress(
        TextColumn("{task.description}", justify="right", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
    ) as progress:
        yield progress


def named_bars(progress: Progress) -> Callable[[str, int, int], None]:
    """What shows how much of something with a name is done, of how much, in a bar of its own."""
    bars: dict[str, TaskID] = {}

    def show(name: str, done: int, total: int) -> None:
        if name not in bars:
            bars[name] = progress.add_task(name)
        progress.update(bars[name], completed=done, total=total)

    return show


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
    model: Annotated[
        str | None, typer.Option(metavar="RUN", help="Ask this trained network as well.")
    ] = None,
    worlds: Worlds = None,
    steps: Steps = None,
    certify: Certify = False,
    as_json: Json = False,
) -> None:
    """Does A entail B? Exit code 0 for yes, 1 for no with a countermodel.

    Formulas may be written in ASCII, Unicode or LaTeX, with any names for variables. With --model
    the answer of a trained network, a run folder or a ready-trained one, stands beside the exact
    one; and for a "no" of a network with worlds the world that convinced it.

    Examples:

        possibleworlds entails "p & q" "q"

        possibleworlds entails "wet" --premise "rain -> wet" --premise "rain"

        possibleworlds entails "p -> q" "q -> p" --model guidedworldnet
    """
    for name, given in (("certify", certify or None), ("worlds", worlds), ("steps", steps)):
        if given is not None and model is None:
            raise UserError(f"--{name} is for the answer of a network; the exact one needs none")
    *first, conclusion = map(parse, formulas)
    if len(first) > 1:
        raise UserError("more than two formulas; give further premises with --premise")
    premises = [*first, *map(parse, premise or [])]
    if not premises:
        raise UserError("no premise; give A and B, or B and --premise A")
    a = conjunction(premises)
    refuting = possibleworlds.countermodel(a, conclusion, solver)
    code = 0 if refuting is None else 1
    network = None if model is None else load_run(model, worlds, steps)
    thought = network.decide(a, conclusion, certify) if network else None
    if as_json:
        asked = {}
        if thought is not None:
            asked = {"model": model, "model_entails": thought.entails, **thought._asdict()}
        print_json({**asked, "entails": refuting is None, "countermodel": refuting})
        raise typer.Exit(code)
    style, (yes, no) = signs()
    answer, sign = ("yes", yes) if refuting is None else ("no", no)
    left = ", ".join(to_text(formula, style) for formula in premises)
    out.print(f"{answer}: {left} {sign} {to_text(conclusion, style)}")
    if refuting is not None:
        out.print(f"countermodel: {in_words(refuting)}")
    if thought is not None:
        said = "yes" if thought.entails else "no"
        if certify:
            how = "found no countermodel" if thought.entails else "certified"
        else:
            how = f"P = {thought.probability:.4f}"
        out.print(f"{model} says {said} ({how})")
        if thought.assignment is not None:
            verdict = "a countermodel" if thought.refutes else "not a countermodel"
            out.print(f"it imagines: {in_words(thought.assignment)}: {verdict}, as was checked")
    raise typer.Exit(code)


def signs() -> tuple[Style, tuple[str, str]]:
    """How to write formulas on this terminal, and that one entails another or does not."""
    try:
        "¬∧∨→↔⊤⊥⊨⊭".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "ascii", ("|=", "|/=")
    return "unicode", ("⊨", "⊭")


def in_words(assignment: dict[str, bool]) -> str:
    """An assignment for people."""
    return ", ".join(f"{v} {'true' if x else 'false'}" for v, x in assignment.items())


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
    if not set(read.rpn) <= {*OPERATORS, *LETTERS}:
        facts["published"] = None  # it has no other operators, and variables a to z
    facts |= {"variables": list(read.variables), "operators": read.operators, "length": read.length}
    try:
        facts["models"] = possibleworlds.count_models(read)
    except UserError as error:
        facts["models"] = None
        err.print(f"{error}")
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else "-" if value is None else value
        out.print(f"{name:>10}  {text}")


STYLES: tuple[Style, ...] = ("unicode", "ascii", "latex", "published")


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
    from possibleworlds.data.splits import PRESETS, free_splits
    from possibleworlds.data.splits import generate as generate_into
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
            manifest = generate_into(
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


def columns(first: str, *others: str) -> Table:
    """An empty table whose columns but the first are aligned to the right."""
    table = Table(box=None)
    table.add_column(Text(first))
    for name in others:
        table.add_column(Text(name), justify="right")
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
    from possibleworlds.data.paper import TABLE_1
    from possibleworlds.data.statistics import SplitStatistics, as_in_table_1

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


def parse_set(given: list[str]) -> dict[str, str]:
    """The names and values of settings given as name=value."""
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--set {text}: a setting is given as name=value")
        pairs[name] = value
    return pairs


@app.command()
def train(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A network, or module:Class.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="Has train.txt and validate.txt.")],
    run: Annotated[Path, typer.Option("--out", metavar="RUN", help="The folder of the run.")],
    preset: Annotated[
        Literal["best"] | None, typer.Option(help="As the ready-trained network was trained.")
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="How long: passes over the data.")] = None,
    minutes: Annotated[float | None, typer.Option(help="How long, instead of epochs.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting.")
    ] = None,
    side: Annotated[
        Literal["left", "right"] | None, typer.Option(help="Let it see one side only.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**62, help="Same seed, same weights; else 0.")
    ] = None,
    device: Annotated[str, typer.Option(help="As PyTorch names it.")] = "cpu",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write events for TensorBoard as well.")
    ] = False,
) -> None:
    """Train a network; the weights of the best validation step are kept.

    `possibleworlds models` lists the networks, and `--set` changes any of their settings. Ctrl-C
    saves the run, and --resume goes on with it.

    Examples:

        possibleworlds train treenet --data data --out runs/treenet --minutes 5

        possibleworlds train possibleworldnet --data data --out runs/pwn --set worlds=64

        possibleworlds train guidedworldnet --preset best --data data --out runs/guided
    """
    from possibleworlds.training.checkpoint import RUN
    from possibleworlds.training.loop import DATA_FILES, Job, Trainer
    from possibleworlds.training.loop import train as train_network

    if epochs is not None and minutes is not None:
        raise UserError("--epochs and --minutes both say how long; give one of them")
    if minutes == 0:
        raise UserError("--minutes 0 trains nothing")
    if resume and not (run / RUN).exists():
        err.print(f"{run} holds no run yet: a new one begins")
    given: dict[str, Any] = {}
    if preset:
        ready = ready_trained(model)
        given = {**ready["settings"], **ready["training"]}
        seed = ready["seed"] if seed is None else seed
        if ready["data"] != {name: sha256(data / name) for name in DATA_FILES}:
            err.print("these are other data than the ready-trained network was trained on")
    given |= parse_set(settings or [])
    chosen = {"epochs": epochs, "minutes": minutes, "side": side}
    given |= {name: str(value) for name, value in chosen.items() if value is not None}
    job = Job(model, data, run, given, seed, device, resume)
    events = event_writer(run) if tensorboard else lambda _: None
    columns_shown = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[shown]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )

    with Progress(*columns_shown, console=err) as progress:
        bars: list[TaskID] = []

        def show(trainer: Trainer) -> None:
            if not bars:  # so that none is drawn where nothing can be trained
                bars.append(progress.add_task(model, total=1.0, shown=""))
            now = trainer.progress
            speed = now.step * trainer.settings.batch_size / max(now.seconds, 1e-9)
            shown = f"step {now.step:,}  loss {now.loss:.3f}  accuracy {now.accuracy:.1%}"
            if now.history:
                shown += f"  validation {now.history[-1]['validation']:.1%}"
            progress.update(
                bars[0], completed=trainer.share_done, shown=f"{shown}  {speed:,.0f} pairs/s"
            )

        def write(trainer: Trainer) -> None:
            line = trainer.progress.history[-1]
            events(line)
            err.print(
                f"step {line['step']:>8,}  loss {line['loss']:.4f}  accuracy {line['accuracy']:.2%}"
                f"  validation {line['validation']:.2%}"
            )

        try:
            trained = train_network(job, show, write)
        except (KeyboardInterrupt, StopRequestedError):
            progress.stop()
            interrupted("--resume goes on with the run")
    best = trained.progress
    err.print(f"{run}: {best.best_accuracy:.2%} of validation at step {best.best_step:,}")


def ready_trained(model: str) -> dict[str, Any]:
    """How the ready-trained network of a name was trained."""
    from possibleworlds.models.registry import REGISTRY
    from possibleworlds.training.checkpoint import SHIPPED, read_run

    if model not in REGISTRY or not (SHIPPED / model).is_dir():
        raise UserError(f"there is no ready-trained {model}")
    return read_run(SHIPPED / model)


def event_writer(run: Path) -> Callable[[dict[str, float]], None]:
    """What writes the metrics of an evaluation for TensorBoard."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError("--tensorboard needs tensorboard: pip install tensorboard") from None

    writer = cache(lambda: SummaryWriter(run / "tensorboard"))

    def write(line: dict[str, float]) -> None:
        for name in ("loss", "accuracy", "validation"):
            writer().add_scalar(name, line[name], line["step"])
        writer().flush()

    return write


def load_run(run: str, worlds: int | None, steps: int | None) -> "Predictor":
    """A trained network, with other numbers of worlds and steps where they are wanted."""
    import torch

    torch.set_num_threads(1)  # a second one gains nothing on pieces so small
    return possibleworlds.load(run).look_at(worlds, steps)


Run = Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or a ready-trained one.")]


@app.command()
def evaluate(
    run: Run,
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Data files or folders.")],
    worlds: Worlds = None,
    steps: Steps = None,
    certify: Certify = False,
    as_json: Json = False,
) -> None:
    """How often a trained network is right, with a 95 % interval, and by size of the pairs.

    Certified answers are looked for in up to four times as many worlds, and fewer where one of the
    first refutes.

    Examples:

        possibleworlds evaluate runs/treenet data/test_easy.txt data/test_hard.txt

        possibleworlds evaluate guidedworldnet data/test_exam.txt --certify
    """
    from possibleworlds.data.arrays import load_pairs
    from possibleworlds.data.files import data_files
    from possibleworlds.training.batches import Dataset
    from possibleworlds.training.evaluation import describe

    predictor = load_run(run, worlds, steps)
    found: dict[Path, dict[str, Any]] = {}
    with progress_bars() as progress:
        for path in data_files(paths):
            data = Dataset(load_pairs(path))
            advance = partial(progress.advance, progress.add_task(path.name, total=len(data)))
            answers = predictor.answers(data, certify, advance)
            found[path] = describe(answers == data.pairs.label, data)
    if as_json:
        for path, result in found.items():
            print_json({"file": str(path), "certified": certify, **result})
        return
    table = columns("file", "rows", "accuracy", "95 % interval")
    for path, result in found.items():
        low, high = result["interval"]
        shown = f"{result['accuracy']:.2%}", f"{low:.2%} - {high:.2%}"
        table.add_row(Text(str(path)), f"{result['rows']:,}", *shown)
    out.print(table)
    names = short_names(found)
    for what in ("variables", "operators"):
        out.print()
        out.print(by_size(what, {names[path]: one[f"by_{what}"] for path, one in found.items()}))


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """Names that tell files apart: with their folder only where there is need for it."""
    for parts in (1, 2):
        names = {path: "/".join(path.with_suffix("").parts[-parts:]) for path in paths}
        if len(set(names.values())) == len(names):
            return names
    return {path: str(path) for path in paths}


def by_size(what: str, found: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Accuracy by the size of a pair: a line for each size, a column for each file."""
    table = columns(f"{what} of a pair", *found)
    sizes = {size: None for parts in found.values() for size in parts}
    for size in sorted(sizes, key=lambda text: int(text.split("-")[0])):
        cells = [parts.get(size) for parts in found.values()]
        table.add_row(size, *(f"{c['accuracy']:.1%} of {c['rows']:>4}" if c else "" for c in cells))
    return table


@app.command()
def predict(
    run: Run,
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Data files or folders.")],
    worlds: Worlds = None,
    steps: Steps = None,
    certify: Certify = False,
    as_json: Json = False,
) -> None:
    """Write the probability that A entails B for each row of data, a line each.

    With --certify a line says yes, or no and the countermodel that was found and checked.

    Examples:

        possibleworlds predict runs/treenet data/test_exam.txt

        possibleworlds predict guidedworldnet data/test_exam.txt --certify
    """
    import numpy as np

    from possibleworlds.data.arrays import load_pairs
    from possibleworlds.data.files import data_files
    from possibleworlds.training import certificate
    from possibleworlds.training.batches import Dataset
    from possibleworlds.training.evaluation import log_probabilities

    model = load_run(run, worlds, steps).model
    for file in data_files(paths):
        data = Dataset(load_pairs(file))
        answers: list[tuple[dict[str, Any], str]]
        with progress_bars() as progress:
            advance = partial(progress.advance, progress.add_task(file.name, total=len(data)))
            if certify:
                answers = [
                    (
                        {"entails": found is None, "countermodel": found},
                        "yes" if found is None else f"no: {in_words(found)}",
                    )
                    for found in certificate.certify(model, data, progress=advance)
                ]
            else:
                shares = np.exp(log_probabilities(model, data, progress=advance)[:, 1]).tolist()
                answers = [({"probability": p}, f"{p:.6f}") for p in shares]
        for line, (answer, text) in enumerate(answers, 1):
            if as_json:
                print_json({"file": str(file), "line": line, **answer})
            else:
                print(text)


@app.command()
def models(as_json: Json = False) -> None:
    """List the networks, with what the paper measured and which come ready-trained.

    Example: `possibleworlds models`
    """
    from possibleworlds.models.registry import REGISTRY, resolve
    from possibleworlds.training.checkpoint import SHIPPED, read_run

    lines: list[dict[str, Any]] = []
    for name, entry in REGISTRY.items():
        kind = resolve(name)
        made = kind(kind.settings_class())
        ready = read_run(SHIPPED / name)["accuracy"] if (SHIPPED / name).is_dir() else None
        lines.append(
            {
                "name": name,
                "parameters": sum(weight.numel() for weight in made.parameters()),
                "paper_validation": entry.paper[0] if entry.paper else None,
                "ready_trained": ready,
                "about": entry.about,
            }
        )
    if as_json:
        for line in lines:
            print_json(line)
        return
    table = columns("network", "parameters", "paper", "ready-trained")
    table.add_column("")
    for line in lines:
        paper = f"{line['paper_validation']} %" if line["paper_validation"] else "-"
        ready = line["ready_trained"]
        ours = f"{100 * ready['published']['validate']:.1f} %" if ready else "-"
        table.add_row(line["name"], f"{line['parameters']:,}", paper, ours, line["about"])
    out.print(table)
    out.print("Accuracy on the published validation set, of the paper and of those that are ready.")


import possibleworlds.cli_report  # noqa: E402  adds its command
