"""Assemble the playground: one self-contained page, with two networks inside.

The page opens from a file, without a server or a network connection. Its sources are modules that
Node tests directly; here they are bundled into one script, in the order of their imports. A content
security policy allows that script to run and nothing to be loaded.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import possibleworlds
from possibleworlds.data.exam import ENTAILMENTS, FALLACIES
from possibleworlds.errors import UserError
from possibleworlds.storage import write_text

HERE = files("possibleworlds.playground")
CHECKPOINTS = files("possibleworlds") / "checkpoints"
NETWORKS = ("possibleworldnet", "guidedworldnet")
WEIGHTS = ("b1", "f.bias", "f.weight", "w1", "w4")
"""The arrays of a network, in the order that the page expects."""
PAGE_TITLE = "<title>Does it follow? A playground of possible worlds</title>"
HEAD_BYTES = 4096
"""The title is in the first bytes of the page."""
IMPORT = re.compile(r'^import .*? from "\./(\w+)\.js";\n', re.MULTILINE | re.DOTALL)
EXPORT = re.compile(r"^export ", re.MULTILINE)


def assemble() -> str:
    """Assemble the whole page from sources and weights."""
    style, script = source("style.css"), "".join(bundle("main"))
    policy = f"default-src 'none'; script-src {policy_hash(script)}; style-src {policy_hash(style)}"
    parts = {
        "POLICY": policy,
        "STYLE": f"<style>{style}</style>",
        "DATA": f'<script type="application/json" id="data">{embedded(page_data())}</script>',
        "SCRIPT": f'<script type="module">{script}</script>',
        "VERSION": escape(possibleworlds.__version__),
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match[1]], source("page.html"))


def source(name: str) -> str:
    """Read a source file of the page."""
    return (HERE / name).read_text(encoding="utf-8")


def bundle(module: str, done: set[str] | None = None) -> Iterator[str]:
    """Yield a module after all of its imports, each once, as parts of one script."""
    done = set() if done is None else done
    done.add(module)
    text = source(f"{module}.js")
    for match in IMPORT.finditer(text):
        if match[1] not in done:
            yield from bundle(match[1], done)
    yield f"\n// {module}.js\n" + EXPORT.sub("", IMPORT.sub("", text))


def policy_hash(text: str) -> str:
    """Hash a script or style for a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def embedded(value: object) -> str:
    """Encode JSON such that it cannot close the element that contains it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def page_data() -> dict[str, Any]:
    """Collect the data of the page: networks, examples, pairs of each split."""
    return {
        "networks": {name: network(name) for name in NETWORKS},
        "examples": {
            "Follows": [list(row) for row in ENTAILMENTS],
            "Does not follow": [list(row) for row in FALLACIES],
        },
        "samples": samples(),
    }


def samples() -> dict[str, list[list[str]]]:
    """Read the pairs of each split, as split,A,B,label lines."""
    pairs: dict[str, list[list[str]]] = {}
    for line in source("samples.csv").splitlines():
        split, *pair = line.split(",")
        pairs.setdefault(split, []).append(pair)
    return pairs


def network(name: str) -> dict[str, Any]:
    """Return the weights and settings of a pretrained network."""
    folder = CHECKPOINTS / name
    arrays = read_safetensors((folder / "model.safetensors").read_bytes())
    weights = np.concatenate([arrays[key].ravel() for key in WEIGHTS]).astype("<f4")
    settings = json.loads((folder / "run.json").read_text(encoding="utf-8"))["settings"]
    return {"weights": base64.b64encode(weights.tobytes()).decode(), "settings": settings}


def read_safetensors(content: bytes) -> dict[str, NDArray[np.float32]]:
    """Read the float32 arrays of a safetensors file, without torch."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise UserError(f"{name} has numbers of type {entry['dtype']}, not F32")
        first, last = entry["data_offsets"]
        numbers = np.frombuffer(content[start + first : start + last], "<f4")
        arrays[name] = numbers.reshape(entry["shape"])
    return arrays


def is_playground(path: Path) -> bool:
    """Whether a file is a page that `save` has written."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return PAGE_TITLE.encode() in file.read(HEAD_BYTES)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def save(path: Path) -> None:
    """Write the page to a file."""
    write_text(path, assemble())
