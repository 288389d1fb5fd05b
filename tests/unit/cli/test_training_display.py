"""What a training shows on a terminal and in a log."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from glassformer.cli import display
from glassformer.cli.display import TrainingDisplay, validation_line
from glassformer.config import validate
from glassformer.evaluate.metric import by_key
from glassformer.evaluate.translation import BLEU, CHRF
from glassformer.tasks.translation import TranslationRecipe
from glassformer.tasks.translation.task import Translation
from glassformer.training.job import Progress
from glassformer.training.plan import Forecast
from glassformer.training.step import StepReport

RECORD = {
    "step": 1000, "epoch": 2, "valid_loss": 0.36, "valid_bleu": 72.9, "valid_chrf": 87.5, "choice": "best",
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
        one.on_plan(recipe, parameters=1234, resumed_at=0, forecast=forecast, task=Translation())
        one.on_step(Progress(step=1, tokens=1000, steps=2000), StepReport(2.5, 500, 1.0), 0.05)
        one.on_validation(RECORD)
        progress = Progress(step=1001, tokens=2000, steps=2000, epoch=2, best_step=1000, best_score=72.9)
        one.on_step(progress, StepReport(2.5, 500, 1.0), 0.05)
    one.show_end(Progress(step=2000, best_step=1000, best_score=72.9, stopped="all steps done"), verb="translate")


def test_a_log_has_a_line_for_each_validation_and_nothing_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    one, out = shown(monkeypatch)
    run_through(one)
    text = out.getvalue()
    assert "\r" not in text
    assert "\x1b" not in text
    lines = [line for line in text.splitlines() if "valid loss" in line]
    assert lines == [
        "  step  1,000  epoch  3  loss 2.500  valid loss 0.360  greedy BLEU 72.9  chrF  87.5  after 61 s  "
        "about 56 s left  best so far"
    ]
    assert "report.html" in text
    assert "Done (all steps done). The weights of the best BLEU 72.9 at step 1,000 are kept." in text


def test_a_terminal_also_shows_speed_epoch_time_left_and_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    one, out = shown(monkeypatch, force_terminal=True, width=100, color_system=None)
    run_through(one)
    text = out.getvalue()
    assert "1001 of 2000" in text
    assert "about 56 s left" in text
    assert "loss 2.500 · 20,000 tokens/s · epoch 3 · best BLEU 72.9 at step 1,000" in text


def test_a_narrow_terminal_gets_a_line_that_fits() -> None:
    wide = validation_line(RECORD, metrics=(BLEU, CHRF), predicted_by="greedy", train_loss=2.5, left="about 4 min left")
    assert "epoch" in wide
    for width in (110, 100, 90, 80):
        line = validation_line(
            RECORD, metrics=(BLEU, CHRF), predicted_by="greedy", train_loss=2.5, left="about 4 min left", width=width
        )
        assert len(line.replace("[bold green]", "").replace("[/bold green]", "")) <= width
        assert "greedy BLEU 72.9" in line
        assert "valid loss 0.360" in line


def test_what_is_not_the_best_does_not_say_so() -> None:
    assert "best" not in validation_line({**RECORD, "choice": "worse"}, metrics=(BLEU,), train_loss=None, left="")


@pytest.mark.parametrize(
    ("best_step", "leader_step", "words"),
    [
        (2000, 2000, "The weights of step 2,000 are kept (validation loss 2.100)."),
        (2000, 1000, "(validation loss 2.100): later than step 1,000, and the difference may be chance."),
        (1000, 1000, "(validation loss 2.100); those of later steps are worse."),
    ],
)
def test_the_last_words_say_why_these_weights_were_kept(best_step: int, leader_step: int, words: str) -> None:
    one = TrainingDisplay("runs/x")
    one.best_by = "auto"
    progress = Progress(step=2000, best_step=best_step, best_score=-2.1, leader_step=leader_step)
    assert words in one.choice(progress)


def test_a_choice_that_chance_may_have_made_says_so() -> None:
    one = TrainingDisplay("runs/x")
    one.best_by, one.metrics = "bleu", by_key((BLEU, CHRF))
    assert one.choice(Progress(step=9, best_step=9, best_score=22.36, doubt="steps 5 and 9 differ by 0.1")) == (
        "The weights of the best BLEU 22.4 at step 9 are kept. Steps 5 and 9 differ by 0.1."
    )
