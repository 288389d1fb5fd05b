"""Splits a text into parts that are translated one by one, and joins their translations.

Placeholders are removed (`masking.py`), texts are split where a paragraph or another block begins or ends, and texts
that are too long are split into sentences (`text/sentences.py`). What was between the parts is put back between their
translations.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from glassformer.tasks.translation.masking import SIGN, WORD, Mark, Masked, is_block, masked


@dataclass(frozen=True)
class Parts:
    """One text: its parts, and the white space after each part except the last."""

    text: str
    parts: tuple[Masked, ...]
    between: tuple[str, ...] = ()


def parts_of(text: str, spans: Sequence[tuple[int, int]] | None, whole: Masked) -> Parts:
    """`spans` are the parts of `whole.plain`; None: it is a single part."""
    if not spans or len(spans) < 2:
        return Parts(text, (whole,))
    plain = whole.plain
    groups: list[list[Mark]] = [[] for _ in spans]
    for mark in whole.marks:
        groups[_owner(mark, spans)].append(mark)
    between = tuple(
        _between(plain, one, other, group)
        for (one, other), group in zip(itertools.pairwise(spans), groups, strict=False)
    )
    parts = [
        Masked(plain[start:end], _renumbered(group, start)) for (start, end), group in zip(spans, groups, strict=True)
    ]
    return Parts(text, tuple(parts), between)


def blocks_of(whole: Masked) -> list[tuple[int, int]]:
    """The spans of text between block tags, without surrounding white space."""
    cuts = sorted({0, len(whole.plain), *(mark.at for mark in whole.marks if is_block(mark.text))})
    spans = []
    for start, end in itertools.pairwise(cuts):
        text = whole.plain[start:end]
        if text.strip():
            spans.append((start + len(text) - len(text.lstrip()), start + len(text.rstrip())))
    return spans


def _between(plain: str, one: tuple[int, int], other: tuple[int, int], marks: Sequence[Mark]) -> str:
    """The text between two parts; `marks` are those of the first part."""
    if marks and marks[-1].at >= one[1] and marks[-1].between is not None:
        return marks[-1].between
    return plain[one[1] : other[0]]


def _owner(mark: Mark, spans: Sequence[tuple[int, int]]) -> int:
    """The part that a placeholder belongs to; between two parts, the one that it is attached to."""
    ends = [end for _, end in spans]
    if mark.side == "close":
        return max(0, bisect_left([start for start, _ in spans], mark.at) - 1)
    if mark.side == "open":
        return min(len(spans) - 1, bisect_right(ends, mark.at))
    attached = mark.before in (WORD, SIGN)
    return min(len(spans) - 1, bisect_left(ends, mark.at) if attached else bisect_right(ends, mark.at))


def _renumbered(marks: Sequence[Mark], start: int) -> tuple[Mark, ...]:
    """Numbers the marks within their part. The tags of a pair that spans several parts become single tags."""
    numbers = {mark.number: place for place, mark in enumerate(marks)}
    renumbered = []
    for place, mark in enumerate(marks):
        partner = numbers.get(mark.partner, -1)
        last = place + 1 == len(marks)
        renumbered.append(
            replace(
                mark,
                number=place,
                at=max(0, mark.at - start),
                partner=partner,
                side=mark.side if partner >= 0 else "",
                between=None if last else mark.between,
            )
        )
    return tuple(renumbered)


def without_placeholders(text: str, *, keep: bool) -> Masked:
    text = text.strip()
    return masked(text) if keep else Masked(text)
