"""The splits of section 2.1 of the paper, and their generation in memory and in folders."""

import hashlib
import json
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import possibleworlds
from possibleworlds.data.exam import ENTAILMENTS
from possibleworlds.data.files import count_lines, format_rows, in_blocks, read_pairs
from possibleworlds.data.generation import (
    FREE,
    ROWS_TOGETHER,
    FreeMethod,
    PositiveInt,
    Prune,
    Pruner,
    Seed,
    Split,
    free_split,
    generate_pairs,
    generate_units,
)
from possibleworlds.data.groups import Bounds
from possibleworlds.data.pairs import Pairs
from possibleworlds.errors import UserError
from possibleworlds.parallel import OrderedMap, StopRequestedError, ordered_map, stop_requested
from possibleworlds.records import check_argument, from_json
from possibleworlds.storage import (
    atomic_write,
    exclusive_folder,
    is_temporary,
    read_json,
    removed_if_empty,
    sha256,
    write_json,
)

DATASET_FORMAT = 1
MANIFEST = "dataset.json"


TILT = 0.1
"""Compensates for the short pairs, equal up to renaming, that the paper's training data contains
and ours does not: with it, the mean numbers of variables and operators are those of the paper."""
TILT_OF_EASY = 0.2
"""With uniform numbers of operators, gives test (easy) the means of the published one, which has
more variables than the published validation set."""
TILT_OF_BIG = -0.2
"""Gives test (big) the means of Table 1, which uniform numbers of variables cannot."""
SEARCH_ROWS = 1 << 20
"""Gives conclusions of test (massive) as many variables as the published ones: the more variables,
the fewer B* are tried."""
MAX_SCALE = 1000
"""The largest scale of the paper's splits in memory: a hundred million training rows."""


def paper_layout(
    train: int, validate: int, easy: int, hard: int, big: int, massive: int
) -> tuple[Split, ...]:
    """Return the splits of the paper with these numbers of rows, in order of generation."""
    return (
        Split("test_exam", 2 * len(ENTAILMENTS), method="exam"),
        Split("train", train, tilt=TILT),
        Split("validate", validate, tilt=TILT),
        Split("test_easy", easy, tilt=TILT_OF_EASY, operator_tilt=0.0),
        Split("test_hard", hard, (1, 10), (15, 20)),
        Split("test_big", big, (1, 16), (11, 30), tilt=TILT_OF_BIG),
        Split("test_massive", massive, (20, 26), (20, 30), "mutated", search_rows=SEARCH_ROWS),
    )


PRESETS = {
    "paper": paper_layout(100_000, 5_000, 5_000, 5_000, 5_000, 2_230),
    "quick": paper_layout(20_000, 1_000, 1_000, 1_000, 1_000, 400),
    "small": paper_layout(2_000, 400, 400, 400, 400, 200),
}


def free_splits(
    rows: int,
    variables: Bounds | None = None,
    operators: Bounds | None = None,
    method: FreeMethod = "fourtuples",
    exact_variables: bool = False,
    clauses: int = 0,
) -> tuple[Split, ...]:
    """Return a training split, and validation and test splits of a twentieth of its size."""
    together = ROWS_TOGETHER[FREE[method].method]
    held_out = max(1, rows // 20 // together) * together
    sizes = {"train": rows, "validate": held_out, "test_easy": held_out}
    settings = variables, operators, method, exact_variables, clauses
    return tuple(free_split(name, size, *settings) for name, size in sizes.items())


def paper_splits(seed: int = 0, scale: float = 1.0, workers: int = 1) -> dict[str, Pairs]:
    """Generate the seven splits of the paper in memory, each at a fraction of its size.

    The exam, which is not sampled, is always complete.

    >>> splits = paper_splits(seed=0, scale=0.001)
    >>> {name: len(pairs) for name, pairs in splits.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'test_exam': 178, 'train': 100, 'validate': 4, 'test_easy': 4, 'test_hard': 4, 'test_big': 4,
     'test_massive': 2}
    """
    check_argument("seed", seed, Seed)
    check_argument("workers", workers, PositiveInt)
    check_argument("scale", scale, float)
    if not 0 < scale <= MAX_SCALE:
        raise UserError(f"scale {scale}: must be positive, and at most {MAX_SCALE}")
    sizes = {}
    for split in PRESETS["paper"]:
        if split.method != "exam":
            together = ROWS_TOGETHER[split.method]
            sizes[split.name] = max(1, round(scale * split.rows / together)) * together
    splits = paper_layout(*sizes.values())
    pruner = Pruner("formulas", splits)
    return {split.name: generate_pairs(split, seed, pruner, workers) for split in splits}


Report = Callable[[str, int, int], None]
"""Called with the name of a split, the number of rows written, and the total."""


def generate_folder(
    out: Path,
    splits: Sequence[Split],
    seed: int,
    workers: int = 1,
    force: bool = False,
    prune_against: Sequence[Path] = (),
    progress: Report = lambda *_: None,
    parallel_map: OrderedMap = ordered_map,
    prune: Prune = "formulas",
) -> dict[str, Any]:
    """Write a data set to a folder, completing an earlier run, and return its manifest."""
    for split in splits:
        split.validate()
    for path in prune_against:
        if out.resolve() in path.resolve().parents:
            raise UserError(f"{path} is in {out}, which is to be filled; prune against other files")
    identity = {
        "format": DATASET_FORMAT,
        "version": possibleworlds.__version__,
        "seed": seed,
        "prune": prune,
        "pruned_against": [{"file": p.name, "sha256": sha256(p)} for p in prune_against],
        "settings": json.loads(json.dumps([asdict(split) for split in splits])),
    }
    pruner = Pruner(prune, splits, sum(map(count_lines, prune_against)))
    with (
        removed_if_empty(out),
        exclusive_folder(out),
        opened_folder(out, identity, force) as manifest,
    ):
        finished = finished_files(out, splits, manifest)
        for path in prune_against:
            add_file(path, pruner)
        for split in splits:
            path = out / split.file
            if path in finished:
                add_file(path, pruner, split)
                progress(split.name, split.rows, split.rows)
                continue
            rows = generate_units(split, seed, pruner, workers, format_rows, parallel_map)
            manifest["splits"][split.name] = write_split(path, split, rows, progress)
            write_json(out / MANIFEST, manifest)
        return manifest


@contextmanager
def opened_folder(out: Path, identity: dict[str, Any], force: bool) -> Iterator[dict[str, Any]]:
    """Yield the manifest of a folder; after an error, remove it if there are no data."""
    manifest = open_folder(out, identity, force)
    try:
        yield manifest
    except UserError:
        if not manifest["splits"]:
            with suppress(OSError):
                (out / MANIFEST).unlink()
        raise


def finished_files(out: Path, splits: Sequence[Split], manifest: dict[str, Any]) -> set[Path]:
    """List the files of finished splits; raise UserError if one was changed since."""
    finished = set()
    for split in splits:
        path, done = out / split.file, manifest["splits"].get(split.name)
        if not done or not path.exists():
            continue
        if sha256(path) != done["sha256"]:
            advice = "delete it, or give --force, to generate it again"
            raise UserError(f"{path} was changed after it was generated; {advice}")
        finished.add(path)
    return finished


def write_split(path: Path, split: Split, rows: Iterable[str], progress: Report) -> dict[str, Any]:
    """Write the rows of a split to its file, and return its entry in the manifest."""
    digest, written = hashlib.sha256(), 0
    with stop_requested(signal.SIGINT) as stop, atomic_write(path) as file:
        for lines in rows:
            if stop():
                raise StopRequestedError
            file.write(lines)
            digest.update(lines.encode())
            written += ROWS_TOGETHER[split.method]
            if written % 100 == 0:
                progress(split.name, written, split.rows)
        progress(split.name, written, written)  # fewer than planned if the exam is pruned
    return {
        "file": split.file,
        "rows": written,
        "positive": written // 2,
        "sha256": digest.hexdigest(),
    }


def open_folder(out: Path, identity: dict[str, Any], force: bool) -> dict[str, Any]:
    """Read the manifest of a folder, or start an empty one if the folder may be filled."""
    try:
        content = sorted(path.name for path in out.iterdir() if not is_temporary(path))
        manifest = read_manifest(out) if MANIFEST in content and not force else None
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from None
    if manifest and {key: manifest.get(key) for key in identity} == identity:
        return manifest
    if content and not force:
        other = "another data set" if manifest else content[0]
        raise UserError(f"{out} holds {other}; --force overwrites it")
    try:
        for split in PRESETS["paper"]:
            (out / split.file).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{out / split.file}: {error.strerror}") from None
    manifest = {**identity, "splits": {}}
    write_json(out / MANIFEST, manifest)
    return manifest


@dataclass(frozen=True)
class ManifestFile:
    """A file that a manifest names."""

    file: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The part of a manifest that is validated."""

    seed: int
    settings: list[Split]
    splits: dict[str, ManifestFile]
    pruned_against: list[ManifestFile]
    prune: Prune


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and validate the manifest of a data set."""
    path = folder / MANIFEST
    if not path.exists():
        raise UserError(f"{folder} is not a data set: it has no {MANIFEST}")
    try:
        manifest = read_json(path)
        for split in from_json(manifest, Manifest, str(path)).settings:
            split.validate()
    except UserError:
        raise UserError(
            f"{path} cannot be read; generate --force overwrites the data set"
        ) from None
    return manifest


def add_file(path: Path, pruner: Pruner, split: Split | None = None) -> None:
    """Prune against a file, of a split that was generated before or from elsewhere."""
    for block in in_blocks(read_pairs(path)):
        pruner.add_pairs(block, split)
