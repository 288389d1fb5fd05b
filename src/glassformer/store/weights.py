"""The weights of a module by name, tied ones once: read, checked, and copied into another module."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from glassformer.errors import RunError


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter once, under its first name: a tied matrix is one entry."""
    return {name: parameter.detach() for name, parameter in module.named_parameters()}


def parameter_count(module: nn.Module) -> int:
    """How many numbers the weights have, tied ones counted once."""
    return sum(parameter.numel() for parameter in module.parameters())


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], *, origin: str) -> None:
    """Copies the weights into the module; an error names a missing, unexpected or wrongly shaped tensor."""
    check_weights(module, weights, origin=origin)
    copy_weights(module, weights)


def load_body(model: nn.Module, weights: Mapping[str, Tensor], *, origin: str, new: tuple[str, ...] = ()) -> list[str]:
    """Copies the weights of another model, except heads that differ; returns the parameters that keep their values.

    Every tensor outside the heads must fit, in both directions. If not, nothing is copied, and the error says what
    differs. A head is copied if its tensors have the same names and shapes, unless it is in `new`: the same number of
    classes does not mean the same classes. A model class names its heads in `HEADS`, as prefixes of parameters.
    """
    heads: tuple[str, ...] = getattr(model, "HEADS", ("head.",))
    own = weights_of(model)
    body, taken = ({n: one for n, one in all_.items() if not n.startswith(heads)} for all_ in (own, weights))
    check_names(body, taken, origin=f"{origin}: its body does not fit this model")
    for head in (head for head in heads if head not in new):
        ours, theirs = ({n: one for n, one in all_.items() if n.startswith(head)} for all_ in (own, weights))
        if not problems_of(ours, theirs):
            taken |= theirs
    copy_weights(model, taken)
    return [name for name in own if name not in taken]


def copy_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name in weights:
                parameter.copy_(weights[name])


FACTORIES = (torch.empty, torch.zeros, torch.ones)  # modules make their weights with these
FEW = 2**22  # this many numbers too many do no harm, and `check_weights` can then name what is wrong


class NoLargerThan(TorchFunctionMode):
    """While active, building a model with more numbers than these weights is an error, before memory is allocated.

    The settings of a damaged folder may name any size; the file shows how many numbers there really are. The exact
    shapes are compared later, when the model is built.
    """

    def __init__(self, weights: Mapping[str, Tensor], *, origin: str) -> None:
        super().__init__()
        self.there, self.tensors = sum(tensor.numel() for tensor in weights.values()), len(weights)
        self.asked, self.origin = 0, origin

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in FACTORIES:
            self.asked += math.prod(_sizes(args, kwargs or {}))
            if self.asked > self.there + FEW:
                raise RunError(
                    f"{self.origin}: the weights do not fit this model: its settings need over {self.asked:,} numbers, "
                    f"and the file has {self.there:,} in {self.tensors:,} tensors."
                )
        return func(*args, **(kwargs or {}))


def _sizes(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[int]:
    """torch.empty(2, 3), torch.empty((2, 3)) and torch.empty(size=(2, 3))."""
    first = args[0] if args else kwargs["size"]
    return tuple(args) if isinstance(first, int) else tuple(first)


def check_weights(module: nn.Module, weights: Mapping[str, Tensor], *, origin: str) -> None:
    """An error if names or shapes differ."""
    check_names(weights_of(module), weights, origin=f"{origin}: the weights do not fit this model")


def check_names(own: Mapping[str, Tensor], weights: Mapping[str, Tensor], *, origin: str) -> None:
    problems = problems_of(own, weights)
    if problems:
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        raise RunError(f"{origin}: {'; '.join(problems[:3])}{more}.")


def problems_of(own: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> list[str]:
    """The differences between a model's tensors and those of a file: names that only one has, and shapes."""
    shapes = [(name, tuple(weights[name].shape), tuple(own[name].shape)) for name in own if name in weights]
    return [
        *(f"{name} is missing" for name in own if name not in weights),
        *(f"{name} is unexpected" for name in weights if name not in own),
        *(f"{name} has shape {got}, expected {expected}" for name, got, expected in shapes if got != expected),
    ]
