"""Labels of words by a model with a head for tokens: entities with their places, or a label for each word.

Shapes: B windows, T pieces, R pieces of all windows, K labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import torch
from torch import Tensor

from glassformer.data.schemes import BIO, PLAIN, converted, scheme_of_names, spans_of, transitions
from glassformer.data.tagged_windows import Window, WordPieces, windows_of
from glassformer.decode.label_paths import Scores, best_paths
from glassformer.errors import DataError, ModelError
from glassformer.tasks.guesses import label_of
from glassformer.tasks.model import described, texts_of
from glassformer.text.word_spans import WordSpan, word_spans

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextBatch, TextEncoder

BATCH_TOKENS = 1024
LONGEST = 512  # tokens of a window, if neither model nor folder says
NO_HEAD = (
    "This model has no head for labels of words. Train one with `glassformer train --task tag`, or import a BERT, "
    "RoBERTa or RoFormer model for token classification."
)
Progress = Callable[[int], None]
Sentence = str | Sequence[str]  # a text, or its words


@dataclass(frozen=True)
class Entity:
    """A span of a text and its type. `confidence` is the product of the probabilities of its words' labels."""

    type: str
    text: str
    start: int  # characters
    end: int
    confidence: float
    first_word: int
    last_word: int  # one past the last


@dataclass(frozen=True)
class TaggedText:
    """A text with its words, the label of each (BIO, or plain) with its probability, and its entities."""

    text: str
    words: tuple[str, ...]
    places: tuple[WordSpan, ...]  # of the words in the text
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    entities: tuple[Entity, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the entities, or all words where labels are plain."""
        words = [
            {"word": word, "label": label, "probability": round(chance, 6), "start": start, "end": end}
            for word, label, chance, (start, end) in zip(
                self.words, self.labels, self.probabilities, self.places, strict=True
            )
        ]
        entities = [
            {"type": e.type, "text": e.text, "start": e.start, "end": e.end, "confidence": round(e.confidence, 6)}
            for e in self.entities
        ]
        return {"text": self.text, "entities": entities, "words": words}


class Tagger:
    """The word labels of a model."""

    def __init__(self, encoder: TextEncoder) -> None:
        config, extras = encoder.model.config, encoder.extras
        if getattr(config, "head", None) != "tokens":
            raise ModelError(NO_HEAD)
        self.encoder = encoder
        self.labels = [label_of(number, extras.get("labels", [])) for number in range(config.classes)]
        self.scheme: str | None = extras.get("scheme", scheme_of_names(self.labels))
        self.rules = transitions(self.labels, self.scheme)
        self.pieces = WordPieces(encoder.tokenizer, lowercase=bool(extras.get("lowercase")))
        self.casing = bool(getattr(config, "casing", None))
        limits = (extras.get("window"), encoder.max_length)
        self.window = min((limit for limit in limits if limit is not None), default=LONGEST)

    @property
    def has_spans(self) -> bool:
        return self.scheme != PLAIN

    def scores(
        self, sentences: Sequence[Sequence[str]], documents: Sequence[int], *, progress: Progress | None = None
    ) -> list[Scores]:
        """The log-probabilities of all labels for each word: (words, K) of each sentence."""
        from glassformer.tasks.embedding import by_length

        windows = windows_of(sentences, documents, self.pieces, self.encoder.frame, most=self.window)
        found = [np.zeros((len(words), len(self.labels)), np.float32) for words in sentences]
        for part in by_length([window.ids for window in windows], BATCH_TOKENS):
            chosen = [windows[i] for i in part]
            rows = iter(self.window_scores(chosen))
            for window in chosen:
                for _, sentence, word in window.own:
                    found[sentence][word] = next(rows)
            if progress is not None:
                progress(sum(len(window.own) for window in chosen))
        return found

    @torch.inference_mode()
    def window_scores(self, windows: Sequence[Window]) -> Scores:
        """(words, K) for the own words of these windows, one after another."""
        encoder, batch = self.encoder, self.batch(windows)
        begins = np.cumsum([0, *(len(window.ids) for window in windows)])
        places = [
            int(begin) + place for begin, window in zip(begins, windows, strict=False) for place, *_ in window.own
        ]
        hidden = encoder.rows(batch)[torch.tensor(places, device=encoder.device)]  # (words, D)
        found: Scores = encoder.model.head(hidden).float().log_softmax(-1).cpu().numpy()
        return found

    def batch(self, windows: Sequence[Window]) -> TextBatch:
        found = self.encoder.batch([window.ids for window in windows])
        return replace(found, casing=padded_casing(windows, found.ids)) if self.casing else found

    def first_window(self, text: str) -> tuple[Window, list[str]]:
        """The first window of a text, and the words that it labels."""
        words = [text[start:end] for start, end in word_spans(text)]
        window = windows_of([words], [-1], self.pieces, self.encoder.frame, most=self.window)[0]
        return window, [words[word] for _, _, word in window.own]

    def predicted(self, sentences: Sequence[Sequence[str]], documents: Sequence[int]) -> list[list[str]]:
        """The labels of each sentence, BIO or plain."""
        paths = best_paths(self.scores(sentences, documents), self.rules)
        return [self.named(path) for path in paths]

    def named(self, path: Sequence[int]) -> list[str]:
        labels = [self.labels[number] for number in path]
        return converted(labels, BIO) if self.has_spans else labels

    def tag(self, texts: Sequence[Sentence], *, progress: Progress | None = None) -> list[TaggedText]:
        """Each text with its labels."""
        split = [words_of(text) for text in texts]
        words = [[text[start:end] for start, end in places] for text, places in split]
        scores = self.scores(words, [-1] * len(words), progress=progress)
        found = []
        for (text, places), own, score, path in zip(split, words, scores, best_paths(scores, self.rules), strict=True):
            chances = np.exp(score[np.arange(len(path)), path]).tolist() if path else []
            labels = self.named(path)
            entities = entities_of(text, places, labels, chances) if self.has_spans else ()
            found.append(TaggedText(text, tuple(own), tuple(places), tuple(labels), tuple(chances), entities))
        return found


class TagsWords:
    """What a `TextEncoder` has for labels of words."""

    context_of_documents = False  # whether it reads the sentences of a document together

    @cached_property
    def tagger(self) -> Tagger:
        return Tagger(cast("TextEncoder", self))

    @overload
    def tag(self, texts: str, *, progress: Progress | None = ...) -> TaggedText: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Sequence[Sentence], *, progress: Progress | None = ...) -> list[TaggedText]: ...
    def tag(
        self, texts: str | Sequence[Sentence], *, progress: Progress | None = None
    ) -> TaggedText | list[TaggedText]:
        """Each text with its entities, or a label for each word. A list of words is a text that is already split."""
        found = self.tagger.tag(sentences_in(texts), progress=progress)
        return found[0] if isinstance(texts, str) else found


def padded_casing(windows: Sequence[Window], like: Tensor) -> Tensor:
    casing = torch.zeros_like(like)
    for row, window in zip(casing, windows, strict=True):
        row[: len(window.casing)] = torch.tensor(window.casing, device=like.device)
    return casing


def entities_of(
    text: str, places: Sequence[WordSpan], labels: Sequence[str], chances: Sequence[float]
) -> tuple[Entity, ...]:
    found = []
    for kind, first, last in spans_of(labels):
        start, end = places[first][0], places[last - 1][1]
        confidence = math.prod(chances[first:last])
        found.append(Entity(kind, text[start:end], start, end, confidence, first, last))
    return tuple(found)


def words_of(text: Sentence) -> tuple[str, list[WordSpan]]:
    """A text and the places of its words; words alone are joined by spaces."""
    if isinstance(text, str):
        return text, word_spans(text)
    places, end = [], 0
    for word in text:
        places.append((end, end + len(word)))
        end += len(word) + 1
    return " ".join(text), places


def sentences_in(texts: object) -> list[Sentence]:
    """The given text, texts, or lists of words."""
    if isinstance(texts, str) or not isinstance(texts, Sequence) or all(isinstance(one, str) for one in texts):
        return [*texts_of(texts)]
    for one in texts:
        words = [one] if isinstance(one, str) else one
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            raise DataError(f"Got {described(one)}; expected a text (str) or a list of its words.")
    return [one if isinstance(one, str) else list(one) for one in texts]
