"""Scores of translations: sacreBLEU's BLEU and chrF with their signatures, exact match, all with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from glassformer.errors import DataError
from glassformer.evaluate.bleu_tokenizer import bleu_tokenizer
from glassformer.evaluate.score import Score

RESAMPLES = 1000


class PlainCHRF(CHRF):
    """sacreBLEU's bootstrap counts in numpy's float32; where some draws score a plain 0.0, its mean of both fails."""

    def _compute_score_from_stats(self, stats: Any) -> Any:
        return super()._compute_score_from_stats([int(count) for count in stats])


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    language: str | None = None,
    resamples: int = RESAMPLES,
) -> list[Score]:
    """BLEU, chrF and exact match of all sentences; each sentence may have several references.

    `language` is the code of what was translated into; it decides how BLEU finds the words (see `bleu_tokenizer`).
    """
    check_translations(hypotheses, references)
    streams = reference_streams(references)
    metrics = [("BLEU", BLEU(tokenize=bleu_tokenizer(language, references))), ("chrF", PlainCHRF())]
    scores = [_corpus_score(name, metric, hypotheses, streams, resamples) for name, metric in metrics]
    return [*scores, exact_match(hypotheses, references, resamples=resamples)]


def bleu_and_chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, language: str | None = None
) -> tuple[float, float]:
    """The two numbers alone, quick enough for every validation."""
    check_translations(hypotheses, references)
    streams = reference_streams(references)
    bleu, chrf = BLEU(tokenize=bleu_tokenizer(language, references)), CHRF()
    return bleu.corpus_score(hypotheses, streams).score, chrf.corpus_score(hypotheses, streams).score


def check_translations(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if not hypotheses or len(hypotheses) != len(references):
        raise DataError(
            f"Got {len(hypotheses):,} translations and {len(references):,} references: there must be equally many, "
            "and at least one."
        )


def reference_streams(references: Sequence[Sequence[str]]) -> Any:
    """References per sentence -> sacreBLEU's streams: the first of each, then the second of each or None, and so on.

    (sacreBLEU accepts None for a missing reference, but its types do not say so.)
    """
    count = max(len(options) for options in references)
    return [[options[i] if i < len(options) else None for options in references] for i in range(count)]


def _corpus_score(name: str, metric: Metric, hypotheses: Sequence[str], streams: Any, resamples: int) -> Score:
    """sacreBLEU's own bootstrap: `resamples` draws of the sentences with replacement."""
    result = metric.corpus_score(hypotheses, streams, n_bootstrap=resamples)
    mean, half = getattr(result, "_mean", result.score), getattr(result, "_ci", 0.0)
    low, high = max(0.0, mean - half), min(100.0, mean + half)
    return Score(name, result.score, low, high, str(metric.get_signature()), len(hypotheses))


def exact_match(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, resamples: int = RESAMPLES) -> Score:
    """Percent of translations that equal one of their references to the letter."""
    right = np.array([hypothesis in options for hypothesis, options in zip(hypotheses, references, strict=True)])
    random, count = np.random.default_rng(12345), len(right)
    means = [right[random.integers(0, count, count)].mean() for _ in range(resamples)]  # one draw at a time: memory
    low, high = np.percentile(means, [2.5, 97.5]).tolist()
    signature = f"exact|case:mixed|nrefs:{'var' if len({len(o) for o in references}) > 1 else len(references[0])}"
    return Score("exact match", 100 * float(right.mean()), 100 * low, 100 * high, signature, len(right))
