"""What is shown of the runs of an experiment: how far each is; and that a stopped one stops the experiment."""

from __future__ import annotations

from typing import Any

from glassformer.training.job import Progress
from glassformer.training.task import Listener
from glassformer.training.watching import Silent


def refuse_unfinished(progress: Progress) -> None:
    """Ends the experiment where its run was stopped (Ctrl-C, or a signal): the next run must not begin."""
    if not progress.stopped:
        raise KeyboardInterrupt


class Counted(Silent):
    """Shows how far a run is, and none of its messages."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
        self.listener.on_count(progress.step, max(progress.steps, progress.step))

    def on_end(self, progress: Any) -> None: ...
