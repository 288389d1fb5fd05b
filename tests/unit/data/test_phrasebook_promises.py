"""What the phrasebook promises: the split, the determinism, the shape of each phrase, the documents' sentences."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from glassformer.data.phrasebook import CONSTRUCTIONS, DOCUMENT_SENTENCES, Phrase, Phrasebook, phrasebook, words
from glassformer.data.phrasebook.aligned import Choices, Token, links, renderings, sentence
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.split import combinations, draft_of, drafts, held_out
from glassformer.data.phrasebook.verbs import VERBS
from glassformer.errors import DataError


@pytest.fixture(scope="module")
def book() -> Phrasebook:
    return phrasebook(train=9_000, valid=60, test=200, seed=3)


@pytest.fixture(scope="module")
def everything(book: Phrasebook) -> list[Phrase]:
    return book.train + book.valid + book.test


# ------------------------------------------------------------------ the split


def test_sizes(book: Phrasebook) -> None:
    assert (len(book.train), len(book.valid), len(book.test)) == (9_000, 60, 200)


def test_no_sentence_occurs_twice(everything: list[Phrase]) -> None:
    assert len({phrase.source for phrase in everything}) == len(everything)


def test_training_has_no_held_out_combination(book: Phrasebook) -> None:
    for phrase in book.train:
        for combination in combinations(phrase.construction, phrase.lemmas, ()):
            assert not held_out(combination), phrase.source


def test_held_out_pairs_never_meet_in_training(book: Phrasebook) -> None:
    """An object that is held out for a verb: no training sentence has just these two as its only verb and noun."""
    verbs = {verb.name for verb in VERBS.values()}
    for phrase in book.train:
        if phrase.construction not in ("present", "perfect", "modal", "future", "kein"):
            continue
        used = [lemma for lemma in phrase.lemmas if lemma in verbs]
        nouns = [lemma for lemma in phrase.lemmas if lemma in NOUNS]
        # The subject is the first noun if there are two; with a pronoun as subject the only noun is the object.
        pronoun = phrase.source.split()[0] in ("I", "He", "She", "We", "They")
        if len(used) == 1 and len(nouns) == 1 and pronoun:
            assert not held_out(("pair", used[0], nouns[0])), phrase.source


def test_test_sentences_are_new_combinations() -> None:
    """The hold-out is what tells the parts apart: drafts with a held-out combination are never learned."""
    random = Random(5)
    book = phrasebook(train=3_000, valid=0, test=0, seed=5)
    learned = {phrase.source for phrase in book.train[len(DOCUMENT_SENTENCES) :]}
    stream = drafts(random)
    seen = [next(stream) for _ in range(3_500)]
    held = [draft for draft in seen if any(map(held_out, combinations(draft.construction, draft.lemmas, draft.pairs)))]
    assert 0.1 < len(held) / len(seen) < 0.4
    assert not learned & {draft.source for draft in held}
    assert learned & {draft.source for draft in seen}


def test_each_part_of_a_test_sentence_is_frequent_in_training(book: Phrasebook) -> None:
    counts = Counter(lemma for phrase in book.train for lemma in phrase.lemmas)
    kinds = Counter(phrase.construction for phrase in book.train)
    for phrase in book.valid + book.test:
        assert kinds[phrase.construction] >= 20
        assert min(counts[lemma] for lemma in phrase.lemmas) >= 20


def test_hold_out_depends_on_letters_only() -> None:
    found = [noun for noun in NOUNS if held_out(("pair", "buy", noun))]
    assert found == [noun for noun in NOUNS if held_out(("pair", "buy", noun))]
    assert 0 < len(found) < len(NOUNS) / 4
    assert not held_out(("pair", "eat", "apple"))  # the documents' sentence is for learning


def test_same_seed_same_book() -> None:
    first = phrasebook(train=300, valid=0, test=0, seed=7)
    assert first == phrasebook(train=300, valid=0, test=0, seed=7)
    assert first.train != phrasebook(train=300, valid=0, test=0, seed=8).train


def test_impossible_sizes() -> None:
    with pytest.raises(DataError, match="train=-1"):
        phrasebook(train=-1)
    with pytest.raises(DataError, match="larger training part"):
        phrasebook(train=50, valid=5, test=5)


def test_nothing_asked_nothing_given() -> None:
    assert phrasebook(train=0, valid=0, test=0) == Phrasebook([], [], [])


# ------------------------------------------------------------------ the phrases


def test_sentences_are_written_well(everything: list[Phrase]) -> None:
    for phrase in everything:
        for text in (phrase.source, *phrase.references):
            assert text[0].isupper(), text
            assert text[-1] in ".?!", text
            assert "  " not in text, text
            assert not {" ,", " .", " ?"} & {text[at : at + 2] for at in range(len(text))}, text


def test_references_are_distinct_and_not_too_many(everything: list[Phrase]) -> None:
    for phrase in everything:
        assert len(set(phrase.references)) == len(phrase.references)
        assert 1 <= len(phrase.references) <= 150


def test_lengths(everything: list[Phrase]) -> None:
    lengths = [len(words(phrase.source)) for phrase in everything]
    assert max(lengths) <= 20
    assert sum(lengths) / len(lengths) < 10


def test_links_are_in_range(everything: list[Phrase]) -> None:
    for phrase in everything:
        rows, columns = len(words(phrase.source)), len(words(phrase.references[0]))
        assert phrase.sure <= phrase.possible
        assert all(0 <= i < rows and 0 <= j < columns for i, j in phrase.possible), phrase.source


def test_nearly_every_word_is_aligned(everything: list[Phrase]) -> None:
    loose = Counter[str]()
    for phrase in everything:
        aligned = {j for _, j in phrase.possible}
        loose.update(word for j, word in enumerate(words(phrase.references[0])) if j not in aligned)
    assert set(loose) <= {",", "Sie", "mich"}  # commas without a partner, the subject of a polite command


def test_final_punctuation_is_aligned(everything: list[Phrase]) -> None:
    for phrase in everything:
        assert (len(words(phrase.source)) - 1, len(words(phrase.references[0])) - 1) in phrase.sure


def test_one_sentence_has_one_list_of_references() -> None:
    """Whatever construction a sentence comes from, its translations are the same."""
    random = Random(11)
    known = {phrase.source: phrase.references for phrase in DOCUMENT_SENTENCES}
    stream = drafts(random)
    for _ in range(6_000):
        draft = next(stream)
        if draft.source in known:
            assert draft.phrase().references == known[draft.source], draft.source
        else:
            known[draft.source] = draft.phrase().references


def test_vocatives_settle_the_address(everything: list[Phrase]) -> None:
    polite = [p for p in everything if ", Mr " in p.source or ", Mrs " in p.source]
    assert polite
    for phrase in polite:
        found = set(words(" ".join(phrase.references)))
        assert not found & {"du", "dich", "dir", "dein", "deine", "euch", "euer", "eure"}, phrase


def test_you_without_a_name_has_three_translations() -> None:
    random = Random(1)
    for _ in range(200):
        phrase = draft_of("what-question", random).phrase()
        if " you " in phrase.source and "," not in phrase.source:
            found = set(words(" ".join(phrase.references)))
            assert {"du", "ihr", "Sie"} <= found
            assert "du" in words(phrase.references[0])


def test_every_construction_is_drawn(book: Phrasebook) -> None:
    counts = Counter(phrase.construction for phrase in book.train)
    assert set(counts) == set(CONSTRUCTIONS)
    assert min(counts.values()) >= 20, counts  # a lemma that each of its sentences has is not held out


@pytest.mark.parametrize("name", [n for n in CONSTRUCTIONS if n not in ("greeting", "predicate-noun")])
def test_constructions_draw_many_sentences(name: str) -> None:
    random = Random(2)
    assert len({draft_of(name, random).source for _ in range(60)}) > 25


# ------------------------------------------------------------------ the documents


def test_documents_open_the_training_part(book: Phrasebook) -> None:
    assert tuple(book.train[: len(DOCUMENT_SENTENCES)]) == DOCUMENT_SENTENCES


@pytest.mark.parametrize("phrase", DOCUMENT_SENTENCES, ids=[phrase.source for phrase in DOCUMENT_SENTENCES])
def test_document_sentences(phrase: Phrase) -> None:
    rows, columns = len(words(phrase.source)), len(words(phrase.references[0]))
    assert all(i < rows and j < columns for i, j in phrase.possible)
    assert (rows - 1, columns - 1) in phrase.sure
    assert phrase.construction in CONSTRUCTIONS


def test_the_sentence_of_the_documents() -> None:
    first = DOCUMENT_SENTENCES[0]
    assert first.source == "I ate an apple."
    assert first.references[0] == "Ich habe einen Apfel gegessen."
    assert {(1, 1), (1, 4)} <= first.sure


# ------------------------------------------------------------------ words, links, choices


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I ate an apple.", ["I", "ate", "an", "apple", "."]),
        ("Am 3. Mai kam er, oder?", ["Am", "3.", "Mai", "kam", "er", ",", "oder", "?"]),
        ("It didn't rain at two o'clock!", ["It", "didn't", "rain", "at", "two", "o'clock", "!"]),
        ("Er ist 3.", ["Er", "ist", "3", "."]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_links_follow_keys() -> None:
    source = [Token("ate", (1, 2)), Token("did", (), (3,))]
    target = [Token("habe", (2,)), Token("gegessen", (1,)), Token("x", (3,))]
    sure, possible = links(source, target)
    assert sure == {(0, 0), (0, 1)}
    assert possible == {(0, 0), (0, 1), (1, 2)}


def test_renderings_enumerate_all_choices() -> None:
    def render(choices: Choices) -> str:
        first = "ab"[choices.pick("first", 2)]
        return first + ("xyz"[choices.pick("second", 3)] if first == "a" else "") + str(choices.pick("first", 2))

    assert renderings(render) == ["ax0", "ay0", "az0", "b1"]


def test_sentence_joins_punctuation() -> None:
    assert sentence([Token("er"), Token("kam"), Token(","), Token("sah"), Token(".")]) == "Er kam, sah."


def test_one_asks_only_for_objects_that_suit_the_verb() -> None:
    objects = {(verb.name, noun.english) for verb in VERBS.values() for noun in verb.objects}
    random = Random(11)
    assert {pair for _ in range(2_000) for pair in draft_of("which-question", random).pairs} <= objects


def test_every_word_form_to_test_with_is_frequent_in_training(book: Phrasebook) -> None:
    for side in (lambda phrase: phrase.source, lambda phrase: phrase.references[0]):
        seen = Counter(word for phrase in book.train for word in words(side(phrase)))
        assert min(seen[word] for phrase in book.valid + book.test for word in words(side(phrase))) >= 20
