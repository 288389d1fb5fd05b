"""Shows people how a word became its pieces, step by step.

BPE: each merge in order, with its rank. WordPiece: each longest match, with the candidates tried and, for vocabularies
trained here, the merge that made the piece. Unigram: the pieces of the best segmentation with their log-probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from glassformer.text.pieces import width
from glassformer.text.wordpiece import Merge

Show = Callable[[str], str]


HOW = {
    "bpe": "Join the two neighbours whose merge has the lowest rank; rank 0 was learned first. Stop when none fits.",
    "wordpiece": "Take the longest piece of the vocabulary that begins the rest of the word. Continue after it.",
    "unigram": "The segmentation with the highest sum of log-probabilities.",
}


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step. `tried` are the candidates looked up before one was found, the longest first (WordPiece only)."""

    before: tuple[str, ...]
    merged: tuple[str, str] | None
    after: tuple[str, ...]
    rank: int | None
    score: float | None
    tried: tuple[str, ...] = ()
    count: int | None = None  # how often the merged pair was seen when it was learned, if the file says so


@dataclass(frozen=True, slots=True)
class Trace:
    """All steps from one word (or short text) to its pieces and ids."""

    word: str
    kind: str
    steps: tuple[TraceStep, ...]
    pieces: tuple[str, ...]
    ids: tuple[int, ...]

    def __str__(self) -> str:
        found = " ".join(f"{piece} ({number})" for piece, number in zip(self.pieces, self.ids, strict=True))
        how = [HOW[self.kind]] if self.kind in HOW and self.steps else []
        table = _table(self._rows()) if self.pieces else []
        return "\n".join([f"{self.kind}: {self.word}", *how, *table, f"ids: {found}"])

    def _rows(self) -> list[tuple[str, ...]]:
        if self.kind == "bpe":
            return _merge_rows(self.steps, self.pieces)
        if self.kind == "wordpiece":
            return _match_rows(self.steps)
        score = [("step", "score", "pieces")] if self.kind == "unigram" else [("step", "pieces")]
        rows = [(f"{n}", *_number(step.score), " | ".join(step.after)) for n, step in enumerate(self.steps, 1)]
        return [*score, *rows]


def _merge_rows(steps: Sequence[TraceStep], pieces: Sequence[str]) -> list[tuple[str, ...]]:
    """BPE: the pieces before the first merge, then each merge."""
    start = steps[0].before if steps else pieces
    rows = [
        (f"{n}", " + ".join(step.merged or ()), f"{step.rank}", " | ".join(step.after))
        for n, step in enumerate(steps, 1)
    ]
    return [("step", "merge", "rank", "pieces"), ("start", "", "", " | ".join(start)), *rows]


def _match_rows(steps: Sequence[TraceStep]) -> list[tuple[str, ...]]:
    """WordPiece: what was left of the word, the longest match, and the merge of the training that made this piece."""
    learned = any(step.merged for step in steps)
    more = ("learned from", "rank", "count", "score") if learned else ()
    rows: list[tuple[str, ...]] = [("step", "rest", "longest match", "lookups", *more)]
    for number, step in enumerate(steps, 1):
        known = (" + ".join(step.merged), f"{step.rank}", f"{step.count}", *_number(step.score)) if step.merged else ()
        own = known or (("a single character", "", "", "") if learned else ())
        rows.append((f"{number}", step.before[-1], step.tried[-1], f"{len(step.tried)}", *own))
    return rows


def _number(score: float | None) -> tuple[str, ...]:
    return () if score is None else (f"{score:.4g}",)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns side by side; the last one is not padded."""
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["  ".join([*map(_padded, row, widths), row[-1]]).rstrip() for row in rows]


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


class BpeSteps:
    """Merges by rank, lowest first, as the encoder does. The ranks are available only in the file."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.model = model
        self.ranks = {tuple(_pair(merge)): rank for rank, merge in enumerate(model["merges"])}

    def __call__(self, pretokens: Sequence[str], show: Show) -> Iterator[TraceStep]:
        """The steps of all words in order; each step also shows the pieces of the words before and after."""
        words = [self._first_symbols(word) for word in pretokens]
        for place in range(len(words)):
            for left, right, after, rank in self._merges(words[place]):
                before = _shown(words, show)
                words[place] = after
                yield TraceStep(before, (show(left), show(right)), _shown(words, show), rank, None)

    def _first_symbols(self, word: str) -> list[str]:
        """Characters, or the whole word if the model looks up words first, or bytes, or the unknown token."""
        if self.model.get("ignore_merges") and word in self.model["vocab"]:
            return [word]
        found: list[str] = []
        for place, character in enumerate(word):
            found += self._symbol(self._with_affixes(character, place, len(word)), character, found)
        return found

    def _with_affixes(self, character: str, place: int, length: int) -> str:
        prefix = (self.model.get("continuing_subword_prefix") or "") if place else ""
        suffix = (self.model.get("end_of_word_suffix") or "") if place == length - 1 else ""
        return f"{prefix}{character}{suffix}"

    def _symbol(self, symbol: str, character: str, found: list[str]) -> list[str]:
        if symbol in self.model["vocab"]:
            return [symbol]
        in_bytes = [f"<0x{byte:02X}>" for byte in character.encode()]
        if self.model.get("byte_fallback") and all(byte in self.model["vocab"] for byte in in_bytes):
            return in_bytes
        unknown = self.model.get("unk_token")
        fused = self.model.get("fuse_unk") and found[-1:] == [unknown]
        return [] if unknown is None or fused else [unknown]

    def _merges(self, symbols: list[str]) -> Iterator[tuple[str, str, list[str], int]]:
        """Join the pair of lowest rank, the leftmost first, until no pair has a rank."""
        while True:
            pairs = enumerate(pairwise(symbols))
            ranked = [(self.ranks[pair], place) for place, pair in pairs if pair in self.ranks]
            if not ranked:
                return
            rank, place = min(ranked)
            left, right = symbols[place], symbols[place + 1]
            piece = left + right[len(self.model.get("continuing_subword_prefix") or "") :]
            symbols = [*symbols[:place], piece, *symbols[place + 2 :]]
            yield left, right, symbols, rank


def _pair(merge: str | Sequence[str]) -> Sequence[str]:
    """Old files write a merge as one string."""
    return merge.split(" ") if isinstance(merge, str) else merge


def _shown(words: Sequence[Sequence[str]], show: Show) -> tuple[str, ...]:
    return tuple(show(symbol) for word in words for symbol in word)


class WordPieceSteps:
    """The longest piece that fits, then the longest that fits the rest; with the training merge of each piece."""

    def __init__(self, model: Mapping[str, Any], merges: Sequence[Merge]) -> None:
        self.model = model
        self.prefix: str = model["continuing_subword_prefix"]
        self.merge_of = {merge.piece: (rank, merge) for rank, merge in reversed(list(enumerate(merges)))}

    def __call__(self, pretokens: Sequence[str], show: Show) -> Iterator[TraceStep]:
        done: list[str] = []
        for word in pretokens:
            for rest, tried in self._matches(word):
                yield self._step(done, rest, tried, show)
                done.append(tried[-1])

    def _matches(self, word: str) -> list[tuple[str, list[str]]]:
        """For each piece: the rest of the word before it, and the candidates tried, the last of which is known."""
        found: list[tuple[str, list[str]]] = []
        rest, prefix = word, ""
        while rest:
            tried = self._tried(rest, prefix)
            if not tried or len(word) > self.model["max_input_chars_per_word"]:
                return [(word, [self.model["unk_token"]])]  # one unknown part makes the whole word unknown
            found.append((prefix + rest, tried))
            rest, prefix = rest[len(tried[-1]) - len(prefix) :], self.prefix
        return found

    def _tried(self, rest: str, prefix: str) -> list[str]:
        """Candidates from the longest to the first that is in the vocabulary; none if no candidate is."""
        candidates = [prefix + rest[:length] for length in range(len(rest), 0, -1)]
        for number, candidate in enumerate(candidates):
            if candidate in self.model["vocab"]:
                return candidates[: number + 1]
        return []

    def _step(self, done: Sequence[str], rest: str, tried: Sequence[str], show: Show) -> TraceStep:
        rank, merge = self.merge_of.get(tried[-1], (None, None))
        left = rest[len(tried[-1]) :] if rest.startswith(tried[-1]) else ""
        return TraceStep(
            before=tuple(map(show, [*done, rest])),
            merged=(show(merge.left), show(merge.right)) if merge else None,
            after=tuple(map(show, [*done, tried[-1], *([self.prefix + left] if left else [])])),
            rank=rank,
            score=merge.score if merge else None,
            tried=tuple(map(show, tried)),
            count=merge.count if merge else None,
        )


def lookup_steps(word: str, pieces: Sequence[str]) -> Iterator[TraceStep]:
    """Words and characters are only split and looked up: one step."""
    if pieces:
        yield TraceStep((word,), None, tuple(pieces), None, None)


def unigram_steps(pieces: Sequence[str], scores: Sequence[float]) -> Iterator[TraceStep]:
    """The best segmentation, piece by piece, with each piece's log-probability."""
    for place, score in enumerate(scores):
        yield TraceStep(tuple(pieces[:place]), None, tuple(pieces[: place + 1]), None, score)
