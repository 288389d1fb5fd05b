"""Italian morphology: articles and their elisions, agreement of adjectives, verb forms. Functions of strings.

Genders are m and f. Persons are numbered 0 to 5: io, tu, lui/lei, noi, voi, loro.
"""

from __future__ import annotations

from dataclasses import dataclass

_VOWELS = "aeiouàèéìòùh"
_IMPURE = ("sb", "sc", "sd", "sf", "sg", "sl", "sm", "sn", "sp", "sq", "st", "sv", "z", "gn", "ps", "x", "y")
_CONTRACTED = {"di": "de", "a": "a", "da": "da", "in": "ne", "su": "su"}
NUMBERS = (
    "zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "undici", "dodici",
)  # fmt: skip


def definite(gender: str, plural: bool, following: str) -> str:
    """il, lo, la, l', i, gli, le: by gender, number and the sound that follows."""
    vowel, impure = following[0].lower() in _VOWELS, following.lower().startswith(_IMPURE)
    if gender == "f":
        return "le" if plural else "l'" if vowel else "la"
    if plural:
        return "gli" if vowel or impure else "i"
    return "l'" if vowel else "lo" if impure else "il"


def indefinite(gender: str, following: str) -> str:
    """un, uno, una, un'."""
    if gender == "f":
        return "un'" if following[0].lower() in _VOWELS else "una"
    return "uno" if following.lower().startswith(_IMPURE) else "un"


def contracted(preposition: str, article: str) -> str:
    """A preposition fused with a definite article: del, dell', allo, nei. Others stay apart: "con il"."""
    if preposition not in _CONTRACTED:
        return f"{preposition} {article}"
    stem = _CONTRACTED[preposition]
    if article in ("il", "i", "gli"):
        return stem + {"il": "l", "i": "i", "gli": "gli"}[article]
    return stem + "l" + article


def adjective(masculine: str, gender: str, plural: bool) -> str:
    """An adjective in agreement: rosso, rossa, rossi, rosse; verde, verdi; blu."""
    if masculine.endswith("e"):
        return masculine[:-1] + "i" if plural else masculine
    if not masculine.endswith("o"):
        return masculine
    stem = masculine[:-1]
    if gender == "f":
        if not plural:
            return stem + "a"
        return stem + ("he" if stem[-1] in "cg" else "e")
    if not plural:
        return masculine
    if masculine in ("simpatico", "economico"):
        return stem + "i"
    if stem[-1] in "cg":
        return stem + "hi"
    return stem if stem.endswith("i") else stem + "i"


_BELLO = {"il": "bel", "lo": "bello", "l'": "bell'", "la": "bella", "i": "bei", "gli": "begli", "le": "belle"}


def attributive(masculine: str, gender: str, plural: bool, following: str) -> str:
    """An adjective before its noun; bello follows the article (bel, bell', begli), buono the indefinite one (buon)."""
    if masculine == "bello":
        return _BELLO[definite(gender, plural, following)]
    if masculine == "buono" and not plural and gender == "m":
        return "buono" if following.lower().startswith(_IMPURE) else "buon"
    return adjective(masculine, gender, plural)


@dataclass(frozen=True, slots=True)
class Conjugation:
    """A verb's forms. Tuples run over the six persons."""

    infinitive: str
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    future: tuple[str, ...]
    participle: str
    gerund: str
    command: tuple[str, str, str]  # tu, voi, Lei


# Infinitive: present forms of io, tu, lui, noi, voi, loro; stem of the imperfect; stem of the future; Lei-imperative.
_IRREGULAR = {
    "essere": ("sono sei è siamo siete sono", "", "sar", "sia"),
    "avere": ("ho hai ha abbiamo avete hanno", "", "avr", "abbia"),
    "andare": ("vado vai va andiamo andate vanno", "", "andr", "vada"),
    "fare": ("faccio fai fa facciamo fate fanno", "face", "far", "faccia"),
    "dare": ("do dai dà diamo date danno", "", "dar", "dia"),
    "stare": ("sto stai sta stiamo state stanno", "", "star", "stia"),
    "dire": ("dico dici dice diciamo dite dicono", "dice", "dir", "dica"),
    "bere": ("bevo bevi beve beviamo bevete bevono", "beve", "berr", "beva"),
    "uscire": ("esco esci esce usciamo uscite escono", "", "", "esca"),
    "venire": ("vengo vieni viene veniamo venite vengono", "", "verr", "venga"),
    "sapere": ("so sai sa sappiamo sapete sanno", "", "sapr", "sappia"),
    "potere": ("posso puoi può possiamo potete possono", "", "potr", "possa"),
    "dovere": ("devo devi deve dobbiamo dovete devono", "", "dovr", "debba"),
    "volere": ("voglio vuoi vuole vogliamo volete vogliono", "", "vorr", "voglia"),
    "piacere": ("piaccio piaci piace piacciamo piacete piacciono", "", "", "piaccia"),
    "tradurre": ("traduco traduci traduce traduciamo traducete traducono", "traduce", "tradurr", "traduca"),
    "scegliere": ("scelgo scegli sceglie scegliamo scegliete scelgono", "", "", "scelga"),
    "togliere": ("tolgo togli toglie togliamo togliete tolgono", "", "", "tolga"),
    "vedere": ("vedo vedi vede vediamo vedete vedono", "", "vedr", "veda"),
    "rimanere": ("rimango rimani rimane rimaniamo rimanete rimangono", "", "rimarr", "rimanga"),
    "appartenere": (
        "appartengo appartieni appartiene apparteniamo appartenete appartengono", "", "apparterr", "appartenga",
    ),
    "rivedere": ("rivedo rivedi rivede rivediamo rivedete rivedono", "", "rivedr", "riveda"),
}  # fmt: skip
_ENDINGS = {
    "are": "o i a iamo ate ano",
    "ere": "o i e iamo ete ono",
    "ire": "o i e iamo ite ono",
    "isc": "isco isci isce iamo ite iscono",
}
_CONDITIONAL = ("ei", "esti", "ebbe", "emmo", "este", "ebbero")


def _present(stem: str, kind: str) -> tuple[str, ...]:
    hard = kind == "are" and stem[-1] in "cg"  # cerco, cerchi
    soft = kind == "are" and stem[-1] == "i"  # mangio, mangi
    forms = []
    for ending in _ENDINGS[kind].split():
        base = stem + "h" if hard and ending[0] == "i" else stem[:-1] if soft and ending[0] == "i" else stem
        forms.append(base + ending)
    return tuple(forms)


def _future_stem(infinitive: str, stem: str, kind: str) -> str:
    if kind != "are":
        return infinitive[:-1]
    if stem[-1] in "cg":
        return stem + "her"
    return (stem[:-1] if stem.endswith(("ci", "gi")) else stem) + "er"


def conjugate(infinitive: str, participle: str = "", *, isc: bool = False) -> Conjugation:
    """All forms of a verb; `isc` for verbs like pulire (pulisco)."""
    kind, stem = infinitive[-3:] if infinitive[-3:] in _ENDINGS else "ere", infinitive[:-3]
    irregular = _IRREGULAR.get(infinitive)
    if irregular:
        forms, old, ahead, polite = irregular
        present = tuple(forms.split())
    else:
        present = _present(stem, "isc" if isc else kind)
        old, ahead = "", ""
        polite = present[0][:-1] + ("i" if kind == "are" else "a")
        if kind == "are" and stem[-1] == "i":
            polite = stem
        elif kind == "are" and stem[-1] in "cg":
            polite = stem + "hi"
    old = old or infinitive[:-2]
    ahead = ahead or _future_stem(infinitive, stem, kind)
    imperfect = tuple(old + ending for ending in ("vo", "vi", "va", "vamo", "vate", "vano"))
    if infinitive == "essere":
        imperfect = ("ero", "eri", "era", "eravamo", "eravate", "erano")
    future = tuple(ahead + ending for ending in ("ò", "ai", "à", "emo", "ete", "anno"))
    regular = {"are": "ato", "ere": "uto", "ire": "ito"}[kind]
    gerund = old + "ndo" if kind == "are" or (irregular and old.endswith("e")) else stem + "endo"
    familiar = present[2] if kind == "are" and not irregular else present[1]
    familiar = {"dare": "da'", "fare": "fa'", "andare": "va'", "dire": "di'", "stare": "sta'"}.get(infinitive, familiar)
    return Conjugation(
        infinitive, present, imperfect, future, participle or stem + regular, gerund, (familiar, present[4], polite)
    )


def conditional(future_first: str) -> tuple[str, ...]:
    """dovrei, dovresti ...: from the first form of the future."""
    return tuple(future_first[:-1] + ending for ending in _CONDITIONAL)


CLITICS = {
    "acc": ("mi", "ti", "lo", "ci", "vi", "li"),
    "dat": ("mi", "ti", "gli", "ci", "vi", "gli"),
}
REFLEXIVE = ("mi", "ti", "si", "ci", "vi", "si")
STRESSED = ("me", "te", "lui", "noi", "voi", "loro")
SUBJECTS = ("io", "tu", "lui", "noi", "voi", "loro")


def clitic(case: str, person: int, gender: str, polite: bool) -> str:
    """An unstressed object pronoun: mi, ti, lo, la, gli, le; La, Le for Lei."""
    if polite:
        return "La" if case == "acc" else "Le"
    if person == 2 and gender == "f":
        return "la" if case == "acc" else "le"
    if person == 5 and gender == "f" and case == "acc":
        return "le"
    return CLITICS[case][person]


def attached(form: str, pronoun: str) -> str:
    """A pronoun attached to an infinitive or an imperative: vederlo, aiutami, dammi, dagli."""
    pronoun = pronoun.lower()
    if form.endswith("rre"):
        return form[:-2] + pronoun
    if form.endswith("re"):
        return form[:-1] + pronoun
    if form.endswith("'"):  # da', fa', di'
        return form[:-1] + (pronoun if pronoun == "gli" else pronoun[0] + pronoun)
    return form + pronoun
