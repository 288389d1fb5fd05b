"""Words to windows of pieces, and batches of them. A window holds whole sentences of a document, or part of a long one.

Each word is labelled at its first piece, in exactly one window: where sentences are cut, windows overlap, and a word
belongs to the window in which it has more context. Shapes: B windows, T pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from glassformer.data.columns import Columns, Index
from glassformer.text import Tokenizer
from glassformer.text.casing import NONE, patterns
from glassformer.text.framing import Frame

OVERLAP = 0.5  # share of a window that the next one of the same sentence reads again
IGNORED = -1  # the target of pieces that are not the first of a word
Pieces = list[list[int]]  # of each word of a sentence


class WordPieces:
    """The pieces of single words, as they would be inside a text. Known words are remembered."""

    def __init__(self, tokenizer: Tokenizer, *, lowercase: bool = False) -> None:
        self.tokenizer, self.lowercase = tokenizer, lowercase
        apart = tokenizer.encode("a") + tokenizer.encode("b")
        joined, spaced = tokenizer.encode("a b"), tokenizer.encode("a") + tokenizer.encode(" b")
        self.space = " " if joined == spaced != apart else ""  # a byte-level vocabulary has it in its pieces
        self.unknown = tokenizer.unk_id if tokenizer.unk_id is not None else 0
        self.known: dict[str, list[int]] = {}

    def of(self, words: Sequence[str]) -> Pieces:
        """A word without pieces is an unknown one, so that no word is lost."""
        asked = [self.written(word, first=not i) for i, word in enumerate(words)]
        if new := list(dict.fromkeys(word for word in asked if word not in self.known)):
            for word, ids in zip(new, self.tokenizer.encode_batch(new), strict=True):
                self.known[word] = list(ids) or [self.unknown]
        return [self.known[word] for word in asked]

    def written(self, word: str, *, first: bool) -> str:
        return ("" if first else self.space) + (word.lower() if self.lowercase else word)


@dataclass(frozen=True)
class Part:
    """Words `first` to `last` of a sentence are in a window; it labels those from `own_first` to `own_last`."""

    sentence: int
    first: int
    last: int
    own_first: int
    own_last: int


@dataclass
class Window:
    """The ids of a window with its special tokens, and where each of its own words begins."""

    ids: list[int] = field(default_factory=list)
    casing: list[int] = field(default_factory=list)
    own: list[tuple[int, int, int]] = field(default_factory=list)  # place in `ids`, sentence, word


def windows_of(
    sentences: Sequence[Sequence[str]], documents: Sequence[int], pieces_of: WordPieces, frame: Frame, *, most: int
) -> list[Window]:
    """All sentences in windows of at most `most` ids. Neighbours of one document share windows; -1 is no document."""
    space = max(1, most - len(frame.single([])))
    pieces = [[ids[:space] for ids in pieces_of.of(words)] for words in sentences]
    shapes = [list(patterns(words)) for words in sentences]
    parts = packed([np.array([len(ids) for ids in one], dtype=np.int64) for one in pieces], documents, space)
    return [_window(one, pieces, shapes, frame) for one in parts]


def _window(parts: Sequence[Part], pieces: Sequence[Pieces], shapes: Sequence[list[int]], frame: Frame) -> Window:
    found = Window(list(frame.before), [NONE] * len(frame.before))
    for part in parts:
        for word in range(part.first, part.last):
            ids = pieces[part.sentence][word]
            if part.own_first <= word < part.own_last:
                found.own.append((len(found.ids), part.sentence, word))
            found.ids += ids
            found.casing += [shapes[part.sentence][word]] * len(ids)
    found.ids += frame.after
    found.casing += [NONE] * len(frame.after)
    return found


def packed(sizes: Sequence[Index], documents: Sequence[int], space: int) -> Iterator[list[Part]]:
    """The parts of each window. `sizes`: pieces of each word of each sentence."""
    waiting: list[Part] = []
    used = 0
    for at, words in enumerate(sizes):
        if not len(words):
            continue
        total = int(words.sum())
        follows = at > 0 and documents[at] == documents[at - 1] != -1
        if waiting and (not follows or used + total > space):
            yield waiting
            waiting, used = [], 0
        if total > space:
            yield from ([Part(at, *span)] for span in cut(words, space))
        else:
            waiting, used = [*waiting, Part(at, 0, len(words), 0, len(words))], used + total
    if waiting:
        yield waiting


def cut(sizes: Index, space: int) -> list[tuple[int, int, int, int]]:
    """A long sentence as overlapping windows: first and last word, first and last word that the window labels."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    spans = []
    first = 0
    while True:
        last = int(np.searchsorted(ends, ends[first] + space, side="right")) - 1
        if last == len(sizes):
            first = int(np.searchsorted(ends, ends[-1] - space))  # the last one is full too
            break
        spans.append((first, last))
        again = int(np.searchsorted(ends, ends[last] - int(OVERLAP * space)))
        first = max(first + 1, min(again, last))
    spans.append((first, len(sizes)))
    borders = [0]
    for (_, last), (first, _) in pairwise(spans):
        middle = (ends[first] + ends[last]) / 2
        borders.append(int(np.clip(np.searchsorted(ends, middle), first, last)))
    borders.append(len(sizes))
    return [(*span, *own) for span, own in zip(spans, pairwise(borders), strict=True)]


@dataclass(frozen=True)
class TaggedBatch:
    """Windows, and the label of each piece."""

    ids: Tensor  # (B, T), padded at the end
    lengths: Tensor  # (B,)
    casing: Tensor | None  # (B, T): how the piece's word is capitalised
    targets: Tensor  # (B, T): the label of a word at its first piece, IGNORED elsewhere
    index: Index
    segments: Tensor | None = None

    @property
    def weight(self) -> int:
        return int((self.targets != IGNORED).sum())

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> TaggedBatch:
        casing = None if self.casing is None else self.casing.to(device)
        ids, lengths, targets = self.ids.to(device), self.lengths.to(device), self.targets.to(device)
        return replace(self, ids=ids, lengths=lengths, casing=casing, targets=targets)


@dataclass(frozen=True)
class Hiding:
    """Hides some words of a batch, with all their pieces: a model that cannot read a name learns from its context."""

    share: float
    mask: int  # the id that replaces them
    before: int  # special tokens around a window
    after: int

    def hidden(self, ids: Tensor, lengths: Tensor, targets: Tensor, random: np.random.Generator) -> Tensor:
        """All (B, T), lengths (B,). Every word of a window is hidden with the same probability."""
        words = (targets != IGNORED).cumsum(1)  # (B, T): the number of the word that each piece belongs to
        chosen = torch.from_numpy(random.random((len(ids), ids.size(1) + 1)) < self.share)
        places = torch.arange(ids.size(1))
        inside = (places >= self.before) & (places < (lengths - self.after)[:, None])
        return ids.masked_fill(chosen.gather(1, words) & inside, self.mask)


@dataclass(frozen=True)
class TaggedWindows:
    """Columns: `text` with its special tokens, `casing`, and `target`: 1 + the label, 0 where there is none."""

    columns: Columns
    pad: int
    casing: bool
    hiding: Hiding | None = None  # None: no word is hidden

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def lengths(self) -> Index:
        return self.columns["text"].lengths[:, None]

    def batch(self, index: Index, random: np.random.Generator | None = None) -> TaggedBatch:
        ids = self.columns["text"].padded(index, pad=self.pad)
        lengths = torch.from_numpy(self.columns["text"].lengths_of(index))
        casing = self.columns["casing"].padded(index, pad=NONE) if self.casing else None
        targets = self.columns["target"].padded(index, pad=0) - 1
        if self.hiding is not None and random is not None:
            ids = self.hiding.hidden(ids, lengths, targets, random)
        return TaggedBatch(ids, lengths, casing, targets, index)
