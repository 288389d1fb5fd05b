"""Checks an export before it is kept: both engines translate the same sentences, and the results are compared.

The strictest test is not whether the translations are equal, since a search may choose differently between two equally
likely continuations. It is whether both engines give the other engine's translation the same score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from glassformer.errors import ExportError
from glassformer.evaluate.translation import bleu_and_chrf

SHOWN = 5  # sentences that differ, in the report


@dataclass(frozen=True)
class Tolerance:
    """How much the two engines may differ."""

    score: float = 1e-3  # between the engine's score of its translation and ours of the same
    same: float = 0.97  # share of greedy translations that are the same, or as likely


@dataclass(frozen=True)
class Compared:
    """One sentence through both engines."""

    source: str
    ours: str
    theirs: str
    our_score: float  # of ours
    their_score: float  # of theirs, by the engine
    checked_score: float  # of theirs, by our model
    cut: bool = False  # neither came to its end: they may have been cut at different lengths

    @property
    def difference(self) -> float:
        """The difference between the two scores of the engine's translation; infinite if one of them is NaN."""
        found = abs(self.their_score - self.checked_score)
        return found if math.isfinite(found) else math.inf

    @property
    def same(self) -> bool:
        short, long = sorted((self.ours, self.theirs), key=len)
        return long.startswith(short) if self.cut else long == short


@dataclass(frozen=True)
class Comparison:
    """The results for all sentences.

    Greedy decoding has no search, so the translations must be equal except for ties. Beam searches stop by different
    rules; there the scores must agree, and the share of equal translations is only reported.
    """

    sentences: int
    same_greedy: int
    tied_greedy: int  # of the others: ones that our model finds as likely as its own
    same: int  # with a beam
    bleu: float  # of its beam search's translations against ours
    largest_difference: float  # of scores of the same translation, greedy or not
    differing: list[dict[str, Any]]

    def in_words(self) -> list[str]:
        """The results, a line each."""
        return [
            f"same translation         {self.same_greedy} of {self.sentences} greedy, {self.same} with a beam of 5",
            f"BLEU against each other  {self.bleu:.2f}   (beam 5)",
            f"scores differ by at most {self.largest_difference:.1e}   (of the same translation)",
        ]

    @classmethod
    def of(cls, greedy: Sequence[Compared], beam: Sequence[Compared]) -> Comparison:
        others = [row for row in greedy if not row.same]
        wide = [row for row in beam if not row.same]
        bleu, _ = bleu_and_chrf([row.ours if row.same else row.theirs for row in beam], [(row.ours,) for row in beam])
        return cls(
            sentences=len(greedy),
            same_greedy=len(greedy) - len(others),
            tied_greedy=sum(row.checked_score >= row.our_score - 1e-4 for row in others),
            same=len(beam) - len(wide),
            bleu=bleu,
            largest_difference=max((row.difference for row in (*greedy, *beam)), default=math.inf),
            differing=[asdict(row) for row in (*others, *wide)[:SHOWN]],
        )

    def refuse_beyond(self, tolerance: Tolerance, *, engine: str) -> None:
        """Raises an error if the two differ by more than the tolerance."""
        wrong = []
        if not self.largest_difference <= tolerance.score:
            wrong.append(f"scores of the same translation differ by up to {self.largest_difference:.2g}")
        if self.same_greedy + self.tied_greedy < tolerance.same * self.sentences:
            wrong.append(f"only {self.same_greedy} of {self.sentences} greedy translations are the same")
        if wrong:
            shown = "".join(
                f"\n  {row['source']}\n    ours: {row['ours']}\n    its:  {row['theirs']}" for row in self.differing
            )
            raise ExportError(
                f"{engine} does not translate as this model does: {'; '.join(wrong)}. Nothing was exported. "
                f"Please report this with the run's config.toml.{shown}"
            )
