"""A whole Hugging Face folder: read into one of our models, and written from one."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.folders import write_json
from glassformer.hub.huggingface import keys
from glassformer.hub.huggingface.checkpoint import (
    SHARD_BYTES,
    Checkpoint,
    finite,
    open_checkpoint,
    raise_all,
    read_json,
    write_checkpoint,
)
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import layout_for, layouts_of
from glassformer.hub.huggingface.marks import GENERATION, generation_fields, read_marks
from glassformer.hub.huggingface.pretrained import Pretrained
from glassformer.hub.huggingface.tokenizers import read_tokenizers, tokenizer_files
from glassformer.models.registry import build_undrawn
from glassformer.nn.positions import sinusoidal_halves
from glassformer.store.weights import weights_of

CONFIG = "config.json"
HALF_PRECISION = 1e-3  # of numbers up to 1, as some files hold them


# Reading


def read_folder(path: str | Path) -> Pretrained:
    """The model of a Hugging Face folder, with what belongs to it."""
    folder = Path(path)
    theirs = read_config(folder)
    layout = layout_for(theirs)
    checkpoint = open_checkpoint(folder)
    names = renamed(checkpoint, layout)
    model = build_undrawn(layout.kind, layout.to_config(theirs, frozenset(names)), origin=str(folder / CONFIG))
    fill(model, layout, Renamed(checkpoint, names), origin=str(folder))
    tokenizer, target = read_tokenizers(folder, theirs)
    return Pretrained(
        layout.kind,
        model.eval(),
        tokenizer,
        marks=read_marks(folder, theirs, tokenizer),
        extras={"model_type": theirs["model_type"], **layout.read_extras(folder, theirs)},
        target=target,
    )


def read_config(folder: Path) -> dict[str, Any]:
    """config.json, refused where it is of a kind that cannot be read."""
    if not folder.is_dir():
        raise ImportingError(f"{folder} is not a folder. A Hugging Face folder has config.json and model.safetensors.")
    theirs = read_json(folder / CONFIG)
    if theirs.get("quantization_config"):
        raise ImportingError(f"{folder / CONFIG}: the weights are quantised. Take those of the model before that.")
    return theirs


def renamed(names: Iterator[str] | Checkpoint, layout: Layout) -> dict[str, str]:
    """Every name as it is today -> as the file has it."""
    found = {}
    for name in names:
        today = name
        for ending, new in layout.older:
            if name.endswith(ending):
                today = name.removesuffix(ending) + new
        found[today] = name
    return found


class Renamed(Mapping[str, Tensor]):
    """A checkpoint under the names of today."""

    def __init__(self, checkpoint: Checkpoint, names: Mapping[str, str]) -> None:
        self.checkpoint, self.names = checkpoint, names

    def __getitem__(self, name: str) -> Tensor:
        return self.checkpoint[self.names[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.checkpoint.shape(self.names[name])

    def holds_weights(self, name: str) -> bool:
        return self.checkpoint.holds_weights(self.names[name])


def fill(model: nn.Module, layout: Layout, tensors: Renamed, *, origin: str) -> None:
    """Copies their tensors into our model. Every tensor is used, known to hold nothing learned, or an error."""
    plan = Plan.of(model, layout, tensors)
    raise_all(plan.problems(tensors), origin=f"{origin}: the tensors do not fit config.json")
    parameters, wrong = dict(model.named_parameters()), []
    source = Checked(tensors, plan.stand_ins)
    with torch.no_grad():
        for name, weight in keys.to_ours(plan.lines, source, plan.counts, prefix=plan.prefix):
            parameters[name].copy_(weight)
    wrong = [*source.problems, *plan.untied(tensors), *other_tables(tensors, layout.sinusoids)]
    raise_all(wrong, origin=origin)


def other_tables(tensors: Renamed, patterns: Sequence[str]) -> list[str]:
    """Tables of positions that are not the sines and cosines which we would compute in their place."""
    wrong = []
    for name in (name for name in tensors if any_fits(name, patterns)):
        table = tensors[name].double()
        if table.dim() != 2 or not torch.allclose(table, sinusoidal_halves(*table.shape), rtol=0, atol=HALF_PRECISION):
            wrong.append(f"{name} is not the table of sines and cosines that it should be")
    return wrong


class Checked(Mapping[str, Tensor]):
    """Tensors that are looked at while they pass; a tied one may stand under its other name."""

    def __init__(self, tensors: Renamed, stand_ins: Mapping[str, str]) -> None:
        self.tensors, self.stand_ins = tensors, stand_ins
        self.problems: list[str] = []

    def __getitem__(self, name: str) -> Tensor:
        name = self.stand_ins.get(name, name)
        tensor = self.tensors[name]
        self.problems += finite(name, tensor)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


@dataclass(frozen=True)
class Plan:
    """What of theirs goes where, for one model and one file."""

    lines: Sequence[keys.Line]
    counts: keys.Counts
    prefix: str
    expected: Mapping[str, tuple[int, ...]]  # the shapes that their tensors must have
    tied: Mapping[str, str]  # alias: name
    ignored: tuple[str, ...]
    stand_ins: Mapping[str, str]  # name that is not in the file: its alias, which is

    @classmethod
    def of(cls, model: nn.Module, layout: Layout, names: Mapping[str, Any]) -> Plan:
        config: Any = model.config
        lines, counts = layout.lines(config), layout.counts(config)
        shapes = {name: weight.to("meta") for name, weight in weights_of(model).items()}
        refuse_gaps(lines, counts, shapes)
        options = {prefix: dict(keys.to_theirs(lines, shapes, counts, prefix=prefix)) for prefix in layout.prefixes}
        prefix = max(options, key=lambda option: len(options[option].keys() & names.keys()))
        tied = {alias.format(p=prefix): name.format(p=prefix) for alias, name in layout.tied(config).items()}
        return cls(
            lines=lines,
            counts=counts,
            prefix=prefix,
            expected={name: tuple(tensor.shape) for name, tensor in options[prefix].items()},
            tied=tied,
            ignored=(*layout.ignored, *layout.sinusoids),
            stand_ins={name: alias for alias, name in tied.items() if name not in names and alias in names},
        )

    def problems(self, tensors: Renamed) -> list[str]:
        """Missing, unexpected and mis-shaped tensors, and ones that are no weights."""
        used = {self.stand_ins.get(name, name): shape for name, shape in self.expected.items()}
        known = [name for name in tensors if name in used or name in self.tied]
        extra = (name for name in tensors if name not in used and name not in self.tied)
        return [
            *(f"{name} is missing" for name in used if name not in tensors),
            *(f"{name} is unexpected" for name in extra if not any_fits(name, self.ignored)),
            *(
                f"{name} has shape {tensors.shape(name)}, expected {used[name]}"
                for name in known
                if name in used and tensors.shape(name) != used[name]
            ),
            *(f"{name} holds no floating-point numbers" for name in known if not tensors.holds_weights(name)),
        ]

    def untied(self, tensors: Renamed) -> list[str]:
        """Tensors that must be one and are two different ones."""
        names = [(alias, self.stand_ins.get(name, name)) for alias, name in self.tied.items() if alias in tensors]
        return [
            f"{alias} should be the same as {name} (they are tied), but is not"
            for alias, name in names
            if alias != name and not torch.equal(tensors[alias], tensors[name])
        ]


def any_fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def refuse_gaps(lines: Sequence[keys.Line], counts: keys.Counts, weights: Mapping[str, Tensor]) -> None:
    """A map must name each weight of the model once: an error of ours, not of the file."""
    named = [match.ours for match in keys.matches(lines, counts)]
    wrong = sorted({*(weights.keys() ^ set(named)), *(name for name in named if named.count(name) > 1)})
    if wrong:
        raise ValueError(f"the key map does not name each of the model's weights once: {', '.join(wrong[:5])}")


# Writing


def write_folder(pretrained: Pretrained, folder: Path, *, shard_bytes: int = SHARD_BYTES) -> Layout:
    """Writes the files into a folder that is there; gives the layout that they are in."""
    layout, theirs = layout_to_write(pretrained)
    refuse_non_finite(pretrained.model)
    pretrained = layout.expressed(pretrained)
    plan = Plan.of(pretrained.model, layout, {})
    tensors = keys.to_theirs(plan.lines, weights_of(pretrained.model), plan.counts, prefix=layout.prefixes[0])
    constants = layout.constants(pretrained)
    write_checkpoint(itertools.chain(tensors, constants.items()), folder, shard_bytes=shard_bytes)
    write_json(folder / CONFIG, theirs)
    write_json(folder / GENERATION, generation_fields(pretrained.marks))
    for name, content in {**tokenizer_files(pretrained), **layout.write_extras(pretrained)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return layout


def refuse_non_finite(model: nn.Module) -> None:
    problems = [problem for name, weight in weights_of(model).items() for problem in finite(name, weight)]
    if problems:
        raise ExportError(f"{problems[0]}: the model is broken. Nothing was exported.")


def layout_to_write(pretrained: Pretrained) -> tuple[Layout, Theirs]:
    """The first layout that can express the model, and its config.json."""
    reasons = []
    for layout in layouts_of(pretrained.kind, first=pretrained.extras.get("model_type")):
        try:
            return layout, layout.from_config(pretrained)
        except ExportError as error:
            reasons.append(str(error))
    raise ExportError(" ".join(reasons) or f"No layout of Hugging Face is known for a {pretrained.kind}.")
