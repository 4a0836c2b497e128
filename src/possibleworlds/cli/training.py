"""The commands `train`, `evaluate`, `predict` and `models`."""

import re
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.progress import TextColumn
from typer import Option

import possibleworlds
from possibleworlds.cli import console
from possibleworlds.cli.console import Bars, log
from possibleworlds.data.files import (
    count_lines,
    data_files,
    fingerprint,
    raw_lines,
    read,
    shown_name,
)
from possibleworlds.data.pairs import Pairs
from possibleworlds.data.user_pairs import is_user_line, variable_names
from possibleworlds.display import duration
from possibleworlds.errors import UserError, install_command
from possibleworlds.models.registry import entries, names
from possibleworlds.storage import read_json, sha256
from possibleworlds.training.checkpoint import RUN, SHIPPED, find_run, read_run
from possibleworlds.training.evaluation import Bin, Evaluation

app = typer.Typer(rich_markup_mode="markdown")
FILES_BY_SIZE = 3
"""How many files are compared by size at most, so that the table fits into 80 columns."""
SAMPLE = 16
"""How many pairs are evaluated to estimate how long a file will take."""
LARGER_SAMPLE = 96
"""The same if pairs are fast."""
SECONDS_TO_ANNOUNCE = 20


@app.command()
def train(
    model: Annotated[str, console.MODEL],
    data: Annotated[Path, console.DATA],
    run: Annotated[Path, Option("--out", metavar="RUN", help="The folder of the run.")],
    preset: Annotated[
        Literal["best"] | None, Option(help="The pretrained network's settings.")
    ] = None,
    epochs: Annotated[
        float | None, Option(help="Length of training: passes over the data.")
    ] = None,
    minutes: Annotated[float | None, Option(help="Length of training, instead of epochs.")] = None,
    settings: Annotated[
        list[str] | None, Option("--set", metavar="NAME=VALUE", help="Change any setting.")
    ] = None,
    side: Annotated[Literal["left", "right"] | None, Option(help="Hide the other formula.")] = None,
    seed: Annotated[
        int | None, Option(min=0, max=2**62, help="Same seed, same weights; default 0.")
    ] = None,
    device: Annotated[str, Option(help="A device of PyTorch.")] = "cpu",
    resume: Annotated[bool, Option("--resume", help="Continue a run.")] = False,
    tensorboard: Annotated[
        bool, Option("--tensorboard", help="Write events for TensorBoard as well.")
    ] = False,
) -> None:
    """Train a network and keep the weights of its best validation step.

    `possibleworlds models` lists the networks, and `--set` changes any of their settings. Ctrl-C
    saves the run, and --resume continues it. A larger --epochs extends a finished run.

    Examples:

        possibleworlds train treenet --data data --out runs/treenet --minutes 5

        possibleworlds train possibleworldnet --data data --out runs/pwn --set worlds=64

        possibleworlds train guidedworldnet --preset best --data data --out runs/guided
    """
    from possibleworlds.integrations.tensorboard import event_writer
    from possibleworlds.training.loop import Trainer
    from possibleworlds.training.pipeline import Job, run_job
    from possibleworlds.training.settings import check_length

    if minutes == 0:
        raise UserError("--minutes 0 trains nothing")
    if resume and not (run / RUN).exists():
        log(f"{run} holds no run yet; starting a new one")
    values: dict[str, Any] = {}
    if preset:
        if model not in names() or not (SHIPPED / model).is_dir():
            raise UserError(f"there is no pretrained {model}")
        record = read_run(SHIPPED / model)
        values = record.flat_settings
        seed = record.seed if seed is None else seed
        if record.data != fingerprint(data):
            log("the pretrained network was trained on different data")
    chosen = {}
    for text in settings or []:
        if "=" not in text:
            raise UserError(f"--set {text}: a setting is written as name=value")
        setting, _, chosen_value = text.partition("=")
        chosen[setting] = chosen_value
    for name, value in {"epochs": epochs, "minutes": minutes, "side": side}.items():
        if value is not None and chosen.setdefault(name, str(value)) != str(value):
            raise UserError(f"--{name} {value} and --set {name}={chosen[name]}; give one of them")
    check_length(chosen)
    job = Job(model, data, run, values | chosen, seed, device, resume)
    write_event = event_writer(run) if tensorboard else lambda _: None
    bars = Bars(TextColumn("{task.fields[text]}"))

    def show(trainer: Trainer) -> None:
        state = trainer.progress
        speed = state.step * trainer.settings.batch_size / max(state.seconds, 1e-9)
        text = f"step {state.step:,}  loss {state.loss:.3f}  {speed:,.0f} pairs/s"
        bars.show("training", trainer.fraction_done, 1.0, text)  # at most 80 columns in total

    def write(trainer: Trainer) -> None:
        line = trainer.progress.history[-1]
        write_event(line)
        text = f"step {line.step:>8,}  loss {line.loss:.4f}  accuracy {line.accuracy:.2%}"
        log(f"{text}  validation {line.validation:.2%}")

    with console.resumable("--resume continues the run"), bars:
        best = run_job(job, show, write).metrics
    log(f"{run}: best validation accuracy {best.validation:.2%}, at step {best.best_step:,}")


@app.command()
def evaluate(
    run: console.RunArgument,
    paths: Annotated[list[Path] | None, console.FILES_ARGUMENT] = None,
    worlds: console.Worlds = None,
    steps: console.Steps = None,
    budget: console.SearchBudget = None,
    certify: console.Certify = False,
    endpoint: Annotated[
        str | None, Option(metavar="URL", help="Evaluate a language model at a chat endpoint.")
    ] = None,
    model: Annotated[str, Option(help="The language model's name at the endpoint.")] = "",
    folder: Annotated[
        Path | None,
        Option(
            "--out", metavar="RUN", help="Folder of its replies and results; default runs/NAME."
        ),
    ] = None,
    concurrency: Annotated[
        int | None, Option(min=1, max=256, help="Requests at a time; default 8.")
    ] = None,
    max_tokens: Annotated[
        int | None, Option(min=1, help="The most tokens of its reply; default 2048.")
    ] = None,
    trust: console.Trust = False,
    as_json: console.Json = False,
) -> None:
    """Evaluate a network: accuracy with a 95 % interval, in total and by size of the pairs.

    Accuracy by size is shown for up to three files; --json always has it.
    With --certify, the search for a countermodel visits up to four times as many worlds.

    Examples:

        possibleworlds evaluate runs/treenet data/test_easy.txt data/test_hard.txt

        possibleworlds evaluate guidedworldnet data/test_exam.txt --certify

        possibleworlds evaluate guidedworldnet data/test_massive.txt --budget 4000

        possibleworlds evaluate --endpoint http://127.0.0.1:8000/v1 --model NAME data/test_exam.txt
    """
    if endpoint:
        if certify or any(option is not None for option in (worlds, steps, budget)):
            raise UserError("a language model has no worlds, so --endpoint excludes their options")
        files = data_files([Path(run), *(paths or [])])
        limits = {"concurrency": concurrency, "max_tokens": max_tokens}
        results = evaluate_endpoint(files, endpoint, model, folder, limits)
        print_evaluations(results, as_json=as_json)
        return
    of_endpoint = {"model": model or None, "out": folder, "concurrency": concurrency}
    of_endpoint["max-tokens"] = max_tokens
    for name, value in of_endpoint.items():
        if value is not None:
            raise UserError(f"--{name} is for a language model at an --endpoint")
    if not paths:
        raise UserError("no data files to evaluate on")
    network = possibleworlds.load(run, trust=trust)
    network.options(worlds, steps, budget)
    run_on = partial(network.evaluate, worlds=worlds, steps=steps, budget=budget, certify=certify)
    files = data_files(paths)
    short = console.short_names(files)
    trained_on = read_run(find_run(run)).data.values()
    results = {}
    try:
        with Bars() as bars:
            for path in files:
                pairs = read(path)  # rejects a pipe, on which computing the hash could hang
                if sha256(path) in trained_on:
                    log(f"{short[path]}: the network was trained or selected on this file")
                announce(short[path], pairs, run_on)
                results[path] = run_on(pairs, progress=bars.counter(short[path], len(pairs)))
                if as_json:
                    print_evaluations({path: results[path]}, certify, as_json)
    except KeyboardInterrupt:
        if results and not as_json:
            print_evaluations(results)
        log(f"interrupted; {len(results)} of {len(files)} files were evaluated")
        raise typer.Exit(130) from None
    if not as_json:
        print_evaluations(results)


def evaluate_endpoint(
    files: list[Path], url: str, model: str, folder: Path | None, limits: dict[str, int | None]
) -> dict[Path, Evaluation]:
    """Evaluate a language model at a chat endpoint, into a folder that `report` reads as a run.

    Replies that the folder already contains are not requested again.
    """
    from possibleworlds.integrations import chat, chat_run

    chosen = {name: limit for name, limit in limits.items() if limit is not None}
    endpoint = chat.Endpoint(url, model, **chosen)
    endpoint.validate()
    run = folder or Path("runs") / re.sub(r"^\.+|[^\w.-]+", "-", model)  # never ".."
    chat_run.check_folder(run, endpoint)
    names = console.short_names(files)
    advice = f"the replies are in {run}; the same command continues"
    evaluations, results = {}, []
    with console.stoppable(advice) as stop, Bars() as bars:
        cache = chat.ReplyCache(run / chat_run.REPLIES)
        for file in files:
            advance = bars.counter(names[file], count_lines(file))
            evaluations[file], result = chat_run.evaluate_file(
                endpoint, file, run, cache, advance, stop
            )
            results.append(result)
    unreadable = sum(result.unreadable for result in results)
    prompts = sum(result.prompt_tokens for result in results)
    replies = sum(result.completion_tokens for result in results)
    log(f"{unreadable:,} replies could not be read, and count as wrong")
    log(f"{prompts:,} tokens of prompts, {replies:,} of replies")
    log(f"kept in {run}; `possibleworlds report` treats it like a run")
    return evaluations


def announce(name: str, pairs: Pairs, evaluate_on: Callable[[Pairs], Evaluation]) -> None:
    """Print how long a long evaluation will take, estimated from samples of all sizes."""
    if len(pairs) < 10 * SAMPLE:
        return

    def estimate(rows: int) -> float:
        every = max(len(pairs) // rows, 1)
        sample = Pairs.of((p.a, p.b, p.label) for p in pairs[::every])  # without unused formulas
        start = time.perf_counter()
        evaluate_on(sample)
        return (time.perf_counter() - start) * len(pairs) / len(sample)

    first = estimate(SAMPLE)
    if first <= SECONDS_TO_ANNOUNCE:
        return
    # The first call includes one-time setup, and a small batch much overhead per call.
    is_fast = first * SAMPLE / len(pairs) < 1
    seconds = estimate(LARGER_SAMPLE if is_fast else SAMPLE)
    if seconds > SECONDS_TO_ANNOUNCE:
        log(f"{name}: about {duration(seconds)}")


def print_evaluations(
    results: dict[Path, Evaluation], certify: bool = False, as_json: bool = False
) -> None:
    """Print the accuracy on each file, in total and, of few files, by size of the pairs."""
    if as_json:
        for path, result in results.items():
            request = {"file": shown_name(path), "certified": certify}
            console.print_json(request | result.to_json())
        return
    short = console.short_names(results)
    lines = []
    for path, result in results.items():
        low, high = result.interval
        accuracy = f"{result.accuracy:.2%}", f"{low:.2%} - {high:.2%}"
        all_four = "-" if result.all_four is None else f"{result.all_four:.2%}"
        lines.append((short[path], f"{result.rows:,}", *accuracy, all_four))
    console.print_table(("file", "rows", "accuracy", "95 % interval", "all four right"), lines)
    if len(results) > FILES_BY_SIZE:
        log(f"accuracy by size: with --json, or for at most {FILES_BY_SIZE} files at a time")
        return
    titles = [short[path].removesuffix(".txt") for path in results]
    for size in ("variables", "operators"):
        print()
        print_by_size(size, titles, [getattr(result, f"by_{size}") for result in results.values()])


def print_by_size(unit: str, titles: list[str], columns: list[dict[str, Bin]]) -> None:
    """Print accuracy by the size of a pair: one row for each size, one column for each file."""
    sizes = {size: None for column in columns for size in column}
    lines = []
    for size in sorted(sizes, key=lambda text: int(text.split("-")[0])):
        cells = [column.get(size) for column in columns]
        lines.append((size, *(f"{c.accuracy:.1%} of {c.rows:>4}" if c else "" for c in cells)))
    console.print_table((f"{unit} of a pair", *titles), lines)


@app.command()
def predict(
    run: console.RunArgument,
    paths: console.Files,
    worlds: console.Worlds = None,
    steps: console.Steps = None,
    budget: console.SearchBudget = None,
    certify: console.Certify = False,
    trust: console.Trust = False,
    as_json: console.Json = False,
) -> None:
    """Print the probability that A entails B, one line for each row of data.

    With --certify a line is "yes", or "no" with a checked countermodel.

    Examples:

        possibleworlds predict runs/treenet data/test_exam.txt

        possibleworlds predict guidedworldnet data/test_exam.txt --certify
    """
    network = possibleworlds.load(run, trust=trust)
    options = network.options(worlds, steps, budget)

    from possibleworlds.training.batches import Dataset, row_log_probabilities
    from possibleworlds.training.certificate import certify as find_countermodels
    from possibleworlds.training.loop import single_thread

    for file in data_files(paths):
        data, model = Dataset(read(file)), network.model
        answers: list[dict[str, Any]]
        with single_thread(), Bars() as bars:
            advance = bars.counter(shown_name(file), len(data))
            if certify:
                countermodels = find_countermodels(model, data, progress=advance, options=options)
                answers = [
                    {"entails": c is None, "countermodel": c and in_names_of(line, c)}
                    for c, line in zip(countermodels, raw_lines(file), strict=True)
                ]
            else:
                log_probs = row_log_probabilities(model, data, progress=advance, options=options)
                answers = [{"probability": p} for p in np.exp(log_probs[:, 1]).tolist()]
        for line, answer in enumerate(answers, 1):
            if as_json:
                console.print_json({"file": shown_name(file), "line": line, **answer})
            elif not certify:
                print(f"{answer['probability']:.6f}")
            elif answer["entails"]:
                print("yes")
            else:
                print(f"no: {console.in_words(answer['countermodel'])}")


def in_names_of(line: str, assignment: dict[str, bool]) -> dict[str, bool]:
    """Rename the variables of an assignment as they are in a line of data."""
    if not is_user_line(line):
        return assignment
    names = variable_names(line)
    return {names[letter]: value for letter, value in assignment.items() if letter in names}


@app.command()
def models(as_json: console.Json = False) -> None:
    """List the networks, with their accuracy in the paper and that of the pretrained ones.

    Example: `possibleworlds models`
    """
    lines: list[dict[str, Any]] = []
    for name, entry in entries().items():
        record = read_json(SHIPPED / name / RUN)
        paper = {split: round(percent / 100, 6) for split, percent in entry.published.items()}
        line: dict[str, Any] = {"name": name, "summary": entry.summary, "citation": entry.citation}
        line["paper"] = paper or None
        line["pretrained"] = record.get("accuracy", {}).get("published")
        line["parameters"] = record["metrics"]["parameters"] if record else None
        lines.append(line)
    if as_json:
        console.print_json(*lines)
        return
    rows = []
    for line in lines:
        sources = line["paper"], line["pretrained"]
        validation = [f"{100 * s['validate']:.1f}" if s else "-" for s in sources]
        parameters = f"{line['parameters']:,}" if line["parameters"] else "-"
        rows.append((line["name"], *validation, parameters, line["summary"]))
    console.print_table(("network", "paper", "ours", "params", ""), rows)
    print("Accuracy on the published validation set in percent: in the network's paper,")
    print("and of the pretrained network, whose parameters are counted.")
    if find_spec("torch"):
        from possibleworlds.models.trees import native

        print(f"Engine of networks with worlds, LSTMs and tree networks: {native.describe()}.")
    else:
        print(f"To use them: {install_command('train')}")
