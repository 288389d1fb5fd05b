"""The result of the ancestors experiment: tables for a terminal, a page with charts, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.explain.page import render_report
from glassformer.explain.report import Report, ShownLines, ShownTable
from glassformer.store import files
from glassformer.tasks.experiments.ancestors import LENGTHS, PACE_TEXTS, PACE_TOKENS, REACH, AncestorsResult
from glassformer.tasks.experiments.reach import factor_per_token
from glassformer.tasks.experiments.repeated import Repeated, aligned, shown

SHOWN = (1, 10, 20, REACH - 1)  # distances in the table
TINY = 1e-30
Row = tuple[str, ...]


def score_table(result: AncestorsResult) -> tuple[Row, list[Row]]:
    rows: list[Row] = []
    for variant in result.variants:
        own = result.found[variant.key].scores
        cells = [shown(own.overall)]
        for one, (low, high) in zip(own.buckets, own.intervals, strict=True):
            cells.append(shown(one) if result.seeds > 1 else f"{one.mean:.1f} ({low:.1f} to {high:.1f})")
        rows.append((variant.name, *cells))
    return ("BLEU", "all", *(f"{one.name} words" for one in result.buckets)), rows


def speed_table(result: AncestorsResult) -> tuple[Row, list[Row]]:
    rows: list[Row] = []
    for variant in result.variants:
        own = result.found[variant.key]
        rows.append((f"{variant.name}, training", *(f"{own.training[one]:,.0f}" for one in LENGTHS)))
        rows.append((f"{variant.name}, decoding", *(f"{own.decoding[one]:,.0f}" for one in LENGTHS)))
    return ("tokens per second", *(f"{one} tokens" for one in LENGTHS)), rows


def gradient_table(result: AncestorsResult) -> tuple[Row, list[Row]]:
    rows: list[Row] = []
    for variant in result.variants:
        for name, norms in gradients_of(result, variant.key).items():
            ratios = (f"{norms[min(one, len(norms) - 1)] / max(norms[0], TINY):.1e}" for one in SHOWN)
            rows.append((f"{variant.name}, {name}", *ratios, f"{factor_per_token(norms):.3f}"))
    return ("gradient", *(f"distance {one}" for one in SHOWN), "factor per token"), rows


def gradients_of(result: AncestorsResult, key: str) -> dict[str, Any]:
    own = result.found[key]
    return {"first weights": np.array(own.before), "trained": np.array(own.after)}


def model_table(result: AncestorsResult) -> tuple[Row, list[Row]]:
    rows: list[Row] = []
    for variant in result.variants:
        own = result.found[variant.key]
        unknown = "no attention" if variant.model.get("kind") == "lstm" else "alignments unknown"
        error = unknown if own.alignment is None else f"{shown(own.alignment)}%"
        rows.append((variant.name, f"{own.facts['parameters']:,}", str(own.facts.get("updates", "")), error))
    return ("", "weights", "updates", "alignment error"), rows


def notes_of(result: AncestorsResult) -> Mapping[str, str]:
    each = (
        f"mean over {result.seeds} seeds ± half of its 95% interval"
        if result.seeds > 1
        else "1 seed, bootstrap interval"
    )
    return {
        "scores": f"{result.tested_on:,} unseen texts, greedy, {each}.",
        "speed": f"Processor time on one thread. Training: both sides, {PACE_TOKENS:,} tokens in a batch. Decoding: "
        f"greedy, {PACE_TEXTS} sentences at a time.",
        "gradients": "Norm of the gradient of the state that writes the first target token with respect to each source "
        "token, by the tokens read after it, relative to the last one. The factor is the slope of all distances.",
        "models": f"Updates {'of' if result.facts.get('steps') else 'in the time of'} each run. Alignment: the best "
        "attention head against known alignments.",
    }


def tables_of(result: AncestorsResult) -> list[ShownTable]:
    notes = notes_of(result)
    made = {
        "scores": ("BLEU by sentence length", score_table),
        "speed": ("Tokens per second by sentence length", speed_table),
        "gradients": ("How far gradients reach", gradient_table),
        "models": ("The models", model_table),
    }
    found = []
    for key, (title, make) in made.items():
        head, rows = make(result)
        found.append(ShownTable(key, title, notes[key], head, tuple(rows)))
    return found


def lines(result: AncestorsResult) -> list[str]:
    """The tables for a terminal."""
    found: list[str] = []
    for one in tables_of(result):
        rows = [tuple(str(cell) for cell in row) for row in one.rows]
        found += [*aligned(one.head, rows), one.note, ""]
    return found[:-1]


def charts_of(result: AncestorsResult) -> list[ShownLines]:
    middles = [one.middle for one in result.buckets]

    def by(values: Mapping[str, Sequence[tuple[float, float]]], title: str, across: str, note: str = "") -> ShownLines:
        named = ((one.name, tuple(values[one.key])) for one in result.variants)
        return ShownLines(title, note, across, tuple(named), zero=not note)

    found = result.found
    charts = [
        by({k: pairs(middles, [x.mean for x in v.scores.buckets]) for k, v in found.items()}, "BLEU", "source words"),
        by(
            {k: thousands(v.training) for k, v in found.items()},
            "Thousand tokens per second, training",
            "tokens",
        ),
        by(
            {k: thousands(v.decoding) for k, v in found.items()},
            "Thousand tokens per second, decoding",
            "tokens",
        ),
    ]
    note = "-2 is a hundredth of the gradient at distance 0."
    for name, title in (("first weights", "first weights"), ("trained", "trained weights")):
        logs = {k: logarithms(gradients_of(result, k)[name]) for k in found}
        charts.append(by(logs, f"Gradient by distance, {title}, power of ten", "tokens in between", note))
    return charts


def pairs(xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]


def thousands(pace: Mapping[int, float]) -> list[tuple[float, float]]:
    return [(float(length), one / 1000) for length, one in pace.items()]


def logarithms(norms: Any) -> list[tuple[float, float]]:
    return [(float(i), math.log10(max(float(one), TINY) / max(float(norms[0]), TINY))) for i, one in enumerate(norms)]


def write(result: AncestorsResult, folder: Path) -> None:
    """Writes ancestors.html and ancestors.json."""
    files.write_atomically(folder / "ancestors.html", page(result).encode())
    files.write_atomically(folder / "ancestors.json", json.dumps(as_data(result), indent=1).encode())


def page(result: AncestorsResult) -> str:
    facts = {"Experiment": [(name, str(value)) for name, value in {"seeds": result.seeds, **result.facts}.items()]}
    title, subtitle = "The Transformer and its ancestors", f"On {result.tested_on:,} unseen texts"
    return render_report(
        Report(title, subtitle, about="an experiment", facts=facts, tables=tables_of(result), lines=charts_of(result))
    )


def as_data(result: AncestorsResult) -> dict[str, Any]:
    """The result for another program."""

    def plain(found: Repeated | None) -> dict[str, Any] | None:
        if found is None:
            return None
        return {"mean": found.mean, "interval": found.interval, "values": list(found.values)}

    rows = []
    for variant in result.variants:
        own = result.found[variant.key]
        rows.append(
            {
                "variant": variant.key,
                "name": variant.name,
                **own.facts,
                "bleu": plain(own.scores.overall),
                "by_length": [
                    {"words": [bucket.low, bucket.high], **(plain(one) or {}), "interval": list(interval)}
                    for bucket, one, interval in zip(
                        result.buckets, own.scores.buckets, own.scores.intervals, strict=True
                    )
                ],
                "tokens_per_second": {"training": dict(own.training), "decoding": dict(own.decoding)},
                "gradient_by_distance": {"first": list(own.before), "trained": list(own.after)},
                "alignment_error": plain(own.alignment),
            }
        )
    return {"seeds": result.seeds, "tested_on": result.tested_on, "facts": dict(result.facts), "variants": rows}
