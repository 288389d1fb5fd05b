"""Scores of translations: sacreBLEU's BLEU and chrF with their signatures, and exact match.

An example is a pair of a source and its references; a prediction is the text of a translation. `translation_metrics`
makes the three metrics for a target language, which decides how BLEU splits text into words. BLEU, CHRF and EXACT are
for an unknown language: the script of the references decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import DataError
from glassformer.evaluate import sacrebleu_counts as sacre
from glassformer.evaluate.intervals import RESAMPLES, score_with_interval
from glassformer.evaluate.metric import Counts, Measured, Metric, Scale, percent_of
from glassformer.evaluate.score import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreMetric

References = Sequence[Sequence[str]]  # for each sentence
Examples = Sequence[tuple[str, Sequence[str]]]  # source and references
Make = Callable[[References], "SacreMetric"]  # sacreBLEU's metric for these references

POINTS = Scale(excellent=90.0, fair=60.0, weak=30.0, gain=0.5, noise=20.0)

# What a BLEU of at least this much means, roughly: the bands that translation tools commonly quote.
BLEU_WORDS = (
    (90.0, "nearly all are right"),
    (60.0, "most are right or nearly right"),
    (40.0, "good translations, with slips"),
    (30.0, "understandable, often good"),
    (20.0, "the gist comes through, with clear mistakes"),
    (10.0, "the gist is hard to get"),
    (0.0, "hardly usable"),
)


def translation_metrics(language: str | None = None) -> tuple[Metric, ...]:
    """BLEU, chrF and exact match of translations into `language`, a code such as de or zh-TW."""
    bleu = _of_sacrebleu("bleu", "BLEU", partial(sacre.make_bleu, language), plain=partial(sacre.make_bleu, None, ()))
    chrf = _of_sacrebleu("chrf", "chrF", lambda _: sacre.make_chrf(), plain=sacre.make_chrf)
    exact = Metric("exact", "exact match", percent_of, exact_counts, signature=_exact_signature)
    return (
        replace(bleu, scale=replace(POINTS, words=BLEU_WORDS)),
        replace(chrf, scale=POINTS, judges_one=True),
        replace(exact, at_validations=False, judges_one=True),
    )


def _of_sacrebleu(key: str, label: str, make: Make, *, plain: Callable[[], SacreMetric]) -> Metric:
    """`plain` makes the metric without a language: the score of given counts does not depend on the language."""

    def counts(hypotheses: Sequence[str], examples: Examples) -> Counts:
        references = references_of(examples)
        return sacre.sentence_counts(make(references), hypotheses, references)

    def score(summed: Counts) -> NDArray[np.float64]:
        return sacre.scores_of(plain(), summed)

    def signature(examples: Examples) -> str:
        references = references_of(examples)
        return sacre.signature_of(make(references), references)

    def interval(hypotheses: Sequence[str], examples: Examples, resamples: int) -> Score:
        references, metric = references_of(examples), make(references_of(examples))
        return sacre.corpus_score(metric, hypotheses, references, resamples=resamples, label=label, key=key)

    return Metric(key, label, score, counts, signature=signature, own_interval=interval)


def references_of(examples: Examples) -> list[Sequence[str]]:
    """The last element of each example."""
    return [example[-1] for example in examples]


def exact_counts(hypotheses: Sequence[str], examples: Examples) -> Counts:
    """[1 if equal to a reference, 1]"""
    pairs = zip(hypotheses, references_of(examples), strict=True)
    return np.array([[float(hypothesis in options), 1.0] for hypothesis, options in pairs])


def _exact_signature(examples: Examples) -> str:
    counts = {len(options) for options in references_of(examples)}
    return f"exact|case:mixed|nrefs:{'var' if len(counts) > 1 else counts.pop()}"


BLEU, CHRF, EXACT = translation_metrics()


# From plain lists


def corpus_scores(
    hypotheses: Sequence[str],
    references: References,
    *,
    language: str | None = None,
    resamples: int = RESAMPLES,
) -> list[Score]:
    """BLEU, chrF and exact match of all sentences; each sentence may have several references.

    `language` is the code of the target language; it decides how BLEU splits words (see `bleu_tokenizer`).
    """
    check_translations(hypotheses, references)
    examples, metrics = with_references(references), translation_metrics(language)
    return [score_with_interval(metric, hypotheses, examples, resamples=resamples) for metric in metrics]


def bleu_and_chrf(
    hypotheses: Sequence[str], references: References, *, language: str | None = None
) -> tuple[float, float]:
    """Only the two numbers, fast enough for every validation."""
    check_translations(hypotheses, references)
    examples = with_references(references)
    bleu, chrf, _ = (Measured(one, one.counts(hypotheses, examples)).total for one in translation_metrics(language))
    return bleu, chrf


def with_references(references: References) -> list[tuple[str, Sequence[str]]]:
    """Examples whose sources are not needed."""
    return [("", options) for options in references]


def check_translations(hypotheses: Sequence[str], references: References) -> None:
    if not hypotheses or len(hypotheses) != len(references):
        raise DataError(
            f"Got {len(hypotheses):,} translations and {len(references):,} references; give the same number "
            "of each, at least one."
        )
