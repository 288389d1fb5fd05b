"""Labels of words and the spans they mark: IO, IOB1, BIO (IOB2), BILOU and IOBES (BIOES, BMES), or plain labels.

A span is (type, first word, one past the last). `spans_of` reads any of these schemes, also sequences that break its
rules, as the CoNLL evaluation does (and `seqeval` by default): a span ends where the type changes, and a word that
continues nothing begins a span.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

OUTSIDE = "O"
IO, IOB1, BIO, BILOU, IOBES, PLAIN = "io", "iob1", "bio", "bilou", "iobes", "plain"
PREFIXES = {IO: "I", IOB1: "BI", BIO: "BI", BILOU: "BILU", IOBES: "BIES", PLAIN: ""}
# Every scheme has the letters B (begin), I (inside), E (end), S (single) after this.
SAME = {"B": "B", "I": "I", "M": "I", "L": "E", "E": "E", "U": "S", "S": "S", "W": "S"}
LETTERS = {BILOU: {"E": "L", "S": "U"}}  # how a scheme writes them, where that differs

Span = tuple[str, int, int]
Fault = tuple[int, str]  # the word, and what is wrong there
Allowed = NDArray[np.bool_]


def split_label(label: str) -> tuple[str, str]:
    """`B-PER` is ("B", "PER"), `O` is ("O", ""). The letter is one of B, I, E, S and O; "" for a plain label."""
    if label == OUTSIDE:
        return OUTSIDE, ""
    letter, dash, kind = label.partition("-")
    return (SAME[letter], kind) if dash and kind and letter in SAME else ("", label)


def spans_of(labels: Sequence[str]) -> list[Span]:
    """The spans of a sentence. Plain labels count as I: equal neighbours are one span."""
    found: list[Span] = []
    begun, before, before_kind = 0, OUTSIDE, ""
    for place, label in enumerate((*labels, OUTSIDE)):
        letter, kind = split_label(label)
        letter = letter or "I"
        continues = letter in ("I", "E") and before in ("B", "I") and kind == before_kind
        if before != OUTSIDE and not continues:
            found.append((before_kind, begun, place))
        if not continues:
            begun = place
        before, before_kind = letter, kind
    return found


def labels_of(spans: Iterable[Span], length: int, scheme: str = BIO) -> list[str]:
    """The labels of a sentence with `length` words. Neighbours of one type are one span in IO, which cannot part them.

    Spans must not overlap.
    """
    labels, ended = [OUTSIDE] * length, ("", -1)
    for kind, start, end in sorted(spans, key=lambda span: span[1]):
        for place in range(start, end):
            letter = _letter(scheme, place - start, end - start, touching=ended == (kind, start))
            labels[place] = f"{letter}-{kind}"
        ended = (kind, end)
    return labels


def _letter(scheme: str, at: int, length: int, *, touching: bool) -> str:
    """The letter of word `at` in a span; `touching`: a span of the same type ends just before it."""
    if scheme == IO or (scheme == IOB1 and (at or not touching)):
        return "I"
    if scheme in (IOB1, BIO):
        return "I" if at else "B"
    letter = "S" if length == 1 else "B" if not at else "E" if at == length - 1 else "I"
    return LETTERS.get(scheme, {}).get(letter, letter)


def converted(labels: Sequence[str], scheme: str) -> list[str]:
    """The same spans in another scheme; plain labels do not change."""
    return list(labels) if scheme == PLAIN else labels_of(spans_of(labels), len(labels), scheme)


# What a model predicts


def label_names(kinds: Sequence[str], scheme: str) -> tuple[str, ...]:
    """All labels of a scheme: O, then those of each type. With plain labels, the types themselves."""
    if scheme == PLAIN:
        return tuple(kinds)
    return (OUTSIDE, *(f"{letter}-{kind}" for kind in kinds for letter in PREFIXES[scheme]))


@dataclass(frozen=True)
class Transitions:
    """Which labels may begin a sentence, follow each other and end it. Shapes: K labels."""

    first: Allowed  # (K,)
    next: Allowed  # (K, K): from, to
    last: Allowed  # (K,)


def transitions(labels: Sequence[str], scheme: str | None) -> Transitions:
    """The rules of a scheme for these labels; None: every sequence is allowed."""
    count = len(labels)
    if scheme in (None, PLAIN, IO):
        return Transitions(np.ones(count, bool), np.ones((count, count), bool), np.ones(count, bool))
    parts = [split_label(label) for label in labels]
    first = np.array([not fault_between((OUTSIDE, ""), part, str(scheme)) for part in parts])
    last = np.array([not fault_between(part, (OUTSIDE, ""), str(scheme)) for part in parts])
    between = [[not fault_between(one, other, str(scheme)) for other in parts] for one in parts]
    return Transitions(first, np.array(between), last)


def fault_between(before: tuple[str, str], after: tuple[str, str], scheme: str) -> str:
    """Why a label must not follow another, as (letter, type) each; "" if it may. O is before and after a sentence."""
    (was, kind), (letter, now) = before, after
    same = kind == now and was != OUTSIDE
    if scheme == BIO:
        return "continues no span of its type" if letter == "I" and not same else ""
    if scheme == IOB1:
        return "begins a span that I would begin" if letter == "B" and not same else ""
    if scheme not in (BILOU, IOBES):
        return ""
    is_open = was in ("B", "I")
    if letter in ("I", "E"):
        return "" if is_open and same else "continues no span of its type"
    return "begins before the span in front of it has ended" if is_open else ""


def faults(labels: Sequence[str], scheme: str) -> Iterator[Fault]:
    """Where a sentence breaks the rules of its scheme."""
    before = (OUTSIDE, "")
    for place, label in enumerate((*labels, OUTSIDE)):
        after = split_label(label)
        if reason := fault_between(before, after, scheme):
            at = min(place, len(labels) - 1)
            what = f"{label} {reason}" if place < len(labels) else f"{labels[-1]} does not end its span"
            yield at, what
        before = after


# Which scheme a file has


@dataclass
class SchemeCount:
    """Counts, sentence by sentence, what distinguishes the schemes."""

    letters: set[str] = field(default_factory=set)  # as they are written: L is not E
    plain: int = 0  # labels of no scheme
    breaks: dict[str, int] = field(default_factory=lambda: {IOB1: 0, BIO: 0})

    def add(self, labels: Sequence[str]) -> None:
        for label in labels:
            letter = split_label(label)[0]
            self.plain += not letter
            self.letters.add(label[0] if letter else "")
        for scheme in self.breaks:
            self.breaks[scheme] += sum(1 for _ in faults(labels, scheme))

    def scheme(self) -> str:
        """The scheme of all labels seen: plain if one of them belongs to none, or if all are O."""
        letters = self.letters - {OUTSIDE}
        if self.plain or not letters:
            return PLAIN
        if letters == {"I"}:
            return IO
        if letters & set("LUW"):
            return BILOU
        if letters & set("ESM"):
            return IOBES
        return IOB1 if self.breaks[IOB1] < self.breaks[BIO] else BIO


def scheme_of_names(labels: Iterable[str]) -> str | None:
    """The scheme that the names of a model's labels say; None where B and I may be IOB1 or BIO."""
    found = SchemeCount()
    for label in labels:
        found.add([label])
    scheme = found.scheme()
    return None if scheme in (IOB1, BIO) else scheme
