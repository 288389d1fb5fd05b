"""Paired tests: against hand-made cases, against sacreBLEU's own, and whether chance is called chance."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from glassformer.evaluate import significance
from glassformer.evaluate.metric import Counts, percent_of
from glassformer.evaluate.significance import Difference, bootstrap_interval, difference, holm, randomization_p
from glassformer.evaluate.translation import BLEU as OUR_BLEU
from glassformer.evaluate.translation import exact_counts, translation_metrics, with_references

REFERENCES = [("ein Hund",), ("die Katze sieht",), ("das alte Brot",)]
WORDS = ["der", "die", "das", "Hund", "Katze", "Mann", "Frau", "sieht", "hat", "isst", "Brot", "Wein", "rot", "alt"]


def right(*answers: int) -> Counts:
    return np.array([[float(answer), 1.0] for answer in answers])


def exact_p(first: Counts, second: Counts) -> float:
    """By all 2^n exchanges."""
    gap = abs(first[:, 0].sum() - second[:, 0].sum())
    signs = np.array(list(product([1, -1], repeat=len(first))))
    return float((np.abs(signs @ (first[:, 0] - second[:, 0])) >= gap - 1e-9).mean())


def noisy(random: np.random.Generator, sentences: list[list[str]], error: float) -> list[str]:
    """The sentences with some words exchanged: a translator that makes mistakes."""
    return [" ".join(str(random.choice(WORDS)) if random.random() < error else w for w in words) for words in sentences]


def corpus(random: np.random.Generator, count: int) -> list[list[str]]:
    return [[str(word) for word in random.choice(WORDS, size=random.integers(4, 10))] for _ in range(count)]


def differences(first: list[str], second: list[str], references: list[tuple[str, ...]]) -> list[Difference]:
    examples = with_references(references)
    return [difference(one, one.counts(first, examples), one.counts(second, examples)) for one in translation_metrics()]


# Hand-made


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        (right(0, 0, 0, 0), right(1, 1, 1, 1), 2 / 16),  # only all exchanged and none exchanged differ as much
        (right(0, 0, 1), right(1, 1, 1), 2 / 4),
        (right(1, 0, 1, 0, 0, 0), right(0, 1, 1, 1, 1, 1), 12 / 32),
    ],
)
def test_p_is_the_share_of_exchanges_that_differ_as_much(first: Counts, second: Counts, p: float) -> None:
    assert exact_p(first, second) == pytest.approx(p)
    assert randomization_p(first, second, percent_of) == pytest.approx(p, abs=0.015)


def test_the_same_translations_are_no_difference() -> None:
    same = ["ein Hund", "eine Katze sieht", "das rote Brot"]
    for one in differences(same, same, REFERENCES):
        assert (one.value, one.p, one.low, one.high) == (0, 1, 0, 0)


def test_the_interval_is_that_of_the_resampled_difference() -> None:
    assert bootstrap_interval(right(0, 0, 0), right(1, 1, 1), percent_of) == (100, 100)
    first, second = right(*[0] * 100), right(*[1] * 50, *[0] * 50)
    low, high = bootstrap_interval(first, second, percent_of)
    assert low == pytest.approx(50 - 1.96 * 5, abs=1.1)  # a share of 100 sentences has a standard error of 5
    assert high == pytest.approx(50 + 1.96 * 5, abs=1.1)


def test_holm_makes_up_for_several_comparisons() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.2]) == [0.2]
    assert holm([0.6, 0.7]) == [1.0, 1.0]


# sacreBLEU


def test_scores_and_p_are_those_of_sacrebleu() -> None:
    random = np.random.default_rng(7)
    sentences = corpus(random, 60)
    references = [(" ".join(words),) for words in sentences]
    first, second = noisy(random, sentences, 0.42), noisy(random, sentences, 0.40)
    metric = BLEU()
    test = PairedTest(
        [("first", first), ("second", second)], {"BLEU": metric}, [[r for (r,) in references]], n_samples=1000
    )
    theirs = test()[1]["BLEU"]
    counts = [OUR_BLEU.counts(hypotheses, with_references(references)) for hypotheses in (first, second)]
    ours = randomization_p(counts[0], counts[1], OUR_BLEU.score, trials=1000)
    assert 0.01 < ours < 0.99
    assert ours == theirs[1].p_value  # type: ignore[union-attr]
    bleu = differences(first, second, references)[0]
    assert (bleu.first, bleu.second) == (pytest.approx(theirs[0].score), pytest.approx(theirs[1].score))  # type: ignore[union-attr]
    assert bleu.low < bleu.value < bleu.high


def test_a_table_too_large_for_memory_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = right(*[0] * 12, *[1] * 28), right(*[1] * 12, *[0] * 6, *[1] * 22)
    whole = bootstrap_interval(first, second, percent_of)
    monkeypatch.setattr(significance, "CELLS", 100)
    assert bootstrap_interval(first, second, percent_of) == whole
    assert randomization_p(first, second, percent_of, trials=999) == pytest.approx(
        exact_binomial(plus=12, minus=6), abs=0.04
    )


def exact_binomial(*, plus: int, minus: int) -> float:
    draws = np.random.default_rng(0).binomial(plus + minus, 0.5, 200_000)
    return float((np.abs(draws - (plus + minus) / 2) >= abs(plus - minus) / 2).mean())


# Chance


def test_of_equally_good_translators_one_in_twenty_seems_different() -> None:
    random = np.random.default_rng(11)
    p_values = []
    for _ in range(600):
        rates = random.random(150)  # sentences differ in difficulty, the translators do not
        first, second = (right(*(random.random(150) < rates).astype(int)) for _ in range(2))
        p_values.append(randomization_p(first, second, percent_of, trials=299))
    share = float((np.array(p_values) < 0.05).mean())
    assert 0.02 < share < 0.08  # 0.05 with a standard error of 0.009; ties make it a little less
    assert 0.4 < float(np.mean(p_values)) < 0.6


def test_of_equally_good_translators_one_in_twenty_seems_different_in_bleu() -> None:
    random = np.random.default_rng(12)
    sentences = corpus(random, 40)
    references = [(" ".join(words),) for words in sentences]
    p_values = []
    for _ in range(120):
        pair = [OUR_BLEU.counts(noisy(random, sentences, 0.3), with_references(references)) for _ in range(2)]
        p_values.append(randomization_p(pair[0], pair[1], OUR_BLEU.score, trials=99))
    assert float((np.array(p_values) < 0.05).mean()) < 0.12
    assert float((np.array(p_values) < 0.5).mean()) == pytest.approx(0.5, abs=0.15)


def test_a_real_difference_is_found() -> None:
    random = np.random.default_rng(13)
    sentences = corpus(random, 200)
    references = [(" ".join(words),) for words in sentences]
    first, second = noisy(random, sentences, 0.4), noisy(random, sentences, 0.2)
    for one in differences(first, second, references):
        assert one.p < 0.01
        assert 0 < one.low < one.value < one.high
        assert one.sentences == 200


def test_it_is_seeded() -> None:
    first, second = right(*[0, 1] * 20), right(*[1, 1, 0, 1] * 10)
    assert randomization_p(first, second, percent_of) == randomization_p(first, second, percent_of)
    assert bootstrap_interval(first, second, percent_of) == bootstrap_interval(first, second, percent_of)


def test_any_reference_will_do() -> None:
    assert exact_counts(["a", "b"], with_references([("x", "a"), ("c",)])).tolist() == [[1, 1], [0, 1]]
