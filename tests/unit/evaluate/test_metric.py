"""A metric: direction, levels, words, the check of a user's choice."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.errors import DataError
from glassformer.evaluate.classes import ACCURACY, MACRO_F1, MATTHEWS
from glassformer.evaluate.metric import (
    LOSS,
    Measured,
    Metric,
    Scale,
    as_counted,
    by_key,
    check_best_by,
    headline,
    mean_of,
    measured,
)
from glassformer.evaluate.perplexity import BITS_PER_BYTE, PERPLEXITY
from glassformer.evaluate.translation import BLEU, CHRF, EXACT, translation_metrics

ALL = (LOSS, BLEU, CHRF, EXACT, ACCURACY, MACRO_F1, MATTHEWS, PERPLEXITY, BITS_PER_BYTE)


def test_a_gain_is_positive_where_it_is_better() -> None:
    assert BLEU.gain(20.0, 25.0) == 5.0
    assert LOSS.gain(2.0, 1.5) == 0.5
    assert LOSS.gain(0.0, 2.5) == -2.5  # how a score is kept so that more is better


def test_levels_are_reached_in_the_direction_of_the_metric() -> None:
    assert BLEU.reaches(30.0, 30.0)
    assert not BLEU.reaches(29.9, 30.0)
    assert PERPLEXITY.reaches(12.0, 15.0)
    assert not PERPLEXITY.reaches(16.0, 15.0)
    assert not BLEU.reaches(100.0, None)


def test_words_are_those_of_the_best_level_reached() -> None:
    assert BLEU.words(93.0) == "nearly all are right"
    assert BLEU.words(25.0) == "the gist comes through, with clear mistakes"
    assert BLEU.words(-1.0) == "hardly usable"
    assert CHRF.words(50.0) == ""
    scale = Scale(words=((10.0, "fluent"), (100.0, "rough")))
    falling = Metric("x", "x", mean_of, as_counted, higher_is_better=False, scale=scale)
    assert [falling.words(value) for value in (5.0, 50.0, 500.0)] == ["fluent", "rough", "rough"]


def test_numbers_are_shown_with_their_digits_and_unit() -> None:
    assert (LOSS.shown(1.23456), BLEU.shown(31.24), ACCURACY.shown(91.06)) == ("1.235", "31.2", "91.1%")


def test_keys_are_distinct_and_fit_a_record() -> None:
    assert len({metric.key for metric in ALL}) == len(ALL)
    assert all(metric.key.isidentifier() and metric.key.islower() for metric in ALL)


def test_a_language_changes_how_bleu_counts_and_nothing_that_describes_it() -> None:
    german, thai = translation_metrics("de"), translation_metrics("th")
    described = [
        [(one.key, one.label, one.digits, one.higher_is_better, one.scale) for one in metrics]
        for metrics in (translation_metrics(), german, thai)
    ]
    assert described[0] == described[1] == described[2]
    examples = [("", ("ein Hund",))]
    by_word, by_character = (metrics[0].counts(["ein Hut"], examples).tolist() for metrics in (german, thai))
    assert by_word != by_character


def test_the_headline_is_the_first_that_says_more_than_the_loss() -> None:
    assert headline((PERPLEXITY, EXACT, CHRF, BLEU)) is CHRF
    assert headline((PERPLEXITY,)) is None


def test_measured_counts_predictions_or_losses() -> None:
    examples = [("good film", "yes"), ("bad film", "no")]
    losses = np.array([[0.2, 1.0], [0.6, 1.0]])
    found = measured((ACCURACY, PERPLEXITY), ["yes", "yes"], examples, losses)
    assert found["accuracy"].total == 50.0
    assert found["perplexity"].total == pytest.approx(np.exp(0.4))
    assert set(measured((ACCURACY, PERPLEXITY), ["yes", "yes"], examples)) == {"accuracy"}
    assert Measured(LOSS, losses).total == pytest.approx(0.4)


@pytest.mark.parametrize("predictions", [[], ["yes"], ["yes"] * 3])
def test_unequal_numbers_are_refused(predictions: list[str]) -> None:
    with pytest.raises(DataError, match=f"Got {len(predictions)} predictions and 2 examples"):
        measured((ACCURACY,), predictions, [("a", "yes"), ("b", "no")])


@pytest.mark.parametrize("best_by", ["auto", "loss", "bleu", "chrf"])
def test_a_metric_of_the_task_may_decide(best_by: str) -> None:
    check_best_by(best_by, (BLEU, CHRF, EXACT))


@pytest.mark.parametrize(
    ("best_by", "hint"),
    [
        ("blue", "Did you mean 'bleu'"),
        ("BLEU", "Did you mean 'bleu'"),
        ("accuracy", "Allowed: auto, loss, bleu, chrf"),
        ("exact", "Allowed: auto, loss, bleu, chrf"),  # is not measured at validations
        ("", "Allowed: auto"),
    ],
)
def test_another_one_is_refused_with_what_is_allowed(best_by: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        check_best_by(best_by, (BLEU, CHRF, EXACT))


def test_the_loss_is_always_known() -> None:
    assert list(by_key(())) == ["loss"]
    assert list(by_key((BLEU, CHRF))) == ["loss", "bleu", "chrf"]
