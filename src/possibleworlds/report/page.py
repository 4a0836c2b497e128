"""Render a report as one self-contained HTML page, and as Markdown.

The package's own text is minimal Markdown: **strong**, *emphasis* and `code`. Text from files and
folders is plain text in cells and code blocks, and is escaped in both formats. A content security
policy allows the page's own script to run and nothing to be loaded.
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
"""The size of a drawing, in SVG units."""
DRAWINGS_PER_ROW = 2
"""How many drawings stand side by side in a figure of the Markdown page."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: plain text, and the number behind it."""

    text: str
    value: float | None = None
    details: tuple[str, ...] = ()
    """Plain text in small type below."""
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
    """How many columns on the left hold text; the others hold numbers."""
    title: str = ""
    """Plain text; a table with a title is collapsed under it."""


@dataclass(frozen=True)
class Picture:
    """A figure: the name of its file, its caption, and its drawings (each an svg element)."""

    name: str
    caption: str
    drawings: list[str]

    @property
    def file(self) -> str:
        """The path of the file, relative to the Markdown page."""
        return f"figures/{self.name}.svg"

    def svg(self) -> str:
        """Combine all drawings into one SVG file that includes its style sheet."""
        parts = []
        for i, drawing in enumerate(self.drawings):
            position = f'x="{i % DRAWINGS_PER_ROW * WIDTH}" y="{i // DRAWINGS_PER_ROW * HEIGHT}"'
            size = f'width="{WIDTH}" height="{HEIGHT}"'
            parts.append(drawing.replace("<svg", f"<svg {position} {size}", 1))
        columns, rows = min(DRAWINGS_PER_ROW, len(parts)), -(-len(parts) // DRAWINGS_PER_ROW)
        box = f'viewBox="0 0 {columns * WIDTH} {rows * HEIGHT}"'
        content = f"<style>{asset('figures.css')}</style>{''.join(parts)}"
        return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{content}</svg>\n'


@dataclass(frozen=True)
class Code:
    """Commands to type, under a title."""

    title: str
    text: str


Part = str | Table | Code | Picture
Sections = Mapping[str, Sequence[Part]]
"""The parts of each section of a report, by title."""


def asset(name: str) -> str:
    """Read a text file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def text(name: str, /, **values: object) -> str:
    """Fill the values into a paragraph of texts.md."""
    paragraphs = dict(part.split("\n", 1) for part in asset("texts.md").split("\n## ")[1:])
    return " ".join(paragraphs[name].split()).format(**values)


def escape_controls(text: str, keep: str = "") -> str:
    """Replace control characters, such as line breaks in file names, by escape sequences."""
    escapes = {c: c.encode("unicode_escape").decode() for c in text if not c.isprintable()}
    return "".join(c if c in keep else escapes.get(c, c) for c in text)


def escaped(text: str) -> str:
    """Escape plain text for HTML or SVG."""
    return escape(escape_controls(text))


def code(text: str) -> str:
    """Format external text as inline code, which it cannot break out of."""
    return f"`{escape_controls(text).replace('`', 'ˋ')}`"


def listed(texts: Sequence[str]) -> str:
    """Join texts as in a sentence: a, b and c."""
    return " and ".join([*([", ".join(texts[:-1])] if texts[1:] else []), *texts[-1:]])


def signed_points(difference: float) -> str:
    """Format a difference of two accuracies, in percentage points."""
    return f"{100 * difference:+.1f}".replace("-", "−")


def inline(text: str) -> str:
    """Convert minimal Markdown to HTML."""
    # A number and its % stay on one line.
    pieces = re.sub(r"(?<=\d) %", "&nbsp;%", escape(text)).split("`")
    for i in range(1, len(pieces), 2):
        pieces[i] = f"<code>{pieces[i].replace('*', '&#42;')}</code>"
    strong = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", "".join(pieces))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", strong)


def html_row(cells: Sequence[Cell], words: int, tag: str = "td") -> str:
    """Render a row of a table."""
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


def collapsed(title: str, html: str) -> str:
    """Collapse HTML under a title."""
    return f"<details><summary>{escaped(title)}</summary>{html}</details>\n"


def html_part(part: Part) -> str:
    """Render a part of a section; a table scrolls sideways on a narrow screen."""
    if isinstance(part, Table):
        head = html_row(part.columns, part.words, "th")
        body = "\n".join(html_row(row, part.words) for row in part.rows)
        table = f"<table><thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table>"
        html = f'<div class="wide">{table}</div>\n'
        return collapsed(part.title, html) if part.title else html
    if isinstance(part, Code):
        text = escape(escape_controls(part.text, keep="\n"))
        return collapsed(part.title, f"<pre>{text}</pre>")
    if isinstance(part, Picture):
        caption = f"<figcaption>{escaped(part.caption)}</figcaption>"
        panels = "\n".join(part.drawings)
        kind = ' class="single"' if len(part.drawings) == 1 else ""
        return f'<figure{kind}>{caption}<div class="panels">{panels}</div></figure>\n'
    return f"<p>{inline(part)}</p>\n"


def to_html(title: str, sections: Sections) -> str:
    """Render the report as one self-contained page."""
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
    """Escape plain text for Markdown, including any HTML in it."""
    return re.sub(r"([\\`*_\[\]<>|#!&~$])", r"\\\1", escape_controls(text))


def markdown_cell(cell: Cell) -> str:
    """Render a cell of a table."""
    mark = ("**" * cell.bold + "*" * cell.muted) if cell.text else ""
    text = f"{mark}{markdown_text(cell.text)}{mark}"
    if cell.link:
        text = f"[{text}]({cell.link})"
    return f"{text} ({markdown_text('; '.join(cell.details))})" if cell.details else text


def markdown_part(part: Part) -> str:
    """Render a part of a section."""
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
    # The package's own text: only HTML outside inline code is escaped.
    pieces = part.split("`")
    return "`".join(p if i % 2 else escape(p, quote=False) for i, p in enumerate(pieces))


def to_markdown(title: str, sections: Sections) -> str:
    """Render the report as Markdown, with its figures in files."""
    parts = [f"# {title}"]
    for name, content in sections.items():
        parts += [f"## {name}", *map(markdown_part, content)]
    return "\n\n".join(parts) + "\n"
