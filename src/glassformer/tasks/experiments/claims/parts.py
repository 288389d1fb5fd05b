"""Residual connections and LayerNorm help training: the model with both against models without one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def residuals_and_norms(bench: Bench) -> Finding:
    """Each model with its better rate: the validation loss at the end, and when the whole model has that loss."""
    most = guessing(bench)
    found = {(key, rate): curves_of(bench, variant(key, rate), most) for key in NAMES for rate in RATES}
    ends = {key: Repeated(tuple(curve[-1][1] for curve in own)) for key, own in found.items()}
    best = {key: min(RATES, key=lambda rate: ends[key, rate].mean) for key in NAMES}
    final = {key: ends[key, best[key]] for key in NAMES}
    whole = found["whole", best["whole"]]
    rows, helps = [], []
    for key, name in NAMES.items():
        lost = final[key].minus(final["whole"])
        by_rate = [shown(ends[key, rate], 3) for rate in RATES]
        more = (
            ("", "") if key == "whole" else (shown(lost, 3), updates_in_words(whole, final[key], bench.steps_on(EARLY)))
        )
        rows.append((name, *by_rate, *more))
        helps += [] if key == "whole" else [is_above(lost)]
    verdict = CONFIRMED if all(helps) else DEPENDS if any(helps) else NOT_CONFIRMED
    why = (
        f"After {bench.steps_on(EARLY)} updates of {LAYERS} + {LAYERS} layers, each with its better rate, the loss is "
        f"{final['whole'].mean:.3f} with both, {final['no-residual'].mean:.3f} without residuals and "
        f"{final['no-norm'].mean:.3f} without norms."
    )
    head = ("", *(f"loss, rate {rate:g}" for rate in RATES), "difference", "the whole model has it after")
    values: dict[str, Any] = plain_values({f"{key} {rate:g}": one for (key, rate), one in ends.items()})
    first = {name: tuple((float(x), y) for x, y in found[key, best[key]][0]) for key, name in NAMES.items()}
    lines = Lines("Validation loss, seed 1", "updates", first)
    return Finding(verdict, why, head, tuple(rows), values, (lines,))


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
