"""sacreBLEU's own numbers: the counts of each sentence, the score of their sum, its bootstrap and its signatures.

sacreBLEU is imported when something is measured, so that describing a metric costs no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glassformer.evaluate.bleu_tokenizer import bleu_tokenizer
from glassformer.evaluate.metric import Counts
from glassformer.evaluate.score import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreMetric

References = Sequence[Sequence[str]]  # for each sentence


def make_bleu(language: str | None, references: References) -> SacreMetric:
    """BLEU with the tokenizer for the references' language (see `bleu_tokenizer`)."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=bleu_tokenizer(language, references))


def make_chrf() -> SacreMetric:
    return _plain_chrf()()


@cache
def _plain_chrf() -> type[SacreMetric]:
    from sacrebleu.metrics.chrf import CHRF

    class PlainCHRF(CHRF):
        """sacreBLEU's bootstrap mixes numpy's float32 with a plain 0.0 for some draws; its mean then fails."""

        def _compute_score_from_stats(self, stats: Any) -> Any:
            return super()._compute_score_from_stats([int(count) for count in stats])

    return PlainCHRF


def sentence_counts(metric: SacreMetric, hypotheses: Sequence[str], references: References) -> Counts:
    """sacreBLEU's counts for each sentence, which add up to those of the corpus."""
    counts: Any = metric._extract_corpus_statistics(hypotheses, reference_streams(references))
    return np.array(counts, dtype=np.float64)


def scores_of(metric: SacreMetric, summed: Counts) -> NDArray[np.float64]:
    """(trials, counts) -> (trials,)"""
    rows = np.rint(summed).astype(np.int64).tolist()
    return np.array([metric._compute_score_from_stats(row).score for row in rows])


def signature_of(metric: Any, references: References) -> str:
    """How the metric is computed. The number of references is a part of it; a bootstrap is not."""
    counts = {len(options) for options in references}
    metric.num_refs = counts.pop() if len(counts) == 1 else -1
    return str(metric.get_signature())


def corpus_score(
    metric: SacreMetric, hypotheses: Sequence[str], references: References, *, resamples: int, label: str, key: str
) -> Score:
    """With sacreBLEU's own bootstrap: `resamples` draws of the sentences with replacement."""
    result = metric.corpus_score(hypotheses, reference_streams(references), n_bootstrap=resamples)
    mean, half = getattr(result, "_mean", result.score), getattr(result, "_ci", 0.0)
    low, high = max(0.0, mean - half), min(100.0, mean + half)
    return Score(label, result.score, low, high, str(metric.get_signature()), len(hypotheses), key=key)


def reference_streams(references: References) -> Any:
    """References per sentence -> sacreBLEU's streams: the first of each, then the second of each or None, and so on.

    (sacreBLEU accepts None for a missing reference, but its types do not say so.)
    """
    count = max(len(options) for options in references)
    return [[options[i] if i < len(options) else None for options in references] for i in range(count)]
