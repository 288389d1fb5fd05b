"""A whole Hugging Face folder: read into one of our models, and written from one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.folders import refuse_recurrent, write_json
from glassformer.hub.huggingface import keys
from glassformer.hub.huggingface.checkpoint import (
    SHARD_BYTES,
    Checkpoint,
    finite,
    open_checkpoint,
    read_json,
    write_checkpoint,
)
from glassformer.hub.huggingface.fields import Fields
from glassformer.hub.huggingface.filling import Plan, Tensors, filled
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import layout_for, layouts_of
from glassformer.hub.huggingface.marks import GENERATION, generation_fields, read_marks
from glassformer.hub.huggingface.tokenizers import read_tokenizers, tokenizer_files
from glassformer.printable import printable
from glassformer.store.bundle import Bundle
from glassformer.store.weights import weights_of

CONFIG = "config.json"


# Reading


class Opened(NamedTuple):
    """The files of a model: config.json, and its tensors under their current names."""

    folder: Path
    theirs: Fields
    layout: Layout
    tensors: Tensors


def read_folder(path: str | Path) -> Bundle:
    """The model of a Hugging Face folder, with what belongs to it."""
    return model_in(open_model(Path(path)))


def open_model(folder: Path) -> Opened:
    """Reads config.json and the names of the tensors."""
    theirs = read_config(folder)
    layout = layout_for(theirs)
    checkpoint = open_checkpoint(folder)
    return Opened(folder, theirs, layout, Renamed(checkpoint, renamed(checkpoint, layout)))


def model_in(opened: Opened, *, origin: str = "") -> Bundle:
    """Builds the model and fills in its tensors. Errors name the folder, or `origin`."""
    folder, theirs, layout, tensors = opened
    values = layout.to_config(theirs, frozenset(tensors))
    model = filled(layout, values, tensors, origin=origin or str(folder))
    tokenizer, target = read_tokenizers(folder, theirs)
    return Bundle(
        layout.kind,
        model.eval(),
        tokenizer,
        marks=read_marks(folder, theirs, tokenizer, vocabulary=output_vocabulary(values)),
        extras={"model_type": theirs["model_type"], **layout.read_extras(folder, theirs)},
        target=target,
    )


def output_vocabulary(values: Mapping[str, Any]) -> int | None:
    """How many tokens the model can produce; None: it produces none."""
    return values.get("target_vocabulary", values.get("vocabulary"))


def read_config(folder: Path) -> Fields:
    """config.json; an error if it is of a kind that cannot be read."""
    if not folder.is_dir():
        raise ImportingError(f"{folder} is not a folder. A Hugging Face folder has config.json and model.safetensors.")
    theirs = read_json(folder / CONFIG)
    if theirs.get("quantization_config"):
        raise ImportingError(f"{folder / CONFIG}: the weights are quantised. Use the model before quantisation.")
    return theirs


def renamed(names: Iterator[str] | Checkpoint, layout: Layout) -> dict[str, str]:
    """Current name of every tensor -> its name in the file."""
    found = {}
    for name in names:
        today = name
        for ending, new in layout.older:
            if name.endswith(ending):
                today = name.removesuffix(ending) + new
        if today in found:
            raise ImportingError(f"{printable(today)} is in the checkpoint twice: also under its older name.")
        found[today] = name
    return found


class Renamed(Mapping[str, Tensor]):
    """A checkpoint under the current names."""

    def __init__(self, checkpoint: Checkpoint, names: Mapping[str, str]) -> None:
        self.checkpoint, self.names = checkpoint, names

    def __getitem__(self, name: str) -> Tensor:
        return self.checkpoint[self.names[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return len(self.names)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.checkpoint.shape(self.names[name])

    def holds_weights(self, name: str) -> bool:
        return self.checkpoint.holds_weights(self.names[name])


# Writing


def write_folder(bundle: Bundle, folder: Path, *, shard_bytes: int = SHARD_BYTES) -> Layout:
    """Writes the files into an existing folder; returns their layout."""
    refuse_recurrent(bundle.kind, "transformers")
    layout, theirs = layout_to_write(bundle)
    refuse_non_finite(bundle.model)
    bundle = layout.expressed(bundle)
    plan = Plan.of(bundle.model, layout, {})
    tensors = keys.to_theirs(plan.lines, weights_of(bundle.model), plan.counts, prefix=layout.prefixes[0])
    constants = layout.constants(bundle)
    write_checkpoint(itertools.chain(tensors, constants.items()), folder, shard_bytes=shard_bytes)
    write_json(folder / CONFIG, theirs)
    write_json(folder / GENERATION, generation_fields(bundle.marks))
    for name, content in {**tokenizer_files(bundle), **layout.write_extras(bundle)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return layout


def refuse_non_finite(model: nn.Module) -> None:
    problems = [problem for name, weight in weights_of(model).items() for problem in finite(name, weight)]
    if problems:
        raise ExportError(f"{problems[0]}: the model is broken. Nothing was exported.")


def layout_to_write(bundle: Bundle) -> tuple[Layout, Theirs]:
    """The first layout that can express the model, and its config.json."""
    reasons = []
    for layout in layouts_of(bundle.kind, first=bundle.extras.get("model_type")):
        try:
            return layout, layout.from_config(bundle)
        except ExportError as error:
            reasons.append(str(error))
    raise ExportError(" ".join(reasons) or f"No layout of Hugging Face is known for a {bundle.kind}.")
