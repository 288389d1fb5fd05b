"""minGPT's weights in one JSON file: {"config": ..., name: {"shape": ..., "dtype": ..., "data": base64}}. Also as .xz.

The names are GPT-2's, but matrices have outputs as rows, like ours. Tokens have no names there, so their numbers are
used.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from tokenizers import models, pre_tokenizers
from torch import Tensor

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.filling import filled
from glassformer.hub.huggingface.keys import Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import gpt2
from glassformer.hub.unpacking import read_unpacked
from glassformer.models.gpt import GptConfig
from glassformer.printable import printable
from glassformer.store.bundle import Bundle
from glassformer.text import Tokenizer
from glassformer.text.foreign import parse_json

ENDINGS = (".json", ".json.xz")
FILE_BYTES = 1 << 33  # JSON of this size takes several times as much memory


def is_mingpt(path: Path) -> bool:
    """Whether this may be such a file, or a folder with one."""
    return path.name.endswith(ENDINGS) or bool(path.is_dir() and models_in(path))


def models_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith(tuple(f"model{end}" for end in ENDINGS)))


def read_mingpt(path: str | Path) -> Bundle:
    """The model in a file, or in a folder that has one file *model.json."""
    place = Path(path)
    found = models_in(place) if place.is_dir() else [place]
    if len(found) != 1:
        raise ImportingError(f"{place} has {len(found)} files *model.json. Name one of them.")
    file = found[0]
    content = read_content(file)
    config = fields.Fields(content.pop("config"), origin=file)
    values = to_config(config, frozenset(content))
    model = filled(LAYOUT, values, Packed(content, origin=file), origin=str(file))
    return Bundle("gpt", model.eval(), numbered(values["vocabulary"]), extras={"model_type": "minGPT"})


def read_content(file: Path) -> dict[str, Any]:
    content = parse_json(read_unpacked(file, limit=FILE_BYTES), origin=file, error=ImportingError)
    if not isinstance(content, dict):
        raise ImportingError(f"{file} is JSON, but not a model of minGPT.")
    if not isinstance(content.get("config"), dict):
        raise ImportingError(f'{file} is JSON, but not a model of minGPT: it has no "config".')
    return content


class Packed(Mapping[str, Tensor]):
    """The tensors of a file; each is unpacked when it is accessed."""

    def __init__(self, entries: Mapping[str, Any], *, origin: Path) -> None:
        self.entries = entries
        for name, entry in entries.items():
            shape = entry.get("shape") if isinstance(entry, dict) else None
            if not isinstance(shape, list) or not all(fields.is_whole(size, least=0) for size in shape):
                raise ImportingError(f'{origin}, {printable(name)}: not a tensor with "shape" and "data".')
        self.origin = origin

    def __getitem__(self, name: str) -> Tensor:
        try:
            raw = base64.b64decode(self.entries[name]["data"], validate=True)
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise ImportingError(
                f'{self.origin}, {printable(name)}: not a tensor with "shape" and float32 "data" in base64.'
            ) from None
        if len(raw) != 4 * prod(self.shape(name)):
            raise ImportingError(
                f"{self.origin}, {printable(name)}: {len(raw):,} bytes of data; float32 of the shape "
                f"{self.shape(name)} have {4 * prod(self.shape(name)):,}."
            )
        return torch.from_numpy(np.frombuffer(raw, dtype="<f4").reshape(self.shape(name)).astype(np.float32))

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __len__(self) -> int:
        return len(self.entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.entries[name]["shape"])

    def holds_weights(self, name: str) -> bool:
        return self.entries[name].get("dtype", "torch.float32") == "torch.float32"


def to_config(given: Theirs, _: frozenset[str]) -> dict[str, Any]:
    width = fields.whole(given, "n_embd")
    return {
        "vocabulary": fields.whole(given, "vocab_size"),
        "N": fields.whole(given, "n_layer"),
        "d": width,
        "h": fields.whole(given, "n_head"),
        "d_ff": 4 * width,
        "dropout": fields.number(given, "resid_pdrop", 0.1),
        "max_length": fields.whole(given, "block_size"),
        "tied": False,
    }


def from_config(bundle: Bundle) -> dict[str, Any]:  # noqa: ARG001
    raise ExportError("minGPT's files can be read, not written. Export to huggingface.")


def lines(config: GptConfig) -> Sequence[Line]:
    """GPT-2's lines, but nothing is transposed."""
    return [replace(line, how="same") for line in gpt2.lines(config)]


LAYOUT = Layout(
    model_types=("minGPT",),
    kind="gpt",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=gpt2.counts,
    ignored=("transformer.h.*.attn.bias",),  # masks
    prefixes=("transformer.",),
)


def numbered(size: int) -> Tokenizer:
    """A tokenizer whose tokens are numbers between spaces: "0 2 1"."""
    inner = tokenizers.Tokenizer(models.WordLevel({str(number): number for number in range(size)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Tokenizer(inner)
