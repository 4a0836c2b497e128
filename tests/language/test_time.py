"""Scoring takes time in proportion to the length of a reply."""

from time import process_time

import pytest

from possibleworlds.language import Item, Wording, score
from possibleworlds.logic import parse

PREMISE, CONCLUSION = parse("(p -> q) & (q | r)"), parse("q -> p")
RIGHT = "p = false, q = true, r = true"


def seconds(reply: str, item: Item) -> float:
    """Return the least CPU time of three scorings of a reply."""
    times = []
    for _ in range(3):
        start = process_time()
        score(reply, item)
        times.append(process_time() - start)
    return min(times)


@pytest.mark.parametrize("answer", ["yes", "no", "none", RIGHT])
@pytest.mark.parametrize(
    "repeated", ["p = true, ", "if p, then ", "no case where p, ", "of p is q "]
)
def test_a_sentence_without_end_is_read_in_linear_time(answer: str, repeated: str) -> None:
    kind, label = ("decide", True) if answer in ("yes", "no") else ("refute", False)
    item = Item(kind, (PREMISE,), CONCLUSION, label, 0, Wording(), "", "")  # type: ignore[arg-type]
    short, long = (f"Answer: {answer}\n" + repeated * (n // len(repeated)) for n in (4_000, 16_000))
    # Quadratic time would be a ratio of 16, on top of seconds.
    assert seconds(long, item) < 8 * seconds(short, item) + 0.2
