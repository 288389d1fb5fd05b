"""Starting from the weights of another run, for example to fine-tune a translator on one's own texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from torch import Tensor

from glassformer.config import validate
from glassformer.errors import DataError, SettingsError
from glassformer.store.run import RunFolder
from glassformer.tasks.translation.material import Material, target_language
from glassformer.tasks.translation.recipe import TranslationRecipe, read_recipe
from glassformer.tasks.translation.translator import load_tokenizers
from glassformer.tasks.translation.watching import TrainingWatcher
from glassformer.text import Tokenizer

FREE = {"dropout"}  # of the model's settings: the weights fit with any
GENTLER = 4  # times lower is the highest rate, so that what is known is not forgotten
EPOCHS = 5.0  # usually enough for what is new
LOOKED_AT = 1000  # pairs, to see whether the vocabulary fits
MOST_UNKNOWN = 0.05  # share of tokens
MOST_PIECES = 0.8  # tokens a character: more, and it is spelt out rather than read


@dataclass(frozen=True)
class Start:
    """A run to start from."""

    path: Path
    recipe: TranslationRecipe
    tokenizers: tuple[Tokenizer, Tokenizer]
    weights: dict[str, Tensor]


def read_start(folder: str) -> Start:
    run = RunFolder(Path(folder))
    if not run.exists:
        raise SettingsError(f"--from: {run.describe_missing()}")
    weights, _ = run.weights()
    return Start(run.path, read_recipe(run), load_tokenizers(run), weights)


def started_from(start: Start, recipe: TranslationRecipe) -> TranslationRecipe:
    """The recipe with vocabulary and shape of the run it starts from; others that were set are refused."""
    refuse_other_shape(start, recipe)
    model = start.recipe.model
    if "dropout" in recipe.model.model_fields_set:
        model = model.model_copy(update={"dropout": recipe.model.dropout})
    gentle = {"lr": start.recipe.train.lr / GENTLER, "epochs": EPOCHS}
    train = recipe.train.model_copy(update={k: v for k, v in gentle.items() if k not in recipe.train.model_fields_set})
    started = recipe.decided({"text": start.recipe.text, "model": model, "train": train})
    validate(TranslationRecipe, started.model_dump(), origin=f"--from {start.path}")  # old and new parts together
    return started


def refuse_other_shape(start: Start, recipe: TranslationRecipe) -> None:
    problems = []
    for section in ("text", "model"):
        now, then = getattr(recipe, section), getattr(start.recipe, section)
        names = sorted(now.model_fields_set - (FREE if section == "model" else set()))
        changed = [name for name in names if getattr(now, name) != getattr(then, name)]
        problems += [f"{section}.{n} is {getattr(then, n)!r} there, {getattr(now, n)!r} here" for n in changed]
    if problems:
        raise SettingsError(
            f"--from {start.path}: {'; '.join(problems)}. Weights keep their vocabulary and their shape: leave these "
            "settings out, or train anew without --from."
        )


def check_vocabulary(start: Start, recipe: TranslationRecipe, material: Material, watcher: TrainingWatcher) -> None:
    """Sentences that the old vocabulary cannot write are refused; another target language is told."""
    pairs = list(islice(material.train(), LOOKED_AT))
    for tokenizer, texts, side in zip(start.tokenizers, zip(*pairs, strict=True), ("source", "target"), strict=True):
        misfit = f"The vocabulary of {start.path} does not fit your {side} sentences"
        refuse_unknown(tokenizer, texts, misfit, spelt=start.recipe.text.kind == "char")
    then, now = target_language(start.recipe.data), target_language(recipe.data)
    if then and now and then != now:
        watcher.on_stage(
            f"CAREFUL: {start.path} translates into {then}, these sentences are to be translated into {now}"
        )


def refuse_unknown(tokenizer: Tokenizer, texts: Iterable[str], misfit: str, *, spelt: bool) -> None:
    """Refuses texts that are unknown tokens, or almost nothing but single letters where there were words."""
    texts = list(texts)
    rows = tokenizer.encode_batch(texts)
    tokens, characters = sum(map(len, rows)), sum(map(len, texts))
    unknown = 0 if tokenizer.unk_id is None else sum(row.count(tokenizer.unk_id) for row in rows)
    way_out = "Train anew without --from."
    if unknown > MOST_UNKNOWN * tokens:
        raise DataError(f"{misfit}: {unknown / tokens:.0%} of their tokens are unknown to it. {way_out}")
    if not spelt and tokens > MOST_PIECES * characters:
        raise DataError(f"{misfit}: it spells them out, {tokens / characters:.1f} tokens a character. {way_out}")
