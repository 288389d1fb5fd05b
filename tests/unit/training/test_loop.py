"""The loop: measuring, choosing the best, patience, saving, going on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.batches import EncodedPairs, Marks
from glassformer.data.columns import Ragged
from glassformer.errors import ModelError
from glassformer.evaluate.metric import LOSS, Measured
from glassformer.evaluate.translation import BLEU, CHRF
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.store.run import RunFolder
from glassformer.training import loop
from glassformer.training.job import Job, Progress
from glassformer.training.loop import train_loop
from glassformer.training.objective import token_loss
from glassformer.training.settings import TrainSettings
from glassformer.training.stopping import StopRequest

MARKS = Marks(pad=0, bos=1, eos=2)


class Listener:
    """A watcher that remembers, and may do something at a step."""

    def __init__(self, at_step: Callable[[int], None] = lambda _: None) -> None:
        self.at_step = at_step
        self.losses: list[float] = []
        self.norms: list[float] = []
        self.records: list[Mapping[str, Any]] = []

    def on_step(self, progress: Progress, report: Any, seconds: float) -> None:  # noqa: ARG002
        self.losses.append(report.loss)
        self.norms.append(report.grad_norm)
        self.at_step(progress.step)

    def on_validation(self, record: Mapping[str, Any]) -> None:
        self.records.append(record)


def make_job(
    path: Path, scores: list[float], watcher: Listener | None = None, *, name: str = "bleu", **given: Any
) -> Job:
    """A training of a tiny model whose validations give these scores, one after the other."""
    random = np.random.default_rng(1)
    rows = [random.integers(3, 17, 3 + i % 5).tolist() for i in range(20)]
    torch.manual_seed(0)
    config = TransformerConfig(size="nano", N=1, d=6, h=2, d_ff=5, dropout=0.1)
    model = Transformer(config, source_vocabulary=17, target_vocabulary=17)
    run = RunFolder(path)
    path.mkdir(exist_ok=True)
    given = {"steps": 10, "batch_tokens": 60, "valid_every": 2, "warmup": 1, "patience": 0, "best_by": name} | given
    coming: Iterator[float] = iter(scores)
    return Job(
        model=model,
        examples=EncodedPairs(Ragged.of(rows), Ragged.of(rows), MARKS, MARKS),
        settings=TrainSettings(**given).resolved(batches_per_epoch=5, threads=1, device="cpu"),
        loss=partial(token_loss, model, label_smoothing=0.1),
        validate=lambda: {name: next(coming)},
        run=run,
        watcher=watcher or Listener(),
        device=torch.device("cpu"),
        metrics=(BLEU, CHRF),
    )


def test_it_trains_to_the_last_step_and_says_so(tmp_path: Path) -> None:
    watcher = Listener()
    progress = train_loop(make_job(tmp_path, [1, 2, 3, 4, 5], watcher))
    assert (progress.step, progress.stopped) == (10, "all steps done")
    assert len(watcher.losses) == 10
    assert [record["step"] for record in watcher.records] == [2, 4, 6, 8, 10]


def test_the_last_step_is_measured_even_between_two_validations(tmp_path: Path) -> None:
    watcher = Listener()
    train_loop(make_job(tmp_path, [1, 2, 3], watcher, valid_every=4))
    assert [record["step"] for record in watcher.records] == [4, 8, 10]


def test_the_best_checkpoint_is_kept_beside_the_last(tmp_path: Path) -> None:
    job = make_job(tmp_path, [1, 5, 3, 5, 2])
    progress = train_loop(job)
    assert (progress.best_step, progress.best_score) == (8, 5)  # of equals the later: its rate was lower
    assert job.run.steps == [8, 10]


def test_of_losses_the_lowest_is_the_best(tmp_path: Path) -> None:
    progress = train_loop(make_job(tmp_path, [3.0, 2.0, 2.5, 2.2, 2.1], name="loss"))
    assert (progress.best_step, progress.best_score) == (4, -2.0)


def test_patience_ends_a_training_that_gets_no_better(tmp_path: Path) -> None:
    progress = train_loop(make_job(tmp_path, [1, 5, 3, 4], patience=2))
    assert progress.step == 8
    assert progress.stopped == "no better bleu in 2 validations"


def test_a_better_score_renews_the_patience(tmp_path: Path) -> None:
    assert train_loop(make_job(tmp_path, [1, 0, 2, 1, 3], patience=2)).stopped == "all steps done"


def test_a_training_that_patience_ended_stays_ended(tmp_path: Path) -> None:
    train_loop(make_job(tmp_path, [1, 5, 3, 4], patience=2))
    watcher = Listener()
    assert train_loop(make_job(tmp_path, [], watcher, patience=2)).stopped == "no better bleu in 2 validations"
    assert watcher.losses == []


def test_a_score_that_is_not_finite_is_never_the_best(tmp_path: Path) -> None:
    progress = train_loop(make_job(tmp_path, [1, float("nan"), 3, 2, 1]))
    assert progress.best_step == 6


def sentences(scores: np.ndarray) -> dict[str, Any]:
    """A validation by the loss of each sentence."""
    counts = np.stack([scores, np.ones_like(scores)], axis=1)
    return {"loss": scores.mean(), "bleu": 0.0, "evidence": {"loss": Measured(LOSS, counts)}}


def noisy_job(path: Path, means: list[float], watcher: Listener | None = None, **given: Any) -> Job:
    """A training whose validations have these losses, each with noise of its own on every sentence."""
    noise = np.random.default_rng(7).normal(0, 0.5, (len(means), 100))
    noise -= noise.mean(axis=1, keepdims=True)
    job = make_job(path, [], watcher, best_by="auto", valid_every=1, steps=len(means), **given)
    coming = iter(mean + row for mean, row in zip(means, noise, strict=True))
    return replace(job, validate=lambda: sentences(next(coming)))


def test_noise_does_not_overrule_the_end_of_the_schedule(tmp_path: Path) -> None:
    """The lowest loss is at step 3, but the last one is higher by less than its error."""
    progress = train_loop(noisy_job(tmp_path, [3.0, 2.0, 1.95, 2.0, 1.99]))
    assert (progress.best_step, progress.leader_step, progress.best_score) == (5, 3, pytest.approx(-1.99))


def test_a_loss_that_is_surely_higher_is_not_kept(tmp_path: Path) -> None:
    progress = train_loop(noisy_job(tmp_path, [3.0, 2.0, 1.95, 2.4, 2.8]))
    assert progress.best_step == 3


def test_noise_does_not_use_up_the_patience(tmp_path: Path) -> None:
    flat = [2.0, 1.9, 1.95, 1.93, 1.94, 1.95]
    assert train_loop(noisy_job(tmp_path / "linear", flat, patience=2)).stopped == "all steps done"
    stopped = train_loop(noisy_job(tmp_path / "constant", flat, patience=2, schedule="constant"))
    assert (stopped.step, stopped.stopped) == (4, "no better loss in 2 validations")
    rising = [2.0, 1.9, 2.5, 2.6, 2.7, 2.8]
    assert train_loop(noisy_job(tmp_path / "rising", rising, patience=2)).step == 4


@pytest.mark.parametrize("stopped_at", [1, 3, 4])
def test_a_resumed_training_makes_the_same_choice(tmp_path: Path, stopped_at: int) -> None:
    means = [3.0, 2.0, 1.95, 2.0, 1.99]
    straight = noisy_job(tmp_path / "straight", means)
    train_loop(straight)
    stopper = Listener(lambda step: signal.raise_signal(signal.SIGINT) if step == stopped_at else None)
    train_loop(noisy_job(tmp_path / "halted", means, stopper))
    again = noisy_job(tmp_path / "halted", means)
    for _ in range(stopped_at - 1):  # the step at which it stopped is not measured yet
        again.validate()
    train_loop(again)
    assert metrics(again.run) == metrics(straight.run)
    names = ["model.safetensors", "optimiser.safetensors"]
    one, other = ([(job.run.checkpoints.folder(5) / name).read_bytes() for name in names] for job in (straight, again))
    assert one == other


def metrics(run: RunFolder) -> list[dict[str, Any]]:
    clocks = ("seconds", "validation_seconds", "elapsed_seconds", "tokens_per_second")
    return [{key: value for key, value in record.items() if key not in clocks} for record in run.metrics()]


@pytest.mark.parametrize("stopped_at", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_stopped_run_resumes_exactly_with_dropout(tmp_path: Path, stopped_at: int, accumulate: int) -> None:
    straight = make_job(tmp_path / "straight", [1, 2, 3, 4, 5], accumulate=accumulate)
    done = train_loop(straight)

    stopper = Listener(lambda step: signal.raise_signal(signal.SIGINT) if step == stopped_at else None)
    first = make_job(tmp_path / "halted", [1, 2, 3, 4, 5], stopper, accumulate=accumulate)
    halted = train_loop(first)
    assert (halted.step, halted.stopped) == (stopped_at, "")
    left = [1, 2, 3, 4, 5][(stopped_at - 1) // 2 :]  # the step at which it stops is not measured any more
    second = make_job(tmp_path / "halted", left, accumulate=accumulate)
    again = train_loop(second)
    assert metrics(straight.run) == metrics(second.run)
    for name in ("model.safetensors", "optimiser.safetensors"):
        one, other = (run.path / "checkpoints" / "step-00000010" / name for run in (straight.run, second.run))
        assert one.read_bytes() == other.read_bytes()
    no_clock = {"seconds": 0, "validating": 0, "metrics_bytes": 0}
    assert {**vars(again), **no_clock} == {**vars(done), **no_clock}


def test_a_run_without_a_checkpoint_starts_again(tmp_path: Path) -> None:
    def crash(step: int) -> None:
        if step == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train_loop(make_job(tmp_path, [], Listener(crash)))
    job = make_job(tmp_path, [1, 2, 3, 4, 5])
    train_loop(job)
    assert [record["step"] for record in job.run.metrics() if "train_loss" in record] == list(range(1, 11))


def test_a_training_that_diverges_stops_with_its_last_checkpoint(tmp_path: Path) -> None:
    job = make_job(tmp_path, [1, 2, 3, 4, 5])

    def break_weights(step: int) -> None:
        if step == 3:
            next(job.model.parameters()).data.fill_(float("nan"))

    job.watcher.at_step = break_weights
    with pytest.raises(ModelError, match="diverged"):
        train_loop(job)
    assert job.run.steps == [2]
    assert all(torch.isfinite(weight).all() for weight in job.run.checkpoints.read(2).weights.values())


def test_the_metrics_hold_the_mean_loss_since_the_last_line(tmp_path: Path) -> None:
    watcher = Listener()
    job = make_job(tmp_path, [1], watcher, steps=400, valid_every=400, lr=1e-3)
    train_loop(job)
    lines = [record for record in job.run.metrics() if "train_loss" in record]
    assert [record["step"] for record in lines] == list(range(2, 401, 2))
    assert all(
        min(pair) - 1e-9 <= record["train_loss"] <= max(pair) + 1e-9
        for record, pair in zip(lines, zip(watcher.losses[::2], watcher.losses[1::2], strict=True), strict=True)
    )


def test_stopped_before_the_first_update_nothing_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing that the recipe does not give; a checkpoint without an optimiser's memory could not be read."""
    job = make_job(tmp_path, [])
    stop = StopRequest()

    def skip(*_: Any) -> None:
        stop.asked = True

    with monkeypatch.context() as patch:
        patch.setattr(loop, "stop_on_signals", lambda **_: nullcontext(stop))
        patch.setattr(loop, "advance", skip)
        assert train_loop(job).step == 0
    assert list(job.run.steps) == []
    assert train_loop(make_job(tmp_path, [1.0] * 5)).step == 10
