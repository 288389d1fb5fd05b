"""A moving average of the weights, which often translates better than the weights of any one step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from glassformer.store.weights import load_weights, weights_of


class MovingAverage:
    """average <- m * average + (1 - m) * weights after every update, with m up to `memory`.

    Early on m is (1 + n) / (10 + n) at update n, so that the first, random weights are soon forgotten.
    """

    def __init__(self, model: nn.Module, *, memory: float) -> None:
        self.model, self.memory = model, memory
        self.weights = {name: weight.clone() for name, weight in weights_of(model).items()}

    def update(self, step: int) -> None:
        """After update `step`, counted from 0."""
        share = 1 - min(self.memory, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.weights.values()), list(weights_of(self.model).values()), share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While open, the model has the averaged weights."""
        own = {name: weight.clone() for name, weight in weights_of(self.model).items()}
        load_weights(self.model, self.weights, origin="the moving average")
        try:
            yield
        finally:
            load_weights(self.model, own, origin="the weights before")

    def load(self, weights: Mapping[str, Tensor]) -> None:
        for name, weight in self.weights.items():
            weight.copy_(weights[name])
