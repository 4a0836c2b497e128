"""The main findings, in a few sentences generated from the tables."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from possibleworlds.report.figures import FAMILIES, OTHERS, family_of
from possibleworlds.report.material import TESTS
from possibleworlds.report.page import Part, code, listed, signed_points, text
from possibleworlds.report.results import ResultRow
from possibleworlds.report.runs import POSSIBLEWORLDNET, SeedMean
from possibleworlds.report.worlds import SAMPLED_SPLITS, USUAL_ROWS, SamplingRow

Accuracies = list[tuple[ResultRow, dict[str, SeedMean]]]
"""Rows of the results, each with its accuracies on one data set."""


def summary_section(
    results: Sequence[ResultRow], sampling: Iterable[SamplingRow], note: str
) -> list[Part]:
    """State the main findings."""
    sentences = summarise(results, sampling) or [text("nothing found")]
    return [*sentences, *([text("note", note=note)] if note else [])]


def summarise(results: Sequence[ResultRow], sampling: Iterable[SamplingRow]) -> list[str]:
    """Write every sentence that there are results for."""
    sources = Counter(source for row in results for source in row.accuracy)
    if not sources:
        return []
    source = sources.most_common(1)[0][0]
    rows = [(row, row.accuracy[source]) for row in results if source in row.accuracy]
    rows = [(row, accuracy) for row, accuracy in rows if accuracy.keys() & set(TESTS)]
    sampled = {
        row.file.rpartition("/")[2]: row
        for row in sampling
        if row.file.rpartition("/")[0] == source and row.count == USUAL_ROWS
    }
    return [
        *best_network(rows, source),
        *against_the_paper(rows, source),
        *families(rows),
        *random_rows(sampled),
    ]


def in_percent(accuracy: float) -> str:
    """Format an accuracy."""
    return f"{100 * accuracy:.1f} %"


def short(split: str) -> str:
    """Shorten the name of a split."""
    return split.removeprefix("test_")


def best_network(rows: Accuracies, source: str) -> Iterator[str]:
    """Name the most accurate of the networks that were evaluated on the most test sets."""
    most = max((accuracy.keys() & set(TESTS) for _, accuracy in rows), key=len, default=set())
    rows = [(row, accuracy) for row, accuracy in rows if accuracy.keys() >= most]
    common = [split for split in TESTS if split in most]
    if len(rows) < 2:
        return
    means = [(fmean(on[split].mean for split in common), row.model, on) for row, on in rows]
    (best, first, on), (next_best, second, _), *_ = sorted(means, key=lambda m: -m[0])
    worst = min(common, key=lambda split: on[split].mean)
    least = in_percent(on[worst].mean)
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


def against_the_paper(rows: Accuracies, source: str) -> Iterator[str]:
    """Compare with the accuracies that the paper reports on splits with the same settings."""
    gaps = [
        (value.mean - paper, f"{code(row.model)} on {short(split)}")
        for row, accuracy in rows
        for split, value in accuracy.items()
        if (paper := row.paper_accuracy(source, split)) is not None
    ]
    if gaps:
        (highest, best), (lowest, worst) = max(gaps), min(gaps)
        yield text(
            "against the paper",
            ahead=sum(gap >= 0 for gap, _ in gaps),
            all=len(gaps),
            best=best,
            highest=signed_points(highest),
            worst=worst,
            lowest=signed_points(lowest),
        )


def families(rows: Accuracies) -> Iterator[str]:
    """Name the test set on which the best network of each family is least accurate."""
    falls: list[str] = []
    same: list[str] = []
    for family, (_, singular) in FAMILIES.items():
        members = [accuracy for row, accuracy in rows if family_of(row.model) == family]
        best = {
            split: max(on[split].mean for on in members if split in on)
            for split in TESTS
            if split != "test_exam" and any(split in on for on in members)
        }
        if len(best) > 1 and TESTS[0] in best and family != OTHERS:
            worst = min((split for split in best if split != TESTS[0]), key=best.__getitem__)
            lowest = in_percent(best[worst])
            if best[worst] >= best[TESTS[0]] or lowest == in_percent(best[TESTS[0]]):
                same.append(f"{in_percent(best[TESTS[0]])} or more for the best {singular}")
            else:
                fall = f"from {100 * best[TESTS[0]]:.1f} to {lowest}"
                falls.append(f"{fall} for the best {singular} ({short(worst)})")
    clauses = [f"{verb} {listed(x)}" for verb, x in (("falls", falls), ("stays at", same)) if x]
    if clauses:
        yield text("families", first=short(TESTS[0]), falls=listed(clauses))


def random_rows(rows: dict[str, SamplingRow]) -> Iterator[str]:
    """Compare random rows of the truth table with the network at as many worlds."""
    known = [(short(split), rows[split]) for split in SAMPLED_SPLITS if split in rows]
    if known:
        sampled = listed([f"{in_percent(row.sampling)} on {split}" for split, row in known])
        network = [f"{in_percent(r.network.mean)} on {split}" for split, r in known if r.network]
        if network:
            name = code(POSSIBLEWORLDNET)
            sampled += f"; {name} with as many worlds reaches {listed(network)}"
        yield text("random rows", rows=USUAL_ROWS, sampled=f"{sampled}.")
