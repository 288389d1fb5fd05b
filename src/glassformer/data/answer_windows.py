"""Questions with their passages as windows of tokens, with the place of the answer in each window.

A passage that does not fit is read in several windows of equal size, each after the whole question. The place of an
answer that is not in a window, or not in the passage, is the first token. Spans are of the original text, so that a
predicted answer is always a piece of the passage. Shapes: B windows, T tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.columns import Columns, Encoded, Index, Ragged
from glassformer.data.readers.questions import QuestionRow
from glassformer.data.readers.records import Problem
from glassformer.data.sources.answers import Question
from glassformer.errors import ModelError
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame

Spans = NDArray[np.int64]  # (tokens, 2): first character of each token, and one past the last
NOT_HERE = 0  # the place of an answer that a window does not have: the first token


@dataclass(frozen=True)
class Layout:
    """How windows are made: the special tokens, and the most tokens of a window, of a question, and in common."""

    frame: Frame
    longest: int
    overlap: int
    max_question: int

    def __post_init__(self) -> None:
        if not self.frame.before or not self.frame.between:
            raise ModelError(
                "This model's tokenizer does not say which special tokens are before and between two texts, so it "
                "cannot read a question with its passage."
            )

    @property
    def marks(self) -> int:
        return len(self.frame.before) + len(self.frame.between) + len(self.frame.after)

    def question(self, ids: Sequence[int]) -> Sequence[int]:
        """The question, cut so that at least half of a window is left for the passage."""
        return ids[: max(1, min(self.max_question, (self.longest - self.marks) // 2))]

    def windows(self, question: Sequence[int], passage: Sequence[int]) -> list[Window]:
        """All windows of one passage."""
        asked = self.question(question)
        room = self.longest - self.marks - len(asked)
        if room < 1:
            raise ModelError(f"This model reads at most {self.longest} tokens: too few for a question and a passage.")
        shared = min(self.overlap, room // 2)  # a model with few positions would advance by single tokens
        found = []
        for begin, end in window_places(len(passage), room, shared):
            ids, segments = self.frame.pair(asked, passage[begin:end])
            found.append(Window(ids, segments.count(0), begin, end - begin))
        return found


class Window(NamedTuple):
    """Question and a part of the passage, with the special tokens."""

    ids: list[int]
    first: int  # tokens before the passage
    begin: int  # the first token of the passage that is in the window
    size: int  # tokens of the passage


def window_places(length: int, room: int, overlap: int) -> list[tuple[int, int]]:
    """As few windows as possible, of equal size, that cover `length` tokens; neighbours share at least `overlap`."""
    if length <= room:
        return [(0, length)]
    count = -(-(length - overlap) // (room - overlap))
    size = -(-(length + (count - 1) * overlap) // count)
    starts = [i * (length - size) // (count - 1) for i in range(count)]
    return [(start, start + size) for start in starts]


class Pieces(NamedTuple):
    """A text as tokens."""

    ids: list[int]
    spans: Spans


def pieces_of(texts: Sequence[str], tokenizer: Tokenizer, *, lowercase: bool = False) -> dict[str, Pieces]:
    """The tokens of each text, in batches; equal texts are encoded once."""
    different = list(dict.fromkeys(texts))
    given = [folded_in_place(text) for text in different] if lowercase else different
    found = tokenizer.encode_with_spans(given)
    return {
        text: Pieces(ids, np.array(spans, dtype=np.int64).reshape(-1, 2))
        for text, (ids, spans) in zip(different, found, strict=True)
    }


def folded_in_place(text: str) -> str:
    """In lower case, character by character, so that places stay the same."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def tokens_at(spans: Spans, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token that have characters of start to end; None if no token has any."""
    inside = np.flatnonzero((spans[:, 1] > start) & (spans[:, 0] < end) & (spans[:, 1] > spans[:, 0]))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


def text_at(passage: str, spans: Spans, first: int, last: int) -> tuple[int, int]:
    """The characters of some tokens, without white space at the ends."""
    start, end = int(spans[first, 0]), int(spans[last, 1])
    text = passage[start:end]
    return start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))


def usual_answer(question: Question) -> tuple[int, str] | None:
    """The answer to learn: what most people answered, the first of them; None without answers."""
    if not question.answers:
        return None
    text = Counter(question.answers).most_common(1)[0][0]
    return question.starts[question.answers.index(text)], text


def encode_questions(questions: Sequence[Question], tokenizer: Tokenizer, layout: Layout) -> Encoded:
    """Columns: `text` (ids), `first` (tokens before the passage), `begin` and `end` (places of the answer)."""
    asked = tokenizer.encode_batch([one.question for one in questions])
    pieces = pieces_of([one.passage for one in questions], tokenizer)
    rows: list[tuple[Window, int, int]] = []
    left_out = cut = 0
    for one, ids in zip(questions, asked, strict=True):
        passage, answer = pieces[one.passage], usual_answer(one)
        place = None if answer is None else tokens_at(passage.spans, answer[0], answer[0] + len(answer[1]))
        if answer is not None and place is None:
            left_out += 1
            continue
        cut += len(layout.question(ids)) < len(ids)
        rows += [(window, *in_window(window, place)) for window in layout.windows(ids, passage.ids)]
    columns = {
        "text": Ragged.of([window.ids for window, _, _ in rows]),
        "first": Ragged.of([[window.first] for window, _, _ in rows]),
        "begin": Ragged.of([[begin] for _, begin, _ in rows]),
        "end": Ragged.of([[end] for _, _, end in rows]),
    }
    return Encoded(Columns(columns), left_out, cut)


def in_window(window: Window, place: tuple[int, int] | None) -> tuple[int, int]:
    """Where the answer begins and ends in a window; the first token if the window does not have all of it."""
    if place is None or place[0] < window.begin or place[1] >= window.begin + window.size:
        return NOT_HERE, NOT_HERE
    shift = window.first - window.begin
    return place[0] + shift, place[1] + shift


class TokenCheck:
    """Notes answers that begin or end inside a token of a model, so that they cannot be predicted exactly."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.load(folder / "tokenizer.json" if folder.is_dir() else folder)
        self.passage, self.spans = "", np.zeros((0, 2), dtype=np.int64)

    def __call__(self, row: QuestionRow) -> None:
        if row.passage != self.passage:  # questions on one passage follow each other
            self.passage, self.spans = row.passage, pieces_of([row.passage], self.tokenizer)[row.passage].spans
        for start, text in zip(row.starts, row.answers, strict=True):
            place = tokens_at(self.spans, start, start + len(text))
            at = (start, start) if place is None else text_at(row.passage, self.spans, *place)
            if at != (start, start + len(text)):
                detail = f"{text[:60]!r} can only be predicted as {row.passage[slice(*at)][:60]!r}"
                row.notes += (Problem("inside a token", detail, row.place),)
                return


@dataclass(frozen=True)
class SpanBatch:
    """Windows, and where the answer is in each."""

    ids: Tensor  # (B, T), padded at the end
    lengths: Tensor  # (B,)
    segments: Tensor  # (B, T): 1 in the passage
    allowed: Tensor  # (B, T): where an answer may begin or end: in the passage, or at the first token
    begins: Tensor  # (B,)
    ends: Tensor  # (B,)
    index: Index

    @property
    def weight(self) -> int:
        return len(self.begins)

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> SpanBatch:
        names = ("ids", "lengths", "segments", "allowed", "begins", "ends")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


@dataclass(frozen=True)
class SpanWindows:
    """Windows in memory; `after` special tokens follow the passage."""

    columns: Columns
    pad: int
    after: int

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def lengths(self) -> Index:
        return self.columns["text"].lengths[:, None]

    def batch(self, index: Index, random: np.random.Generator | None = None) -> SpanBatch:  # noqa: ARG002
        ids = self.columns["text"].padded(index, pad=self.pad)
        lengths = torch.from_numpy(self.columns["text"].lengths_of(index))
        first, begins, ends = (
            torch.from_numpy(self.columns[name].flat[index].astype(np.int64)) for name in ("first", "begin", "end")
        )
        places = torch.arange(ids.size(1))
        segments = (places >= first[:, None]) & (places < lengths[:, None])
        allowed = segments & (places < lengths[:, None] - self.after)
        allowed[:, NOT_HERE] = True
        return SpanBatch(ids, lengths, segments.long(), allowed, begins, ends, index)
