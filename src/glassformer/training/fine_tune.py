"""Starting from the weights of another run or of an imported model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor

from glassformer.config import validate
from glassformer.errors import DataError, SettingsError
from glassformer.text import Tokenizer
from glassformer.text.settings import TextSettings
from glassformer.training.budget_rules import R
from glassformer.training.fine_tune_length import rate_for
from glassformer.training.settings import TrainSettings
from glassformer.training.task import Material, Task, Tokenizers
from glassformer.training.watching import TrainingWatcher

FREE = {"dropout", "pooling", "casing", "word_odds"}  # may differ: the weights fit, or something is added
GENTLER = 10  # the highest learning rate is divided by this, so that less is forgotten
FASTER = 10  # adapters learn best at about this many times the rate of a whole model
LOOKED_AT = 1000  # examples that are read to see whether the vocabulary fits
MOST_UNKNOWN = 0.05  # share of unknown tokens
MOST_PIECES = 0.8  # tokens per byte; above, the tokenizer mostly spells out single letters
AGAIN = "Train a new run without --from."


@dataclass(frozen=True)
class Start:
    """A model to start from."""

    path: Path
    text: TextSettings
    model: Any  # the settings of the model
    tokenizers: Tokenizers
    weights: Mapping[str, Tensor]
    recipe: Any = None  # if it is a run of the same task; None: only its body is used, with new heads
    extras: Mapping[str, Any] = field(default_factory=dict)  # of an imported model's folder

    @property
    def is_whole(self) -> bool:
        """Whether its heads fit the task too."""
        return self.recipe is not None


def started_from(task: Task, start: Start, recipe: R) -> R:
    """The recipe with the vocabulary and shape of the start model; raises an error if the user set other ones."""
    refuse_other_shape(start, recipe)
    model = start.model
    free = {name: getattr(recipe.model, name) for name in FREE & recipe.model.model_fields_set}
    model = model.model_copy(update=free) if free else model
    started = recipe.decided({"text": start.text, "model": model})
    if start.is_whole:
        rate = comparable_rate(start.recipe.train, recipe.train.optimiser) / GENTLER
        started = task.inherited(started.with_open("train", {"lr": rate}), start.recipe)
    else:
        rate = rate_for(start.model.d, task.rate_factor, task.highest_rate)
        started = started.with_open("train", {"lr": rate, **task.fine_tuning})
        started = task.with_body(started, start.extras)
    if recipe.train.lora and "lr" not in recipe.train.model_fields_set:
        started = started.decided({"train": started.train.decided({"lr": FASTER * started.train.lr})})
    validate(type(recipe), started.model_dump(), origin=f"--from {start.path}")  # old and new parts together
    return started


def fitting(task: Task, start: Start, recipe: Any) -> Start:
    """The start model, without its heads if they do not fit what this run learns."""
    return start if not start.is_whole or task.keeps_heads(recipe, start.recipe) else replace(start, recipe=None)


def comparable_rate(then: TrainSettings, optimiser: str) -> float:
    """The highest rate of the other run, converted to this optimiser: Muon uses higher rates than AdamW."""
    usual = TrainSettings().lr  # for AdamW
    return then.lr if then.optimiser == optimiser else min(then.lr, usual)


def refuse_other_shape(start: Start, recipe: R) -> None:
    problems = []
    for section in ("text", "model"):
        now, then = getattr(recipe, section), getattr(start, section)
        names = sorted(now.model_fields_set - (FREE if section == "model" else set()))
        changed = [name for name in names if getattr(now, name) != getattr(then, name, None)]
        problems += [f"{section}.{n} is {getattr(then, n, None)!r} there, {getattr(now, n)!r} here" for n in changed]
    if problems:
        raise SettingsError(
            f"--from {start.path}: {'; '.join(problems)}. Fine-tuning keeps the vocabulary and the shape: leave these "
            "settings out, or train a new run without --from."
        )


def check_vocabulary(task: Task, start: Start, recipe: Any, material: Material, watcher: TrainingWatcher) -> None:
    """Refuses texts that the old vocabulary cannot represent, and a start model that the task cannot use."""
    some = list(islice(material.train(), LOOKED_AT))
    for name, texts in task.texts(some).items():
        side = name.removesuffix("tokenizer.json").removesuffix(".")
        misfit = f"The vocabulary of {start.path} does not fit your {side + ' ' if side else ''}texts"
        tokenizer = start.tokenizers.get(name) or next(iter(start.tokenizers.values()))
        refuse_unknown(tokenizer, texts, misfit, spelled=start.text.kind == "char")
    task.check_start(start, recipe, watcher)


def refuse_unknown(tokenizer: Tokenizer, texts: Iterable[str], misfit: str, *, spelled: bool) -> None:
    """Refuses texts with many unknown tokens, or texts that a word tokenizer splits almost into single letters."""
    texts = list(texts)
    rows = tokenizer.encode_batch(texts)
    tokens, size = sum(map(len, rows)), sum(len(text.encode()) for text in texts)
    unknown = 0 if tokenizer.unk_id is None else sum(row.count(tokenizer.unk_id) for row in rows)
    if unknown > MOST_UNKNOWN * tokens:
        raise DataError(f"{misfit}: {unknown / tokens:.0%} of their tokens are unknown to it. {AGAIN}")
    if not spelled and tokens > MOST_PIECES * size:
        raise DataError(f"{misfit}: it spells them out, {tokens / size:.1f} tokens per byte. {AGAIN}")
