"""Plot the distributions of positives and negatives of a data file."""

from collections import Counter
from pathlib import Path

from possibleworlds.data.statistics import Comparison, FileStatistics
from possibleworlds.errors import UserError, missing_package
from possibleworlds.storage import atomic_write

BLUE, ORANGE = "#0072B2", "#D55E00"
"""Distinguishable for the colour-blind, too."""
COLUMNS = 4
SHOWN_VALUES = 40


def check_drawable(path: Path) -> None:
    """Raise UserError if a figure cannot be written to a path."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise missing_package("matplotlib", "train") from None
    if path.suffix[1:].lower() not in (known := FigureCanvasBase.get_supported_filetypes()):
        raise UserError(
            f"{path}: not an image file; the name must end in one of {', '.join(known)}"
        )
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: not a folder")


def plot_distributions(statistics: FileStatistics, path: Path) -> None:
    """Draw how each feature is distributed among positives and negatives, for A and for B."""
    from matplotlib import pyplot

    drawn = [
        (f"{name} of {side}", comparison)
        for name, sides in statistics.features.items()
        for side, comparison in sides.items()
    ]
    lines = -(-len(drawn) // COLUMNS)
    figure, axes = pyplot.subplots(
        lines, COLUMNS, figsize=(3.2 * COLUMNS, 2.1 * lines), layout="constrained"
    )
    for axis in axes.flat[len(drawn) :]:
        axis.set_axis_off()
    for axis, (title, comparison) in zip(axes.flat, drawn, strict=False):
        draw(axis, title, comparison)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
    try:
        with atomic_write(path, binary=True) as file:
            figure.savefig(file, dpi=110, format=path.suffix[1:].lower())
    finally:
        pyplot.close(figure)


def draw(axis, title: str, comparison: Comparison) -> None:  # type: ignore[no-untyped-def]
    """Draw the frequencies of a feature's values among positives and negatives, side by side."""
    from matplotlib.ticker import MaxNLocator

    values = sorted(comparison.positive.keys() | comparison.negative.keys())
    shown = values[:SHOWN_VALUES]
    for label, counts, colour, shift in (
        ("A entails B", comparison.positive, BLUE, -0.2),
        ("A does not entail B", comparison.negative, ORANGE, 0.2),
    ):
        places = [value + shift for value in shown]
        axis.bar(places, frequencies(counts, shown), width=0.4, color=colour, label=label)
    beyond = f", up to {shown[-1]}" if len(values) > len(shown) else ""
    axis.set_title(f"{title}  (χ² = {comparison.chi_squared:.1f}{beyond})", fontsize=9)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.tick_params(labelsize=7)


def frequencies(counts: Counter[int], values: list[int]) -> list[float]:
    """Compute the relative frequency of each value."""
    return [counts[value] / max(1, counts.total()) for value in values]
