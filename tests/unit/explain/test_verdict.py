"""The verdict on made-up runs whose story is known."""

from __future__ import annotations

import math

from glassformer.evaluate.score import Score
from glassformer.explain.verdict import bleu_words, curve, score_sentence, verdict

STEPS = range(100, 2001, 100)
GOOD = Score("BLEU", 97.9, 97.3, 98.5, "signature", 1000)
WEAK = Score("BLEU", 12.0, 10.5, 13.4, "signature", 1000)


def falling(step: int, *, floor: float, speed: float = 300) -> float:
    return floor + 5 * math.exp(-step / speed)


def story(curves: list[dict[str, float | None]], *scores: Score, **facts: float) -> str:
    return " ".join(verdict(curves, scores, **facts))  # type: ignore[arg-type]


def converged() -> list[dict[str, float | None]]:
    return [{"step": s, "train_loss": falling(s, floor=1.2), "valid_loss": falling(s, floor=1.3)} for s in STEPS]


def overfitted() -> list[dict[str, float | None]]:
    rise = {s: 0.0005 * max(0, s - 1000) for s in STEPS}
    return [
        {"step": s, "train_loss": falling(s, floor=0.2), "valid_loss": falling(s, floor=1.5) + rise[s]} for s in STEPS
    ]


def test_the_score_comes_first_with_its_interval() -> None:
    wanted = "BLEU 97.9, 95% interval 97.3 to 98.5 on 1,000 unseen sentences: nearly all are right."
    assert verdict(converged(), [GOOD])[0] == wanted
    assert score_sentence(Score("chrF", 50.04)) == "chrF 50.0."


def test_converged_says_so_and_a_good_score_needs_no_advice() -> None:
    text = story(converged(), GOOD, train_pairs=500_000)
    assert "levelled off at a validation loss of 1.31" in text
    assert "does not overfit" in text
    assert "Next" not in text


def test_overfitting_is_dated_and_gets_advice() -> None:
    text = story(overfitted(), WEAK, dropout=0.1, train_pairs=5_000)
    assert "overfits from step 1,100" in text
    assert "The weights of step 1,100 are the ones to keep" in text
    assert "5,000 sentence pairs are few" in text
    assert "more dropout (0.1 now, try 0.2)" in text


def test_overfitting_in_loss_while_bleu_rises_is_told_apart() -> None:
    curves = [{**point, "valid_bleu": 0.01 * (point["step"] or 0)} for point in overfitted()]
    text = story(curves, WEAK)
    assert "though the validation BLEU still rose to" in text
    assert "stop earlier" not in text


def test_a_wiggle_is_not_overfitting() -> None:
    curves = converged()
    for point in curves[-3:]:
        point["valid_loss"] = (point["valid_loss"] or 0) + 0.01
    assert "overfits from" not in story(curves)


def test_still_improving_asks_for_more_time() -> None:
    curves = [{"step": s, "train_loss": 6 - s / 500, "valid_loss": 6.1 - s / 500} for s in STEPS]
    text = story(curves, WEAK)
    assert "still improving when it stopped" in text
    assert "train longer" in text


def test_underfitting_asks_for_a_larger_model() -> None:
    text = story(converged(), WEAK, train_pairs=500_000)
    assert "the gist is hard to get" in text
    assert "a larger model" in text
    assert "overfits from" not in text


def test_divergence_by_nan_and_by_blow_up() -> None:
    broken = [*converged(), {"step": 2100, "train_loss": float("nan")}]
    assert "at step 2,100 the loss was no longer a number" in story(broken)
    blown = [*converged(), *({"step": 2100 + i, "train_loss": 7.5} for i in range(4))]
    text = story(blown)
    assert "diverged" in text
    assert "lower the learning rate" in text


def test_noise_around_a_small_loss_is_neither_divergence_nor_overfitting() -> None:
    noisy = [
        {"step": s, "train_loss": 0.01 + 0.02 * (s // 100 % 3), "valid_loss": 0.02 + 0.005 * (s // 100 % 2)}
        for s in STEPS
    ]
    text = story(noisy, GOOD)
    assert "diverged" not in text
    assert "overfits from" not in text


def test_a_score_that_leaves_little_to_gain_needs_no_advice() -> None:
    assert "Next" not in story(overfitted(), GOOD, dropout=0.1)


def test_little_data_and_a_large_vocabulary_are_named() -> None:
    text = story(converged(), WEAK, train_pairs=3_000, vocabulary=8_000)
    assert "3,000 sentence pairs are few" in text
    assert "a smaller vocabulary" in text


def test_no_validation_is_admitted() -> None:
    text = story([{"step": s, "train_loss": falling(s, floor=1)} for s in STEPS])
    assert "cannot say whether the model overfits" in text
    assert "hold some sentence pairs out" in text


def test_few_test_sentences_are_a_caution() -> None:
    assert "50 test sentences are few" in story(converged(), Score("BLEU", 40, 30, 50, "", 50))
    assert "10.0 points wide" in story(converged(), Score("BLEU", 40, 35, 45, "", 500))


def test_short_and_empty_runs() -> None:
    assert verdict([]) == ["No training steps are recorded yet."]
    assert "too seldom" in story([{"step": 1, "train_loss": 5.0, "valid_loss": 5.0}])
    assert "cannot say" in story([{"step": 1, "train_loss": 5.0}])
    assert len(curve([{"step": 1, "lr": None}, {"step": 2, "lr": float("inf")}], "lr")) == 0


def test_bleu_bands() -> None:
    said = [bleu_words(value) for value in (99, 75, 45, 33, 25, 15, 3, 0)]
    assert len(set(said)) == 7
    assert bleu_words(-1) == "hardly usable"
