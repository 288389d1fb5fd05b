"""A run in plain words: how good it is, whether it overfits, whether it was done, and what to try next.

Every sentence rests on numbers of the run, by the thresholds below. They are rules of thumb, chosen so that an
ordinary wiggle of a curve does not trigger them; the sentences quote the numbers so that a reader can disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from glassformer.evaluate.score import Score
from glassformer.explain.report import CurvePoint

RISE = 0.02  # validation loss this much above its best, relatively and in nats, counts as risen
GAIN = 0.02  # validation loss this much better over the last fifth of the run counts as still improving
BLEU_GAIN = 0.5  # the same for BLEU and chrF, in points
BLOW_UP = 1.25  # training loss this many times its best, and half a nat above it, counts as diverged
FEW_PAIRS = 20_000  # below this, more data is the surest help
FEW_SENTENCES = 200  # below this, a score says little
WEAK_BLEU = 30.0

# BLEU of at least this much means, roughly: the bands that translators' tools commonly quote.
BLEU_WORDS = (
    (90.0, "nearly all are right"),
    (60.0, "most are right or nearly so"),
    (40.0, "good translations, with slips"),
    (30.0, "understandable, often good"),
    (20.0, "the gist comes through, with clear mistakes"),
    (10.0, "the gist is hard to get"),
    (0.0, "hardly usable"),
)


@dataclass(frozen=True)
class Curve:
    """One measured quantity over the steps; only finite values."""

    steps: list[int]
    values: list[float]

    def __len__(self) -> int:
        return len(self.values)

    def end(self) -> float:
        """The mean of the last values (a tenth of them, at most 3): one wiggle must not decide."""
        count = max(1, min(3, len(self.values) // 10))
        return sum(self.values[-count:]) / count

    def since(self, step: int) -> Curve:
        kept = [(s, v) for s, v in zip(self.steps, self.values, strict=True) if s >= step]
        return Curve([s for s, _ in kept], [v for _, v in kept])

    def until(self, step: float) -> Curve:
        kept = [(s, v) for s, v in zip(self.steps, self.values, strict=True) if s <= step]
        return Curve([s for s, _ in kept], [v for _, v in kept])


def curve(points: Sequence[CurvePoint], key: str) -> Curve:
    """The finite values of one column, with their steps."""
    found = [(int(point["step"] or 0), value) for point in points if (value := point.get(key)) is not None]
    finite = [(step, value) for step, value in found if math.isfinite(value)]
    return Curve([step for step, _ in finite], [value for _, value in finite])


def verdict(
    curves: Sequence[CurvePoint],
    scores: Sequence[Score] = (),
    *,
    train_pairs: int | None = None,
    vocabulary: int | None = None,
    dropout: float | None = None,
    part: str = "unseen sentences",
) -> list[str]:
    """Sentences for a person: the scores first, then how the training went, then what to try next."""
    sentences = [score_sentence(score, part) for score in scores if score.name.upper().startswith(("BLEU", "CHRF"))]
    sentences += [caution for score in scores[:1] if (caution := score_caution(score))]
    if not curves:
        return [*sentences, "No training steps are recorded yet."]
    if blown := divergence_sentence(curves):
        return [*sentences, blown, "Next: lower the learning rate or lengthen its warm-up, and start again."]
    course = course_sentence(curves)
    advice = next_steps(curves, scores, train_pairs=train_pairs, vocabulary=vocabulary, dropout=dropout)
    return [*sentences, course, *(["Next: " + "; ".join(advice) + "."] if advice else [])]


# How good it is.


def score_sentence(score: Score, part: str = "unseen sentences") -> str:
    """`BLEU 97.9, 95% interval 97.3 to 98.5 on 1,000 unseen sentences: nearly all are right.`"""
    text = f"{score.name} {score.value:.1f}"
    if score.low is not None and score.high is not None:
        text += f", 95% interval {score.low:.1f} to {score.high:.1f}"
    if score.sentences is not None:
        text += f" on {score.sentences:,} {part}"
    return f"{text}: {bleu_words(score.value)}." if score.name.upper().startswith("BLEU") else f"{text}."


def bleu_words(value: float) -> str:
    return next((words for least, words in BLEU_WORDS if value >= least), BLEU_WORDS[-1][1])


def score_caution(score: Score) -> str | None:
    """A warning where the score itself is shaky."""
    if score.sentences is not None and score.sentences < FEW_SENTENCES:
        few = f"{score.sentences:,} test sentences are few"
        return f"{few}: read the score with care, and test on {FEW_SENTENCES} or more."
    if score.low is not None and score.high is not None and score.high - score.low > 5:
        return f"The interval is {score.high - score.low:.1f} points wide: smaller differences between runs are chance."
    return None


# How the training went.


def divergence_sentence(curves: Sequence[CurvePoint]) -> str | None:
    """A loss that is no longer a number, or that ends well above where it has been."""
    for point in curves:
        loss = point.get("train_loss")
        if loss is not None and not math.isfinite(loss):
            return f"The training broke down: at step {int(point['step'] or 0):,} the loss was no longer a number."
    train = curve(curves, "train_loss")
    if len(train) >= 3 and train.end() > max(BLOW_UP * min(train.values), min(train.values) + 0.5):
        best = train.steps[train.values.index(min(train.values))]
        return (
            f"The training diverged: the training loss was {min(train.values):.2f} at step {best:,} "
            f"and {train.end():.2f} at the end."
        )
    return None


def course_sentence(curves: Sequence[CurvePoint]) -> str:
    """Overfitted, still improving, or done; with the numbers that say so."""
    valid = curve(curves, "valid_loss")
    if not len(valid):
        return "Nothing was measured on validation data, so this page cannot say whether the model overfits."
    if len(valid) < 3:
        return f"The validation loss is {valid.values[-1]:.2f}; it was measured too seldom to show a trend."
    start = overfits_from(curves)
    if start is not None:
        return overfit_sentence(curves, valid, start)
    if still_improving(curves):
        return f"It was still improving when it stopped: the validation loss fell to {valid.values[-1]:.2f}."
    return f"The training has levelled off at a validation loss of {min(valid.values):.2f}; it does not overfit."


def overfit_sentence(curves: Sequence[CurvePoint], valid: Curve, start: int) -> str:
    text = (
        f"It overfits from step {start:,} on: the validation loss rose from {min(valid.values):.2f} "
        f"to {valid.end():.2f} while the training loss went on falling"
    )
    if bleu_rose_after(curves, start):
        return f"{text}, though the validation BLEU still rose to {curve(curves, 'valid_bleu').end():.1f}."
    return f"{text}. The weights of step {start:,} are the ones to keep."


def bleu_rose_after(curves: Sequence[CurvePoint], step: int) -> bool:
    """Loss and BLEU can part: a model that grows too sure of itself may still choose better words."""
    bleu = curve(curves, "valid_bleu")
    before = bleu.until(step)
    return len(before) > 0 and bleu.end() > max(before.values) + BLEU_GAIN


def overfits_from(curves: Sequence[CurvePoint]) -> int | None:
    """The step of the best validation loss, if it rose clearly from there while the training loss fell."""
    valid, train = curve(curves, "valid_loss"), curve(curves, "train_loss")
    if len(valid) < 3 or len(train) < 2:
        return None
    best = valid.steps[valid.values.index(min(valid.values))]
    risen = len(valid.since(best)) >= 3 and valid.end() > min(valid.values) + RISE * max(1.0, min(valid.values))
    near = train.until(best)
    falling = train.end() < (near.end() if len(near) else train.values[0])
    return best if risen and falling else None


def still_improving(curves: Sequence[CurvePoint]) -> bool:
    """Whether the last fifth of the run still bettered the validation loss or BLEU clearly."""
    last = max(int(point["step"] or 0) for point in curves)
    valid, bleu = curve(curves, "valid_loss"), curve(curves, "valid_bleu")
    before, bleu_before = valid.until(0.8 * last), bleu.until(0.8 * last)
    loss_fell = len(before) > 0 and min(valid.values) < (1 - GAIN) * min(before.values)
    bleu_rose = len(bleu_before) > 0 and max(bleu.values) > max(bleu_before.values) + BLEU_GAIN
    return loss_fell or bleu_rose


# What to try next.


def next_steps(
    curves: Sequence[CurvePoint],
    scores: Sequence[Score],
    *,
    train_pairs: int | None,
    vocabulary: int | None,
    dropout: float | None,
) -> list[str]:
    """Advice that fits what was seen, the likeliest help first; none where the scores leave little to gain."""
    bleu = next((score.value for score in scores if score.name.upper().startswith("BLEU")), None)
    if not len(curve(curves, "valid_loss")):
        return ["hold some sentence pairs out for validation"]
    start, improving = overfits_from(curves), still_improving(curves)
    overfit = start is not None
    if bleu is not None and bleu >= BLEU_WORDS[0][0] and (overfit or not improving):
        return []
    advice = ["train longer"] if improving and not overfit else []
    few = train_pairs is not None and train_pairs < FEW_PAIRS
    if few and (overfit or (bleu is not None and bleu < BLEU_WORDS[1][0])):
        advice.append(f"add data: {train_pairs:,} sentence pairs are few, and nothing helps as surely")
    if start is not None:
        advice.append(more_dropout(dropout))
        advice += [] if bleu_rose_after(curves, start) else ["stop earlier or take a smaller model"]
    if train_pairs and vocabulary and vocabulary > train_pairs:
        advice.append(f"a smaller vocabulary: {vocabulary:,} entries are seen too rarely in {train_pairs:,} pairs")
    if not overfit and not improving and bleu is not None and bleu < WEAK_BLEU:
        advice.append("a larger model or a higher learning rate: it has stopped learning before it was good")
    return advice


def more_dropout(dropout: float | None) -> str:
    if dropout is None or dropout >= 0.4:
        return "more dropout" if dropout is None else "more varied data"
    return f"more dropout ({dropout:g} now, try {min(0.4, round(dropout + 0.1, 2)):g})"
