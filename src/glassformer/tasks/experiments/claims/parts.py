"""Residual connections and LayerNorm help training: the model with both against models without one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glassformer.tasks.experiments.claims.bench import SHAPE, SHORT, Bench
from glassformer.tasks.experiments.claims.claim import (
    CONFIRMED,
    DEPENDS,
    NOT_CONFIRMED,
    Finding,
    Lines,
    is_above,
    plain_values,
    steps_to_reach,
)
from glassformer.tasks.experiments.repeated import Repeated, shown
from glassformer.tasks.experiments.translators import NORM, RESIDUAL, Variant

LAYERS, RATES = 3, (1e-2, 2.5e-3)
EARLY = replace(SHORT, key="early", train=2000, updates=0.4)  # while the models still learn
NAMES = {"whole": "with both", "no-residual": "without residuals", "no-norm": "without norms"}
WITHOUT = {"whole": (), "no-residual": (RESIDUAL,), "no-norm": (NORM,)}
Curve = list[tuple[int, float]]


def variant(key: str, rate: float) -> Variant:
    name = f"{NAMES[key]}, rate {rate:g}"
    return Variant(f"{key}-{rate:g}", name, {**SHAPE, "N": LAYERS}, {"lr": rate}, WITHOUT[key])


def residuals(bench: Bench) -> Finding:
    return without(bench, "no-residual")


def norms(bench: Bench) -> Finding:
    return without(bench, "no-norm")


def without(bench: Bench, lacking: str) -> Finding:
    """Each model with its better rate: the validation loss at the end, and when the whole model has that loss."""
    most, keys = guessing(bench), ("whole", lacking)
    found = {(key, rate): curves_of(bench, variant(key, rate), most) for key in keys for rate in RATES}
    ends = {key: Repeated(tuple(curve[-1][1] for curve in own)) for key, own in found.items()}
    best = {key: min(RATES, key=lambda rate: ends[key, rate].mean) for key in keys}
    final = {key: ends[key, best[key]] for key in keys}
    lost = final[lacking].minus(final["whole"])
    reached = updates_in_words(found["whole", best["whole"]], final[lacking], bench.steps_on(EARLY))
    by_rate = {key: [shown(ends[key, rate], 3) for rate in RATES] for key in keys}
    rows = (("with both", *by_rate["whole"], "", ""), (NAMES[lacking], *by_rate[lacking], shown(lost, 3), reached))
    verdict = CONFIRMED if is_above(lost) else NOT_CONFIRMED if is_above(lost.below(0.0)) else DEPENDS
    why = (
        f"After {bench.steps_on(EARLY)} updates of {LAYERS} + {LAYERS} layers, each with its better rate, the loss is "
        f"{shown(final['whole'], 3)} with both parts and {shown(final[lacking], 3)} {NAMES[lacking]}."
    )
    head = ("", *(f"loss, rate {rate:g}" for rate in RATES), "difference", "the whole model has it after")
    values = plain_values({f"{key} {rate:g}": one for (key, rate), one in ends.items()})
    first = {NAMES[key]: tuple((float(x), y) for x, y in found[key, best[key]][0]) for key in keys}
    lines = Lines(f"Validation loss {NAMES[lacking]}, seed 1", "updates", first)
    return Finding(verdict, why, head, rows, values, (lines,))


def guessing(bench: Bench) -> float:
    """The loss of a model that knows nothing but the words."""
    words = set(Path(bench.files(EARLY).train[1]).read_text(encoding="utf-8").split())
    return math.log(len(words))


def curves_of(bench: Bench, one: Variant, most: float) -> list[Curve]:
    """For each seed; a loss above that of guessing, or of a run that diverged, counts as guessing."""
    curves = [bench.losses(one, seed, EARLY) for seed in bench.numbers]
    return [[(step, min(loss, most)) for step, loss in curve] for curve in curves]


def updates_in_words(whole: Sequence[Curve], ends: Repeated, steps: int) -> str:
    """The share of the updates after which the whole model is as good, on average over the seeds."""
    found = [steps_to_reach(curve, end) for curve, end in zip(whole, ends.values, strict=True)]
    known = [one for one in found if one is not None]
    return f"{100 * sum(known) / len(known) / steps:.0f}% of the updates" if len(known) == len(found) else "never"
