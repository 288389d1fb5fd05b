"""The rules that choose vocabulary, model, batch, dropout and steps for a time budget.

docs/speedrun.md says how they were found. Settings that the user has set do not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from glassformer.training.plan import Forecast
from glassformer.training.recipe import Recipe
from glassformer.training.settings import TrainSettings, seconds_of

AVERAGED = 1 / 15  # share of the steps that the averaged weights reach back, roughly
VALIDATING = 0.03  # share of the time for validations
MOST_VALIDATIONS = 20
WORTH_HAVING = 6  # validations; beyond that, more examples in each are better than more validations
KEPT_BACK = 0.01  # share of the time kept as a reserve, because a forecast is never exact
SHAPE = {
    "size",
    "N",
    "N_decoder",
    "d",
    "h",
    "d_ff",
    "n",
    "l",
}  # settings of a model; a user who sets one has chosen the model
UPDATES = 250  # of fine-tuning: enough to learn a few hundred examples
FEWEST_TOGETHER, MOST_TOGETHER = 16, 48  # examples of an update when a pretrained body gets new heads
LEAST_DROPOUT = 0.03  # less drops next to nothing, but its masks still take time
PIECES = ("bpe", "wordpiece")  # vocabularies whose size can be chosen

R = TypeVar("R", bound=Recipe)
Sizes = Mapping[str, Any]  # settings of a model


def usual_vocabulary(examples: int) -> int:
    """The vocabulary size for this many examples: rare pieces are seen too seldom to be learned."""
    return int(min(32_000, max(1000, round(5000 * (examples / 29_000) ** 0.3, -2))))


@dataclass(frozen=True)
class BudgetRules:
    """How a task chooses settings for a time budget. The defaults were found on sentence pairs."""

    tokens_per_weight: float = 1.5  # a model pays off if it sees at least this many tokens for each inner weight
    weights_per_token: float = 4  # and does not memorise the data if it has at most this many weights for each token
    updates: int = 500  # at least this many are worth having: smaller batches make more of them
    batch_tokens: tuple[int, int] = (
        1024,
        4096,
    )  # smaller batches are slow, larger ones learn less from the same tokens
    # (passes over the data, dropout)
    dropout: tuple[tuple[float, float], ...] = (
        *((3.0, 0.0), (6.0, 0.05), (10.0, 0.1)),
        *((20.0, 0.16), (40.0, 0.25), (80.0, 0.3)),
    )
    rate: float = 5e-3  # the highest learning rate at width 128; less for wider models
    train: Mapping[str, Any] = field(default_factory=lambda: {"optimiser": "muon"})  # other settings of [train]
    vocabulary: Callable[[int], int] = usual_vocabulary  # number of examples -> vocabulary size
    # Fewest and most passes over the data that help, with enough for `updates`; None: as many as the time allows
    passes: tuple[float, float] | None = None
    quick_predictions: bool = False  # a prediction costs about as much as a loss: time need not limit their number


@dataclass(frozen=True)
class Work:
    """How much arithmetic an epoch needs for a model, and how much of it this machine does in a second."""

    tokens: Sequence[int]  # in the corpus, on each side
    outputs: int  # numbers computed for each target
    weights: Callable[[Any], Sequence[int]]  # a model's settings -> inner weights of each side
    speed: float = 1.0  # multiply-adds of the forward pass a second, while training

    @property
    def all_tokens(self) -> int:
        return sum(self.tokens)

    def of_an_epoch(self, config: Any) -> float:
        """Multiply-adds of the forward pass: every token of a side goes once through that side's matrices."""
        inner = sum(weights * tokens for weights, tokens in zip(self.weights(config), self.tokens, strict=True))
        return float(inner + self.outputs * config.d * self.tokens[-1])

    def epochs_in(self, seconds: float, config: Any) -> float:
        return seconds * self.speed / self.of_an_epoch(config)


def with_vocabulary(recipe: R, rules: BudgetRules, examples: int) -> R:
    """The recipe with the size of its vocabulary chosen, unless it was set."""
    if recipe.text.kind not in PIECES:  # the data decides how many whole words and characters there are
        return recipe
    return recipe.with_open("text", {"vocab_size": rules.vocabulary(examples)})


def with_model(recipe: R, rules: BudgetRules, ladder: Sequence[Sizes], work: Work, *, seconds: float) -> R:
    """Chooses the largest model of the ladder that has enough time and enough data, unless the shape was set."""
    if recipe.model.model_fields_set & SHAPE or not ladder:
        return recipe
    for sizes in ladder:
        config = recipe.model.decided(sizes)
        weights, seen = sum(work.weights(config)), work.all_tokens * work.epochs_in(seconds, config)
        if seen >= rules.tokens_per_weight * weights and weights <= rules.weights_per_token * work.all_tokens:
            break
    return recipe.with_open("model", sizes)


def with_training(recipe: R, rules: BudgetRules, work: Work, *, seconds: float, ranks: int = 1) -> R:
    """Chooses optimiser, schedule, batch and dropout. Fine-tuning has already chosen its own, gentler ones."""
    epochs = work.epochs_in(seconds, recipe.model)
    if recipe.train.start_from:
        seen = min(epochs, recipe.train.epochs) * work.all_tokens / (ranks * recipe.train.accumulate)
        batch = smaller_batch(recipe.train.batch_tokens, seen)
        return recipe.with_open("train", {"schedule": "linear", "patience": 0, "batch_tokens": batch})
    smallest, largest = rules.batch_tokens
    together = ranks * recipe.train.accumulate  # batches of one update
    batch = min(largest, max(smallest, int(epochs * work.all_tokens / rules.updates / together) // 256 * 256))
    train = {
        "schedule": "linear",
        "lr": rules.rate * math.sqrt(128 / recipe.model.d),
        "batch_tokens": batch,
        "patience": 0,
        **rules.train,
    }
    recipe = recipe.with_open("train", train)
    passes, shares = zip(*rules.dropout, strict=True)
    share = round(float(np.interp(epochs, passes, shares)), 2)
    return recipe.with_open("model", {"dropout": share if share >= LEAST_DROPOUT else 0.0})


def smaller_batch(tokens: int, seen: float) -> int:
    """A batch that still gives enough updates if the time allows only `seen` tokens; at least a third of `tokens`."""
    return max(tokens * FEWEST_TOGETHER // MOST_TOGETHER, min(tokens, int(seen / UPDATES)))


def with_validation(recipe: R, rules: BudgetRules, *, seconds: float, held: int) -> R:
    """Validates on as many examples as the time allows, so that chance does not choose the best weights."""
    affordable = math.inf if rules.quick_predictions else max(100, seconds / 2)
    return recipe.with_open("train", {"valid_sentences": int(min(held, 1000, affordable))})


def with_more_validation(recipe: R, forecast: Forecast, *, seconds: float, held: int) -> tuple[R, Forecast]:
    """Validates on more examples if predicting is fast: a few validations then still fit into their share of time."""
    sample = min(recipe.train.valid_sentences, held)
    each = forecast.validation_seconds / sample
    affordable = int(VALIDATING * seconds / (WORTH_HAVING * each)) if each > 0 else sample
    grown = recipe.with_open("train", {"valid_sentences": max(sample, min(held, 1000, affordable))})
    times = min(grown.train.valid_sentences, held) / sample
    return grown, replace(forecast, validation_seconds=times * forecast.validation_seconds)


def with_steps(recipe: R, forecast: Forecast, *, seconds: float, most: int = 0) -> R:
    """Chooses the steps that fit between validations and final report, at most `most` (0: no limit), if not set."""
    given = {name: getattr(recipe.train, name) for name in recipe.train.model_fields_set}
    left = (1 - KEPT_BACK) * seconds - forecast.closing_seconds
    validations = int(min(MOST_VALIDATIONS, max(1, VALIDATING * left / forecast.validation_seconds)))
    if every := given.get("valid_every"):
        fitting = left / (forecast.step_seconds + forecast.validation_seconds / every)
    else:
        fitting = (left - validations * forecast.validation_seconds) / forecast.step_seconds
    steps = given.get("steps") or max(1, min(int(fitting), most or int(fitting)))
    chosen = {"steps": steps, "valid_every": -(-steps // validations)}
    if not recipe.train.average_last:
        chosen["ema"] = memory_of(AVERAGED * steps)
    return recipe.with_open("train", chosen)


def reported_in(train: TrainSettings, rules: BudgetRules) -> int:
    """The most examples that the report is measured on: fewer in a short budget, which they would use up."""
    seconds = seconds_of(train.budget) if train.budget and not rules.quick_predictions else math.inf
    return int(min(1000.0, max(100.0, seconds / 2)))


def memory_of(steps: float) -> float:
    """The memory of a moving average that reaches back about `steps` steps."""
    return min(0.9999, max(0.0, round(1 - 1 / steps, 4)))
