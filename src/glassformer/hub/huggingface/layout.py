"""What a layout is: how one family of Hugging Face checkpoints corresponds to one of our models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from glassformer.hub.huggingface.keys import Counts, Line

if TYPE_CHECKING:
    from glassformer.store.bundle import Bundle

Theirs = Mapping[str, Any]  # config.json


def nothing_read(path: Path, theirs: Theirs) -> dict[str, Any]:  # noqa: ARG001
    return {}


def nothing_written(bundle: Bundle) -> dict[str, bytes]:  # noqa: ARG001
    return {}


@dataclass(frozen=True)
class Layout:
    """One family. Below, `config` is our config of the model, and names of tensors are theirs.

    to_config    config.json and the names of the tensors that there are -> the values of our config. Every field that
                 changes the numbers is read; an unsupported value is an ImportingError (see fields.py).
    from_config  `Bundle` (its `model.config`, `marks`, `extras`) -> config.json with model_type and architectures;
                 an ExportError where transformers has no such model.
    expressed    the same model, converted to a form that the layout can express.
    lines        the key map.
    counts       how far the map's counters run, and numbers that changes need.
    tied         {alias: name} of their tensors that are the same. The alias is usually not in the file, and is not
                 written; if both are in the file they must be equal; if only the alias is, it is used for the name.
    constants    tensors that hold nothing learned, but that others expect in the file; they are only written.
    ignored      patterns (with *) of tensors that hold nothing learned: buffers.
    sinusoids    patterns of position tables, which we compute; a table in the file must equal ours.
    older        (old ending, new ending) of names in old files.
    prefixes     the values that {p} may have in the map; the first is written.
    read_extras  further files of the folder -> `Bundle.extras`.
    write_extras `Bundle` -> the content of further files.
    """

    model_types: tuple[str, ...]
    kind: str
    to_config: Callable[[Theirs, frozenset[str]], dict[str, Any]]
    from_config: Callable[[Bundle], dict[str, Any]]
    lines: Callable[[Any], Sequence[Line]]
    counts: Callable[[Any], Counts]
    tied: Callable[[Any], Mapping[str, str]] = lambda _: {}
    constants: Callable[[Bundle], Mapping[str, Tensor]] = lambda _: {}
    ignored: tuple[str, ...] = ()
    sinusoids: tuple[str, ...] = ()
    older: tuple[tuple[str, str], ...] = ()
    prefixes: tuple[str, ...] = ("",)
    expressed: Callable[[Bundle], Bundle] = lambda bundle: bundle
    read_extras: Callable[[Path, Theirs], dict[str, Any]] = nothing_read
    write_extras: Callable[[Bundle], dict[str, bytes]] = nothing_written
