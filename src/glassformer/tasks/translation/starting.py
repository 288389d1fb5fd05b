"""Checks that a translator is fine-tuned in its own direction, by the settings and by the sentences themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.metric import mean_of
from glassformer.tasks.translation.material import language_pair, target_language
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.training.fine_tune import Start
from glassformer.training.task import Listener, Setup, Task
from glassformer.training.validate import held_losses

LOOKED_AT = 100  # pairs, to see whether source and target are swapped
MOST_TOKENS = 512  # on a side of these pairs
GAIN = 1.0  # nats per token by which the reverse direction must be more likely
SWAP = "Swap --source and --target (or the two --languages, or --columns), or train a new run without --from."


def check_direction(start: Start, recipe: TranslationRecipe, listener: Listener) -> None:
    """Refuses to reverse a translator, because nothing it has learned would help. Reports another target language."""
    if not start.is_whole:
        raise SettingsError(
            f"--from {start.path}: it is not a translator. Give a translator, or train a new run without --from."
        )
    then, now = language_pair(start.recipe.data), language_pair(recipe.data)
    if then is not None and now is not None and now == then[::-1]:
        raise SettingsError(
            f"--from {start.path}: it translates {then[0]} to {then[1]}, but this data is {now[0]} to {now[1]}. {SWAP}"
        )
    into, wanted = target_language(start.recipe.data), target_language(recipe.data)
    if into and wanted and into != wanted:
        listener.on_stage(
            f"Warning: {start.path} translates into {into}, but the target language of this data is {wanted}"
        )


def refuse_reversed(task: Task, setup: Setup, model: Any, held: Sequence[Any], origin: str) -> None:
    """The same check by the sentences: if the reverse direction is far more likely, the sides are swapped."""
    some = [(source, (references[0],)) for source, references in held[:LOOKED_AT]]
    reversed_ = [(references[0], (source,)) for source, references in some]
    losses = [loss_of(task, setup, model, part) for part in (some, reversed_)]
    if losses[1] < losses[0] - GAIN:
        raise DataError(
            f"{origin}: your pairs are far more likely in the other direction (loss {losses[1]:.2f} per token "
            f"against {losses[0]:.2f}): source and target seem to be swapped. {SWAP}"
        )


def loss_of(task: Task, setup: Setup, model: Any, examples: Sequence[Any]) -> float:
    data = setup.recipe.data.model_copy(update={"max_tokens": MOST_TOKENS // 10})
    short = Setup(setup.recipe.model_copy(update={"data": data}), setup.tokenizers)
    encoded = task.encode_held(short, examples)
    if not len(encoded.columns):
        return 0.0
    counts = held_losses(task, setup, model, task.pool(setup, encoded.columns))
    return float(mean_of(counts.sum(axis=0, keepdims=True))[0])
