"""What is shown of the runs of an experiment: how far each is."""

from __future__ import annotations

from typing import Any

from glassformer.training.task import Listener
from glassformer.training.watching import Silent


class Counted(Silent):
    """Shows how far a run is, and none of its messages."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
        self.listener.on_count(progress.step, max(progress.steps, progress.step))

    def on_end(self, progress: Any) -> None: ...
