"""Replaces the model's own word by a glossary term where the model does not use the term.

The usual translation is found first. Then each target word gets a score for a source term: the share of its attention
that goes to the term's tokens, and how much less likely the word is when the term is removed from the source. The word
with the highest score is the model's translation of the term, and is replaced by the glossary's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glassformer.evaluate.alignment import by_words, spans_of_words, words_of_pieces
from glassformer.tasks.translation.alignment import cross_attentions, forced_log_probs
from glassformer.tasks.translation.glossary import Forms, Occurrence, places_of
from glassformer.tasks.translation.word_boundaries import Word, is_sign, normal, tokens_of, words_of

if TYPE_CHECKING:
    from glassformer.tasks.translation.translator import Translator

Scores = NDArray[np.floating]
NATS = 10.0  # a fall of the log-probability by this much counts as much as all of the attention
NEARLY = 0.6  # share of the best score: a neighbour with at least this much belongs to the same term
ELISION = re.compile(r"^\w{1,2}['’](?=\w)")  # an article that is written together with its noun: l'homme


@dataclass(frozen=True)
class Replaced:
    """A translation with terms in place of the usual words."""

    text: str
    usual: tuple[str, ...]  # the words that were replaced
    terms: tuple[str, ...]  # the terms that replaced them


def with_terms(
    translator: Translator, source: str, translations: Sequence[str], terms: Sequence[Occurrence]
) -> list[Replaced] | None:
    """Each translation of a source with the source's terms; None if no place is found."""
    tokenizer = translator.source
    if len(tokenizer.normalize(source)) != len(normal(source)):
        return None
    offsets, row = tokenizer.offsets(source), tokenizer.encode(source)
    pieces = [[i for i, (start, end) in enumerate(offsets) if start < term.end and term.start < end] for term in terms]
    if not all(pieces) or not all(map(str.strip, translations)):
        return None
    found = []
    for text in translations:
        words = tokens_of(text)
        scores = _scores(translator, source, row, text, words, pieces)
        if scores is None:
            return None
        found.append(_replaced(text, words, scores, terms))
    return found


def _scores(
    translator: Translator,
    source: str,
    row: Sequence[int],
    text: str,
    words: Sequence[Word],
    pieces: Sequence[Sequence[int]],
) -> Scores | None:
    """(terms, T): how well each target word suits each term; None if the words cannot be matched with tokens."""
    normalized = translator.target.normalize(text)
    spans = spans_of_words(normalized, [word.text for word in tokens_of(normalized)])
    if len(spans) != len(words):
        return None
    of_piece = [*words_of_pieces(translator.target.offsets(text), spans), None]
    if len({word for word in of_piece if word is not None}) != len(words):
        return None
    attention = cross_attentions(translator, [source], [text])[0].mean(axis=(0, 1))  # (T, S) of pieces
    by_piece = by_words(attention, range(attention.shape[1]), of_piece)  # (T, S) words, pieces
    shares = np.stack([by_piece[:, own].sum(axis=1) for own in pieces])
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    return shares + _falls(translator, row, text, of_piece, pieces) / NATS


def _falls(
    translator: Translator,
    row: Sequence[int],
    text: str,
    of_piece: Sequence[int | None],
    pieces: Sequence[Sequence[int]],
) -> Scores:
    """(terms, T): how much the log-probability of each target word falls without the term."""
    target = translator.target.encode(text)
    without = [[token for i, token in enumerate(row) if i not in set(own)] or list(row) for own in pieces]
    whole, *less = forced_log_probs(translator, [row, *without], [target] * (1 + len(without)))
    return np.stack([by_words((whole - one)[:, None], [0], of_piece)[:, 0] * _counts(of_piece) for one in less])


def _counts(of_piece: Sequence[int | None]) -> Scores:
    """How many pieces each word has."""
    return np.unique([word for word in of_piece if word is not None], return_counts=True)[1].astype(float)


def _replaced(text: str, words: Sequence[Word], scores: Scores, terms: Sequence[Occurrence]) -> Replaced:
    free = np.array([not all(map(is_sign, word.text)) for word in words])
    waiting = []
    for number, term in enumerate(terms):  # terms that are already used stay
        said = [place for place in _said(text, words, term.forms) if free[slice(*place)].all()]
        if said:
            first, last = max(said, key=lambda place: scores[number, slice(*place)].sum())
            free[first:last] = False
        else:
            waiting.append(number)
    chosen: list[tuple[int, int, Forms]] = []
    for number in sorted(waiting, key=lambda n: -scores[n][free].max(initial=-np.inf)):
        if free.any():
            first, last = _span(scores[number], free, several=terms[number].words > 1)
            free[first:last] = False
            chosen.append((first, last, terms[number].forms))
    usual: list[str] = []
    said_terms: list[str] = []
    parts: list[str] = []
    position = 0
    for first, last, forms in sorted(chosen):
        start, end = words[first].start, words[last - 1].end
        word = text[start:end]
        kept = ELISION.match(word)
        start += kept.end() if kept else 0
        form = fitting(forms, word)
        written = form[:1].upper() + form[1:] if start == 0 else form
        parts += [text[position:start], written]
        usual.append(word)
        said_terms.append(written)
        position = end
    return Replaced("".join([*parts, text[position:]]), tuple(usual), tuple(said_terms))


def _said(text: str, words: Sequence[Word], forms: Forms) -> list[tuple[int, int]]:
    """Where a text already contains a term: its first word, and one past its last."""
    spans = words_of(text)
    starts, ends = np.array([word.start for word in words]), np.array([word.end for word in words])
    found = set(places_of([word.text for word in spans], forms, normal))
    return [
        (int((ends <= spans[first].start).sum()), int((starts < spans[last - 1].end).sum()))
        for first, last in sorted(found)
    ]


def _span(scores: Scores, free: NDArray[np.bool_], *, several: bool) -> tuple[int, int]:
    """The best word; for a term of several words also the neighbours that are nearly as good."""
    best = int(np.where(free, scores, -np.inf).argmax())
    first, last = best, best + 1
    while several and first > 0 and free[first - 1] and scores[first - 1] >= NEARLY * scores[best]:
        first -= 1
    while several and last < len(free) and free[last] and scores[last] >= NEARLY * scores[best]:
        last += 1
    return first, last


def fitting(forms: Forms, word: str) -> str:
    """The form whose ending is most like that of the word it replaces; the first one if several are equal."""
    return max(forms, key=lambda form: _common_end(form, word))


def _common_end(one: str, other: str) -> int:
    size = 0
    while size < min(len(one), len(other)) and one[-1 - size] == other[-1 - size]:
        size += 1
    return size
