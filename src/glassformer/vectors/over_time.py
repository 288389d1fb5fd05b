"""Which words changed their meaning: one space of vectors per period, turned onto each other, against a control.

Vectors of separate runs differ even if nothing changed, most for rare words. So the same is done with documents that
are shuffled over periods of the same sizes, where no meaning can have changed (Dubossarsky et al. 2017). A word counts
as moved only if it moved further than words of similar frequency do there. Shapes: V words, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import DataError
from glassformer.printable import counted
from glassformer.vectors.corpus import END, Corpus, corpus_of
from glassformer.vectors.settings import VectorSettings
from glassformer.vectors.training import train_on, vocabulary_of
from glassformer.vectors.word_vectors import TINY, Floats, WordVectors

SIMILAR = 1000  # words of the control with the most similar frequency
FALSE = 0.05  # the share of false findings that is accepted
NEIGHBOURS = 5
LEAST = 50

Numbers = NDArray[np.float64]
Report = Callable[[int, int], None]  # (spaces made, spaces in all)


@dataclass(frozen=True)
class Document:
    """A text and its period, from 0."""

    text: str
    period: int


@dataclass(frozen=True)
class Move:
    """How far a word moved from the first to the last period: 1 - cosine after the spaces were aligned.

    `chance`: the share of words of the control, of similar frequency, that moved as far. `adjusted`: the share of false
    findings if this word and all that moved more are believed (Benjamini and Hochberg 1995).
    """

    word: str
    change: float
    chance: float
    adjusted: float
    counts: list[int]  # in each period
    neighbours: list[list[str]]  # in each period

    @property
    def is_clear(self) -> bool:
        return self.adjusted <= FALSE


@dataclass(frozen=True)
class OverTime:
    """The words, the clearest first. `control`: how many would be found in shuffled periods, on average."""

    periods: list[str]
    tokens: list[int]
    documents: list[int]
    compared: int
    moves: list[Move]
    control: float
    shuffles: int

    @property
    def clear(self) -> int:
        return sum(move.is_clear for move in self.moves)


@dataclass(frozen=True)
class _Spaces:
    """The vectors of each period, turned onto the first, rows of length 1; and which words are compared."""

    units: list[Floats]  # (V, D) each
    counts: NDArray[np.int64]  # (periods, V)
    known: NDArray[np.int64]  # rows
    change: Numbers  # of the known words, first to last


def over_time(
    documents: Sequence[Document],
    names: Sequence[str],
    settings: VectorSettings,
    *,
    least: int = LEAST,
    shuffles: int = 3,
    report: Report | None = None,
) -> OverTime:
    """The words that occur at least `least` times in the first and in the last period, by how far they moved."""
    if len(names) < 2:
        raise DataError("Only one period has documents; give at least two.")
    texts = (" ".join(one.text.split()) + "\n" for one in documents)
    corpus = corpus_of(texts, **vocabulary_of(settings), origin="the documents")
    parts = np.split(corpus.ids, np.flatnonzero(corpus.ids == END) + 1)[: len(documents)]
    period = np.array([one.period for one in documents])
    ends = [part_of(corpus, [parts[i] for i in np.flatnonzero(period == p)]) for p in (0, len(names) - 1)]
    check_enough(int((np.minimum(ends[0].counts, ends[1].counts) >= least).sum()), least, settings.width)
    made, total = [0], (shuffles + 1) * len(names)

    def spaces_of(assigned: NDArray[np.int64], seed: int) -> _Spaces:
        corpora = [part_of(corpus, [parts[i] for i in np.flatnonzero(assigned == p)]) for p in range(len(names))]
        units = []
        for number, one in enumerate(corpora):
            seeded = settings.model_copy(update={"seed": seed + number})
            units.append(train_on(one, seeded).matrix)
            made[0] += 1
            if report is not None:
                report(made[0], total)
        return aligned(units, np.stack([one.counts for one in corpora]), least)

    real = spaces_of(period, settings.seed)
    random = np.random.default_rng(settings.seed)
    lengths = np.array([len(part) for part in parts])
    shuffled = [
        spaces_of(shuffled_periods(period, lengths, random), settings.seed + 1000 * (i + 1)) for i in range(shuffles)
    ]
    return judged(real, shuffled, corpus.words, names, period)


def check_enough(shared: int, least: int, width: int) -> None:
    """Raises an error before training if few words are shared: a rotation then fits them whatever they mean."""
    frequent = f"occur {least:,} times in the first and in the last period"
    if shared < 2:
        raise DataError(f"Only {counted(shared, 'word')} {frequent}. Use a smaller --least.")
    if shared <= width:
        raise DataError(
            f"Only {shared:,} words {frequent}, but vectors have {width:,} numbers: a rotation would fit them "
            "whatever they mean. Use a smaller --least or --width, or more text."
        )


def part_of(corpus: Corpus, parts: Sequence[NDArray[np.int32]]) -> Corpus:
    """The text of one period, with the ids of the whole."""
    ids = np.concatenate([*parts, np.empty(0, np.int32)])
    counts = np.bincount(ids[ids != END], minlength=len(corpus.words))
    return replace(corpus, ids=ids, counts=counts, read=int(counts.sum()))


def shuffled_periods(
    period: NDArray[np.int64], lengths: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """A random period for each document, such that every period keeps about its number of words."""
    sizes = np.bincount(period, weights=lengths)
    order = random.permutation(len(period))
    ends = np.cumsum(sizes)
    middle = np.cumsum(lengths[order]) - lengths[order] / 2
    found = np.empty_like(period)
    found[order] = np.minimum(np.searchsorted(ends, middle), len(sizes) - 1)
    return found


def aligned(matrices: Sequence[Floats], counts: NDArray[np.int64], least: int) -> _Spaces:
    """Turns each space onto the first by the rotation that fits the words that are compared."""
    known = np.flatnonzero(np.minimum(counts[0], counts[-1]) >= least)
    check_enough(len(known), least, 1)
    units = [units_of(matrix, known) for matrix in matrices]
    turned = [units[0], *(unit @ rotation(unit[known], units[0][known]) for unit in units[1:])]
    return _Spaces(turned, counts, known, 1 - cosines(turned[0], turned[-1], known))


def units_of(matrix: Floats, known: NDArray[np.int64]) -> Floats:
    """Rows of length 1, measured from the mean of the known words: a common direction says nothing about a word."""
    centred = matrix - matrix[known].mean(axis=0)
    found: Floats = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), TINY)
    return found


def rotation(x: Floats, y: Floats) -> Floats:
    """The orthogonal R with the smallest |x R - y|: U V^T of the SVD of x^T y (Schönemann 1966)."""
    left, _, right = np.linalg.svd(x.T.astype(np.float64) @ y)
    found: Floats = (left @ right).astype(np.float32)
    return found


def cosines(first: Floats, second: Floats, known: NDArray[np.int64]) -> Numbers:
    found: Numbers = (first[known].astype(np.float64) * second[known]).sum(axis=1)
    return found


# The control


def judged(
    real: _Spaces,
    shuffled: Sequence[_Spaces],
    words: Sequence[str],
    names: Sequence[str],
    period: NDArray[np.int64],
) -> OverTime:
    chance = chances_of(real, shuffled)
    adjusted = adjusted_chances(chance)
    order = np.lexsort((-real.change, adjusted))
    frequent = [words[i] for i in real.known]
    spaces = [WordVectors(frequent, unit[real.known]) for unit in real.units]
    moves: list[Move] = []
    for i in order.tolist():
        row = int(real.known[i])
        listed = len(moves) < 200 or adjusted[i] <= FALSE  # neighbours of thousands of words take minutes
        near = [
            [one.word for one in space.neighbours(words[row], top=NEIGHBOURS)] if listed else [] for space in spaces
        ]
        moves.append(
            Move(words[row], float(real.change[i]), float(chance[i]), float(adjusted[i]),
                 real.counts[:, row].tolist(), near)
        )  # fmt: skip
    documents = np.bincount(period, minlength=len(names)).tolist()
    control = found_by_chance(shuffled) if len(shuffled) > 1 else float("nan")
    return OverTime(list(names), real.counts.sum(axis=1).tolist(), documents, len(moves), moves, control, len(shuffled))


def chances_of(real: _Spaces, shuffled: Sequence[_Spaces]) -> Numbers:
    """For each known word, the share of control words with a similar frequency that moved at least as far."""
    if not shuffled:
        return np.full(len(real.known), np.nan)
    frequency = np.concatenate([rarest(one) for one in shuffled])
    change = np.concatenate([one.change for one in shuffled])
    order = np.argsort(frequency, kind="stable")
    frequency, change = frequency[order], change[order]
    near = min(SIMILAR, len(change))
    place = np.searchsorted(frequency, rarest(real)) - near // 2
    start = np.clip(place, 0, len(change) - near)
    further = [np.count_nonzero(change[s : s + near] >= one) for s, one in zip(start, real.change, strict=True)]
    return (1 + np.array(further)) / (1 + near)


def rarest(spaces: _Spaces) -> Numbers:
    """How often each known word occurs in that one of the first and the last period where it is rarer."""
    found: Numbers = np.minimum(spaces.counts[0], spaces.counts[-1])[spaces.known].astype(np.float64)
    return found


def adjusted_chances(chance: Numbers) -> Numbers:
    """Benjamini and Hochberg (1995): the expected share of false findings up to each word."""
    if np.isnan(chance).any():
        return chance
    order = np.argsort(chance, kind="stable")
    raw = chance[order] * len(chance) / np.arange(1, len(chance) + 1)
    found = np.empty(len(chance))
    found[order] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1.0)
    return found


def found_by_chance(shuffled: Sequence[_Spaces]) -> float:
    """The words found when a shuffled text is judged by the others; there is nothing to find."""
    rest = [[other for other in shuffled if other is not one] for one in shuffled]
    found = [
        np.count_nonzero(adjusted_chances(chances_of(one, others)) <= FALSE)
        for one, others in zip(shuffled, rest, strict=True)
    ]
    return float(np.mean(found))


# Documents


def year_periods(
    years: Sequence[int], *, starts: Sequence[int] | None, every: int | None
) -> tuple[list[int], list[str]]:
    """The period of each year, and the names of the periods that have documents. `starts`: their first years."""
    first, last = min(years), max(years)
    if starts is None:
        if every is None:
            every = max(1, -(-(last - first + 1) // 4))
        starts = range(first, last + 1, every)
    bounds = sorted(set(starts))
    number = np.searchsorted(bounds, np.array(years), side="right") - 1
    used = sorted({int(one) for one in number if one >= 0})
    new = {old: i for i, old in enumerate(used)}
    ends = [*(bound - 1 for bound in bounds[1:]), max(last, bounds[-1])]
    names = [f"{bounds[i]}-{ends[i]}" for i in used]
    return [new.get(int(one), -1) for one in number], names


def as_data(found: OverTime, *, top: int | None) -> dict[str, Any]:
    """For JSON."""
    moves = found.moves[:top]
    return {
        "periods": found.periods, "words_per_period": found.tokens, "documents": found.documents,
        "compared": found.compared, "clear": found.clear, "shuffles": found.shuffles,
        "found_in_shuffled_periods": none_if_nan(found.control),
        "moves": [
            {"word": one.word, "change": one.change, "chance": none_if_nan(one.chance),
             "adjusted": none_if_nan(one.adjusted), "clear": one.is_clear, "counts": one.counts,
             "neighbours": one.neighbours}
            for one in moves
        ],
    }  # fmt: skip


def none_if_nan(value: float) -> float | None:
    return None if value != value else value
