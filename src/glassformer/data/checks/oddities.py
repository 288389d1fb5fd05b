"""Oddities: the pair is still used, but someone who knows the data should look at them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5

from glassformer.data.checks.blocks import SIDES, Block
from glassformer.text.scripts import WITHOUT_SPACES, script_of

Signs = Callable[[str], bool]
Look = Callable[[str], str | None]


@dataclass(frozen=True)
class Oddity:
    """`signs`: characters that make a line suspect. `look`: the odd piece of a suspect line, or None."""

    name: str
    help: str
    signs: Signs
    look: Look


def found_in(block: Block) -> Iterator[tuple[str, int, str]]:
    """Every oddity of a block: its name, its row, and what was found. A row has each oddity once."""
    for oddity in ODDITIES.values():
        found: dict[int, str] = {}
        for side, name in enumerate(SIDES):
            for row in block.rows_with(side, filter(oddity.signs, block.alphabets[side])):
                piece = oddity.look(block.texts[side][row])
                if piece is not None:
                    found.setdefault(row, f"{name}: {piece}")
        yield from ((oddity.name, row, found[row]) for row in sorted(found))


def looking_for(pattern: str) -> Look:
    """Looks for a regular expression and names the odd character."""
    search = re.compile(pattern).search

    def look(text: str) -> str | None:
        match = search(text)
        return named(match.group()) if match else None

    return look


def named(sign: str) -> str:
    """A readable name for an invisible character: U+00AD SOFT HYPHEN."""
    return f"U+{ord(sign[0]):04X} {unicodedata.name(sign[0], '')}".rstrip()


def one_of(signs: str) -> Signs:
    return frozenset(signs).__contains__


_ENTITY = re.compile(r"&(?:#\d{2,7}|#[xX][0-9a-fA-F]{2,6}|[A-Za-z]{2,8}\d{0,2});")


def _entity(text: str) -> str | None:
    for piece in _ENTITY.findall(text):
        if piece[1] == "#" or piece[1:] in html5:
            return str(piece)
    return None


def _decomposed(text: str) -> str | None:
    """A letter and its mark as two characters although one exists. A different order of marks does not count."""
    composed = unicodedata.normalize("NFC", text)
    return f"{len(text) - len(composed):,} marks separate from their letters" if len(composed) < len(text) else None


@lru_cache(maxsize=1 << 16)
def _composes(sign: str) -> bool:
    return sign > "\u02ff" and (unicodedata.combining(sign) > 0 or "\u1161" <= sign <= "\u11c2")


@lru_cache(maxsize=1 << 16)
def _is_mark(sign: str) -> bool:
    return sign > "\u02ff" and unicodedata.category(sign) == "Mn"


def _lone_mark(text: str) -> str | None:
    before = " "
    for sign in text:
        if sign > "\u02ff" and before.isspace() and _is_mark(sign):
            return named(sign)
        before = sign
    return None


def _private(sign: str) -> bool:
    return sign > "\ud7ff" and unicodedata.category(sign) in ("Co", "Cs", "Cn")


def _private_sign(text: str) -> str | None:
    return next((named(sign) for sign in text if _private(sign)), None)


def _invisible_litter(text: str) -> str | None:
    """Joiners are normal in Persian, Hindi and emoji, zero-width spaces in Khmer and Thai; not elsewhere."""
    for match in re.finditer("[\u200b-\u200d\u2060\ufeff]+", text):
        around = {script_of(sign) for sign in text[max(0, match.start() - 3) : match.end() + 3]}
        joins = match.group()[0] in "\u200c\u200d"
        if around & _NEVER_JOINED if joins else not around & WITHOUT_SPACES:
            return named(match.group())
    return None


_NEVER_JOINED = {"Latin", "Cyrillic", "Greek"}
_RIGHT_TO_LEFT = ("R", "AL", "AN")


def _needless_direction(text: str) -> str | None:
    """Direction marks are normal in text with a right-to-left script; not elsewhere."""
    if any(unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT and sign.isalpha() for sign in text):
        return None
    return next(named(sign) for sign in text if sign in _DIRECTION)


_DIRECTION = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# Good typography uses no-break spaces before ; : ! ? and units, in numbers and dates, beside dashes, after
# abbreviations and words of one letter. Between two ordinary words they are odd.
_NO_BREAK = "(?<=[^\\W\\d_]{2})[\xa0\u202f]+(?=[^\\W\\d_]{2})|(?<=[^\\W\\d_],)[\xa0\u202f]"

_ALL = [
    Oddity("no-break-space", "a no-break space where an ordinary one would do", one_of("\xa0\u202f"),
           looking_for(_NO_BREAK)),
    Oddity("zero-width", "a zero-width space or joiner", one_of("\u200b\u200c\u200d\u2060\ufeff"),
           _invisible_litter),
    Oddity("direction-mark", "a direction mark in left-to-right text", one_of(_DIRECTION),
           _needless_direction),
    Oddity("soft-hyphen", "a soft hyphen: invisible, but to a tokenizer it makes a different word", one_of("\xad"),
           looking_for("\xad")),
    Oddity("html-entity", "an HTML entity instead of its character", one_of("&"), _entity),
    Oddity("decomposed", "letters and their accents as separate characters (NFD)", _composes, _decomposed),
    Oddity("lone-mark", "an accent without a letter before it", _is_mark, _lone_mark),
    Oddity("private-use", "a private-use character, without a standard meaning", _private, _private_sign),
    Oddity("tab", "a tab inside the sentence", one_of("\t"), looking_for("\t")),
    Oddity("double-space", "two spaces in a row", one_of(" "), lambda text: "two spaces" if "  " in text else None),
]  # fmt: skip
ODDITIES = {oddity.name: oddity for oddity in _ALL}
