"""Killed at any moment with kill -9 and started again, a training ends with the bytes of one that was never killed."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from glassformer.store.run import RunFolder
from killing import PYTHON, READY, TWO_RANKS, Training, kill_until_it_ends, moments, outcome, wait_for

SETTINGS = (
    *("train.steps=40", "train.valid_every=8", "train.valid_sentences=1"),
    *("train.optimiser=muon", "train.ema=0.9"),  # all that there is to save
    "train.save_minutes=0.0001",  # after nearly every update, so that many kills fall into a save
)


def training(toy: Any, name: str, *settings: str, launcher: Sequence[str] = ()) -> Training:
    out = toy.folder / name
    return Training(toy.arguments(out, *SETTINGS, *settings), out, launcher)


def kill_often(toy: Any, kills: int, *, launcher: Sequence[str] = ()) -> None:
    """Runs are killed until so many kills are done; each must end like the one that was left alone."""
    whole = training(toy, "whole", launcher=launcher)
    seconds = whole.run_to_its_end()
    wanted, done, when = outcome(whole.out), 0, moments(seed=2, within=0.7 * seconds)
    for number in range(1000):
        killed = training(toy, f"killed-{number}", launcher=launcher)
        done += kill_until_it_ends(killed, when, most=min(12, kills - done))
        assert outcome(killed.out) == wanted, f"run {number} after {done} kills"
        if done >= kills:
            return
    pytest.fail(f"only {done} kills")


def test_5_kills(toy: Any) -> None:
    kill_often(toy, 5)


@pytest.mark.long
def test_60_kills(toy: Any) -> None:
    kill_often(toy, 60, launcher=PYTHON)


@pytest.mark.long
def test_20_kills_of_two_ranks(toy: Any) -> None:
    kill_often(toy, 20, launcher=TWO_RANKS)


def test_a_second_training_on_the_same_folder_is_refused_and_the_first_goes_on(
    toy: Any, command: Callable[..., Any]
) -> None:
    first = training(toy, "run", "train.steps=100000", "train.valid_every=100000")
    running = first.start()
    wait_for(READY, running.stdout)
    while not RunFolder(first.out).steps:
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    refused = command(*first.arguments)
    assert refused.code == 2
    message = f"{first.out} is in use by another training process. Wait, or choose another --out."
    assert refused.err == f"glassformer: {message}\n"
    running.send_signal(signal.SIGTERM)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    wanted = f"Stopped at step {RunFolder(first.out).steps[-1]:,} and saved. Resume with:  python -m glassformer train "
    assert wanted in told
    assert shlex.join(first.arguments) in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["glassformer.training.run.prepare", "glassformer.tasks.closing.make_report"])
def test_stopped_before_or_after_the_steps_it_says_so_in_one_line(
    toy: Any, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, stage: str
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    out = toy.folder / "run"
    arguments = toy.arguments(out, "train.steps=1", "train.valid_sentences=1")
    with monkeypatch.context() as patched:
        patched.setattr(stage, lambda *_, **__: signal.raise_signal(number))
        outcome = command(*arguments)
    assert outcome.code == 130
    again = shlex.join(["glassformer", *arguments])
    message = f"glassformer: stopped. All saved files are complete. Resume with:  {again}"
    assert outcome.err.splitlines()[-1] == message
    assert "Traceback" not in outcome.err
    assert signal.getsignal(signal.SIGTERM) is before
    assert out.exists() == stage.endswith("make_report")
    assert command(*arguments).code == 0
    assert RunFolder(out).finished
