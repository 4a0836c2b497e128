"""A visit to the page in Chromium, as the tests make it."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from possibleworlds import entails

ROOT = Path(__file__).parents[2]
PLACES_OF_AXE = (ROOT / ".venv/node_modules", ROOT / "node_modules")


def axe() -> str:
    """The source of axe-core, from npm; tests are skipped where it is missing."""
    places = [Path(os.environ["NODE_PATH"])] if "NODE_PATH" in os.environ else []
    for place in [*places, *PLACES_OF_AXE]:
        path = place / "axe-core" / "axe.min.js"
        if path.exists():
            return path.read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed: npm install --prefix .venv axe-core")


class Windows:
    """Windows of the browser, each kept for the next visit of its size and options."""

    def __init__(self, browser: Any, file: Path) -> None:
        self.browser, self.file = browser, file
        self.free: dict[str, list[tuple[Any, list[str]]]] = {}
        self.opened = 0

    def take(self, kind: str, size: tuple[int, int], options: dict[str, Any]) -> Any:
        """Take a window that is free, or open one, with the list of what goes wrong in it."""
        if self.free.setdefault(kind, []):
            return self.free[kind].pop()
        width, height = size
        phone = {"has_touch": True, "is_mobile": True} if width < 500 else {}
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            permissions=["clipboard-read", "clipboard-write"],
            **phone,
            **options,
        )
        context.set_default_timeout(600_000)  # cores may be busy
        page, complaints = context.new_page(), []
        page.on("console", lambda message: note_console(message, complaints))
        page.on("pageerror", lambda error: complaints.append(f"{error}\n{error.stack}"))
        page.on("request", lambda request: note_request(request, complaints))
        return page, complaints

    def address(self) -> str:
        """A new address of the page, so that going there loads it anew."""
        self.opened += 1
        return f"{self.file.as_uri()}?{self.opened}"


def note_console(message: Any, complaints: list[str]) -> None:
    """Remember an error or a warning of the page."""
    if message.type in ("error", "warning"):
        complaints.append(message.text)


def note_request(request: Any, complaints: list[str]) -> None:
    """Remember a request to anywhere but the page itself."""
    if not request.url.startswith("file:") or not request.is_navigation_request():
        complaints.append(f"request to {request.url}")


class Visit:
    """The page in one window, with everything that went wrong in it."""

    def __init__(
        self, windows: Windows, size: tuple[int, int], address: str = "", **options: Any
    ) -> None:
        self.windows, self.kind = windows, f"{size} {options}"
        self.page, self.complaints = windows.take(self.kind, size, options)
        self.page.goto(windows.address() + address)
        self.page.wait_for_function(
            "() => document.getElementById('answer').childElementCount > 0 "
            "|| document.body.dataset.mode === 'exercise'"
        )

    def close(self) -> None:
        """Leave the window to others; nothing went wrong in it."""
        complaints = "\n".join(self.complaints)
        self.complaints.clear()
        self.windows.free[self.kind].append((self.page, self.complaints))
        assert complaints == ""

    def text(self, selector: str) -> str:
        """The text of an element, as it stands in the page."""
        return " ".join((self.page.text_content(selector) or "").split())

    def texts(self, selector: str) -> list[str]:
        """The texts of several elements."""
        return [" ".join(text.split()) for text in self.page.locator(selector).all_text_contents()]

    def type(self, selector: str, text: str) -> None:
        """Replace what is in a field, key by key."""
        self.page.focus(selector)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)

    def rows(self, selector: str) -> list[list[str]]:
        """The cells of rows of the truth table, without what only screen readers hear."""
        cells = "rows => rows.map(r => [...r.cells].map(c => c.firstChild?.data ?? ''))"
        rows: list[list[str]] = self.page.locator(selector).evaluate_all(cells)
        return rows

    def address(self, part: str) -> str:
        """The part of the address that matches a pattern, once it does."""
        self.page.wait_for_function("part => RegExp(part).test(location.hash)", arg=part)
        match = re.search(part, self.page.url)
        assert match
        return match[0]

    def show(self, address: str) -> None:
        """Change the address, without loading the page anew."""
        self.page.evaluate(
            """address => new Promise(go => {
                addEventListener("hashchange", go, { once: true });
                location.hash = address;
            })""",
            address,
        )

    def networks(self) -> "Visit":
        """Wait until the search of the networks has ended."""
        self.page.wait_for_selector("#network[aria-busy=false] .guided:not(.empty) .facts > div")
        return self

    def step(self) -> int:
        """The step that is shown."""
        return int(self.text("#time-value"))

    def last_step(self) -> int:
        """The last step of the search."""
        return int(self.page.get_attribute("#time", "max"))

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        # Not innerWidth, which grows on a phone with what is too wide.
        width: int = self.page.evaluate("document.documentElement.scrollWidth")
        return max(0, width - int(self.page.viewport_size["width"]))

    def clipboard(self) -> str:
        """What was copied."""
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def argument(self) -> tuple[str, str]:
        """The argument of an exercise, premises as one formula."""
        left, right = self.text(".exercise .sequent").split("⊨?")
        return " & ".join(f"({premise})" for premise in left.split(",")), right

    def exercise_follows(self) -> bool:
        """Whether the argument of an exercise follows."""
        return entails(*self.argument())

    def violations(self, *rules: str) -> list[str]:
        """What axe-core finds wrong with the accessibility of the page, by all rules or some."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(axe())
        options = {"runOnly": list(rules)} if rules else {}
        result = self.page.evaluate("options => axe.run(options)", options)
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in result["violations"]
            for node in each["nodes"]
        ]
