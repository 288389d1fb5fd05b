"""What the phrasebook promises in every language and direction, and into English."""

from __future__ import annotations

from random import Random

import pytest

from glassformer.data.phrasebook import DOCUMENT_SENTENCES, document_sentences, phrasebook, words
from glassformer.data.phrasebook.aligned import Token
from glassformer.data.phrasebook.equivalents import spelled_out, with_contractions
from glassformer.data.phrasebook.language import LANGUAGES, language_named
from glassformer.data.phrasebook.meaning import MissingWord
from glassformer.data.phrasebook.phrase import Phrase
from glassformer.data.phrasebook.split import draft_of, drafts
from glassformer.errors import DataError

DIRECTIONS = [(source, target) for code in LANGUAGES for source, target in (("en", code), (code, "en"))]
TRANSLATED = [code for code in LANGUAGES if code != "de"]


def as_text(phrase: Phrase) -> tuple[str, tuple[str, ...]]:
    return phrase.source, phrase.references


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_direction_is_drawn_the_same_way_twice_without_repeats(source: str, target: str) -> None:
    draw = lambda: phrasebook(source=source, target=target, train=400, valid=0, test=0, seed=5)  # noqa: E731
    book = draw()
    assert list(map(as_text, draw().train)) == list(map(as_text, book.train))
    assert len({phrase.source for phrase in book.train}) == 400
    for phrase in book.train:
        rows, columns = len(words(phrase.source)), len(words(phrase.references[0]))
        assert phrase.sure <= phrase.possible
        assert all(0 <= i < rows and 0 <= j < columns for i, j in phrase.possible), phrase


@pytest.mark.parametrize("target", TRANSLATED)
def test_held_out_sentences_are_new_but_their_words_are_not(target: str) -> None:
    book = phrasebook(target=target, train=5_000, valid=5, test=20, seed=2)
    assert not {phrase.source for phrase in book.train} & {phrase.source for phrase in book.valid + book.test}
    for side in (lambda phrase: phrase.source, lambda phrase: phrase.references[0]):
        seen = {word for phrase in book.train for word in words(side(phrase))}
        assert seen.issuperset(word for phrase in book.test for word in words(side(phrase)))


@pytest.mark.parametrize("code", TRANSLATED)
def test_one_sentence_has_one_list_of_references(code: str) -> None:
    """Whatever construction a sentence comes from, its translations are the same; also those of the documents."""
    language = language_named(code)
    assert language is not None
    known = {phrase.source: phrase.references for phrase in language.DOCUMENT_SENTENCES}
    stream = drafts(Random(11))
    for _ in range(2_500):
        draft = next(stream)
        try:
            references = draft.phrase(language).references
        except MissingWord:
            continue
        assert known.setdefault(draft.source, references) == references, draft.source
        assert len(references) <= 60


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_documents_sentences_are_generated_among_many_like_them(code: str) -> None:
    """Each construction of a document sentence gives many other sentences, so none is only learned by heart."""
    language = language_named(code)
    for name in {phrase.construction for phrase in DOCUMENT_SENTENCES}:
        random, found = Random(3), set()
        for _ in range(150):
            try:
                found.add(draft_of(name, random).phrase(language).source)
            except MissingWord:
                continue
        assert len(found) > 25, name


@pytest.mark.parametrize("code", LANGUAGES)
def test_all_languages_have_the_documents_sentences(code: str) -> None:
    phrases = document_sentences(target=code)
    wanted = {phrase.source for phrase in DOCUMENT_SENTENCES}
    assert wanted <= {phrase.source for phrase in phrases}
    back = document_sentences(source=code, target="en")
    assert [(phrase.references[0], phrase.source) for phrase in back] == [
        (phrase.source, phrase.references[0]) for phrase in phrases
    ]


def test_the_grammar_gives_what_the_documents_list() -> None:
    """The lists of translations are those of the grammar (here for the constructions with few sentences)."""
    wanted = {
        phrase.source: phrase.references
        for phrase in DOCUMENT_SENTENCES
        if phrase.construction in ("greeting", "whereabouts", "tasting")
    }
    found: dict[str, tuple[str, ...]] = {}
    random = Random(1)
    for name in ("greeting", "whereabouts", "tasting"):
        for _ in range(4_000):
            draft = draft_of(name, random)
            if draft.source in wanted and draft.source not in found:
                found[draft.source] = draft.phrase().references
    assert found.items() <= wanted.items()
    assert {"How are you?", "Congratulations!", "Thank you.", "The money is in the bank."} <= set(found)


# ------------------------------------------------------------------ into English


def test_he_and_she_are_both_right_where_the_source_does_not_say() -> None:
    phrases = phrasebook(source="hi", target="en", train=600, valid=0, test=0, seed=4).train
    open_ones = [p for p in phrases if p.source.startswith("उसने") and p.construction == "perfect"]
    assert open_ones
    for phrase in open_ones:
        assert {one.split()[0] for one in phrase.references} >= {"He", "She"}, phrase
    for phrase in phrases:
        if phrase.construction == "direction" and phrase.source.startswith("वह "):  # the verb shows it
            assert len({one.split()[0] for one in phrase.references}) == 1, phrase


def test_must_and_have_to_are_one_word_in_german() -> None:
    phrases = phrasebook(source="de", target="en", train=800, valid=0, test=0, seed=4).train
    found = [p for p in phrases if p.construction == "modal" and {"muss", "müssen", "musst"} & set(words(p.source))]
    assert found
    for phrase in found:
        assert any(" must " in one for one in phrase.references), phrase
        assert any(" has to " in one or " have to " in one for one in phrase.references), phrase


@pytest.mark.parametrize("code", LANGUAGES)
def test_streets_and_roads_are_one_word_in_the_other_languages(code: str) -> None:
    phrases = phrasebook(source=code, target="en", train=1_500, valid=0, test=0, seed=4).train
    found = [p for p in phrases if {"street", "road", "streets", "roads"} & set(words(p.references[0]))]
    assert len(found) > 5
    for phrase in found:
        if "which" not in phrase.references[0].lower() and "how many" not in phrase.references[0].lower():
            kinds = {"street" in one for one in phrase.references}
            assert kinds == {True, False}, phrase


def test_nobody_is_too_healthy() -> None:
    for phrase in phrasebook(train=6_000, valid=0, test=0, seed=9).train:
        assert not {"healthy", "tasty", "lovely"} & set(words(phrase.source.partition(" too ")[2])), phrase


def test_english_is_learned_without_contractions_but_both_are_references() -> None:
    assert [token.text for token in spelled_out([Token("didn't", (-1,), (-2,)), Token("can't", (-1, 3))])] == [
        "did", "not", "cannot",
    ]  # fmt: skip
    assert with_contractions(["I did not see it."]) == ["I did not see it.", "I didn't see it."]
    for phrase in phrasebook(source="it", target="en", train=800, valid=0, test=0).train[len(DOCUMENT_SENTENCES) + 2 :]:
        assert "n't" not in phrase.references[0], phrase


def test_impossible_languages() -> None:
    with pytest.raises(DataError, match=r"'fr'. Available: de \(German\), it \(Italian\), hi \(Hindi\)"):
        phrasebook(target="fr")
    with pytest.raises(DataError, match="English on one side; got 'de' and 'it'"):
        phrasebook(source="de", target="it")
    with pytest.raises(DataError, match="English on one side"):
        phrasebook(source="en", target="en")


def test_sentences_of_the_documents_may_be_translated_with_and_without_contractions() -> None:
    references = [one.references for one in document_sentences(source="de", target="en")]
    found = next(one for one in references if one[0].startswith("The animal didn't"))
    assert found[1] == found[0].replace("didn't", "did not")
