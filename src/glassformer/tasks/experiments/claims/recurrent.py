"""Claims about recurrent models: the context vector, far words, steps that wait for each other, gradients."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.models.registry import VOCABULARIES, build, values_of
from glassformer.nn.recurrent import LSTM
from glassformer.tasks.experiments.by_length import Bucket, LengthScores, buckets_of, scores_by_length
from glassformer.tasks.experiments.claims.bench import LONG, SHAPE, Bench
from glassformer.tasks.experiments.claims.claim import (
    CONFIRMED,
    DEPENDS,
    NOT_CONFIRMED,
    Finding,
    Lines,
    is_above,
    plain_values,
)
from glassformer.tasks.experiments.pace import training_pace
from glassformer.tasks.experiments.reach import factor_per_token, gradient_by_distance, longest_chain
from glassformer.tasks.experiments.repeated import Repeated, shown
from glassformer.tasks.experiments.translators import Variant

CELLS = 48  # of the LSTM: with them, all models have about as many weights
_LSTM: Mapping[str, Any] = {"kind": "lstm", "size": "nano", "d": CELLS, "dropout": 0.0}
PLAIN_LSTM = Variant("lstm", "LSTM", {**_LSTM, "reverse_source": False})
REVERSED = Variant("lstm-reversed", "LSTM, reversed source", {**_LSTM, "reverse_source": True})
ATTENTION = Variant(
    "rnn-attention",
    "RNN with attention",
    {"kind": "rnn_attention", "size": "nano", "d": 32, "n": 32, "l": 32, "dropout": 0.0},
)
TRANSFORMER = Variant("transformer", "Transformer", {"kind": "transformer", **SHAPE})
VARIANTS = (PLAIN_LSTM, REVERSED, ATTENTION, TRANSFORMER)
SHORT_WORDS, LONG_WORDS = 20, 30  # "short" is at most this many words, "long" is more than this many
LEARNT = 50.0  # BLEU on short texts; a model below cannot lose much on long ones
TOKENS = (8, 16, 32, 64)
REACH, SHOWN = 40, (0, 10, 20, 39)  # tokens, and the distances that are shown
WIDER, NARROWER = 4.0, 0.25  # times the first recurrent weights


def by_length(bench: Bench, variants: tuple[Variant, ...] = VARIANTS) -> tuple[list[Bucket], dict[str, LengthScores]]:
    texts = [one.phrase for one in bench.tests(LONG)]
    buckets = buckets_of([one.source for one in texts])
    found = {}
    for variant in variants:
        written = [bench.written(variant, seed, LONG) for seed in bench.numbers]
        found[variant.key] = scores_by_length(written, texts, buckets)
    return buckets, found


def part(scores: LengthScores, buckets: list[Bucket], *, is_long: bool) -> Repeated:
    """The mean of the buckets of short or of long texts, for each seed."""
    kept = [
        one.values
        for one, bucket in zip(scores.buckets, buckets, strict=True)
        if (bucket.low > LONG_WORDS if is_long else bucket.high <= SHORT_WORDS)
    ]
    return Repeated(tuple(float(np.mean(own)) for own in zip(*kept, strict=True)))


def table_of(
    buckets: list[Bucket], found: Mapping[str, LengthScores]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    names = {one.key: one.name for one in VARIANTS}
    rows = tuple((names[key], *map(shown, (own.overall, *own.buckets))) for key, own in found.items())
    return ("", "all", *(f"{one.name} words" for one in buckets)), rows


def chart_of(buckets: list[Bucket], found: Mapping[str, LengthScores]) -> Lines:
    names = {one.key: one.name for one in VARIANTS}
    lines = {
        names[key]: tuple((bucket.middle, one.mean) for bucket, one in zip(buckets, own.buckets, strict=True))
        for key, own in found.items()
    }
    return Lines("BLEU by source words", "source words", lines)


def values_by_length(buckets: list[Bucket], found: Mapping[str, LengthScores]) -> dict[str, list[float]]:
    named = {f"{key} {b.name}": one for key, own in found.items() for b, one in zip(buckets, own.buckets, strict=True)}
    return plain_values({**{key: own.overall for key, own in found.items()}, **named})


def context_vector(bench: Bench) -> Finding:
    """What the LSTM keeps of its BLEU on long texts, and what the model that looks back keeps."""
    buckets, found = by_length(bench, (PLAIN_LSTM, REVERSED, ATTENTION))
    kept = {key: kept_share(own, buckets) for key, own in found.items()}
    best = max((PLAIN_LSTM.key, REVERSED.key), key=lambda key: found[key].overall.mean)
    loses, more = kept[best].below(100.0), kept[ATTENTION.key].minus(kept[best])
    verdict = CONFIRMED if is_above(loses) and is_above(more) else DEPENDS if is_above(loses) else NOT_CONFIRMED
    name = next(one.name for one in VARIANTS if one.key == best)
    short = part(found[best], buckets, is_long=False)
    why = (
        f"The better LSTM ({name}) keeps {shown(kept[best])}% of its BLEU on texts of at most {SHORT_WORDS} words on "
        f"texts of more than {LONG_WORDS}, and the RNN with attention {shown(kept[ATTENTION.key])}%."
    )
    if short.mean < LEARNT:
        verdict = DEPENDS
        why += f" But the LSTM has hardly learned short texts ({shown(short)} BLEU): it needs more updates (--steps)."
    head, rows = table_of(buckets, found)
    return Finding(verdict, why, head, rows, values_by_length(buckets, found), (chart_of(buckets, found),))


def kept_share(scores: LengthScores, buckets: list[Bucket]) -> Repeated:
    """BLEU on long texts in percent of that on short ones, for each seed."""
    short, long = (part(scores, buckets, is_long=is_long).values for is_long in (False, True))
    return Repeated(tuple(100 * b / max(a, 1e-9) for a, b in zip(short, long, strict=True)))


def far_words(bench: Bench) -> Finding:
    """The Transformer against the recurrent models on long texts."""
    buckets, found = by_length(bench)
    own = part(found[TRANSFORMER.key], buckets, is_long=True)
    ahead = {
        one.key: own.minus(part(found[one.key], buckets, is_long=True)) for one in VARIANTS if one is not TRANSFORMER
    }
    better = [is_above(one) for one in ahead.values()]
    verdict = CONFIRMED if all(better) else DEPENDS if any(better) else NOT_CONFIRMED
    why = (
        f"BLEU of the Transformer on texts of more than {LONG_WORDS} words, minus that of others after the same number "
        f"of updates: LSTM {shown(ahead['lstm'])}, with a reversed source {shown(ahead['lstm-reversed'])}, RNN with "
        f"attention {shown(ahead['rnn-attention'])}."
    )
    head, rows = table_of(buckets, found)
    return Finding(verdict, why, head, rows, values_by_length(buckets, found), (chart_of(buckets, found),))


def sequential(bench: Bench) -> Finding:
    """Operations that must follow one another, and tokens per second, by length."""
    kinds = (REVERSED, ATTENTION, TRANSFORMER)
    words = bench.translator(PLAIN_LSTM, 1, LONG)  # for its vocabulary: neither depends on the weights
    models = {one.key: with_first_weights(words, 1, one.model) for one in kinds}
    chains = {key: [longest_chain(model, tokens=tokens) for tokens in TOKENS] for key, model in models.items()}
    pace = {
        key: [training_pace(model, length=tokens, tokens=2048) for tokens in TOKENS] for key, model in models.items()
    }
    rows = []
    for one in kinds:
        rows.append((f"{one.name}: operations in a row", *(f"{value:,}" for value in chains[one.key])))
        rows.append((f"{one.name}: tokens per second", *(f"{value:,.0f}" for value in pace[one.key])))
    grow = {key: own[-1] / own[0] for key, own in chains.items()}
    is_parallel = grow[TRANSFORMER.key] == 1.0
    is_sequential = all(grow[one.key] > TOKENS[-1] / TOKENS[0] / 2 for one in (REVERSED, ATTENTION))
    verdict = CONFIRMED if is_parallel and is_sequential else DEPENDS if is_sequential else NOT_CONFIRMED
    slower = {key: own[-1] / own[0] for key, own in pace.items()}
    why = (
        f"From {TOKENS[0]} to {TOKENS[-1]} tokens, the longest chain of operations of a training pass becomes "
        f"{grow[REVERSED.key]:.1f} times as long in the LSTM, {grow[ATTENTION.key]:.1f} times in the RNN with "
        f"attention and {grow[TRANSFORMER.key]:.1f} times in the Transformer. On one thread, where nothing runs at the "
        f"same time, their speed becomes {slower[REVERSED.key]:.2f}, {slower[ATTENTION.key]:.2f} and "
        f"{slower[TRANSFORMER.key]:.2f} times what it was."
    )
    values = {
        "operations": chains,
        "tokens per second": {key: [round(one) for one in own] for key, own in pace.items()},
    }
    return Finding(verdict, why, ("", *(f"{one} tokens" for one in TOKENS)), tuple(rows), values)


# Gradients


def gradients(bench: Bench) -> Finding:
    """By what the gradient is multiplied for each further token, with the first weights and with trained ones."""
    found: dict[str, list[NDArray[np.float64]]] = {}
    for variant in (PLAIN_LSTM, ATTENTION, TRANSFORMER):
        trained = [bench.translator(variant, seed, LONG) for seed in bench.numbers]
        first = [with_first_weights(one, seed) for one, seed in zip(trained, bench.numbers, strict=True)]
        found[f"{variant.name}, first weights"] = [gradient_by_distance(one, tokens=REACH) for one in first]
        found[f"{variant.name}, trained"] = [gradient_by_distance(one, tokens=REACH) for one in trained]
        if variant is PLAIN_LSTM:
            for scale in (NARROWER, WIDER):
                scaled = [with_recurrent_times(one, scale) for one in first]
                name = f"LSTM, recurrent weights × {scale:g}"
                found[name] = [gradient_by_distance(one, tokens=REACH) for one in scaled]
    factors = {name: Repeated(tuple(factor_per_token(one) for one in own)) for name, own in found.items()}
    rows = tuple(
        (name, *(f"{ratio_at(own, distance):.1e}" for distance in SHOWN[1:]), shown(factors[name], 3))
        for name, own in found.items()
    )
    vanishes = not_reaching(factors["LSTM, first weights"])
    explodes = is_above(factors[f"LSTM, recurrent weights × {WIDER:g}"], 1.0)
    stays = all(is_steady(factors[f"Transformer, {weights}"]) for weights in ("first weights", "trained"))
    verdict = CONFIRMED if vanishes and explodes and stays else DEPENDS if vanishes or explodes else NOT_CONFIRMED
    why = (
        f"For each further token the gradient of the LSTM is multiplied by {shown(factors['LSTM, first weights'], 3)} "
        f"with its first weights and by {shown(factors['LSTM, trained'], 3)} after training; with recurrent weights "
        f"{WIDER:g} times as large by {shown(factors[f'LSTM, recurrent weights × {WIDER:g}'], 3)}. In the Transformer "
        f"it is multiplied by {shown(factors['Transformer, first weights'], 3)}, after training by "
        f"{shown(factors['Transformer, trained'], 3)}; there far words may count more because they matter more. In the "
        f"RNN with attention it is {shown(factors['RNN with attention, trained'], 3)} after training."
    )
    head = ("", *(f"distance {one}" for one in SHOWN[1:]), "factor per token")
    lines = {
        name: tuple((float(d), float(np.log10(max(v, 1e-30)))) for d, v in enumerate(own[0]))
        for name, own in found.items()
    }
    chart = Lines("Gradient by distance, power of ten, seed 1", "tokens in between", lines)
    return Finding(verdict, why, head, rows, plain_values(factors), (chart,))


def ratio_at(norms: list[NDArray[np.float64]], distance: int) -> float:
    """The gradient at a distance relative to that at distance 0: the geometric mean over the seeds."""
    return float(np.exp(np.mean([np.log(one[distance] / one[0]) for one in norms])))


def not_reaching(factor: Repeated) -> bool:
    """Whether the gradient clearly falls by 2% or more for each token."""
    return is_above(factor.below(0.98))


def is_steady(factor: Repeated) -> bool:
    """Whether the gradient does not clearly change by 2% or more for each token."""
    return not (not_reaching(factor) or is_above(factor, 1.02))


def with_first_weights(translator: Any, seed: int, shape: Mapping[str, Any] | None = None) -> Any:
    """The same model untrained, or one of another shape with the same vocabulary."""
    torch.manual_seed(seed)
    own = values_of(translator.model)
    values = own if shape is None else {**shape, **{name: own[name] for name in VOCABULARIES}}
    return translator.with_model(build(str(values["kind"]), values))


def with_recurrent_times(translator: Any, scale: float) -> Any:
    """The same model with its recurrent matrices multiplied."""
    model = deepcopy(translator.model)
    for layer in model.modules():
        if isinstance(layer, LSTM):
            layer.recurrent.weight.data *= scale
    return translator.with_model(model)
