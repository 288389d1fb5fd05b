"""The verdict on made-up runs whose story is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from glassformer.evaluate.score import Score
from glassformer.evaluate.translation import BLEU, CHRF, EXACT
from glassformer.explain.verdict import Facts, curve, score_sentence, verdict

STEPS = range(100, 2001, 100)
GOOD = Score("BLEU", 97.9, 97.3, 98.5, "signature", 1000)
WEAK = Score("BLEU", 12.0, 10.5, 13.4, "signature", 1000)


def falling(step: int, *, floor: float, speed: float = 300) -> float:
    return floor + 5 * math.exp(-step / speed)


def known(**facts: Any) -> Facts:
    named = {"examples": "sentence pairs", "held": "sentences", "part": "unseen sentences"}
    return Facts(metrics=(BLEU, CHRF, EXACT), **{**named, **facts})


def story(curves: list[dict[str, float | None]], *scores: Score, **facts: Any) -> str:
    return " ".join(verdict(curves, scores, known(**facts)))


def converged() -> list[dict[str, float | None]]:
    return [{"step": s, "train_loss": falling(s, floor=1.2), "valid_loss": falling(s, floor=1.3)} for s in STEPS]


def overfitted() -> list[dict[str, float | None]]:
    rise = {s: 0.0005 * max(0, s - 1000) for s in STEPS}
    return [
        {"step": s, "train_loss": falling(s, floor=0.2), "valid_loss": falling(s, floor=1.5) + rise[s]} for s in STEPS
    ]


def test_the_score_comes_first_with_its_interval() -> None:
    wanted = "BLEU 97.9, 95% interval 97.3 to 98.5 on 1,000 unseen sentences: nearly all are right."
    assert verdict(converged(), [GOOD], known())[0] == wanted
    assert score_sentence(Score("chrF", 50.04), CHRF) == "chrF 50.0."


def test_converged_says_so_and_a_good_score_needs_no_advice() -> None:
    text = story(converged(), GOOD, train_examples=500_000)
    assert "levelled off at a validation loss of 1.31" in text
    assert "does not overfit" in text
    assert "Next" not in text


def test_overfitting_is_dated_and_gets_advice() -> None:
    text = story(overfitted(), WEAK, dropout=0.1, train_examples=5_000)
    assert "overfits from step 1,100" in text
    assert "The weights of step 1,100 are kept" in text
    assert "5,000 sentence pairs are few" in text
    assert "more dropout (0.1 now, try 0.2)" in text


def test_overfitting_in_loss_while_bleu_rises_is_distinguished() -> None:
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
    text = story(converged(), WEAK, train_examples=500_000)
    assert "the gist is hard to get" in text
    assert "a larger model" in text
    assert "overfits from" not in text


def test_divergence_by_nan_and_by_blow_up() -> None:
    broken = [*converged(), {"step": 2100, "train_loss": float("nan")}]
    assert "at step 2,100 the loss became NaN or infinite" in story(broken)
    blown = [*converged(), *({"step": 2100 + i, "train_loss": 7.5, "valid_loss": 7.4} for i in range(4))]
    text = story(blown)
    assert "diverged" in text
    assert "a lower learning rate" in text


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
    text = story(converged(), WEAK, train_examples=3_000, vocabulary=8_000)
    assert "3,000 sentence pairs are few" in text
    assert "a smaller vocabulary" in text


def test_no_validation_is_admitted() -> None:
    text = story([{"step": s, "train_loss": falling(s, floor=1)} for s in STEPS])
    assert "cannot say whether the model overfits" in text
    assert "hold out some sentence pairs" in text


def test_few_test_sentences_are_a_caution() -> None:
    assert "50 sentences are few" in story(converged(), Score("BLEU", 40, 30, 50, "", 50))
    assert "10.0 points wide" in story(converged(), Score("BLEU", 40, 35, 45, "", 500))


def test_short_and_empty_runs() -> None:
    assert verdict([]) == ["No training steps are recorded yet."]
    assert "only 1 steps" not in story([{"step": 1000, "train_loss": 5.0}])
    assert "not measured often enough" in story([{"step": 1, "train_loss": 5.0, "valid_loss": 5.0}])
    assert "cannot say" in story([{"step": 1, "train_loss": 5.0}])
    one = story([{"step": 1, "train_loss": 5.0, "valid_loss": 5.0}])
    assert "only 1 step." in one
    assert "1 step is too few" in one
    assert len(curve([{"step": 1, "lr": None}, {"step": 2, "lr": float("inf")}], "lr")) == 0


def test_bleu_bands() -> None:
    said = [BLEU.words(value) for value in (99, 75, 45, 33, 25, 15, 3, 0)]
    assert len(set(said)) == 7
    assert BLEU.words(-1) == "hardly usable"


# A table of courses as they really come: validations now and then, training losses of single batches with their noise.


def course(
    steps: int,
    valid: Callable[[int], float],
    train: Callable[[int], float],
    *,
    validations: int = 10,
    noise: float = 0.5,
    seed: int = 1,
) -> list[dict[str, float | None]]:
    random = Random(seed)
    every, valid_every = max(1, steps // 200), steps // validations
    lines: list[dict[str, float | None]] = []
    for step in range(every, steps + 1, every):
        lines.append({"step": step, "train_loss": train(step) + random.gauss(0, noise)})
        if step % valid_every < every:
            lines.append({"step": step, "valid_loss": valid(step), "valid_bleu": 20.0, "valid_sentences": 110})
    return lines


def bleu(value: float) -> Score:
    return Score("BLEU", value, value - 1, value + 1, "signature", 1000)


def down(floor: float, speed: float) -> Callable[[int], float]:
    return lambda step: falling(step, floor=floor, speed=speed)


def up_from(turn: int, start: float, slope: float) -> Callable[[int], float]:
    return lambda step: falling(step, floor=start, speed=turn / 6) + slope * max(0, step - turn)


DIVERGED, OVERFITS, IMPROVING, LEVEL = "diverged", "overfits from", "still improving", "levelled off"
TABLE: list[tuple[str, list[dict[str, float | None]], Score, dict[str, Any], list[str], list[str]]] = [
    ("healthy and noisy", course(600, down(2.08, 250), down(3.0, 250)), bleu(32.2), {}, [IMPROVING], [DIVERGED]),
    ("very noisy", course(600, down(2.08, 250), down(3.0, 250), noise=1.0), bleu(32), {}, [], [DIVERGED, OVERFITS]),
    ("levelled off", course(4000, down(1.5, 200), down(1.9, 200)), bleu(45), {}, [LEVEL], [DIVERGED, "longer"]),
    ("weak", course(4000, down(3.5, 200), down(3.9, 200)), bleu(8), {}, [LEVEL, "a larger model"], [DIVERGED]),
    ("blown up", course(2000, up_from(1000, 2, 0.004), up_from(1000, 2.4, 0.004)), bleu(3), {},
     [DIVERGED], ["train longer"]),
    ("overfitted", course(4000, up_from(1500, 2, 0.0008), down(0.2, 900)), bleu(25), {}, [OVERFITS], [DIVERGED]),
    ("28 steps", course(28, down(5, 30), down(6, 30), validations=2), bleu(0.3), {},
     ["only 28 steps", "train longer: 28 steps are too few"], [DIVERGED, "larger model", "higher learning rate"]),
    ("99 BLEU, still improving", course(3000, down(0.02, 900), down(0.6, 900)), bleu(99.1), {}, [], ["Next", DIVERGED]),
    ("short budget", course(300, down(2.2, 100), down(3.0, 100), validations=2), bleu(21), {"budget": "3m"},
     ["train longer (the budget was 3m)"], [DIVERGED, "larger model"]),
    ("fine-tuned", course(60, down(2.0, 30), down(2.2, 30), validations=5), bleu(25),
     {"fine_tuned": True, "vocabulary": 5000, "train_examples": 361}, ["361 sentence pairs are few"],
     ["smaller vocabulary", "only 60 steps", "larger model"]),
    ("fine-tuned too long", course(600, up_from(100, 2, 0.002), down(0.2, 100)), bleu(25),
     {"fine_tuned": True}, [OVERFITS, "fewer epochs or a lower rate"], ["smaller model", "dropout"]),
]  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("name", "curves", "score", "facts", "said", "unsaid"), TABLE, ids=[row[0] for row in TABLE])
def test_the_verdict_fits_the_course(
    name: str, curves: Any, score: Score, facts: Any, said: list[str], unsaid: list[str], seed: int
) -> None:
    random = Random(seed)
    again = [{**line, **({"train_loss": line["train_loss"] + random.gauss(0, 0.3)} if "train_loss" in line else {})}
             for line in curves]  # fmt: skip
    text = " ".join(verdict(again, [score], known(**facts)))
    assert all(words in text for words in said), (name, text)
    assert not any(words in text for words in unsaid), (name, text)


def test_without_validations_only_a_clear_rise_of_the_training_loss_is_divergence() -> None:
    healthy = [line for line in course(600, down(2, 250), down(3, 250), noise=0.7) if "train_loss" in line]
    blown = [line for line in course(2000, down(2, 9), up_from(1000, 2.4, 0.004)) if "train_loss" in line]
    assert DIVERGED not in story(healthy)
    assert DIVERGED in story(blown)


def test_a_validation_loss_that_is_no_number_is_a_breakdown() -> None:
    assert "became NaN or infinite" in story([*converged(), {"step": 2100, "valid_loss": float("nan")}])
