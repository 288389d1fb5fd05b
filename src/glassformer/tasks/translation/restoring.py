"""Where placeholders belong in a translation: computed from a soft word alignment.

A pair of tags goes around the translation of the words it enclosed; a single placeholder goes between the translations
of its neighbours. The tree of tags stays the same: what was inside a pair is inside it again, and pairs that were side
by side still are. Inline tags may change places with their words; blocks and positional placeholders may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from glassformer.tasks.translation.masking import Mark, Masked, filled, is_block
from glassformer.tasks.translation.word_boundaries import Word

Links = NDArray[np.floating]  # (T, S): the share of each source word in each target word; rows sum to 1
SHARE = 0.6  # a target word belongs to an enclosed span if this much of it comes from there
FIRST = 1.1  # if its neighbours suggest different gaps, the word before a placeholder counts more
_TIE = 9  # digits: sums that are equal when rounded to this many count as equal


@dataclass
class Node:
    """A pair of tags with its content, or a single placeholder; `close` is None for a single one."""

    open_: Mark | None  # None: the whole text
    close: Mark | None
    inside: list[Node] = field(default_factory=list)
    in_order: bool = False  # must keep its order relative to others

    @property
    def number(self) -> int:
        return self.open_.number if self.open_ else -1


@dataclass(frozen=True)
class Aligned:
    """The data that places are computed from."""

    marks: Sequence[Mark]
    words: Sequence[Word]  # of the source
    starts: NDArray[np.int64]  # of these words
    links: Links
    split: NDArray[np.floating]


def restored(text: str, words: Sequence[Word], links: Links, source: Masked, source_words: Sequence[Word]) -> str:
    """The translation of `source.plain` with its placeholders."""
    if not source.marks:
        return text
    if not words or not source_words:
        return " ".join([*filter(None, [text.strip()]), together(source.marks)])
    starts = np.array([word.start for word in source_words])
    aligned = Aligned(source.marks, source_words, starts, links, _splits(links))
    placed: dict[int, list[Mark]] = {}
    for gap, mark in _places(tree_of(source.marks), aligned):
        placed.setdefault(gap, []).append(mark)
    parts, position = [], 0
    for gap in sorted(placed):
        left = words[gap - 1].end if gap else 0
        right = words[gap].start if gap < len(words) else len(text)
        inside = filled(text[left:right], placed[gap], text[max(0, left - 1) : left], text[right : right + 1])
        parts += [text[position:left], inside]
        position = right
    return "".join([*parts, text[position:]])


def together(marks: Sequence[Mark]) -> str:
    """All placeholders in order, for a text without words."""
    return "".join(mark.text + ("" if mark.between is None else mark.between) for mark in marks)


def _neighbours(mark: Mark, words: Sequence[Word], starts: NDArray[np.int64]) -> tuple[int, int]:
    """The source words before and after a placeholder: -1 and len(words) at the edges, the same word inside one."""
    before = int(np.searchsorted(starts, mark.at)) - 1  # the last word that starts before it
    after = before if before >= 0 and words[before].end > mark.at else before + 1
    return before, after


def tree_of(marks: Sequence[Mark]) -> Node:
    """The tree of pairs and their contents. Tags of a pair that crosses another pair count as single placeholders."""
    crossing = _crossing(marks)
    path = [Node(None, None)]
    for mark in marks:
        if mark.side == "close" and mark.number not in crossing:
            node = path.pop()
            path[-1].in_order |= node.in_order
            continue
        pair = mark.side == "open" and mark.number not in crossing
        node = Node(mark, marks[mark.partner] if pair else None)
        node.in_order = mark.positional or is_block(mark.text) or mark.number in crossing
        path[-1].inside.append(node)
        path[-1].in_order |= node.in_order
        if pair:
            path.append(node)
    return path[0]


def _crossing(marks: Sequence[Mark]) -> set[int]:
    """The numbers of tags whose pair begins inside another and ends outside it."""
    found: set[int] = set()
    opened: list[int] = []
    for mark in marks:
        if mark.side == "open":
            opened.append(mark.number)
        elif mark.side == "close" and mark.number not in found:
            while opened and (last := opened.pop()) != mark.partner:
                found |= {last, marks[last].partner}
    return found


def _places(root: Node, aligned: Aligned) -> Iterator[tuple[int, Mark]]:
    """Each placeholder with the number of target words before it, in the order of the translation."""
    waiting: list[tuple[Node | Mark, int, int]] = [(root, 0, len(aligned.links))]
    while waiting:
        one, first, end = waiting.pop()
        if isinstance(one, Mark):
            yield first, one
            continue
        if one.open_ is not None:
            yield first, one.open_
        inside: list[tuple[Node | Mark, int, int]] = [*_divided(one.inside, first, end, aligned)]
        if one.close is not None:
            inside.append((one.close, end, end))
        waiting += reversed(inside)


def _divided(nodes: Sequence[Node], low: int, high: int, aligned: Aligned) -> list[tuple[Node, int, int]]:
    """Divides the target words from `low` to `high` among the nodes: consecutive spans that do not overlap.

    The best place of each node alone decides the order; then the best places in this order are found together.
    """
    if not nodes:
        return []
    gains = {node.number: _gain(node, low, high, aligned) for node in nodes}
    middles = [_middle(gains[node.number], pair=node.close is not None) for node in nodes]
    bound = [i for i, node in enumerate(nodes) if node.in_order]
    for i, middle in zip(bound, sorted(middles[i] for i in bound), strict=True):
        middles[i] = middle
    ordered = [nodes[i] for i in sorted(range(len(nodes)), key=lambda i: middles[i])]
    pairs = [node.close is not None for node in ordered]
    spans = _in_order([gains[node.number] for node in ordered], pairs, empty=sum(pairs) > high - low)
    return [(node, low + first, low + end) for node, (first, end) in zip(ordered, spans, strict=True)]


def _gain(node: Node, low: int, high: int, aligned: Aligned) -> NDArray[np.floating]:
    """(high - low + 1,): for a pair, cumulative sums of each target word's gain; for a single one, each gap's score."""
    assert node.open_ is not None
    before, after = _neighbours(node.open_, aligned.words, aligned.starts)
    if node.close is None:
        return _fit(aligned.links, aligned.split, before, after)[low : high + 1]
    last = max(after, _neighbours(node.close, aligned.words, aligned.starts)[0])
    shares = aligned.links[low:high, after : last + 1].sum(axis=1)
    return np.concatenate([[0.0], (shares - SHARE).cumsum()])


def _middle(gain: NDArray[np.floating], *, pair: bool) -> float:
    """Where it would be on its own."""
    if not pair:
        return float(gain.argmax())
    if len(gain) < 2:
        return 0.0
    first, last = best_interval(np.diff(gain))
    return (first + last + 1) / 2


def _in_order(gains: Sequence[NDArray[np.floating]], pairs: Sequence[bool], *, empty: bool) -> list[tuple[int, int]]:
    """The places with the highest total gain, each after the one before; `empty`: pairs may enclose nothing.

    Dynamic programming: `best[p]` is the highest gain of all nodes so far before word p.
    """
    size = len(gains[0])
    best: NDArray[np.floating] = np.zeros(size)
    steps = []
    for gain, pair in zip(gains, pairs, strict=True):
        total, firsts = best + gain, np.arange(size)
        if pair:
            begin, firsts = _best_before(best - gain, latest=True)
            if not empty:  # it begins before the last word that it encloses
                begin, firsts = np.append(-np.inf, begin[:-1]), np.append(0, firsts[:-1])
            total = begin + gain
        best, ends = _best_before(total, latest=False)
        steps.append((firsts, ends))
    spans, place = [], size - 1
    for firsts, ends in reversed(steps):
        end = int(ends[place])
        place = int(firsts[end])
        spans.append((place, end))
    return spans[::-1]


def _best_before(values: NDArray[np.floating], *, latest: bool) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """The highest value up to each place, and where it is: the latest of equal ones, or the first."""
    values = values.round(_TIE)
    most = np.maximum.accumulate(values)
    new = values >= most if latest else np.append(True, most[1:] > most[:-1])
    return most, np.maximum.accumulate(np.where(new, np.arange(len(values)), 0))


def best_interval(values: NDArray[np.floating]) -> tuple[int, int]:
    """The first and last index of the non-empty interval with the highest sum."""
    best, found = -np.inf, (0, 0)
    total, begin = 0.0, 0
    for place, value in enumerate(values.tolist()):
        if total <= 0:
            total, begin = 0.0, place
        total += value
        if total > best:
            best, found = total, (begin, place)
    return found


def _splits(links: Links) -> NDArray[np.floating]:
    """(S + 2, T + 1): how well a cut of the target before word g agrees with a cut of the source before word s."""
    upto = np.vstack([np.zeros((1, links.shape[1])), links.cumsum(axis=0)])  # (T + 1, S)
    left = np.hstack([np.zeros((len(upto), 1)), upto.cumsum(axis=1)])  # (T + 1, S + 1) target before, source before
    rest = links.sum() - left[-1:] - left[:, -1:] + left  # target after, source after
    return ((left + rest) / max(1, len(links))).T  # (S + 1, T + 1)


def _fit(links: Links, split: NDArray[np.floating], before: int, after: int) -> NDArray[np.floating]:
    """(T + 1,) how well each gap suits a placeholder between two source words: by both neighbours and both sides."""
    size = len(links)
    left, right = np.zeros(size + 1), np.zeros(size + 1)
    if before >= 0:
        left[1:] = links[:, before]
    else:
        left[0] = 1
    if after < links.shape[1]:
        right[:-1] = links[:, after]
    else:
        right[-1] = 1
    if before == after:  # inside a word: after it
        right = np.zeros(size + 1)
    return FIRST * left + right + split[min(after, links.shape[1])]
