"""ROUGE: cases computed by hand, equal to `rouge-score` on generated texts, and words of other scripts."""

from __future__ import annotations

from random import Random

import pytest
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer

from glassformer.evaluate.metric import Measured
from glassformer.evaluate.porter import stemmed
from glassformer.evaluate.rouge import COMPARE, ENGLISH, UNICODE, rouge, rouge_metrics, usual_words, words_of

ENDINGS = """
    ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti
    biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion ou
    ism ate iti ous ive ize e ll ed ing eed ied ies s ss y
"""
WORDS = "connected connection connections relational hopping hoping agreed dying skies happily generalization news"
REAL = [*WORDS.split()]


def random_words(random: Random, count: int) -> list[str]:
    stems = ("".join(random.choice("abcdeioyltsz") for _ in range(random.randint(1, 6))) for _ in range(count))
    return [stem + random.choice([*ENDINGS.split(), ""]) for stem in stems]


def test_stems_are_those_of_nltk() -> None:
    stemmer = PorterStemmer()
    for word in [*REAL, *random_words(Random(1), 3000)]:
        assert stemmed(word) == stemmer.stem(word), word


def test_by_hand() -> None:
    reference, summary = "the cat sat on the mat", "the cat on a mat"
    assert rouge("rouge1", summary, [reference]).f1 == pytest.approx(2 * 4 / (5 + 6))
    assert rouge("rouge2", summary, [reference]).f1 == pytest.approx(2 * 1 / (4 + 5))  # the cat
    assert rouge("rougeL", summary, [reference]).f1 == pytest.approx(2 * 4 / (5 + 6))  # the cat on mat
    assert rouge("rougeL", "mat cat", ["cat mat"]).f1 == pytest.approx(0.5)


@pytest.mark.parametrize("stem", [True, False])
def test_equal_to_rouge_score(stem: bool) -> None:
    random, scorer = Random(2), RougeScorer(list(COMPARE), use_stemmer=stem)
    known = [*REAL, *random_words(random, 30), "The", "U.S.", "x-ray", "1,000", "naïve"]
    for _ in range(60):
        summary, reference = (
            "\n".join(" ".join(random.choices(known, k=random.randint(0, 9))) for _ in range(random.randint(1, 3)))
            for _ in range(2)
        )
        for key, wanted in scorer.score(reference, summary).items():
            found = rouge(key, summary, [reference], stem=stem)
            got = (found.precision, found.recall, found.f1)
            assert got == pytest.approx((wanted.precision, wanted.recall, wanted.fmeasure)), (key, summary, reference)


def test_the_best_reference_counts() -> None:
    assert rouge("rouge1", "a cat", ["a dog", "a cat"]).f1 == 1
    wanted = RougeScorer(["rouge1"]).score_multi(["a dog ran", "one cat"], "a cat ran")["rouge1"].fmeasure
    assert rouge("rouge1", "a cat ran", ["a dog ran", "one cat"], stem=False).f1 == pytest.approx(wanted)


def test_other_scripts_have_words() -> None:
    """`rouge-score` drops every other letter: a Russian text would have no words."""
    assert words_of("Привет, мир", words=ENGLISH) == []
    assert words_of("Привет, МИР 5", words=UNICODE) == ["привет", "мир", "5"]
    assert words_of("我爱你 ok", words=UNICODE) == ["我", "爱", "你", "ok"]
    assert usual_words([["Привет, мир"]]) == UNICODE
    assert usual_words([["naïve words"]]) == ENGLISH


def test_the_metric_is_the_mean_and_says_how_it_is_computed() -> None:
    metric = rouge_metrics()[0]
    examples = [("", "x", ("a cat",)), ("", "x", ("a dog", "one dog"))]
    assert Measured(metric, metric.counts(["a cat", "no"], examples)).total == pytest.approx(50)
    assert metric.signature is not None
    assert metric.signature(examples) == "rouge1|f1|words:a-z|stems:porter|nrefs:var|best-of-references"
