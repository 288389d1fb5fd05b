"""The rules by which a time budget is spent: vocabulary, model, batch, dropout and steps.

docs/speedrun.md tells how they were found. What the user has set stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from glassformer.models.transformer import SIZES, Transformer, TransformerConfig
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.train.optimiser import inner_matrices
from glassformer.train.plan import Forecast

LADDER = ("base", "small", "tiny", "nano")  # models to choose from, the largest first
TOKENS_PER_WEIGHT = 1.5  # a model is worth its time if it sees so many tokens for each inner weight
WEIGHTS_PER_TOKEN = 4  # and can be kept from learning by heart if it has at most so many for each token of the data
UPDATES = 500  # worth having; more come from longer training, fewer from smaller batches
BATCH_TOKENS = (1024, 4096)  # fewer are slow, more learn less from the same tokens
# Passes over the data, share of values zeroed.
DROPOUT = ((3.0, 0.0), (6.0, 0.05), (10.0, 0.1), (20.0, 0.16), (40.0, 0.25), (80.0, 0.3))
RATE = 5e-3  # the highest learning rate at width 128; less for wider models
AVERAGED = 1 / 15  # of the steps, about as far back as the averaged weights remember
VALIDATING = 0.03  # share of the time
MOST_VALIDATIONS = 20
KEPT_BACK = 0.01  # share of the time, because a forecast is only one


def vocabulary_for(pairs: int) -> int:
    """A vocabulary's size for so many sentence pairs: rare pieces are seen too seldom to be learnt."""
    return int(min(32_000, max(1000, round(5000 * (pairs / 29_000) ** 0.3, -2))))


def with_vocabulary(recipe: TranslationRecipe, pairs: int) -> TranslationRecipe:
    """The recipe with the size of its vocabulary chosen, unless it was set."""
    pieces = recipe.text.kind in ("bpe", "wordpiece")  # whole words and characters are as many as they are
    return with_open(recipe, "text", {"vocab_size": vocabulary_for(pairs)}) if pieces else recipe


def with_open(recipe: TranslationRecipe, section: str, values: Mapping[str, Any]) -> TranslationRecipe:
    """The recipe with `values` in a section, but for those that the user has set."""
    old = getattr(recipe, section)
    new = {name: value for name, value in values.items() if name not in old.model_fields_set}
    return recipe.decided({section: old.decided(new)})


@dataclass(frozen=True)
class Work:
    """How much arithmetic an epoch is for a model, and how much of it this machine does in a second."""

    source: int  # tokens of the corpus, on either side
    target: int
    vocabulary: int
    speed: float  # multiply-adds of the forward pass a second, while training

    @property
    def tokens(self) -> int:
        return self.source + self.target

    def of_an_epoch(self, config: TransformerConfig) -> float:
        """Multiply-adds of the forward pass: every token of a side goes once through that side's matrices."""
        encoder, decoder = inner_weights(config)
        return encoder * self.source + (decoder + self.vocabulary * config.d) * self.target

    def epochs_in(self, seconds: float, config: TransformerConfig) -> float:
        return seconds * self.speed / self.of_an_epoch(config)


def inner_weights(config: TransformerConfig) -> tuple[int, int]:
    """The numbers in the matrices of encoder and decoder, embeddings aside."""
    with torch.device("meta"):  # shapes alone, no memory
        model = Transformer(config, source_vocabulary=1, target_vocabulary=1)
    encoder, decoder = (sum(m.numel() for m in inner_matrices(part)) for part in (model.encoder, model.decoder))
    return encoder, decoder


def with_model(recipe: TranslationRecipe, work: Work, *, seconds: float) -> TranslationRecipe:
    """The largest model that has time to learn and enough to learn from; none of this if its shape was set."""
    if recipe.model.model_fields_set & {"size", "N", "N_decoder", "d", "h", "d_ff"}:
        return recipe
    for size in LADDER:
        config = TransformerConfig.model_validate({"size": size})
        weights, seen = sum(inner_weights(config)), work.tokens * work.epochs_in(seconds, config)
        if seen >= TOKENS_PER_WEIGHT * weights and weights <= WEIGHTS_PER_TOKEN * work.tokens:
            break
    return with_open(recipe, "model", {"size": size, **SIZES[size]})


def with_training(recipe: TranslationRecipe, work: Work, *, seconds: float, ranks: int = 1) -> TranslationRecipe:
    """Optimiser, schedule, batch and dropout."""
    epochs = work.epochs_in(seconds, recipe.model)
    smallest, largest = BATCH_TOKENS
    together = ranks * recipe.train.accumulate  # batches of one update
    batch = min(largest, max(smallest, int(epochs * work.tokens / UPDATES / together) // 256 * 256))
    train = {
        "optimiser": "muon",
        "first_vectors": "random" if recipe.train.start_from else "pairs",
        "schedule": "linear",
        "lr": RATE * math.sqrt(128 / recipe.model.d),
        "batch_tokens": batch,
        "patience": 0,
    }
    recipe = with_open(recipe, "train", train)
    passes, shares = zip(*DROPOUT, strict=True)
    return with_open(recipe, "model", {"dropout": round(float(np.interp(epochs, passes, shares)), 2)})


def with_validation(recipe: TranslationRecipe, *, seconds: float, held: int) -> TranslationRecipe:
    """As many sentences as there is time for, so that the best weights are not those that were lucky."""
    return with_open(recipe, "train", {"valid_sentences": int(min(held, 1000, max(100, seconds / 2)))})


def with_steps(recipe: TranslationRecipe, forecast: Forecast, *, seconds: float) -> TranslationRecipe:
    """The steps that fit beside the validations and what comes at the end, if their number was not set."""
    given = {name: getattr(recipe.train, name) for name in recipe.train.model_fields_set}
    left = (1 - KEPT_BACK) * seconds - forecast.closing_seconds
    most = int(min(MOST_VALIDATIONS, max(1, VALIDATING * left / forecast.validation_seconds)))
    if every := given.get("valid_every"):
        fitting = left / (forecast.step_seconds + forecast.validation_seconds / every)
    else:
        fitting = (left - most * forecast.validation_seconds) / forecast.step_seconds
    steps = given.get("steps") or max(1, int(fitting))
    chosen = {"steps": steps, "valid_every": -(-steps // most)}
    if not recipe.train.average_last:
        chosen["ema"] = memory_of(AVERAGED * steps)
    return with_open(recipe, "train", chosen)


def memory_of(steps: float) -> float:
    """The memory of a moving average that reaches about so many steps back."""
    return min(0.9999, max(0.0, round(1 - 1 / steps, 4)))
