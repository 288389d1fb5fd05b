"""Taps: named points where a value can be watched.

A tap is an identity module. Nobody listening, it costs one attribute look-up and a truth test; listening is an
ordinary forward hook, so `explain` sees the very values that training computes. Nothing is ever written in place
into a value that has passed a tap.
"""

from __future__ import annotations

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
