"""A toy model of every kind with one input, for tests of programs and for those of the page's engine.

Every size is another prime where a model allows it, so that a swapped axis cannot pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from glassformer.models.registry import build

IDS = torch.tensor([[5, 10, 7, 3, 2]])
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1]])
TARGET = torch.tensor([[1, 9, 4]])
LENGTHS = torch.tensor([5])
PAIR = SimpleNamespace(source=IDS, source_lengths=LENGTHS, target_in=TARGET)


@dataclass(frozen=True)
class Toy:
    """Settings of a model, and what it reads."""

    kind: str
    settings: dict[str, Any]
    batch: Any

    def model(self) -> nn.Module:
        return filled(build(self.kind, self.settings))


def filled(model: nn.Module) -> nn.Module:
    """The same weights on every machine, exact in float32."""
    random = np.random.RandomState(7)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            values = np.float32(0.4 * random.standard_normal(tuple(weight.shape)) + name.endswith("gain"))
            weight.copy_(torch.from_numpy(np.asarray(values)))
    return model.eval()


SHAPE: dict[str, Any] = {"N": 1, "d": 6, "h": 2, "d_ff": 5, "dropout": 0.1}
TRANSLATOR = {**SHAPE, "source_vocabulary": 11, "target_vocabulary": 11}


def translator(**changed: Any) -> Toy:
    return Toy("transformer", {**TRANSLATOR, **changed}, PAIR)


TOYS: dict[str, Toy] = {
    "transformer": translator(),
    "transformer-post": translator(norm="post", tied="none", output_bias=True, positions="learned", max_length=7),
    "transformer-rotary": translator(positions="rotary", N=2, N_decoder=1, d=10, tied="output", source_vocabulary=13),
    "transformer-halves": translator(positions="sinusoidal-halves", d=15, h=3, activation="gelu"),
    "transformer-bart": translator(
        norm="post", positions="learned", embedding_norm=True, scaled_embedding=False, output_bias=True,
        activation="gelu_tanh", max_length=7,
    ),
}  # fmt: skip
