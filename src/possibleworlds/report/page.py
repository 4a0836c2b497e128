"""A report as one HTML page that loads nothing, and as Markdown.

Text of our own is Markdown of the simplest kind: **strong**, *emphasis* and `code`. Whatever comes
from files and folders is plain text in cells and code, and is escaped in both forms.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files


@dataclass(frozen=True)
class Cell:
    """A cell of a table: plain text, and the number behind it."""

    text: str
    value: float | None = None
    bold: bool = False
    muted: bool = False


@dataclass(frozen=True)
class Table:
    """A table."""

    columns: list[str]
    rows: list[list[Cell]]
    words: int = 1
    """So many columns at the left hold words, the others numbers."""


@dataclass(frozen=True)
class Picture:
    """An SVG picture, the name of its file, and what it shows."""

    name: str
    caption: str
    svg: bytes

    @property
    def file(self) -> str:
        """The place of the picture, relative to the Markdown page."""
        return f"figures/{self.name}.svg"


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


def code(text: str) -> str:
    """Quote a text from elsewhere as code; it cannot end the quotation."""
    return f"`{one_line(text).replace('`', 'ˋ')}`"


def one_line(text: str) -> str:
    """Write control characters, such as line breaks in names of files, as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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
        safe = escape(piece)
        if i % 2:
            pieces[i] = f"<code>{safe}</code>"
        else:
            strong = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
            pieces[i] = re.sub(r"\*(.+?)\*", r"<em>\1</em>", strong)
    return "".join(pieces)


def html_cell(cell: Cell, is_word: bool) -> str:
    """Write a cell."""
    text = escape(one_line(cell.text))
    for tag in ("strong",) * cell.bold + ("em",) * cell.muted:
        text = f"<{tag}>{text}</{tag}>"
    attributes = ' class="word"' if is_word else ""
    if cell.value is not None:
        attributes += f' data-value="{cell.value:g}"'
    return f"<td{attributes}>{text}</td>"


def html_table(table: Table) -> str:
    """Write a table that scrolls sideways where the screen is narrow."""
    kinds = ['class="word" '] * table.words + [""] * (len(table.columns) - table.words)
    head = "".join(
        f'<th {kind}scope="col">{escape(one_line(name))}</th>'
        for kind, name in zip(kinds, table.columns, strict=True)
    )
    lines = ["".join(html_cell(c, i < table.words) for i, c in enumerate(r)) for r in table.rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>\n"
    )


def html_part(part: Part) -> str:
    """Write a part of a section."""
    if isinstance(part, Table):
        return html_table(part)
    if isinstance(part, Code):
        summary = f"<summary>{escape(one_line(part.title))}</summary>"
        return f"<details>{summary}<pre>{escape(part.text)}</pre></details>\n"
    if isinstance(part, Picture):
        data = base64.b64encode(part.svg).decode()
        image = (
            f'<img alt="{escape(one_line(part.caption))}" src="data:image/svg+xml;base64,{data}">'
        )
        return (
            f"<figure>{image}<figcaption>{escape(one_line(part.caption))}</figcaption></figure>\n"
        )
    return f"<p>{inline(part)}</p>\n"


def html_section(section: Section) -> str:
    """Write a section, with neighbouring pictures side by side where there is room."""
    html = f'<h2 id="{section.anchor}">{escape(section.title)}</h2>\n'
    among_pictures = False
    for part in section.parts:
        is_picture = isinstance(part, Picture)
        if is_picture != among_pictures:
            html += '<div class="pictures">\n' if is_picture else "</div>\n"
        among_pictures = is_picture
        html += html_part(part)
    return html + ("</div>\n" if among_pictures else "")


def to_html(title: str, sections: Sequence[Section]) -> str:
    """Write the report as one page that loads nothing."""
    links = "\n".join(f'<a href="#{s.anchor}">{escape(s.title)}</a>' for s in sections)
    body = "".join(map(html_section, sections))
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<nav>
{links}
</nav>
{body}</body>
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
    return f"{mark}{markdown_text(cell.text)}{mark}"


def markdown_part(part: Part) -> str:
    """Write a part of a section."""
    if isinstance(part, Table):
        rule = ["---"] * part.words + ["---:"] * (len(part.columns) - part.words)
        rows = [list(map(markdown_cell, row)) for row in part.rows]
        lines = [list(map(markdown_text, part.columns)), rule, *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
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
