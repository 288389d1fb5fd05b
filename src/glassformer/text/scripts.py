"""Which script a text is written in, by the names that Unicode gives to its letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

# Japanese mixes three scripts in one sentence: its two syllabaries count as one script, Kana.
_RENAMED = {
    "HIRAGANA": "Kana",
    "KATAKANA": "Kana",
    "KATAKANA-HIRAGANA": "Kana",
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
}
_NO_SCRIPT = {"MODIFIER", "DOUBLE-STRUCK", "SCRIPT", "VERTICAL", "INFORMATION"}  # letters that belong to no script
WITHOUT_SPACES = frozenset({"Han", "Kana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Javanese", "Balinese", "Yi"})


@lru_cache(maxsize=1 << 16)
def script_of(sign: str) -> str | None:
    """The script of one character, such as "Latin", "Cyrillic" or "Han"; None if it is not a letter.

    Width, bold face and the like do not matter: a full-width A is Latin, the micro sign Greek.
    """
    if not sign.isalpha():
        return None
    plain = unicodedata.normalize("NFKC", sign)[0]
    first = unicodedata.name(plain, "").partition(" ")[0]
    if not first or first in _NO_SCRIPT:
        return None
    return _RENAMED.get(first, first.capitalize())


def letters_by_script(text: str) -> Counter[str]:
    """How many letters of each script `text` contains."""
    if text.isascii():
        letters = sum(map(str.isalpha, text))
        return Counter({"Latin": letters} if letters else {})
    found = Counter[str]()
    for sign, count in Counter(text).items():
        script = script_of(sign)
        if script is not None:
            found[script] += count
    return found


def expected_scripts(letters: Counter[str], *, share: float = 0.02) -> frozenset[str]:
    """The scripts that a language is written in, judged by its letters: those with at least `share` of them."""
    total = letters.total()
    used = {script for script, count in letters.items() if count >= share * total}
    return frozenset(used | {"Han"} if "Kana" in used else used)


def uses_spaces(text: str) -> bool:
    """Whether most letters of `text` belong to scripts that put spaces between words."""
    letters = letters_by_script(text)
    return 2 * sum(letters[script] for script in WITHOUT_SPACES) <= letters.total()
