"""Tokens with alignment keys, and the enumeration of equally correct renderings.

Each token carries keys. Two tokens of the two languages that share a key are linked: a sure link if it is a sure key of
both, a possible link if not. So a linearizer may order tokens as its language needs, and the alignment follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

Keys = tuple[int, ...]
Links = frozenset[tuple[int, int]]
T = TypeVar("T")
_PUNCTUATION = (",", ".", "?", "!", "।")
_WORD = re.compile(r"\d+\.(?=\s)|[^\s,.?!।]+|[,.?!।]")


class Token(NamedTuple):
    """One word of a sentence with the keys of its links."""

    text: str
    sure: Keys = ()
    possible: Keys = ()


def tokens(text: str, *sure: int) -> list[Token]:
    """The words of `text`, all with the same sure keys."""
    return [Token(word, sure) for word in text.split()]


def words(text: str) -> list[str]:
    """Split a sentence into the words that alignments count: at blanks, with , . ? ! । as words of their own.

    The dot of an ordinal number within the sentence ("am 3. Mai") stays with its number.
    """
    return _WORD.findall(text)


def sentence(parts: Iterable[Token]) -> str:
    """Join tokens to a sentence: no blank before punctuation, a capital at the start."""
    text = " ".join([token.text for token in parts])
    for mark in _PUNCTUATION:
        text = text.replace(f" {mark}", mark)
    return text[0].upper() + text[1:]


def links(source: list[Token], target: list[Token]) -> tuple[Links, Links]:
    """The sure and the possible links (the latter contain the former) between two token lists."""
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    holders: dict[int, list[tuple[int, bool]]] = {}
    for j, token in enumerate(target):
        for key in token.sure:
            holders.setdefault(key, []).append((j, True))
        for key in token.possible:
            holders.setdefault(key, []).append((j, False))
    for i, token in enumerate(source):
        for key in token.sure:
            for j, certain in holders.get(key, ()):
                (sure if certain else possible).add((i, j))
        for key in token.possible:
            possible.update((i, j) for j, _ in holders.get(key, ()))
    return frozenset(sure), frozenset(possible | sure)


class Choices:
    """The choices made during one rendering. Option 0 is the standard one; a key always gives the same answer."""

    def __init__(self, script: tuple[int, ...] = (), address: int | None = None) -> None:
        self._script = script
        self._made: dict[str, int] = {}
        self._sizes: list[int] = []
        if address is not None:
            self._made["address"] = address

    def pick(self, key: str, count: int) -> int:
        """The option taken at the choice `key`, which has `count` options."""
        made = self._made
        if key not in made:
            place = len(self._sizes)
            made[key] = self._script[place] if place < len(self._script) else 0
            self._sizes.append(count)
        return made[key]

    def made(self, key: str) -> int | None:
        """The option taken at the choice `key` so far; None if nobody asked yet."""
        return self._made.get(key)

    def following(self) -> tuple[int, ...] | None:
        """The script of the next rendering, or None after the last."""
        script = list(self._script) + [0] * (len(self._sizes) - len(self._script))
        while script:
            if script[-1] + 1 < self._sizes[len(script) - 1]:
                script[-1] += 1
                return tuple(script)
            script.pop()
        return None


def renderings(render: Callable[[Choices], T], address: int | None = None) -> list[T]:
    """The results of `render` for all combinations of its choices, the standard one first."""
    found = []
    script: tuple[int, ...] | None = ()
    while script is not None:
        choices = Choices(script, address)
        found.append(render(choices))
        script = choices.following()
    return found
