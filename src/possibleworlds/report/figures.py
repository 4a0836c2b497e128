"""Figures as SVG without scripts: lines in small panels that share their axes.

A family of networks has one colour and one panel, in which the other families are faint. A network
is named at the end of its line; the line under the pointer shows its values (figures.css).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from possibleworlds.report.page import HEIGHT, WIDTH, escaped

OTHERS = "others"
FAMILIES = {
    "bags": ("Bags of words", "bag of words", "linear-bow mlp-bow"),
    "sequences": (
        "Sequences",
        "sequence network",
        "convnet transformer lstm bilstm lstm-traversal bilstm-traversal",
    ),
    "trees": ("Trees", "tree network", "treenet treelstm"),
    "worlds": ("Worlds", "network with worlds", "possibleworldnet guidedworldnet"),
    OTHERS: ("Other networks", "other network", ""),
}
"""The families by their class in figures.css: what all and what one of them is called, and who."""
LEFT, RIGHT, TOP, BOTTOM = 30, WIDTH - 116, 26, HEIGHT - 40
"""The edges of the plot in a panel; names of lines stand at the right."""
LABEL_GAP = 13
MOST_VALUES = 5
"""How many values a line shows under the pointer."""
CHANCE = 50.0


def family_of(model: str) -> str:
    """Find the family of a network."""
    own = (family for family, (_, _, names) in FAMILIES.items() if model in names.split())
    return next(own, OTHERS)


@dataclass(frozen=True)
class Point:
    """A point of a line: a fraction, shown in percent."""

    x: float
    where: str
    """What stands before the number under the pointer."""
    value: float
    interval: tuple[float, float] | None = None
    note: str = ""

    @property
    def y(self) -> float:
        """The value in percent."""
        return 100 * self.value


@dataclass(frozen=True)
class Line:
    """A line with its name."""

    name: str
    kind: str
    """Its classes in figures.css: a family, and "dashed"."""
    points: list[Point]
    opacity: float = 1.0


def network_line(model: str, points: list[Point]) -> Line:
    """Make the line of a network, in the colour of its family."""
    return Line(model, family_of(model), points)


@dataclass(frozen=True)
class Axis:
    """An axis: where its ends are, and which numbers stand at it."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    log: bool = False

    def at(self, value: float) -> float:
        """Give the place of a value, from 0 to 1."""
        low, high, here = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (here - low) / (high - low) if high > low else 0.5


def linear_axis(label: str, low: float, high: float, most: int = 5) -> Axis:
    """Make an axis with round numbers."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1) / most))
    step = next(step * m for m in (1, 2, 5, 10, 20) if (high - low) / (step * m) <= most)
    first = math.ceil(low / step - 1e-9)
    ticks = [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]
    return Axis(label, low, high, ticks)


def log_axis(label: str, values: Sequence[float], ticks: Sequence[float] = ()) -> Axis:
    """Make a logarithmic axis over values, with given numbers or 1, 3, 10, 30 and so on."""
    low, high = min(values), max(values)
    if not ticks:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        few, many = ([m * 10.0**e for e in decades for m in ms] for ms in ((1, 3), (1, 2, 5)))
        few, many = ([t for t in ts if low * 0.99 <= t <= high * 1.01] for ts in (few, many))
        ticks = few if len(few) > 2 else many or [low]
    return Axis(label, low, high, ticks[:: math.ceil(len(ticks) / 6)], log=True)


def accuracy_axis(lines: Iterable[Line]) -> Axis:
    """Make an axis of accuracies in percent that ends at 100, with chance among its numbers."""
    lowest = min((point.y for line in lines for point in line.points), default=CHANCE)
    low = min(45.0, 5 * math.floor(lowest / 5))
    ticks = [tick for tick in (25.0, CHANCE, 75.0, 100.0) if tick >= low]
    return Axis("accuracy, %", low, 100.0, ticks)


def tick_text(value: float) -> str:
    """Write a number at an axis."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def path(kind: str, places: Iterable[tuple[float, float]]) -> str:
    """Draw a line through some places."""
    return f'<path class="{kind}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in places)}"/>'


def svg_text(kind: str, x: float, y: float, text: str) -> str:
    """Write at a place."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escaped(text)}</text>'


@dataclass(frozen=True)
class Panel:
    """Lines over a pair of axes."""

    x_axis: Axis
    y_axis: Axis

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Find the place of a value, within the edges."""
        height = min(1.0, max(0.0, self.y_axis.at(y)))
        return LEFT + self.x_axis.at(x) * (RIGHT - LEFT), BOTTOM - height * (BOTTOM - TOP)

    def draw(
        self,
        title: str,
        lines: Sequence[Line],
        context: Iterable[Line] = (),
        shaded_to: float | None = None,
    ) -> str:
        """Draw lines, with others faint and without names; the background is shaded up to x."""
        x_axis, y_axis = self.x_axis, self.y_axis
        parts = [svg_text("title", LEFT, 14, title)]
        if shaded_to is not None:
            width = self.place(min(shaded_to, x_axis.high), y_axis.low)[0] - LEFT
            size = f'width="{width:.1f}" height="{BOTTOM - TOP}"'
            parts.append(f'<rect class="shaded" x="{LEFT}" y="{TOP}" {size}/>')
        for tick in y_axis.ticks:
            y = self.place(x_axis.low, tick)[1]
            kind = "grid chance" if tick == CHANCE and not y_axis.log else "grid"
            parts.append(path(kind, [(LEFT, y), (RIGHT, y)]))
            parts.append(svg_text("tick", LEFT - 5, y + 4, tick_text(tick)))
        for tick in x_axis.ticks:
            x = self.place(tick, y_axis.low)[0]
            parts.append(svg_text("tick x", x, BOTTOM + 14, tick_text(tick)))
        parts.append(svg_text("axis", (LEFT + RIGHT) / 2, HEIGHT - 8, x_axis.label))
        for line in context:
            parts.append(path("context", [self.place(p.x, p.y) for p in line.points]))
        ends = [self.place(line.points[-1].x, line.points[-1].y)[1] for line in lines]
        names = zip(lines, spread_out(ends, TOP, BOTTOM), strict=True)
        parts += [self.draw_line(line, name_y) for line, name_y in names]
        last = ", ".join(f"{line.name} {line.points[-1].y:.1f}" for line in lines)
        summary = escaped(f"{title}, {y_axis.label}, at the right end: {last}")
        attributes = f'role="img" aria-label="{summary}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        return f'<svg class="panel" {attributes}>{"".join(parts)}</svg>'

    def draw_line(self, line: Line, name_y: float) -> str:
        """Draw a line with its points, its name, and the values that the pointer uncovers."""
        places = [self.place(p.x, p.y) for p in line.points]
        parts = [path("hit", places), path("stroke", places)]
        step = math.ceil(len(line.points) / MOST_VALUES)
        for i, point in enumerate(reversed(line.points)):
            x, y = self.place(point.x, point.y)
            bounds = [100 * bound for bound in point.interval or ()]
            if bounds:
                parts.append(path("error", [self.place(point.x, bound) for bound in bounds]))
            interval = " ({:.1f}–{:.1f})".format(*bounds) if bounds else ""
            hint = f"{line.name}, {point.where}: {point.y:.1f} %{interval}{point.note}"
            title = f"<title>{escaped(hint)}</title>"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4">{title}</circle>')
            if i % step == 0:
                parts.append(svg_text("value", x, y - 7, f"{point.y:.1f}"))
        parts.append(path("leader", [places[-1], (RIGHT + 5, name_y)]))
        parts.append(svg_text("name", RIGHT + 8, name_y + 4, line.name))
        opacity = "" if line.opacity == 1 else f' opacity="{line.opacity:.2f}"'
        return f'<g class="line {line.kind}"{opacity}>{"".join(parts)}</g>'


def spread_out(places: Sequence[float], top: float, bottom: float) -> list[float]:
    """Move labels apart until none covers another, each as near to its place as that allows."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    spread = list(places)
    for before, i in pairwise(order):
        spread[i] = max(spread[i], spread[before] + LABEL_GAP)
    limit = bottom
    for i in reversed(order):
        spread[i] = min(spread[i], limit)
        limit = spread[i] - LABEL_GAP
    lift = max(0.0, top - min(spread, default=top))
    return [y + lift for y in spread]


def by_family(lines: Sequence[Line], x_axis: Axis, shaded_to: float | None = None) -> list[str]:
    """Draw a panel for each family of networks, with the others as its background."""
    panel = Panel(x_axis, accuracy_axis(lines))
    drawings = []
    for family, (title, *_) in FAMILIES.items():
        own = [line for line in lines if line.kind == family]
        context = [line for line in lines if line.kind != family]
        if own:
            drawings.append(panel.draw(title, own, context, shaded_to))
    return drawings
