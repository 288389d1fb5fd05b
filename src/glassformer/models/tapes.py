"""The tapes of a model (nn/tape.py): when they may stand in for its modules, and who keeps them.

Only on a CPU, in float32, without gradients, and where nobody listens.
"""

from __future__ import annotations

import threading
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from glassformer.nn.native import kernels
from glassformer.nn.tape import Panels, Stamp
from glassformer.nn.taps import WithTaps

KEPT_ROWS = 4096  # a tape for more is too large to be kept


class Written(Protocol):
    """A tape, and what it knows."""

    @property
    def rows(self) -> int:
        """It has room for so many."""


W = TypeVar("W", bound=Written, covariant=True)


class Writer(Protocol[W]):
    """Writes a tape."""

    def __call__(self, *, rows: int, panels: Panels) -> W: ...


class Tapes:
    """What is written for a model, by each thread for itself; again when the weights have changed.

    Weights that change without being counted, as fused optimisers change them, need new `Tapes`.
    """

    def __init__(self) -> None:
        self.own = threading.local()
        self.latest: Stamp | None = None  # of the weights, as the last thread found them that looked
        self.panels = Panels()

    def __deepcopy__(self, memo: object) -> Tapes:
        return Tapes()

    def __reduce__(self) -> tuple[type[Tapes], tuple[()]]:
        return Tapes, ()

    def ready(self, model: WithTaps) -> bool:
        """Whether tapes may stand in for the model; called before each batch."""
        now, known = Stamp.of(model.tensors()), self.latest
        if known is None or not now.same_as(known):
            self.latest = known = now
        if getattr(self.own, "stamp", None) is not known:
            self.own.stamp, self.own.written = known, {}
            self.own.possible = all(map(suits, known.tensors)) and kernels() is not None
        return self.usable(model)

    def usable(self, model: WithTaps) -> bool:
        """The same between the steps of a batch."""
        if getattr(self.own, "stamp", None) is not self.latest or self.latest is None:  # another thread began
            return self.ready(model)
        silent = not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or model.training or model.heard)
        return silent and self.own.possible

    def kept(self, name: str, rows: int, write: Writer[W]) -> W:
        """The tape of this name with room for so many rows, written if there is none."""
        written: W | None = self.own.written.get(name)
        if written is None or written.rows < rows:
            written = write(rows=rows, panels=self.panels)
            if rows <= KEPT_ROWS:
                self.own.written[name] = written
        return written


def suits(weight: Tensor) -> bool:
    """Weights made in inference mode could change unseen."""
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and not weight.is_inference()
