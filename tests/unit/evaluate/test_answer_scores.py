"""Exact match and F1 against a second reading of SQuAD's rules, on hand-made and on generated cases."""

from __future__ import annotations

import string
from random import Random

import numpy as np
import pytest

from glassformer.evaluate.answers import EXACT, F1, best_threshold, normalised
from glassformer.evaluate.intervals import score_with_interval
from glassformer.evaluate.metric import measured

# A second reading of the rules, word by word instead of by patterns


def reference_words(text: str) -> list[str]:
    """Lower case; no ASCII punctuation; then whole words a, an, the become spaces; split at white space."""
    kept = [c for c in text.lower() if c not in string.punctuation]
    words: list[str] = []
    word = ""
    for character in [*kept, " "]:  # a word here is what \b sees: letters, digits and the underscore
        if character.isalnum() or character == "_":
            word += character
        else:
            words += [" " if word in ("a", "an", "the") else word, character]
            word = ""
    return "".join(words).split()


def reference(predicted: str, answers: list[str]) -> tuple[float, float]:
    """(exact, F1) as the second version of the script counts them."""
    answers = [one for one in answers if reference_words(one)] or [""]
    exact = max(float(reference_words(predicted) == reference_words(one)) for one in answers)
    best = 0.0
    for one in answers:
        ours, theirs = reference_words(predicted), reference_words(one)
        if not ours or not theirs:
            best = max(best, float(ours == theirs))
            continue
        left, same = list(theirs), 0
        for word in ours:
            if word in left:
                left.remove(word)
                same += 1
        if same:
            precision, recall = same / len(ours), same / len(theirs)
            best = max(best, 2 * precision * recall / (precision + recall))
    return exact, best


HAND_MADE: list[tuple[str, list[str], float, float]] = [
    ("The Denver Broncos", ["Denver Broncos"], 1, 1),
    ("denver broncos!", ["Denver Broncos", "Broncos"], 1, 1),
    ("Broncos", ["Denver Broncos"], 0, 2 / 3),
    ("", [], 1, 1),  # no answer, and none was given
    ("something", [], 0, 0),
    ("", ["Denver"], 0, 0),
    ("the", ["a"], 1, 1),  # both are empty after normalisation: as if there were no answer
    ("the", ["Denver"], 0, 0),
    ("", ["the", "..."], 1, 1),
    ("", ["the", "Denver"], 0, 0),  # the answer that says something counts
    ("U.S.", ["US"], 1, 1),
    ("3,000", ["3000"], 1, 1),
    ("$1.5 million", ["15 million"], 1, 1),  # the rules take the point away
    ("24–10", ["24-10"], 0, 0),  # an en dash is not ASCII: it stays
    ("“gold”", ["gold"], 0, 0),
    ("an anthem", ["anthem"], 1, 1),
    ("theatre", ["the atre"], 0, 0),
    ("new new york", ["new york"], 0, 0.8),  # a word counts as often as both have it
    ("  New\n York\t", ["new york"], 1, 1),
    ("Straße", ["STRASSE"], 0, 0),
    ("a-b", ["ab"], 1, 1),
    ("a\u2014the", ["\u2014"], 1, 1),  # an em dash ends a word
    ("éa", ["é"], 0, 0),
]


@pytest.mark.parametrize(("predicted", "answers", "exact", "f1"), HAND_MADE)
def test_hand_made_cases(predicted: str, answers: list[str], exact: float, f1: float) -> None:
    found = measured((F1, EXACT), [predicted], [("question", tuple(answers))])
    assert found["exact"].total == pytest.approx(100 * exact)
    assert found["f1"].total == pytest.approx(100 * f1)
    assert reference(predicted, answers) == pytest.approx((exact, f1))


def test_generated_cases_equal_the_second_reading() -> None:
    random = Random(3)
    parts = [
        "the",
        "a",
        "an",
        "An",
        "Theo",
        "year",
        "1066",
        "3,5",
        "%",
        "–",
        "é",
        "_a",
        "a_",
        ".",
        "'s",
        "u.s.",
        " ",
        "",
    ]

    def text() -> str:
        return "".join(
            random.choice(parts) + random.choice((" ", " ", "", "\u00a0")) for _ in range(random.randrange(6))
        )

    predictions = [text() for _ in range(3000)]
    examples = [("q", tuple(text() for _ in range(random.randrange(4)))) for _ in predictions]
    expected = [reference(one, list(given)) for one, (_, given) in zip(predictions, examples, strict=True)]
    found = measured((F1, EXACT), predictions, examples)
    np.testing.assert_allclose(found["exact"].values[:, 0], [exact for exact, _ in expected])
    np.testing.assert_allclose(found["f1"].values[:, 0], [f1 for _, f1 in expected], atol=1e-12)
    assert len({f1 for _, f1 in expected}) > 5


def test_normalising_twice_changes_nothing_that_counts() -> None:
    assert normalised("The  U.S. Army's a-team") == "us armys ateam"
    assert normalised("a an the") == ""


def test_intervals_come_with_the_metric() -> None:
    examples = [("q", ("yes",))] * 40
    score = score_with_interval(EXACT, ["yes"] * 30 + ["no"] * 10, examples)
    assert score.low is not None
    assert score.high is not None
    assert score.low < score.value == 75.0 < score.high


def test_the_threshold_is_the_best_of_all() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        margins = random.normal(size=12).round(1)
        answered, unanswered = random.integers(0, 2, 12), random.integers(0, 2, 12)

        def total(threshold: float, m: object = margins, a: object = answered, u: object = unanswered) -> float:
            return float(np.where(np.asarray(m) > threshold, u, a).sum())

        found = best_threshold(margins, answered, unanswered)
        best = max(total(one) for one in (-1e9, *margins, 1e9))
        assert total(found) == best
        if total(0.0) == best:
            assert found == 0.0
