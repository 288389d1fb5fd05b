"""The architecture of a folder's model, or of a named size, without reading the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from glassformer.config import apply_assignments
from glassformer.errors import RunError, SettingsError
from glassformer.explain.architecture import Architecture, architecture_of
from glassformer.hub.exported import refuse_exported
from glassformer.hub.huggingface.checkpoint import open_checkpoint, raise_all, read_header
from glassformer.hub.huggingface.folders import CONFIG as THEIR_CONFIG
from glassformer.hub.huggingface.folders import Plan, Renamed, read_config, renamed
from glassformer.hub.huggingface.layouts import layout_for
from glassformer.hub.reading import is_model, read_model
from glassformer.models.registry import MODELS, TRANSLATORS, VOCABULARIES, build, sizes
from glassformer.store.bundle import kind_in, read_settings
from glassformer.store.checkpoints import WEIGHTS
from glassformer.store.run import CONFIG, RunFolder
from glassformer.tasks.folders import describe_missing, task_in
from glassformer.tasks.translation.loading import load_tokenizers
from glassformer.tasks.translation.recipe import read_recipe

# Settings of the published models that their size does not decide.
PUBLISHED: dict[str, dict[str, Any]] = {
    "transformer": dict.fromkeys(VOCABULARIES, 37_000),
    "lstm": {"source_vocabulary": 160_000, "target_vocabulary": 80_000, "tied": "none"},
    "rnn_attention": {**dict.fromkeys(VOCABULARIES, 30_000), "tied": "none"},
    "bert": {"pooler": True},
    "gpt": {"vocabulary": 50_257},
    "llama": {"vocabulary": 32_000},
    "lstm_lm": {"vocabulary": 10_000},
    "captioner": {"vocabulary": 50_257},
    "vit": {"classes": 1000},
}
OTHERS: dict[str, dict[str, Any]] = {"llama:3-8B": {"vocabulary": 128_256}}


def show(name: str, *, context: int | None = None, assignments: Sequence[str] = ()) -> Architecture:
    """The architecture of a folder, or of a size as `gpt:small`; `assignments` (d=512) change a named size."""
    path = Path(name)
    if path.exists():
        if assignments:
            raise SettingsError(
                "--set changes a named size, such as gpt:small. The model of a folder cannot be changed."
            )
        kind, model = in_folder(path)
    else:
        kind, model = of_size(name, assignments)
    return architecture_of(model, kind=kind, context=context)


def of_size(name: str, assignments: Sequence[str]) -> tuple[str, nn.Module]:
    kind, colon, size = name.partition(":")
    if kind not in MODELS or not colon:
        raise SettingsError(
            f"{name}: no such folder, and no named size. Sizes are written as gpt:small; kinds: {', '.join(MODELS)}."
        )
    known = {one.lower(): one for one in sizes(kind)}
    if size.lower() not in known:
        raise SettingsError(f"{name}: {kind} has no size {size!r}. It has: {', '.join(known.values())}.")
    chosen = known[size.lower()]
    plain = {"size": chosen, **PUBLISHED.get(kind, {}), **OTHERS.get(f"{kind}:{chosen}", {})}
    return kind, empty(kind, apply_assignments(plain, assignments), origin=name)


def in_folder(path: Path) -> tuple[str, nn.Module]:
    refuse_exported(path)
    if (path / CONFIG).is_file():
        settings, origin = read_settings(path), str(path / CONFIG)
        kind = kind_in(settings, origin=origin) or "transformer"  # runs of older versions name none
        if kind in TRANSLATORS and task_in(settings) is not None:
            return kind, of_run(RunFolder(path))
        return kind, empty(kind, settings.get("model", {}), origin=origin)
    if (path / THEIR_CONFIG).is_file():
        return of_others(path)
    if not is_model(path):
        raise RunError(describe_missing(path))
    found = read_model(path)  # the sizes are not known before the files are read
    return found.kind, found.model


def of_run(run: RunFolder) -> nn.Module:
    """A translator. Its vocabulary sizes come from the weights, or from the tokenizers if there are no weights yet."""
    recipe = read_recipe(run)
    counts = [len(tokenizer) for tokenizer in load_tokenizers(run)]
    if run.has(WEIGHTS):
        header = read_header(run.path / WEIGHTS)
        rows = [header.get(f"{side}.inputs.embedding.weight") for side in ("encoder", "decoder")]
        counts = [(one or rows[0] or {"shape": [count]})["shape"][0] for one, count in zip(rows, counts, strict=True)]
    values = recipe.model.model_dump() | dict(zip(VOCABULARIES, counts, strict=True))
    return empty(recipe.model.kind, values, origin=str(run.path / CONFIG))


def of_others(folder: Path) -> tuple[str, nn.Module]:
    """A Hugging Face folder; names and shapes of its tensors are checked."""
    theirs = read_config(folder)
    layout, checkpoint = layout_for(theirs), open_checkpoint(folder)
    names = renamed(checkpoint, layout)
    model = empty(layout.kind, layout.to_config(theirs, frozenset(names)), origin=str(folder / THEIR_CONFIG))
    tensors = Renamed(checkpoint, names)
    raise_all(Plan.of(model, layout, tensors).problems(tensors), origin=f"{folder}: the tensors do not fit config.json")
    return layout.kind, model


def empty(kind: str, values: Mapping[str, Any], *, origin: str) -> nn.Module:
    """A model of any size whose weights have shapes but use no memory."""
    with torch.device("meta"):
        return build(kind, values, origin=origin)
