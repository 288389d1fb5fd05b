"""How to decode."""

from __future__ import annotations

from pydantic import Field

from glassformer.config import Settings


class DecodeSettings(Settings):
    """Beam search and its limits."""

    beam: int = Field(5, ge=1, le=1000, description="Beam width: hypotheses kept at each step. 1 is greedy.")
    alpha: float = Field(1.0, ge=0, le=5, description="Length normalisation: scores are divided by length^alpha.")
    max_ratio: float = Field(
        3.0, gt=0, le=100, description="An output has at most max_ratio x source tokens + max_extra."
    )
    max_extra: int = Field(10, ge=0, description="See max_ratio.")
    batch_tokens: int = Field(4096, ge=1, description="Source tokens decoded together, padding and beams included.")
