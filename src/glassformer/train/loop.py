"""The training loop: take batches, step, measure, save; go on exactly where a stopped run stood."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import torch
from torch import nn

from glassformer.data.batches import Batch, Pools, stream
from glassformer.store.run import Checkpoint, RunFolder
from glassformer.store.weights import load_weights, weights_of
from glassformer.train.optimiser import Optimisers, load_optimiser, make_optimiser, optimiser_tensors
from glassformer.train.schedule import learning_rate
from glassformer.train.settings import TrainSettings
from glassformer.train.step import Loss, StepReport, autocast_for, seed_step, train_step
from glassformer.train.stopping import stop_on_signals

Scores = Mapping[str, Any]  # numbers by their names, and "samples": the translations of some sentences, to be read


class Watcher(Protocol):
    """Someone who looks on."""

    def on_step(self, progress: Progress, report: StepReport, seconds: float) -> None:
        """After every update."""

    def on_validation(self, record: Mapping[str, Any]) -> None:
        """After every validation."""


@dataclass
class Progress:
    """Where a run stands. All of it is saved, so a resumed run has the same history."""

    step: int = 0  # updates done
    batches: int = 0  # batches taken from the stream
    epoch: int = 0
    tokens: int = 0  # real tokens of both sides seen so far
    window_loss: float = 0.0  # summed since the last record
    window_tokens: int = 0
    best_step: int = 0
    best_score: float | None = None
    validations_since_best: int = 0
    seconds: float = 0.0  # spent training, all sittings together
    validating: float = 0.0  # seconds spent measuring, likewise
    stopped: str = field(default="")  # why training ended, once it has


@dataclass(frozen=True)
class Job:
    """All that a training needs; made by the task."""

    model: nn.Module
    pairs: Pools
    settings: TrainSettings  # resolved
    loss: Loss
    validate: Callable[[], Scores]  # in eval mode; gives at least settings.best_by
    run: RunFolder
    watcher: Watcher
    device: torch.device


def train_loop(job: Job) -> Progress:
    """Trains to the end, to the patience's end, or until asked to stop; returns where it stands."""
    optimiser = make_optimiser(job.model, job.settings)
    progress = restore(job, optimiser)
    batches = job_batches(job, skip=progress.batches)
    steps = job.settings.steps or 0
    with stop_on_signals() as stop:
        while progress.step < steps and not progress.stopped:
            advance(job, optimiser, progress, batches)
            if progress.step % (job.settings.valid_every or steps) == 0 or progress.step == steps:
                measure(job, progress)
                save(job, optimiser, progress)
            if stop.asked:
                save(job, optimiser, progress)
                break
    if progress.step >= steps:
        progress.stopped = progress.stopped or "all steps done"
    return progress


def restore(job: Job, optimiser: Optimisers) -> Progress:
    """The latest checkpoint's state, or a fresh start."""
    if not job.run.steps:
        job.run.cut_metrics(-1)
        return Progress()
    checkpoint = job.run.checkpoint(job.run.steps[-1])
    load_weights(job.model, checkpoint.weights, origin=f"checkpoint {checkpoint.step}")
    load_optimiser(job.model, optimiser, checkpoint.optimiser)
    job.run.cut_metrics(checkpoint.step)
    return Progress(**checkpoint.state)


def job_batches(job: Job, *, skip: int) -> Iterator[tuple[int, Batch]]:
    settings = job.settings
    return stream(job.pairs, tokens=settings.batch_tokens, seed=settings.seed, skip=skip)


def advance(job: Job, optimiser: Optimisers, progress: Progress, batches: Iterator[tuple[int, Batch]]) -> None:
    """One update, and its place in the books."""
    settings, began = job.settings, time.perf_counter()
    taken = [next(batches) for _ in range(settings.accumulate)]
    if not job.model.training:  # walking the whole tree at every step would cost 2 ms
        job.model.train()
    seed_step(settings.seed, progress.step)
    report = train_step(
        job.model,
        optimiser,
        [batch.to(job.device) for _, batch in taken],
        loss=job.loss,
        lr=rate(settings, progress.step),
        clip=settings.clip,
        target_tokens=sum(int(batch.target_lengths.sum()) for _, batch in taken),
        autocast=autocast_for(job.device, settings.precision),
    )
    seconds = time.perf_counter() - began
    progress.step += 1
    progress.batches += len(taken)
    progress.epoch = taken[-1][0]
    progress.tokens += sum(batch.tokens for _, batch in taken)
    progress.window_loss += report.loss * report.target_tokens
    progress.window_tokens += report.target_tokens
    progress.seconds += seconds
    job.watcher.on_step(progress, report, seconds)
    if progress.step % max(1, (settings.steps or 1) // 200) == 0:
        job.run.append_metrics(training_record(job, progress))


def rate(settings: TrainSettings, step: int) -> float:
    return learning_rate(
        step,
        peak=settings.lr,
        warmup=settings.warmup or 0,
        steps=settings.steps or 1,
        schedule=settings.schedule,
    )


def training_record(job: Job, progress: Progress) -> dict[str, Any]:
    """A line of metrics.jsonl: the mean training loss since the last such line."""
    record = {
        "step": progress.step,
        "epoch": progress.epoch,
        "train_loss": progress.window_loss / max(progress.window_tokens, 1),
        "lr": rate(job.settings, progress.step - 1),
        "tokens_per_second": round(progress.tokens / max(progress.seconds, 1e-9)),
    }
    progress.window_loss, progress.window_tokens = 0.0, 0
    return record


def measure(job: Job, progress: Progress) -> None:
    """Validates, and keeps account of the best and of the patience."""
    job.model.eval()
    began = time.perf_counter()
    scores = dict(job.validate())
    score = -scores["loss"] if job.settings.best_by == "loss" else scores[job.settings.best_by]
    if progress.best_score is None or score > progress.best_score:
        progress.best_step, progress.best_score, progress.validations_since_best = progress.step, score, 0
    else:
        progress.validations_since_best += 1
    if job.settings.patience and progress.validations_since_best >= job.settings.patience:
        progress.stopped = f"no better {job.settings.best_by} in {job.settings.patience} validations"
    taken = time.perf_counter() - began
    progress.validating += taken
    record = {
        "step": progress.step,
        "epoch": progress.epoch,
        **{f"valid_{name}": value for name, value in scores.items()},
        "best": progress.best_step == progress.step,
        "seconds": round(progress.seconds, 2),
        "validation_seconds": round(taken, 2),
        "elapsed_seconds": round(progress.seconds + progress.validating, 2),
    }
    job.run.append_metrics(record)
    job.watcher.on_validation(record)


def save(job: Job, optimiser: Optimisers, progress: Progress) -> None:
    """A checkpoint of this step; the best one is kept beside the latest."""
    checkpoint = Checkpoint(
        step=progress.step,
        weights=weights_of(job.model),
        optimiser=optimiser_tensors(job.model, optimiser),
        state=asdict(progress),
    )
    job.run.save_checkpoint(checkpoint, keep={progress.best_step})
