"""Word alignment taken from attention, and its error against a reference alignment."""

from __future__ import annotations

from bisect import bisect_right
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

    source_words and target_words give the word of each piece; None for a piece outside all words (the end mark). The
    attention of a word is the mean over its target pieces and the sum over the pieces of each source word.
    """
    by_word = by_words(attention, source_words, target_words)
    if not by_word.size:
        return frozenset()
    targets = sorted({w for w in target_words if w is not None})
    sources = sorted({w for w in source_words if w is not None})
    return frozenset((sources[int(best)], target) for target, best in zip(targets, by_word.argmax(axis=1), strict=True))


def by_words(
    attention: NDArray[np.floating], source_words: Sequence[int | None], target_words: Sequence[int | None]
) -> NDArray[np.floating]:
    """Attention between pieces (T, S) -> attention between words: mean over target pieces, sum over source pieces."""
    return _summed(_summed(attention, target_words, mean=True).T, source_words).T


def _summed(
    values: NDArray[np.floating], word_of_piece: Sequence[int | None], *, mean: bool = False
) -> NDArray[np.floating]:
    """(pieces, n) -> (words, n): the sum over the pieces of each word, or their mean."""
    pieces = [i for i, word in enumerate(word_of_piece) if word is not None]
    words, places = np.unique([word_of_piece[i] for i in pieces], return_inverse=True)
    total = np.zeros((len(words), values.shape[1]))
    np.add.at(total, places, values[pieces])
    return total / np.bincount(places, minlength=len(words))[:, None] if mean else total


def words_of_pieces(spans: Sequence[tuple[int, int]], word_spans: Sequence[tuple[int, int]]) -> list[int | None]:
    """For each piece's character span, the first word that it overlaps; None if it overlaps none (a lone space).

    Both lists are in text order.
    """
    owners: list[int | None] = []
    ends = [right for _, right in word_spans]
    for start, end in spans:
        first = bisect_right(ends, start)  # the first word that ends after the piece begins
        owners.append(first if first < len(word_spans) and word_spans[first][0] < end and start < end else None)
    return owners


def spans_of_words(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """The position of each word in the text, searched from left to right."""
    spans, position = [], 0
    for word in words:
        start = text.index(word, position)
        position = start + len(word)
        spans.append((start, position))
    return spans
