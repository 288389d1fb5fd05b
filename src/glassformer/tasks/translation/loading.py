"""Loads a translator from a run folder or from the folder of an imported model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from glassformer.errors import RunError
from glassformer.evaluate.lengths import Lengths
from glassformer.hub.exported import refuse_exported
from glassformer.models.registry import translator
from glassformer.store.bundle import read_bundle, read_settings
from glassformer.store.run import SHARED_TOKENIZER, TARGET_TOKENIZER, RunFolder
from glassformer.store.weights import NoLargerThan, load_weights
from glassformer.tasks.folders import describe_missing, task_in
from glassformer.tasks.translation.recipe import TranslationRecipe, read_recipe
from glassformer.tasks.translation.translator import Translator
from glassformer.text import Tokenizer
from glassformer.training.machine import choose_device

SHARED, SOURCE, TARGET = SHARED_TOKENIZER, "source.tokenizer.json", TARGET_TOKENIZER
LENGTHS = "lengths"  # the manifest's name for the lengths of the training sentences


def load(path: str | Path, *, device: str = "cpu") -> Translator:
    """The translator of a run folder. During training it has the weights of the latest checkpoint."""
    run = RunFolder(Path(path))
    refuse_exported(run.path)
    if not run.exists:
        raise RunError(describe_missing(run.path))
    if task_in(read_settings(run.path)) is None:
        return Translator.of(read_bundle(run.path, device=choose_device(device)))
    recipe = read_recipe(run)
    source, target = load_tokenizers(run)
    weights, origin = run.weights()
    sizes = vocabularies(weights, source, target)
    with NoLargerThan(weights, origin=str(path)):
        model = translator(recipe.model, source_vocabulary=sizes[0], target_vocabulary=sizes[1])
    load_weights(model, weights, origin=str(path))
    found = Translator(model.to(choose_device(device)).eval(), source, target, recipe, origin=origin)
    found.folder = str(path)
    found.lengths = Lengths.read(run.about().get(LENGTHS))
    return found


def vocabularies(weights: Mapping[str, Tensor], source: Tokenizer, target: Tokenizer) -> list[int]:
    """The vocabulary size of each side: that of its tokenizer; in imported models sometimes slightly more."""
    names = [f"{side}.inputs.embedding.weight" for side in ("encoder", "decoder")]
    first = weights.get(names[0])
    rows = [first, weights.get(names[1], first)]
    sides = zip(rows, (source, target), strict=True)
    return [len(tokenizer) if weight is None else max(len(tokenizer), len(weight)) for weight, tokenizer in sides]


def open_recipe(path: str | Path) -> TranslationRecipe:
    """The settings of a folder's translator; if there is none, the error says how to make one."""
    run = RunFolder(Path(path))
    if not run.exists:
        raise RunError(describe_missing(run.path))
    return load(path).recipe if task_in(read_settings(run.path)) is None else read_recipe(run)


def load_tokenizers(run: RunFolder) -> tuple[Tokenizer, Tokenizer]:
    """Source and target side; one shared vocabulary is both."""
    names = [SHARED] if run.holds(SHARED) else [SOURCE, TARGET]
    for name in names:
        run.text(name)  # refuses a damaged or missing file
    loaded = [Tokenizer.load(run.path / name) for name in names]
    return loaded[0], loaded[-1]
