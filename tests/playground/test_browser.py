"""The page in a real browser: every feature by clicks and keys, at desktop and phone size."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest

from possibleworlds import countermodel, entails, parse
from possibleworlds.playground import page as playground
from tests.playground.browser import Visit, Windows

SIZES = {"desktop": (1280, 800), "phone": (390, 844)}


@pytest.fixture(params=SIZES)
def visit(request: pytest.FixtureRequest, windows: Windows) -> Iterator[Callable[..., Visit]]:
    """Open the page at an address; afterwards there was no error and no request."""
    visits: list[Visit] = []

    def open_page(address: str = "", **options: Any) -> Visit:
        visits.append(Visit(windows, SIZES[request.param], address, **options))
        return visits[-1]

    yield open_page
    for each in visits:
        each.close()


def link(**state: object) -> str:
    """An address of the page, as the report links to it."""
    return "#" + urlencode(state)


def test_the_page_shows_an_argument_that_fails_and_why(visit: Callable[..., Visit]) -> None:
    at = visit()
    assert at.text("#answer strong") == "It does not follow."
    assert "wet is true and rain is false" in at.text("#answer")
    assert at.text("#sequent") == "rain → wet, wet ⊭ rain"
    (refuting,) = at.rows(".refutes")
    assert refuting == ["✗", "F", "T", "T", "T", "F"]
    assert at.page.get_attribute("tr.refutes", "aria-selected") == "true"
    assert at.overflow() == 0


def test_what_is_typed_is_answered_and_errors_have_a_caret(visit: Callable[..., Visit]) -> None:
    at = visit()
    at.type("#premises", "not p or q\np")
    at.type("#conclusion", "q &")
    assert at.text("#conclusion-error p") == "the formula ends too early"
    assert at.page.text_content("#conclusion-error pre") == "q &\n   ^"
    assert at.page.get_attribute("#conclusion", "aria-invalid") == "true"
    at.page.keyboard.type(" \\top")
    assert at.text("#conclusion-error") == ""
    assert at.text("#answer strong") == "It follows."
    assert at.text("#sequent") == "¬p ∨ q, p ⊨ q ∧ ⊤"
    at.type("#premises", "p)")
    assert at.text("#premises-error p") == "this bracket was never opened"
    at.type("#premises", "")
    at.type("#conclusion", "p iff p")
    assert "tautology" in at.text("#answer")
    at.type("#premises", "p; ~p")
    assert "anything follows" in at.text("#answer")


def test_an_argument_in_one_line_fills_both_fields(visit: Callable[..., Visit]) -> None:
    at = visit()
    at.type("#conclusion", "")
    at.type("#premises", "p, p -> q |= q")
    assert at.page.input_value("#premises") == "p, p -> q"
    assert at.page.input_value("#conclusion").strip() == "q"
    assert at.text("#sequent") == "p, p → q ⊨ q"


def test_buttons_write_symbols(visit: Callable[..., Visit]) -> None:
    at = visit()
    at.type("#premises", "p  q")
    for _ in range(2):
        at.page.keyboard.press("ArrowLeft")
    at.page.get_by_role("button", name="if, then", exact=True).click()
    at.type("#conclusion", "")
    at.page.get_by_role("button", name="not", exact=True).click()
    at.page.keyboard.type("q")
    assert at.text("#sequent") == "p → q ⊭ ¬q"


def test_the_table_of_twelve_variables_scrolls(visit: Callable[..., Visit]) -> None:
    names = "abcdefghijkl"
    at = visit(link(a=" & ".join(names), b="a & b"))
    assert at.page.get_attribute("table", "aria-rowcount") == "4097"
    assert at.page.locator("tbody tr").count() < 60
    header = at.page.locator("thead th").all_text_contents()
    assert [*names] == header[1:13]
    at.page.focus("table")
    at.page.keyboard.press("End")
    at.page.wait_for_selector("#row-0[aria-selected=true]")
    assert at.rows("#row-0")[0][1:13] == ["F"] * 12
    at.page.keyboard.press("ArrowUp")
    assert at.page.get_attribute("table", "aria-activedescendant") == "row-2048"
    at.page.keyboard.press("Home")
    at.page.wait_for_selector("#row-4095[aria-selected=true]")
    at.page.evaluate("document.getElementById('table').scrollTop = 60000")
    at.page.wait_for_selector("tr[aria-rowindex='2000']")
    assert at.page.locator("tbody tr").count() < 60


def test_a_column_for_each_sub_formula_and_a_row_to_choose(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="(p | q) & ~p", b="q"))
    columns = at.page.locator("thead th span").all_text_contents()
    assert columns == ["verdict", "p", "q", "p ∨ q", "¬p", "(p ∨ q) ∧ ¬p", "q"]
    assert at.rows("tbody tr") == [
        ["", *"TTTFFT"],
        ["", *"TFTFFF"],
        ["✓", *"FTTTTT"],
        ["", *"FFFTFF"],
    ]
    at.page.click("tbody tr:nth-child(2)")
    assert "p is true and q is false" in at.text("#trees-note")
    at.address("row=10")


def test_more_variables_are_decided_without_a_table(visit: Callable[..., Visit]) -> None:
    at = visit()
    for count in (13, 20, 23):
        names = [f"x{i}" for i in range(count)]
        premises = "; ".join(f"{a} -> {b}" for a, b in pairwise(names))
        at.show(link(a=premises, b=f"{names[0]} -> {names[-1]}"))
        at.page.wait_for_selector(f".answer.yes :text('the {count + 1} possible worlds')")
        assert "up to 12 variables" in at.text("#table")


def test_too_many_variables_are_said_to_be(visit: Callable[..., Visit]) -> None:
    chain = [f"x{i}" for i in range(28)]
    at = visit(link(a=" & ".join(chain), b=chain[0]))
    assert at.text("#answer strong") == "Not decided here."
    assert "28 variables" in at.text("#answer")
    at.page.locator("#world", has_text="the networks know 26").wait_for(state="attached")
    at.type("#conclusion", "~x0")
    at.page.fill("#premises", " | ".join(chain))
    assert at.text("#answer strong") == "It does not follow."
    assert "⊭" in at.text("#sequent")
    assert at.page.locator("figure.conclusion .node.false").count() == 1
    at.page.wait_for_selector("#play", state="hidden")
    at.page.get_by_role("button", name="modus ponens").click()
    at.networks()
    assert at.page.is_visible("#play")


def test_fields_are_as_high_as_their_text(visit: Callable[..., Visit]) -> None:
    long = " & ".join(f"variable_{i}" for i in range(9))
    at = visit(link(a=f"p; {long}", b=long))
    for field in ("#premises", "#conclusion"):
        hidden = at.page.eval_on_selector(field, "e => e.scrollHeight - e.clientHeight")
        assert hidden <= 0
    at.page.focus("#conclusion")
    at.page.keyboard.press("Enter")
    assert at.page.input_value("#conclusion") == long
    at.type("#conclusion", "")
    assert at.text("#conclusion-error") == "Write a formula here."


def test_large_trees_stay_readable_and_begin_at_their_root(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="p", b=" & ".join("abcdefghijklmnopqrst")))
    root = at.page.locator("figure.conclusion .node").last
    tree = at.page.locator("figure.conclusion .scroll").bounding_box()
    box = root.bounding_box()
    assert box["height"] >= 0.8 * 32
    assert tree["x"] <= box["x"] <= tree["x"] + tree["width"] - box["width"]


def test_a_world_of_many_variables_has_no_row_in_a_table(visit: Callable[..., Visit]) -> None:
    at = visit(link(a=" & ".join("abcdefghijklm"), b="~a", worlds="16")).networks()
    assert at.page.locator("#world li").count() == 13
    assert at.page.locator("#show-row").count() == 0


def test_trees_show_the_formula_of_each_node(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="p & q -> r", b="p -> r"))
    assert at.page.locator("[role=tree]").count() == 2
    at.page.locator("[role=treeitem]").nth(2).hover()
    assert at.text("#tree-caption") == "p ∧ q is false"
    at.page.locator("[role=treeitem]").nth(4).click()
    assert at.text("#tree-caption") == "p ∧ q → r is true"
    for key, caption in [
        ("ArrowDown", "p ∧ q is false"),
        ("ArrowRight", "r is false"),
        ("ArrowLeft", "p ∧ q is false"),
        ("ArrowDown", "p is true"),
        ("ArrowUp", "p ∧ q is false"),
        ("Home", "p ∧ q → r is true"),
    ]:
        at.page.keyboard.press(key)
        assert at.text("#tree-caption") == caption
    at.page.click("#row-7")
    assert at.page.locator(".node.false").count() == 0


def test_the_networks_at_work_step_by_step(visit: Callable[..., Visit]) -> None:
    at = visit().networks()
    assert re.match(
        r"says (follows|does not follow), P\(follows\) = [01]\.\d{4} ", at.text(".guided .verdict")
    )
    assert at.last_step() >= 4
    evaluations = f"{64 * (at.last_step() + 1):,}"
    assert f"worlds evaluated{evaluations} of up to 324" in at.text(".guided .facts")
    assert f"worlds evaluated{evaluations}" in at.text(".random .facts")
    at.page.click("#restart")
    assert at.step() == 0
    assert "worlds evaluated64" in at.text(".guided .facts")
    assert at.text("#phase") == "Both start from the same random worlds."
    at.page.click("#step")
    assert at.step() == 1
    assert "worlds evaluated128" in at.text(".random .facts")
    assert at.text("#phase").startswith("Gradient step 1 of 4")
    at.page.focus("#time")
    at.page.keyboard.press("ArrowRight")
    assert at.step() == 2
    at.address("step=2")


MANY = link(a=" & ".join("abcdefghijklmno"), b="a", worlds="128")
"""An argument with 15 variables, whose worlds are too many to try all; a move tries 9 x 15."""


def test_worlds_are_searched_until_the_budget_is_spent(never_refuting: Windows) -> None:
    at = Visit(never_refuting, SIZES["desktop"], MANY).networks()
    assert at.step() == at.last_step() == 4 + 222
    assert at.text(".guided .verdict") == "says follows, P(follows) = 1.0000 ✓ right"
    assert "worlds evaluated30,610 of up to 30,610" in at.text(".guided .facts")
    assert at.text("#phase") == (
        "Move 222 of up to 222: flips are tried where they change A or B most often. "
        "The search ends: no world speaks against it."
    )
    at.page.fill("#time", "5")
    assert at.text("#phase") == (
        "Move 1 of up to 222: every flip of each of the 9 best worlds is tried, the best is made."
    )
    at.page.fill("#time", "8")
    assert at.text("#phase") == "Move 4 of up to 222: random worlds are tried."
    at.close()


def test_few_worlds_are_all_tried(never_refuting: Windows) -> None:
    address = link(a="p -> q; p", b="q", worlds="16")
    at = Visit(never_refuting, SIZES["desktop"], address).networks()
    assert at.step() == at.last_step() == 5
    assert "worlds evaluated84 of up to 84" in at.text(".guided .facts")
    assert at.text("#phase") == (
        "Move 1 of up to 1: all 4 worlds are tried. The search ends: no world speaks against it."
    )
    at.close()


def test_the_search_ends_with_a_world_that_refutes(always_refuting: Windows) -> None:
    address = link(a="p -> q; p", b="q", worlds="16")
    at = Visit(always_refuting, SIZES["desktop"], address).networks()
    assert at.step() == at.last_step() == 4
    assert at.text(".guided .verdict") == "says does not follow, P(follows) = 0.0000 ✗ wrong"
    assert "worlds evaluated80 of up to 84" in at.text(".guided .facts")
    assert at.text("#phase").endswith("A world speaks against it: the search ends.")
    at.close()


@pytest.mark.parametrize("size", SIZES)
def test_play_and_pause(never_refuting: Windows, size: str) -> None:
    # In a window of its own, as the clock stays stopped.
    address = link(a=" & ".join("abcdefghi"), b="a")  # 512 worlds, 64 at a time
    at = Visit(never_refuting, SIZES[size], address, locale="en-GB").networks()
    at.page.clock.install(time=0)
    at.page.clock.pause_at(10_000)  # seconds
    at.page.click("#play")
    assert at.step() == 0
    assert "Pause" in at.text("#play")
    at.page.clock.run_for(3 * 330)
    assert at.step() == 3
    at.page.click("#play")
    assert "Watch" in at.text("#play")
    at.page.clock.run_for(10_000)
    assert at.step() == 3
    at.page.click("#play")
    at.page.clock.run_for(60_000)
    assert at.step() == 4 + 8
    assert "Watch" in at.text("#play")
    at.close()


def test_a_3_cnf_is_searched(visit: Callable[..., Visit]) -> None:
    a, b, _ = next(pair for pair in playground.samples()["3-CNF"] if pair[2] == "0")
    at = visit(link(a=a, b=b)).networks()
    refuted = at.text("#phase").endswith("A world speaks against it: the search ends.")
    assert at.text(".guided .verdict").startswith("says does not follow") == refuted
    assert ("✓ right" if refuted else "✗ wrong") in at.text(".guided .verdict")
    assert at.text("#trees figure.premise") == "too large to drawpremise"
    assert at.overflow() == 0


def test_nothing_moves_for_those_who_prefer_it(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="p", b="q", step="0"), reduced_motion="reduce").networks()
    assert at.step() == 0
    at.page.click("#play")
    assert at.step() == at.last_step() > 0
    assert "Watch" in at.text("#play")
    moving = "e => getComputedStyle(e).transitionDuration !== '0s'"
    assert not at.page.evaluate(f"[...document.querySelectorAll('*')].some({moving})")
    assert at.page.evaluate("document.getAnimations().length") == 0


def test_a_world_is_read_as_an_assignment(visit: Callable[..., Visit]) -> None:
    at = visit().networks()
    at.page.locator(".guided .map").click(position={"x": 200, "y": 40})
    before = int(at.address(r"world=guided-\d+").split("-")[1])
    after = f"guided, after {at.last_step()} steps"
    assert at.text("#world h3") == f"World {before + 1}, {after}"
    rain, wet = (re.fullmatch(r"\w+ -?\d\.\d\d → (\w+)", li) for li in at.texts("#world li"))
    assert rain
    assert wet
    is_countermodel = (rain[1], wet[1]) == ("false", "true")
    assert (": a countermodel. " in at.text("#world")) == is_countermodel
    assert "As the network takes it" in at.text("#trees-note")
    at.page.keyboard.press("ArrowRight" if before < 63 else "ArrowLeft")
    index = before + 1 if before < 63 else before - 1
    assert at.text("#world h3") == f"World {index + 1}, {after}"
    value = at.page.get_attribute(".guided .map", "aria-valuetext")
    assert value
    assert re.match(rf"World {index + 1} of 64, score -?\d+\.\d, speaks", value)
    at.page.click("#show-row")
    at.page.wait_for_selector("tbody tr[aria-selected=true]")
    at.page.locator(".random .map").focus()
    at.page.keyboard.press("Home")
    assert at.text("#world h3") == f"World 1, random, after {at.last_step()} steps"


def test_other_worlds_and_other_numbers_of_them(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="p | q", b="p & q", step="0")).networks()
    before = at.text("#world")
    at.page.click("#redraw")
    at.networks()
    at.address("seed=")
    assert at.text("#world") != before
    at.page.select_option("#count", "16")
    at.networks()
    assert "worlds evaluated16 of up to 84" in at.text(".guided .facts")
    at.address("worlds=16")


def test_examples_by_name(visit: Callable[..., Visit]) -> None:
    at = visit()
    at.page.get_by_role("button", name="modus ponens").click()
    assert at.text("#sequent") == "p → q, p ⊨ q"
    at.page.get_by_role("button", name="explosion").click()
    assert at.text("#sequent") == "p ⊨ ¬p → q"
    at.page.select_option("#example", "false dilemma")
    assert at.text("#sequent") == "p → r, q → r ⊭ r"
    at.page.select_option("#example", "Peirce's law")
    assert at.text("#sequent") == "(p → q) → p ⊨ p"
    options = at.texts("#example option")
    assert len(options) == 1 + len(playground.ENTAILMENTS) + len(playground.FALLACIES)


def test_a_random_pair_of_each_split(visit: Callable[..., Visit]) -> None:
    at = visit()
    for split in at.texts("#split option"):
        at.page.select_option("#split", split)
        at.page.click("#draw")
        at.page.wait_for_selector(".answer.yes, .answer.no")
        a = at.page.input_value("#premises").replace("\n", ") & (")
        follows = entails(f"({a})", at.page.input_value("#conclusion"))
        assert at.text("#answer strong") == ("It follows." if follows else "It does not follow.")
        assert at.overflow() == 0
    assert split == "exam"


def test_exercise_does_it_follow(visit: Callable[..., Visit]) -> None:
    at = visit()
    at.page.click("#mode-exercise")
    for number in range(1, 4):
        assert not at.page.is_visible("#table")
        follows = at.exercise_follows()
        at.page.focus("#says-yes" if follows else "#says-no")
        at.page.keyboard.press("Enter")
        assert at.text("#feedback").startswith("Right")
        assert at.text("#score") == f"Score: {number} of {number}"
        assert at.page.is_visible("#table")
        at.page.click("#next")
    at.page.click("#says-no" if at.exercise_follows() else "#says-yes")
    assert at.text("#feedback").startswith("No: it")
    assert at.text("#score") == "Score: 3 of 4"
    at.page.select_option("#exercise-level", "hard")
    at.page.click("#says-yes")
    assert at.text("#score").endswith("of 5")
    at.page.click("#mode-explore")
    assert at.page.is_visible("#premises")


def test_exercise_find_the_row(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="p -> q; q", b="p", mode="exercise", kind="row"))
    assert not at.page.is_visible("#answer")
    at.page.click("#check")
    assert at.text("#feedback") == "Not that one: there the conclusion is true. Try again."
    at.page.click("#none")
    assert at.text("#feedback") == "There is one. Try again."
    at.page.get_by_role("button", name="p is true").focus()
    at.page.keyboard.press("Space")
    at.page.get_by_role("button", name="Check").click()
    assert at.text("#feedback") == "Right: q is true and p is false."
    assert at.text("#score") == "Score: 0 of 1"
    assert at.page.get_attribute("#row-2", "aria-selected") == "true"
    at.page.click("#next")
    a, b = at.argument()
    refuting = countermodel(a, b)
    assert refuting
    for name, value in refuting.items():
        if not value:
            at.page.get_by_role("button", name=f"{name} is true", exact=True).click()
    at.page.click("#check")
    assert at.text("#feedback").startswith("Right")
    assert at.text("#score") == "Score: 1 of 2"


def test_a_link_shows_the_same(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="p | q; p", b="~q", worlds="32")).networks()
    at.page.click("#row-1")
    at.page.fill("#time", "3")
    at.page.locator(".random .map").click(position={"x": 150, "y": 30})
    at.page.click("#copy-link")
    at.page.wait_for_selector("#copied:text-is('Copied.')")
    copied = at.clipboard()
    other = visit("#" + copied.split("#")[1]).networks()
    for part in ("#sequent", "#answer", "#world", "#trees-note", "#time-value", ".guided .facts"):
        assert other.text(part) == at.text(part)


def test_another_address_shows_another_argument(visit: Callable[..., Visit]) -> None:
    at = visit()
    address = link(a="(p>q)", b="(~(q)>~(p))")
    at.page.evaluate("address => { location.hash = address }", address)
    at.page.wait_for_function("() => document.getElementById('sequent').textContent.includes('⊨')")
    assert at.text("#sequent") == "p → q ⊨ ¬q → ¬p"


def test_copied_latex_is_read_by_python(visit: Callable[..., Visit]) -> None:
    at = visit(link(a="rain -> wet; ~wet", b="~rain"))
    at.page.click("#copy-latex")
    at.page.wait_for_selector("#copied:not(:empty)")
    left, right = at.clipboard().split(r"\models")
    assert [parse(text) for text in left.split(",")] == [parse("rain -> wet"), parse("~wet")]
    assert parse(right) == parse("~rain")
    at.page.click("#copy-table")
    at.page.wait_for_function(
        "() => navigator.clipboard.readText().then(text => text.includes('tabular'))"
    )
    table = at.clipboard()
    assert table.count(r"\\") == 5
    assert r"$\mathit{rain} \rightarrow \mathit{wet}$" in table


def test_light_and_dark(visit: Callable[..., Visit]) -> None:
    at = visit(color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = at.page.evaluate(background)
    at.page.get_by_role("button", name="Switch to light colours").click()
    assert at.page.evaluate(background) != dark
    at.page.reload()
    assert at.page.evaluate(background) != dark
    at.page.get_by_role("button", name="Switch to dark colours").click()
    assert at.page.evaluate(background) == dark


def test_everything_is_reached_by_the_keyboard(visit: Callable[..., Visit]) -> None:
    at = visit().networks()
    reached = set()
    at.page.evaluate("document.activeElement.blur()")
    for _ in range(80):
        at.page.keyboard.press("Tab")
        reached.add(
            at.page.evaluate(
                "document.activeElement.id || document.activeElement.className"
                ".baseVal || document.activeElement.className || "
                "document.activeElement.tagName"
            )
        )
    controls = {
        "premises",
        "conclusion",
        "copy-link",
        "copy-latex",
        "copy-table",
        "example",
        "split",
        "draw",
        "TABLE",
        "play",
        "step",
        "restart",
        "time",
        "count",
        "redraw",
        "map",
        "show-row",
        "theme",
        "mode-explore",
        "mode-exercise",
        "skip",
        "chip",
    }
    assert controls <= reached
    assert any("node" in name for name in reached)


STATES = {
    "start": "",
    "follows": link(a="p -> q; p", b="q"),
    "error": link(a="p -> (q", b="q r"),
    "many": link(a=" & ".join("abcdefghijklmnop"), b="a"),
    "world": link(a="p -> q", b="q -> p", world="guided-3", step="4"),
    "exercise": link(a="p -> q", b="q -> p", mode="exercise", kind="row"),
}


LAYOUT_RULES = ("color-contrast", "target-size", "scrollable-region-focusable", "meta-viewport")


def test_accessibility(windows: Windows) -> None:
    """All rules at desktop size; on a phone and in the dark those that depend on it."""
    at = Visit(windows, SIZES["desktop"], color_scheme="light")
    for state, address in STATES.items():
        if address:
            at.show(address)
        if state not in ("error", "exercise"):
            at.networks()
        assert at.violations() == [], state
        width, height = SIZES["phone"]
        at.page.set_viewport_size({"width": width, "height": height})
        assert at.violations(*LAYOUT_RULES) == [], f"{state}, phone"
        assert at.overflow() == 0, state
        at.page.emulate_media(color_scheme="dark")
        assert at.violations("color-contrast") == [], f"{state}, dark"
        at.page.emulate_media(color_scheme="light")
        width, height = SIZES["desktop"]
        at.page.set_viewport_size({"width": width, "height": height})
    at.close()
