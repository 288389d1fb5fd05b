"""Words with their vectors, and what can be asked about them. Shapes: V words, D width."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import DataError, SettingsError
from glassformer.limits import TOKENS
from glassformer.printable import counted, printable, shortened

Floats = NDArray[np.float32]
AT_A_TIME = 1 << 22  # numbers that are compared together
CLOSE_ENOUGH = 0.75
TINY = 1e-30  # shorter vectors have no direction


@dataclass(frozen=True)
class Neighbour:
    """A word near another one."""

    word: str
    cosine: float


@dataclass(frozen=True)
class Similarity:
    """Two words compared: the dot product grows with the lengths, the cosine does not.

    A vector of length 0 has no direction: `is_defined` is then False, and `cosine` is 0.
    """

    dot: float
    cosine: float
    lengths: tuple[float, float]

    @property
    def is_defined(self) -> bool:
        """Whether there is a cosine: both vectors have a length."""
        return min(self.lengths) > TINY


@dataclass(frozen=True)
class OddOne:
    """A word and its cosine to the mean direction of the group; the odd one out has the lowest."""

    word: str
    cosine: float


class UnknownWordError(DataError, KeyError):
    """A word without a vector. Also a KeyError, as of a dictionary."""

    def __str__(self) -> str:
        return str(self.args[0])


class WordVectors:
    """Words and their vectors; `vectors["king"]`, `"king" in vectors`, `len(vectors)`.

    `counts` are how often each word occurs in the text, if that is known. Words come most frequent first.
    """

    def __init__(
        self,
        words: Iterable[str],
        matrix: Floats,
        *,
        counts: NDArray[np.int64] | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        self.words = tuple(words)
        self.matrix = np.asarray(matrix, dtype=np.float32)  # (V, D)
        self.counts, self.about = counts, about or {}
        if (
            self.matrix.ndim != 2
            or len(self.matrix) != len(self.words)
            or (counts is not None and len(counts) != len(self))
        ):
            raise DataError(
                f"Got {len(self.words):,} words and an array of shape {self.matrix.shape}; give (words, width)."
            )

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids

    def __getitem__(self, word: str) -> Floats:
        """The vector of a word, (D,); a KeyError that names similar words if there is none."""
        found: Floats = self.matrix[self.id_of(word)]
        return found

    def __repr__(self) -> str:
        return f"<WordVectors: {len(self):,} words, width {self.width}>"

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def ids(self) -> dict[str, int]:
        """The row of each word; the first one if a file has a word twice."""
        return {word: number for number, word in zip(range(len(self) - 1, -1, -1), reversed(self.words), strict=True)}

    @cached_property
    def lengths(self) -> Floats:
        """(V,) The length of each vector; rows are read some at a time."""
        parts = [np.linalg.norm(self.matrix[rows], axis=1) for rows in self._blocks()]
        return np.concatenate([*parts, np.empty(0, np.float32)]).astype(np.float32)

    # Words

    def id_of(self, word: str) -> int:
        """The row of a word; in another casing if only that exists."""
        if not isinstance(word, str):
            raise DataError(f"Got {word!r} ({type(word).__name__}); expected a word (str).")
        number = self.ids.get(word)
        if number is None:
            number = next((self.ids[one] for one in cased(word) if one in self.ids), None)
        if number is None:
            raise UnknownWordError(self._unknown(word))
        return number

    def _unknown(self, word: str) -> str:
        close = self.similar_spellings(word)
        hint = f" Similar words that have one: {', '.join(map(printable, close))}." if close else ""
        return f"{shortened(printable(word), width=60)!r} has no vector among {len(self):,} words.{hint}"

    def similar_spellings(self, word: str, *, most: int = 3) -> list[str]:
        """Words with almost the same letters, frequent ones first when equally close."""
        wanted = word.lower()
        near = [one for one in self.words if one[:1].lower() == wanted[:1] and abs(len(one) - len(word)) <= 2]
        return difflib.get_close_matches(wanted, near[:20_000], n=most, cutoff=CLOSE_ENOUGH)

    # Questions

    def neighbours(self, word: str | Floats, *, top: int = 10, among: int | None = None) -> list[Neighbour]:
        """The words with the highest cosine to a word, which is left out, or to a vector (D,).

        `among`: look only at this many words, the first of the file, which are usually the most frequent.
        """
        if isinstance(word, str):
            number = self.id_of(word)
            return self._nearest(self._unit(self.matrix[number]), top, {number}, among)
        vector = np.asarray(word)
        if vector.shape != (self.width,) or vector.dtype.kind not in "fiu":
            raise DataError(f"Got {word!r}; expected a word (str) or a vector of {self.width} numbers.")
        return self._nearest(self._unit(vector.astype(np.float32)), top, set(), among)

    def analogy(
        self, plus: Sequence[str], minus: Sequence[str] = (), *, top: int = 5, among: int | None = None
    ) -> list[Neighbour]:
        """king - man + woman: the words nearest to the sum of the unit vectors (3CosAdd, Mikolov et al. 2013).

        The words of the question are left out; without that, the answer would often be one of them.
        """
        plus, minus = ([one] if isinstance(one, str) else list(one) for one in (plus, minus))
        if not plus:
            raise DataError('An analogy needs a word to start from: plus=["king", "woman"], minus=["man"].')
        asked = [(self.id_of(word), 1.0) for word in plus] + [(self.id_of(word), -1.0) for word in minus]
        target = np.zeros(self.width, np.float32)
        for number, sign in asked:
            target += sign * self._unit(self.matrix[number])
        return self._nearest(self._unit(target), top, {number for number, _ in asked}, among)

    def similarity(self, first: str, second: str) -> Similarity:
        """Dot product and cosine of two words."""
        return similarity(self[first], self[second])

    def odd_one_out(self, words: Sequence[str]) -> list[OddOne]:
        """The words with their cosine to the mean of all unit vectors, lowest first: the first is the odd one out."""
        words = texts(words)
        if len(words) < 3:
            raise DataError(f"Got {counted(len(words), 'word')}; the odd one out needs at least three.")
        units = np.stack([self._unit(self[word]) for word in words])
        cosines = units @ self._unit(units.mean(axis=0))
        return sorted(
            (OddOne(word, float(one)) for word, one in zip(words, cosines, strict=True)), key=lambda one: one.cosine
        )

    def save(self, path: str | Path) -> None:
        """Writes a new file that gensim, fastText and others read: .bin is binary, .glove GloVe's text, other
        names are text with a first line; a further .gz, .xz or .zst is not written."""
        from glassformer.vectors.writing import write_vectors

        write_vectors(self, Path(path))

    # Search

    def _nearest(self, unit: Floats, top: int, left_out: set[int], among: int | None) -> list[Neighbour]:
        if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= TOKENS:
            raise SettingsError(f"top = {top!r}: expected a whole number from 1 to {TOKENS:,}.")
        cosines = self.cosines(unit[None], among=among)[0]
        cosines[[number for number in left_out if number < len(cosines)]] = -np.inf
        top = min(top, len(cosines))
        best = np.argpartition(-cosines, top - 1)[:top]
        best = best[np.lexsort((best, -cosines[best]))]
        return [Neighbour(self.words[i], float(cosines[i])) for i in best if np.isfinite(cosines[i])]

    def cosines(self, units: Floats, *, among: int | None = None) -> Floats:
        """(Q, D) unit vectors -> (Q, V) cosines with the words; -1 for words whose vector is 0."""
        known = min(among or len(self), len(self))
        found = np.empty((len(units), known), np.float32)
        for rows in self._blocks(known):
            found[:, rows] = units @ self.matrix[rows].T
        lengths = self.lengths[:known]
        found /= np.maximum(lengths, TINY)
        found[:, lengths <= TINY] = -1.0
        return found

    def _blocks(self, rows: int | None = None) -> Iterable[slice]:
        rows = len(self) if rows is None else rows
        size = max(1, AT_A_TIME // max(1, self.width))
        return (slice(start, min(start + size, rows)) for start in range(0, rows, size))

    @staticmethod
    def _unit(vector: Floats) -> Floats:
        found: Floats = (vector / max(float(np.linalg.norm(vector)), TINY)).astype(np.float32)
        return found


def similarity(first: Sequence[float] | NDArray[Any], second: Sequence[float] | NDArray[Any]) -> Similarity:
    """Dot product and cosine of two vectors: v . w and v . w / (|v| |w|)."""
    v, w = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if v.shape != w.shape or v.ndim != 1:
        raise DataError(f"Got vectors with {v.size} and {w.size} numbers; they need the same number.")
    dot, lengths = float(v @ w), (float(np.linalg.norm(v)), float(np.linalg.norm(w)))
    cosine = dot / (lengths[0] * lengths[1]) if min(lengths) > TINY else 0.0
    return Similarity(dot, min(1.0, max(-1.0, cosine)), lengths)


def cased(word: str) -> list[str]:
    return [word.lower(), word.capitalize(), word.upper(), word.title()]


def texts(words: Sequence[str]) -> list[str]:
    if isinstance(words, str):
        raise DataError(f"Got one text ({words!r}); give a list of words.")
    return list(words)
