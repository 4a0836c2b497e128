"""A report as HTML that needs nothing beside itself, and as Markdown.

Text is Markdown of the simplest kind in both: **strong**, *emphasis* and `code`.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape


@dataclass(frozen=True)
class Table:
    """A table; a cell is text."""

    columns: list[str]
    rows: list[list[str]]
    words: int = 1
    """So many columns at the left hold words, the others numbers."""


@dataclass(frozen=True)
class Picture:
    """An SVG picture, the name of its file, and what it shows."""

    name: str
    shows: str
    svg: bytes

    @property
    def file(self) -> str:
        """Where the picture is, seen from the Markdown page."""
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


STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 72rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
nav a { display: inline-block; margin: 0 .9rem .4rem 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; white-space: nowrap;
         text-align: right; }
thead th { border-bottom: 2px solid #888; }
.word { text-align: left; }
tr > :first-child { position: sticky; left: 0; background: #fff; }
td em { color: #666; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; flex: 1 1 20rem; max-width: 35rem; }
figure img { width: 100%; height: auto; }
figcaption { font-size: .875rem; color: #444; }
code { font-size: .9em; background: #f3f3f3; padding: 0 .2em; }
pre { font-size: .8rem; background: #f3f3f3; padding: .6rem; white-space: pre-wrap; }
"""


def inline(text: str) -> str:
    """The simplest Markdown as HTML."""
    pieces = text.split("`")
    for i, piece in enumerate(pieces):
        safe = escape(piece)
        if i % 2:
            pieces[i] = f"<code>{safe}</code>"
        else:
            strong = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
            pieces[i] = re.sub(r"\*(.+?)\*", r"<em>\1</em>", strong)
    return "".join(pieces)


def html_table(table: Table) -> str:
    """A table that can be moved sideways where the screen is narrow."""

    def line(cells: list[str], tag: str) -> str:
        made = ""
        for i, cell in enumerate(cells):
            kind = ' class="word"' if i < table.words else ""
            made += f"<{tag}{kind}>{inline(cell)}</{tag}>"
        return f"<tr>{made}</tr>\n"

    body = "".join(line(row, "td") for row in table.rows)
    head = f"<thead>{line(table.columns, 'th')}</thead>"
    return f'<div class="wide"><table>{head}<tbody>\n{body}</tbody></table></div>\n'


def html_part(part: Part) -> str:
    """A part of a section, but for pictures, which stand side by side."""
    if isinstance(part, Table):
        return html_table(part)
    if isinstance(part, Code):
        summary = f"<summary>{inline(part.title)}</summary>"
        return f"<details>{summary}<pre>{escape(part.text)}</pre></details>\n"
    if isinstance(part, Picture):
        data = base64.b64encode(part.svg).decode()
        image = f'<img alt="{escape(part.shows)}" src="data:image/svg+xml;base64,{data}">'
        return f"<figure>{image}<figcaption>{inline(part.shows)}</figcaption></figure>\n"
    return f"<p>{inline(part)}</p>\n"


def html_section(section: Section) -> str:
    """A section, with neighbouring pictures side by side where there is room."""
    made = f'<h2 id="{section.anchor}">{inline(section.title)}</h2>\n'
    inside = False
    for part in section.parts:
        is_picture = isinstance(part, Picture)
        if is_picture != inside:
            made += '<div class="pictures">\n' if is_picture else "</div>\n"
        inside = is_picture
        made += html_part(part)
    return made + ("</div>\n" if inside else "")


def to_html(title: str, sections: Sequence[Section]) -> str:
    """The report as one page that loads nothing."""
    links = "\n".join(f'<a href="#{s.anchor}">{inline(s.title)}</a>' for s in sections)
    body = "".join(map(html_section, sections))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<nav>
{links}
</nav>
{body}</body>
</html>
"""


def markdown_part(part: Part) -> str:
    """A part of a section."""
    if isinstance(part, Table):
        lines = [part.columns, *part.rows]
        cells = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
        rule = ["---"] * part.words + ["---:"] * (len(part.columns) - part.words)
        return "\n".join(f"| {line} |" for line in (cells[0], " | ".join(rule), *cells[1:]))
    if isinstance(part, Code):
        return f"{part.title}\n\n```console\n{part.text}\n```"
    if isinstance(part, Picture):
        return f"![{part.shows}]({part.file})"
    return part


def to_markdown(title: str, sections: Sequence[Section]) -> str:
    """The report as Markdown, with its pictures in files."""
    parts = [f"# {title}"]
    for section in sections:
        parts += [f"## {section.title}", *map(markdown_part, section.parts)]
    return "\n\n".join(parts) + "\n"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"
