"""What a model reads before it generates: a prompt that it continues, or a source that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Index, SourceBatch, padded
from glassformer.errors import DataError, ModelError
from glassformer.models.decoding.decoder_only import DecoderOnly
from glassformer.models.decoding.encoder_decoder import EncoderDecoder
from glassformer.models.decoding.recurrent import RecurrentDecoder
from glassformer.models.sizes import longest_text
from glassformer.printable import opening
from glassformer.store.bundle import Bundle, SpecialIds
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
    """How inputs reach a model. A row is one input as the model reads it: the ids of a text, or an image."""

    def ids(self, text: str) -> list[int]:
        """The row of a text; an error where the model cannot read it."""

    def batch(self, rows: Rows) -> Any:
        """The rows as a batch for the model's `start`."""

    def start_tokens(self, rows: Rows) -> int | Index:
        """The token that each output starts from."""

    def prompt(self, row: Sequence[int]) -> Sequence[int]:
        """The tokens that the new text continues; empty if it is a separate text."""

    def budget(self, row: Sequence[int]) -> int | None:
        """How many new tokens the model has positions for; None: any number."""


@dataclass(frozen=True)
class PromptInputs:
    """For a decoder-only model: it reads the prompt, and the new tokens follow it."""

    tokenizer: Tokenizer
    marks: SpecialIds
    vocabulary: int
    longest: int  # tokens
    frame: Frame = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", frame_of(self.tokenizer))

    def ids(self, text: str) -> list[int]:
        row = [*self.frame.before, *self.tokenizer.encode(text)] or self.empty_prompt()
        check(row, vocabulary=self.vocabulary, longest=self.longest)
        return row

    def empty_prompt(self) -> list[int]:
        """The tokens for an empty prompt: bos, else eos, because a new text follows the end of another."""
        mark = self.marks.eos if self.marks.bos is None else self.marks.bos
        if mark is None:
            raise DataError("Got an empty prompt, and this model has no token that begins a text. Give a prompt.")
        return [mark]

    def batch(self, rows: Rows) -> TokenBatch:
        return TokenBatch.of(rows)

    def start_tokens(self, rows: Rows) -> Index:
        return np.array([row[-1] for row in rows], dtype=np.int64)

    def prompt(self, row: Sequence[int]) -> Sequence[int]:
        return row

    def budget(self, row: Sequence[int]) -> int | None:
        return self.longest - len(row) + 1  # the last new token needs no position


@dataclass(frozen=True)
class SourceInputs:
    """For an encoder-decoder: it reads the whole source, and the new tokens are a separate text."""

    tokenizer: Tokenizer
    marks: SpecialIds
    vocabulary: int
    start: int
    longest: int | None  # tokens of either side; None: any number
    frame: Frame = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", frame_of(self.tokenizer))

    @property
    def framed(self) -> Frame:
        """The frame of the tokenizer's file, or the end mark alone."""
        end = () if self.marks.eos is None else (self.marks.eos,)
        return Frame(after=end) if self.frame == Frame() else self.frame

    def ids(self, text: str) -> list[int]:
        row = self.framed.single(self.tokenizer.encode(text))
        check(row, vocabulary=self.vocabulary, longest=self.longest)
        return row

    def batch(self, rows: Rows) -> SourceBatch:
        pad = self.marks.pad or 0
        return SourceBatch(padded(rows, pad), torch.tensor([len(row) for row in rows]))

    def start_tokens(self, rows: Rows) -> int:  # noqa: ARG002
        return self.start

    def prompt(self, row: Sequence[int]) -> Sequence[int]:  # noqa: ARG002
        return ()

    def budget(self, row: Sequence[int]) -> int | None:  # noqa: ARG002
        return self.longest


def check(row: Sequence[int], *, vocabulary: int, longest: int | None) -> None:
    if longest is not None and len(row) > longest:
        raise DataError(f"The text has {len(row):,} tokens; this model reads at most {longest:,}. Shorten it.")
    if max(row) >= vocabulary:
        raise DataError(
            f"The tokenizer gives token {max(row)}; this model has {vocabulary:,} tokens. They do not belong together."
        )


def inputs_of(bundle: Bundle) -> Inputs:
    """By the kind of model."""
    model, marks, tokenizer = bundle.model, bundle.marks, bundle.tokenizer
    if bundle.kind == "captioner":
        raise ModelError("A captioner reads images, not texts: use `glassformer caption`.")
    if not isinstance(model, DecoderOnly | EncoderDecoder | RecurrentDecoder):
        raise ModelError(
            f"{opening(bundle.kind)} model does not generate text as a LanguageModel. Models that do: gpt, llama, t5, "
            "transformer, lstm_lm. A bert or roformer model with a head for words does as a TextEncoder: "
            "gf.load(...).generate."
        )
    if tokenizer is None:
        raise ModelError("This model has no tokenizer, so it cannot read text. Put tokenizer.json into its folder.")
    config: Any = model.config
    vocabulary = model.head.weight.size(0)
    if isinstance(model, DecoderOnly | RecurrentDecoder):
        return PromptInputs(tokenizer, marks, vocabulary, longest_text(config))
    learned = getattr(config, "positions", None) == "learned"
    return SourceInputs(tokenizer, marks, vocabulary, start_token(marks), config.max_length if learned else None)


def start_token(marks: SpecialIds) -> int:
    """The token that an output starts from."""
    start = next((mark for mark in (marks.start, marks.pad, marks.bos) if mark is not None), None)
    if start is None:
        raise ModelError("config.json does not name the token that outputs start from (decoder_start_token_id).")
    return start
