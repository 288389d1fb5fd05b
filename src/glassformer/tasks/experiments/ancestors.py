"""The Transformer and its ancestors on the same sentences, for the same time.

Four translators: the LSTM encoder-decoder of 2014, the same with a reversed source, the recurrent encoder-decoder with
attention, and the Transformer. Measured are BLEU by sentence length, tokens per second by length in training and
decoding, how far gradients reach, and where there is attention, the alignment error. Only the model differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import torch

from glassformer.config import validate
from glassformer.data.phrasebook import Phrase, phrasebook
from glassformer.errors import DataError, SettingsError
from glassformer.models.registry import build, values_of
from glassformer.store.run import RunFolder
from glassformer.tasks.experiments.by_length import Bucket, LengthScores, buckets_of, scores_by_length
from glassformer.tasks.experiments.pace import decoding_pace, training_pace
from glassformer.tasks.experiments.reach import gradient_by_distance
from glassformer.tasks.experiments.repeated import Repeated
from glassformer.tasks.experiments.started import check_same
from glassformer.tasks.experiments.translators import (
    Variant,
    pair_of,
    runs_of,
    train_variant,
    translations,
    translator_of,
    written_pairs,
)
from glassformer.tasks.registry import task_named
from glassformer.tasks.translation.alignment import attends, head_errors
from glassformer.training.settings import seconds_of
from glassformer.training.task import Listener
from glassformer.training.watching import Silent

TEXTS, VALID, TESTED = 20_000, 200, 600  # built-in texts
JOINED = 6  # sentences of a text, at most
GOLD = 200  # sentences whose alignment is compared
TRAINING = 0.8  # share of the time for training; the rest is for measuring
SHORTEST = 12.0  # seconds; a shorter run learns nothing
VOCABULARY, BATCH = 2000, 2048  # with a fixed number of updates; a budget chooses its own
LENGTHS = (8, 16, 32, 64)  # tokens of a sentence whose speed is measured
PACE_TOKENS, PACE_TEXTS = 2048, 16
REACH = 40  # tokens that a gradient passes

VARIANTS = (
    Variant("lstm", "LSTM", {"kind": "lstm", "reverse_source": False}),
    Variant("lstm-reversed", "LSTM, reversed source", {"kind": "lstm", "reverse_source": True}),
    Variant("rnn-attention", "RNN with attention", {"kind": "rnn_attention"}),
    Variant("transformer", "Transformer", {"kind": "transformer"}),
)


@dataclass(frozen=True)
class AncestorsData:
    """Texts to learn from, to validate on and to test on; `gold` are sentences with a known word alignment."""

    train: Sequence[tuple[str, str]]
    valid: Sequence[tuple[str, str]]
    test: Sequence[Phrase]
    gold: Sequence[Phrase] = ()


@dataclass(frozen=True)
class Measured:
    """What was found about one variant."""

    scores: LengthScores
    training: Mapping[int, float]  # length -> tokens per second
    decoding: Mapping[int, float]
    before: tuple[float, ...]  # gradient by distance, with the first weights
    after: tuple[float, ...]
    alignment: Repeated | None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AncestorsResult:
    variants: tuple[Variant, ...]
    found: Mapping[str, Measured]
    buckets: tuple[Bucket, ...]
    seeds: int
    tested_on: int
    facts: Mapping[str, Any] = field(default_factory=dict)


# Data


def built_in(*, progress: Callable[[int, int], None] | None = None) -> AncestorsData:
    """Sentences of the phrasebook, alone and joined to texts of up to about fifty words."""
    book = phrasebook(train=TEXTS, valid=VALID, test=TESTED, progress=progress)
    train, valid, test = (
        joined(part, count, seed=seed)
        for seed, (part, count) in enumerate(((book.train, TEXTS), (book.valid, VALID), (book.test, TESTED)))
    )
    return AncestorsData([pair_of(one) for one in train], [pair_of(one) for one in valid], test, book.test[:GOLD])


def from_files(source: Sequence[str], target: Sequence[str], *, join: int, listener: Listener) -> AncestorsData:
    """Your own sentences: every twentieth, at most 600, is for the test. With `join`, texts of up to this many."""
    task = task_named("translate")
    settings = {"task": "translate", "data": {"source": list(source), "target": list(target)}}
    material = task.read(validate(task.recipe, settings), listener)
    phrases = [unaligned(*pair) for pair in material.train()]
    every = max(2, min(20, len(phrases) // 10))
    test, train = phrases[::every][:TESTED], [one for i, one in enumerate(phrases) if i % every or i >= every * TESTED]
    valid = [unaligned(source, references[0]) for source, references in material.valid]
    if not (train and test and valid):
        raise DataError(f"{len(phrases)} usable sentence pairs are too few for training, validation and a test.")
    parts = (train, valid, test)
    sets = parts if join == 1 else [joined(one, len(one), seed=seed, most=join) for seed, one in enumerate(parts)]
    return AncestorsData([pair_of(one) for one in sets[0]], [pair_of(one) for one in sets[1]], sets[2])


def unaligned(source: str, target: str) -> Phrase:
    return Phrase(source, (target,), frozenset(), frozenset(), "", ())


def joined(phrases: Sequence[Phrase], count: int, *, seed: int, most: int = JOINED) -> list[Phrase]:
    """Texts of 1 to `most` of the sentences, all numbers equally often; without alignment."""
    random, found = Random(seed), []
    for number in range(count):
        own = [random.choice(phrases) for _ in range(1 + number % most)]
        found.append(unaligned(*(" ".join(side) for side in zip(*map(pair_of, own), strict=True))))
    return found


# The experiment


def ancestors(
    data: AncestorsData,
    *,
    out: str | Path,
    budget: str = "10m",
    seeds: int = 3,
    steps: int | None = None,
    size: str | None = None,
    join: int = 1,
    given: Mapping[str, Sequence[str]] | None = None,
    variants: Sequence[Variant] = VARIANTS,
    listener: Listener | None = None,
) -> AncestorsResult:
    """Trains all variants with all seeds in about `budget` and measures them. Finished runs are not repeated;
    ancestors_page.py writes what was found.

    `given` are the files by the name of their option, for the record of what the experiment was started with. With
    `steps`, every run makes this many updates instead.
    """
    listener, folder = listener or Silent(), Path(out)
    runs = runs_of(variants, seeds)
    length = length_of(budget, len(runs), steps=steps)
    check_same(folder, given or {}, options_of(budget=budget, seeds=seeds, steps=steps, size=size, join=join))
    pairs = written_pairs(folder / "data", train=data.train, valid=data.valid)
    text = {"vocab_size": VOCABULARY} if steps is not None else {}
    done: dict[str, list[Path]] = {}
    for number, (variant, seed) in enumerate(runs):
        listener.on_stage(f"Training {number + 1} of {len(runs)}: {variant.name}, seed {seed}")
        path = folder / f"{variant.key}-{seed}"
        done.setdefault(variant.key, []).append(
            train_variant(
                sized(variant, size), pairs, path, train={**length, "seed": seed}, text=text, listener=listener
            )
        )
    buckets = buckets_of([one.source for one in data.test])
    found = {}
    for variant in variants:
        listener.on_stage(f"Measuring: {variant.name}")
        found[variant.key] = measured(sized(variant, size), done[variant.key], data, buckets, listener)
    spent = {"budget": budget} if steps is None else {"steps": steps}
    return AncestorsResult(tuple(variants), found, tuple(buckets), seeds, len(data.test), spent)


def length_of(budget: str, runs: int, *, steps: int | None) -> dict[str, Any]:
    """Settings of [train]: the same time, or the same number of updates, for every run."""
    if steps is not None:
        return {"steps": steps, "batch_tokens": BATCH, "valid_every": max(1, steps // 10), "valid_sentences": 1}
    each = TRAINING * seconds_of(budget) / runs
    if each < SHORTEST:
        needed = -(-SHORTEST * runs / TRAINING // 60)
        raise SettingsError(
            f"--budget {budget}: {runs} runs need at least {needed:.0f}m. Give more time, or fewer --seeds."
        )
    return {"budget": f"{each:.0f}s"}


def options_of(
    *, budget: str, seeds: int, steps: int | None, size: str | None, join: int
) -> dict[str, str | int | None]:
    """What the runs depend on besides the files. More seeds share a budget; with `steps` they only add runs."""
    shared = f"{seconds_of(budget):.0f}s for {seeds} seeds" if steps is None else None
    return {"--size": size, "--steps": steps, "--budget": shared, "--join": join}


def sized(variant: Variant, size: str | None) -> Variant:
    if size is None:
        return variant
    return Variant(variant.key, variant.name, {**variant.model, "size": size}, variant.train, variant.without)


def measured(
    variant: Variant, runs: Sequence[Path], data: AncestorsData, buckets: Sequence[Bucket], listener: Listener
) -> Measured:
    """Everything about one variant. Speed and gradients are those of the first seed."""
    translators = [translator_of(variant, run) for run in runs]
    sources, written = [one.source for one in data.test], []
    for number, one in enumerate(translators):
        written.append(translations(one, sources))
        listener.on_count(number + 1, len(translators))
    first = translators[0]
    return Measured(
        scores=scores_by_length(written, data.test, buckets),
        training={length: training_pace(first, length=length, tokens=PACE_TOKENS) for length in LENGTHS},
        decoding={length: decoding_pace(first, length=length, texts=PACE_TEXTS) for length in LENGTHS},
        before=tuple(gradient_by_distance(untrained(first), tokens=REACH).tolist()),
        after=tuple(gradient_by_distance(first, tokens=REACH).tolist()),
        alignment=alignment_of(translators, data.gold),
        facts={
            "parameters": sum(one.numel() for one in first.model.parameters()),
            "updates": RunFolder(runs[0]).about().get("training", {}).get("steps"),
            "model": values_of(first.model),
        },
    )


def untrained(translator: Any) -> Any:
    """The same model with new first weights."""
    torch.manual_seed(1)
    model = translator.model
    return translator.with_model(build(model.config.kind, values_of(model)))


def alignment_of(translators: Sequence[Any], gold: Sequence[Phrase]) -> Repeated | None:
    """The error of the best head, chosen on the first half of the sentences and measured on the second, in percent."""
    half = len(gold) // 2
    if not half or not attends(translators[0]):
        return None
    values = []
    for one in translators:
        chosen, held = head_errors(one, gold[:half]), head_errors(one, gold[half:])
        values.append(100 * float(held.flat[chosen.argmin()]))
    return Repeated(tuple(values))
