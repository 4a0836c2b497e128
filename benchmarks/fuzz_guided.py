"""Inputs guided by coverage, by Atheris: formulas, data files, JSON records and replies.

    pip install atheris
    python benchmarks/fuzz_guided.py --inputs 1000000 --state fuzz.json

The first byte of an input says which reader gets the rest. Each must end in a value or in an error
of one clear line, as in fuzz.py, whose counts these are added to; anything else ends the program,
and Atheris shows the input. The inputs that reached new code are kept in the folder --corpus.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import atheris
from counts import cpu_seconds, next_seed, read_counts, write_counts
from pages import commit

with atheris.instrument_imports(include=["possibleworlds"]):
    from possibleworlds import tasks
    from possibleworlds.data.files import read_pairs
    from possibleworlds.data.splits import MANIFEST, read_manifest
    from possibleworlds.errors import UserError
    from possibleworlds.integrations.chat import read_reply
    from possibleworlds.language.item import KINDS
    from possibleworlds.language.score import score
    from possibleworlds.logic.syntax import parse

KEPT = 10_000
"""After so many inputs the counts are kept."""
READERS = ("guided formulas", "guided data files", "guided manifests", "guided replies")
ITEMS = [tasks(kind, size=1, seed=0)[0] for kind in KINDS]


def read(kind: int, data: bytes, folder: Path) -> None:
    """Give an input to its reader."""
    if kind == 0:
        parse(data.decode(errors="surrogateescape"))
    elif kind == 1:
        (folder / "data.txt").write_bytes(data)
        for _ in read_pairs(folder / "data.txt"):
            pass
    elif kind == 3:
        score(data.decode(errors="replace"), ITEMS[len(data) % len(ITEMS)])
        read_reply(data)
    else:
        (folder / MANIFEST).write_bytes(data)
        read_manifest(folder)


def check_clear(error: UserError) -> None:
    """Raise ValueError if a message is not a line, or a line and a place in a formula."""
    lines = str(error).split("\n")
    if len(lines) not in (1, 3) or not all(line.isprintable() for line in lines):
        raise ValueError(f"not a clear error: {error!r}") from None


def main() -> None:
    """Read inputs until there are enough of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--state", type=Path, help="the file of the counts")
    parser.add_argument("--corpus", type=Path, default=Path("corpus"))
    arguments = parser.parse_args()
    arguments.corpus.mkdir(exist_ok=True)
    records = read_counts(arguments.state)
    empty = {"inputs": 0, "values": 0, "errors": 0, "slowest": 0.0, "peak": 0}
    counts = {name: {**empty, "failures": []} for name in READERS}
    seed = next_seed(records)
    record = {"seed": seed, "commit": commit(), "cpu_seconds": 0.0, "counts": counts}
    records.append(record)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    done = 0

    def read_one(data: bytes) -> None:
        nonlocal done
        kind = data[0] % len(READERS) if data else 0
        count = counts[READERS[kind]]
        began = time.perf_counter()
        try:
            read(kind, data[1:], folder)
            count["values"] += 1
        except UserError as error:
            check_clear(error)
            count["errors"] += 1
        count["inputs"] += 1
        count["slowest"] = max(count["slowest"], time.perf_counter() - began)
        done += 1
        if done % KEPT == 0 or done == arguments.inputs:
            record["cpu_seconds"] = round(cpu_seconds(), 1)
            write_counts(arguments.state, records)

    options = [f"-runs={arguments.inputs}", f"-seed={seed + 1}", "-max_len=300", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, str(arguments.corpus)], read_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
