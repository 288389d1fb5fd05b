"""How text becomes tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from glassformer.config import Settings


class TextSettings(Settings):
    """The tokenizer to train."""

    kind: Literal["bpe", "wordpiece", "word", "char", "imported"] = Field(
        "bpe", description="bpe (byte-level, nothing is ever unknown), wordpiece, word or char (graphemes)."
    )
    vocab_size: int = Field(8000, ge=8, description="Most tokens that a vocabulary may have, special ones included.")
    shared: bool = Field(True, description="One vocabulary for both languages; false: one for each.")
    normalization: Literal["NFC", "NFKC", "NFD", "NFKD", "none"] = Field("NFC", description="Unicode normal form.")
    start: str | None = Field(
        None, description="The token that a translation goes on from, if it is not the vocabulary's own begin mark."
    )
    never: tuple[str, ...] = Field((), description="Tokens that are never said.")
    lowercase: bool = Field(False, description="Lower-case everything first. Output is lower-case then, too.")
