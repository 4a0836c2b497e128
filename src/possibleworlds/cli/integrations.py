"""Commands for other tools: `export`, `tasks`, `score`, `integrations`, `playground`."""

import json
import tempfile
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from typer import Argument, Option

import possibleworlds
from possibleworlds.cli import console
from possibleworlds.cli.console import Bars, log
from possibleworlds.data.files import count_lines, data_files, raw_lines, shown_name
from possibleworlds.errors import UserError, printable, reason
from possibleworlds.integrations.export import Format
from possibleworlds.integrations.export import export as export_files
from possibleworlds.language.item import Item, Kind
from possibleworlds.language.score import Score, Verdict, all_four
from possibleworlds.language.score import score as score_reply
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
    premises: Annotated[
        int | None, Option(min=1, help="Number of premises; default: 1, and 2 for conclude.")
    ] = None,
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
def score(
    file: Annotated[
        Path, Argument(metavar="FILE", help="Items with replies; - for standard input.")
    ],
    as_json: console.Json = False,
) -> None:
    """Score the replies of a language model.

    FILE has a line for each item of `tasks --json`, with the model's text added as "reply". With
    --json, prints a line for each: the verdict, the answer as it was read, and what is wrong.

    Examples:

        possibleworlds tasks decide --size 1000 --json > items.jsonl

        possibleworlds score replies.jsonl
    """
    scored = [one for path in data_files([file]) for one in read_scores(path)]
    if as_json:
        console.print_json(*(asdict(one) for _, one in scored))
        return
    by_kind: dict[str, list[tuple[Item, Score]]] = {}
    for item, one in scored:
        by_kind.setdefault(item.kind, []).append((item, one))
    rows = []
    for kind, ones in by_kind.items():
        verdicts = Counter(one.verdict for _, one in ones)
        whole = all_four((item.group, one.value) for item, one in ones)
        counts = [f"{verdicts[verdict]:,}" for verdict in get_args(Verdict)]
        accuracy = verdicts["right"] / len(ones)
        rows.append([kind, f"{len(ones):,}", *counts, f"{accuracy:.2%}", f"{whole:.2%}"])
    console.print_table(["kind", "items", *get_args(Verdict), "accuracy", "all of a group"], rows)


def read_scores(file: Path) -> Iterator[tuple[Item, Score]]:
    """Read items with replies, and score each; raise UserError with the line of a bad one."""
    number = 0
    for number, line in enumerate(raw_lines(file), 1):
        try:
            values = json.loads(line)
            if not isinstance(values, dict) or "reply" not in values:
                raise UserError('not an item with a "reply"')
            item = Item.from_json(values)
            yield item, score_reply(values["reply"], item)
        except (UserError, ValueError, RecursionError) as error:
            raise UserError(f"{shown_name(file)}:{number}: {reason(error)}") from None
    if not number:
        raise UserError(f"{shown_name(file)}: an empty file")


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
