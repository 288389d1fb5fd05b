"""Answers to questions as pieces of a passage, by a model with a span head.

Every window of the passage gives each of its tokens two scores: the answer begins here, it ends here. The score of a
span is the sum of both; a span in several windows has its best score. No answer has the score of the first token, the
lowest of all windows, because every window must lack the answer. Shapes: B windows, T tokens, P tokens of the passage,
A tokens of an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer import limits
from glassformer.data.answer_windows import NOT_HERE, Layout, Pieces, Window, pieces_of, text_at
from glassformer.errors import DataError, ModelError, SettingsError
from glassformer.tasks.model import texts_of
from glassformer.text.sentences import sentence_spans

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder

Scores = NDArray[np.float64]
Progress = Callable[[int], None]
BATCH_TOKENS = 2048
USUAL = {"overlap": 128, "max_question": 64, "max_answer": 30, "no_answer": False, "threshold": 0.0}
USUAL_WINDOW = 384


@dataclass(frozen=True)
class Span:
    """A piece of the passage: its text, its place (from `start` to before `end`), score and probability."""

    text: str
    start: int
    end: int
    score: float
    probability: float


@dataclass(frozen=True)
class Answer:
    """The answer to a question: the best span of the passage, or none (`text` is empty)."""

    question: str
    passage: str
    spans: tuple[Span, ...]  # the best spans, best first, whether or not there is an answer
    no_answer: float  # probability that the passage has none; 0 if the model always answers
    margin: float  # how much higher no answer scores than the best span
    found: bool

    @property
    def text(self) -> str:
        return self.spans[0].text if self.found else ""

    @property
    def start(self) -> int | None:
        return self.spans[0].start if self.found else None

    @property
    def end(self) -> int | None:
        return self.spans[0].end if self.found else None

    @property
    def probability(self) -> float:
        """The probability of the answer, or that there is none."""
        return self.spans[0].probability if self.found else self.no_answer

    @property
    def sentence(self) -> tuple[int, int] | None:
        """Where the sentence with the answer begins and ends in the passage."""
        return self.sentence_of(self.spans[0].start, self.spans[0].end) if self.found else None

    def sentence_of(self, start: int, end: int) -> tuple[int, int]:
        """The same for any piece of the passage."""
        inside = [(a, b) for a, b in self._sentences if a < end and b > start]
        return (min(start, inside[0][0]), max(end, inside[-1][1])) if inside else (start, end)

    @cached_property
    def _sentences(self) -> list[tuple[int, int]]:
        return sentence_spans(self.passage)


class AnswersQuestions:
    """The method `answer` of models of text."""

    @overload
    def answer(  # type: ignore[overload-overlap]
        self,
        question: str,
        passage: str,
        *,
        top: int = ...,
        no_answer: bool | None = ...,
        threshold: float | None = ...,
        max_answer: int | None = ...,
        progress: Progress | None = ...,
    ) -> Answer: ...
    @overload
    def answer(
        self,
        question: Sequence[str],
        passage: str | Sequence[str],
        *,
        top: int = ...,
        no_answer: bool | None = ...,
        threshold: float | None = ...,
        max_answer: int | None = ...,
        progress: Progress | None = ...,
    ) -> list[Answer]: ...
    def answer(
        self,
        question: str | Sequence[str],
        passage: str | Sequence[str],
        *,
        top: int = 1,
        no_answer: bool | None = None,
        threshold: float | None = None,
        max_answer: int | None = None,
        progress: Progress | None = None,
    ) -> Answer | list[Answer]:
        """The answer to a question as a piece of the passage; for a list of questions, a list of answers.

        Several questions may have one passage, or one passage each. `no_answer`: whether a passage may lack the
        answer; by default as the model was trained. It lacks it if no answer scores higher than the best span by more
        than `threshold`, which training has chosen. `top`: how many spans are returned.
        """
        questions, passages = pairs_of(question, passage)
        reader: Any = self
        options = options_of(reader, top=top, no_answer=no_answer, threshold=threshold, max_answer=max_answer)
        found = answers_of(reader, questions, passages, options, progress=progress)
        return found[0] if isinstance(question, str) else found


@dataclass(frozen=True)
class Options:
    """How a span is chosen."""

    layout: Layout
    max_answer: int
    no_answer: bool
    threshold: float
    top: int


def pairs_of(question: object, passage: object) -> tuple[list[str], list[str]]:
    """Questions, and the passage of each."""
    questions, passages = texts_of(question, "question"), texts_of(passage, "passage")
    if isinstance(passage, str):
        passages = passages * len(questions)
    if len(questions) != len(passages):
        raise DataError(
            f"Got {len(questions):,} questions and {len(passages):,} passages. Give one passage for all questions, or "
            "one for each."
        )
    for what, texts in (("question", questions), ("passage", passages)):
        if any(not text.strip() for text in texts):
            raise DataError(f"A {what} is blank. Give a text.")
    return questions, passages


def options_of(
    reader: TextEncoder,
    *,
    top: int = 1,
    no_answer: bool | None = None,
    threshold: float | None = None,
    max_answer: int | None = None,
) -> Options:
    """The given options, or else those of the model's folder."""
    if getattr(reader.model.config, "head", None) != "span":
        raise ModelError(
            "This model has no head for answers. Train one with `glassformer train --task answer`, or import a BERT, "
            "RoBERTa or RoFormer model for question answering."
        )
    known: dict[str, Any] = {**USUAL, **{name: reader.extras[name] for name in USUAL if name in reader.extras}}
    given = {"no_answer": no_answer, "threshold": threshold, "max_answer": max_answer}
    known |= {name: value for name, value in given.items() if value is not None}
    for name, value, most in (("top", top, limits.TOKENS), ("max_answer", known["max_answer"], limits.TOKENS)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise SettingsError(f"{name} = {value!r}: a whole number from 1 to {most:,} is allowed.")
    longest = min(reader.max_length or USUAL_WINDOW, reader.extras.get("max_length", USUAL_WINDOW))
    layout = Layout(reader.frame, longest, known["overlap"], known["max_question"])
    return Options(layout, known["max_answer"], bool(known["no_answer"]), float(known["threshold"]), top)


def answers_of(
    reader: TextEncoder,
    questions: Sequence[str],
    passages: Sequence[str],
    options: Options,
    *,
    progress: Progress | None = None,
) -> list[Answer]:
    lowercase = bool(reader.extras.get("lowercase"))
    asked = pieces_of(questions, reader.tokenizer, lowercase=lowercase)
    read = pieces_of(passages, reader.tokenizer, lowercase=lowercase)
    windows: list[Window] = []
    owners: list[int] = []
    for number, (question, passage) in enumerate(zip(questions, passages, strict=True)):
        made = options.layout.windows(asked[question].ids, read[passage].ids)
        windows += made
        owners += [number] * len(made)
    tables: list[list[tuple[Window, Scores]]] = [[] for _ in questions]
    for at, scores in window_scores(reader, windows, progress=counter(owners, progress)):
        tables[owners[at]].append((windows[at], scores))
    return [
        best_answer(question, passage, read[passage], found, options)
        for question, passage, found in zip(questions, passages, tables, strict=True)
    ]


def best_window(reader: TextEncoder, question: str, passage: str) -> Window:
    """The window of a passage with the best answer."""
    pairs_of(question, passage)
    options = options_of(reader)
    lowercase = bool(reader.extras.get("lowercase"))
    pieces = pieces_of([question, passage], reader.tokenizer, lowercase=lowercase)
    windows = options.layout.windows(pieces[question].ids, pieces[passage].ids)

    def best(scores: Scores, window: Window) -> float:
        inside = scores[window.first : window.first + window.size]
        return float(span_scores(inside[:, 0], inside[:, 1], options.max_answer).max(initial=-np.inf))

    found = {i: best(scores, windows[i]) for i, scores in window_scores(reader, windows, progress=lambda _: None)}
    return windows[max(found, key=lambda i: (found[i], -i))]


def counter(owners: Sequence[int], progress: Progress | None) -> Callable[[int], None]:
    """Reports a question once all of its windows are read."""
    left = np.bincount(np.array(owners, dtype=np.int64)) if owners else np.zeros(0, dtype=np.int64)

    def count(window: int) -> None:
        left[owners[window]] -= 1
        if progress is not None and not left[owners[window]]:
            progress(1)

    return count


def window_scores(
    reader: TextEncoder, windows: Sequence[Window], *, progress: Callable[[int], None]
) -> Iterator[tuple[int, Scores]]:
    """The number of each window and its scores (T, 2). Windows of similar length are read together."""
    from glassformer.tasks.classifying import with_segments
    from glassformer.tasks.embedding import by_length

    for part in by_length([window.ids for window in windows], BATCH_TOKENS):
        with torch.inference_mode():
            batch = with_segments(reader.batch([windows[i].ids for i in part]), [windows[i].first for i in part])
            logits = reader.model(batch).double().cpu().numpy()  # (B, T, 2)
        for i, row in zip(part, logits, strict=True):
            progress(i)
            yield i, row


def best_answer(
    question: str, passage: str, pieces: Pieces, found: Sequence[tuple[Window, Scores]], options: Options
) -> Answer:
    """The best spans of all windows, and whether one of them is the answer."""
    table = np.full((len(pieces.ids), options.max_answer), -np.inf)
    none = np.inf
    for window, scores in found:
        inside = scores[window.first : window.first + window.size]
        part = table[window.begin : window.begin + window.size]
        np.maximum(part, span_scores(inside[:, 0], inside[:, 1], options.max_answer), out=part)
        none = min(none, float(scores[NOT_HERE].sum()))
    real = table[np.isfinite(table)]
    total = log_sum(np.append(real, none) if options.no_answer else real)
    spans = tuple(best_spans(passage, pieces, table, total, options.top))
    margin = none - spans[0].score if spans else np.inf
    answered = bool(spans) and not (options.no_answer and margin > options.threshold)
    chance = float(np.exp(none - total)) if options.no_answer else 0.0
    return Answer(question, passage, spans, chance, float(margin), answered)


def span_scores(begins: Scores, ends: Scores, most: int) -> Scores:
    """(P,), (P,) -> (P, A): the score of the span that begins at a token and has 1 to A tokens; -inf beyond the end."""
    if not len(begins):  # the tokenizer removes every character of some passages
        return np.empty((0, most))
    padded = np.concatenate([ends, np.full(most - 1, -np.inf)])
    found: Scores = begins[:, None] + np.lib.stride_tricks.sliding_window_view(padded, most)
    return found


def log_sum(values: Scores) -> float:
    highest = float(values.max()) if len(values) else 0.0
    return highest + float(np.log(np.exp(values - highest).sum())) if len(values) else 0.0


def best_spans(passage: str, pieces: Pieces, table: Scores, total: float, top: int) -> Iterator[Span]:
    """The spans with the highest scores, each piece of text once; of equal ones, the first and shortest."""
    most, flat = table.shape[1], table.ravel()
    seen: set[tuple[int, int]] = set()
    for place in highest(flat, top):
        if len(seen) == top or not np.isfinite(flat[place]):
            return
        first = place // most
        start, end = text_at(passage, pieces.spans, first, first + place % most)
        if start < end and (start, end) not in seen:
            seen.add((start, end))
            score = float(flat[place])
            yield Span(passage[start:end], start, end, score, float(np.exp(score - total)))


def highest(values: Scores, top: int) -> Iterator[int]:
    """Places in order of their values: the few that are usually enough first, then all others."""
    few = min(len(values), 4 * top + 16)
    if few < len(values):
        some = np.sort(np.argpartition(-values, few)[:few])
        yield from some[np.argsort(-values[some], kind="stable")].tolist()
    yield from np.argsort(-values, kind="stable").tolist()
