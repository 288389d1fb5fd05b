"""Sentences that nobody translated, told from names and titles, which are the same in many languages."""

from __future__ import annotations

import re

from glassformer.text.scripts import uses_spaces

_PLAIN_WORD = re.compile(r"[^\w]*([^\W\d_]+)[^\w]*")


def is_copy(source: str, target: str, telling: frozenset[str]) -> bool:
    """Of two texts with the same letters: whether they are a sentence that was left as it was.

    That needs two words that tell its language, or many words, or, where not even the case of a letter was changed
    ("Exit code" is "Exit-Code" in German), at least three words with a longer one in small letters inside.
    """
    if not uses_spaces(source):
        return len(source) >= 10
    words = [match[1] for match in map(_PLAIN_WORD.fullmatch, source.split()) if match]
    inner = any(len(word) > 3 and word.islower() for word in words[1:])
    untouched = (
        inner and len(words) > 2 and set(words) <= {m[1] for m in map(_PLAIN_WORD.fullmatch, target.split()) if m}
    )
    return len(words) > 6 or untouched or len(telling.intersection(source.lower().split())) > 1
