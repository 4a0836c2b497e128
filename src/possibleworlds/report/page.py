"""A report as one HTML page that loads nothing, and as Markdown.

Text of our own is Markdown of the simplest kind: **strong**, *emphasis* and `code`. Whatever comes
from files and folders is plain text in cells and code, and is escaped in both forms. A content
security policy lets the page's own script run and nothing else load.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

PLAYGROUND = "playground.html"
WIDTH, HEIGHT = 328, 232
"""The size of a drawing."""
DRAWINGS_ABREAST = 2
"""Drawings side by side in a figure of the Markdown page."""


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

    columns: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    words: int = 1
    """So many columns at the left hold words, the others numbers."""
    title: str = ""
    """Plain text; the table is folded away under it."""


@dataclass(frozen=True)
class Picture:
    """Drawings (each an svg element), the name of their file, and what they show."""

    name: str
    caption: str
    drawings: list[str]

    @property
    def file(self) -> str:
        """The place of the picture, relative to the Markdown page."""
        return f"figures/{self.name}.svg"

    def svg(self) -> str:
        """Write all drawings as one file that needs no style sheet beside it."""
        parts = []
        for i, drawing in enumerate(self.drawings):
            place = f'x="{i % DRAWINGS_ABREAST * WIDTH}" y="{i // DRAWINGS_ABREAST * HEIGHT}"'
            size = f'width="{WIDTH}" height="{HEIGHT}"'
            parts.append(drawing.replace("<svg", f"<svg {place} {size}", 1))
        across, down = min(DRAWINGS_ABREAST, len(parts)), -(-len(parts) // DRAWINGS_ABREAST)
        box = f'viewBox="0 0 {across * WIDTH} {down * HEIGHT}"'
        content = f"<style>{asset('figures.css')}</style>{''.join(parts)}"
        return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{content}</svg>\n'


@dataclass(frozen=True)
class Code:
    """Something to type, under a title."""

    title: str
    text: str


Part = str | Table | Code | Picture
Sections = Mapping[str, Sequence[Part]]
"""The parts of a report under the titles of its sections."""


def asset(name: str) -> str:
    """Read a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def text(name: str, /, **values: object) -> str:
    """Write a paragraph of texts.md, with values in the places of their names."""
    paragraphs = dict(part.split("\n", 1) for part in asset("texts.md").split("\n## ")[1:])
    return " ".join(paragraphs[name].split()).format(**values)


def escape_controls(text: str, keep: str = "") -> str:
    """Write control characters, such as line breaks in names of files, as escapes."""
    escapes = {c: c.encode("unicode_escape").decode() for c in text if not c.isprintable()}
    return "".join(c if c in keep else escapes.get(c, c) for c in text)


def escaped(text: str) -> str:
    """Write plain text in HTML or SVG."""
    return escape(escape_controls(text))


def code(text: str) -> str:
    """Quote a text from elsewhere as code; it cannot end the quotation."""
    return f"`{escape_controls(text).replace('`', 'ˋ')}`"


def listed(texts: Sequence[str]) -> str:
    """List texts as in a sentence: a, b and c."""
    return " and ".join([*([", ".join(texts[:-1])] if texts[1:] else []), *texts[-1:]])


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


def inline(text: str) -> str:
    """Convert the simplest Markdown to HTML."""
    # A number and its % stay on one line.
    pieces = re.sub(r"(?<=\d) %", "&nbsp;%", escape(text)).split("`")
    for i in range(1, len(pieces), 2):
        pieces[i] = f"<code>{pieces[i].replace('*', '&#42;')}</code>"
    strong = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", "".join(pieces))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", strong)


def html_row(cells: Sequence[Cell], words: int, tag: str = "td") -> str:
    """Write a row of a table."""
    row = ""
    for column, cell in enumerate(cells):
        text = escaped(cell.text)
        if cell.link:
            text = f'<a href="{escape(cell.link)}">{text}</a>'
        for mark, is_marked in (("strong", cell.bold), ("em", cell.muted)):
            text = f"<{mark}>{text}</{mark}>" if text and is_marked else text
        text += "".join(f"<small>{escaped(detail)}</small>" for detail in cell.details)
        bar = "bar" if cell.bar is not None else ""
        kinds = " ".join(filter(None, ("word" if column < words else "", bar, cell.kind)))
        attributes = f' class="{kinds}"' if kinds else ""
        if cell.bar is not None:
            attributes += f' style="--bar:{100 * cell.bar:.1f}%"'
        if cell.value is not None:
            attributes += f' data-value="{cell.value:g}"'
        row += f"<{tag}{attributes}>{text}</{tag}>"
    return f"<tr>{row}</tr>"


def folded(title: str, html: str) -> str:
    """Fold something away under a title."""
    return f"<details><summary>{escaped(title)}</summary>{html}</details>\n"


def html_part(part: Part) -> str:
    """Write a part of a section; a table scrolls sideways where the screen is narrow."""
    if isinstance(part, Table):
        head = html_row(part.columns, part.words, "th")
        body = "\n".join(html_row(row, part.words) for row in part.rows)
        table = f"<table><thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table>"
        html = f'<div class="wide">{table}</div>\n'
        return folded(part.title, html) if part.title else html
    if isinstance(part, Code):
        text = escape(escape_controls(part.text, keep="\n"))
        return folded(part.title, f"<pre>{text}</pre>")
    if isinstance(part, Picture):
        caption = f"<figcaption>{escaped(part.caption)}</figcaption>"
        panels = "\n".join(part.drawings)
        kind = ' class="single"' if len(part.drawings) == 1 else ""
        return f'<figure{kind}>{caption}<div class="panels">{panels}</div></figure>\n'
    return f"<p>{inline(part)}</p>\n"


def to_html(title: str, sections: Sections) -> str:
    """Write the report as one page that loads nothing."""
    links = body = ""
    for name, parts in sections.items():
        anchor = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        links += f'<a href="#{anchor}">{escape(name)}</a>\n'
        content = "".join(map(html_part, parts))
        body += f'<section id="{anchor}"><h2>{escape(name)}</h2>\n{content}</section>\n'
    script = asset("report.js")
    return Template(asset("template.html")).substitute(
        title=escape(title),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=asset("style.css") + asset("figures.css"),
        links=links,
        body=body,
        script=script,
    )


def markdown_text(text: str) -> str:
    """Escape plain text, so that neither Markdown nor HTML in it means anything."""
    return re.sub(r"([\\`*_\[\]<>|#!&~$])", r"\\\1", escape_controls(text))


def markdown_cell(cell: Cell) -> str:
    """Write a cell."""
    mark = ("**" * cell.bold + "*" * cell.muted) if cell.text else ""
    text = f"{mark}{markdown_text(cell.text)}{mark}"
    if cell.link:
        text = f"[{text}]({cell.link})"
    return f"{text} ({markdown_text('; '.join(cell.details))})" if cell.details else text


def markdown_part(part: Part) -> str:
    """Write a part of a section."""
    if isinstance(part, Table):
        rule = ["---"] * part.words + ["---:"] * (len(part.columns) - part.words)
        head, *body = (map(markdown_cell, row) for row in (part.columns, *part.rows))
        title = f"{markdown_text(part.title)}\n\n" if part.title else ""
        return title + "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))
    if isinstance(part, Code):
        text = escape_controls(part.text, keep="\n")
        fence = "`" * (1 + max(2, *map(len, re.findall("`*", text))))
        return f"{markdown_text(part.title)}\n\n{fence}console\n{text}\n{fence}"
    if isinstance(part, Picture):
        return f"![{markdown_text(part.caption)}]({part.file})"
    # Text of our own: only HTML in it is escaped, outside its code.
    pieces = part.split("`")
    return "`".join(p if i % 2 else escape(p, quote=False) for i, p in enumerate(pieces))


def to_markdown(title: str, sections: Sections) -> str:
    """Write the report as Markdown, with its pictures in files."""
    parts = [f"# {title}"]
    for name, content in sections.items():
        parts += [f"## {name}", *map(markdown_part, content)]
    return "\n\n".join(parts) + "\n"
