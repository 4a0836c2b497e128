"""Export data sets for the Hugging Face Hub; uploading is up to you.

possibleworlds export hf data OUT        Parquet, a data card and Croissant metadata
hf upload NAME OUT --repo-type dataset
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import mlcroissant as mlc
import pyarrow as pa
import pyarrow.parquet as pq

import possibleworlds
from possibleworlds.data.files import read_pairs
from possibleworlds.data.pairs import Pair
from possibleworlds.data.statistics import SplitStatistics, split_statistics
from possibleworlds.integrations.cards import COLUMN_DESCRIPTIONS, PAPER, data_card, split_names
from possibleworlds.integrations.solvers import record
from possibleworlds.storage import atomic_write, sha256, write_json, write_text

TYPES = {
    **dict.fromkeys(("A", "B"), (pa.string(), mlc.DataType.TEXT)),
    **dict.fromkeys(("E", "H1", "H2", "H3"), (pa.int8(), mlc.DataType.INTEGER)),
    "label": (pa.bool_(), mlc.DataType.BOOL),
}
"""The type of each column, in Parquet and in Croissant."""
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in TYPES.items()])
ROWS_PER_TABLE = 10_000
LICENCE = "https://www.apache.org/licenses/LICENSE-2.0"


def export_dataset(
    files: Sequence[Path], out: Path, pairs_of: Callable[[Path], Iterable[Pair]] = read_pairs
) -> dict[str, SplitStatistics]:
    """Write data files as Parquet, with a data card and Croissant metadata; return statistics."""
    names = split_names(files)
    (out / "data").mkdir(parents=True, exist_ok=True)
    statistics = {}
    for file in files:
        write_parquet(pairs_of(file), parquet_of(out, file.stem))
        statistics[file.stem] = split_statistics(read_pairs(file))
    write_text(out / "README.md", data_card(files, statistics))
    metadata = croissant(out, names)
    write_json(out / "croissant.json", metadata)
    return statistics


def parquet_of(out: Path, split: str) -> Path:
    """Return the path of the Parquet file of a split."""
    return out / "data" / f"{split}-00000-of-00001.parquet"


def write_parquet(pairs: Iterable[Pair], path: Path) -> None:
    """Write pairs as Parquet, in chunks."""
    with atomic_write(path, binary=True) as file, pq.ParquetWriter(file, SCHEMA) as writer:
        rows: list[dict[str, Any]] = []
        for pair in pairs:
            rows.append(record(pair))
            if len(rows) == ROWS_PER_TABLE:
                writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
                rows.clear()
        if rows:
            writer.write_table(pa.Table.from_pylist(rows, SCHEMA))


def croissant(out: Path, splits: Sequence[str]) -> dict[str, Any]:
    """Describe the Parquet files in Croissant."""
    distribution = [
        mlc.FileObject(
            id=f"{split}.parquet",
            name=f"{split}.parquet",
            content_url=str(parquet_of(out, split).relative_to(out)),
            encoding_formats=["application/x-parquet"],
            sha256=sha256(parquet_of(out, split)),
        )
        for split in splits
    ]
    record_sets = [
        mlc.RecordSet(
            id=split,
            name=split,
            fields=[
                mlc.Field(
                    id=f"{split}/{column}",
                    name=column,
                    description=about,
                    data_types=TYPES[column][1],
                    source=mlc.Source(
                        file_object=f"{split}.parquet", extract=mlc.Extract(column=column)
                    ),
                )
                for column, about in COLUMN_DESCRIPTIONS.items()
            ],
        )
        for split in splits
    ]
    metadata = mlc.Metadata(
        name="propositional-entailment",
        description="Pairs of propositional formulas, and whether the first entails the second",
        license=LICENCE,
        url=PAPER,
        version=possibleworlds.__version__,
        cite_as="Evans et al., Can Neural Networks Understand Logical Entailment?, ICLR 2018",
        distribution=distribution,
        record_sets=record_sets,
    )
    described: dict[str, Any] = metadata.to_json()
    return described
