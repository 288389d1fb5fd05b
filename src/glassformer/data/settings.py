"""Where the sentences come from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from glassformer.config import Settings


class DataSettings(Settings):
    """One of: two aligned text files, one TSV file, a built-in corpus."""

    source: str | None = Field(None, description="Text file to translate from, one sentence a line (.gz too).")
    target: str | None = Field(None, description="Its translation, line by line.")
    pairs: str | None = Field(None, description="Instead: one TSV file, source and target in its first two columns.")
    corpus: Literal["phrasebook"] | None = Field(
        None, description="Instead: a built-in corpus. 'phrasebook': English-German by our own grammar, no download."
    )
    corpus_size: int = Field(60_000, ge=100, description="Built-in corpus: how many pairs to train on.")
    valid: tuple[str, ...] = Field(
        (), description="Held-out sentences: two aligned files, or one TSV. Empty: part of the training data."
    )
    max_tokens: int = Field(200, ge=2, description="Training leaves out pairs with a longer side, and says how many.")

    @model_validator(mode="after")
    def _one_kind(self) -> DataSettings:
        given = [self.source is not None or self.target is not None, self.pairs is not None, self.corpus is not None]
        if sum(given) > 1:
            raise ValueError("give either source and target, or pairs, or corpus, not several of them")
        if (self.source is None) != (self.target is None):
            raise ValueError(f"{'source' if self.source is None else 'target'} is missing: both sides are needed")
        if len(self.valid) > 2:
            raise ValueError("valid takes two aligned files, or one TSV")
        return self
