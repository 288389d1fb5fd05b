"""The rule by which weights are kept, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.evaluate.classes import ACCURACY, MACRO_F1
from glassformer.evaluate.metric import LOSS, Measured, Metric, by_key, mean_of, measured
from glassformer.evaluate.perplexity import PERPLEXITY
from glassformer.evaluate.significance import paired_gap
from glassformer.evaluate.translation import BLEU, CHRF, EXACT
from glassformer.training.choice import (
    FEWEST,
    Gap,
    Leader,
    by_both,
    choose,
    counts_in,
    deciding,
    doubt,
    is_against_patience,
    judge,
    too_few,
)
from glassformer.training.job import Progress

METRICS = by_key((BLEU, CHRF, EXACT))
BETTER, WORSE, NOISE, LESS = Gap(1.0, 0.1), Gap(-1.0, 0.1), Gap(0.1, 0.1), Gap(-0.1, 0.1)


def losses(mean: float, *, seed: int = 0, count: int = 200, noise: float = 0.3) -> Measured:
    """Losses of sentences that are hard and easy for every checkpoint alike, plus noise of this one."""
    hardness = np.random.default_rng(99).normal(0, 2, count)
    own = np.random.default_rng(seed).normal(0, noise, count)
    values = mean + hardness - hardness.mean() + own - own.mean()
    return Measured(LOSS, np.stack([values, np.ones(count)], axis=1))


def leading(found: Measured, name: str = "loss", step: int = 1) -> Leader:
    return Leader(step, {name: found.total}, {name: found.values})


def test_the_error_of_a_paired_difference_is_that_of_its_mean() -> None:
    one, other = losses(2.0, seed=1), losses(1.9, seed=2)
    gain, error = paired_gap(one.values, other.values, mean_of)
    singles = other.values[:, 0] - one.values[:, 0]
    assert gain == pytest.approx(-0.1)
    assert error == pytest.approx(singles.std(ddof=1) / np.sqrt(len(singles)))  # how hard a sentence is drops out


def test_the_error_covers_what_chance_does() -> None:
    """Of two checkpoints that are equally good, the difference is within two errors in about 95 of 100 cases."""
    random, within = np.random.default_rng(3), 0
    for _ in range(300):
        tokens = random.integers(3, 30, 120).astype(float)
        one, other = (np.stack([tokens * random.normal(2, 0.5, 120), tokens], axis=1) for _ in range(2))
        gain, error = paired_gap(one, other, mean_of)
        within += abs(gain) < 2 * error
    assert 0.9 < within / 300 < 0.99


def test_of_one_sentence_no_error_is_known() -> None:
    assert paired_gap(np.array([[2.0, 1.0]]), np.array([[9.0, 1.0]]), mean_of) == (7.0, float("inf"))


@pytest.mark.parametrize(
    ("loss", "bleu", "outcome", "leads"),
    [
        (BETTER, NOISE, "best", True),
        (BETTER, WORSE, "best", True),  # the loss of all sentences is the surer of the two
        (NOISE, LESS, "best", True),
        (LESS, NOISE, "as good", False),  # within chance of the best: the later is kept
        (LESS, WORSE, "worse", False),
        (NOISE, WORSE, "worse", False),
        (WORSE, NOISE, "worse", False),
        (WORSE, BETTER, "best", True),  # too confident, and better at choosing words
        (WORSE, None, "worse", False),
        (LESS, None, "as good", False),
        (Gap(0.0, 0.0), Gap(0.0, 0.0), "best", True),  # equals: the later
        (Gap(-0.005, 0.0001, 0.01), None, "as good", False),  # sure, and too small to matter
    ],
)
def test_the_rule(loss: Gap, bleu: Gap | None, outcome: str, leads: bool) -> None:
    ruling = by_both(loss, bleu, {})
    assert (ruling.outcome, ruling.leads) == (outcome, leads)


def test_a_bleu_of_few_sentences_does_not_count() -> None:
    """The report that led to this rule: 22.36 against 22.30 BLEU on 110 sentences, loss 2.730 against 2.525."""
    before, after = losses(2.730, seed=1), losses(2.525, seed=2)
    leader = Leader(218, {"loss": 2.730, "bleu": 22.36}, {"loss": before.values})
    found = judge("auto", leader, {"loss": after.total, "bleu": 22.30}, {"loss": after}, METRICS)
    assert found.outcome == "best"
    few = losses(0.0, count=FEWEST - 1)
    worse_bleu = Leader(1, {"loss": 2.0, "bleu": 25.0}, {"bleu": few.values})
    assert judge("auto", worse_bleu, {"loss": 2.0, "bleu": 10.0}, {"bleu": few}, METRICS).keeps


def test_slow_decay_does_not_creep_past_the_rule() -> None:
    """Each validation is within chance of the one before; compared is with the best, so the last is not kept."""
    leader = leading(losses(2.0, seed=1, noise=0.05))
    found = [
        judge("auto", leader, {"loss": m.total}, {"loss": m}, METRICS)
        for i in range(1, 9)
        for m in [losses(2.0 + 0.008 * i, seed=10 + i, noise=0.05)]
    ]
    assert [ruling.outcome for ruling in found] == ["as good", *["worse"] * 7]


def test_what_is_not_finite_is_never_kept() -> None:
    assert not judge("auto", Leader(), {"loss": float("nan"), "bleu": 1.0}, {}, METRICS).keeps
    assert not judge("auto", leading(losses(2.0)), {"loss": float("inf"), "bleu": 1.0}, {}, METRICS).keeps


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_a_metric_that_was_named_decides_alone_and_chance_is_reported(name: str) -> None:
    references = [(f"der Hund {i} läuft durch den Park",) for i in range(60)]
    one = [options[0] if i % 3 else "die Katze" for i, options in enumerate(references)]
    other = [options[0] if i % 3 != 1 or i == 1 else "die Katze" for i, options in enumerate(references)]
    first, second = (measured((BLEU, CHRF), texts, [("", options) for options in references]) for texts in (one, other))
    leader = leading(first[name], name, step=20)
    better = judge(name, leader, {name: second[name].total, "loss": 9.0}, second, METRICS)
    assert (better.outcome, better.leads) == ("best", True)
    assert "steps 20 and 40" in doubt(name, 40, leader, better, METRICS)
    assert "within chance" in doubt(name, 40, leader, better, METRICS)
    assert judge(name, leading(second[name], name), {name: first[name].total}, first, METRICS).outcome == "worse"
    assert judge(name, leader, {name: first[name].total}, first, METRICS).leads  # equals: the later


def test_nothing_is_doubted_where_the_difference_is_sure() -> None:
    leader = leading(losses(2.0, seed=1))
    ruling = judge("loss", leader, {"loss": 1.0}, {"loss": losses(1.0, seed=2)}, METRICS)
    assert doubt("loss", 2, leader, ruling, METRICS) == ""


@pytest.mark.parametrize(
    ("schedule", "mean", "against"),
    [("linear", 2.02, False), ("linear", 2.9, True), ("constant", 2.02, True), ("constant", 1.9, False)],
)
@pytest.mark.parametrize("best_by", ["auto", "loss"])
def test_patience_is_not_used_up_by_noise(schedule: str, mean: float, against: bool, best_by: str) -> None:
    found = losses(mean, seed=2)
    ruling = judge(best_by, leading(losses(2.0, seed=1)), {"loss": found.total}, {"loss": found}, METRICS)
    assert is_against_patience(ruling, best_by=best_by, schedule=schedule) is against


def test_the_counts_come_back_from_a_checkpoint_to_the_last_bit() -> None:
    leader = leading(losses(2.0))
    assert np.array_equal(counts_in({**leader.tensors()})["loss"], leader.counts["loss"])


@pytest.mark.parametrize(
    ("sentences", "best_by", "words"),
    [
        (7, "auto", "Only 7 validation sentences: too few"),
        (1, "loss", "Only 1 validation sentence: too few"),
        (7, "bleu", "will choose by chance"),
        (50, "bleu", ""),
        (1014, "auto", ""),
    ],
)
def test_too_few_sentences_are_reported(sentences: int, best_by: str, words: str) -> None:
    found = too_few(sentences, best_by)
    assert words in found
    assert bool(found) == bool(words)


# Any metric


def test_the_loss_and_the_headline_metric_decide() -> None:
    assert deciding("auto", METRICS) == (LOSS, BLEU)
    assert deciding("auto", by_key((PERPLEXITY, ACCURACY))) == (LOSS, ACCURACY)  # perplexity says what the loss says
    assert deciding("auto", by_key((PERPLEXITY,))) == (LOSS,)
    assert deciding("chrf", METRICS) == (CHRF,)


@pytest.mark.parametrize("metric", [ACCURACY, MACRO_F1])
def test_classes_decide_as_words_do(metric: Metric) -> None:
    examples = [("a text", label) for label in "abcd" * 20]
    right = [label for _, label in examples]
    wrong = ["a" if i % 2 else label for i, label in enumerate(right)]
    metrics = by_key((metric,))
    good, bad = (Measured(metric, metric.counts(found, examples)) for found in (right, wrong))
    same = losses(2.0)
    leader = Leader(1, {"loss": 2.0, metric.key: good.total}, {"loss": same.values, metric.key: good.values})
    scores = {"loss": 2.0, metric.key: bad.total}
    assert judge("auto", leader, scores, {"loss": same, metric.key: bad}, metrics).outcome == "worse"
    assert judge(metric.key, leader, {metric.key: bad.total}, {metric.key: bad}, metrics).outcome == "worse"


def test_lower_is_better_where_the_metric_says_so() -> None:
    account = Progress(step=7)
    ruling = choose(
        account, Leader(), {"perplexity": 12.5}, best_by="perplexity", schedule="linear", metrics=by_key((PERPLEXITY,))
    )
    assert (ruling.outcome, account.best_score) == ("best", -12.5)
    leader = Leader(7, {"perplexity": 12.5})
    assert judge("perplexity", leader, {"perplexity": 12.0}, {}, by_key((PERPLEXITY,))).leads
    assert not judge("perplexity", leader, {"perplexity": 13.0}, {}, by_key((PERPLEXITY,))).keeps
