"""Two texts that differ only in case, punctuation, spaces or the width of a letter fold to the same one."""

from __future__ import annotations

import unicodedata


class _Kept(dict[int, int | None]):
    """For `str.translate`: removes punctuation, spaces, accents without a letter and control characters.

    Marks that belong to a letter stay, since in many scripts they are the vowels; so do + and =, because C is not C++.
    """

    def __missing__(self, code: int) -> int | None:
        kind = unicodedata.category(chr(code))
        self[code] = None if kind[0] in "PZC" or kind == "Sk" else code
        return self[code]


_KEPT = _Kept()
_KEPT_ASCII = {code: _KEPT[code] for code in range(128)}  # `str.translate` is faster for ASCII with a plain dict


def folded(text: str) -> str:
    """`text` without case, punctuation and spaces; unchanged if nothing would be left."""
    if text.isascii():
        return text.lower().translate(_KEPT_ASCII) or text
    return unicodedata.normalize("NFKC", text).casefold().translate(_KEPT) or text
