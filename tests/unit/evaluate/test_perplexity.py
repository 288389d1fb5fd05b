"""Perplexity and bits per byte against their formulas, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from glassformer.evaluate.metric import Measured
from glassformer.evaluate.perplexity import BITS_PER_BYTE, PERPLEXITY

LOSSES = np.array([[7.5, 3.0], [2.5, 2.0], [11.0, 5.0]])
TEXTS = ["ein Hund", "ähnlich", ("vorher", "日本")]  # 8, 8 and 6 bytes


def test_perplexity_is_exp_of_the_loss_per_token() -> None:
    found = Measured(PERPLEXITY, PERPLEXITY.counts(LOSSES, TEXTS))
    assert found.total == pytest.approx(math.exp(21.0 / 10.0), rel=1e-12)


def test_a_uniform_guess_has_the_size_of_the_vocabulary_as_perplexity() -> None:
    losses = np.array([[13 * math.log(97), 13.0], [5 * math.log(97), 5.0]])
    assert Measured(PERPLEXITY, PERPLEXITY.counts(losses, TEXTS[:2])).total == pytest.approx(97.0, rel=1e-12)


def test_bits_per_byte_count_the_bytes_of_utf8() -> None:
    found = Measured(BITS_PER_BYTE, BITS_PER_BYTE.counts(LOSSES, TEXTS))
    assert found.total == pytest.approx(21.0 / math.log(2) / 22, rel=1e-12)


def test_a_loss_without_end_gives_a_number() -> None:
    assert np.isfinite(PERPLEXITY.score(np.array([[1e9, 1.0]])))


def test_lower_is_better() -> None:
    assert PERPLEXITY.gain(20.0, 10.0) == 10.0
    assert BITS_PER_BYTE.gain(1.0, 1.5) == -0.5
