"""The figures of a report, each narrow enough for a phone, as SVG.

Networks are told apart by colour, line and marker at once, in colours that the colour-blind can
tell apart as well (Okabe and Ito); a network looks the same in every figure.
"""

from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from typing import Any
from zlib import crc32

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from possibleworlds.models.registry import names
from possibleworlds.report.runs import SeedMean
from possibleworlds.report.tables import (
    LearningCurve,
    PermutationRow,
    SamplingRow,
    SizeRow,
    WorldsRow,
)

COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
LINES = "-", "--", ":"
MARKERS = "osD^vP*X<>hd"
SIZE = (5.6, 4.2)
CHANCE = 50.0


def style(model: str) -> dict[str, Any]:
    """How a network is drawn."""
    known = names()
    number = known.index(model) if model in known else len(known) + crc32(model.encode())
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[number // len(COLOURS) % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4,
        "label": model,
    }


def draw(
    into: Callable[[Axes], None],
    size: tuple[float, float] = SIZE,
    columns: int = 3,
    title: str | None = None,
) -> bytes:
    """An SVG picture of one pair of axes, with its legend below; same values, same bytes."""
    with matplotlib.rc_context({"svg.hashsalt": "possibleworlds", "font.size": 11}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        into(axes)
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
        look = {"frameon": False, "fontsize": "small", "title_fontsize": "small"}
        figure.legend(loc="outside lower center", ncols=columns, title=title, **look)
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def percent(values: Iterable[float]) -> list[float]:
    """Shares in percent."""
    return [100 * value for value in values]


def logarithmic(axes: Axes, ticks: Sequence[int]) -> None:
    """A logarithmic x axis that shows these numbers as they are."""
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), [str(tick) for tick in ticks])
    axes.minorticks_off()


def plain_numbers(axis: Any) -> None:
    """Ticks of a logarithmic axis as 3, 10 and 30, not as powers."""
    axis.set_major_locator(LogLocator(subs=(1, 3)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def worlds_in_training(rows: Sequence[WorldsRow]) -> bytes:
    """Draw validation error against training steps, a line for each number of worlds."""

    def into(axes: Axes) -> None:
        colours = matplotlib.colormaps["viridis"]
        for i, row in enumerate(rows):
            # An error of 0 has no place on a logarithmic axis; half a wrong row in 5,000 has.
            errors = [max(0.01, 100 * (1 - point.validation)) for point in row.points]
            axes.plot(
                [point.step for point in row.points],
                errors,
                color=colours(0.8 * i / max(1, len(rows) - 1)),
                marker=MARKERS[i % len(MARKERS)],
                markersize=4,
                label=str(row.worlds),
            )
        axes.set(xlabel="training steps", ylabel="validation error, %", yscale="log")
        plain_numbers(axes.yaxis)

    return draw(into, columns=4, title="worlds")


def worlds_in_evaluation(
    trained: Sequence[WorldsRow], evaluated: dict[str, dict[int, SeedMean]]
) -> bytes:
    """Draw accuracy against worlds, in training and evaluation or in evaluation alone."""

    def into(axes: Axes) -> None:
        by_worlds = {row.worlds: row.validation for row in trained}
        if by_worlds:
            look = {"color": "#000000", "linestyle": "--", "marker": "x"}
            line(axes, by_worlds, label="trained with as many", **look)
        for i, (file, accuracies) in enumerate(evaluated.items()):
            shape = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
            line(axes, accuracies, label=file, markersize=4, **shape)
        logarithmic(axes, sorted(by_worlds.keys() | set().union(*evaluated.values())))
        axes.set(xlabel="worlds in evaluation", ylabel="accuracy, %")

    return draw(into)


def line(axes: Axes, values: dict[int, SeedMean], **look: Any) -> None:
    """Draw values in percent, with their spread over seeds where there is one."""
    spread = [100 * (value.spread or 0.0) for value in values.values()]
    means = percent(value.mean for value in values.values())
    axes.errorbar(list(values), means, spread if any(spread) else None, capsize=2, **look)


def sampling(rows: Sequence[SamplingRow]) -> bytes:
    """Draw truth-table sampling and a network, at equal numbers of rows and worlds."""

    def into(axes: Axes) -> None:
        for i, file in enumerate(dict.fromkeys(row.file for row in rows)):
            look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)]}
            look["marker"] = MARKERS[i % len(MARKERS)]
            own = [row for row in rows if row.file == file]
            sampled = percent(row.sampling for row in own)
            counts = [row.count for row in own]
            axes.plot(counts, sampled, linestyle="--", label=f"sampling, {file}", **look)
            if network := {row.count: row.network for row in own if row.network}:
                line(axes, network, label=f"network, {file}", **look)
        logarithmic(axes, sorted({row.count for row in rows}))
        axes.set(xlabel="rows of the truth table, or worlds", ylabel="accuracy, %")

    return draw(into, columns=2)


def by_size(
    rows: Sequence[SizeRow], size: str, trained_up_to: int | None, fewest_rows: int
) -> bytes:
    """Draw accuracy by the size of a pair, a line for each network, and where training ends."""

    def into(axes: Axes) -> None:
        for row in rows:
            bins = [part for part in row.bins[size] if part.rows >= fewest_rows]
            middles = [(part.low + part.high) / 2 for part in bins]
            axes.plot(middles, percent(part.accuracy for part in bins), **style(row.model))
        axes.axhline(CHANCE, color="grey", linewidth=0.8)
        if trained_up_to:
            low, high = axes.get_xlim()
            axes.axvspan(low, trained_up_to + 0.5, color="grey", alpha=0.12, zorder=0)
            axes.set_xlim(low, high)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel=f"{size} of a pair", ylabel="accuracy, %")

    return draw(into)


def permutation(rows: Sequence[PermutationRow]) -> bytes:
    """Draw validation accuracy without and with symbol permutation, a line for each network."""

    def into(axes: Axes) -> None:
        places = range(len(rows))
        without = percent(row.without_permutation.mean for row in rows)
        with_it = percent(row.with_permutation.mean for row in rows)
        axes.hlines(places, without, with_it, color="grey", linewidth=2, zorder=1)
        axes.scatter(without, places, color=COLOURS[1], marker="s", label="without", zorder=2)
        axes.scatter(with_it, places, color=COLOURS[0], label="with permutation", zorder=2)
        axes.set_yticks(list(places), [row.model for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set(xlabel="validation accuracy, %")

    return draw(into, size=(SIZE[0], 1.6 + 0.35 * len(rows)))


def learning_curves(curves: Sequence[LearningCurve], against: str) -> bytes:
    """Draw validation accuracy against pairs seen, or minutes, a line for each network."""

    def into(axes: Axes) -> None:
        for curve in curves:
            places = [
                point.step * curve.batch_size if against == "pairs" else point.seconds / 60
                for point in curve.points
            ]
            accuracies = percent(point.validation for point in curve.points)
            axes.plot(places, accuracies, **style(curve.model))
        axes.axhline(CHANCE, color="grey", linewidth=0.8)
        label = "pairs seen" if against == "pairs" else "minutes of training"
        axes.set(xlabel=label, ylabel="validation accuracy, %", xscale="log")
        if against == "minutes":
            plain_numbers(axes.xaxis)

    return draw(into)
