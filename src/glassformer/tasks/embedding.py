"""Texts to vectors: sentence vectors, nearest lines, and masked words.

Any model that gives hidden states of its tokens serves: encoders as their folder says (mean of the tokens, first token,
...), decoders by the mean of their tokens or by the last one, which alone has seen all others.
Shapes: B texts, T tokens, R tokens of all texts, D width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from glassformer.errors import ModelError, SettingsError
from glassformer.hub.huggingface.pretrained import Pretrained, SpecialIds
from glassformer.nn.pooling import POOLINGS, real_rows
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, frame_of

Vectors = NDArray[np.float32]
Progress = Callable[[int], None]  # how many texts are done, again and again

KINDS = ("bert", "roformer", "gpt", "llama")  # that read a text and give hidden states
BATCH_TOKENS = 512


@dataclass(frozen=True)
class TextBatch:
    """Texts: ids (B, T), padded at the end, and how long each is (B,)."""

    ids: Tensor
    lengths: Tensor
    segments: Tensor | None = None


@runtime_checkable
class GivesRows(Protocol):
    """A model that can leave the padding out."""

    def rows(self, batch: TextBatch) -> Tensor: ...


@dataclass(frozen=True)
class Word:
    """What may stand in a gap: its piece of the vocabulary, and how likely it is there."""

    text: str
    probability: float
    id: int


@dataclass(frozen=True)
class Filled:
    """A text with the likeliest word in each gap, and for every gap its likeliest words."""

    text: str
    gaps: tuple[tuple[Word, ...], ...]


@dataclass(frozen=True)
class Match:
    """A line that is like a query: its number (from 0), its text, and the cosine."""

    number: int
    text: str
    cosine: float


class TextEncoder:
    """A pretrained model as a maker of vectors."""

    def __init__(self, pretrained: Pretrained) -> None:
        if pretrained.kind not in KINDS:
            raise ModelError(f"A {pretrained.kind} gives no vectors of texts. Models that do: {', '.join(KINDS)}.")
        if pretrained.tokenizer is None:
            raise ModelError("This model has no tokenizer, so it cannot read text. Put its tokenizer.json beside it.")
        self.kind, self.extras = pretrained.kind, pretrained.extras
        self.model: Any = pretrained.model.eval()
        self.device = next(self.model.parameters()).device
        self.tokenizer: Tokenizer = pretrained.tokenizer
        self.marks = pretrained.marks
        self.frame = frame_for(self.tokenizer, self.marks)
        self.max_length = longest(self.model, self.extras)

    @property
    def width(self) -> int:
        width: int = self.model.config.d
        return width

    # Texts to ids

    def ids_of(self, texts: Sequence[str], *, cut: list[int] | None = None) -> list[list[int]]:
        """The ids of each text as the model wants it: framed, and cut where it reads no further.

        The numbers of those that are cut are added to `cut`, if someone wants to know.
        """
        room = None if self.max_length is None else max(0, self.max_length - len(self.frame.single([])))
        ids_of_all = self.tokenizer.encode_batch([self.prepared(text) for text in texts])
        if cut is not None and room is not None:
            cut += [number for number, ids in enumerate(ids_of_all) if len(ids) > room]
        return [self.frame.single(ids[:room]) or [self.something] for ids in ids_of_all]

    def prepared(self, text: str) -> str:
        """The text as the folder wants it: with what stands before every text, in small letters."""
        asked: str = self.extras.get("prompt", "") + text
        return asked.lower() if self.extras.get("lowercase") else asked

    @property
    def something(self) -> int:
        """What stands for a text without a token, where nothing stands around texts."""
        return next((i for i in (self.marks.bos, self.marks.eos, self.marks.pad) if i is not None), 0)

    def batch(self, rows: Sequence[Sequence[int]]) -> TextBatch:
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
        ids = np.full((len(rows), int(lengths.max())), self.marks.pad or 0)
        ids[np.arange(ids.shape[1]) < lengths[:, None]] = flat
        return TextBatch(torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device))

    # Vectors

    def embed(
        self,
        texts: Sequence[str],
        *,
        pooling: str | None = None,
        normalise: bool | None = None,
        batch_tokens: int = BATCH_TOKENS,
        progress: Progress | None = None,
        cut: list[int] | None = None,
    ) -> Vectors:
        """One vector for each text, (n, D). How it is made of its tokens' the model's folder says, if you do not.

        Of texts that are longer than the model reads only the beginning counts; their numbers are added to `cut`.
        """
        pool = POOLINGS[self.pooling(pooling)]
        normalise = self.extras.get("normalise", False) if normalise is None else normalise
        rows, found = self.ids_of(texts, cut=cut), np.empty((len(texts), self.width), np.float32)
        for part in by_length(rows, batch_tokens):
            with torch.inference_mode():
                batch = self.batch([rows[i] for i in part])
                vectors = pool(self.rows(batch), batch.lengths)  # (B, D)
                found[part] = (nn.functional.normalize(vectors) if normalise else vectors).float().cpu().numpy()
            if progress is not None:
                progress(len(part))
        return found

    def rows(self, batch: TextBatch) -> Tensor:
        """The last hidden states of all tokens but the padding, (R, D)."""
        if isinstance(self.model, GivesRows):
            return self.model.rows(batch)
        return real_rows(self.model.hidden(batch), batch.lengths)

    def pooling(self, asked: str | None) -> str:
        """Asked for, or the folder's own, or the mean."""
        name: str = asked or self.extras.get("pooling", "mean")
        if name not in POOLINGS:
            raise SettingsError(f"pooling = {name!r} is not known. Allowed: {', '.join(POOLINGS)}.")
        return name

    def similar(
        self, queries: Sequence[str], lines: Sequence[str], *, top: int = 5, progress: Progress | None = None
    ) -> list[list[Match]]:
        """For each query the lines whose vectors point most nearly where its own does, nearest first."""
        vectors = self.embed([*queries, *lines], normalise=True, progress=progress)
        cosines = vectors[: len(queries)] @ vectors[len(queries) :].T  # (queries, lines)
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :top]
        return [
            [Match(int(i), lines[i], float(row[i])) for i in order] for row, order in zip(cosines, nearest, strict=True)
        ]

    # Masked words

    def fill(self, text: str, *, top: int = 5) -> Filled:
        """The likeliest words of every [MASK] in a text, each found while the other gaps are still open."""
        ids, gaps = self.with_gaps(text)
        with torch.inference_mode():
            hidden = self.model.hidden(self.batch([ids]))[0, gaps]  # (gaps, D)
            chances = self.model.head(hidden).softmax(-1).topk(min(top, self.model.config.vocabulary))
        found = [
            tuple(Word(self.shown(i), chance, i) for chance, i in zip(row, numbers, strict=True))
            for row, numbers in zip(chances.values.tolist(), chances.indices.tolist(), strict=True)
        ]
        best = iter([words[0].text for words in found])
        return Filled(self.mask.sub(lambda _: next(best), text), tuple(found))

    def with_gaps(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a text with masks in it, framed, and the places of the masks."""
        if getattr(self.model.config, "head", None) not in ("words", "pretraining") or self.marks.mask is None:
            raise ModelError(
                "This model has not learned to fill in masked words: its head is not one for words. Take one that "
                "has, for instance of the architecture BertForMaskedLM or RobertaForMaskedLM."
            )
        parts = self.mask.split(text)
        if len(parts) < 2:
            raise SettingsError(f"Nothing is masked in {text!r}. Write {self.mask_text} where a word is wanted.")
        pieces = [self.tokenizer.encode(part.rstrip()) for part in parts[:-1]]  # a mask takes the space before it
        ids = [number for piece in pieces for number in (*piece, self.marks.mask)] + self.tokenizer.encode(parts[-1])
        ids = self.frame.single(ids)
        return ids, [place for place, number in enumerate(ids) if number == self.marks.mask]

    @cached_property
    def mask_text(self) -> str:
        return "[MASK]" if self.marks.mask is None else self.tokenizer.token(self.marks.mask)

    @cached_property
    def mask(self) -> re.Pattern[str]:
        """A mask as the model's own vocabulary writes it, or as others do."""
        return re.compile("|".join(re.escape(spelled) for spelled in {self.mask_text, "[MASK]", "<mask>"}))

    def shown(self, number: int) -> str:
        return self.tokenizer.pieces_of([number])[0].removeprefix("▁")


def frame_for(tokenizer: Tokenizer, marks: SpecialIds) -> Frame:
    """What the tokenizer's file sets around a text; where it says nothing, the marks do."""
    frame = frame_of(tokenizer)
    if frame == Frame() and marks.cls is not None and marks.sep is not None:
        return Frame((marks.cls,), (marks.sep,), (marks.sep,))
    return frame


def longest(model: nn.Module, extras: dict[str, Any]) -> int | None:
    """How many tokens are read of a text: what model and folder allow. None: as many as there are."""
    limits = (extras.get("max_length"), getattr(model.config, "max_length", None))
    return min((limit for limit in limits if limit is not None), default=None)


def by_length(rows: Sequence[Sequence[int]], tokens: int) -> Iterator[list[int]]:
    """The numbers of rows of like length together, longest first, about so many tokens a batch."""
    part: list[int] = []
    for i in sorted(range(len(rows)), key=lambda i: -len(rows[i])):
        if part and (len(part) + 1) * len(rows[part[0]]) > tokens:
            yield part
            part = []
        part.append(i)
    if part:
        yield part
