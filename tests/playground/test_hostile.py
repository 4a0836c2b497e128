"""Whatever an address or a field holds, the page goes on working, and text stays text."""

import random
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.playground.browser import Visit, Windows

MARKUP = [
    "<img src=x onerror=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "p & <b>q</b>",
    "\\mathit{<script>}",
    "'\"><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{DATA}}",
    "__proto__ & constructor & toString",
]
ALPHABET = "pqrs()[]~&|<>-=!\\ ;,\n%#+01_'\"{}$<script>αβ→∧∨¬⊨😀\u202e\0\ud800xyzandornot"
KEYS = ["a", "b", "mode", "kind", "row", "world", "step", "seed", "worlds", "x", "__proto__"]
VALUES = ["exercise", "row", "0101", "guided-3", "random-9999", "24", "999", "1e9", "-1", "64"]


@pytest.fixture
def at(windows: Windows) -> Iterator[Visit]:
    visit = Visit(windows, (1280, 800))
    yield visit
    visit.close()


def works(at: Visit) -> None:
    """The page still reads, answers and shows."""
    at.page.click("#mode-explore")
    at.type("#premises", "p -> q\np")
    at.type("#conclusion", "q")
    assert at.text("#answer strong") == "It follows."
    assert at.page.locator("tbody tr").count() == 4
    at.networks()
    assert at.text(".guided .verdict").startswith("says ")


def test_text_never_becomes_markup(at: Visit) -> None:
    names = "[...document.querySelectorAll('*')].map(e => e.tagName).sort().join()"
    for text in MARKUP:
        at.page.fill("#premises", "")
        at.page.fill("#conclusion", text)
        at.show(f"#a={quote(text)}&b={quote(text)}&row={quote(text)}")
        assert at.page.input_value("#conclusion") == text
        markup = "script:not([type]), b > q, img, svg[onload], main script"
        assert not at.page.locator(markup).count()
        assert "alert" not in at.page.evaluate(names).lower()
    works(at)


@pytest.mark.parametrize("times", [1_000, pytest.param(4_000, marks=pytest.mark.slow)])
def test_random_addresses_and_inputs_leave_the_page_working(at: Visit, times: int) -> None:
    rng = random.Random(0)

    def text() -> str:
        return "".join(rng.choices(ALPHABET, k=rng.randrange(14)))

    def address() -> str:
        if rng.random() < 0.2:
            return "".join(rng.choices("#&=%;abmode" + ALPHABET, k=rng.randrange(40)))
        pairs = [
            f"{rng.choice(KEYS)}={quote(text(), errors='replace')}" for _ in range(rng.randrange(5))
        ]
        return "&".join([*pairs, f"{rng.choice(KEYS)}={rng.choice(VALUES)}"])

    addresses = [address().replace("\ud800", "?") for _ in range(times)]
    for start in range(0, times, 500):
        at.page.evaluate(
            """async (addresses) => {
                for (const address of addresses) {
                    const before = location.hash;
                    location.hash = address;
                    if (location.hash !== before) {
                        const once = { once: true };
                        await new Promise((go) => addEventListener("hashchange", go, once));
                    }
                }
            }""",
            addresses[start : start + 500],
        )
    works(at)
    inputs = [[text().replace("\ud800", "?") for _ in range(2)] for _ in range(times)]
    for start in range(0, times, 500):
        at.page.evaluate(
            """(inputs) => {
                const fields = ["premises", "conclusion"].map((id) => document.getElementById(id));
                for (const texts of inputs) {
                    fields.forEach((field, i) => (field.value = texts[i]));
                    fields[1].dispatchEvent(new Event("input"));
                }
            }""",
            inputs[start : start + 500],
        )
    works(at)


TOO_LONG = {
    "~" * 100_000 + "p": "100,001 characters; this page reads up to 20,000.",
    "p&" * 50_000 + "p": "100,001 characters; this page reads up to 20,000.",
    "~" * 9_000 + "p": "9,002 symbols; this page works with up to 3,000.",
    "(" * 15_000: "the formula ends too early",
}


def test_a_formula_too_long_gets_a_clear_line(at: Visit) -> None:
    for text, line in TOO_LONG.items():
        at.page.fill("#premises", "p")
        at.page.fill("#conclusion", text)
        assert at.text("#conclusion-error p").startswith(line)
        at.page.fill("#conclusion", "p")
        at.show(f"#a=p&b={quote(text)}")
        assert at.text("#conclusion-error p").startswith(line)
    works(at)


def test_the_longest_formulas_are_shown(at: Visit) -> None:
    chain = " & ".join(f"x{i % 20}" for i in range(1400))
    at.page.fill("#premises", chain)
    at.page.fill("#conclusion", "x0 <-> x1")
    at.page.wait_for_selector(".answer.yes, .answer.no")
    assert "too large to draw" in at.text("#trees")
    at.page.wait_for_selector("#world p")
    assert "more than 400 different sub-formulas" in at.text("#world")
    at.page.fill("#conclusion", "x0 <-> " * 11 + "x1")
    at.page.wait_for_selector("#world p:has-text('once ↔ is written out')")
    works(at)
