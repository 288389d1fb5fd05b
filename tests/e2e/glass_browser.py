"""A page of `explain --html` in a real browser without a network, and everything that must not happen there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import BROWSER

try:
    from playwright.sync_api import sync_playwright
except ModuleNotFoundError:
    sync_playwright = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MISSING = "no chromium here" if BROWSER is None else "playwright is not installed" if sync_playwright is None else ""
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-sync")
WATCH = """
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
STRAY = (
    "script:not([type]), img, iframe, object, embed, video, audio, base, link, meta[http-equiv=refresh], form[action]"
)


@contextmanager
def browsers() -> Iterator[Browser]:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=[*OPTIONS])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page that has been opened, and what it did that it should not."""

    page: Page
    requests: list[str] = field(default_factory=list)  # besides the file itself
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def verified(self) -> str:
        """The line that says what was checked, when it says so."""
        line = self.page.locator(".verified.ok, .verified.failed")
        line.wait_for(timeout=30_000)
        return str(line.inner_text()) if "ok" in (line.get_attribute("class") or "") else f"FAILED {line.inner_text()}"

    def answer(self) -> str:
        return str(self.page.locator(".answers").inner_text()).rpartition("→")[2].strip()

    def ask(self, text: str) -> str:
        """Types a sentence; returns the answer when the model has given it."""
        shown = self.page.get_by_role("search").get_by_role("combobox")
        shown.fill(text)
        shown.press("Enter")
        self.page.wait_for_function("!document.querySelector('form.ask button[disabled]')")
        self.page.wait_for_timeout(50)
        return self.answer()

    def stray(self) -> list[str]:
        """Elements that only injected text could have made. The page has one script of its own."""
        found: list[str] = self.page.evaluate(f"[...document.querySelectorAll({STRAY!r})].map((one) => one.outerHTML)")
        return [one[:200] for one in found if not one.startswith("<script>/*! The page of")]

    def wrong(self) -> dict[str, Any]:
        """What should all be empty."""
        found = {
            "requests": self.requests,
            "errors": self.errors,
            "dialogs": self.dialogs,
            "violations": self.page.evaluate("window.violations"),
            "stray elements": self.stray(),
            "owned": self.page.evaluate("window.owned"),
        }
        return {name: one for name, one in found.items() if one}


def leaves(address: str, own: str) -> bool:
    """Whether a request is for anything but the file itself, or its own script as a worker."""
    return not address.startswith((own, "blob:null/"))


@contextmanager
def opened(browser: Browser, file: Path, *, address: str = "", **options: Any) -> Iterator[Opened]:
    """Opens a page offline. `address`: what follows # in it."""
    context = browser.new_context(offline=True, **options)
    context.add_init_script(WATCH)
    page = context.new_page()
    found = Opened(page)
    own = file.as_uri()
    page.on("request", lambda request: found.requests.append(request.url) if leaves(request.url, own) else None)
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on(
        "console", lambda message: found.errors.append(message.text) if message.type in ("error", "warning") else None
    )

    def refuse(dialog: Any) -> None:
        found.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.goto(f"{own}#{address}" if address else own)
    yield found
    context.close()
