"""A run in plain words: how good it is, whether it overfits, whether it had converged, and what to try next.

Every sentence is based on numbers of the run and the thresholds below. These are rules of thumb, chosen so that
ordinary noise in a curve does not trigger them. The sentences quote the numbers, so that readers can judge themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

from glassformer.evaluate.metric import LOSS, Metric, by_key, headline
from glassformer.evaluate.score import Score
from glassformer.explain.charts import capital
from glassformer.explain.report import CurvePoint
from glassformer.printable import counted

RISE = 0.02  # validation loss this much above its best, both relatively and in nats, counts as risen
GAIN = 0.02  # validation loss this much better over the last fifth of the run counts as still improving
BLOW_UP = 1.25  # validation loss this many times its best, and half a nat above it, counts as diverged
BLOCKS = 20  # a noisy training curve is split into this many parts, whose means are compared
SURE = 4.0  # standard errors by which these means must differ
FEW_STEPS = 200  # with fewer, a new model learns almost nothing
FEW_EXAMPLES = 20_000  # training examples: below this, more data is the most likely help
FEW_HELD = 200  # held-out examples: below this, a score says little
WIDE = 0.05  # share of the scale: a wider interval hides differences that matter
UNKNOWN = Metric("", "", LOSS.score, LOSS.counts)  # for a score whose metric is not known


@dataclass(frozen=True)
class Curve:
    """One measured quantity over the steps; only finite values."""

    steps: list[int]
    values: list[float]

    def __len__(self) -> int:
        return len(self.values)

    def end(self) -> float:
        """The mean of the last values (a tenth of them, at most 3), so that a single value does not decide."""
        count = max(1, min(3, len(self.values) // 10))
        return mean(self.values[-count:])

    def tail(self, count: int) -> float:
        """The mean of the last `count` values."""
        return mean(self.values[-count:])

    @property
    def block(self) -> int:
        """How many values of a noisy curve are averaged before they are compared."""
        return max(3, len(self.values) // BLOCKS)

    def risen(self) -> tuple[float, float]:
        """How far the last values are above the lowest part of the curve, and the standard error of that.

        Parts are means of `block` values. The noise of single values is estimated from the differences of neighbours,
        which a slow trend hardly affects.
        """
        size = self.block
        ends = range(len(self.values), size - 1, -size)
        means = [mean(self.values[end - size : end]) for end in ends]
        steps = [abs(b - a) for a, b in pairwise(self.values)]
        noise = median(steps) / (0.6745 * math.sqrt(2)) if steps else math.inf
        return (means[0] - min(means), noise * math.sqrt(2 / size)) if means else (0.0, math.inf)

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


@dataclass(frozen=True)
class Facts:
    """What is known about a run besides its curves and scores."""

    metrics: tuple[Metric, ...] = ()  # of its task
    train_examples: int | None = None
    examples: str = "examples"  # what training examples are called
    held: str = "examples"  # what held-out examples are called
    part: str = "unseen examples"  # what the scores were measured on
    vocabulary: int | None = None
    dropout: float | None = None
    budget: str | None = None  # the time budget, if there was one
    fine_tuned: bool = False  # vocabulary and shape come from another run

    def metric_of(self, score: Score) -> Metric:
        known = by_key(self.metrics)
        named = {one.label: one for one in known.values()}
        return known.get(score.key) or named.get(score.name) or UNKNOWN


def verdict(curves: Sequence[CurvePoint], scores: Sequence[Score] = (), facts: Facts | None = None) -> list[str]:
    """Sentences for the reader: the scores, then how training went, then what to try next."""
    known = facts or Facts()
    told = [(score, known.metric_of(score)) for score in scores]
    sentences = [
        score_sentence(score, metric, known.part)
        for score, metric in told
        if metric.at_validations and metric is not LOSS
    ]
    sentences += [caution for score, metric in told[:1] if (caution := score_caution(score, metric, known.held))]
    if not curves:
        return [*sentences, "No training steps are recorded yet."]
    if blown := divergence_sentence(curves):
        return [*sentences, blown, "Next: start again with a lower learning rate or a longer warm-up."]
    course = course_sentence(curves, known)
    few = few_steps(curves, fine_tuned=known.fine_tuned)
    course = f"Training made only {counted(few, 'step')}. {course}" if few else course
    advice = next_steps(curves, scores, known)
    return [*sentences, course, *(["Next: " + "; ".join(advice) + "."] if advice else [])]


# How good it is.


def score_sentence(score: Score, metric: Metric = UNKNOWN, part: str = "unseen examples") -> str:
    """`BIG 97.9, 95% interval 97.3 to 98.5 on 1,000 unseen sentences: nearly all are right.`"""
    text = f"{capital(score.name)} {metric.shown(score.value)}"
    if score.low is not None and score.high is not None:
        text += f", 95% interval {metric.shown(score.low)} to {metric.shown(score.high)}"
    if score.sentences is not None:
        text += f" on {score.sentences:,} {part}"
    if score.decoding:
        text += f" ({score.decoding})"
    words = metric.words(score.value)
    return f"{text}: {words}." if words else f"{text}."


def score_caution(score: Score, metric: Metric, held: str) -> str | None:
    """A warning if the score itself is uncertain."""
    low, high = metric.scale.low, metric.scale.high
    if score.sentences is not None and score.sentences < FEW_HELD and high is not None:
        few = f"{score.sentences:,} {held} are few"
        return f"{few}: read the score with care, and test on {FEW_HELD} or more."
    if score.low is None or score.high is None or high is None or score.high - score.low <= WIDE * (high - low):
        return None
    return (
        f"The interval is {score.high - score.low:.{metric.digits}f} points wide: smaller differences between runs may "
        "be chance."
    )


# How training went.


def divergence_sentence(curves: Sequence[CurvePoint]) -> str | None:
    """Reports a loss that became NaN or infinite, or training and validation losses that rose far above their best.

    The validation loss is checked first: a training loss is that of single batches, and noisy. A validation loss that
    rises while the training loss falls is overfitting.
    """
    for point in curves:
        for key in ("train_loss", "valid_loss"):
            loss = point.get(key)
            if loss is not None and not math.isfinite(loss):
                return f"Training broke down: at step {int(point['step'] or 0):,} the loss became NaN or infinite."
    train, valid = curve(curves, "train_loss"), curve(curves, "valid_loss")
    rise, error = train.risen() if len(train) >= 3 else (0.0, math.inf)
    if rise <= SURE * error:
        return None
    shown, name = (valid, "validation") if len(valid) >= 2 else (train, "training")
    best = min(shown.values)
    end = valid.values[-1] if len(valid) >= 2 else train.tail(train.block)
    if len(valid) < 2:  # only losses of single batches, so their noise must be subtracted
        best = end - rise
    if end <= max(BLOW_UP * best, best + 0.5):
        return None
    at = f" at step {shown.steps[shown.values.index(best)]:,}" if best in shown.values else ""
    return f"Training diverged: the {name} loss was {best:.2f}{at} and {end:.2f} at the end."


def few_steps(curves: Sequence[CurvePoint], *, fine_tuned: bool) -> int:
    """The number of steps, if it is too small for a new model; else 0."""
    made = max(int(point["step"] or 0) for point in curves)
    return made if made < FEW_STEPS and not fine_tuned else 0


def course_sentence(curves: Sequence[CurvePoint], facts: Facts) -> str:
    """Overfitting, still improving, or converged; with the numbers that show it."""
    valid = curve(curves, "valid_loss")
    if not len(valid):
        return "Nothing was measured on validation data, so this page cannot say whether the model overfits."
    if len(valid) < 3:
        return f"The validation loss is {valid.values[-1]:.2f}; it was not measured often enough to show a trend."
    start = overfits_from(curves)
    if start is not None:
        return overfit_sentence(curves, valid, start, headline(facts.metrics))
    if still_improving(curves, headline(facts.metrics)):
        return f"It was still improving when it stopped: the validation loss fell to {valid.values[-1]:.2f}."
    return f"Training has levelled off at a validation loss of {min(valid.values):.2f}; it does not overfit."


def overfit_sentence(curves: Sequence[CurvePoint], valid: Curve, start: int, metric: Metric | None) -> str:
    text = (
        f"It overfits from step {start:,} on: the validation loss rose from {min(valid.values):.2f} "
        f"to {valid.end():.2f} while the training loss kept falling"
    )
    if metric is not None and bettered_after(curves, start, metric):
        end = metric.shown(metric_curve(curves, metric).end())
        rose = "rose" if metric.higher_is_better else "fell"
        return f"{text}, though the validation {metric.label} still {rose} to {end}."
    return f"{text}. The weights of step {kept_step(curves) or start:,} are kept."


def kept_step(curves: Sequence[CurvePoint]) -> int:
    """The step whose weights the training kept, if the records say so."""
    return max((int(point["step"] or 0) for point in curves if point.get("best")), default=0)


def metric_curve(curves: Sequence[CurvePoint], metric: Metric) -> Curve:
    return curve(curves, f"valid_{metric.key}")


def best_of(values: Sequence[float], metric: Metric) -> float:
    return max(values) if metric.higher_is_better else min(values)


def bettered_after(curves: Sequence[CurvePoint], step: int, metric: Metric | None) -> bool:
    """Whether the metric improved after this step: a model that becomes overconfident may still predict better."""
    if metric is None:
        return False
    measured = metric_curve(curves, metric)
    before = measured.until(step)
    gain = least_gain(curves, metric)
    return len(before) > 0 and metric.gain(best_of(before.values, metric), measured.end()) > gain


def least_gain(curves: Sequence[CurvePoint], metric: Metric) -> float:
    """The smallest difference between two validations that is more than chance."""
    counts, scale = curve(curves, "valid_sentences").values, metric.scale
    return max(scale.gain, scale.noise / math.sqrt(counts[-1])) if counts and counts[-1] else scale.gain


def overfits_from(curves: Sequence[CurvePoint]) -> int | None:
    """The step of the best validation loss, if the loss rose clearly after it while the training loss fell."""
    valid, train = curve(curves, "valid_loss"), curve(curves, "train_loss")
    if len(valid) < 3 or len(train) < 2:
        return None
    best = valid.steps[valid.values.index(min(valid.values))]
    risen = len(valid.since(best)) >= 3 and valid.end() > min(valid.values) + RISE * max(1.0, min(valid.values))
    near, size = train.until(best), min(train.block, len(train) // 2)
    falling = train.tail(size) < (near.tail(size) if len(near) else train.values[0])
    return best if risen and falling else None


def still_improving(curves: Sequence[CurvePoint], metric: Metric | None) -> bool:
    """Whether the validation loss or the metric still improved clearly in the last fifth of the run."""
    last = max(int(point["step"] or 0) for point in curves)
    valid = curve(curves, "valid_loss")
    before = valid.until(0.8 * last)
    loss_fell = len(before) > 0 and min(valid.values) < (1 - GAIN) * min(before.values)
    if loss_fell or metric is None:
        return loss_fell
    measured = metric_curve(curves, metric)
    earlier = measured.until(0.8 * last)
    gained = len(earlier) > 0 and metric.gain(best_of(earlier.values, metric), best_of(measured.values, metric))
    return bool(gained > least_gain(curves, metric))


# What to try next.


def next_steps(curves: Sequence[CurvePoint], scores: Sequence[Score], facts: Facts) -> list[str]:
    """Advice based on what was measured, the most likely help first; none if the scores leave little to gain."""
    valid = curve(curves, "valid_loss")
    if not len(valid):
        return [f"hold out some {facts.examples} for validation"]
    first = next(((facts.metric_of(score), score.value) for score in scores[:1]), None)
    if first is not None and first[0].reaches(first[1], first[0].scale.excellent):
        return []
    longer = "train longer" if facts.budget is None else f"train longer (the budget was {facts.budget})"
    if few := few_steps(curves, fine_tuned=facts.fine_tuned):
        are = "is" if few == 1 else "are"
        return [f"{longer}: {counted(few, 'step')} {are} too few to judge anything else by"]
    start, trend_known = overfits_from(curves), len(valid) >= 3
    improving = still_improving(curves, headline(facts.metrics)) or (not trend_known and not facts.fine_tuned)
    advice = [longer] if improving and start is None else []
    advice += about_data(facts, overfits=start is not None, unfair=is_below(first, "fair"))
    if start is not None:
        advice += against_overfitting(curves, start, facts)
    advice += about_vocabulary(facts)
    if start is None and trend_known and not improving and is_below(first, "weak") and not facts.fine_tuned:
        advice.append("a larger model or a higher learning rate: it stopped improving before it was good")
    return advice


def is_below(first: tuple[Metric, float] | None, level: str) -> bool:
    """Whether a value is worse than a level of its metric's scale; False if the scale has no such level."""
    if first is None:
        return False
    metric, value = first
    least = getattr(metric.scale, level)
    return least is not None and not metric.reaches(value, least)


def about_data(facts: Facts, *, overfits: bool, unfair: bool) -> list[str]:
    count = facts.train_examples
    if count is None or count >= FEW_EXAMPLES or not (overfits or unfair):
        return []
    return [f"add data: {count:,} {facts.examples} are few, and more data helps most"]


def about_vocabulary(facts: Facts) -> list[str]:
    """Advice about the vocabulary size; none for a fine-tuned run, which cannot change it."""
    size, count = facts.vocabulary, facts.train_examples
    if facts.fine_tuned or not size or not count or size <= count:
        return []
    return [f"a smaller vocabulary: {size:,} tokens are seen too rarely in {count:,} {facts.examples}"]


def against_overfitting(curves: Sequence[CurvePoint], start: int, facts: Facts) -> list[str]:
    if facts.fine_tuned:
        return ["fewer epochs or a lower rate (train.epochs, train.lr)"]
    parted = bettered_after(curves, start, headline(facts.metrics))
    return [more_dropout(facts.dropout), *([] if parted else ["a smaller model"])]


def more_dropout(dropout: float | None) -> str:
    if dropout is None or dropout >= 0.4:
        return "more dropout" if dropout is None else "more varied data"
    return f"more dropout ({dropout:g} now, try {min(0.4, round(dropout + 0.1, 2)):g})"
