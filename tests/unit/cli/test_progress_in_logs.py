"""Long tasks whose output goes to a file: a plain line now and then instead of a bar."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from glassformer.cli import display
from glassformer.cli.display import StageDisplay, counting, reading
from glassformer.cli.filling import write_filled
from glassformer.data.readers.filling_tables import fill_tsv
from glassformer.hub.exported import Decoded, Exported

Tick = Callable[[float], None]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> tuple[io.StringIO, Tick]:
    """What is written, and a clock to be set forward."""
    out, now = io.StringIO(), [100.0]
    monkeypatch.setattr(display, "stderr_console", lambda: Console(file=out, soft_wrap=True, force_terminal=False))
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return out, lambda seconds: now.__setitem__(0, now[0] + seconds)


def test_files_that_take_long_to_read_are_logged(log: tuple[io.StringIO, Tick]) -> None:
    out, tick = log
    with reading("examining") as progress:
        progress(1_000_000, 10_000_000)
        assert out.getvalue() == ""
        tick(2.5)
        progress(2_500_000, 10_000_000)
        progress(2_600_000, 10_000_000)
        assert out.getvalue() == "examining: 2,500 of 10,000 kB, about 8 s left\n"
        tick(60)
        progress(5_000_000, 10_000_000)
    assert len(out.getvalue().splitlines()) == 2


def test_the_time_left_is_not_guessed_from_the_first_moments(log: tuple[io.StringIO, Tick]) -> None:
    out, tick = log
    with reading("examining") as progress:
        tick(2.5)
        progress(100_000, 10_000_000)
        assert out.getvalue() == "examining: 100 of 10,000 kB\n"
        tick(60)
        progress(200_000, 10_000_000)
    assert out.getvalue().endswith("200 of 10,000 kB, about 3,062 s left\n")


def test_so_are_things_that_are_counted_and_short_tasks_are_not(log: tuple[io.StringIO, Tick]) -> None:
    out, tick = log
    with counting("translating") as bar:
        task = bar.add_task("", total=1200)
        tick(1)
        bar.advance(task, 600)
        assert out.getvalue() == ""
        tick(2)
        bar.advance(task, 300)
    assert out.getvalue() == "translating: 900 of 1,200, about 1 s left\n"


def test_each_count_of_a_training_has_its_own_clock(log: tuple[io.StringIO, Tick]) -> None:
    out, tick = log
    with StageDisplay() as shown:
        for _ in range(2):
            shown.on_stage("reading")
            tick(5)
            shown.on_count(1, 10)
            tick(3)
            shown.on_count(5, 10)
    assert out.getvalue() == "· reading\n  5 of 10, about 3 s left\n" * 2


def test_a_file_to_fill_in_is_logged_too(log: tuple[io.StringIO, Tick], tmp_path: Path) -> None:
    out, tick = log

    class Slow:
        def candidates(self, texts: list[str], **_: object) -> list[list[Decoded]]:
            tick(3)
            return [[Decoded(text.upper(), (), 0.0, True)] for text in texts]

    rows = fill_tsv(Path("a.tsv"), b"one\t\n" * 1000, columns=None, languages=None, again=False)
    write_filled(rows, cast(Exported, Slow()), tmp_path / "b.tsv", Counter(), beam=None, options={})
    assert (tmp_path / "b.tsv").read_text() == "one\tONE\n" * 1000
    assert out.getvalue() == "translating: 512 of 1,000, about 3 s left\n"
