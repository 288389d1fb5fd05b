"""Taps: named points where a value can be watched.

A tap is an identity module. Nobody listening, it costs one attribute look-up and a truth test; listening is an
ordinary forward hook, so `explain` sees the very values that training computes. Nothing is ever written in place
into a value that has passed a tap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from torch import Tensor, nn


class Tap(nn.Module):
    """The identity, with a name (its place in the module tree) at which one can listen."""

    def __call__(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Skips the module machinery when nobody listens; that machinery costs more than the tap."""
        return super().__call__(value, *args, **kwargs) if self._forward_hooks else value

    def forward(self, value: Tensor) -> Tensor:
        return value

    @property
    def heard(self) -> bool:
        """Whether something listens here."""
        return bool(self._forward_hooks)


class WithTaps(nn.Module):
    """A module with taps inside, which knows whether something listens at any of them."""

    @cached_property
    def listeners(self) -> list[Mapping[int, Any]]:
        """The hooks of every tap in here, as they come and go."""
        return [one._forward_hooks for one in self.modules() if isinstance(one, Tap)]

    @property
    def heard(self) -> bool:
        return any(self.listeners)

    @cached_property
    def branches(self) -> list[tuple[Mapping[str, nn.Module | None], Mapping[str, nn.Module | None]]]:
        """What every module in here is made of, as it stands, and as it stood when this was asked first."""
        return [(one._modules, dict(one._modules)) for one in self.modules() if not isinstance(one, Tap)]

    @cached_property
    def holders(self) -> list[Mapping[str, Tensor | None]]:
        """Where every module in here keeps its parameters and buffers, as they are replaced."""
        modules = (one for one in self.modules() if not isinstance(one, Tap))
        return [held for one in modules for held in (one._parameters, one._buffers)]

    def tensors(self) -> list[Tensor]:
        """All parameters and buffers. The tree is walked again only where a module in it was replaced or added."""
        if any(held != known for held, known in self.branches):
            for one in self.modules():
                for known in ("branches", "holders", "listeners"):
                    one.__dict__.pop(known, None)
        return [one for held in self.holders for one in held.values() if one is not None]


@contextmanager
def listen(root: nn.Module, wanted: Callable[[str], bool] | None = None) -> Iterator[dict[str, list[Tensor]]]:
    """While open, records the value at every tap below `root`, or at those whose dotted name is wanted."""
    heard: dict[str, list[Tensor]] = {}
    handles = [
        tap.register_forward_hook(lambda _, __, value, name=name: heard.setdefault(name, []).append(value.detach()))
        for name, tap in root.named_modules()
        if isinstance(tap, Tap) and (wanted is None or wanted(name))
    ]
    try:
        yield heard
    finally:
        for handle in handles:
            handle.remove()
