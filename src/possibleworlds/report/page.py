"""A report as one HTML page that loads nothing, and as Markdown.

Text of our own is Markdown of the simplest kind: **strong**, *emphasis* and `code`. Whatever comes
from files and folders is plain text in cells and code, and is escaped in both forms. A content
security policy lets the page's own script run and nothing else load.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from itertools import zip_longest
from urllib.parse import urlencode

PLAYGROUND = "playground.html"
COLUMNS = 2
"""Panels side by side in a figure of the Markdown page."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: plain text, and the number behind it."""

    text: str
    value: float | None = None
    details: tuple[str, ...] = ()
    """Plain texts in small letters below."""
    bar: float | None = None
    """The length of the bar behind the text, from 0 to 1."""
    bold: bool = False
    muted: bool = False
    kind: str = ""
    """A class in style.css."""
    link: str = ""


@dataclass(frozen=True)
class Table:
    """A table."""

    columns: list[str]
    rows: list[list[Cell]]
    words: int = 1
    """So many columns at the left hold words, the others numbers."""
    title: str = ""
    """Plain text; the table is folded away under it."""
    notes: list[str] = field(default_factory=list)
    """Small texts below the names of the columns."""


@dataclass(frozen=True)
class Drawing:
    """A drawing as the content of an svg element, and its summary for those who cannot see it."""

    width: int
    height: int
    summary: str
    content: str

    def svg(self, place: str = "") -> str:
        """Write the svg element."""
        return (
            f'<svg class="panel" role="img" aria-label="{escape(one_line(self.summary))}" '
            f'viewBox="0 0 {self.width} {self.height}"{place}>{self.content}</svg>'
        )


@dataclass(frozen=True)
class Picture:
    """Drawings, the name of their file, and what they show."""

    name: str
    caption: str
    drawings: list[Drawing]

    @property
    def file(self) -> str:
        """The place of the picture, relative to the Markdown page."""
        return f"figures/{self.name}.svg"

    def svg(self) -> str:
        """Write all drawings as one file that needs no style sheet beside it."""
        width = max((d.width for d in self.drawings), default=0)
        height = max((d.height for d in self.drawings), default=0)
        parts = []
        for i, drawing in enumerate(self.drawings):
            x, y = i % COLUMNS * width, i // COLUMNS * height
            size = f'width="{drawing.width}" height="{drawing.height}"'
            parts.append(drawing.svg(f' x="{x}" y="{y}" {size}'))
        across, down = min(COLUMNS, len(parts)), -(-len(parts) // COLUMNS)
        size = f"{across * width} {down * height}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">'
            f"<style>{asset('figures.css')}</style>{''.join(parts)}</svg>\n"
        )


@dataclass(frozen=True)
class Code:
    """Something to type, under a title."""

    title: str
    text: str


Part = str | Table | Code | Picture


@dataclass
class Section:
    """A part of a report."""

    title: str
    parts: list[Part] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The name by which the section is linked to."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def asset(name: str) -> str:
    """Read a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def code(text: str) -> str:
    """Quote a text from elsewhere as code; it cannot end the quotation."""
    return f"`{one_line(text).replace('`', 'ˋ')}`"


def one_line(text: str) -> str:
    """Write control characters, such as line breaks in names of files, as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def listed(texts: Sequence[str]) -> str:
    """Write a list as in a sentence: a, b and c."""
    return " and ".join([*([", ".join(texts[:-1])] if texts[1:] else []), *texts[-1:]])


def playground_link(premise: str, conclusion: str) -> str:
    """Link to a pair in the playground."""
    return f"{PLAYGROUND}#{urlencode({'a': premise, 'b': conclusion})}"


def mark_best(cells: Sequence[Cell]) -> list[Cell]:
    """Put the largest of several numbers in bold, and all that look equal to it."""
    shown = [round(cell.value, 3) for cell in cells if cell.value is not None]
    if len(shown) < 2:
        return list(cells)
    return [
        replace(cell, bold=cell.value is not None and round(cell.value, 3) == max(shown))
        for cell in cells
    ]


def inline(text: str) -> str:
    """Convert the simplest Markdown to HTML."""
    pieces = text.split("`")
    for i, piece in enumerate(pieces):
        pieces[i] = f"<code>{escape(piece)}</code>" if i % 2 else escape(piece)
    strong = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", "".join(pieces))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", strong)


def html_cell(cell: Cell, is_word: bool, tag: str = "td") -> str:
    """Write a cell."""
    text = escape(one_line(cell.text))
    if cell.link:
        text = f'<a href="{escape(cell.link)}">{text}</a>'
    for name in ("strong",) * cell.bold + ("em",) * cell.muted:
        text = f"<{name}>{text}</{name}>"
    text += "".join(f"<small>{escape(one_line(detail))}</small>" for detail in cell.details)
    kinds = [*["word"] * is_word, *["bar"] * (cell.bar is not None), *cell.kind.split()]
    attributes = f' class="{" ".join(kinds)}"' if kinds else ""
    if cell.bar is not None:
        attributes += f' style="--bar:{100 * cell.bar:.1f}%"'
    if cell.value is not None:
        attributes += f' data-value="{cell.value:g}"'
    return f"<{tag}{attributes}>{text}</{tag}>"


def html_table(table: Table) -> str:
    """Write a table that scrolls sideways where the screen is narrow."""
    head = "".join(
        html_cell(Cell(name, details=(note,) * bool(note)), i < table.words, "th")
        for i, (name, note) in enumerate(zip_longest(table.columns, table.notes, fillvalue=""))
    )
    lines = ["".join(html_cell(c, i < table.words) for i, c in enumerate(r)) for r in table.rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    html = (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>\n"
    )
    if not table.title:
        return html
    return f"<details><summary>{escape(one_line(table.title))}</summary>{html}</details>\n"


def html_part(part: Part) -> str:
    """Write a part of a section."""
    if isinstance(part, Table):
        return html_table(part)
    if isinstance(part, Code):
        summary = f"<summary>{escape(one_line(part.title))}</summary>"
        return f"<details>{summary}<pre>{escape(part.text)}</pre></details>\n"
    if isinstance(part, Picture):
        caption = f"<figcaption>{escape(one_line(part.caption))}</figcaption>"
        panels = "\n".join(drawing.svg() for drawing in part.drawings)
        kind = ' class="single"' if len(part.drawings) == 1 else ""
        return f'<figure{kind}>{caption}<div class="panels">{panels}</div></figure>\n'
    return f"<p>{inline(part)}</p>\n"


def to_html(title: str, sections: Sequence[Section]) -> str:
    """Write the report as one page that loads nothing."""
    links = "\n".join(f'<a href="#{s.anchor}">{escape(s.title)}</a>' for s in sections)
    body = "".join(
        f'<section id="{s.anchor}"><h2>{escape(s.title)}</h2>\n'
        f"{''.join(map(html_part, s.parts))}</section>\n"
        for s in sections
    )
    script = asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{asset("style.css")}{asset("figures.css")}</style>
</head>
<body>
<header><h1>{escape(title)}</h1></header>
<nav>
{links}
</nav>
<main>
{body}</main>
<script>{script}</script>
</body>
</html>
"""


def markdown_text(text: str) -> str:
    """Escape plain text, so that neither Markdown nor HTML in it means anything."""
    return re.sub(r"([\\`*_\[\]<>|#!&~$])", r"\\\1", one_line(text))


def markdown_inline(text: str) -> str:
    """Escape HTML in text of our own, outside its code."""
    pieces = text.split("`")
    return "`".join(p if i % 2 else escape(p, quote=False) for i, p in enumerate(pieces))


def markdown_cell(cell: Cell) -> str:
    """Write a cell."""
    mark = "**" * cell.bold + "*" * cell.muted
    text = f"{mark}{markdown_text(cell.text)}{mark}"
    if cell.link:
        text = f"[{text}]({cell.link})"
    return f"{text} ({markdown_text('; '.join(cell.details))})" if cell.details else text


def markdown_part(part: Part) -> str:
    """Write a part of a section."""
    if isinstance(part, Table):
        rule = ["---"] * part.words + ["---:"] * (len(part.columns) - part.words)
        rows = [list(map(markdown_cell, row)) for row in part.rows]
        head = zip_longest(part.columns, part.notes, fillvalue="")
        names = [markdown_text(f"{name} ({note})" if note else name) for name, note in head]
        lines = [names, rule, *rows]
        title = f"{markdown_text(part.title)}\n\n" if part.title else ""
        return title + "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if isinstance(part, Code):
        longest = max(map(len, re.findall("`+", part.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{markdown_text(part.title)}\n\n{fence}console\n{part.text}\n{fence}"
    if isinstance(part, Picture):
        return f"![{markdown_text(part.caption)}]({part.file})"
    return markdown_inline(part)


def to_markdown(title: str, sections: Sequence[Section]) -> str:
    """Write the report as Markdown, with its pictures in files."""
    parts = [f"# {title}"]
    for section in sections:
        parts += [f"## {section.title}", *map(markdown_part, section.parts)]
    return "\n\n".join(parts) + "\n"


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"
