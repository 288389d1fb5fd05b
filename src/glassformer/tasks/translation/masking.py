"""Removes placeholders and tags from a text before translation, and puts them back into the translation.

The rest of a sentence is therefore translated as it would be without them. `masked` records where each one was: next to
which words, and with which spaces. `restored` puts each back at the place given by the word alignment.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from glassformer.tasks.translation.word_boundaries import UNSPACED_LETTER
from glassformer.text.placeholders import Placeholder, placeholders_in

# What is right next to a placeholder in the source. The placeholder stays attached to a word; to punctuation only if
# the translation also has punctuation there.
EDGE, SPACE, WORD, SIGN, MARK = "edge", "space", "word", "sign", "mark"
_INLINE = "a abbr b big code em font i kbd mark s small span strike strong sub sup tt u"
INLINE = frozenset(_INLINE.split())
_BLOCKS = (
    "article blockquote dd div dl dt footer h1 h2 h3 h4 h5 h6 header li main nav ol p pre section table td th tr ul"
)
_BLOCK = re.compile(rf"</?(?:{_BLOCKS.replace(' ', '|')})\b", re.IGNORECASE)
_ENCLOSING = "() [] {} «» »« “” „“ „” ‚‘ ‘’ ‹› 「」 『』 （） 《》 \"\" '' ``"
ENCLOSING = frozenset(_ENCLOSING.split())
CLOSING_SIGNS = frozenset(".,;:!?)]}%»”…、。，！？")


@dataclass(frozen=True)
class Mark:
    """A placeholder that was removed, or a pair of tags with nothing to translate between them."""

    text: str
    number: int  # in the order of the source
    at: int  # where it was in the plain text
    before: str
    after: str
    side: str = ""  # for a tag of a pair: "open" or "close"
    partner: int = -1  # the number of the other tag of its pair
    positional: bool = False
    between: str | None = None  # the white space up to the next one, if there is nothing else between them


@dataclass(frozen=True)
class Masked:
    """A text without its placeholders, and the placeholders."""

    plain: str
    marks: tuple[Mark, ...] = ()


@dataclass
class _Span:
    start: int
    end: int
    found: Placeholder
    partner: int = -1
    positional: bool = False


def kept_placeholders(text: str) -> list[Placeholder]:
    """The placeholders that a translation must keep unchanged."""
    return [one for one in placeholders_in(text) if one.certain or one.kind == "tag"]


def masked(text: str) -> Masked:
    """The text without placeholders, with at most one space in place of each."""
    spans = _with_signs_around(text, _without_empty_pairs(text, _paired(kept_placeholders(text))))
    plain: list[str] = []  # characters
    marks: list[Mark] = []
    position = 0
    for run in _runs(text, spans):
        plain += text[position : spans[run[0]].start]
        position = spans[run[-1]].end
        _close_gap(plain, text, [spans[number] for number in run])
        marks += [_mark(text, spans, number, len(plain), last=number == run[-1]) for number in run]
        if not plain:  # no space at the beginning
            position += len(text[position:]) - len(text[position:].lstrip())
    return Masked("".join([*plain, text[position:]]), tuple(marks))


def _runs(text: str, spans: Sequence[_Span]) -> list[list[int]]:
    """Groups of placeholders, by number, with only white space between them."""
    runs: list[list[int]] = []
    for number, span in enumerate(spans):
        if number and not text[spans[number - 1].end : span.start].strip():
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _close_gap(plain: list[str], text: str, run: Sequence[_Span]) -> None:
    """Leaves one space or none between the words before and after a group of placeholders."""
    following, spaced = text[run[-1].end : run[-1].end + 1], bool(plain) and plain[-1].isspace()
    if not following or following.isspace() or following in CLOSING_SIGNS:
        while plain and plain[-1].isspace():
            plain.pop()
    elif plain and not spaced and is_word(following):
        inline = all(one.found.kind == "tag" and one.found.name.lower() in INLINE for one in run)
        apart = any(one.end < other.start for one, other in itertools.pairwise(run))
        ends_sentence = plain[-1] in CLOSING_SIGNS and (apart or any(is_block(one.found.text) for one in run))
        if ends_sentence or (is_word(plain[-1]) and (apart or not inline)):
            plain.append(" ")


def is_block(tag: str) -> bool:
    """Whether it is the tag of a block, such as a paragraph, heading or list item: blocks never change places."""
    return bool(_BLOCK.match(tag))


def _paired(found: Sequence[Placeholder]) -> list[_Span]:
    """Pairs each closing tag with the last open tag of the same name."""
    spans = [_Span(one.start, one.end, one, positional=one.positional) for one in found]
    opened: dict[str, list[int]] = {}
    for number, span in enumerate(spans):
        if span.found.opens:
            opened.setdefault(span.found.name, []).append(number)
        elif span.found.closes and opened.get(span.found.name):
            span.partner = opened[span.found.name].pop()
            spans[span.partner].partner = number
    return spans


def _without_empty_pairs(text: str, spans: Sequence[_Span]) -> list[_Span]:
    """A pair that contains no words, such as <b>{name}</b>, becomes one placeholder with everything in it."""
    merged: list[_Span] = []
    places: dict[int, int] = {}  # old number -> new number
    words = [0]  # how many characters to translate come before each span
    for one, other in itertools.pairwise(spans):
        words.append(words[-1] + bool(text[one.end : other.start].strip()))
    skip = -1
    for number, span in enumerate(spans):
        if number <= skip:
            continue
        if span.partner > number and words[span.partner] == words[number]:
            skip = span.partner
            end = spans[skip].end
            pair = Placeholder(span.start, end, text[span.start : end], "pair")
            positional = any(one.positional for one in spans[number : skip + 1])
            merged.append(_Span(span.start, end, pair, positional=positional))
        else:
            places[number] = len(merged)
            merged.append(replace(span))
    for span in merged:
        span.partner = places.get(span.partner, -1)
    return merged


def _with_signs_around(text: str, spans: Sequence[_Span]) -> list[_Span]:
    """Brackets and quotes directly around a single placeholder belong to it: ({x}), "%s"."""
    found = []
    for span in spans:
        start, end = span.start, span.end
        while span.found.kind != "tag" and start > 0 and text[start - 1] + text[end : end + 1] in ENCLOSING:
            beside = text[max(0, start - 2) : start - 1] + text[end + 1 : end + 2]
            if text[start - 1] == text[end] and any(is_word(letter) or letter == text[end] for letter in beside):
                break  # they enclose more than the placeholder
            start, end = start - 1, end + 1
        whole = replace(span.found, start=start, end=end, text=text[start:end])
        found.append(replace(span, start=start, end=end, found=whole))
    return found


def _mark(text: str, spans: Sequence[_Span], number: int, at: int, *, last: bool) -> Mark:
    """`last`: it is the last of a group of placeholders."""
    span = spans[number]
    side = "" if span.partner < 0 else ("open" if span.partner > number else "close")
    between = None if last else text[span.end : spans[number + 1].start]
    before = (
        MARK if number and spans[number - 1].end == span.start else _beside(text[max(0, span.start - 1) : span.start])
    )
    after = MARK if between == "" else _beside(text[span.end : span.end + 1])
    if before == MARK or (before, side) == (SIGN, "close"):  # a tag stays right next to what it encloses
        before = WORD if side == "close" else SPACE
    if after == MARK or (after, side) == (SIGN, "open"):
        after = WORD if side == "open" else SPACE
    return Mark(span.found.text, number, at, before, after, side, span.partner, span.positional, between)


def _beside(letter: str) -> str:
    if not letter:
        return EDGE
    return SPACE if letter.isspace() else (WORD if is_word(letter) else SIGN)


def is_word(letter: str) -> bool:
    return not letter.isspace() and unicodedata.category(letter)[0] not in "PS"


# Whether all are back


def kept(source: str, text: str) -> bool:
    """Whether a text has the placeholders of its source equally often, positional ones in the same order, and each tag
    inside the same tags (if the source is well nested)."""
    wanted, found = kept_placeholders(source), kept_placeholders(text)
    if sorted(one.text for one in wanted) != sorted(one.text for one in found):
        return False
    by_order = [[one.text for one in side if one.positional] for side in (wanted, found)]
    if by_order[0] != by_order[1]:
        return False
    return not well_nested(wanted) or (well_nested(found) and nesting(found) == nesting(wanted))


def nesting(found: Sequence[Placeholder]) -> Counter[int]:
    """How often each tag occurs inside which others, as a hash of the path of tags; for well-nested text."""
    names = {one.name for one in found if one.closes}
    path, counts = [0], Counter[int]()
    for one in found:
        if one.opens and one.name in names:
            path.append(hash((path[-1], one.text)))
            counts[path[-1]] += 1
        elif one.closes:
            path.pop()
    return counts


def well_nested(found: Sequence[Placeholder]) -> bool:
    """Whether every closing tag closes the last open tag, ignoring tags that are never closed."""
    names = {one.name for one in found if one.closes}
    opened: list[str] = []
    for one in found:
        if one.opens and one.name in names:
            opened.append(one.name)
        elif one.closes and (not opened or opened.pop() != one.name):
            return False
    return not opened


# Putting back


def filled(gap: str, marks: Sequence[Mark], before: str, after: str) -> str:
    """The white space `gap` between two characters, with placeholders in it, spaced as in the source."""
    spaces = [junction(before, marks[0].before, gap)]
    for one, other in itertools.pairwise(marks):
        if one.between is not None and other.number == one.number + 1:
            spaces.append(one.between)
        else:
            spaces.append(" " if SPACE in (one.after, other.before) else "")
    spaces.append(junction(after, marks[-1].after, gap))
    stuck = marks[0].before == marks[-1].after == WORD and not marks[0].side and not marks[-1].side
    if gap and not any(spaces) and not stuck and before and after:
        spaces[0 if marks[-1].after == WORD else -1] = gap
    texts = [one.text for one in marks]
    return spaces[0] + "".join(text + space for text, space in zip(texts, spaces[1:], strict=True))


def junction(letter: str, beside: str, gap: str) -> str:
    """The space between a character of the translation and a placeholder; `beside` was next to it in the source."""
    if not letter or beside == WORD:
        return ""
    if not gap:
        return " " if is_word(letter) and not UNSPACED_LETTER.match(letter) else ""
    return "" if beside == SIGN and not is_word(letter) else gap
