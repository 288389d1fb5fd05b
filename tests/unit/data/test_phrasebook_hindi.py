"""The Hindi side of the phrasebook, against tables written by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from glassformer.data.phrasebook import Phrasebook, phrasebook, words
from glassformer.data.phrasebook.hindi import morphology
from glassformer.data.phrasebook.hindi.documents import DOCUMENT_SENTENCES
from glassformer.data.phrasebook.hindi.nouns import ADJECTIVES, NOUNS


@pytest.fixture(scope="module")
def book() -> Phrasebook:
    return phrasebook(target="hi", train=4_000, valid=0, test=30, seed=3)


@pytest.mark.parametrize(
    ("name", "forms"),  # direct, oblique, direct plural, oblique plural
    [
        ("boy", "लड़का लड़के लड़के लड़कों"),
        ("girl", "लड़की लड़की लड़कियाँ लड़कियों"),
        ("book", "किताब किताब किताबें किताबों"),
        ("apple", "सेब सेब सेब सेबों"),
        ("potato", "आलू आलू आलू आलुओं"),
        ("elephant", "हाथी हाथी हाथी हाथियों"),
        ("bird", "चिड़िया चिड़िया चिड़ियाँ चिड़ियों"),
        ("kitchen", "रसोई रसोई रसोइयाँ रसोइयों"),
        ("brother", "भाई भाई भाई भाइयों"),
        ("restaurant", "रेस्तराँ रेस्तराँ रेस्तराँ रेस्तराओं"),
        ("photo", "फ़ोटो फ़ोटो फ़ोटो फ़ोटो"),
        ("language", "भाषा भाषा भाषाएँ भाषाओं"),
    ],
)
def test_nouns(name: str, forms: str) -> None:
    noun = NOUNS[name][0]
    found = [noun.form(plural=plural, oblique=oblique) for plural in (False, True) for oblique in (False, True)]
    assert found == forms.split()


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (" not have to ", "ज़रूरत नहीं है"),  # no need, and not a duty not to
        (" when the weather is ", "होता है"),
        (" when she has time", "होता है"),
    ],
)
def test_negated_duties_and_what_is_so_each_time(book: Phrasebook, pattern: str, said: str) -> None:
    found = [p for p in book.train if pattern in p.source]
    assert found
    for phrase in found:
        assert all(said in one for one in phrase.references), phrase


def test_childhood_is_past_and_questions_of_time_are_not_habits(book: Phrasebook) -> None:
    young = [p for p in book.train if p.source.startswith("When ") and " was young" in p.source]
    assert young
    assert not any("होता" in p.references[0].partition(",")[0] for p in young)


def test_fathers_kings_and_uncles_keep_their_ending() -> None:
    for name in ("father", "king", "uncle", "grandfather"):
        noun = NOUNS[name][0]
        assert noun.form(plural=False, oblique=True) == noun.text


@pytest.mark.parametrize(
    ("name", "forms"),  # masculine, feminine, masculine plural
    [("good", "अच्छा अच्छी अच्छे"), ("red", "लाल लाल लाल"), ("new", "नया नई नए"), ("small", "छोटा छोटी छोटे")],
)
def test_adjectives_agree(name: str, forms: str) -> None:
    word = ADJECTIVES[name]
    found = [morphology.agreeing(word, g, p) for g, p in (("m", False), ("f", False), ("m", True))]
    assert found == forms.split()
    assert morphology.agreeing("अच्छा", "m", False, oblique=True) == "अच्छे"


@pytest.mark.parametrize(
    ("stem", "forms"),  # masculine, masculine plural, feminine, feminine plural
    [
        ("खा", "खाया खाए खाई खाईं"),
        ("देख", "देखा देखे देखी देखीं"),
        ("कर", "किया किए की कीं"),
        ("दे", "दिया दिए दी दीं"),
        ("पी", "पिया पिए पी पीं"),
        ("जा", "गया गए गई गईं"),
        ("सो", "सोया सोए सोई सोईं"),
    ],
)
def test_perfective(stem: str, forms: str) -> None:
    found = [morphology.perfective(stem, gender, plural) for gender in "mf" for plural in (False, True)]
    assert found == forms.split()


def test_future_and_commands() -> None:
    assert [morphology.future("कर", person, "m", person not in (0, 2)) for person in range(6)] == [
        "करूँगा", "करोगे", "करेगा", "करेंगे", "करेंगे", "करेंगे",
    ]  # fmt: skip
    assert morphology.future("खा", 2, "f", False) == "खाएगी"
    assert [morphology.polite_command(stem) for stem in ("खोल", "कर", "दे", "जा")] == ["खोलिए", "कीजिए", "दीजिए", "जाइए"]
    assert [morphology.familiar_command(stem) for stem in ("खोल", "दे", "जा")] == ["खोलो", "दो", "जाओ"]


# ------------------------------------------------------------------ sentences


SENTENCES = {
    "How are you?": ("आप कैसे हैं?", "तुम कैसे हो?"),
    "Congratulations!": ("बधाई हो!", "मुबारक हो!"),
    "Thank you.": ("धन्यवाद।", "शुक्रिया।"),
    "I like eating ice-cream.": ("मुझे आइसक्रीम खाना पसंद है।",),
    "I ate an apple.": ("मैंने एक सेब खाया।",),
    "We are friends.": ("हम दोस्त हैं।", "हम सहेलियाँ हैं।"),
    "The apple is better than the orange.": ("सेब संतरे से बेहतर है।",),
}


def test_the_documents_sentences() -> None:
    found = {phrase.source: phrase.references for phrase in DOCUMENT_SENTENCES}
    assert {source: found[source] for source in SENTENCES} == SENTENCES


def test_the_alignment_of_the_ice_cream() -> None:
    """Four English words and five Hindi ones, as the documents draw them."""
    phrase = next(one for one in DOCUMENT_SENTENCES if one.source == "I like eating ice-cream.")
    assert len(words(phrase.source)) - 1 == 4
    assert len(words(phrase.references[0])) - 1 == 5
    links = {(words(phrase.source)[i], words(phrase.references[0])[j]) for i, j in phrase.sure}
    assert links == {("I", "मुझे"), ("like", "पसंद"), ("eating", "खाना"), ("ice-cream", "आइसक्रीम"), (".", "।")}


def test_statements_end_in_a_danda(book: Phrasebook) -> None:
    for phrase in book.train:
        assert phrase.references[0][-1] == {".": "।"}.get(phrase.source[-1], phrase.source[-1])


def test_the_verb_agrees_with_the_object_after_ne() -> None:
    """After ने the verb never agrees with the subject: "read" is पढ़ा for a novel, पढ़ी for a book, whoever reads."""
    known = {NOUNS["book"][0].text: "पढ़ी", NOUNS["novel"][0].text: "पढ़ा", NOUNS["letter"][0].text: "पढ़ी"}
    seen = Counter[str]()
    for phrase in phrasebook(target="hi", train=6_000, valid=0, test=0, seed=9).train:
        found = words(phrase.references[0])
        for noun, verb in pairwise(found):
            if noun in known and verb.startswith("पढ़") and phrase.construction == "perfect" and verb[3:4] in "ाी":
                assert verb == known[noun], phrase
                seen[verb] += 1
    assert seen


def test_polite_or_familiar_follows_the_name(book: Phrasebook) -> None:
    for phrase in book.train:
        found = set(words(" ".join(phrase.references)))
        if ", Mr " in phrase.source or ", Mrs " in phrase.source:
            assert not found & {"तुम", "तुमने", "तुम्हें", "तुम्हारा", "तुम्हारी", "तुम्हारे"}, phrase
        elif ", children" in phrase.source:
            assert not found & {"आप", "आपने", "आपको", "आपका", "आपकी", "आपके"}, phrase


def test_alignments_are_in_range_and_nearly_complete(book: Phrasebook) -> None:
    loose = Counter[str]()
    for phrase in book.train:
        rows, target = len(words(phrase.source)), words(phrase.references[0])
        assert phrase.sure <= phrase.possible
        assert all(0 <= i < rows and 0 <= j < len(target) for i, j in phrase.possible), phrase.source
        aligned = {j for _, j in phrase.possible}
        loose.update(word for j, word in enumerate(target) if j not in aligned)
    assert sum(loose.values()) - loose[","] < 20, loose
