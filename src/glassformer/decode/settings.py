"""Settings of decoding. The fields here hold the bounds of every number: the command line, recipes and Python arguments
all read them from here (`config.bounds`, `config.check_arguments`)."""

from __future__ import annotations

from functools import partial
from typing import Literal, Self

from pydantic import Field, model_validator

from glassformer import limits
from glassformer.config import Settings
from glassformer.decode.protocol import Ranked, by_gnmt, by_length


class DecodeSettings(Settings):
    """Beam search and its limits."""

    beam: int = Field(
        5, ge=1, le=limits.HYPOTHESES, description="Beam width: hypotheses kept at each step. 1 is greedy."
    )
    refill: bool = Field(
        False, description="Keep the beam full when a hypothesis ends, as other toolkits do; false: it shrinks."
    )
    alpha: float = Field(1.0, ge=0, le=5, description="Length normalisation: scores are divided by length^alpha.")
    normalisation: Literal["length", "gnmt"] = Field(
        "length", description="What alpha is the power of: the length, or GNMT's (5 + length) / 6."
    )
    max_ratio: float = Field(
        3.0, gt=0, le=100, description="An output has at most max_ratio x source tokens + max_extra."
    )
    max_extra: int = Field(10, ge=0, le=limits.TOKENS, description="See max_ratio.")
    min_ratio: float = Field(0.0, ge=0, le=10, description="An output has at least min_ratio x source tokens.")
    no_repeat: int = Field(
        0, ge=0, le=limits.NO_REPEAT, description="Never repeat an n-gram of this length; 0 allows it."
    )
    repetition_penalty: float = Field(
        1.0,
        ge=1,
        le=limits.PENALTY,
        description="Multiplies the log-probability of repeated tokens; above 1 discourages them.",
    )
    batch_tokens: int = Field(
        4096,
        ge=1,
        le=limits.BATCH_TOKENS,
        description="Source tokens per batch, counting padding and every hypothesis.",
    )
    split_over: int | None = Field(
        None,
        ge=0,
        le=limits.TOKENS,
        description="Split texts with more tokens into sentences; 0: never. Default: by the lengths seen in training.",
    )

    @model_validator(mode="after")
    def _check_ratios(self) -> Self:
        if self.min_ratio > self.max_ratio:
            raise ValueError(f"min_ratio = {self.min_ratio:g} is more than max_ratio = {self.max_ratio:g}")
        return self

    @property
    def ranked(self) -> Ranked:
        """The score that hypotheses are ranked by."""
        return partial(by_gnmt if self.normalisation == "gnmt" else by_length, alpha=self.alpha)


class SamplingSettings(Settings):
    """Sampling instead of searching."""

    seed: int = Field(0, ge=0, le=limits.SEED, description="The same seed gives the same samples.")
    temperature: float = Field(
        1.0, ge=0.01, le=limits.TEMPERATURE, description="Sampling temperature: below 1 favours likely tokens."
    )
    top_k: int = Field(0, ge=0, le=limits.TOKENS, description="Sample from the k most likely tokens; 0: from all.")
    top_p: float = Field(
        1.0, ge=0, le=1, description="Sample from the most likely tokens that together have this probability."
    )


class GenerationSettings(Settings):
    """How much is generated, and how much of it is returned."""

    max_new: int = Field(128, ge=0, le=limits.TOKENS, description="The most new tokens, including the end mark.")
    min_new: int = Field(0, ge=0, le=limits.TOKENS, description="The fewest new tokens.")
    n_best: int = Field(1, ge=1, le=limits.HYPOTHESES, description="How many texts are returned for each input.")
    rounds: int = Field(10, ge=1, le=limits.TOKENS, description="How often an encoder fills the gaps of a text again.")
    top: int = Field(5, ge=1, le=limits.TOKENS, description="How many candidates are returned for each position.")
