"""How to decode."""

from __future__ import annotations

from functools import partial
from typing import Literal, Self

from pydantic import Field, model_validator

from glassformer.config import Settings
from glassformer.decode.protocol import Ranked, by_gnmt, by_length


class DecodeSettings(Settings):
    """Beam search and its limits."""

    beam: int = Field(5, ge=1, le=1000, description="Beam width: hypotheses kept at each step. 1 is greedy.")
    refill: bool = Field(
        False, description="Whether a beam is filled up when one of its hypotheses ends, as elsewhere, or shrinks."
    )
    alpha: float = Field(1.0, ge=0, le=5, description="Length normalisation: scores are divided by length^alpha.")
    normalisation: Literal["length", "gnmt"] = Field(
        "length", description="What alpha is the power of: the length, or GNMT's (5 + length) / 6."
    )
    max_ratio: float = Field(
        3.0, gt=0, le=100, description="An output has at most max_ratio x source tokens + max_extra."
    )
    max_extra: int = Field(10, ge=0, description="See max_ratio.")
    min_ratio: float = Field(0.0, ge=0, le=10, description="An output has at least min_ratio x source tokens.")
    no_repeat: int = Field(0, ge=0, le=20, description="No so many tokens in a row twice; 0: as often as they come.")
    repetition_penalty: float = Field(
        1.0, ge=1, le=10, description="What was said before is less likely: its log-probability times this."
    )
    batch_tokens: int = Field(4096, ge=1, description="Source tokens decoded together, padding and beams included.")

    @model_validator(mode="after")
    def _room_to_end(self) -> Self:
        if self.min_ratio > self.max_ratio:
            raise ValueError(f"min_ratio = {self.min_ratio:g} is more than max_ratio = {self.max_ratio:g}")
        return self

    @property
    def ranked(self) -> Ranked:
        """What hypotheses are ranked by."""
        return partial(by_gnmt if self.normalisation == "gnmt" else by_length, alpha=self.alpha)
