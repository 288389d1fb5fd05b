"""What stands before the first new token: a text that is gone on from, or a source that is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Index, SourceBatch, padded
from glassformer.errors import DataError, ModelError
from glassformer.hub.huggingface.pretrained import Pretrained, SpecialIds
from glassformer.models.decoder_only import DecoderOnly
from glassformer.models.encoder_decoder import EncoderDecoder
from glassformer.models.transformer import Transformer
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, frame_of

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True)
class TokenBatch:
    """Texts as ids (B, T), padded at the end, and their lengths (B,)."""

    ids: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, rows: Rows) -> TokenBatch:
        return cls(padded(rows, 0), torch.tensor([len(row) for row in rows]))

    def to(self, device: torch.device) -> TokenBatch:
        return TokenBatch(self.ids.to(device), self.lengths.to(device))


class Inputs(Protocol):
    """How texts come into a model."""

    def ids(self, text: str) -> list[int]:
        """What the model reads of a text; an error where it cannot."""

    def batch(self, rows: Rows) -> Any:
        """For the model's `start`."""

    def firsts(self, rows: Rows) -> int | Index:
        """The tokens that the first step goes on from."""

    def before(self, row: Sequence[int]) -> Sequence[int]:
        """The tokens that the new text goes on from, as far as they are of the same text."""

    def room(self, row: Sequence[int]) -> int | None:
        """How many new tokens the model has positions for; None: any number."""


@dataclass(frozen=True)
class GoneOnFrom:
    """A decoder alone: the text is read, and the new tokens follow it."""

    tokenizer: Tokenizer
    marks: SpecialIds
    vocabulary: int
    longest: int  # tokens
    frame: Frame = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", frame_of(self.tokenizer))

    def ids(self, text: str) -> list[int]:
        row = [*self.frame.before, *self.tokenizer.encode(text)] or self.beginning()
        check(row, vocabulary=self.vocabulary, longest=self.longest)
        return row

    def beginning(self) -> list[int]:
        """What an empty text is gone on from. Where there is no mark of the beginning, texts follow after an end."""
        mark = self.marks.eos if self.marks.bos is None else self.marks.bos
        if mark is None:
            raise DataError("Got an empty prompt, and this model has no mark for the beginning: give a text.")
        return [mark]

    def batch(self, rows: Rows) -> TokenBatch:
        return TokenBatch.of(rows)

    def firsts(self, rows: Rows) -> Index:
        return np.array([row[-1] for row in rows], dtype=np.int64)

    def before(self, row: Sequence[int]) -> Sequence[int]:
        return row

    def room(self, row: Sequence[int]) -> int | None:
        return self.longest - len(row) + 1  # what is said last needs no position


@dataclass(frozen=True)
class Answered:
    """An encoder-decoder: the source is read as a whole, and the new tokens are a text of their own."""

    tokenizer: Tokenizer
    marks: SpecialIds
    vocabulary: int
    start: int
    longest: int | None  # tokens of either side; None: any number
    frame: Frame = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", frame_of(self.tokenizer))

    def ids(self, text: str) -> list[int]:
        frame = (
            Frame(after=() if self.marks.eos is None else (self.marks.eos,)) if self.frame == Frame() else self.frame
        )
        row = frame.single(self.tokenizer.encode(text))
        check(row, vocabulary=self.vocabulary, longest=self.longest)
        return row

    def batch(self, rows: Rows) -> SourceBatch:
        pad = self.marks.pad or 0
        return SourceBatch(padded(rows, pad), torch.tensor([len(row) for row in rows]))

    def firsts(self, rows: Rows) -> int:  # noqa: ARG002
        return self.start

    def before(self, row: Sequence[int]) -> Sequence[int]:  # noqa: ARG002
        return ()

    def room(self, row: Sequence[int]) -> int | None:  # noqa: ARG002
        return self.longest


def check(row: Sequence[int], *, vocabulary: int, longest: int | None) -> None:
    if longest is not None and len(row) > longest:
        raise DataError(f"The text has {len(row):,} tokens; this model reads at most {longest:,}. Shorten it.")
    if max(row) >= vocabulary:
        raise DataError(
            f"The tokenizer gives token {max(row)}; this model has {vocabulary:,} tokens. They do not belong together."
        )


def inputs_of(pretrained: Pretrained) -> Inputs:
    """By the kind of model."""
    model, marks, tokenizer = pretrained.model, pretrained.marks, pretrained.tokenizer
    if pretrained.kind == "captioner":
        raise ModelError("A captioner reads images, not texts. For those there is `glassformer caption`.")
    if not isinstance(model, DecoderOnly | EncoderDecoder | Transformer):
        raise ModelError(f"A {pretrained.kind} does not write texts. Those that do: gpt, llama, t5, transformer.")
    if tokenizer is None:
        raise ModelError("This model has no tokenizer beside it, so it cannot read texts. Put tokenizer.json there.")
    config: Any = model.config
    vocabulary = model.head.weight.size(0)
    if isinstance(model, DecoderOnly):
        return GoneOnFrom(tokenizer, marks, vocabulary, config.max_length)
    learned = getattr(config, "positions", None) == "learned"
    return Answered(tokenizer, marks, vocabulary, start_of(marks), config.max_length if learned else None)


def start_of(marks: SpecialIds) -> int:
    """What an output begins from."""
    start = next((mark for mark in (marks.start, marks.pad, marks.bos) if mark is not None), None)
    if start is None:
        raise ModelError("config.json names no token that outputs begin with (decoder_start_token_id).")
    return start
