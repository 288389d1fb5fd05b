"""How long to fine-tune: a few passes over many examples, more passes over few examples."""

from __future__ import annotations

from dataclasses import replace

from glassformer.data.batches import count_batches
from glassformer.training.prepare import Prepared, resolve

UPDATES = 250  # enough to learn a few hundred examples
EPOCHS = (5.0, 20.0)  # fewest and most passes over the new examples
BATCH_TOKENS = (1024, 4096)  # smaller batches give more updates from few examples


def with_fine_tuning(prepared: Prepared) -> Prepared:
    """Chooses the batch size and the passes over the new examples, unless they were set."""
    train, together = prepared.recipe.train, prepared.ranks.world * prepared.recipe.train.accumulate
    pools = prepared.examples.pools(seed=train.seed, epoch=0)
    tokens = sum(int(pool.lengths.sum()) for pool in pools)
    smallest, largest = BATCH_TOKENS
    batch = min(largest, max(smallest, int(EPOCHS[0] * tokens / UPDATES / together) // 256 * 256))
    recipe = prepared.recipe.with_open("train", {"batch_tokens": batch})
    batches = count_batches(prepared.examples, tokens=recipe.train.batch_tokens, seed=train.seed)
    fewest, most = EPOCHS if prepared.baseline else (train.epochs, EPOCHS[1])  # a new head: the task says how many
    epochs = round(min(most, max(fewest, UPDATES * together / batches)), 1)
    recipe = recipe.with_open("train", {"epochs": epochs, "steps": None, "valid_every": None})
    return replace(prepared, recipe=resolve(recipe, prepared.examples, prepared.device, prepared.ranks))


def most_steps(prepared: Prepared) -> int:
    """The most steps for fine-tuning, however much time there is; 0 (no limit) if training from scratch."""
    train = prepared.recipe.train
    if train.start_from is None:
        return 0
    batches = count_batches(prepared.examples, tokens=train.batch_tokens, seed=train.seed)
    return max(1, round(train.epochs * batches / (train.accumulate * prepared.ranks.world)))
