"""A model with its tokenizer, its special ids and what else belongs to using it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import nn

from glassformer.text import Tokenizer


@dataclass(frozen=True)
class SpecialIds:
    """The ids of the special tokens, as far as the model has them."""

    bos: int | None = None
    eos: int | None = None
    pad: int | None = None
    unk: int | None = None
    mask: int | None = None
    cls: int | None = None
    sep: int | None = None
    start: int | None = None  # what an encoder-decoder's output begins with


@dataclass(frozen=True)
class Pretrained:
    """What is read from a Hugging Face folder, and what is written to one.

    `extras`: plain values for whoever uses the model, for instance {"pooling": "mean", "max_length": 256}; also
    "model_type", which says what layout it came from. `target`: the second tokenizer, where an encoder-decoder has two.
    """

    kind: str
    model: nn.Module
    tokenizer: Tokenizer | None = None
    marks: SpecialIds = SpecialIds()
    extras: dict[str, Any] = field(default_factory=dict)
    target: Tokenizer | None = None
