"""What a comparison says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glassformer.evaluate.significance import Difference
from glassformer.explain.difference import difference_sentence, p_words, sparkline

BETTER = Difference("BLEU", 37.1, 38.4, 0.0123, 0.62, 2.04, 300)


def test_the_better_one_is_named_first_whichever_it_is() -> None:
    assert (
        difference_sentence(BETTER, "a", "b")
        == "b is better than a by 1.3 BLEU (38.4 against 37.1), p = 0.012; 95% interval 0.6 to 2.0."
    )
    turned = Difference("BLEU", 38.4, 37.1, 0.0123, -2.04, -0.62, 300)
    assert (
        difference_sentence(turned, "a", "b")
        == "a is better than b by 1.3 BLEU (38.4 against 37.1), p = 0.012; 95% interval 0.6 to 2.0."
    )


def test_what_may_be_chance_is_called_so_with_what_would_have_shown() -> None:
    found = Difference("chrF", 50.0, 50.2, 0.48, -0.4, 0.8, 1300)
    assert difference_sentence(found, "a", "b") == (
        "No difference in chrF between a and b can be shown with 1,300 sentences: 50.0 and 50.2, p = 0.48; 95% "
        "interval of the difference -0.4 to 0.8. A difference of about 0.6 or more could be shown here."
    )


def test_no_difference_that_was_not_shown_could_be_shown() -> None:
    found = Difference("accuracy", 80.0, 85.0, 0.06, 0.0, 10.0, 100)
    assert "could be shown here" not in difference_sentence(found, "a", "b")


def test_the_p_of_several_comparisons_decides() -> None:
    assert "can be shown" in difference_sentence(BETTER, "a", "b", p=0.06)
    assert "p = 0.06" in difference_sentence(BETTER, "a", "b", p=0.06)


def test_no_difference_at_all_is_never_better() -> None:
    same = difference_sentence(Difference("BLEU", 3.0, 3.0, 0.01, 0.0, 0.0, 50), "a", "b")
    assert "No difference" in same
    assert "could be shown here" not in same  # an interval without width says nothing about that


def test_too_few_examples_decide_nothing() -> None:
    found = Difference("accuracy", 60.0, 90.0, 0.002, 10.0, 50.0, 9, unit="texts")
    assert difference_sentence(found, "a", "b", sign="%") == (
        "Too few texts (9) to say whether a or b is better in accuracy: 60.0% and 90.0%."
    )
    assert "b is better than a" in difference_sentence(replace(found, sentences=10), "a", "b", sign="%")


@pytest.mark.parametrize(
    ("p", "words"), [(0.0001, "p < 0.001"), (0.001, "p = 0.001"), (0.0456, "p = 0.046"), (1, "p = 1")]
)
def test_p_in_words(p: float, words: str) -> None:
    assert p_words(p) == words


def test_a_curve_in_one_line() -> None:
    points = [(25.0, 0.0), (50.0, 5.0), (75.0, 10.0)]
    assert sparkline(points, until=100, low=0, high=10, width=4) == "▁▅█ "
    assert sparkline(points, until=100, low=0, high=10, width=8) == " ▁▁▅▅█  "
    assert sparkline([(10.0, 3.0)], until=10, low=3, high=3, width=2) == " ▁"
