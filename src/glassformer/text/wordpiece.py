"""WordPiece training: merge the pair that most raises the likelihood of the text.

Under a unigram model of the pieces, joining a and b changes the log-likelihood of each of their joint occurrences by
log(p(ab) / (p(a) p(b))), so the pair to join is the one that maximises

    score(a, b) = count(ab) / (count(a) * count(b))

(Schuster and Nakajima 2012; https://doi.org/10.1109/ICASSP.2012.6289079). BPE asks only for the largest count(ab).

The ratio alone favours rare pieces: two pieces seen twice, always together, score 1/2, more than any frequent pair. So
a pair must also be frequent: the floor starts at half the highest pair count and halves when no pair reaches it, down
to `min_frequency`. Frequent pieces are learned first, and likelihood decides among pairs of similar frequency.
On 58,000 captions and 10,000 pieces, the ratio alone (least count 2) gives 3.3 pieces per word, halving floors give
1.24, and BPE also gives 1.24 (`benchmarks/tokenizers_train.py`).

Counts are exact at each step. A merge changes count(a) and count(b), so it changes the score of every pair that
contains one of them; those pairs are pushed again and stale heap entries are skipped. A test checks that this equals
recounting everything.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from glassformer.text.pieces import CONTINUES, MARK

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Merge:
    """One step of training: two pieces that became one, with the score and the count that chose them."""

    left: str
    right: str
    score: float
    count: int

    @property
    def piece(self) -> str:
        return joined(self.left, self.right)

    def line(self) -> str:
        """The merge as one line of a file; pieces never contain a space."""
        return f"{self.left} {self.right} {self.score!r} {self.count}"

    @classmethod
    def from_line(cls, line: str) -> Merge:
        left, right, score, count = line.split(" ")
        return cls(left, right, float(score), int(count))


def joined(left: str, right: str) -> str:
    """The piece that two neighbours make: `▁he` + `##llo` = `▁hello`."""
    return left + right.removeprefix(CONTINUES)


def symbols(word: str) -> list[str]:
    """A word as its smallest pieces. The mark of a space belongs to the first character: alone it would be the most
    frequent symbol of all, so no pair with it could score, and no piece would ever start a word."""
    head = 2 if word.startswith(MARK) and len(word) > 1 else 1
    return [word[:head], *(CONTINUES + character for character in word[head:])]


def alphabet(words: Mapping[str, int]) -> list[str]:
    """The pieces to start from: each character of the text at the start of and inside a word, and a bare mark, so
    that every word made of known characters can be written."""
    characters = {character for word in words for character in word} | {MARK}
    inside = {CONTINUES + character for character in characters - {MARK}}
    starts = {symbols(word)[0] for word in words}
    return sorted(characters | inside | starts)


def learn_merges(
    words: Mapping[str, int],
    *,
    pieces: int,
    min_frequency: int = 2,
    floors: Sequence[int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Merge]:
    """Merges that make up to `pieces` new pieces from words and their counts; fewer where no pair is frequent enough.

    `floors` replaces the halving floors: `floors=[2]` is the bare criterion, to compare with.
    """
    corpus = _Corpus(words)
    merges: list[Merge] = []
    made: set[str] = set()
    for floor in floors or halving_floors(corpus.highest_count(), min_frequency):
        corpus.set_floor(floor)
        while len(made) < pieces and (merge := corpus.best()) is not None:
            corpus.apply(merge)
            merges.append(merge)
            made.add(merge.piece)
            if progress is not None and len(made) % 100 == 0:
                progress(len(made))
    return merges


def halving_floors(highest: int, min_frequency: int) -> list[int]:
    """The least count of a pair to be merged: half of `highest`, a quarter, ..., and `min_frequency` last."""
    floors = [highest >> halvings for halvings in range(1, highest.bit_length())]
    return [floor for floor in floors if floor > min_frequency] + [min_frequency]


class _Corpus:
    """The words as pieces, with the counts of pieces and pairs kept exact while pairs are merged."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.words = [symbols(word) for word in words]
        self.frequencies = list(words.values())
        self.piece_count: dict[str, int] = defaultdict(int)
        self.pair_count: dict[Pair, int] = defaultdict(int)
        self.words_with: dict[Pair, set[int]] = defaultdict(set)
        self.pairs_with: dict[str, set[Pair]] = defaultdict(set)
        self.heap: list[tuple[float, int, Pair]] = []
        self.floor = 1
        for index, word in enumerate(self.words):
            self._count(index, word)

    def highest_count(self) -> int:
        return max(self.pair_count.values(), default=0)

    def set_floor(self, floor: int) -> None:
        """Merge only pairs seen at least `floor` times, from now on."""
        self.floor = floor
        self._rebuild_heap()

    def best(self) -> Merge | None:
        """The pair with the highest score; among equals the most frequent, then the first in code point order."""
        while self.heap:
            entry = heapq.heappop(self.heap)
            left, right = pair = entry[2]
            count = self.pair_count.get(pair, 0)
            if count >= self.floor and entry == self._entry(pair):
                return Merge(left, right, -entry[0], count)
        return None

    def apply(self, merge: Merge) -> None:
        """Join the pair in every word that contains it, and update counts and heap."""
        pair = (merge.left, merge.right)
        for index in list(self.words_with[pair]):
            self._rewrite(index, pair, merge.piece)
        for piece in {merge.left, merge.right, merge.piece}:
            for changed in self.pairs_with[piece]:
                self._push(changed)
        if len(self.heap) > 4 * len(self.pair_count) + 1000:
            self._rebuild_heap()

    def _entry(self, pair: Pair) -> tuple[float, int, Pair]:
        """Sorts best first. Python divides integers with correct rounding, so equal ratios are equal floats."""
        count = self.pair_count[pair]
        return (-(count / (self.piece_count[pair[0]] * self.piece_count[pair[1]])), -count, pair)

    def _push(self, pair: Pair) -> None:
        if self.pair_count[pair] >= self.floor:
            heapq.heappush(self.heap, self._entry(pair))

    def _rebuild_heap(self) -> None:
        self.heap = [self._entry(pair) for pair, count in self.pair_count.items() if count >= self.floor]
        heapq.heapify(self.heap)

    def _rewrite(self, index: int, pair: Pair, piece: str) -> None:
        """Replace one word's pairs, left to right, and its part in all counts."""
        old = self.words[index]
        self.words[index] = new = _merged(old, pair, piece)
        self._uncount(index, old)
        self._count(index, new)

    def _count(self, index: int, word: list[str]) -> None:
        frequency = self.frequencies[index]
        for piece in word:
            self.piece_count[piece] += frequency
        for pair, times in Counter(pairwise(word)).items():
            self.pair_count[pair] += times * frequency
            self.words_with[pair].add(index)
            self.pairs_with[pair[0]].add(pair)
            self.pairs_with[pair[1]].add(pair)

    def _uncount(self, index: int, word: list[str]) -> None:
        frequency = self.frequencies[index]
        for piece in word:
            self.piece_count[piece] -= frequency
        for pair, times in Counter(pairwise(word)).items():
            self.pair_count[pair] -= times * frequency
            self.words_with[pair].discard(index)
            if not self.words_with[pair]:
                self._forget(pair)

    def _forget(self, pair: Pair) -> None:
        """Remove a pair that no word contains any more."""
        del self.pair_count[pair], self.words_with[pair]
        self.pairs_with[pair[0]].discard(pair)
        self.pairs_with[pair[1]].discard(pair)


def _merged(word: list[str], pair: Pair, piece: str) -> list[str]:
    """The word with each occurrence of the pair joined, from the left."""
    result: list[str] = []
    position = 0
    while position < len(word):
        if tuple(word[position : position + 2]) == pair:
            result.append(piece)
            position += 2
        else:
            result.append(word[position])
            position += 1
    return result
