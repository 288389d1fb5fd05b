"""Whether one translator is better than another: both translate the same sentences, and chance is asked.

The p-value is that of paired approximate randomization (Noreen 1989; Riezler and Maxwell 2005): were the two equally
good, it would not matter which of them a translation is from. So the two are exchanged at random, sentence by sentence,
and it is counted how often that makes as large a difference as the real one. The interval is that of the paired
bootstrap (Koehn 2004). Both work on sacreBLEU's own counts of each sentence; all of it is seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU

from glassformer.evaluate.bleu_tokenizer import bleu_tokenizer
from glassformer.evaluate.translation import PlainCHRF, check_translations, reference_streams

TRIALS, RESAMPLES, SEED = 10_000, 2_000, 12345
CELLS = 4_000_000  # of a table of trials by sentences that is in memory at a time
TIE = 1e-9  # differences that are equal but for rounding count as equal

Counts = NDArray[np.float64]  # (sentences, counts), or (trials, counts) when summed
ScoreOf = Callable[[Counts], NDArray[np.float64]]  # (trials, counts) -> (trials,)


@dataclass(frozen=True)
class Difference:
    """Two translators on the same sentences, by one metric."""

    metric: str
    first: float
    second: float
    p: float  # of so large a difference, either way, if they were equally good
    low: float  # 95% interval of second - first
    high: float
    sentences: int
    signature: str = ""

    @property
    def value(self) -> float:
        return self.second - self.first


def differences(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]], *, language: str | None = None
) -> list[Difference]:
    """BLEU, chrF and exact match of two lists of translations of the same sentences."""
    for hypotheses in (first, second):
        check_translations(hypotheses, references)
    metrics = {"BLEU": BLEU(tokenize=bleu_tokenizer(language, references)), "chrF": PlainCHRF()}
    found = []
    for name, metric in metrics.items():
        one, other = (sentence_counts(metric, hypotheses, references) for hypotheses in (first, second))
        signature = f"{metric.get_signature()}|ar:{TRIALS}|bs:{RESAMPLES}|seed:{SEED}"
        found.append(difference(name, one, other, score_of(metric), signature=signature))
    one, other = (exact_counts(hypotheses, references) for hypotheses in (first, second))
    signature = f"exact|case:mixed|ar:{TRIALS}|bs:{RESAMPLES}|seed:{SEED}"
    return [*found, difference("exact match", one, other, percent_right, signature=signature)]


def difference(metric: str, first: Counts, second: Counts, score: ScoreOf, *, signature: str = "") -> Difference:
    """The two scores, how likely chance alone is, and how large the difference may be."""
    one, other = (float(score(counts.sum(axis=0, keepdims=True))[0]) for counts in (first, second))
    p = randomization_p(first, second, score)
    low, high = bootstrap_interval(first, second, score)
    return Difference(metric, one, other, p, low, high, len(first), signature)


def randomization_p(
    first: Counts, second: Counts, score: ScoreOf, *, trials: int | None = None, seed: int = SEED
) -> float:
    """The share of random exchanges with at least the real difference; the real one is counted among them."""
    trials = trials or TRIALS
    real = abs(_score_gap(first, second, score))
    random, hits = np.random.default_rng(seed), 0
    for size in _chunks(trials, len(first)):
        kept = random.integers(2, size=(size, len(first)), dtype=bool).astype(np.float64)
        gap = score(kept @ first + (1 - kept) @ second) - score((1 - kept) @ first + kept @ second)
        hits += int((np.abs(gap) >= real - TIE).sum())
    return (hits + 1) / (trials + 1)


def bootstrap_interval(
    first: Counts, second: Counts, score: ScoreOf, *, resamples: int | None = None, seed: int = SEED
) -> tuple[float, float]:
    """95% interval of the difference: sentences are drawn with replacement, the same ones for both."""
    resamples = resamples or RESAMPLES
    random, count = np.random.default_rng(seed), len(first)
    gaps = []
    for size in _chunks(resamples, count):
        drawn = random.multinomial(count, np.full(count, 1 / count), size=size).astype(np.float64)
        gaps.append(score(drawn @ second) - score(drawn @ first))
    low, high = np.percentile(np.concatenate(gaps), [2.5, 97.5]).tolist()
    return low, high


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of several comparisons together (Holm 1979): the more are made, the likelier one is lucky."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


# Counts of sentences, and what they come to


def sentence_counts(metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Counts:
    """sacreBLEU's counts for each sentence, which add up to those of the corpus."""
    counts: Any = metric._extract_corpus_statistics(hypotheses, reference_streams(references))
    return np.array(counts, dtype=np.float64)


def score_of(metric: Metric) -> ScoreOf:
    def scores(summed: Counts) -> NDArray[np.float64]:
        rows = np.rint(summed).astype(np.int64).tolist()
        return np.array([metric._compute_score_from_stats(row).score for row in rows])

    return scores


def exact_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Counts:
    """[1 if equal to a reference, 1]"""
    pairs = zip(hypotheses, references, strict=True)
    return np.array([[float(hypothesis in options), 1.0] for hypothesis, options in pairs])


def percent_right(summed: Counts) -> NDArray[np.float64]:
    return 100 * summed[:, 0] / summed[:, 1]


def _score_gap(first: Counts, second: Counts, score: ScoreOf) -> float:
    one, other = (score(counts.sum(axis=0, keepdims=True))[0] for counts in (first, second))
    return float(other - one)


def _chunks(total: int, sentences: int) -> Iterator[int]:
    most = max(1, CELLS // sentences)
    for done in range(0, total, most):
        yield min(most, total - done)
