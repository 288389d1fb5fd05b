"""What a layout is: how one family of Hugging Face checkpoints corresponds to one of our models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from glassformer.hub.huggingface.keys import Counts, Line

if TYPE_CHECKING:
    from glassformer.hub.huggingface.pretrained import Pretrained

Theirs = Mapping[str, Any]  # config.json


def nothing_read(path: Path, theirs: Theirs) -> dict[str, Any]:  # noqa: ARG001
    return {}


def nothing_written(pretrained: Pretrained) -> dict[str, bytes]:  # noqa: ARG001
    return {}


@dataclass(frozen=True)
class Layout:
    """One family. `config` below is our config of the model; names of tensors are theirs.

    to_config    config.json and the names of the tensors that there are -> the values of our config. Every field that
                 changes the numbers is read; what cannot be honoured is an ImportingError (see fields.py).
    from_config  `Pretrained` (its `model.config`, `marks`, `extras`) -> config.json with model_type and architectures;
                 an ExportError where transformers has no such model.
    expressed    the same model in a form that the layout can express, where it is in another.
    lines        the key map.
    counts       how far the map's counters run, and numbers that changes need.
    tied         {alias: name} of their tensors that are one. The alias is usually not in the file, and is not written;
                 where it is there it must be equal; where only an alias is there, it stands for the name.
    constants    tensors that hold nothing learned, but that others look for in the file; they are only written.
    ignored      patterns (with *) of tensors that hold nothing learned: buffers.
    sinusoids    patterns of tables of positions, which we compute: one in the file must be what they should be.
    older        (ending, new ending) of names in old files.
    prefixes     what may stand for {p} in the map; the first is written.
    read_extras  further files of the folder -> `Pretrained.extras`.
    write_extras `Pretrained` -> the content of further files.
    """

    model_types: tuple[str, ...]
    kind: str
    to_config: Callable[[Theirs, frozenset[str]], dict[str, Any]]
    from_config: Callable[[Pretrained], dict[str, Any]]
    lines: Callable[[Any], Sequence[Line]]
    counts: Callable[[Any], Counts]
    tied: Callable[[Any], Mapping[str, str]] = lambda _: {}
    constants: Callable[[Pretrained], Mapping[str, Tensor]] = lambda _: {}
    ignored: tuple[str, ...] = ()
    sinusoids: tuple[str, ...] = ()
    older: tuple[tuple[str, str], ...] = ()
    prefixes: tuple[str, ...] = ("",)
    expressed: Callable[[Pretrained], Pretrained] = lambda pretrained: pretrained
    read_extras: Callable[[Path, Theirs], dict[str, Any]] = nothing_read
    write_extras: Callable[[Pretrained], dict[str, bytes]] = nothing_written
