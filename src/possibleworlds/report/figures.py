"""The figures of a report as SVG without scripts: lines in small panels that share their axes.

A family of networks has one colour and one panel, in which the other families are faint. A network
is named at the end of its line; the line under the pointer shows its values (style.css).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from possibleworlds.report.page import Drawing
from possibleworlds.report.rows import (
    LearningCurve,
    PermutationRow,
    SamplingRow,
    SizeBin,
    SizeRow,
    WorldsRow,
)
from possibleworlds.report.runs import SeedMean
from possibleworlds.report.tables import wide_enough

FAMILIES = {
    "bags": ("Bags of words", ("linear-bow", "mlp-bow")),
    "sequences": (
        "Sequences",
        ("convnet", "transformer", "lstm", "bilstm", "lstm-traversal", "bilstm-traversal"),
    ),
    "trees": ("Trees", ("treenet", "treelstm")),
    "worlds": ("Worlds", ("possibleworldnet", "guidedworldnet")),
}
"""The families of networks by their class in style.css; all others are "others"."""
OTHERS = "others"
WIDTH, HEIGHT = 328, 232
LEFT, RIGHT, TOP, BOTTOM = 30, 116, 26, 40
"""The margins of a panel; names of lines stand at the right."""
LABEL_GAP = 13
MOST_VALUES = 5
"""How many values a line shows under the pointer."""
CHANCE = 50.0


def family_of(model: str) -> str:
    """Find the family of a network."""
    return next((family for family, (_, names) in FAMILIES.items() if model in names), OTHERS)


def family_title(family: str) -> str:
    """Name a family of networks."""
    return FAMILIES[family][0] if family in FAMILIES else "Other networks"


@dataclass(frozen=True)
class Point:
    """A point of a line, and what is shown under the pointer."""

    x: float
    y: float
    text: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Line:
    """A line with its name."""

    name: str
    kind: str
    """Its classes in style.css: a family, and "dashed"."""
    points: list[Point]
    opacity: float = 1.0


@dataclass(frozen=True)
class Axis:
    """An axis: where its ends are, and which numbers stand at it."""

    label: str
    low: float
    high: float
    ticks: list[float]
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


def log_axis(label: str, values: Iterable[float], ticks: Sequence[float] = ()) -> Axis:
    """Make a logarithmic axis over values, with given numbers or 1, 3, 10, 30 and so on."""
    low, high = min(values := sorted(values)), values[-1]
    if not ticks:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        many, few = ([m * 10.0**e for e in decades for m in ms] for ms in ((1, 2, 5), (1, 3)))
        ticks = [tick for tick in few if low * 0.99 <= tick <= high * 1.01]
        ticks = ticks if len(ticks) > 2 else [t for t in many if low * 0.99 <= t <= high * 1.01]
    ticks = ticks or [low]
    return Axis(label, low, high, list(ticks[:: math.ceil(len(ticks) / 6)]), log=True)


def accuracy_axis(lines: Iterable[Line]) -> Axis:
    """Make an axis of accuracies in percent that ends at 100, with chance among its numbers."""
    lowest = min((point.y for line in lines for point in line.points), default=CHANCE)
    low = min(45.0, 5 * math.floor(lowest / 5))
    return Axis(
        "accuracy, %", low, 100.0, [tick for tick in (25.0, CHANCE, 75.0, 100.0) if tick >= low]
    )


def short(value: float) -> str:
    """Write a number at an axis."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


@dataclass(frozen=True)
class Panel:
    """Lines over a pair of axes."""

    title: str
    lines: list[Line]
    context: list[Line] = field(default_factory=list)
    """Further lines, faint and without names."""
    shaded_to: float | None = None
    """Up to where the background is shaded."""

    def drawing(self, x_axis: Axis, y_axis: Axis) -> Drawing:
        """Draw the panel."""
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

        def place(x: float, y: float) -> tuple[float, float]:
            return (
                LEFT + x_axis.at(x) * (right - LEFT),
                bottom - min(1.0, max(0.0, y_axis.at(y))) * (bottom - TOP),
            )

        parts = [f'<text class="title" x="{LEFT}" y="14">{escape(self.title)}</text>']
        if self.shaded_to is not None:
            edge = place(min(self.shaded_to, x_axis.high), y_axis.low)[0]
            size = f'width="{edge - LEFT:.1f}" height="{bottom - TOP}"'
            parts.append(f'<rect class="shaded" x="{LEFT}" y="{TOP}" {size}/>')
        for tick in y_axis.ticks:
            y = place(x_axis.low, tick)[1]
            kind = "grid chance" if tick == CHANCE and not y_axis.log else "grid"
            parts.append(f'<path class="{kind}" d="M{LEFT} {y:.1f}H{right}"/>')
            parts.append(f'<text class="tick" x="{LEFT - 5}" y="{y + 4:.1f}">{short(tick)}</text>')
        for tick in x_axis.ticks:
            x = place(tick, y_axis.low)[0]
            parts.append(f'<text class="tick x" x="{x:.1f}" y="{bottom + 14}">{short(tick)}</text>')
        middle = (LEFT + right) / 2
        parts.append(f'<text class="axis" x="{middle}" y="{HEIGHT - 8}">{x_axis.label}</text>')
        parts += [path_of("context", line, place) for line in self.context]
        ends = [place(line.points[-1].x, line.points[-1].y)[1] for line in self.lines]
        parts += [
            drawn(line, place, label_y, right)
            for line, label_y in zip(self.lines, spread_out(ends, TOP, bottom), strict=True)
        ]
        last = ", ".join(f"{line.name} {line.points[-1].y:.1f}" for line in self.lines)
        summary = f"{self.title}, {y_axis.label}, at the right end: {last}"
        return Drawing(WIDTH, HEIGHT, summary, "".join(parts))


Place = Callable[[float, float], tuple[float, float]]


def path_of(kind: str, line: Line, place: Place) -> str:
    """Draw the bare line."""
    corners = "L".join("{:.1f} {:.1f}".format(*place(p.x, p.y)) for p in line.points)
    return f'<path class="{kind}" d="M{corners}"/>'


def drawn(line: Line, place: Place, label_y: float, right: float) -> str:
    """Draw a line with its points, its name, and the values that the pointer uncovers."""
    parts = [path_of("hit", line, place), path_of("stroke", line, place)]
    step = math.ceil(len(line.points) / MOST_VALUES)
    for i, point in enumerate(reversed(line.points)):
        x, y = place(point.x, point.y)
        if point.interval:
            ends = [place(point.x, end)[1] for end in point.interval]
            parts.append(f'<path class="error" d="M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}"/>')
        title = f"<title>{escape(f'{line.name}, {point.text}')}</title>"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4">{title}</circle>')
        if i % step == 0:
            parts.append(f'<text class="value" x="{x:.1f}" y="{y - 7:.1f}">{point.y:.1f}</text>')
    x, y = place(line.points[-1].x, line.points[-1].y)
    parts.append(f'<path class="leader" d="M{x:.1f} {y:.1f}L{right + 5} {label_y:.1f}"/>')
    name = escape(line.name)
    parts.append(f'<text class="name" x="{right + 8}" y="{label_y + 4:.1f}">{name}</text>')
    look = "" if line.opacity == 1 else f' opacity="{line.opacity:.2f}"'
    return f'<g class="line {line.kind}"{look}>{"".join(parts)}</g>'


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


def by_family(lines: Sequence[Line], shaded_to: float | None = None) -> list[Panel]:
    """Make a panel for each family of networks, with the others as its background."""
    panels = []
    for family in (*FAMILIES, OTHERS):
        own = [line for line in lines if line.kind == family]
        if own:
            context = [line for line in lines if line.kind != family]
            panels.append(Panel(family_title(family), own, context, shaded_to))
    return panels


def draw(panels: Sequence[Panel], x_axis: Axis, y_axis: Axis | None = None) -> list[Drawing]:
    """Draw panels over the same axes; those of accuracies unless others are given."""
    lines = [line for panel in panels for line in (*panel.lines, *panel.context)]
    y_axis = y_axis or accuracy_axis(lines)
    return [panel.drawing(x_axis, y_axis) for panel in panels]


def seed_point(x: float, value: SeedMean, unit: str) -> Point:
    """Make a point of a mean over seeds, with its interval."""
    interval = value.interval and (100 * value.interval[0], 100 * value.interval[1])
    bounds = f" ({interval[0]:.1f}–{interval[1]:.1f})" if interval else ""
    return Point(x, 100 * value.mean, f"{x:g} {unit}: {100 * value.mean:.1f} %{bounds}", interval)


def worlds_in_training(rows: Sequence[WorldsRow]) -> list[Drawing]:
    """Draw validation error against training steps, a line for each number of worlds."""
    lines = []
    for i, row in enumerate(rows):
        # An error of 0 has no place on a logarithmic axis; half a wrong row in 5,000 has.
        errors = [(p.step, max(0.01, 100 * (1 - p.validation))) for p in row.points]
        points = [Point(x, y, f"step {x:,.0f}: {y:.1f} % wrong") for x, y in errors]
        opacity = 0.4 + 0.6 * (i + 1) / len(rows)
        lines.append(Line(f"{row.worlds} world{'s' * (row.worlds > 1)}", "worlds", points, opacity))
    lines = [line for line in lines if line.points]
    points = [point for line in lines for point in line.points]
    x_axis = linear_axis("training steps", 0, max((p.x for p in points), default=1))
    y_axis = log_axis("error, %", [*(p.y for p in points), 50.0])
    return draw([Panel("validation error, %", lines)] if lines else [], x_axis, y_axis)


def worlds_in_evaluation(
    trained: dict[int, float], evaluated: dict[str, dict[int, SeedMean]]
) -> list[Drawing]:
    """Draw accuracy against worlds, in training and evaluation or in evaluation alone."""
    lines = [
        Line(file, "worlds", [seed_point(n, value, "worlds") for n, value in by_worlds.items()])
        for file, by_worlds in evaluated.items()
    ]
    if trained:
        points = [Point(n, 100 * v, f"{n} worlds: {100 * v:.1f} %") for n, v in trained.items()]
        lines.append(Line("trained so", "worlds dashed", points))
    counts = sorted({point.x for line in lines for point in line.points})
    return draw([Panel("accuracy, %", lines)], log_axis("worlds", counts, counts))


def sampling(rows: Sequence[SamplingRow]) -> list[Drawing]:
    """Draw truth-table sampling and a network, at equal numbers of rows and worlds."""
    panels = []
    for file in dict.fromkeys(row.file for row in rows):
        own = [row for row in rows if row.file == file]
        sampled = [
            Point(r.count, 100 * r.sampling, f"{r.count} rows: {100 * r.sampling:.1f} %")
            for r in own
        ]
        lines = [Line("random rows", "baseline dashed", sampled)]
        if network := [seed_point(r.count, r.network, "worlds") for r in own if r.network]:
            lines.append(Line("possibleworldnet", "worlds", network))
        panels.append(Panel(file, lines))
    counts = sorted({row.count for row in rows})
    return draw(panels, log_axis("random rows, or worlds", counts, counts))


def by_size(rows: Sequence[SizeRow], size: str, largest: int | None) -> list[Drawing]:
    """Draw accuracy by the size of a pair, and where training ends."""

    def point(part: SizeBin) -> Point:
        low, high = (100 * bound for bound in part.interval)
        text = f"{part.label} {size}: {100 * part.accuracy:.1f} % ({low:.1f}–{high:.1f})"
        middle = (part.low + part.high) / 2
        return Point(middle, 100 * part.accuracy, f"{text} of {part.rows:,} pairs", (low, high))

    lines = [
        Line(row.model, family_of(row.model), [point(part) for part in wide_enough(row.bins[size])])
        for row in rows
        if row.bins[size]
    ]
    ends = [point.x for line in lines for point in line.points]
    x_axis = linear_axis(f"{size} of a pair", min(ends, default=0), max(ends, default=1))
    return draw(by_family(lines, largest), x_axis)


def learning_curves(curves: Sequence[LearningCurve], against: str) -> list[Drawing]:
    """Draw validation accuracy against pairs seen, or minutes of training."""
    lines = []
    for curve in curves:
        places = [
            (p.step * curve.batch_size if against == "pairs" else p.seconds / 60, p.validation)
            for p in curve.points
        ]
        points = [
            Point(x, 100 * y, f"{x:,.4g} {against}: {100 * y:.1f} %") for x, y in places if x > 0
        ]
        if points:
            lines.append(Line(curve.model, family_of(curve.model), points))
    label = "pairs seen" if against == "pairs" else "minutes of training"
    places_seen = [point.x for line in lines for point in line.points] or [1.0]
    return draw(by_family(lines), log_axis(label, places_seen))


def permutation(rows: Sequence[PermutationRow]) -> list[Drawing]:
    """Draw validation accuracy without and with symbol permutation, a line for each network."""
    lines = []
    for row in rows:
        both = (row.without_permutation, "without"), (row.with_permutation, "with permutation")
        points = [
            Point(x, 100 * value.mean, f"{name}: {100 * value.mean:.1f} %")
            for x, (value, name) in enumerate(both)
        ]
        lines.append(Line(row.model, family_of(row.model), points))
    return draw(by_family(lines), Axis("without → with permutation", 0, 1, []))
