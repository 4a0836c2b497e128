"""Commands for other tools: `export`, `tasks`, `integrations`, `playground`."""

import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

import possibleworlds
from possibleworlds.cli import console
from possibleworlds.cli.console import Bars, log
from possibleworlds.data.files import count_lines, shown_name
from possibleworlds.errors import UserError, printable
from possibleworlds.integrations.export import Format
from possibleworlds.integrations.export import export as export_files
from possibleworlds.language.item import Kind
from possibleworlds.language.wording import Style, Vocabulary

app = typer.Typer(rich_markup_mode="markdown")


@app.command()
def export(
    form: Annotated[Format, Argument(help="The format.")],
    data: Annotated[
        Path, Argument(metavar="DATA", help="A data file or folder; with model, a network.")
    ],
    target: Annotated[Path, Argument(metavar="OUT", help="The folder to fill.")],
) -> None:
    """Export data or a trained network for other tools.

    hf: Parquet, a data card and Croissant metadata, for `datasets.load_dataset(OUT)`. dimacs: a CNF
    for each pair, satisfiable where A does not entail B. graph: the graphs of all pairs as arrays
    in an .npz file. jsonl: a line of JSON for each pair. model: a pretrained network, or that of a
    run folder, for the Hugging Face Hub.

    Examples:

        possibleworlds export dimacs data/test_exam.txt cnf

        possibleworlds export model guidedworldnet OUT
    """
    with Bars() as bars:

        def counter(file: Path) -> Callable[[int], None]:
            return bars.counter(Path(shown_name(file)).name, count_lines(file))

        rows = export_files(form, data, target, counter)
    log(f"written: {target}" if rows is None else f"{rows:,} rows in {target}")


@app.command()
def tasks(
    kind: Annotated[Kind, Argument(help="The kind of question.")] = "decide",
    size: Annotated[int, Option(min=1, help="Number of items.")] = 3,
    level: Annotated[int | None, Option(help="Difficulty, 0 to 7; default: 2-5 variables.")] = None,
    source: Annotated[
        str, Option(help="fourtuples, validate, easy, hard, big, massive, exam, giant or sat.")
    ] = "fourtuples",
    premises: Annotated[int, Option(min=1, help="Number of premises.")] = 1,
    style: Annotated[Style, Option(help="How formulas are written.")] = "unicode",
    vocabulary: Annotated[Vocabulary, Option(help="The words of --style words.")] = "letters",
    shots: Annotated[int, Option(min=0, help="Solved examples before the question.")] = 0,
    chain_of_thought: Annotated[
        bool, Option("--chain-of-thought", help="Show the working of the examples.")
    ] = False,
    seed: Annotated[int, Option(min=0, help="Same seed, same items.")] = 0,
    as_json: console.Json = False,
) -> None:
    """Print questions for a language model, each with its answer.

    Examples:

        possibleworlds tasks refute --style words --vocabulary everyday

        possibleworlds tasks decide --source hard --size 1000 --json > items.jsonl
    """
    items = possibleworlds.tasks(
        kind,
        size=size,
        level=level,
        source=source,
        premises=premises,
        style=style,
        vocabulary=vocabulary,
        shots=shots,
        chain_of_thought=chain_of_thought,
        seed=seed,
    )
    for number, item in enumerate(items):
        if as_json:
            console.print_json(item.to_json())
        else:
            print(f"{chr(10) if number else ''}{item.prompt}\n\nAnswer: {item.answer}")


@app.command()
def integrations(tool: Annotated[Literal["lm-eval"], Argument(help="The tool.")]) -> None:
    """Print the folder to pass to a tool.

    Example: `lm_eval --include_path $(possibleworlds integrations lm-eval) --tasks ...`
    """
    folder = Path(__file__).parent.parent / "integrations" / tool.replace("-", "_")
    print(printable(str(folder)))


@app.command()
def playground(
    save: Annotated[
        Path | None,
        Option(metavar="FILE.html", help="Write the page to a file instead of opening it."),
    ] = None,
    force: Annotated[
        bool, Option("--force", help="Overwrite a file that is another page.")
    ] = False,
) -> None:
    """Open a page that shows truth tables, countermodels and networks with worlds.

    The page needs no server and no network connection: a saved file can be put on any web space.

    Examples:

        possibleworlds playground

        possibleworlds playground --save playground.html
    """
    from possibleworlds.playground import page

    if save and save.suffix != ".html":
        raise UserError(f"{save}: the playground is a page; its name ends in .html")
    if save and not force and save.exists() and not page.is_playground(save):
        raise UserError(f"{save} is not a playground; --force overwrites it")
    path = save or Path(tempfile.mkdtemp(prefix="possibleworlds-")) / "playground.html"
    page.save(path)
    log(f"the playground is in {path}")
    if save is None and not webbrowser.open(path.absolute().as_uri()):
        raise UserError("no browser to open it with; --save FILE.html writes it where you like")
