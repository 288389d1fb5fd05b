"""Settings of the tokenizer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from glassformer import limits
from glassformer.config import Settings


class TextSettings(Settings):
    """The tokenizer to train."""

    kind: Literal["bpe", "wordpiece", "word", "char", "imported"] = Field(
        "bpe", description="bpe (byte-level, nothing is ever unknown), wordpiece, word or char (graphemes)."
    )
    vocab_size: int = Field(
        8000, ge=8, le=limits.VOCABULARY, description="Maximum size of a vocabulary, including special tokens."
    )
    rows: int | None = Field(
        None,
        ge=1,
        le=limits.VOCABULARY,
        description="Imported models: how many tokens have a vector, if it is not the size of the vocabulary.",
    )
    shared: bool = Field(True, description="One vocabulary for both languages; false: one for each.")
    normalization: Literal["NFC", "NFKC", "NFD", "NFKD", "none"] = Field("NFC", description="Unicode normal form.")
    start: str | None = Field(
        None, description="The token that translations start from, if it is not the vocabulary's begin mark."
    )
    never: tuple[str, ...] = Field((), description="Tokens that are never produced.")
    lowercase: bool = Field(False, description="Convert all text to lower case; output is then lower case too.")
