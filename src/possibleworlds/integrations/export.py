"""Data and trained networks written for other tools, by the name of a format."""

from pathlib import Path
from typing import Literal

from possibleworlds.data.files import data_files, read_pairs
from possibleworlds.errors import UserError
from possibleworlds.integrations import solvers

Format = Literal["hf", "dimacs", "graph", "jsonl", "model"]


def export(form: Format, source: Path, target: Path) -> int | None:
    """Fill a folder with data, and return their rows; or with a network, and return None."""
    if form in ("hf", "model"):
        try:
            return export_for_hub(form, source, target)
        except ModuleNotFoundError as error:
            extra = "pip install 'possibleworlds[huggingface]'"
            raise UserError(f"{error.name} is missing: {extra}") from None
    files = data_files([source])
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{target}: {error.strerror}") from None
    if form == "dimacs":
        return sum(solvers.write_dimacs(read_pairs(f), target / f.stem) for f in files)
    if form == "graph":
        return sum(solvers.write_graphs(read_pairs(f), target / f"{f.stem}.npz") for f in files)
    return sum(solvers.write_jsonl(read_pairs(f), target / f"{f.stem}.jsonl") for f in files)


def export_for_hub(form: Format, source: Path, target: Path) -> int | None:
    """Write data or a network for the Hugging Face Hub; return the rows of data."""
    if form == "model":
        from possibleworlds.integrations.hub import export_network

        export_network(source, target)
        return None
    from possibleworlds.integrations.huggingface import export_dataset

    return sum(line.rows for line in export_dataset(data_files([source]), target).values())
