"""Removing an attention head, to see what the rest of the model does without it.

A head's result is replaced before the heads are combined: by 0, or by the head's mean result, which removes only what
the head does for this particular input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from glassformer.nn.attention import HeadsOut
from glassformer.nn.taps import listening


@contextmanager
def without_head(out: HeadsOut, head: int, *, instead: Tensor | None = None) -> Iterator[None]:
    """While open, the head's result is `instead` (E,), or 0, in everything that this thread computes."""

    def replaced(z: Tensor) -> Tensor:
        z = z.clone()  # (B, H, T, E)
        z[:, head] = 0 if instead is None else instead.to(z)
        return z

    with listening([(out.z, replaced)]):
        yield
