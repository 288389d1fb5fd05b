"""minGPT's weights in one JSON file: {"config": ..., name: {"shape": ..., "dtype": ..., "data": base64}}. Also as .xz.

The names are GPT-2's, but matrices have outputs as rows, as ours have. Tokens have no names there: they are called by
their numbers.
"""

from __future__ import annotations

import base64
import binascii
import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from tokenizers import models, pre_tokenizers
from torch import Tensor

from glassformer.errors import ImportingError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.pretrained import Pretrained
from glassformer.models.gpt import Gpt, GptConfig
from glassformer.store.weights import load_weights
from glassformer.text import Tokenizer

ENDINGS = (".json", ".json.xz")
BODY = "transformer."
NAMES = {  # ours: theirs, but for .weight and .bias
    "inputs.embedding": "wte",
    "inputs.positions": "wpe",
    "final_norm": "ln_f",
    "blocks.{i}.attention_residual.norm": "h.{i}.ln_1",
    "blocks.{i}.attention.qkv": "h.{i}.attn.c_attn",
    "blocks.{i}.attention.out.linear": "h.{i}.attn.c_proj",
    "blocks.{i}.feed_forward_residual.norm": "h.{i}.ln_2",
    "blocks.{i}.feed_forward.up": "h.{i}.mlp.c_fc",
    "blocks.{i}.feed_forward.down": "h.{i}.mlp.c_proj",
}


def is_mingpt(path: Path) -> bool:
    """Whether this may be such a file, or a folder with one."""
    return path.name.endswith(ENDINGS) or bool(path.is_dir() and models_in(path))


def models_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith(tuple(f"model{end}" for end in ENDINGS)))


def read_mingpt(path: str | Path) -> Pretrained:
    """The model in a file, or in a folder that has one file *model.json."""
    place = Path(path)
    found = models_in(place) if place.is_dir() else [place]
    if len(found) != 1:
        raise ImportingError(f"{place} has {len(found)} files *model.json. Name one of them.")
    content = read_json(found[0])
    config = to_config(content.get("config"), origin=found[0])
    model = Gpt(config)
    load_weights(model, ours(content, config, origin=found[0]), origin=str(found[0]))
    return Pretrained("gpt", model.eval(), numbered(config.vocabulary), extras={"model_type": "minGPT"})


def to_config(given: Any, *, origin: Path) -> GptConfig:
    if not isinstance(given, Mapping):
        raise ImportingError(f'{origin} is JSON, but not a model of minGPT: it has no "config".')
    width = fields.whole(given, "n_embd")
    return GptConfig(
        vocabulary=fields.whole(given, "vocab_size"),
        N=fields.whole(given, "n_layer"),
        d=width,
        h=fields.whole(given, "n_head"),
        d_ff=4 * width,
        dropout=fields.number(given, "resid_pdrop", 0.1),
        max_length=fields.whole(given, "block_size"),
        tied=False,
    )


def ours(content: Mapping[str, Any], config: GptConfig, *, origin: Path) -> dict[str, Tensor]:
    """The weights under our names; names that we do not know stay as they are, and are told as unexpected."""
    known = {"lm_head.weight": "head.weight"}
    for i in range(config.N):
        for name, their_name in NAMES.items():
            weight = "gain" if name.endswith("norm") else "weight"
            known[f"{BODY}{their_name.format(i=i)}.weight"] = f"{name.format(i=i)}.{weight}"
            known[f"{BODY}{their_name.format(i=i)}.bias"] = f"{name.format(i=i)}.bias"
    masks = {f"{BODY}h.{i}.attn.bias" for i in range(config.N)}
    names = [name for name in content if name != "config" and name not in masks]
    return {known.get(name, name): tensor(content[name], f"{origin}, {name}") for name in names}


def tensor(entry: Any, origin: str) -> Tensor:
    try:
        flat = np.frombuffer(base64.b64decode(entry["data"], validate=True), dtype="<f4")
        return torch.from_numpy(flat.reshape(entry["shape"]).astype(np.float32))
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise ImportingError(f'{origin}: not a tensor with "shape" and float32 "data" in base64.') from None


def numbered(size: int) -> Tokenizer:
    """A tokenizer whose tokens are numbers between spaces: "0 2 1"."""
    inner = tokenizers.Tokenizer(models.WordLevel({str(number): number for number in range(size)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Tokenizer(inner)


def read_json(file: Path) -> dict[str, Any]:
    try:
        raw = file.read_bytes()
        content = json.loads(lzma.decompress(raw) if file.suffix == ".xz" else raw)
    except FileNotFoundError:
        raise ImportingError(f"{file}: no such file.") from None
    except (ValueError, lzma.LZMAError):
        raise ImportingError(f"{file}: not JSON, or damaged. Fetch it again.") from None
    if not isinstance(content, dict):
        raise ImportingError(f"{file} is JSON, but not a model of minGPT.")
    return content
