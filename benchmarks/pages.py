"""Parts of the documentation that programs write."""

import re
import subprocess
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
FIGURES = DOCS / "figures"


def commit() -> str:
    """Describe the commit of the working tree; dirty if code differs, not if only results do."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=DOCS).stdout.strip()

    code = [
        f":/{path}" for path in ("src/*.py", "src/*.c", "src/*.h", "src/*.inc", "benchmarks/*.py")
    ]
    is_changed = git("status", "--porcelain", "--", *code)
    return git("describe", "--always") + ("-dirty" if is_changed else "")


def replace_part(page: str, part: str, text: str) -> None:
    """Replace the text between `<!-- part: begin -->` and `<!-- part: end -->` of a page."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    path = DOCS / page
    old = path.read_text(encoding="utf-8")
    if begin not in old or end not in old:
        raise ValueError(f"{path} has no place for {part}")
    new = re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{text}\n{end}", old, flags=re.DOTALL)
    path.write_text(new, encoding="utf-8")
