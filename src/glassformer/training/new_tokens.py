"""Starting from a model with more tokens than it had: the vectors of new tokens begin as the mean of their pieces'."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from glassformer.errors import SettingsError
from glassformer.text import Tokenizer
from glassformer.text.extending import extended
from glassformer.training.fine_tune import Start
from glassformer.training.task import TOKENIZER
from glassformer.training.watching import TrainingWatcher


def with_new_tokens(start: Start, words: Sequence[str], watcher: TrainingWatcher) -> Start:
    """The start model with these words as tokens; old tokens keep their ids and their vectors."""
    if not words:
        return start
    if TOKENIZER not in start.tokenizers or len(start.tokenizers) > 1:
        raise SettingsError("train.extend_vocabulary: this model has one vocabulary for each side; only one can grow.")
    old = start.tokenizers[TOKENIZER]
    tokenizer, pieces = extended(old, words)
    if not pieces:
        raise SettingsError(
            f"train.extend_vocabulary: these are tokens already, or more than one word: {', '.join(words)}."
        )
    watcher.on_stage(added_in_words(tokenizer, pieces, words))
    rows = rows_of(start)
    size = max(rows, len(tokenizer))
    weights = {
        name: grown(weight, size, pieces) if is_of_words(name, weight, rows) else weight
        for name, weight in start.weights.items()
    }
    recipe = start.recipe
    if recipe is not None:
        recipe = recipe.decided({"model": with_vocabulary(recipe.model, size)})
    model = with_vocabulary(start.model, size)
    return replace(start, tokenizers={TOKENIZER: tokenizer}, weights=weights, model=model, recipe=recipe)


def added_in_words(tokenizer: Tokenizer, added: Collection[int], words: Sequence[str]) -> str:
    """`Added 2 tokens to the vocabulary: zebra, quagga`, and which words stay as they were."""
    new = [word for word in dict.fromkeys(words) if tokenizer.encode(word)[0] in added]
    old = [word for word in dict.fromkeys(words) if word not in new]
    what = "1 token" if len(new) == 1 else f"{len(new):,} tokens"
    return f"Added {what} to the vocabulary: {', '.join(new)}" + (f"; as before: {', '.join(old)}" if old else "")


def rows_of(start: Start) -> int:
    """How many tokens the model has vectors for."""
    return next(len(weight) for name, weight in start.weights.items() if name.endswith("embedding.weight"))


def is_of_words(name: str, weight: Tensor, rows: int) -> bool:
    """Whether a tensor has a row for each token: an embedding, or an output layer with its bias."""
    return len(weight) == rows and (name.endswith("embedding.weight") or name.startswith("head."))


def grown(weight: Tensor, size: int, pieces: Mapping[int, Sequence[int]]) -> Tensor:
    """(V, ...) -> (size, ...): new rows are the mean of the rows of their pieces; without pieces, of all rows."""
    found = torch.cat([weight, weight.new_zeros(size - len(weight), *weight.shape[1:])])
    for number, parts in pieces.items():
        found[number] = (weight[list(parts)] if parts else weight).mean(dim=0)
    return found


def with_vocabulary(model: Any, size: int) -> Any:
    """The settings with the new size, where they have one."""
    return model.model_copy(update={"vocabulary": size}) if "vocabulary" in type(model).model_fields else model
