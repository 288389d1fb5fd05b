"""BLEU, chrF and exact match, with signatures and intervals."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from glassformer.errors import DataError
from glassformer.evaluate.intervals import score_with_interval, wilson
from glassformer.evaluate.sacrebleu_counts import reference_streams
from glassformer.evaluate.score import Score
from glassformer.evaluate.translation import EXACT, bleu_and_chrf, corpus_scores, with_references

REFERENCES = [f"Der Hund Nummer {i} isst am Abend gern viel frisches Brot." for i in range(20)]
HYPOTHESES = [text if i % 3 else text.replace("frisches Brot", "altes Brot") for i, text in enumerate(REFERENCES)]
SINGLE = [(reference,) for reference in REFERENCES]


def by_name(scores: list[Score]) -> dict[str, Score]:
    return {score.name: score for score in scores}


def test_a_perfect_copy_scores_100_with_an_interval_around_it() -> None:
    for score in corpus_scores(REFERENCES, SINGLE, resamples=50):
        assert score.value == pytest.approx(100)
        assert score.high == pytest.approx(100)
        if score.key == "exact":
            assert score.low == pytest.approx(100 * wilson(len(SINGLE), len(SINGLE))[0])  # a bootstrap has no width
        else:
            assert score.low == pytest.approx(100)
        assert score.sentences == 20


def test_the_numbers_are_sacrebleus_own() -> None:
    scores = by_name(corpus_scores(HYPOTHESES, SINGLE, resamples=50))
    assert scores["BLEU"].value == pytest.approx(BLEU().corpus_score(HYPOTHESES, [REFERENCES]).score)
    assert scores["chrF"].value == pytest.approx(CHRF().corpus_score(HYPOTHESES, [REFERENCES]).score)
    assert bleu_and_chrf(HYPOTHESES, SINGLE) == (scores["BLEU"].value, scores["chrF"].value)


def test_the_interval_is_sacrebleus_own_bootstrap() -> None:
    theirs = BLEU().corpus_score(HYPOTHESES, [REFERENCES], n_bootstrap=100)
    ours = by_name(corpus_scores(HYPOTHESES, SINGLE, resamples=100))["BLEU"]
    assert ours.low == pytest.approx(theirs._mean - theirs._ci, abs=1e-3)
    assert ours.high == pytest.approx(min(100, theirs._mean + theirs._ci), abs=1e-3)
    assert ours.low < ours.value < ours.high


def test_the_signatures_say_how_it_was_computed() -> None:
    scores = by_name(corpus_scores(HYPOTHESES, SINGLE, resamples=50))
    for part in ("nrefs:1", "bs:50", "seed:12345", "case:mixed", "tok:13a", "version:"):
        assert part in scores["BLEU"].signature
    assert "nc:6" in scores["chrF"].signature
    assert scores["exact match"].signature == "exact|case:mixed|nrefs:1"


def test_the_same_translations_score_the_same_each_time() -> None:
    assert corpus_scores(HYPOTHESES, SINGLE, resamples=50) == corpus_scores(HYPOTHESES, SINGLE, resamples=50)


@pytest.mark.parametrize(
    "hypotheses",
    [
        [""] * 20,
        ["x"] * 20,
        ["", *REFERENCES[1:]],
        [REFERENCES[0], *[""] * 19],  # some draws hold the one good sentence, others score nothing
        [REFERENCES[0], *["x"] * 19],
    ],
)
def test_useless_translations_are_measured_too(hypotheses: list[str]) -> None:
    for score in corpus_scores(hypotheses, SINGLE, resamples=50):
        assert score.low is not None
        assert score.high is not None
        assert 0 <= score.low <= score.high <= 100
        assert 0 <= score.value <= 100


def test_a_single_sentence_is_enough() -> None:
    assert [score.value for score in corpus_scores(REFERENCES[:1], SINGLE[:1])] == pytest.approx([100] * 3)


def test_any_of_several_references_will_do() -> None:
    many = [(f"anders {i}", reference) if i % 2 else (reference,) for i, reference in enumerate(REFERENCES)]
    for score in corpus_scores(REFERENCES, many, resamples=50):
        assert score.value == pytest.approx(100)
        assert "nrefs:var" in score.signature


def test_streams_are_filled_up_with_none() -> None:
    assert reference_streams([("a", "b"), ("c",), ("d", "e", "f")]) == [
        ["a", "c", "d"],
        ["b", None, "e"],
        [None, None, "f"],
    ]


def test_exact_match_is_exact() -> None:
    score = score_with_interval(EXACT, ["a.", "b", "C"], with_references([("a.",), ("b.", "b"), ("c",)]))
    assert score.value == pytest.approx(200 / 3)
    assert score.low is not None
    assert score.high is not None
    assert 0 <= score.low < score.value < score.high <= 100


@pytest.mark.parametrize(("hypotheses", "references"), [([], []), (["a"], []), (["a"], [("a",), ("b",)])])
def test_unequal_numbers_are_refused(hypotheses: list[str], references: list[tuple[str]]) -> None:
    told = f"Got {len(hypotheses)} translations and {len(references)} references"
    with pytest.raises(DataError, match=told):
        corpus_scores(hypotheses, references)
    with pytest.raises(DataError, match=told):
        bleu_and_chrf(hypotheses, references)


def test_a_score_reads_as_a_sentence() -> None:
    assert str(Score("BLEU", 12.345, 10.0, 14.0)) == "BLEU 12.35 (95% interval 10.00 to 14.00)"
    assert str(Score("BLEU", 12.0)) == "BLEU 12.00"
