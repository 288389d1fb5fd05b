"""An average of the weights of many steps. It often predicts better than the weights of any single step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from glassformer.store.weights import copy_weights

Share = Callable[[int], float]  # updates done -> how far the average then moves towards the weights, 0 to 1


def moving(memory: float) -> Share:
    """average <- m * average + (1 - m) * weights after every update, with m up to `memory`.

    Early on m is (1 + n) / (10 + n) at update n, so that the first, random weights are soon forgotten.
    """
    return lambda done: 1 - min(memory, done / (9 + done))


def mean_of_last(count: int, *, steps: int, every: int) -> Share:
    """The mean of the weights at the last `count` validations (checkpoint averaging); before them, the weights."""
    validations = [*range(every, steps, every), steps][-count:]
    order = {step: number for number, step in enumerate(validations, start=1)}

    def share(done: int) -> float:
        return 1.0 if done < validations[0] else 1 / order[done] if done in order else 0.0

    return share


def trained_of(model: nn.Module) -> dict[str, Tensor]:
    """The weights that are trained; frozen ones are their own average."""
    return {name: parameter.detach() for name, parameter in model.named_parameters() if parameter.requires_grad}


class AverageWeights:
    """The averaged weights of a model, kept in addition to its own."""

    def __init__(self, model: nn.Module, share: Share) -> None:
        self.model, self.share = model, share
        self.weights = {name: weight.clone() for name, weight in trained_of(model).items()}

    def update(self, done: int, *, pace: float = 1.0) -> None:
        """Call after each update; `done` counts them. An update worth `pace` steps moves the average by as many."""
        share = self.share(done)
        if 0 < share < 1 and pace != 1:
            share = 1 - (1 - share) ** pace
        if share:
            torch._foreach_lerp_(list(self.weights.values()), list(trained_of(self.model).values()), share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While open, the model has the averaged weights."""
        own = {name: weight.clone() for name, weight in trained_of(self.model).items()}
        copy_weights(self.model, self.weights)
        try:
            yield
        finally:
            copy_weights(self.model, own)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        for name, weight in self.weights.items():
            weight.copy_(weights[name])
