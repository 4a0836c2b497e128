"""The commands `train`, `evaluate`, `predict` and `models`."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from possibleworlds.cli.console import (
    Certify,
    Json,
    Steps,
    Worlds,
    columns,
    err,
    in_words,
    interrupted,
    load_run,
    new_group,
    out,
    print_json,
    progress_bars,
)
from possibleworlds.errors import UserError
from possibleworlds.parallel import StopRequestedError

if TYPE_CHECKING:
    from possibleworlds.training.evaluation import Bin

app = new_group()


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
    from possibleworlds.data.files import fingerprint
    from possibleworlds.training.checkpoint import RUN, flat_settings
    from possibleworlds.training.loop import Job, Trainer
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
        given = flat_settings(ready)
        seed = ready["seed"] if seed is None else seed
        if ready["data"] != fingerprint(data):
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
    from possibleworlds.data.files import data_files, read
    from possibleworlds.training.batches import Dataset
    from possibleworlds.training.evaluation import Evaluation

    predictor = load_run(run, worlds, steps)
    found: dict[Path, Evaluation] = {}
    with progress_bars() as progress:
        for path in data_files(paths):
            data = Dataset(read(path))
            advance = partial(progress.advance, progress.add_task(path.name, total=len(data)))
            answers = predictor.answers(data, certify, advance)
            found[path] = Evaluation.of(answers == data.pairs.label, data.pairs)
    if as_json:
        for path, result in found.items():
            print_json({"file": str(path), "certified": certify, **result.to_json()})
        return
    table = columns("file", "rows", "accuracy", "95 % interval")
    for path, result in found.items():
        low, high = result.interval
        shown = f"{result.accuracy:.2%}", f"{low:.2%} - {high:.2%}"
        table.add_row(Text(str(path)), f"{result.rows:,}", *shown)
    out.print(table)
    names = short_names(found)
    for what in ("variables", "operators"):
        out.print()
        bins = {names[path]: getattr(one, f"by_{what}") for path, one in found.items()}
        out.print(by_size(what, bins))


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """Names that tell files apart: with their folder only where there is need for it."""
    for parts in (1, 2):
        names = {path: "/".join(path.with_suffix("").parts[-parts:]) for path in paths}
        if len(set(names.values())) == len(names):
            return names
    return {path: str(path) for path in paths}


def by_size(what: str, found: "dict[str, dict[str, Bin]]") -> Table:
    """Accuracy by the size of a pair: a line for each size, a column for each file."""
    table = columns(f"{what} of a pair", *found)
    sizes = {size: None for parts in found.values() for size in parts}
    for size in sorted(sizes, key=lambda text: int(text.split("-")[0])):
        cells = [parts.get(size) for parts in found.values()]
        table.add_row(size, *(f"{c.accuracy:.1%} of {c.rows:>4}" if c else "" for c in cells))
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

    from possibleworlds.data.files import data_files, read
    from possibleworlds.training import certificate
    from possibleworlds.training.batches import Dataset
    from possibleworlds.training.evaluation import log_probabilities

    network = load_run(run, worlds, steps)
    model, options = network.model, network.options
    for file in data_files(paths):
        data = Dataset(read(file))
        answers: list[tuple[dict[str, Any], str]]
        with progress_bars() as progress:
            advance = partial(progress.advance, progress.add_task(file.name, total=len(data)))
            if certify:
                answers = [
                    (
                        {"entails": found is None, "countermodel": found},
                        "yes" if found is None else f"no: {in_words(found)}",
                    )
                    for found in certificate.certify(model, data, progress=advance, options=options)
                ]
            else:
                log_probs = log_probabilities(model, data, progress=advance, options=options)
                probabilities = np.exp(log_probs[:, 1]).tolist()
                answers = [({"probability": p}, f"{p:.6f}") for p in probabilities]
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
    from possibleworlds.models.trees import native
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
                "engine": kind.engine("cpu"),
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
    out.print(f"Networks with worlds run on the {native.describe()} engine here.")
