"""A bidirectional LSTM encoder (Graves and Schmidhuber 2005): every token's vector knows the text before and after it.

It labels whole texts or words, as taggers did before BERT (Huang et al. 2015, arXiv 1508.01991, without their CRF). A
text is read from the two last states, or by attention over all (Yang et al. 2016).
Shapes: B texts, T tokens, N layers, D = d, of which each direction has half.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import torch
from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.batches import TextBatch, casing_of
from glassformer.models.sizes import filled
from glassformer.nn.additive import AttentivePooling
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.heads import ClassHead
from glassformer.nn.recurrent import LSTM, BothWays, padded_lengths
from glassformer.nn.taps import Tap, WithTaps
from glassformer.printable import counted
from glassformer.text.casing import PATTERNS

SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 1, "d": 64},
    "tiny": {"N": 1, "d": 128},
    "mini": {"N": 2, "d": 256},
    "small": {"N": 2, "d": 512},
    "base": {"N": 2, "d": 1024},
}


class BiLstmConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["bilstm"] = Field("bilstm", description="The architecture.")
    size: Literal["nano", "tiny", "mini", "small", "base"] = Field("tiny", description="Fills in N and d.")
    vocabulary: int = Field(10_000, ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(ge=1, le=limits.BLOCKS, description="Layers.")
    d: int = Field(ge=2, le=limits.WIDTH, description="Width: each direction has d / 2 cells.")
    dropout: float = Field(
        0.2, ge=0, lt=1, description="Share of values zeroed between layers in training; never between positions."
    )
    head: Literal["none", "sentence", "tokens"] = Field(
        "none", description="What is predicted: the class of the text (sentence) or of each token (tokens)."
    )
    classes: int = Field(2, ge=1, le=limits.CLASSES, description="Number of classes.")
    pooling: Literal["ends", "attention"] = Field(
        "ends",
        description="The vector of a text: the last state of each direction (ends), or a weighted mean of all states, "
        "whose weights are learned (attention).",
    )
    casing: bool | None = Field(
        None,
        description="Whether the inputs have a vector for the pattern of a word's capitals, which a vocabulary in "
        "lower case loses. Only for the task tag, which decides it by the vocabulary.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[BiLstmConfig]) -> BiLstmConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @model_validator(mode="after")
    def _two_halves(self) -> Self:
        if self.d % 2:
            raise ValueError(f"d = {self.d} is odd: each direction has half of it")
        return self

    @model_validator(mode="after")
    def _pooling_of_texts(self) -> Self:
        if self.pooling == "attention" and self.head == "tokens":
            raise ValueError("pooling = 'attention' is for classes of whole texts; each token has a label of its own")
        return self

    @property
    def shape(self) -> str:
        """In a few words."""
        return f"{counted(self.N, 'bidirectional LSTM layer')}, d {self.d}"


class Inputs(nn.Module):
    """Token vectors, for taggers with the pattern of capitals, then dropout."""

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__()
        self.embedding = Embedding(config.vocabulary, config.d)
        self.casing = Embedding(len(PATTERNS), config.d) if config.casing else None
        self.dropout = Dropout(config.dropout)
        self.token = Tap()

    def forward(self, ids: Tensor, casing: Tensor | None) -> Tensor:
        """ids and casing (B, T) -> (B, T, D); in memory a position's vectors lie together."""
        x = self.token(self.embedding(ids.t()).transpose(0, 1))
        if self.casing is not None and casing is not None:
            x = x + self.casing(casing)
        return self.dropout(x)


class BiLstm(WithTaps):
    """Inputs, N layers in both directions, and a head, if there is one."""

    HEADS = ("head.", "attention.", "inputs.casing.")  # prefixes of parameters

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__()
        self.config, half = config, config.d // 2
        self.inputs = Inputs(config)
        self.blocks = nn.ModuleList(BothWays(LSTM(config.d, half), LSTM(config.d, half)) for _ in range(config.N))
        self.dropout = Dropout(config.dropout)
        self.attention = AttentivePooling(config.d) if config.pooling == "attention" else None
        self.head = None if config.head == "none" else ClassHead(config.d, config.classes)
        self.pooled, self.logits = Tap(), Tap()

    def forward(self, batch: TextBatch) -> Tensor:
        """The head's logits, (B, classes) or (B, T, classes); without a head, the hidden states."""
        hidden = self.hidden(batch)
        if self.head is None:
            return hidden
        read = self.whole(hidden, batch.lengths) if self.config.head == "sentence" else hidden
        return self.logits(self.head(read))

    def hidden(self, batch: TextBatch) -> Tensor:
        """The last hidden states (B, T, D)."""
        x, lengths = self.inputs(batch.ids, casing_of(batch)), padded_lengths(batch.lengths, batch.ids.size(1))
        for block in self.blocks:
            x = self.dropout(block(x, lengths=lengths))
        return x

    def whole(self, hidden: Tensor, lengths: Tensor) -> Tensor:
        """(B, D): what attention reads, or the last state of each direction: forwards at the last token, backwards at
        the first one."""
        if self.attention is not None:
            return self.pooled(self.attention(hidden, lengths))
        half, texts = hidden.size(-1) // 2, torch.arange(len(lengths), device=hidden.device)
        ahead, back = hidden[texts, lengths - 1, :half], hidden[:, 0, half:]
        return self.pooled(torch.cat([ahead, back], dim=-1))
