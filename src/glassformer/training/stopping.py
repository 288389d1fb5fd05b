"""Stopping cleanly on request."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class Interrupted(BaseException):
    """Raised inside work that can be repeated, when a stop is requested."""


class StopRequest:
    """Set by Ctrl-C or SIGTERM; the loop checks it between steps. A second Ctrl-C stops at once."""

    def __init__(self, *, breakable: bool = True) -> None:
        self.asked = False
        self.breakable = breakable
        self.breaks = False

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True
        if self.breaks:
            self.breaks = False
            raise Interrupted

    def finishes(self, work: Callable[[], T]) -> T | None:
        """The result of `work`, or None if a stop was requested before its end: then it will be repeated."""
        if not self.breakable:
            return work()
        try:
            return self._breakable(work)
        except Interrupted:
            return None

    def _breakable(self, work: Callable[[], T]) -> T | None:
        self.breaks = True
        try:
            return None if self.asked else work()
        finally:
            self.breaks = False


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """While open, SIGTERM acts like Ctrl-C: for the work before and after the steps."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stop_on_signals(*, breakable: bool = True) -> Iterator[StopRequest]:
    """While open, SIGINT and SIGTERM request a stop instead of interrupting a step.

    Work that several processes do together is not `breakable`: the others would wait for the one that left.
    """
    request = StopRequest(breakable=breakable)
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
