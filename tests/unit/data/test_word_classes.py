"""The class of each English word of the phrasebook, compared with labels given by hand."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from glassformer.data.phrasebook import words
from glassformer.data.phrasebook.split import drafts
from glassformer.data.phrasebook.word_classes import CLASSES, NEGATED, classes_of

SHORT = {
    "a": "article", "d": "determiner", "n": "noun", "j": "adjective", "v": "verb", "x": "auxiliary", "y": NEGATED,
    "p": "pronoun", "r": "preposition", "b": "adverb", "c": "conjunction", "t": "particle", "q": "question word",
    "m": "name", "#": "number", "i": "interjection", "-": "negation", ".": "punctuation",
}  # fmt: skip
BY_HAND = {
    "The animal didn't cross the street because it was too wide.": "a n y v a n c p x b j .",
    "His old dog is eating an apple in the kitchen.": "d j n x v a n r a n .",
    "You were not allowed to try on the red dress on Monday.": "p x - v t v t a j n r m .",
    "I like to listen to Anna, Mrs Weber.": "p v t v r m . m m .",
    "Please give her apples!": "i v p n .",
    "She gave her friend the book.": "p v d n a n .",
    "Her aunt did not show her daughter her new dress.": "d n x - v d n d j n .",
    "He visited her yesterday.": "p v p b .",
    "They have already bought two tickets.": "p x b v # n .",
    "They have two tickets.": "p v # n .",
    "She has never read this novel.": "p x b v d n .",
    "He had to work, but he had no time.": "p x t v . c p v d n .",
    "When did you clean the clean windows?": "q x p v a j n .",
    "When they are young, they often clean windows.": "c p x j . p b v n .",
    "We do not know when the cups were clean.": "p x - v q a n x j .",
    "Her aunt is not bringing them clean forks.": "d n x - v p j n .",
    "The lamp is standing next to the bed.": "a n x v r r a n .",
    "Next week Paul goes home.": "j n m v b .",
    "Max can't stay at home.": "m y v r n .",
    "There are three hundred and five chairs under the tree.": "p x # # c # n r a n .",
    "The dress is more expensive than his hat.": "a n x b j c d n .",
    "No, thank you for your help.": "i . v p r d n .",
    "Thank you very much.": "v p b b .",
    "How much does it cost?": "q b x p v .",
    "On 3 May she wakes up at half past five.": "r # m p v t r n r # .",
    "I know that his neighbour is picking her up.": "p v c d n x v p t .",
}


@pytest.mark.parametrize("text", BY_HAND)
def test_every_word_has_the_class_that_a_reader_gives_it(text: str) -> None:
    split = words(text)
    assert list(zip(split, classes_of(split), strict=True)) == [
        (word, SHORT[short]) for word, short in zip(split, BY_HAND[text].split(), strict=True)
    ]


def test_every_word_that_the_grammar_makes_has_a_class() -> None:
    unknown = set()
    for draft in islice(drafts(Random(4)), 1500):
        split = words(draft.source)
        unknown |= {word for word, one in zip(split, classes_of(split), strict=True) if one not in CLASSES}
    assert unknown == set()


def test_other_words_have_no_class() -> None:
    assert classes_of(["Xylophone", "the"]) == ("", "article")
    assert classes_of([]) == ()
    assert classes_of(["her"]) == ("pronoun",)
    assert classes_of(["when"]) == ("conjunction",)
