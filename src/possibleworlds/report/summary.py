"""What was found, in a few sentences made from the tables."""

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from possibleworlds.report.figures import FAMILIES, family_of
from possibleworlds.report.material import POSSIBLEWORLDNET, TESTS
from possibleworlds.report.page import code, listed
from possibleworlds.report.rows import ResultRow
from possibleworlds.report.tables import SAMPLED_SPLITS, Tables

USUAL_WORLDS = 64
SINGULAR = {
    "bags": "bag of words",
    "sequences": "sequence network",
    "trees": "tree network",
    "worlds": "network with worlds",
}


def summarise(tables: Tables) -> list[str]:
    """Write the sentences for which there are results."""
    sources = Counter(source for row in tables.results for source in row.accuracy)
    if not sources:
        return []
    source = sources.most_common(1)[0][0]
    rows = [row for row in tables.results if row.accuracy.get(source, {}).keys() & set(TESTS)]
    return [
        *best_network(rows, source),
        *against_the_paper(rows, source),
        *families(rows, source),
        *sampling(tables, source),
    ]


def percent(accuracy: float) -> str:
    """Write an accuracy."""
    return f"{100 * accuracy:.1f} %"


def points(gap: float) -> str:
    """Write a difference of two accuracies, in points."""
    return f"{100 * gap:+.1f}".replace("-", "−")


def short(split: str) -> str:
    """Name a split."""
    return split.removeprefix("test_")


def best_network(rows: list[ResultRow], source: str) -> Iterator[str]:
    """Name the most accurate network, over the test sets on which all were evaluated."""
    common = [split for split in TESTS if all(split in row.accuracy[source] for row in rows)]
    if len(rows) < 2 or not common:
        return

    def mean(row: ResultRow) -> float:
        return fmean(row.accuracy[source][split].mean for split in common)

    first, second = sorted(rows, key=mean, reverse=True)[:2]
    by_split = {split: first.accuracy[source][split].mean for split in common}
    worst = min(by_split, key=lambda split: by_split[split])
    yield (
        f"Of {len(rows)} networks, **{code(first.model)}** is the most accurate on "
        f"{code(source)}: {percent(mean(first))} on average over "
        f"{listed([short(s) for s in common])}, and at least {percent(by_split[worst])} "
        f"({short(worst)}); next is {code(second.model)} with {percent(mean(second))}."
    )


def against_the_paper(rows: list[ResultRow], source: str) -> Iterator[str]:
    """Compare with the paper's figures, wherever it has one."""
    gaps = {
        f"{code(row.model)} on {short(split)}": value.mean - row.paper[split]
        for row in rows
        if row.paper
        for split, value in row.accuracy[source].items()
    }
    if not gaps:
        return
    ahead = sum(gap >= 0 for gap in gaps.values())
    low, high = min(gaps, key=lambda name: gaps[name]), max(gaps, key=lambda name: gaps[name])
    yield (
        f"{ahead} of {len(gaps)} accuracies reach the paper's, which are on its own sets: furthest "
        f"ahead is {high} ({points(gaps[high])} points), furthest behind {low} "
        f"({points(gaps[low])})."
    )


def families(rows: list[ResultRow], source: str) -> Iterator[str]:
    """Say where the best network of each family breaks down."""
    falls = []
    for family in FAMILIES:
        own = [row.accuracy[source] for row in rows if family_of(row.model) == family]
        sets = [split for split in TESTS if split != "test_exam" and any(split in r for r in own)]
        if len(sets) < 2 or sets[0] != TESTS[0]:
            continue
        best = {split: max(r[split].mean for r in own if split in r) for split in sets}
        worst = min(best, key=lambda split: best[split])
        first = 100 * best[sets[0]]
        falls.append(
            f"from {first:.1f} to {percent(best[worst])} for the best {SINGULAR[family]} "
            f"({short(worst)})"
        )
    if falls:
        yield (
            f"From {short(TESTS[0])} to the set where it is lowest, accuracy goes {listed(falls)}; "
            "guessing gives 50 %."
        )


def sampling(tables: Tables, source: str) -> Iterator[str]:
    """Compare random rows of the truth table with the network that has as many worlds."""
    rows = {
        row.file.rpartition("/")[2]: row
        for row in tables.sampling
        if row.file.rpartition("/")[0] == source and row.count == USUAL_WORLDS
    }
    sets = [split for split in SAMPLED_SPLITS if split in rows]
    if not sets:
        return
    random = listed([f"{percent(rows[s].sampling)} on {short(s)}" for s in sets])
    networks = [(s, rows[s].network) for s in sets]
    compared = listed([f"{percent(value.mean)} on {short(s)}" for s, value in networks if value])
    end = f"; {code(POSSIBLEWORLDNET)} with as many worlds reaches {compared}" if compared else ""
    yield (
        f"Without any network, looking for a countermodel in {USUAL_WORLDS} random rows of the "
        f"truth table reaches {random}{end}."
    )
