"""Pages of lessons in a browser: offline, verified, and a control that is moved changes the numbers to Python's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from glass_browser import MISSING, Opened, browsers, opened

from glassformer.explain.glass.lesson_page import lesson_page
from glassformer.explain.lessons import compute, mask, mixing, norm, scaling
from glassformer.explain.lessons.waves import shift_matrix
from glassformer.nn.positions import sinusoidal

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{MISSING}: no page of a lesson was opened in a browser")

LABS = ("mixing", "cat", "mask", "scaling", "norm", "positions", "waves")
PHONE = {"width": 390, "height": 844}
HOSTILE = "</script><img/src=x/onerror=alert(1)> a b"
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsers() as found:
        yield found


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    folder = tmp_path_factory.mktemp("lessons")

    def written(name: str, *texts: str) -> Path:
        file = folder / f"{name}{len(texts)}.html"
        if not file.exists():
            file.write_text(lesson_page(compute(name, {"texts": texts} if texts else {})), encoding="utf-8")
        return file

    return written


def slide(page: Opened, label: str, value: float) -> None:
    page.page.get_by_label(label, exact=False).first.evaluate(
        "(one, value) => { one.value = value; one.dispatchEvent(new Event('input', { bubbles: true })); }", value
    )
    page.page.wait_for_timeout(50)


def text_of(page: Opened, selector: str) -> str:
    return " ".join(str(page.page.locator(selector).first.inner_text()).split())


@pytest.mark.parametrize("name", [*LABS, "similarity"])
def test_a_page_is_offline_and_fits_a_phone(name: str, browser: Browser, write: Write) -> None:
    for theme, viewport in (("light", PHONE), ("dark", PHONE), ("dark", {"width": 1280, "height": 900})):
        with opened(browser, write(name), color_scheme=theme, viewport=viewport) as page:
            if name in LABS:
                assert "equal Python’s" in page.verified()
            assert page.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
            assert page.wrong() == {}


def test_mixing_is_pythons_at_another_scale_and_for_another_vector(browser: Browser, write: Write) -> None:
    vectors = mixing.chosen_vectors()
    with opened(browser, write("mixing")) as page:
        page.verified()
        slide(page, "Scores ×", 2)
        e = torch.stack([vectors[word] for word in mixing.SENTENCES[0]])
        assert shares_in(text_of(page, ".equation")) == rounded((2 * e @ e.mT).softmax(-1)[1])
        field = page.page.get_by_label("money, water")
        field.fill("")
        field.press_sequentially("1.5")
        assert field.input_value() == "1.5"
        e[0, 1] = 1.5
        assert shares_in(text_of(page, ".equation")) == rounded((2 * e @ e.mT).softmax(-1)[1])
        page.page.get_by_role("button", name="river bank flows").click()
        page.page.get_by_role("button", name="Start again").click()
        words = mixing.SENTENCES[1]
        assert shares_in(text_of(page, ".equation")) == rounded(mixing.mix(words, vectors)[1][1])
        page.page.get_by_label("Write another one").fill(HOSTILE)
        assert "alert(1)" in text_of(page, ".equation") or "img" in text_of(page, ".fields")
        assert page.wrong() == {}


def shares_in(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"(?<!\d)[01]?\.\d\d", text)]


def rounded(row: torch.Tensor) -> list[float]:
    return [round(one, 2) for one in row.tolist()]


def test_a_cell_of_the_6_by_6_matrix_shows_its_sum(browser: Browser, write: Write) -> None:
    pattern = compute("cat").lab().right["shares without positions"]  # type: ignore[union-attr]
    with opened(browser, write("cat")) as page:
        page.verified()
        body = page.page.locator(".matrix .body")
        box = body.bounding_box()
        assert box
        body.click(position={"x": box["width"] * 2.5 / 6, "y": box["height"] * 0.5 / 6})  # YOUR reads IS
        page.page.get_by_label("add positions").uncheck()
        assert float(text_of(page, ".large-number")) == round(float(pattern[0, 2]), 3)
        assert text_of(page, ".row-sum tfoot").endswith("1.000")
        assert "are the same" in text_of(page, ".verdict")
        body.press("ArrowRight")
        assert float(text_of(page, ".large-number")) == round(float(pattern[0, 3]), 3)
        assert page.wrong() == {}


def test_without_a_mask_the_future_leaks(browser: Browser, write: Write) -> None:
    with opened(browser, write("mask")) as page:
        page.verified()
        assert "No leak" in text_of(page, ".verdict")
        page.page.get_by_label("causal").uncheck()
        assert "A leak" in text_of(page, ".verdict")
        shown = page.page.locator(".moves td.num").all_inner_texts()
        free = mask.change_per_word(3, mask.vectors(), mask="none")[0].tolist()
        assert [float(one) for one in shown] == [round(one, 3) for one in free]
        slide(page, "Padding after the words", 2)
        page.page.get_by_role("button", name="‹pad 2›").click()
        assert "Padding is hidden" in text_of(page, ".verdict")
        page.page.get_by_label("hide padding").uncheck()
        assert "Padding is read" in text_of(page, ".verdict")
        assert page.wrong() == {}


def test_scaling_saturates_and_recovers(browser: Browser, write: Write) -> None:
    lab = compute("scaling").lab()
    assert lab is not None
    queries, keys = lab.arrays["queries"].double(), lab.arrays["keys"].double()
    with opened(browser, write("scaling")) as page:
        page.verified()
        for step in (2, 12):
            slide(page, "d, the width", step)
            shown = int(text_of(page, "output"))
            for power, button in ((0.0, "not divided"), (0.5, "÷ √d")):
                page.page.get_by_role("button", name=button, exact=True).click()
                scores = queries[:, :shown] @ keys[:, :shown].T / shown**power
                found = page.page.locator(".facts-row dd:nth-child(2)").all_inner_texts()
                assert math.isclose(float(found[1]), scaling.highest_weight(scores), abs_tol=6e-4)
                assert math.isclose(float(found[2]), scaling.jacobian_norm(scores), abs_tol=6e-4)
        assert page.wrong() == {}


def test_a_number_of_another_sentence_moves_batch_norm_alone(browser: Browser, write: Write) -> None:
    with opened(browser, write("norm")) as page:
        page.verified()
        page.page.get_by_role("button", name="Add 10 to s5, f1").click()
        said = text_of(page, ".verdict")
        assert "BatchNorm moved s1, s2, s3, s4; LayerNorm moved no other token" in said
        moved = norm.padded(0)
        moved[4, 0] += 10
        counts = [
            int(((rule(moved) - rule(norm.tokens())).abs() > 1e-5).sum()) for rule in (norm.layer_norm, norm.batch_norm)
        ]
        assert [int(one) for one in page.page.locator(".count b").all_inner_texts()] == counts
        page.page.get_by_role("button", name="Start again").click()
        slide(page, "Padding after", 3)
        assert text_of(page, ".verdict").endswith("LayerNorm moved no other token.")
        assert "3" in text_of(page, ".fields .padding")
        assert page.wrong() == {}


def test_positions_follow_their_controls(browser: Browser, write: Write) -> None:
    with opened(browser, write("positions")) as page:
        page.verified()
        slide(page, "Position", 37)
        slide(page, "Width of the waves", 12)
        shown = page.page.locator(".candidates tr:last-child .mono").inner_text().replace("−", "-")
        assert [float(one) for one in re.findall(r"-?\d\.\d+", shown)] == [
            round(one, 3) for one in sinusoidal(38, 12)[37, :4].tolist()
        ]
        assert "000100101" in text_of(page, ".candidates tr:nth-child(3)")
        slide(page, "c, words later", 9)
        expected = sinusoidal(47, 12)
        assert torch.allclose(shift_matrix(9, 12) @ expected[37], expected[46])
        assert re.search(r"P\(37\) = P\(46\), largest difference (0|\d(\.\d)?e-[789])$", text_of(page, ".sum"))
        assert page.wrong() == {}
