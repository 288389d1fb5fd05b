"""Where the sentences come from, and which of them are used."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field, field_validator, model_validator

from glassformer.config import Settings

SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


class DataSettings(Settings):
    """Files in any mixture of formats, or a named corpus."""

    source: tuple[str, ...] = Field(
        (), description="Text files to translate from, one sentence a line; a name, several, or a pattern ('*.en')."
    )
    target: tuple[str, ...] = Field((), description="Their translations, line by line, in the same order.")
    pairs: tuple[str, ...] = Field(
        (), description="Files that hold both sides: .tsv, .csv, .jsonl, .po or .tmx (.gz, .xz, .bz2, .zst too)."
    )
    columns: tuple[str, str] | None = Field(
        None, description="Source and target column of the tables, by header or number, or the keys of JSON lines."
    )
    languages: tuple[str, str] | None = Field(
        None, description="Source and target language, as en,de: chooses in TMX files, and how BLEU cuts into words."
    )
    corpus: str | None = Field(None, description="Instead: a named corpus; `glassformer corpora` lists them.")
    corpus_size: int = Field(60_000, ge=100, description="The phrasebook: how many pairs to train on.")
    valid: tuple[str, ...] = Field(
        (),
        description="Sentences to validate with: two aligned files, one of both sides, or a share to hold out, as 1%. "
        "Without: 2%, at most 1,000.",
    )
    filters: tuple[str, ...] = Field(
        (), description="Pairs to leave out besides unusable ones: names from `glassformer doctor`, or recommended."
    )
    max_tokens: int = Field(200, ge=2, description="Training leaves out pairs with a longer side, and says how many.")

    @field_validator("source", "target", "pairs", "valid", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return () if value is None else (value,) if isinstance(value, str) else value

    @field_validator("columns", "languages", "filters", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @property
    def valid_share(self) -> float | None:
        """The part of the sentences to hold out, if `valid` names one; None: files, or the usual part."""
        matched = SHARE.fullmatch(self.valid[0]) if len(self.valid) == 1 else None
        return float(matched[1]) / 100 if matched else None

    @model_validator(mode="after")
    def _one_kind(self) -> DataSettings:
        if self.corpus is not None and (self.source or self.target or self.pairs):
            raise ValueError("give either files (source and target, pairs) or corpus, not both")
        useless = [name for name in ("valid", "filters", "columns") if getattr(self, name)]
        if self.corpus is not None and useless:
            raise ValueError(f"a named corpus has parts of its own: {', '.join(useless)} cannot be given with it")
        if bool(self.source) != bool(self.target):
            raise ValueError(f"{'target' if self.source else 'source'} is missing: both sides are needed")
        share = self.valid_share
        if share is not None and not 0 < share < 1:
            raise ValueError(
                f"valid = {self.valid[0]!r}: a share to hold out lies between 0% and 100%, for instance 1%"
            )
        return self
