"""Draw line charts as SVG without scripts, in small panels that share their axes.

Each family of networks has a colour and a panel, in which the other families are faint. A network
is named at the end of its line; hovering over a line shows its values (figures.css).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from possibleworlds.models.registry import entries
from possibleworlds.report.page import HEIGHT, WIDTH, escaped

OTHERS = "others"
FAMILIES = {
    "bags": ("Bags of words", "bag of words"),
    "sequences": ("Sequences", "sequence network"),
    "trees": ("Trees and graphs", "tree or graph network"),
    "worlds": ("Worlds", "network with worlds"),
    OTHERS: ("Other networks", "other network"),
}
"""The title and singular of each family, by its class in figures.css."""
LEFT, RIGHT, TOP, BOTTOM = 30, WIDTH - 116, 26, HEIGHT - 40
"""The edges of the plot in a panel; the names of lines are to its right."""
LABEL_GAP = 13
MAX_VALUES = 5
"""How many values a line shows when hovered over."""
CHANCE = 50.0


def family_of(model: str) -> str:
    """Find the family of a network, which a registered one declares."""
    entry = entries().get(model)
    return entry.family if entry and entry.family in FAMILIES else OTHERS


@dataclass(frozen=True)
class Point:
    """A point of a line: a fraction, shown in percent."""

    x: float
    label: str
    """Describes x in the tooltip."""
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
    """Its classes in figures.css: a family, and possibly "dashed"."""
    points: list[Point]
    opacity: float = 1.0


def network_line(model: str, points: list[Point]) -> Line:
    """Make the line of a network, in the colour of its family."""
    return Line(model, family_of(model), points)


@dataclass(frozen=True)
class Axis:
    """An axis: its label, ends and tick marks."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    log: bool = False

    def at(self, value: float) -> float:
        """Compute the position of a value on the axis, from 0 to 1."""
        low, high, x = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (x - low) / (high - low) if high > low else 0.5


def linear_axis(label: str, low: float, high: float, max_ticks: int = 5) -> Axis:
    """Make an axis with ticks at round numbers."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1) / max_ticks))
    step = next(step * m for m in (1, 2, 5, 10, 20) if (high - low) / (step * m) <= max_ticks)
    first = math.ceil(low / step - 1e-9)
    ticks = [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]
    return Axis(label, low, high, ticks)


def log_axis(label: str, values: Sequence[float], ticks: Sequence[float] = ()) -> Axis:
    """Make a logarithmic axis over values, with these ticks or 1, 3, 10, 30 and so on."""
    low, high = min(values), max(values)
    if not ticks:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        all_ticks = ([m * 10.0**e for e in decades for m in ms] for ms in ((1, 3), (1, 2, 5)))
        sparse, dense = ([t for t in ts if low * 0.99 <= t <= high * 1.01] for ts in all_ticks)
        ticks = sparse if len(sparse) > 2 else dense or [low]
    return Axis(label, low, high, ticks[:: math.ceil(len(ticks) / 6)], log=True)


def accuracy_axis(lines: Iterable[Line]) -> Axis:
    """Make an axis of accuracies in percent that ends at 100, with a tick at chance level."""
    lowest = min((point.y for line in lines for point in line.points), default=CHANCE)
    low = min(45.0, 5 * math.floor(lowest / 5))
    ticks = [tick for tick in (25.0, CHANCE, 75.0, 100.0) if tick >= low]
    return Axis("accuracy, %", low, 100.0, ticks)


def tick_text(value: float) -> str:
    """Format the label of a tick."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def path(kind: str, points: Iterable[tuple[float, float]]) -> str:
    """Draw a line through points in SVG coordinates."""
    return f'<path class="{kind}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


def svg_text(kind: str, x: float, y: float, text: str) -> str:
    """Write a text at a point in SVG coordinates."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escaped(text)}</text>'


@dataclass(frozen=True)
class Panel:
    """Lines over a pair of axes."""

    x_axis: Axis
    y_axis: Axis

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Convert values to SVG coordinates, clipped to the edges of the plot."""
        height = min(1.0, max(0.0, self.y_axis.at(y)))
        return LEFT + self.x_axis.at(x) * (RIGHT - LEFT), BOTTOM - height * (BOTTOM - TOP)

    def draw(
        self,
        title: str,
        lines: Sequence[Line],
        context: Iterable[Line] = (),
        shaded_to: float | None = None,
    ) -> str:
        """Draw lines in front of faint context lines, with the background shaded up to a value."""
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
        """Draw a line with its points, its name, and the values that hovering shows."""
        places = [self.place(p.x, p.y) for p in line.points]
        parts = [path("hit", places), path("stroke", places)]
        step = math.ceil(len(line.points) / MAX_VALUES)
        for i, point in enumerate(reversed(line.points)):
            x, y = self.place(point.x, point.y)
            bounds = [100 * bound for bound in point.interval or ()]
            if bounds:
                parts.append(path("error", [self.place(point.x, bound) for bound in bounds]))
            interval = " ({:.1f}–{:.1f})".format(*bounds) if bounds else ""
            tooltip = f"{line.name}, {point.label}: {point.y:.1f} %{interval}{point.note}"
            title = f"<title>{escaped(tooltip)}</title>"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4">{title}</circle>')
            if i % step == 0:
                parts.append(svg_text("value", x, y - 7, f"{point.y:.1f}"))
        parts.append(path("leader", [places[-1], (RIGHT + 5, name_y)]))
        parts.append(svg_text("name", RIGHT + 8, name_y + 4, line.name))
        opacity = "" if line.opacity == 1 else f' opacity="{line.opacity:.2f}"'
        return f'<g class="line {line.kind}"{opacity}>{"".join(parts)}</g>'


def spread_out(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Move labels apart until none overlap, each as little as possible."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    spread = list(heights)
    for before, i in pairwise(order):
        spread[i] = max(spread[i], spread[before] + LABEL_GAP)
    limit = bottom
    for i in reversed(order):
        spread[i] = min(spread[i], limit)
        limit = spread[i] - LABEL_GAP
    lift = max(0.0, top - min(spread, default=top))
    return [y + lift for y in spread]


def by_family(lines: Sequence[Line], x_axis: Axis, shaded_to: float | None = None) -> list[str]:
    """Draw a panel for each family of networks, with the others as faint context."""
    panel = Panel(x_axis, accuracy_axis(lines))
    drawings = []
    for family, (title, _) in FAMILIES.items():
        members = [line for line in lines if line.kind == family]
        context = [line for line in lines if line.kind != family]
        if members:
            drawings.append(panel.draw(title, members, context, shaded_to))
    return drawings
