"""A model with its tokenizer and special ids, and the folder that holds them.

config.toml         [model] with its `kind` and sizes, [marks] (special ids), [extras]; in a training run, the recipe
tokenizer.json      for models of text; also target.tokenizer.json if the output has its own vocabulary
model.safetensors   the weights, with our tensor names
manifest.json       sha256 of each file
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from glassformer.errors import RunError
from glassformer.models.registry import MODELS, build_without_init, values_of
from glassformer.store import files
from glassformer.store.checkpoints import WEIGHTS
from glassformer.store.run import CONFIG, SHARED_TOKENIZER, TARGET_TOKENIZER, RunFolder
from glassformer.store.weights import NoLargerThan, load_weights, weights_of
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, frame_of
from glassformer.toml_text import Tree, tree_to_toml


@dataclass(frozen=True)
class SpecialIds:
    """The ids of the special tokens; None for those that the model does not have."""

    bos: int | None = None
    eos: int | None = None
    pad: int | None = None
    unk: int | None = None
    mask: int | None = None
    cls: int | None = None
    sep: int | None = None
    start: int | None = None  # the first token of an encoder-decoder's output

    @classmethod
    def of_encoder(cls, tokenizer: Tokenizer) -> SpecialIds:
        """For a vocabulary trained here: its begin and end marks surround a text."""
        bos, eos, pad = tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
        return cls(bos=bos, eos=eos, pad=pad, unk=tokenizer.unk_id, mask=tokenizer.mask_id, cls=bos, sep=eos)


@dataclass(frozen=True)
class Bundle:
    """A model with its tokenizer, its special ids and other facts needed to use it.

    `extras` holds plain values, for instance {"pooling": "mean", "max_length": 256}, and "model_type", the layout that
    the model was imported from. `target` is the second tokenizer, for encoder-decoders that have two.
    """

    kind: str
    model: nn.Module
    tokenizer: Tokenizer | None = None
    marks: SpecialIds = SpecialIds()
    extras: dict[str, Any] = field(default_factory=dict)
    target: Tokenizer | None = None


def frame_for(tokenizer: Tokenizer, marks: SpecialIds) -> Frame:
    """The special tokens around a text, from the tokenizer's file or, if it has none, from the marks."""
    frame = frame_of(tokenizer)
    if frame == Frame() and marks.cls is not None and marks.sep is not None:
        return Frame((marks.cls,), (marks.sep,), (marks.sep,))
    return frame


# Reading


def read_settings(folder: Path) -> Tree:
    """The config.toml of one of our folders, checked against its manifest."""
    try:
        return tomllib.loads(RunFolder(folder).config_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{folder / CONFIG}: damaged ({error}). Restore it from a copy.") from None


def kind_in(settings: Mapping[str, Any], *, origin: str) -> str | None:
    """The kind of model that a config.toml names. Older folders name it at the top level, or not at all."""
    model = settings.get("model")
    kind = settings.get("kind", model.get("kind") if isinstance(model, Mapping) else None)
    if kind is not None and kind not in MODELS:
        raise RunError(f"{origin}: kind = {kind!r}. Known: {', '.join(MODELS)}. Update glassformer to read it.")
    return kind


def read_bundle(folder: Path, *, device: torch.device | str = "cpu") -> Bundle:
    """The model of a folder that `save_bundle` wrote, in this or an older version."""
    run, settings, origin = RunFolder(folder), read_settings(folder), str(folder / CONFIG)
    kind = kind_in(settings, origin=origin)
    if kind is None:
        raise RunError(f"{origin}: [model] names no kind. Known: {', '.join(MODELS)}.")
    weights, _ = run.weights()
    with NoLargerThan(weights, origin=str(folder)):
        model = build_without_init(kind, settings.get("model", {}), origin=origin)
    load_weights(model, weights, origin=str(folder))
    marks = settings.get("marks", {})
    return Bundle(
        kind,
        model.to(device).eval(),
        tokenizer_in(run, SHARED_TOKENIZER),
        marks=SpecialIds(**{one.name: marks.get(one.name) for one in fields(SpecialIds)}),
        extras=settings.get("extras", {}),
        target=tokenizer_in(run, TARGET_TOKENIZER),
    )


def tokenizer_in(run: RunFolder, name: str) -> Tokenizer | None:
    """The tokenizer in the file `name`, checked against the manifest; None if there is no such file."""
    if not run.holds(name):
        return None
    return Tokenizer.from_json(run.text(name).decode("utf-8"), origin=str(run.path / name))


# Writing


def save_bundle(bundle: Bundle, path: str | Path, *, about: Mapping[str, Any] | None = None) -> None:
    """Writes a new folder, complete or not at all. `about` is stored in its manifest."""
    folder = Path(path)
    refuse_existing(folder)
    content = {**content_of(bundle), WEIGHTS: files.pack_tensors(weights_of(bundle.model))}
    files.make_parents(folder)
    files.write_folder(folder, content, about=about or {})


def refuse_existing(folder: Path) -> None:
    if folder.exists():
        raise RunError(f"{folder} already exists. Choose another folder, or remove it first.")


def content_of(bundle: Bundle) -> dict[str, bytes]:
    """The files of a bundle's folder, except the weights and the manifest."""
    marks = {name: number for name, number in asdict(bundle.marks).items() if number is not None}
    settings = {"model": values_of(bundle.model), "marks": marks, "extras": bundle.extras}
    tokenizers = {SHARED_TOKENIZER: bundle.tokenizer, TARGET_TOKENIZER: bundle.target}
    content = {name: one.to_json().encode() for name, one in tokenizers.items() if one is not None}
    return {CONFIG: tree_to_toml(settings).encode(), **content}
