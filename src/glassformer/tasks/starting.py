"""Opens the folder that training starts from (`--from`): a run of the same task, or any model whose body fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from glassformer.config import Settings
from glassformer.errors import SettingsError
from glassformer.models.registry import values_of
from glassformer.printable import with_article
from glassformer.store.bundle import Bundle
from glassformer.store.run import SHARED_TOKENIZER, TARGET_TOKENIZER, RunFolder
from glassformer.store.weights import weights_of
from glassformer.tasks.folders import describe_missing
from glassformer.tasks.loading import load_bundle
from glassformer.text.settings import TextSettings
from glassformer.training.fine_tune import Start
from glassformer.training.reading import is_of, read_recipe, read_tokenizers
from glassformer.training.task import Task, Tokenizers

CASING, ODDS = ("casing", "inputs.casing."), ("word_odds", "word_odds.")  # a setting, and the prefix of its parameters


def open_start(task: Task, folder: str) -> Start:
    """Reads the model that training starts from."""
    start = read_start(task, folder)
    start = start if task.reads_casing else without(start, *CASING)
    return start if task.counts_words else without(start, *ODDS)


def read_start(task: Task, folder: str) -> Start:
    path = Path(folder)
    if not path.is_dir():
        raise SettingsError(f"--from: {describe_missing(path)}")
    run = RunFolder(path)
    if is_of(task, run):
        recipe = read_recipe(task, run)
        weights, _ = run.weights()
        return Start(path, recipe.text, recipe.model, read_tokenizers(run), weights, recipe)
    return start_of_bundle(task, path, load_bundle(path))


def start_of_bundle(task: Task, path: Path, bundle: Bundle) -> Start:
    """An imported model, or a run of another task."""
    if bundle.kind not in task.kinds:
        raise SettingsError(
            f"--from {path}: it is {with_article(bundle.kind)} model; {task.name} trains {listed(task.kinds)} models."
        )
    recipe = task.recipe_of(bundle)
    weights, tokenizers = weights_of(bundle.model), tokenizers_of(task, bundle)
    if recipe is not None:
        return Start(path, recipe.text, recipe.model, tokenizers, weights, recipe, bundle.extras)
    config = cast(Settings, bundle.model.config)
    if bundle.extras.get("pooling") == "mean" and hasattr(config, "pooling"):  # no one has trained its pooler
        config = config.decided({"pooling": "mean"})
    text = TextSettings(kind="imported", rows=rows_of(bundle))
    return Start(path, text, config, tokenizers, weights, extras=bundle.extras)


def rows_of(bundle: Bundle) -> int | None:
    """How many tokens have a vector, if it is neither in the model's settings nor the size of the vocabulary."""
    if bundle.kind != "transformer" or bundle.tokenizer is None:
        return None
    rows: int = values_of(bundle.model)["target_vocabulary"]
    return None if rows == len(bundle.target or bundle.tokenizer) else rows


def without(start: Start, setting: str, prefix: str) -> Start:
    """The start without a part that this task cannot use: its weights would never be trained."""
    if not getattr(start.model, setting, None):
        return start
    model = start.model.decided({setting: type(start.model).model_fields[setting].default})
    recipe = None if start.recipe is None else start.recipe.decided({"model": model})
    weights = {name: one for name, one in start.weights.items() if not name.startswith(prefix)}
    return replace(start, model=model, recipe=recipe, weights=weights)


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def tokenizers_of(task: Task, bundle: Bundle) -> Tokenizers:
    if not task.has_text:
        return {}
    if bundle.tokenizer is None:
        raise SettingsError("The model to start from has no tokenizer. Put its tokenizer.json into the model folder.")
    if bundle.target is None:
        return {SHARED_TOKENIZER: bundle.tokenizer}
    return {f"source.{SHARED_TOKENIZER}": bundle.tokenizer, TARGET_TOKENIZER: bundle.target}
