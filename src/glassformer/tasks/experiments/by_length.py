"""Scores by the length of the source: one BLEU for the texts of each bucket of lengths, for every seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.phrasebook import Phrase
from glassformer.evaluate.intervals import bootstrap
from glassformer.evaluate.metric import Measured
from glassformer.evaluate.translation import BLEU
from glassformer.tasks.experiments.repeated import Repeated

FEWEST = 10  # texts in a bucket


@dataclass(frozen=True)
class Bucket:
    """Texts with `low` to `high` source words."""

    low: int
    high: int
    places: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.low} to {self.high}"

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


def buckets_of(sources: Sequence[str], *, width: int = 10) -> list[Bucket]:
    """1 to 10 words, 11 to 20, ...; buckets with few texts are left out."""
    lengths = np.array([len(source.split()) for source in sources])
    found = []
    for low in range(1, int(lengths.max()) + 1, width):
        places = np.flatnonzero((lengths >= low) & (lengths < low + width))
        if len(places) >= FEWEST:
            found.append(Bucket(low, low + width - 1, tuple(places.tolist())))
    return found


@dataclass(frozen=True)
class LengthScores:
    """BLEU of all texts and of each bucket, one value for each seed."""

    overall: Repeated
    buckets: tuple[Repeated, ...]
    intervals: tuple[tuple[float, float], ...]  # of each bucket


def scores_by_length(
    translated: Sequence[Sequence[str]], phrases: Sequence[Phrase], buckets: Sequence[Bucket]
) -> LengthScores:
    """`translated` has the translations of all phrases for each seed."""
    rows = [BLEU.counts(list(one), [(p.source, p.references) for p in phrases]) for one in translated]
    overall = Repeated(tuple(Measured(BLEU, counts).total for counts in rows))
    each, intervals = [], []
    for bucket in buckets:
        own = [Measured(BLEU, counts[list(bucket.places)]) for counts in rows]
        values = Repeated(tuple(one.total for one in own))
        each.append(values)
        intervals.append(values.interval or bootstrap(own[0]))
    return LengthScores(overall, tuple(each), tuple(intervals))
