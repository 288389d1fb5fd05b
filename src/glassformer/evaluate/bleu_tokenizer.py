"""How BLEU splits a sentence into words: sacreBLEU's tokenizer for the language, or for the script, of the references.

BLEU counts matching words. Its usual tokenizer, 13a, splits at spaces, so a Chinese or Thai sentence is one long word:
unless the translation is exactly right, the score is about 0. Scores made with different tokenizers cannot be compared;
the signature names the tokenizer (tok:13a, tok:zh, ...).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from glassformer.text.scripts import WITHOUT_SPACES, letters_by_script

_USUAL = "13a"
_JAPANESE, _KOREAN = "ja", "ko"

# By the first part of a language code (zh of zh-TW, zho of zho_Hans): two letters, or the three of ISO 639-3.
_LANGUAGES = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue", "wuu", "hak", "gan", "hsn", "lzh"), "zh"),
    **dict.fromkeys(("ja", "jpn"), _JAPANESE),
    **dict.fromkeys(("ko", "kor"), _KOREAN),
    # Thai, Lao, Khmer, Burmese, Tibetan, Dzongkha, Shan, Mon, S'gaw Karen, Northern Thai, Tai Lü, Tai Nüa
    **dict.fromkeys(("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur"), "char"),
    **dict.fromkeys(("bo", "bod", "tib", "dz", "dzo", "shn", "mnw", "ksw", "nod", "khb", "tdd"), "char"),
}

# sacreBLEU's own choice needs packages that few users install (its extras ja and ko). Without them, Japanese is split
# into characters because it has no spaces; Korean has spaces, so 13a works, with longer words than MeCab's.
_WITH_PACKAGES = {_JAPANESE: ("ja-mecab", "char"), _KOREAN: ("ko-mecab", _USUAL)}
_KANA_SHARE = 0.1  # of the Chinese characters and kana together: Japanese has far more, Chinese at most a name


def bleu_tokenizer(language: str | None, references: Iterable[Sequence[str]]) -> str:
    """The name of sacreBLEU's tokenizer for translations into `language`, a code such as de or zh-TW.

    If the code is None or not listed above, the script of the references decides, because a file may have any name.
    Each sentence may have several references.
    """
    code = re.split("[-_]", language.strip().lower())[0] if language else ""
    chosen = _LANGUAGES.get(code) or _by_script(references)
    if chosen not in _WITH_PACKAGES:
        return chosen
    wanted, fallback = _WITH_PACKAGES[chosen]
    return wanted if usable(wanted) else fallback


def _by_script(references: Iterable[Sequence[str]]) -> str:
    letters = letters_by_script("".join(text for options in references for text in options))
    han, kana, half = letters["Han"], letters["Kana"], letters.total() / 2
    if han + kana > half:
        return _JAPANESE if kana > _KANA_SHARE * (han + kana) else "zh"
    if letters["Hangul"] > half:
        return _KOREAN
    return "char" if sum(letters[script] for script in WITHOUT_SPACES) > half else _USUAL


@cache
def usable(tokenizer: str) -> bool:
    """Whether the packages that a tokenizer of sacreBLEU needs are installed, with their dictionary."""
    from sacrebleu.metrics.bleu import BLEU

    try:
        BLEU(tokenize=tokenizer)
    except (ImportError, RuntimeError, AssertionError):
        return False
    return True
