"""Detects sentences that were left untranslated. Names and titles do not count: they are the same in many languages."""

from __future__ import annotations

import re

from glassformer.text.scripts import uses_spaces

_PLAIN_WORD = re.compile(r"[^\w]*([^\W\d_]+)[^\w]*")


def is_copy(source: str, target: str, typical: frozenset[str]) -> bool:
    """Whether two texts with the same letters are a sentence that was left untranslated.

    This needs one of: two words typical of a language; many words; or, if even the case of the letters is the same
    ("Exit code" is "Exit-Code" in German), at least three words, one of them after the first long and in lower case.
    """
    if not uses_spaces(source):
        return len(source) >= 10
    words = [match[1] for match in map(_PLAIN_WORD.fullmatch, source.split()) if match]
    inner = any(len(word) > 3 and word.islower() for word in words[1:])
    untouched = (
        inner and len(words) > 2 and set(words) <= {m[1] for m in map(_PLAIN_WORD.fullmatch, target.split()) if m}
    )
    return len(words) > 6 or untouched or len(typical.intersection(source.lower().split())) > 1
