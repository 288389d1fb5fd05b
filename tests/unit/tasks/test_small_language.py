"""The small language of the experiments: correct German, known alignments and roles, texts of any length."""

from __future__ import annotations

from random import Random

import pytest

from glassformer.tasks.experiments.small_language import (
    ACCUSATIVE,
    AGENTS,
    NOMINATIVE,
    OBJECT,
    OTHER,
    PRONOUNS,
    SUBJECT,
    THINGS,
    small_text,
    small_texts,
)

GENDERS = {english: gender for english, _, gender in (*AGENTS, *THINGS)}
GERMAN = {english: german for english, german, _ in (*AGENTS, *THINGS)}


@pytest.fixture(scope="module")
def texts() -> list[object]:
    return [small_text(Random(seed), 2) for seed in range(60)]


def test_articles_agree_with_gender_and_case(texts: list) -> None:
    for text in texts:
        german, links = text.phrase.references[0].split(), dict(text.phrase.sure)
        for place, (word, role) in enumerate(zip(text.words, text.roles, strict=True)):
            if word in GENDERS:
                start = max(i for i in range(place) if text.words[i] == "the")
                articles = NOMINATIVE if role == SUBJECT else ACCUSATIVE
                assert german[links[start]] == articles[GENDERS[word]]
                assert german[links[place]] == GERMAN[word]


def test_it_has_the_gender_of_what_it_means(texts: list) -> None:
    seen = set()
    for text in texts:
        german, links = text.phrase.references[0].split(), dict(text.phrase.sure)
        for place in (i for i, word in enumerate(text.words) if word == "it"):
            role = text.roles[place]
            meant = max(i for i in range(place) if text.roles[i] == role and text.words[i] != "it")
            assert german[links[place]] == PRONOUNS[GENDERS[text.words[meant]]]
            assert (text.words[place + 2] in ("hungry", "tired")) == (role == SUBJECT)
            seen.add(role)
    assert seen == {SUBJECT, OBJECT}


def test_every_word_is_linked_once(texts: list) -> None:
    for text in texts:
        sources, targets = zip(*sorted(text.phrase.sure), strict=True)
        assert list(sources) == list(range(len(text.words)))
        assert sorted(targets) == list(range(len(text.phrase.references[0].split())))
        assert len(text.roles) == len(text.words)
        assert text.roles[0] == OTHER


def test_texts_differ_and_can_be_long() -> None:
    train = small_texts(40, clauses=(1, 3), seed=1)
    test = small_texts(20, clauses=(1, 3), seed=1, without=train)
    assert len({one.phrase.source for one in (*train, *test)}) == 60
    assert train == small_texts(40, clauses=(1, 3), seed=1)
    assert len(small_text(Random(1), 8).words) > 40
