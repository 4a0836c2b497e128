"""Commands for other people's tools: export, tasks, integrations."""

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import possibleworlds
from possibleworlds.cli.console import (
    Bars,
    Json,
    log,
    new_group,
    print_json,
    resumable,
    short_names,
)
from possibleworlds.errors import UserError, printable
from possibleworlds.parallel import stop_requested

if TYPE_CHECKING:
    from possibleworlds.training.evaluation import Evaluation

app = new_group()

Format = Literal["hf", "dimacs", "graph", "jsonl", "model"]


@app.command()
def export(
    form: Annotated[Format, typer.Argument(help="The format.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A data file or folder; with model, a network.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to fill.")],
) -> None:
    """Write data, or a trained network, for other tools.

    hf: Parquet, a data card and Croissant metadata, for `datasets.load_dataset(OUT)`. dimacs: a CNF
    for each pair, satisfiable where A does not entail B. graph: the graphs of all pairs as arrays
    in an .npz file. jsonl: a line of JSON for each pair. model: a pretrained network, or that of a
    run folder, for the Hugging Face Hub.

    Examples:

        possibleworlds export dimacs data/test_exam.txt cnf

        possibleworlds export model guidedworldnet OUT
    """
    from possibleworlds.data.files import data_files, read_pairs
    from possibleworlds.integrations import solvers

    if form in ("hf", "model"):
        try:
            rows = export_for_hub(form, data, target)
        except ModuleNotFoundError as error:
            extra = "pip install 'possibleworlds[huggingface]'"
            raise UserError(f"{error.name} is missing: {extra}") from None
        log(f"written: {target}" if rows is None else f"{rows:,} rows in {target}")
        return
    files = data_files([data])
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{target}: {error.strerror}") from None
    if form == "dimacs":
        rows = sum(solvers.write_dimacs(read_pairs(f), target / f.stem) for f in files)
    elif form == "graph":
        rows = sum(solvers.write_graphs(read_pairs(f), target / f"{f.stem}.npz") for f in files)
    else:
        rows = sum(solvers.write_jsonl(read_pairs(f), target / f"{f.stem}.jsonl") for f in files)
    log(f"{rows:,} rows in {target}")


def export_for_hub(form: Format, source: Path, target: Path) -> int | None:
    """Write data or a network for the Hugging Face Hub; return the rows of data."""
    from possibleworlds.data.files import data_files

    if form == "model":
        from possibleworlds.integrations.hub import export_network

        export_network(source, target)
        return None
    from possibleworlds.integrations.huggingface import export_dataset

    return sum(line.rows for line in export_dataset(data_files([source]), target).values())


@app.command()
def tasks(
    kind: Annotated[
        Literal["decide", "refute", "conclude"], typer.Argument(help="What is asked.")
    ] = "decide",
    size: Annotated[int, typer.Option(min=1, help="How many items.")] = 3,
    level: Annotated[
        int | None, typer.Option(help="Sizes by the curriculum, 0 to 7; else 2-5 variables.")
    ] = None,
    source: Annotated[
        str, typer.Option(help="fourtuples, easy, hard, big, massive, exam, giant or sat.")
    ] = "fourtuples",
    premises: Annotated[int, typer.Option(min=1, help="How many of them.")] = 1,
    style: Annotated[
        Literal["unicode", "ascii", "latex", "words"],
        typer.Option(help="How formulas are written."),
    ] = "unicode",
    vocabulary: Annotated[
        Literal["letters", "nonsense", "everyday"], typer.Option(help="With --style words.")
    ] = "letters",
    shots: Annotated[int, typer.Option(min=0, help="Solved examples before the question.")] = 0,
    chain_of_thought: Annotated[
        bool, typer.Option("--chain-of-thought", help="Work the examples out.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same items.")] = 0,
    as_json: Json = False,
) -> None:
    """Print questions about entailment for a language model, with an answer to each.

    Examples:

        possibleworlds tasks refute --style words --vocabulary everyday

        possibleworlds tasks decide --source hard --size 1000 --json > items.jsonl
    """
    made = possibleworlds.tasks(
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
    for number, item in enumerate(made):
        if as_json:
            print_json(item.to_json())
        else:
            print(f"{chr(10) if number else ''}{item.prompt}\n\nAnswer: {item.answer}")


@app.command()
def integrations(
    tool: Annotated[Literal["lm-eval"], typer.Argument(help="The tool.")],
) -> None:
    """Print the folder that a tool has to be told of.

    Example: `lm_eval --include_path $(possibleworlds integrations lm-eval) --tasks ...`
    """
    folder = Path(__file__).parent.parent / "integrations" / tool.replace("-", "_")
    print(printable(str(folder)))


def evaluate_endpoint(
    files: list[Path], url: str, model: str, folder: Path | None, concurrency: int
) -> "dict[Path, Evaluation]":
    """Evaluate a language model at a chat endpoint into a folder that `report` takes as a run.

    Replies that are there already are not asked for again.
    """
    import numpy as np

    from possibleworlds.data.files import read
    from possibleworlds.integrations.chat import (
        Endpoint,
        Reply,
        ReplyCache,
        evaluate_chat,
        store_results,
    )
    from possibleworlds.training.evaluation import Evaluation

    endpoint = Endpoint(url, model, concurrency=concurrency)
    endpoint.validate()
    out = folder or Path("runs") / re.sub(r"[^\w.-]+", "-", model)
    cache, names = ReplyCache(out / "replies.jsonl"), short_names(files)
    results: dict[Path, Evaluation] = {}
    prompt_tokens = completion_tokens = unreadable = 0
    with (
        resumable(f"the replies are in {out}; the same command continues"),
        stop_requested(signal.SIGINT, signal.SIGTERM) as stop,
        Bars() as bars,
    ):
        for path in files:
            pairs = read(path)
            advance = bars.counter(names[path], len(pairs))

            def count(_: Reply, advance: Callable[[int], None] = advance) -> None:
                advance(1)

            result = evaluate_chat(endpoint, pairs, cache, progress=count, stop=stop)
            right = np.array([outcome.verdict == "right" for outcome in result.scores])
            results[path] = Evaluation.of(right, pairs)
            store_results(out, model, path, results[path])
            prompt_tokens += result.prompt_tokens
            completion_tokens += result.completion_tokens
            unreadable += result.unreadable
    log(f"{unreadable:,} replies could not be read, and count as wrong")
    log(f"{prompt_tokens:,} tokens of prompts, {completion_tokens:,} of replies")
    log(f"kept in {out}; `possibleworlds report` takes it like a run")
    return results
