"""The seven splits of section 2.1: what is in each, and how they are made and pruned."""

import hashlib
import json
import signal
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

import possibleworlds
from possibleworlds.data.exam import ENTAILMENTS, exam_pairs
from possibleworlds.data.files import count_lines, format_rows, in_blocks, read_pairs
from possibleworlds.data.fourtuples import four_tuples
from possibleworlds.data.groups import Range, sample_groups
from possibleworlds.data.keys import pair_keys
from possibleworlds.data.mutate import mutated_pairs
from possibleworlds.data.naive import naive_pairs
from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.parallel import OrderedMap, StopRequestedError, ordered_map, stop_requested
from possibleworlds.storage import atomic_write, exclusive_folder, sha256

Method = Literal["fourtuples", "naive", "mutated", "exam"]

ROWS_TOGETHER = {"fourtuples": 4, "naive": 2, "mutated": 2, "exam": 2}
LARGEST_BLOCK = {"fourtuples": 128, "naive": 128, "mutated": 16}
"""How many groups are made at once; fewer for a small split."""
FRUITLESS_BLOCKS = 20
"""After this many blocks of groups without a new row, there are no more to be found."""
FORMAT = 1
MANIFEST = "dataset.json"


@dataclass(frozen=True)
class Split:
    """What one split holds."""

    name: str
    rows: int
    variables: Range = (1, 10)
    operators: Range = (1, 10)
    method: Method = "fourtuples"

    @property
    def file(self) -> str:
        """The name of the split's file."""
        return f"{self.name}.txt"

    def validate(self) -> None:
        """Complain of settings that no data can have."""
        low, high = self.variables
        if not 1 <= low <= high <= len(LETTERS):
            raise UserError(f"variables {low}-{high}: must be a range within 1-{len(LETTERS)}")
        low, high = self.operators
        if not 0 <= low <= high <= 1000:
            raise UserError(f"operators {low}-{high}: must be a range within 0-1000")
        together = ROWS_TOGETHER[self.method]
        if self.rows < together or self.rows % together:
            raise UserError(
                f"{self.rows} rows: {self.method!r} needs a positive multiple of {together}"
            )


def paper_splits(
    train: int, validate: int, easy: int, hard: int, big: int, massive: int
) -> tuple[Split, ...]:
    """The splits of the paper, in the order in which they are made, with the given sizes."""
    return (
        Split("test_exam", 2 * len(ENTAILMENTS), method="exam"),
        Split("train", train),
        Split("validate", validate),
        Split("test_easy", easy),
        Split("test_hard", hard, (5, 10), (15, 20)),
        Split("test_big", big, (1, 20), (10, 30)),
        Split("test_massive", massive, (20, 26), (20, 30), "mutated"),
    )


PRESETS = {
    "paper": paper_splits(100_000, 5_000, 5_000, 5_000, 5_000, 2_230),
    "quick": paper_splits(20_000, 1_000, 1_000, 1_000, 1_000, 400),
    "small": paper_splits(2_000, 400, 400, 400, 400, 200),
}


def free_splits(rows: int, variables: Range, operators: Range, method: Method) -> tuple[Split, ...]:
    """A training split with any settings, and a twentieth of it to validate and to test with."""
    together = ROWS_TOGETHER[method]
    held_out = max(1, rows // 20 // together) * together
    sizes = {"train": rows, "validate": held_out, "test_easy": held_out}
    return tuple(Split(name, size, variables, operators, method) for name, size in sizes.items())


class Seen:
    """A set of positive 64-bit keys, about 20 bytes each: open addressing in one array."""

    def __init__(self, capacity: int) -> None:
        self.mask = (1 << max(4, (2 * capacity).bit_length())) - 1
        self.slots = array("Q", bytes(8)) * (self.mask + 1)

    def add_new(self, keys: Iterable[int]) -> bool:
        """Add the keys if they differ and none is in the set; whether they were added."""
        slots, mask = self.slots, self.mask
        placed: list[int] = []
        for key in keys:
            place = key & mask
            while slots[place] and slots[place] != key:
                place = (place + 1) & mask
            if slots[place]:
                for undone in placed:
                    slots[undone] = 0
                return False
            slots[place] = key
            placed.append(place)
        return True


Block = list[tuple[str, list[int]]]
"""Units of rows that stay together: their lines, and the key of each row."""


def make_block(split: Split, seed: int, number: int) -> Block:
    """The rows of some groups; the same for the same seed and number, wherever it runs."""
    if split.method == "exam":
        seed = 0  # the exam is the same for everybody
    rng = np.random.default_rng([seed, zlib.crc32(split.name.encode()), number])
    if split.method == "exam":
        units = exam_pairs(rng)
    else:
        size = min(LARGEST_BLOCK[split.method], 4 + split.rows // 16)
        groups = sample_groups(rng, size, split.variables, split.operators)
        match split.method:
            case "fourtuples":
                found = [unit for group in groups for unit in four_tuples(group)]
            case "mutated":
                found = [unit for group in groups for unit in mutated_pairs(group, rng)]
            case "naive":
                found = naive_pairs(groups)
        units = [found[i] for i in rng.permutation(len(found))]
    keys = iter(pair_keys((a, b) for unit in units for a, b, _ in unit))
    return [(format_rows(unit), list(islice(keys, len(unit)))) for unit in units]


def make_rows(
    split: Split, seed: int, seen: Seen, workers: int, spread: OrderedMap = ordered_map
) -> Iterator[str]:
    """The lines of a split, a unit at a time: no pair seen before, up to renaming, none twice."""
    missing, fruitless = split.rows, 0
    for block in spread(partial(make_block, split, seed), count(), workers):
        before = missing
        for lines, keys in block:
            if not seen.add_new(keys):
                continue
            yield lines
            missing -= len(keys)
            if not missing:
                return
        if split.method == "exam":
            return
        fruitless = fruitless + 1 if missing == before else 0
        if fruitless == FRUITLESS_BLOCKS:
            raise UserError(
                f"{split.name}: only {split.rows - missing} of {split.rows} rows are to be found, "
                "different up to renaming, with these variables and operators"
            )


Report = Callable[[str, int, int], None]
"""What is told of each split how many of its rows are written, of how many."""


def generate_folder(
    out: Path,
    splits: Sequence[Split],
    seed: int,
    workers: int = 1,
    force: bool = False,
    prune_against: Sequence[Path] = (),
    progress: Report = lambda *_: None,
    spread: OrderedMap = ordered_map,
) -> dict[str, Any]:
    """Write a data set into a folder, finishing what an earlier run left, and describe it."""
    for split in splits:
        split.validate()
    identity = {
        "format": FORMAT,
        "version": possibleworlds.__version__,
        "seed": seed,
        "pruned_against": [{"file": p.name, "sha256": sha256(p)} for p in prune_against],
        "settings": json.loads(json.dumps([asdict(split) for split in splits])),
    }
    seen = Seen(sum(split.rows for split in splits) + sum(map(count_lines, prune_against)))
    with exclusive_folder(out):
        manifest = open_folder(out, identity, force)
        for path in prune_against:
            remember(path, seen)
        for split in splits:
            path = out / split.file
            done = manifest["splits"].get(split.name)
            if done and path.exists() and sha256(path) == done["sha256"]:
                remember(path, seen)
                progress(split.name, split.rows, split.rows)
                continue
            rows = make_rows(split, seed, seen, workers, spread)
            manifest["splits"][split.name] = write_split(path, split, rows, progress)
            write_manifest(out, manifest)
        return manifest


def write_split(path: Path, split: Split, rows: Iterable[str], progress: Report) -> dict[str, Any]:
    """Write the rows of a split to its file, and describe it."""
    digest, written = hashlib.sha256(), 0
    with stop_requested(signal.SIGINT) as stop, atomic_write(path) as file:
        for lines in rows:
            if stop():
                raise StopRequestedError
            file.write(lines)
            digest.update(lines.encode())
            written += ROWS_TOGETHER[split.method]
            if written % 100 == 0 or written == split.rows:
                progress(split.name, written, split.rows)
    return {
        "file": split.file,
        "rows": written,
        "positive": written // 2,
        "sha256": digest.hexdigest(),
    }


def open_folder(out: Path, identity: dict[str, Any], force: bool) -> dict[str, Any]:
    """The description of what is in the folder already, or of nothing where it may be filled."""
    try:
        inside = sorted(path.name for path in out.iterdir() if path.suffix != ".part")
        manifest = read_manifest(out) if MANIFEST in inside and not force else None
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from None
    if manifest and {key: manifest.get(key) for key in identity} == identity:
        return manifest
    if inside and not force:
        what = "another data set" if manifest else inside[0]
        raise UserError(f"{out} holds {what}; --force overwrites it")
    try:
        for split in PRESETS["paper"]:
            (out / split.file).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{out / split.file}: {error.strerror}") from None
    manifest = {**identity, "splits": {}}
    write_manifest(out, manifest)
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """The description of a data set, checked."""
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        files = [*manifest["splits"].values(), *manifest["pruned_against"]]
        named = [file[key] for file in files for key in ("file", "sha256")]
        splits = [Split(**settings) for settings in manifest["settings"]]
        for split in splits:
            split.validate()
        if not all(isinstance(text, str) for text in [*named, *(split.name for split in splits)]):
            raise TypeError
        int(manifest["seed"])
    except FileNotFoundError:
        raise UserError(f"{folder} is not a data set: it has no {MANIFEST}") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, UserError, RecursionError):
        raise UserError(
            f"{path} cannot be read; generate --force overwrites the data set"
        ) from None
    return manifest


def write_manifest(out: Path, manifest: dict[str, Any]) -> None:
    """Put the description of a data set beside it."""
    with atomic_write(out / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=2) + "\n")


def remember(path: Path, seen: Seen) -> None:
    """Take every pair of a file as seen."""
    for pairs in in_blocks(read_pairs(path)):
        for key in pair_keys((pair.a, pair.b) for pair in pairs):
            seen.add_new([key])
