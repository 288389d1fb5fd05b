"""Taking a head out: what becomes of the rest without it.

A head's result is replaced before the heads are put together: by nothing, or by a mean that says what the head gives on
average, so that only what it does in particular is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from glassformer.nn.attention import HeadsOut


@contextmanager
def without_head(out: HeadsOut, head: int, *, instead: Tensor | None = None) -> Iterator[None]:
    """While open, the head's result is `instead` (E,), or 0."""

    def replaced(_: nn.Module, __: object, z: Tensor) -> Tensor:
        z = z.clone()  # (B, H, T, E)
        z[:, head] = 0 if instead is None else instead.to(z)
        return z

    hook = out.z.register_forward_hook(replaced)
    try:
        yield
    finally:
        hook.remove()
