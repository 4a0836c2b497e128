"""The page of a report in a real browser, at desktop and phone size, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from possibleworlds.report.report import write_report
from tests.playground.browser import axe
from tests.report.test_report import make_run, request, silent

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
ACCURACIES = {"linear-bow": 0.52, "lstm": 0.6, "treenet": 0.71, "possibleworldnet": 0.97}


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for model, accuracy in ACCURACIES.items():
        tests = {f"data/{split}": accuracy for split in ("test_easy", "test_hard", "test_big")}
        make_run(folder / "runs" / model, model, validation=accuracy, tests=tests, worlds=4)
    return write_report(request(folder / "runs"), folder / "out", silent)


@pytest.fixture(params=[(size, scheme) for size in SIZES for scheme in ("light", "dark")])
def page(browser: Any, page_file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page; nothing may be complained of, and nothing loaded but itself."""
    size, scheme = request.param
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=False
    )
    shown = context.new_page()
    complaints: list[str] = []
    shown.on("console", lambda message: complaints.append(message.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.on("request", lambda request: complaints.append(request.url))
    shown.goto(page_file.as_uri())
    assert complaints == [page_file.as_uri()]
    complaints.clear()
    yield shown
    assert complaints == []
    context.close()


def names(page: Any) -> list[str]:
    return page.locator("#results tbody tr > :first-child").all_inner_texts()


def test_tables_sort_and_return(page: Any) -> None:
    before = names(page)
    assert before == list(ACCURACIES)
    button = page.locator("#results th button", has_text="hard")
    button.click()
    assert names(page) == before[::-1]
    assert page.locator("#results th[aria-sort=descending]").inner_text().startswith("hard")
    button.focus()
    page.keyboard.press("Enter")
    assert names(page) == before
    button.click()
    assert page.locator("#results th[aria-sort]").count() == 0
    page.locator("#results th button", has_text="network").click()
    assert names(page) == sorted(before, reverse=True)


def test_the_line_under_the_pointer_shows_its_values_in_front(page: Any) -> None:
    line = page.locator("#learning-curves .line.trees").first
    value = line.locator(".value").first
    assert value.evaluate("e => getComputedStyle(e).visibility") == "hidden"
    line.locator("circle").first.hover()
    assert value.evaluate("e => getComputedStyle(e).visibility") == "visible"
    assert line.evaluate("e => e === e.parentNode.lastElementChild")
    assert "70.0" not in value.text_content()
    assert "71.0" in value.text_content()


def test_names_stay_in_view_and_nothing_is_wider_than_the_screen(page: Any) -> None:
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    table = page.locator("#results .wide").first
    table.evaluate("e => { e.scrollLeft = 10_000 }")
    box = page.locator("#results tbody tr > :first-child").first.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] < width


def test_accessibility(page: Any) -> None:
    page.evaluate(axe())
    checked = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    violations = [
        (v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in checked["violations"]
    ]
    assert violations == []


def test_the_page_is_whole_without_scripts(browser: Any, page_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("svg.panel").count() > 3
    assert names(page) == list(ACCURACIES)
    assert page.locator("th button").count() == 0
    context.close()
