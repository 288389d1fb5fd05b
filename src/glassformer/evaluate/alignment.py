"""Word alignment read off attention, and how far it is from the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Links = frozenset[tuple[int, int]]  # (source word, target word)


def alignment_error(found: Iterable[Links], sure: Iterable[Links], possible: Iterable[Links]) -> float:
    """AER = 1 - (|A & S| + |A & P|) / (|A| + |S|) over all sentences (Och and Ney 2003); 0 is perfect."""
    hits = total = 0
    for a, s, p in zip(found, sure, possible, strict=True):
        hits += len(a & s) + len(a & p)
        total += len(a) + len(s)
    return 1 - hits / total if total else 0.0


def word_links(
    attention: NDArray[np.floating],
    source_words: Sequence[int | None],
    target_words: Sequence[int | None],
) -> Links:
    """Links from the attention of pieces (T, S): each target word to the source word it looks at most.

    source_words and target_words give the word of each piece, None for pieces that are no word (the end mark). The
    attention of a word is the mean over its target pieces and the sum over the pieces of each source word.
    """
    sources = sorted({w for w in source_words if w is not None})
    targets = sorted({w for w in target_words if w is not None})
    if not sources or not targets:
        return frozenset()
    by_word = _membership(targets, target_words, mean=True) @ attention @ _membership(sources, source_words).T
    return frozenset((sources[int(best)], target) for target, best in zip(targets, by_word.argmax(axis=1), strict=True))


def _membership(
    words: Sequence[int], word_of_piece: Sequence[int | None], *, mean: bool = False
) -> NDArray[np.floating]:
    """(words, pieces): 1 where the piece belongs to the word, or 1/n for a mean over its n pieces."""
    matrix = np.array([[float(w == word) for w in word_of_piece] for word in words])
    return matrix / matrix.sum(axis=1, keepdims=True) if mean else matrix


def words_of_pieces(spans: Sequence[tuple[int, int]], word_spans: Sequence[tuple[int, int]]) -> list[int | None]:
    """For each piece's character span, the word it overlaps first; None where it overlaps none (a lone space)."""
    owners: list[int | None] = []
    for start, end in spans:
        overlapping = (i for i, (left, right) in enumerate(word_spans) if start < right and left < end)
        owners.append(next(overlapping, None))
    return owners


def spans_of_words(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where each word stands in the text, read from left to right."""
    spans, position = [], 0
    for word in words:
        start = text.index(word, position)
        position = start + len(word)
        spans.append((start, position))
    return spans
