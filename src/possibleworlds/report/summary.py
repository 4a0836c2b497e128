"""What was found, in a few sentences made from the tables."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from possibleworlds.report.figures import FAMILIES, OTHERS, family_of
from possibleworlds.report.material import POSSIBLEWORLDNET, TESTS
from possibleworlds.report.page import Row, code, listed, points, text
from possibleworlds.report.worlds import SAMPLED_SPLITS, USUAL_ROWS

Accuracies = list[tuple[Row, dict[str, float]]]
"""The rows of the results with their mean accuracies on one data set."""


def summarise(results: Sequence[Row], sampling: Iterable[Row]) -> Iterator[str]:
    """Write the sentences for which there are results."""
    sources = Counter(source for row in results for source in row["accuracy"])
    for source, _ in sources.most_common(1):
        means = [
            (row, {split: value.mean for split, value in row["accuracy"].get(source, {}).items()})
            for row in results
        ]
        rows = [(row, accuracy) for row, accuracy in means if accuracy.keys() & set(TESTS)]
        yield from best_network(rows, source)
        yield from against_the_paper(rows)
        yield from families(rows)
        sampled = {row["file"]: row for row in sampling if row["count"] == USUAL_ROWS}
        files = {split: f"{source}/{split}" for split in SAMPLED_SPLITS}
        yield from random_rows({s: sampled[file] for s, file in files.items() if file in sampled})


def in_percent(accuracy: float) -> str:
    """Write an accuracy."""
    return f"{100 * accuracy:.1f} %"


def short(split: str) -> str:
    """Name a split."""
    return split.removeprefix("test_")


def best_network(rows: Accuracies, source: str) -> Iterator[str]:
    """Name the most accurate network, over the test sets on which all were evaluated."""
    common = [split for split in TESTS if all(split in accuracy for _, accuracy in rows)]
    if len(rows) < 2 or not common:
        return
    means = [(fmean(on[split] for split in common), row["model"], on) for row, on in rows]
    (best, first, on), (next_best, second, _), *_ = sorted(means, key=lambda m: -m[0])
    worst = min(common, key=on.__getitem__)
    least = in_percent(on[worst])
    yield text(
        "best network",
        networks=len(rows),
        first=code(first),
        source=code(source),
        mean=in_percent(best),
        sets=listed([short(split) for split in common]),
        least=f", and at least {least} ({short(worst)})" if least != in_percent(best) else "",
        second=code(second),
        mean_of_second=in_percent(next_best),
    )


def against_the_paper(rows: Accuracies) -> Iterator[str]:
    """Compare with the paper's figures, wherever it has one."""
    gaps = {
        f"{code(row['model'])} on {short(split)}": mean - row["paper"][split]
        for row, accuracy in rows
        if row["paper"]
        for split, mean in accuracy.items()
    }
    if gaps:
        best, worst = max(gaps, key=gaps.__getitem__), min(gaps, key=gaps.__getitem__)
        ahead = sum(gap >= 0 for gap in gaps.values())
        most = {"best": best, "lead": points(gaps[best])}
        least = {"worst": worst, "lag": points(gaps[worst])}
        yield text("against the paper", ahead=ahead, all=len(gaps), **most, **least)


def families(rows: Accuracies) -> Iterator[str]:
    """Say where the best network of each family breaks down."""
    easy, *others = (split for split in TESTS if split != "test_exam")
    falls: list[str] = []
    same: list[str] = []
    for family, (_, singular, _) in FAMILIES.items():
        own = [on for row, on in rows if family_of(row["model"]) == family]
        best = {s: max(means) for s in TESTS if (means := [on[s] for on in own if s in on])}
        harder = [split for split in others if split in best]
        if family != OTHERS and easy in best and harder:
            worst = min(harder, key=best.__getitem__)
            start, lowest = in_percent(best[easy]), in_percent(best[worst])
            if lowest == start:
                same.append(f"{lowest} for the best {singular}")
            else:
                fall = f"from {start.removesuffix(' %')} to {lowest}"
                falls.append(f"{fall} for the best {singular} ({short(worst)})")
    clauses = [f"{verb} {listed(x)}" for verb, x in (("goes", falls), ("stays at", same)) if x]
    if clauses:
        yield text("families", first=short(easy), falls=listed(clauses))


def random_rows(rows: dict[str, Row]) -> Iterator[str]:
    """Compare random rows of the truth table with the network that has as many worlds."""
    reached = [f"{in_percent(row['sampling'])} on {short(split)}" for split, row in rows.items()]
    by_network = {split: row["network"].mean for split, row in rows.items() if row["network"]}
    network = [f"{in_percent(mean)} on {short(split)}" for split, mean in by_network.items()]
    if reached:
        own = f"; {code(POSSIBLEWORLDNET)} with as many worlds reaches {listed(network)}"
        sampled = f"{listed(reached)}{own if network else ''}."
        yield text("random rows", rows=USUAL_ROWS, sampled=sampled)
