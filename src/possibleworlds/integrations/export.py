"""Export data and trained networks to the formats of other tools."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from possibleworlds.data.files import data_files, read_watched
from possibleworlds.errors import UserError, missing_package
from possibleworlds.integrations import solvers

Format = Literal["hf", "dimacs", "graph", "jsonl", "model"]


Watch = Callable[[Path], Callable[[int], None]]
"""Takes a data file, and returns a function to call with the number of further rows done."""


def export(
    form: Format, source: Path, target: Path, watch: Watch = lambda _: lambda _: None
) -> int | None:
    """Export data into a folder and return the number of rows, or export a network."""
    if form in ("hf", "model"):
        try:
            return export_for_hub(form, source, target, watch)
        except ModuleNotFoundError as error:
            extras = "huggingface,train" if form == "model" else "huggingface"
            raise missing_package(error.name, extras) from None
    files = data_files([source])
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{target}: {error.strerror}") from None
    rows = 0
    for file in files:
        pairs = read_watched(file, watch(file))
        if form == "dimacs":
            rows += solvers.write_dimacs(pairs, target / file.stem)
        elif form == "graph":
            rows += solvers.write_graphs(pairs, target / f"{file.stem}.npz")
        else:
            rows += solvers.write_jsonl(pairs, target / f"{file.stem}.jsonl")
    return rows


def export_for_hub(form: Format, source: Path, target: Path, watch: Watch) -> int | None:
    """Write data or a network for the Hugging Face Hub; return the number of rows of data."""
    if form == "model":
        from possibleworlds.integrations.hub import export_network

        export_network(source, target)
        return None
    from possibleworlds.integrations.huggingface import export_dataset

    files = data_files([source])
    statistics = export_dataset(files, target, lambda file: read_watched(file, watch(file)))
    return sum(line.rows for line in statistics.values())
