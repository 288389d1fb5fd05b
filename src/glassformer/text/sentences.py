"""Splits long texts into sentences, and sentences that are too long into parts, without loss and in linear time.

`sentencex` finds the sentences. It gets windows of the text, because some texts (an opening quote that is never closed)
take quadratic time; and it gets plain spaces for all white space outside ASCII, because that can make it panic.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

import sentencex

WINDOW = 4000  # characters that are split together
_ODD_SPACE = re.compile(r"[^\S \t\r\n]")
_CUTS = (re.compile(r"[;:–—…]\s"), re.compile(r"[,、，]\s?"), re.compile(r"\s"))  # the first kind that is found is used
LONGEST_CHARACTER = 32  # code points
_JOINER = "\u200d"
SKIN_TONES = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")

Span = tuple[int, int]


def sentence_spans(text: str, language: str | None = None) -> list[Span]:
    """The span of each sentence, without the white space around it. A line break also ends a sentence."""
    found = []
    for start, end in _windows(text):
        found += [span for span in _of_window(text, start, end, language or "en") if span[0] < span[1]]
    return found


def spans_that_fit(
    text: str, fits: Callable[[str], bool], language: str | None = None, *, small: Callable[[str], bool] | None = None
) -> list[Span]:
    """The spans of its sentences. Those that do not fit are cut: at clause marks, else at spaces, else anywhere.

    Parts of a sentence must be `small`; if that is not given, they must fit.
    """
    return [
        part
        for start, end in sentence_spans(text, language)
        for part in ([(start, end)] if fits(text[start:end]) else _parts(text, start, end, small or fits))
    ]


def spans_to_translate(
    text: str, size: Callable[[str], int], *, over: int, longest: int, language: str | None
) -> list[Span] | None:
    """The spans of a text that are translated one by one; None: it is translated as a whole.

    `size` counts tokens. A text with more than `over` tokens is split into its sentences (0: never), and a sentence
    with more than `longest` into parts of at most `over`.
    """

    def fits(most: int) -> Callable[[str], bool]:
        return lambda part: len(part) <= most or size(part) <= most  # a token has at least one character

    if not over or fits(over)(text):
        return None
    spans = spans_that_fit(text, fits(max(over, longest)), language, small=fits(over))
    return spans if len(spans) > 1 else None


def _windows(text: str) -> Iterator[Span]:
    """The spans of the lines; long lines are cut at a space."""
    for line in re.finditer(r"[^\n]+", text):
        start, end = line.span()
        while end - start > WINDOW:
            space = max(text.rfind(". ", start, start + WINDOW) + 1, start)
            space = space if space > start + WINDOW // 2 else text.rfind(" ", start, start + WINDOW)
            middle = space if space > start else start + WINDOW
            yield start, middle
            start = middle
        yield start, end


def _of_window(text: str, start: int, end: int, language: str) -> Iterator[Span]:
    seen = _ODD_SPACE.sub(" ", text[start:end])  # the length stays the same
    try:
        sentences = sentencex.segment(language, seen)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        sentences = [seen]
    if "".join(sentences) != seen:
        sentences = [seen]
    for sentence in sentences:
        yield _stripped(text, start, start + len(sentence))
        start += len(sentence)


def _stripped(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _parts(text: str, start: int, end: int, fits: Callable[[str], bool]) -> list[Span]:
    """Halves the span near its middle, again and again, until each part fits."""
    found, waiting = [], [(start, end)]
    while waiting:
        start, end = _stripped(text, *waiting.pop())
        if start >= end:
            continue
        if end - start < 2 or fits(text[start:end]):
            found.append((start, end))
            continue
        middle = _cut(text, start, end)
        waiting += [(middle, end), (start, middle)]
    return found


def _cut(text: str, start: int, end: int) -> int:
    """The cut nearest to the middle, not in the outer quarters; anywhere if there is none."""
    middle, margin = (start + end) // 2, (end - start) // 4
    for pattern in _CUTS:
        found = (match.end() for match in pattern.finditer(text, start + margin, end - margin))
        places = [place for place in found if place < end]  # a cut at the end would separate nothing
        if places:
            return min(places, key=lambda place: abs(place - middle))
    whole = (place for place in range(middle, min(end, middle + LONGEST_CHARACTER)) if not _joined(text, place))
    return next(whole, middle)


def _joined(text: str, place: int) -> bool:
    """Whether a cut here would split what a reader calls one character: an accented letter, a family emoji."""
    mark = unicodedata.category(text[place])[0] == "M" or text[place] in SKIN_TONES
    return mark or _JOINER in (text[place - 1], text[place])
