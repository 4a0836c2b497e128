"""Download the data sets that DeepMind published with the paper.

The training set of that repository is left out: these sets are for evaluation.
"""

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from pathlib import Path

from possibleworlds.errors import StorageError, UserError, reason
from possibleworlds.storage import exclusive_folder, open_regular, removed_if_empty, sha256

PUBLISHED_SOURCE = (
    "https://raw.githubusercontent.com/google-deepmind/logical-entailment-dataset/master/data"
)
TIMEOUT = 30.0
FILES = {
    "validate.txt": "ca97676797f3abd89376561038fb3005af3eda252025d2175ac44fda6bd40061",
    "test_easy.txt": "63e9e05e11c124c26c13489a3db22c418d3d88d74e558787ce50f94016d6c014",
    "test_hard.txt": "2f8af9b70c9b96597e06ad271c97eea1e0223c6bebc6e97cdf7b6f09e9a94d26",
    "test_big.txt": "9e581ae741318e5cf363fe0693bc62006dda1443a9e9584a7e59863f864df2f3",
    "test_massive.txt": "a336406241e82d29ce88650a5b64c40f0320fa37f84244d144727fcc24221d2e",
    "test_exam.txt": "0ea9cdc5ed7df91a805c78f2eeaa620626d0e1a054065f2e7beb48acbe5f6383",
}
"""The SHA-256 of each file, by its local name."""
NAMES_THERE = {"test_big.txt": "big_20_test_big.txt"}
"""The names of files in the repository, if they differ."""


def download(
    folder: Path,
    source: str = PUBLISHED_SOURCE,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> int:
    """Download the published sets into a folder; return the number of new files.

    A file appears under its name once its checksum is right. A download that was interrupted is
    continued by the next call.
    """
    with removed_if_empty(folder), exclusive_folder(folder):
        return sum(fetch_published(folder, name, source, progress) for name in FILES)


def fetch_published(
    folder: Path, name: str, source: str, progress: Callable[[str, int, int], None]
) -> bool:
    """Download one of the published sets into a folder; return whether it is new."""
    path, part, digest = folder / name, folder / f".{name}.download", FILES[name]
    if path.exists():
        if sha256(path) != digest:
            raise UserError(f"{path} is not the published file; move it away")
        return False
    url = f"{source.rstrip('/')}/{NAMES_THERE.get(name, name)}"
    fetch(url, part, partial(progress, name))
    if sha256(part) != digest:
        part.unlink()
        raise UserError(f"{url} is not the published file: its SHA-256 is not {digest}")
    part.replace(path)
    return True


def fetch(url: str, part: Path, progress: Callable[[int, int], None]) -> None:
    """Download a file, continuing an earlier attempt if the server supports that."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "possibleworlds"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT
        ) as answer:
            have = have if answer.status == 206 else 0
            total = have + int(answer.headers.get("Content-Length") or 0)
            with open(part, "ab" if have else "wb", opener=open_regular) as file:
                while block := answer.read(1 << 16):
                    file.write(block)
                    progress(file.tell(), total)
                if file.tell() < total:
                    raise ConnectionError("the connection broke off")
    except urllib.error.HTTPError as error:
        if (
            error.code == 416
        ):  # the part is complete, or longer than the file: the checksum will tell
            return
        raise UserError(f"{url}: {error.code} {error.reason}") from None
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        host = urllib.parse.urlsplit(url).netloc or url
        why = reason(cause) if isinstance(cause, BaseException) else str(cause)
        raise UserError(
            f"{host} cannot be reached ({why}); the same command continues the download"
        ) from None
    except ValueError as error:
        raise UserError(f"{url}: {reason(error)}") from None
    except OSError as error:
        raise StorageError(f"{part}: {error.strerror}") from None
