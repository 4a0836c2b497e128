"""A visit to the page in Chromium, as the tests make it."""

import os
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


class Visit:
    """One window on the page, with everything it complained of."""

    def __init__(
        self, browser: Any, file: Path, size: tuple[int, int], address: str, **options: Any
    ) -> None:
        width, height = size
        phone = {"has_touch": True, "is_mobile": True} if width < 500 else {}
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            permissions=["clipboard-read", "clipboard-write"],
            **phone,
            **options,
        )
        self.context.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.page = self.context.new_page()
        self.page.on("console", self.note_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error}\n{error.stack}"))
        self.page.on("request", self.note_request)
        self.page.goto(file.as_uri() + address)
        self.page.wait_for_function(
            "() => document.getElementById('answer').childElementCount > 0 "
            "|| document.body.dataset.mode === 'exercise'"
        )

    def note_console(self, message: Any) -> None:
        """Remember an error or a warning of the page."""
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def note_request(self, request: Any) -> None:
        """Remember a request to anywhere but the page itself."""
        if not request.url.startswith("file:") or not request.is_navigation_request():
            self.complaints.append(f"request to {request.url}")

    def close(self) -> None:
        """Close the window; nothing went wrong in it."""
        self.context.close()
        assert self.complaints == [], "\n".join(self.complaints)

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

    def address(self) -> str:
        """The address, once the page has brought it up to date."""
        self.page.wait_for_timeout(300)
        return str(self.page.url)

    def networks(self, to: int = 24) -> "Visit":
        """Wait until the networks have taken all of their steps."""
        self.page.wait_for_function(
            "to => +document.getElementById('time').value === to "
            "&& document.querySelector('.guided:not(.empty) .facts')?.childElementCount",
            arg=to,
        )
        return self

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return max(0, width)

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
        self.page.evaluate(axe())
        options = {"runOnly": list(rules)} if rules else {}
        result = self.page.evaluate("options => axe.run(options)", options)
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in result["violations"]
            for node in each["nodes"]
        ]
