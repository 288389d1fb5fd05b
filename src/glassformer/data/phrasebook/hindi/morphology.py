"""Hindi morphology: agreement in -ा, pronouns and their cases, verb forms. Functions of strings.

Persons are numbered 0 to 5: मैं, तुम, वह, हम, आप, वे. Genders are m and f.
"""

from __future__ import annotations

_VOWELS = "ािीुूेैोौआईएओ"
DIRECT = ("मैं", "तुम", "वह", "हम", "आप", "वे")
ERGATIVE = ("मैंने", "तुमने", "उसने", "हमने", "आपने", "उन्होंने")
TO = ("मुझे", "तुम्हें", "उसे", "हमें", "आपको", "उन्हें")
OBLIQUE = ("मुझ", "तुम", "उस", "हम", "आप", "उन")
POSSESSIVES = ("मेरा", "तुम्हारा", "उसका", "हमारा", "आपका", "उनका")
IS = ("हूँ", "हो", "है", "हैं", "हैं", "हैं")
NUMBERS = ("शून्य", "एक", "दो", "तीन", "चार", "पाँच", "छह", "सात", "आठ", "नौ", "दस", "ग्यारह", "बारह")
_SUBJUNCTIVE = {  # the endings of the future, after a consonant and after a vowel
    False: ("ूँ", "ो", "े", "ें", "ें", "ें"),
    True: ("ऊँ", "ओ", "ए", "एँ", "एँ", "एँ"),
}
_PERFECTIVE = {"कर": "किय", "दे": "दिय", "ले": "लिय", "जा": "गय", "हो": "हुअ", "पी": "पिय"}


def agreeing(word: str, gender: str, plural: bool, *, oblique: bool = False) -> str:
    """A word in -ा in agreement: अच्छा, अच्छे, अच्छी; others stay as they are."""
    if not word.endswith(("ा", "आ")):
        return word
    if word == "नया":  # नए, नई
        word = "नआ"
    independent = word.endswith("आ")
    if gender == "f":
        ending = "ई" if independent else "ी"
    elif plural or oblique:
        ending = "ए" if independent else "े"
    else:
        return word.replace("नआ", "नया")
    return word[:-1] + ending


def was(gender: str, plural: bool) -> str:
    """था, थे, थी, थीं."""
    return {"m": ("था", "थे"), "f": ("थी", "थीं")}[gender][plural]


def habitual(stem: str, gender: str, plural: bool) -> str:
    """खाता, खाते, खाती."""
    return stem + {"m": ("ता", "ते"), "f": ("ती", "ती")}[gender][plural]


def ongoing(gender: str, plural: bool) -> str:
    """रहा, रहे, रही."""
    return {"m": ("रहा", "रहे"), "f": ("रही", "रही")}[gender][plural]


def perfective(stem: str, gender: str, plural: bool, *, followed: bool = False) -> str:
    """खाया, खाए, खाई, खाईं; before है or था the feminine plural has no dot: खाई हैं."""
    nasal = "ं" if gender == "f" and plural and not followed else ""
    special = _PERFECTIVE.get(stem)
    if stem in ("कर", "दे", "ले", "पी"):
        assert special is not None
        if gender == "f":
            return special[:-2] + "ी" + nasal
        return special[:-1] + "ए" if plural else special + "ा"
    if special is not None:  # गया, हुआ
        vowel = stem == "हो"
        if gender == "f":
            return special[:-1] + "ई" + nasal
        return special[:-1] + "ए" if plural else "हुआ" if vowel else special + "ा"
    if stem[-1] in _VOWELS:
        base = stem[:-1] + "ि" if stem.endswith("ी") else stem
        if gender == "f":
            return base + "ई" + nasal
        return base + "ए" if plural else base + "या"
    if gender == "f":
        return stem + "ी" + nasal
    return stem + ("े" if plural else "ा")


def future(stem: str, person: int, gender: str, plural: bool) -> str:
    """करूँगा, करोगे, करेगी, करेंगे."""
    base = {"दे": "द", "ले": "ल"}.get(stem, stem[:-1] + "ि" if stem.endswith("ी") else stem)
    vowel = base[-1] in _VOWELS
    ending = _SUBJUNCTIVE[vowel][person]
    return base + ending + {"m": ("गा", "गे"), "f": ("गी", "गी")}[gender][plural]


def polite_command(stem: str) -> str:
    """The imperative for आप: जाइए, कीजिए."""
    irregular = {"कर": "कीजिए", "दे": "दीजिए", "ले": "लीजिए", "पी": "पीजिए"}
    return irregular.get(stem, stem + ("इए" if stem[-1] in _VOWELS else "िए"))


def familiar_command(stem: str) -> str:
    """The imperative for तुम: जाओ, करो."""
    irregular = {"दे": "दो", "ले": "लो", "पी": "पियो"}
    return irregular.get(stem, stem + ("ओ" if stem[-1] in _VOWELS else "ो"))
