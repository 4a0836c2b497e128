"""Docs can be followed: links lead somewhere, code parses, commands exist, examples run."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from benchmarks import cards
from possibleworlds.cli import app

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("environments/*/*.md")]
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [match[3] for match in BLOCK.finditer(text) if match[2] == language]


def anchors(page: Path) -> set[str]:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{name}: {target}"
        if anchor:
            assert anchor in anchors(linked), f"{name}: {target}"


@pytest.mark.parametrize("name", NAMES)
def test_commits_exist(name: str) -> None:
    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("a checkout without its history")
    text = (ROOT / name).read_text(encoding="utf-8")
    for commit in re.findall(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7}\b", text):
        assert not git("cat-file", "-e", commit).returncode, commit


@pytest.mark.parametrize("name", NAMES)
def test_python_parses(name: str) -> None:
    for block in blocks(ROOT / name, "python"):
        ast.parse(block)


COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def commands(page: Path) -> list[list[str]]:
    """Every `$ possibleworlds ...` of a page, in words."""
    typed = []
    for block in blocks(page, "console"):
        joined = block.replace("\\\n", " ")
        for line in joined.splitlines():
            if line.startswith("$ possibleworlds "):
                typed.append(shlex.split(line[2:].split(" > ")[0], comments=True)[1:])
    return typed


@pytest.mark.parametrize("name", NAMES)
def test_commands_exist(name: str) -> None:
    for command, *arguments in commands(ROOT / name):
        if command.startswith("-"):
            continue
        assert command in COMMANDS, f"{name}: possibleworlds {command}"
        known = {
            option for p in COMMANDS[command].params for option in (*p.opts, *p.secondary_opts)
        }
        for word in arguments:
            if word.startswith("--"):
                assert word.split("=")[0] in known, f"{name}: possibleworlds {command} {word}"


def transcripts(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page that show what they print and need no data, with their output."""
    shown = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            if lines and re.match(r"(echo .*\| )?possibleworlds (entails|show|label) ", command):
                shown.append((command, lines))
    return shown


def test_commands_print_what_readme_shows() -> None:
    examples = transcripts(ROOT / "README.md")
    assert len(examples) == 5
    for command, lines in examples:
        run = command.replace("possibleworlds", f"{shlex.quote(sys.executable)} -m possibleworlds")
        done = subprocess.run(run, shell=True, capture_output=True, encoding="utf-8", timeout=300)
        pattern = "\n".join(".*" if line.strip() == "..." else re.escape(line) for line in lines)
        assert re.fullmatch(pattern, done.stdout.rstrip(), re.DOTALL), done.stdout + done.stderr


def test_cards_are_up_to_date() -> None:
    for name, text in cards.cards().items():
        assert (cards.CARDS / name).read_text(encoding="utf-8") == text, name
    assert cards.comparison() in (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("script", "arguments", "says"),
    [
        ("ask_and_see_why", [], "a countermodel"),
        ("train_your_own", ["400"], "all four of a 4-tuple"),
        ("language_model", [], "'right': 200"),
    ],
)
def test_examples_run(script: str, arguments: list[str], says: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{script}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "api" / "index.html").read_text(encoding="utf-8")
    assert "possibleworlds.countermodel" in page
