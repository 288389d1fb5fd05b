"""The page of `explain --html` in a browser: it works offline, its numbers are Python's, and texts stay texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from glass_browser import MISSING, Opened, browsers, opened
from test_explaining_the_family import CONFIGS, SENTENCE, make

import glassformer as gf
from glass_payloads import PAYLOADS
from glassformer.models.registry import build
from glassformer.tasks.loading import used_as

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{MISSING}: the page was not opened in a browser")

TEXT = "a dog sees the boy."
SENTENCES = ("the dog eats bread.", "his wife has two eggs.", "my boy sees us", "me me  me", "Ünknown wörds 你好!")
SHORT = ("gpt", "bert", "captioner")  # kinds that are tried every time
VIEWS = ("whole", "pieces", "head", "heads", "stream", "choice", "proof")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsers() as found:
        yield found


@pytest.fixture(scope="module")
def translators_page(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("glass") / "glass.html"
    gf.load(trained).explain(TEXT).save(file, also=[PAYLOADS[0], "the dog </script>"])
    return file


def test_it_opens_without_a_network_and_checks_every_number(browser: Browser, translators_page: Path) -> None:
    with opened(browser, translators_page) as page:
        assert "numbers computed again on this page equal Python's" in page.verified()
        assert page.wrong() == {}


def test_what_is_typed_gets_pythons_answer_and_ids(browser: Browser, translators_page: Path, trained: Path) -> None:
    model = gf.load(trained)
    with opened(browser, translators_page, address="pieces") as page:
        page.verified()
        for text in SENTENCES:
            found = model.explain(text)
            assert page.ask(text) == found.answer.strip()
            assert ids_shown(page, len(found.source_ids)) == list(found.source_ids)
        assert page.wrong() == {}


def test_each_recorded_text_is_checked_and_no_other_is_called_so(browser: Browser, translators_page: Path) -> None:
    with opened(browser, translators_page) as page:
        first = page.verified()
        page.ask(SENTENCES[0])
        assert "Python has no record of this text" in page.page.locator(".verified").inner_text()
        page.ask("the dog </script>")
        assert page.verified() != first
        page.page.locator("main").press("x")  # a head is removed
        page.page.locator(".verified:not(.ok)", has_text="Python has no record of B").wait_for()
        assert page.wrong() == {}


def ids_shown(page: Opened, count: int) -> list[int]:
    """The ids of the source, as the view of the pieces prints them."""
    return [int(text) for text in page.page.locator(".wordrow small").all_inner_texts()][:count]


@pytest.mark.parametrize(
    "name",
    [*SHORT, *(pytest.param(one, marks=pytest.mark.long) for one in CONFIGS if one not in SHORT)],
)
def test_models_of_other_kinds(name: str, browser: Browser, tmp_path: Path) -> None:
    shown = str(tmp_path / "image.npy") if name in ("vit", "captioner") else SENTENCE
    np.save(tmp_path / "image.npy", np.random.default_rng(1).integers(0, 256, (28, 28), dtype=np.uint8))
    model: Any = used_as(make(name), None)
    model.explain(shown).save(tmp_path / "glass.html")
    with opened(browser, tmp_path / "glass.html") as page:
        assert not page.verified().startswith("FAILED")
        for view in VIEWS:
            page.page.evaluate(f"location.hash = '#{view}'")
            page.page.wait_for_timeout(30)
        assert page.wrong() == {}


def test_a_recorded_page_says_so(browser: Browser, tmp_path: Path) -> None:
    model = build("bert", {**CONFIGS["bert"], "d": 240, "d_ff": 640, "vocabulary": 60})
    user: Any = used_as(replace(make("bert"), model=model.eval()), None)
    user.explain(SENTENCE).save(tmp_path / "glass.html", max_mb=1.8)
    with opened(browser, tmp_path / "glass.html") as page:
        assert not page.verified().startswith("FAILED")
        assert page.page.get_by_role("search").count() == 0  # nothing can be typed
        assert page.wrong() == {}


def test_without_javascript_there_is_a_summary(browser: Browser, translators_page: Path) -> None:
    with opened(browser, translators_page, java_script_enabled=False) as page:
        text = page.page.locator("#summary").inner_text()
        assert TEXT in text
        assert PAYLOADS[0] in text
        assert (page.dialogs, page.requests) == ([], [])


# Texts that are made to run

TYPE_ALL = """async (texts) => {
  const wait = (time) => new Promise((done) => setTimeout(done, time));
  const set = (field, text) => {
    const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    value.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  let typed = 0;
  for (const text of texts) {
    const fields = document.querySelectorAll("input[type=text], input[type=search]");
    for (const field of fields) { set(field, text); typed++; }
    document.querySelector("form.ask").requestSubmit();
    await wait(15);
    for (let i = 0; i < 200 && document.querySelector("form.ask button[disabled]"); i++) await wait(10);
  }
  return typed;
}"""


def type_all(page: Opened, payloads: Sequence[str]) -> None:
    """Into the field of the sentence, the list of steps, the jump, and the texts of what-if; and into the address."""
    page.verified()
    assert page.page.evaluate(TYPE_ALL, list(payloads)) >= len(payloads)
    page.page.keyboard.press("Escape")
    page.page.locator("body").press("/")
    for payload in payloads:
        page.page.locator("dialog input").fill(payload)
    page.page.keyboard.press("Escape")
    for payload in payloads[::4]:
        page.page.evaluate(
            "(text) => { location.hash = '#proof?tap=' + encodeURIComponent(text) + '&stack=' + text; }", payload
        )
        page.page.wait_for_timeout(5)
    assert page.wrong() == {}


def test_hostile_texts_stay_texts(browser: Browser, translators_page: Path) -> None:
    with opened(browser, translators_page, address="proof") as page:
        type_all(page, PAYLOADS[:: len(PAYLOADS) // 20])


@pytest.mark.long
def test_two_hundred_hostile_texts_stay_texts(browser: Browser, translators_page: Path) -> None:
    for view in ("proof", "choice", "stream"):
        with opened(browser, translators_page, address=view) as page:
            type_all(page, PAYLOADS)


def test_hostile_texts_that_python_recorded(browser: Browser, translators_page: Path) -> None:
    with opened(browser, translators_page) as page:
        page.verified()
        page.ask(PAYLOADS[0])
        page.ask("the dog </script>")
        for view in VIEWS:
            page.page.evaluate(f"location.hash = '#{view}'")
            page.page.wait_for_timeout(30)
        assert page.wrong() == {}
