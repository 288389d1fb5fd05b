"""A time budget: what to train so that the run ends at its best when the time is over.

Everything is chosen before the first step, from the size of the data and the speed of this machine, and written to
config.toml. A machine grows slower or faster meanwhile: at every validation the number of steps follows the clock.
"""

from __future__ import annotations

import time
from dataclasses import replace

from glassformer.data.batches import count_batches
from glassformer.models.transformer import SIZES
from glassformer.tasks.translation.budget_rules import Work, with_model, with_steps, with_training, with_validation
from glassformer.tasks.translation.preparing import Prepared, Rehearsal, loss_by, resolve, untrained
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.watching import TrainingWatcher
from glassformer.train.plan import duration, time_steps

TRIAL = 1.5  # seconds of steps that tell how fast the machine is
FEWEST = 50  # steps that teach something
MOST_TIMING = 20.0  # seconds of steps from which their number is reckoned


def within_budget(prepared: Prepared, watcher: TrainingWatcher, *, until: float) -> Prepared:
    """The training with all that is open chosen, so that it ends at `until` by the monotonic clock."""
    watcher.on_stage("Timing some steps, to choose what the time allows")
    seconds = until - time.monotonic()
    work = measured(prepared)
    recipe = with_model(prepared.recipe, work, seconds=seconds)
    recipe = with_training(recipe, work, seconds=seconds, ranks=prepared.ranks.world)
    recipe = with_validation(recipe, seconds=seconds, held=len(prepared.material.valid.sources))
    trial = replace(prepared, recipe=resolve(recipe, prepared.pairs, prepared.device, prepared.ranks))
    forecast = Rehearsal(trial, watcher).forecast(patience=min(MOST_TIMING, max(TRIAL, seconds / 100)))
    left = until - time.monotonic()
    recipe = with_steps(recipe, forecast, seconds=left)
    if left < FEWEST * forecast.step_seconds + forecast.validation_seconds + forecast.closing_seconds:
        watcher.on_stage(f"CAREFUL: {prepared.recipe.train.budget} is too short to learn anything; give it more time")
    watcher.on_stage(f"Chosen for {duration(max(0.0, seconds))}: {described(recipe)}")
    recipe = resolve(recipe, prepared.pairs, prepared.device, prepared.ranks)
    return replace(prepared, recipe=recipe, timed=forecast.of(recipe.train))


def described(recipe: TranslationRecipe) -> str:
    """The choice in a line."""
    model, train = recipe.model, recipe.train
    return (
        f"{model.N}+{model.N_decoder or model.N} blocks of width {model.d}, dropout {model.dropout:g}, {train.steps:,} "
        f"steps of {train.batch_tokens:,} tokens by {train.optimiser}, highest rate {train.lr:.2g}"
    )


def measured(prepared: Prepared) -> Work:
    """Times the steps of a small model on the real data."""
    model_settings = prepared.recipe.model.decided({"size": "tiny", **SIZES["tiny"], "N_decoder": None})
    recipe = prepared.recipe.decided({"model": model_settings})
    trial = replace(prepared, recipe=resolve(recipe, prepared.pairs, prepared.device, prepared.ranks))
    settings, model = trial.recipe.train, untrained(trial).model
    loss = loss_by(settings, model)
    seconds = time_steps(model, prepared.pairs, settings, loss=loss, patience=TRIAL) / settings.accumulate
    epoch = seconds * count_batches(prepared.pairs, tokens=settings.batch_tokens, seed=settings.seed)
    lengths = sum(pool.lengths.sum(axis=0) for pool in prepared.pairs.pools(seed=settings.seed, epoch=0))
    work = Work(source=int(lengths[0]), target=int(lengths[1]), vocabulary=len(prepared.target), speed=1.0)
    return replace(work, speed=prepared.ranks.world * work.of_an_epoch(recipe.model) / epoch)
