"""When the loop saves and stops: between validations, in the middle of one, and never because of a score."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_loop import Listener, make_job, metrics

from glassformer.errors import RunError
from glassformer.training.loop import train_loop
from glassformer.training.stopping import StopRequest, termination_as_interrupt

SCORES = [1.0, 2.0, 3.0, 4.0, 5.0]


def test_between_validations_it_saves_when_the_minutes_are_over(tmp_path: Path) -> None:
    seen: list[list[int]] = []
    often = Listener(lambda _: seen.append(job.run.steps))
    job = make_job(tmp_path / "often", [1.0], often, steps=6, valid_every=6, save_minutes=1e-9)
    train_loop(job)
    assert seen == [[], [1], [1, 2], [2, 3], [3, 4], [4, 5]]  # always the last and the one before
    seldom = make_job(tmp_path / "seldom", [1.0], steps=6, valid_every=6)
    train_loop(seldom)
    assert seldom.run.steps == [6]
    assert metrics(job.run) == metrics(seldom.run)
    one, other = (run.checkpoints.folder(6) / "optimiser.safetensors" for run in (job.run, seldom.run))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("validation", [1, 3, 5])
def test_a_validation_is_broken_off_and_made_again(tmp_path: Path, validation: int, number: signal.Signals) -> None:
    straight = make_job(tmp_path / "straight", SCORES)
    train_loop(straight)
    first = make_job(tmp_path / "broken", SCORES)
    calls = iter(range(1, 6))

    def validate() -> Any:
        if next(calls) == validation:
            signal.raise_signal(number)
            pytest.fail("a signal ends the validation at once")
        return first.validate()

    halted = train_loop(replace(first, validate=validate))
    assert (halted.step, halted.stopped) == (2 * validation, "")
    assert first.run.steps[-1] == 2 * validation
    second = make_job(tmp_path / "broken", SCORES[validation - 1 :])
    done = train_loop(second)
    assert (done.step, done.stopped) == (10, "all steps done")
    assert metrics(second.run) == metrics(straight.run)


def test_broken_off_and_killed_before_the_next_checkpoint_it_is_measured_only_once(tmp_path: Path) -> None:
    straight = make_job(tmp_path / "straight", SCORES)
    train_loop(straight)
    first = make_job(tmp_path / "broken", SCORES)
    train_loop(replace(first, validate=lambda: signal.raise_signal(signal.SIGTERM)))  # type: ignore[arg-type, return-value]
    assert first.run.steps == [2]

    def crash(step: int) -> None:
        if step == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train_loop(make_job(tmp_path / "broken", SCORES, Listener(crash)))
    train_loop(make_job(tmp_path / "broken", SCORES))
    assert metrics(first.run) == metrics(straight.run)


def test_a_stop_at_the_end_leaves_the_rest_to_the_next_session(tmp_path: Path) -> None:
    last = Listener(lambda step: signal.raise_signal(signal.SIGTERM) if step == 10 else None)
    assert train_loop(make_job(tmp_path, SCORES, last)).stopped == ""
    assert train_loop(make_job(tmp_path, SCORES[4:])).stopped == "all steps done"


def test_even_the_first_score_is_never_the_best_if_it_is_not_finite(tmp_path: Path) -> None:
    progress = train_loop(make_job(tmp_path, [float("nan"), 1.0, 0.5, 2.0, 1.0]))
    assert (progress.best_step, progress.best_score) == (8, 2.0)
    assert train_loop(make_job(tmp_path / "none", [float("nan")] * 5)).best_step == 0


def test_more_patience_lets_a_training_go_on_that_had_none_left(tmp_path: Path) -> None:
    assert train_loop(make_job(tmp_path, [5.0, 1.0, 1.0], patience=2)).step == 6
    progress = train_loop(make_job(tmp_path, [1.0, 1.0], patience=9))
    assert (progress.step, progress.best_step) == (10, 2)


def test_scores_of_another_yardstick_do_not_compare(tmp_path: Path) -> None:
    stopper = Listener(lambda step: signal.raise_signal(signal.SIGINT) if step == 5 else None)
    train_loop(replace(make_job(tmp_path, [90.0, 91.0], stopper), measured_by="one"))
    same = train_loop(replace(make_job(tmp_path, [1.0, 2.0, 1.0]), measured_by="one"))
    assert same.best_step == 4


def test_with_another_metric_the_best_is_chosen_again(tmp_path: Path) -> None:
    stopper = Listener(lambda step: signal.raise_signal(signal.SIGINT) if step == 5 else None)
    train_loop(replace(make_job(tmp_path, [90.0, 91.0], stopper), measured_by="one"))
    other = train_loop(replace(make_job(tmp_path, [1.0, 2.0, 1.0]), measured_by="other"))
    assert (other.best_step, other.best_score) == (8, 2.0)


def test_a_checkpoint_of_a_newer_version_is_refused_in_plain_words(tmp_path: Path) -> None:
    job = make_job(tmp_path, [1.0], steps=2)
    train_loop(job)
    checkpoint = job.run.checkpoints.read(2)
    newer = replace(checkpoint, step=3, state={**checkpoint.state, "novelty": 1})
    job.run.checkpoints.save(newer, keep={2})
    with pytest.raises(RunError, match="has 'novelty', which this version does not know"):
        train_loop(make_job(tmp_path, [1.0]))


# The signals themselves


def test_work_that_is_not_disturbed_gives_its_result() -> None:
    assert StopRequest().finishes(lambda: 7) == 7


def test_work_is_not_even_begun_once_a_stop_was_asked_for() -> None:
    stop = StopRequest()
    stop(signal.SIGTERM, None)
    assert stop.finishes(lambda: pytest.fail("begun")) is None


def test_after_the_work_a_signal_only_asks() -> None:
    stop = StopRequest()
    stop.finishes(lambda: None)
    stop(signal.SIGTERM, None)
    assert stop.asked


def test_termination_is_an_interrupt_while_it_is_open() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), termination_as_interrupt():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
