"""German morphology: articles, adjective endings, noun cases, verb forms. Pure functions of strings.

Cases are "nom", "acc", "dat"; genders are "m", "f", "n" and "p" (the plural has one set of endings for all
genders). Persons are numbered 0 to 5: ich, du, er/sie/es, wir, ihr, sie.
"""

from __future__ import annotations

_DEFINITE = {
    "nom": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
}
_EIN = {  # ein, kein, mein, dein ...
    "nom": {"m": "", "f": "e", "n": "", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
_DIESER = {  # dieser, jeder, welcher
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
_ENDINGS = {
    "weak": {
        "nom": {"m": "e", "f": "e", "n": "e", "p": "en"},
        "acc": {"m": "en", "f": "e", "n": "e", "p": "en"},
        "dat": {"m": "en", "f": "en", "n": "en", "p": "en"},
    },
    "mixed": {
        "nom": {"m": "er", "f": "e", "n": "es", "p": "en"},
        "acc": {"m": "en", "f": "e", "n": "es", "p": "en"},
        "dat": {"m": "en", "f": "en", "n": "en", "p": "en"},
    },
    "strong": {
        "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
        "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
        "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
    },
}
PRONOUNS = {
    "nom": ("ich", "du", "er", "wir", "ihr", "sie"),
    "acc": ("mich", "dich", "ihn", "uns", "euch", "sie"),
    "dat": ("mir", "dir", "ihm", "uns", "euch", "ihnen"),
}
_THIRD = {
    "nom": {"m": "er", "f": "sie", "n": "es", "p": "sie"},
    "acc": {"m": "ihn", "f": "sie", "n": "es", "p": "sie"},
    "dat": {"m": "ihm", "f": "ihr", "n": "ihm", "p": "ihnen"},
}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}


def definite(gender: str, case: str) -> str:
    """The definite article: der, die, das in their cases."""
    return _DEFINITE[case][gender]


def ein_word(stem: str, gender: str, case: str) -> str:
    """A word that declines like "ein": ein, kein, mein, dein, sein, ihr, unser, euer, Ihr."""
    ending = _EIN[case][gender]
    if ending and stem == "euer":
        stem = "eur"
    return stem + ending


def der_word(stem: str, gender: str, case: str) -> str:
    """A word that declines like "dieser", from its stem: dies, jed, welch."""
    return stem + _DIESER[case][gender]


def adjective(stem: str, pattern: str, gender: str, case: str) -> str:
    """An attributive adjective; `pattern` is weak (after der), mixed (after ein) or strong (after nothing)."""
    return stem + _ENDINGS[pattern][case][gender]


def third_person(gender: str, case: str) -> str:
    """er, sie, es and their cases."""
    return _THIRD[case][gender]


def dative_plural(plural: str) -> str:
    """The dative plural: -n is added unless the plural ends in -n or -s."""
    return plural if plural[-1] in "ns" else plural + "n"


def _stem(infinitive: str) -> str:
    if infinitive.endswith(("ern", "eln")) or not infinitive.endswith("en"):
        return infinitive[:-1]
    return infinitive[:-2]


def _needs_e(stem: str) -> bool:
    """True where -st and -t need a vowel before them: arbeit-e-t, öffn-e-t, zeichn-e-t."""
    if stem[-1] in "td":
        return True
    return stem[-1] in "nm" and (stem[-2] not in "aeiouäöürlhnm" or stem[-3:-1] == "ch")


def present(infinitive: str, third: str = "") -> tuple[str, ...]:
    """The six present forms; `third` is the er-form where its vowel changes (isst, liest, fährt)."""
    stem = _stem(infinitive)
    link = "e" if _needs_e(stem) else ""
    first = stem[:-2] + "le" if infinitive.endswith("eln") else stem + "e"
    changed = third[:-1] if third else stem + link
    second = changed + ("t" if changed[-1] in "sßzx" else "st")
    return first, second, third or stem + link + "t", infinitive, stem + link + "t", infinitive


def preterite(form: str) -> tuple[str, ...]:
    """The six preterite forms from the first one: kaufte, ging, aß, fand."""
    if form.endswith("te"):
        return form, form + "st", form, form + "n", form + "t", form + "n"
    sibilant = form[-1] in "sßzx"
    link = "e" if form[-1] in "td" else ""
    second = form + ("t" if sibilant else link + "st")
    plural = form + ("n" if form.endswith("e") else "en")
    return form, second, form, plural, form + link + "t", plural


def weak_preterite(infinitive: str) -> str:
    """The regular preterite: kaufte, arbeitete, öffnete."""
    stem = _stem(infinitive)
    return stem + ("e" if _needs_e(stem) else "") + "te"


def imperative(infinitive: str, third: str = "") -> tuple[str, ...]:
    """The du-imperatives, the usual one first: iss; mach, mache; warte."""
    stem = _stem(infinitive)
    if third and "i" in third and "i" not in stem:
        return (third[:-1],)
    if _needs_e(stem) or infinitive.endswith("ern"):
        return (stem + "e",)
    return stem, stem + "e"


_ONES = [
    "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf",
    "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn",
]  # fmt: skip
_ONES += ["siebzehn", "achtzehn", "neunzehn"]
_TENS = ["-", "-", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]


def _below_hundred(number: int) -> str:
    if number < 20:
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return (_ONES[ones] + "und" if ones else "") + _TENS[tens]


def cardinal(number: int) -> str:
    """A cardinal number from 0 to 999,999 as a word of its own: eins, einundzwanzig, dreihundertfünf."""
    word = _joined_cardinal(number)
    return word + "s" if number % 100 == 1 else word


def _joined_cardinal(number: int) -> str:
    if number >= 1000:
        thousands, rest = divmod(number, 1000)
        return _joined_cardinal(thousands) + "tausend" + (_joined_cardinal(rest) if rest else "")
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest)
    return _ONES[hundreds] + "hundert" + (_below_hundred(rest) if rest else "")
