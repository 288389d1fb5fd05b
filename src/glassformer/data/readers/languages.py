"""Language codes: recognises them among other words, and finds the one that a user means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

_TWO_LETTERS = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu "
    "iw ja ji jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms "
    "mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl "
    "sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh "
    "zu"
)
_THREE_LETTERS = (
    "afr alb amh ara arg arm asm ast aze bak baq bel ben bos bre bul bur cat ceb ces chi chv ckb cmn cor cos cym cze "
    "dan deu div dsb dut dzo ell eng epo est eus ewe fao fas fij fil fin fra fre fry fur gla gle glg ger geo gre grn "
    "gsw guj hat hau haw heb hin hmn hrv hsb hun hye ibo ice ido ile ilo ina ind isl ita jav jpn kab kal kan kas kat "
    "kaz khm kin kir kmr kon kor kur lao lat lav lin lit ltz lug lus mac mai mal mao mar may mkd mlg mlt mon mri msa "
    "mya nav nds nep nld nno nob nor nso nya oci ori orm oss pan pap per pes pol por prs pus que roh ron rum run rus "
    "sag san sat scn sco shn sin slk slo slv sme smo sna snd som sot spa sqi srd srp ssw sun swa swe swh szl tah tam "
    "tat tel tgk tgl tha tib tir ton tsn tso tuk tur twi udm uig ukr urd uzb vie vol wel wln wol xho yid yor yue "
    "zho zul zza zgh"
)
CODES = frozenset(f"{_TWO_LETTERS} {_THREE_LETTERS}".split())
# Language names used as column headers.
NAMES = frozenset(
    [
        "arabic",
        "bengali",
        "bulgarian",
        "catalan",
        "chinese",
        "croatian",
        "czech",
        "danish",
        "dutch",
        "english",
        "estonian",
        "finnish",
        "french",
        "german",
        "greek",
        "hebrew",
        "hindi",
        "hungarian",
        "icelandic",
        "indonesian",
        "irish",
        "italian",
        "japanese",
        "korean",
        "latvian",
        "lithuanian",
        "malay",
        "norwegian",
        "persian",
        "polish",
        "portuguese",
        "romanian",
        "russian",
        "serbian",
        "slovak",
        "slovenian",
        "spanish",
        "swahili",
        "swedish",
        "tamil",
        "thai",
        "turkish",
        "ukrainian",
        "urdu",
        "vietnamese",
        "welsh",
        "deutsch",
        "englisch",
        "français",
        "anglais",
        "español",
        "inglés",
        "italiano",
        "português",
    ]
)
# A code alone, or with a script and a region: en, EN, en-GB, en_GB, zh-Hans-CN, eng_Latn.
_SHAPE = re.compile(r"([a-z]{2,4}|[A-Z]{2,3})([-_][A-Z][a-z]{3})?([-_]([A-Za-z]{2}|[0-9]{3}))?")


def is_language(word: str) -> bool:
    """Whether a word, such as a file's suffix or a column's header, is a language code. "No" and "Hi" are not."""
    shape = _SHAPE.fullmatch(word)
    return shape is not None and shape[1].lower() in CODES


def plain_code(word: str) -> str:
    """A code in standard spelling: lower case, "-" between the parts."""
    return word.lower().replace("_", "-")


def matching(requested: str, found: Iterable[str]) -> list[str]:
    """Which of the languages in `found` match `requested`, best first: the same code, then its regional forms."""
    code = plain_code(requested)
    exact = [one for one in found if plain_code(one) == code]
    return exact + [one for one in found if plain_code(one).startswith(f"{code}-")]


def pair_in_name(name: str) -> tuple[str, str] | None:
    """The languages of a name such as news.en-de.tsv, deu-eng.tsv or wiki_en_de.jsonl."""
    for part in re.split(r"[./ ]", name):
        words = re.split(r"[-_]", part)
        for first, second in pairwise(words):
            same_case = first.islower() == second.islower()  # pt_BR is one language
            if same_case and first != second and is_language(first) and is_language(second):
                return first, second
    return None
