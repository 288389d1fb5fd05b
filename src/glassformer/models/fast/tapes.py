"""The tapes of a model (nn/native/tape.py): when they may replace its modules, and where they are kept.

Only on a CPU, in float32, without gradients, and while nothing listens at the model's taps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import torch
from torch import Tensor

from glassformer.nn.native.compiler import kernels
from glassformer.nn.native.products import forget
from glassformer.nn.native.tape import Best, Panels, Stamp
from glassformer.nn.taps import WithTaps

if TYPE_CHECKING:
    from glassformer.models.decoding.state import DecodingState

KEPT_ROWS = 4096  # a tape for more rows is too large to keep


class Written(Protocol):
    """A tape and what it needs to run."""

    @property
    def rows(self) -> int:
        """The most rows it can run."""


class TapedStep(Written, Protocol):
    """A tape that computes one step of decoding."""

    def run(self, ids: Tensor, state: DecodingState) -> Tensor:
        """The last token of each row (R,) -> logits (R, V) of the next. Appends to the caches."""

    def best(self, ids: Tensor, state: DecodingState, n: int) -> Best:
        """The same, but only the n largest log-probabilities of each row and their tokens: both (R, n)."""


W = TypeVar("W", bound=Written, covariant=True)


class Writer(Protocol[W]):
    """Writes a tape."""

    def __call__(self, *, rows: int, panels: Panels) -> W: ...


class Tapes:
    """The tapes written for a model. Each thread has its own; they are rewritten when the weights have changed.

    Changes that do not raise a tensor's version, such as those of fused optimisers, need new `Tapes`.
    """

    def __init__(self) -> None:
        self.own = threading.local()
        self.latest: Stamp | None = None  # of the weights, as last seen by any thread
        self.panels = Panels()

    def __deepcopy__(self, memo: object) -> Tapes:
        return Tapes()

    def __reduce__(self) -> tuple[type[Tapes], tuple[()]]:
        return Tapes, ()

    def ready(self, model: WithTaps) -> bool:
        """Whether tapes may replace the model's modules; call it before each batch."""
        now, known = Stamp.of(model.tensors()), self.latest
        if known is None or not now.same_as(known):
            self.latest = known = now
        if getattr(self.own, "stamp", None) is not known:
            self.own.stamp, self.own.written = known, {}
            self.own.possible = all(map(suits, known.tensors)) and kernels() is not None
        return self.usable(model)

    def usable(self, model: WithTaps) -> bool:
        """The same between the steps of a batch."""
        if getattr(self.own, "stamp", None) is not self.latest or self.latest is None:  # another thread started
            return self.ready(model)
        plain = not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or model.training or model.heard)
        return plain and self.own.possible

    def kept(self, name: str, rows: int, write: Writer[W]) -> W:
        """The tape of this name for at least `rows` rows, written if there is none."""
        written: W | None = self.own.written.get(name)
        if written is None or written.rows < rows:
            written = write(rows=rows, panels=self.panels)
            if rows <= KEPT_ROWS:
                self.own.written[name] = written
        return written


def suits(weight: Tensor) -> bool:
    """Weights made in inference mode are excluded: their changes cannot be noticed."""
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and not weight.is_inference()


class WithTapes(WithTaps):
    """A model with tapes. Whatever was prepared from its weights is dropped before they change."""

    def __init__(self) -> None:
        super().__init__()
        self.tapes = Tapes()

    def train(self, mode: bool = True) -> Self:
        if mode:
            self.forget()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moves the model or changes its precision."""
        self.forget()
        return super()._apply(fn, recurse)

    def forget(self) -> None:
        forget(self)
        self.tapes = Tapes()
