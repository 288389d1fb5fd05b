"""German and English word forms, against tables written by hand."""

from __future__ import annotations

import pytest

from glassformer.data.phrasebook import english, german
from glassformer.data.phrasebook.adjectives import ADJECTIVES
from glassformer.data.phrasebook.aligned import Choices
from glassformer.data.phrasebook.nominal import NounPhrase, Prepositional
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.verbs import MODALS, VERBS

CASES = ("nom", "acc", "dat")


@pytest.mark.parametrize(
    ("gender", "forms"),
    [("m", "der den dem"), ("f", "die die der"), ("n", "das das dem"), ("p", "die die den")],
)
def test_definite_article(gender: str, forms: str) -> None:
    assert [german.definite(gender, case) for case in CASES] == forms.split()


@pytest.mark.parametrize(
    ("stem", "gender", "forms"),
    [
        ("ein", "m", "ein einen einem"),
        ("ein", "f", "eine eine einer"),
        ("ein", "n", "ein ein einem"),
        ("kein", "p", "keine keine keinen"),
        ("euer", "m", "euer euren eurem"),
        ("euer", "p", "eure eure euren"),
        ("unser", "f", "unsere unsere unserer"),
        ("Ihr", "n", "Ihr Ihr Ihrem"),
    ],
)
def test_words_that_decline_like_ein(stem: str, gender: str, forms: str) -> None:
    assert [german.ein_word(stem, gender, case) for case in CASES] == forms.split()


def test_words_that_decline_like_dieser() -> None:
    forms = {gender: [german.der_word("dies", gender, case) for case in CASES] for gender in "mfnp"}
    assert forms["m"] == ["dieser", "diesen", "diesem"]
    assert forms["f"] == ["diese", "diese", "dieser"]
    assert forms["n"] == ["dieses", "dieses", "diesem"]
    assert forms["p"] == ["diese", "diese", "diesen"]


@pytest.mark.parametrize(
    ("pattern", "endings"),
    [
        ("weak", {"m": "e en en", "f": "e e en", "n": "e e en", "p": "en en en"}),
        ("mixed", {"m": "er en en", "f": "e e en", "n": "es es en", "p": "en en en"}),
        ("strong", {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"}),
    ],
)
def test_adjective_endings(pattern: str, endings: dict[str, str]) -> None:
    for gender, row in endings.items():
        got = [german.adjective("", pattern, gender, case) for case in CASES]
        assert got == row.split(), (pattern, gender)


@pytest.mark.parametrize(
    ("name", "forms"),
    [("expensive", "teure"), ("high", "hohe"), ("tired", "müde"), ("old", "alte")],
)
def test_adjective_stems(name: str, forms: str) -> None:
    assert german.adjective(ADJECTIVES[name].stem, "weak", "f", "nom") == forms


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("eat", "esse isst isst essen esst essen"),
        ("read", "lese liest liest lesen lest lesen"),
        ("travel", "fahre fährst fährt fahren fahrt fahren"),
        ("take", "nehme nimmst nimmt nehmen nehmt nehmen"),
        ("work", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
        ("open", "öffne öffnest öffnet öffnen öffnet öffnen"),
        ("draw", "zeichne zeichnest zeichnet zeichnen zeichnet zeichnen"),
        ("learn", "lerne lernst lernt lernen lernt lernen"),
        ("live", "wohne wohnst wohnt wohnen wohnt wohnen"),
        ("dance", "tanze tanzt tanzt tanzen tanzt tanzen"),
        ("feed", "füttere fütterst füttert füttern füttert füttern"),
        ("invite", "lade lädst lädt laden ladet laden"),
        ("play", "spiele spielst spielt spielen spielt spielen"),
        ("forget", "vergesse vergisst vergisst vergessen vergesst vergessen"),
        ("be", "bin bist ist sind seid sind"),
        ("have", "habe hast hat haben habt haben"),
        ("know#fact", "weiß weißt weiß wissen wisst wissen"),
    ],
)
def test_present(verb: str, forms: str) -> None:
    assert list(VERBS[verb].present) == forms.split()


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("eat", "aß aßt aß aßen aßt aßen"),
        ("buy", "kaufte kauftest kaufte kauften kauftet kauften"),
        ("find", "fand fandest fand fanden fandet fanden"),
        ("go", "ging gingst ging gingen gingt gingen"),
        ("be", "war warst war waren wart waren"),
        ("have", "hatte hattest hatte hatten hattet hatten"),
        ("open", "öffnete öffnetest öffnete öffneten öffnetet öffneten"),
    ],
)
def test_preterite(verb: str, forms: str) -> None:
    assert list(VERBS[verb].preterite) == forms.split()


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("eat", ("iss",)),
        ("give", ("gib",)),
        ("take", ("nimm",)),
        ("help", ("hilf",)),
        ("read", ("lies",)),
        ("open", ("öffne",)),
        ("wait for", ("warte",)),
        ("feed", ("füttere",)),
        ("carry", ("trag", "trage")),
        ("buy", ("kauf", "kaufe")),
        ("show", ("zeig", "zeige")),
    ],
)
def test_imperative(verb: str, forms: tuple[str, ...]) -> None:
    assert VERBS[verb].imperatives == forms


def test_modals() -> None:
    assert MODALS["can"].present == ("kann", "kannst", "kann", "können", "könnt", "können")
    assert MODALS["will"].present == ("werde", "wirst", "wird", "werden", "werdet", "werden")
    assert MODALS["must not"].present[2] == "darf"
    assert MODALS["have to"].preterite[:2] == ("musste", "musstest")


@pytest.mark.parametrize("name", sorted(VERBS))
def test_verb_forms_look_like_verb_forms(name: str) -> None:
    verb = VERBS[name]
    assert verb.infinitive.endswith("n")
    assert verb.german_participle[-1] in "tn"
    assert not verb.prefix or verb.german_participle.startswith(verb.prefix)
    assert verb.frame in {"none", "acc", "dat", "double", "to", "place", "goal", "prepositional"}


@pytest.mark.parametrize(
    ("noun", "determiner", "plural", "forms"),
    [
        ("boy", "the", False, "der Junge|den Jungen|dem Jungen"),
        ("neighbour", "0", False, "mein Nachbar|meinen Nachbarn|meinem Nachbarn"),
        ("gentleman", "the", False, "der Herr|den Herrn|dem Herrn"),
        ("gentleman", "the", True, "die Herren|die Herren|den Herren"),
        ("child", "the", True, "die Kinder|die Kinder|den Kindern"),
        ("car", "3", True, "unsere Autos|unsere Autos|unseren Autos"),
        ("woman", "this", True, "diese Frauen|diese Frauen|diesen Frauen"),
        ("apple", "none", True, "Äpfel|Äpfel|Äpfeln"),
        ("cat", "2f", False, "ihre Katze|ihre Katze|ihrer Katze"),
        ("dog", "2", False, "sein Hund|seinen Hund|seinem Hund"),
    ],
)
def test_noun_phrases(noun: str, determiner: str, plural: bool, forms: str) -> None:
    phrase = NounPhrase(10, NOUNS[noun], determiner, plural)
    got = [" ".join(token.text for token in phrase.german(case, Choices())) for case in CASES]
    assert got == forms.split("|")


@pytest.mark.parametrize(
    ("preposition", "case", "noun", "determiner", "text"),
    [
        ("in", "dat", "garden", "the", "im Garten"),
        ("in", "acc", "cinema", "the", "ins Kino"),
        ("in", "acc", "city", "the", "in die Stadt"),
        ("an", "dat", "lake", "the", "am See"),
        ("zu", "acc", "station", "the", "zum Bahnhof"),
        ("zu", "acc", "bank", "the", "zur Bank"),
        ("von", "dat", "horse", "the", "vom Pferd"),
        ("in", "dat", "hotel", "this", "in diesem Hotel"),
        ("in", "dat", "hotel", "a", "in einem Hotel"),
    ],
)
def test_prepositions_fuse_with_articles(preposition: str, case: str, noun: str, determiner: str, text: str) -> None:
    phrase = Prepositional(10, "in", (preposition,), case, NounPhrase(20, NOUNS[noun], determiner))
    assert " ".join(token.text for token in phrase.german(Choices())) == text


@pytest.mark.parametrize(
    ("number", "source", "target"),
    [
        (1, "one", "eins"),
        (12, "twelve", "zwölf"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (21, "twenty-one", "einundzwanzig"),
        (30, "thirty", "dreißig"),
        (67, "sixty-seven", "siebenundsechzig"),
        (101, "one hundred and one", "einhunderteins"),
        (250, "two hundred and fifty", "zweihundertfünfzig"),
        (3500, "three thousand five hundred", "dreitausendfünfhundert"),
        (20_000, "twenty thousand", "zwanzigtausend"),
    ],
)
def test_numbers(number: int, source: str, target: str) -> None:
    assert english.cardinal(number) == source
    assert german.cardinal(number) == target


@pytest.mark.parametrize(
    ("verb", "third", "ing", "past"),
    [
        ("carry", "carries", "carrying", "carried"),
        ("go", "goes", "going", "went"),
        ("wash", "washes", "washing", "washed"),
        ("swim", "swims", "swimming", "swam"),
        ("lie", "lies", "lying", "lay"),
        ("write", "writes", "writing", "wrote"),
        ("travel", "travels", "travelling", "travelled"),
        ("play", "plays", "playing", "played"),
        ("see", "sees", "seeing", "saw"),
    ],
)
def test_english_verbs(verb: str, third: str, ing: str, past: str) -> None:
    entry = VERBS[verb]
    assert (entry.third, entry.ing, entry.past) == (third, ing, past)


def test_article_follows_the_sound() -> None:
    assert [english.article(word) for word in ("apple", "red", "umbrella", "uniform")] == ["an", "a", "an", "a"]
