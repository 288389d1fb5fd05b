"""What a training shows on a terminal and in a log."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from glassformer.cli import display
from glassformer.cli.display import TrainingDisplay, validation_line
from glassformer.config import validate
from glassformer.tasks.translation import TranslationRecipe
from glassformer.train.loop import Progress
from glassformer.train.plan import Forecast
from glassformer.train.step import StepReport

RECORD = {
    "step": 1000, "epoch": 2, "valid_loss": 0.36, "valid_bleu": 72.9, "valid_chrf": 87.5, "best": True,
    "seconds": 50.0, "validation_seconds": 2.0, "elapsed_seconds": 61.0, "steps": 2000,
}  # fmt: skip


def shown(monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[TrainingDisplay, io.StringIO]:
    out = io.StringIO()
    monkeypatch.setattr(
        display, "stderr_console", lambda: Console(file=out, highlight=False, soft_wrap=True, **options)
    )
    return TrainingDisplay("runs/x"), out


def run_through(one: TrainingDisplay) -> None:
    recipe = validate(
        TranslationRecipe, {"train": {"steps": 2000, "valid_every": 1000, "threads": 2, "best_by": "bleu"}}
    )
    forecast = Forecast(2000, 0.05, 2, 2.0, 4.0, 2**30)
    with one:
        one.on_plan(recipe, parameters=1234, resumed_at=0, forecast=forecast)
        one.on_step(Progress(step=1, tokens=1000), StepReport(2.5, 500, 1.0), 0.05)
        one.on_validation(RECORD)
        progress = Progress(step=1001, tokens=2000, epoch=2, best_step=1000, best_score=72.9)
        one.on_step(progress, StepReport(2.5, 500, 1.0), 0.05)
    one.farewell(Progress(step=2000, best_step=1000, best_score=72.9, stopped="all steps done"))


def test_a_log_has_a_line_for_each_validation_and_nothing_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    one, out = shown(monkeypatch)
    run_through(one)
    text = out.getvalue()
    assert "\r" not in text
    assert "\x1b" not in text
    lines = [line for line in text.splitlines() if "valid loss" in line]
    assert lines == [
        "  step  1,000  epoch  3  loss 2.500  valid loss 0.360  BLEU  72.9  chrF  87.5  after 61 s  "
        "about 56 s left  best so far"
    ]
    assert "report.html" in text
    assert "Done (all steps done); kept are the weights of the best BLEU 72.9 at step 1,000." in text


def test_a_terminal_also_shows_speed_epoch_time_left_and_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    one, out = shown(monkeypatch, force_terminal=True, width=100, color_system=None)
    run_through(one)
    text = out.getvalue()
    assert "1001 of 2000" in text
    assert "about 56 s left" in text
    assert "loss 2.500 · 20,000 tokens/s · epoch 3 · best BLEU 72.9 at step 1,000" in text


def test_a_narrow_terminal_gets_a_line_that_fits() -> None:
    wide = validation_line(RECORD, train_loss=2.5, left="about 4 min left")
    assert "epoch" in wide
    for width in (110, 100, 90, 80):
        line = validation_line(RECORD, train_loss=2.5, left="about 4 min left", width=width)
        assert len(line.replace("[bold green]", "").replace("[/bold green]", "")) <= width
        assert "BLEU  72.9" in line
        assert "valid loss 0.360" in line


def test_what_is_not_the_best_does_not_say_so() -> None:
    assert "best" not in validation_line({**RECORD, "best": False}, train_loss=None, left="")
