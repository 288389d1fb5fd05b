"""A validation is rehearsed in part if all of it would take too long."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from glassformer.training import validate
from glassformer.training.validate import timed_in_part


class Slow:
    """Work that takes some seconds for each unit, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, each: float) -> None:
        self.each, self.now, self.asked = each, 0.0, list[int]()
        monkeypatch.setattr(validate, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def __call__(self, count: int) -> None:
        self.asked.append(count)
        self.now += count * self.each


def test_quick_work_is_done_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Slow(monkeypatch, each=0.001)
    assert timed_in_part(work, 1000, first=16, patience=5.0) == pytest.approx((1.0, 1000))
    assert work.asked == [16, 64, 256, 1000]


def test_slow_work_is_done_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Slow(monkeypatch, each=0.1)
    seconds, done = timed_in_part(work, 798, first=16, patience=5.0)
    assert (seconds, done) == (pytest.approx(1.6), 16)
    assert work.now < 5.0


def test_little_work_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Slow(monkeypatch, each=10.0)
    assert timed_in_part(work, 3, first=16, patience=5.0) == (30.0, 3)
    assert timed_in_part(work, 0, first=16, patience=5.0) == (0.0, 0)
