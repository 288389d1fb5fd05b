"""How to fine-tune: the rate, the size of a batch, and how many passes over the examples help.

A run whose heads continue (a translator on other sentences) has batches by tokens. A body with new heads, such as a
classifier on a pretrained BERT, learns best in a few passes with batches of some dozen examples.
"""

from __future__ import annotations

from dataclasses import replace

from glassformer.data.batches import count_batches
from glassformer.training.budget_rules import FEWEST_TOGETHER, MOST_TOGETHER, UPDATES
from glassformer.training.prepare import Prepared, resolve

EPOCHS = (5.0, 20.0)  # fewest and most passes over the new examples
BATCH_TOKENS = (1024, 4096)  # smaller batches give more updates from few examples
FEWEST_TOKENS = 128  # in a batch of a body with new heads: fewer are slow
RATE, RATE_WIDTH = 5e-5, 768  # the usual rate for BERT base; narrower models take higher ones
LOWEST_RATE = 1e-5


def rate_for(width: int, factor: float = 1.0, most: float = 3e-4) -> float:
    """The highest learning rate for a pretrained body of this width; `factor` and `most` are the task's own."""
    return float(f"{min(most, max(LOWEST_RATE, factor * RATE * RATE_WIDTH / width)):.2g}")


def with_fine_tuning(prepared: Prepared) -> Prepared:
    """Chooses the batch size and the passes over the new examples, unless they were set."""
    train, together = prepared.recipe.train, prepared.ranks.world * prepared.recipe.train.accumulate
    recipe = prepared.recipe.with_open("train", {"batch_tokens": batch_for(prepared, together)})
    batches = count_batches(prepared.examples, tokens=recipe.train.batch_tokens, seed=train.seed)
    fewest, most = EPOCHS if prepared.baseline else (train.epochs, EPOCHS[1])  # a new head: the task says how many
    epochs = round(min(most, max(fewest, UPDATES * together / batches)), 1)
    recipe = recipe.with_open("train", {"epochs": epochs, "steps": None, "valid_every": None})
    return replace(prepared, recipe=resolve(recipe, prepared.examples, prepared.device, prepared.ranks))


def batch_for(prepared: Prepared, together: int) -> int:
    """Tokens of a batch, of which `together` make an update."""
    train = prepared.recipe.train
    tokens = sum(int(pool.lengths.sum()) for pool in prepared.examples.pools(seed=train.seed, epoch=0))
    smallest, largest = BATCH_TOKENS
    if prepared.baseline:
        return min(largest, max(smallest, int(EPOCHS[0] * tokens / UPDATES / together) // 256 * 256))
    if wanted := prepared.task.fine_tuning.get("batch_tokens"):  # where an example is not one text
        return max(FEWEST_TOKENS, wanted // together)
    count = max(1, len(prepared.examples))
    examples = min(MOST_TOGETHER, max(FEWEST_TOGETHER, train.epochs * count / UPDATES))
    return min(largest, max(FEWEST_TOKENS, round(examples * tokens / count / together)))


def most_steps(prepared: Prepared) -> int:
    """The most steps that help, however much time there is; 0: no limit, as usual if training from scratch."""
    train, rules = prepared.recipe.train, prepared.task.rules_for(prepared.recipe)
    if train.start_from is None and rules.passes is None:
        return 0
    batches = count_batches(prepared.examples, tokens=train.batch_tokens, seed=train.seed)
    together = train.accumulate * prepared.ranks.world
    epochs = train.epochs
    if train.start_from is None and rules.passes is not None:
        fewest, most = rules.passes
        epochs = min(most, max(fewest, rules.updates * together / batches))
    return max(1, round(epochs * batches / together))
