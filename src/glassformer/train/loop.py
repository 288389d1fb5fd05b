"""The training loop: take batches, step, measure, save; go on exactly where a stopped run stood."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from glassformer.data.batches import Batch, Pools, stream
from glassformer.errors import DataError, RunError
from glassformer.store.checkpoints import Checkpoint
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_weights
from glassformer.train.distributed import Replica, share_weights, shared_checkpoint, wrap
from glassformer.train.divergence import Show, gradients_again, ids_as_text, name_the_batch
from glassformer.train.optimiser import Optimisers, load_optimiser, make_optimiser, optimiser_tensors, weights_to_use
from glassformer.train.pace import steps_in
from glassformer.train.ranks import ALONE, Ranks
from glassformer.train.schedule import learning_rate
from glassformer.train.settings import TrainSettings
from glassformer.train.step import Diverged, Loss, StepReport, autocast_for, seed_step, train_step
from glassformer.train.stopping import StopRequest, stop_on_signals

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
    measured_at: int = 0  # the step of the last validation
    measured_by: str = ""  # and what it was made with: scores compare only with their like
    skipped: int = 0  # updates that had nothing to learn from
    metrics_bytes: int = 0  # of metrics.jsonl at this step
    steps: int = 0  # there will be in all
    time: float = 0.0  # seconds that steps and validations shall take in all; 0: as many as they need
    seconds_then: float = 0.0  # `seconds` at the last validation


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
    show: Show = ids_as_text
    measured_by: str = ""  # names what `validate` measures with
    ranks: Ranks = ALONE
    time: float = 0.0  # seconds that steps and validations shall take; 0: as many as they need


def train_loop(job: Job) -> Progress:
    """Trains to the end, to the patience's end, or until asked to stop; returns where it stands."""
    share_weights(job.ranks, job.model)
    optimiser = make_optimiser(job.model, job.settings)
    progress = restore(job, optimiser)
    replica = wrap(job.model, job.ranks)
    batches = job_batches(job, skip=progress.batches)
    last_save = time.monotonic()
    with stop_on_signals(breakable=job.ranks.world == 1) as stop:
        asked = job.ranks.any(stop.asked)
        while not asked:
            if is_due(job.settings, progress):
                late = measure(job, optimiser, progress, stop)
            elif why_stop(job.settings, progress):
                break
            else:
                advance(job, optimiser, progress, batches, replica)
                # When to save never changes what is computed, so a clock may decide it.
                waited = time.monotonic() - last_save > 60 * job.settings.save_minutes
                late = waited and not is_due(job.settings, progress)
            asked = job.ranks.any(stop.asked)  # all ranks stop at the same step
            if (late or asked) and progress.step:  # at step 0 there is nothing yet that the recipe does not give
                save(job, optimiser, progress)
                last_save = time.monotonic()
    return replace(progress, stopped="" if asked else why_stop(job.settings, progress))


def is_due(settings: TrainSettings, progress: Progress) -> bool:
    """Whether this step is to be validated and was not yet: a validation that was broken off is made again."""
    on_time = progress.step % (settings.valid_every or progress.steps) == 0 or progress.step >= progress.steps
    return on_time and progress.step > progress.measured_at


def why_stop(settings: TrainSettings, progress: Progress) -> str:
    """The reason why training is at its end, in words, or nothing."""
    if settings.patience and progress.validations_since_best >= settings.patience:
        return f"no better {settings.best_by} in {settings.patience} validations"
    return "all steps done" if progress.step >= progress.steps else ""


def restore(job: Job, optimiser: Optimisers) -> Progress:
    """The latest checkpoint's state, or a fresh start; the same on all ranks."""
    checkpoint = shared_checkpoint(job.ranks, latest(job) if job.ranks.is_writer else None)
    if checkpoint is None:
        return Progress(measured_by=job.measured_by, steps=job.settings.steps or 0, time=job.time)
    load_weights(job.model, checkpoint.weights, origin=f"checkpoint {checkpoint.step}")
    load_optimiser(job.model, optimiser, checkpoint.optimiser)
    progress = restored(checkpoint.state)
    return progress if progress.time else replace(progress, steps=job.settings.steps or 0)


def latest(job: Job) -> Checkpoint | None:
    """The checkpoint to go on from, as its writer finds it, with the measurements cut to there."""
    if not job.run.steps:
        job.run.cut_metrics(0)
        return None
    checkpoint = job.run.checkpoints.read(job.run.steps[-1])
    progress = restored(checkpoint.state)
    job.run.cut_metrics(progress.metrics_bytes)
    if progress.measured_by != job.measured_by or progress.best_step not in job.run.steps:
        # Another yardstick, or the best was damaged and put aside: from here on the best is looked for anew.
        progress = replace(progress, best_step=0, best_score=None, measured_by=job.measured_by)
    return replace(checkpoint, state=asdict(progress))


def restored(state: Mapping[str, Any]) -> Progress:
    unknown = [name for name in state if name not in Progress.__dataclass_fields__]
    if unknown:
        raise RunError(f"The checkpoint knows of {unknown[0]!r}, which this version does not. Use the one it is from.")
    return Progress(**state)


def job_batches(job: Job, *, skip: int) -> Iterator[tuple[int, Batch]]:
    settings, ranks = job.settings, job.ranks
    return stream(
        job.pairs, tokens=settings.batch_tokens, seed=settings.seed, skip=skip, rank=ranks.rank, world=ranks.world
    )


def advance(
    job: Job, optimiser: Optimisers, progress: Progress, batches: Iterator[tuple[int, Batch]], replica: Replica
) -> None:
    """One update, and its place in the books."""
    settings, began = job.settings, time.perf_counter()
    taken = [next(batches) for _ in range(settings.accumulate)]
    progress.batches += len(taken) * job.ranks.world
    size = size_of_update(job.ranks, taken)
    if not size.target_tokens:
        skip(progress, epoch=size.epoch)
        return
    report = update(job, optimiser, progress, [batch for _, batch in taken], size.target_tokens, replica)
    seconds = time.perf_counter() - began
    progress.step += 1
    if optimiser.average:
        optimiser.average.update(progress.step)
    progress.epoch = size.epoch
    progress.tokens += size.tokens
    progress.window_loss += report.loss * report.target_tokens
    progress.window_tokens += report.target_tokens
    progress.seconds += seconds
    job.watcher.on_step(progress, report, seconds)
    if progress.step % max(1, (settings.steps or 1) // 200) == 0:
        note(job, training_record(job, progress))


class UpdateSize(NamedTuple):
    """What an update takes, on all ranks together."""

    target_tokens: int
    tokens: int  # of both sides, where there is something to learn
    epoch: int  # of its last batch


def size_of_update(ranks: Ranks, taken: Sequence[tuple[int, Batch]]) -> UpdateSize:
    counts = [(int(batch.target_lengths.sum()), batch.tokens) for _, batch in taken]
    targets, tokens = sum(target for target, _ in counts), sum(both for target, both in counts if target)
    rows = ranks.table([targets, tokens, taken[-1][0]])
    return UpdateSize(int(sum(row[0] for row in rows)), int(sum(row[1] for row in rows)), int(rows[-1][2]))


def note(job: Job, record: Mapping[str, Any]) -> None:
    """A line of metrics.jsonl, by its one writer."""
    if job.ranks.is_writer:
        job.run.append_metrics(record)


def skip(progress: Progress, *, epoch: int) -> None:
    """Batches without a single target token teach nothing: no update, no step."""
    progress.skipped += 1
    if epoch > progress.epoch + 1:
        raise DataError("No batch of a whole epoch has a target token: there is nothing to learn. Look at the data.")


def update(
    job: Job, optimiser: Optimisers, progress: Progress, batches: list[Batch], target_tokens: int, replica: Replica
) -> StepReport:
    """Changes the weights once; if that cannot be, the batch is named and saved."""
    settings, step = job.settings, progress.step
    autocast = autocast_for(job.device, settings.precision)
    full = [batch.to(job.device) if int(batch.target_lengths.sum()) else None for batch in batches]
    if not job.model.training:  # walking the whole tree at every step would cost 2 ms
        job.model.train()
    seed_step(settings.seed, step, job.ranks.rank)
    try:
        return train_step(
            job.model,
            optimiser,
            full,
            loss=job.loss,
            lr=rate(settings, step, steps=progress.steps),
            clip=settings.clip,
            target_tokens=target_tokens,
            autocast=autocast,
            replica=replica,
        )
    except Diverged as error:
        again = partial(
            gradients_again,
            job.model,
            full,
            loss=job.loss,
            target_tokens=target_tokens,
            autocast=autocast,
            replica=replica,
        )
        seed_step(settings.seed, step, job.ranks.rank)
        learnt = [batch for batch in full if batch is not None]
        raise name_the_batch(
            error, job.model, learnt, again=again, step=step, show=job.show, run=job.run, ranks=job.ranks
        ) from None


def rate(settings: TrainSettings, step: int, *, steps: int) -> float:
    return learning_rate(
        step,
        peak=settings.lr,
        warmup=settings.warmup or 0,
        steps=steps,
        schedule=settings.schedule,
        decay=settings.decay,
    )


def training_record(job: Job, progress: Progress) -> dict[str, Any]:
    """A line of metrics.jsonl: the mean training loss since the last such line."""
    record = {
        "step": progress.step,
        "epoch": progress.epoch,
        "train_loss": progress.window_loss / max(progress.window_tokens, 1),
        "lr": rate(job.settings, progress.step - 1, steps=progress.steps),
        "tokens_per_second": round(progress.tokens / max(progress.seconds, 1e-9)),
        **({"skipped": progress.skipped} if progress.skipped else {}),
    }
    progress.window_loss, progress.window_tokens = 0.0, 0
    return record


def measure(job: Job, optimiser: Optimisers, progress: Progress, stop: StopRequest) -> bool:
    """Validates, and keeps account of the best and of the patience; False if it was broken off."""
    job.model.eval()
    began = time.perf_counter()
    with optimiser.average.in_place() if optimiser.average else nullcontext():
        found = stop.finishes(job.validate)
    if found is None:
        return False
    scores = dict(found)
    score = -scores["loss"] if job.settings.best_by == "loss" else scores[job.settings.best_by]
    if math.isfinite(score) and (progress.best_score is None or score > progress.best_score):
        progress.best_step, progress.best_score, progress.validations_since_best = progress.step, score, 0
    else:
        progress.validations_since_best += 1
    taken = time.perf_counter() - began
    progress.validating += taken
    keep_to_time(job, progress, validation_seconds=taken)
    progress.measured_at = progress.step
    record = {
        "step": progress.step,
        "epoch": progress.epoch,
        **{f"valid_{name}": value for name, value in scores.items()},
        "best": progress.best_step == progress.step,
        "seconds": round(progress.seconds, 2),
        "validation_seconds": round(taken, 2),
        "elapsed_seconds": round(progress.seconds + progress.validating, 2),
        "steps": progress.steps,
    }
    note(job, record)
    job.watcher.on_validation(record)
    return True


def keep_to_time(job: Job, progress: Progress, *, validation_seconds: float) -> None:
    """Where the time is given, its clock decides how many steps there will be; the writer's, for all ranks."""
    if not progress.time or progress.step >= progress.steps:
        return
    recent = progress.step - progress.measured_at
    lately, always = (progress.seconds - progress.seconds_then) / recent, progress.seconds / progress.step
    step_seconds = (lately + always) / 2  # a busy minute shall not decide alone
    progress.seconds_then = progress.seconds
    left = progress.time - progress.seconds - progress.validating
    steps = steps_in(
        left, step_seconds, validation_seconds=validation_seconds, valid_every=job.settings.valid_every or recent
    )
    progress.steps = int(job.ranks.told(progress.step + steps))


def save(job: Job, optimiser: Optimisers, progress: Progress) -> None:
    """A checkpoint of this step, the measurements before it made safe first."""
    if not job.ranks.is_writer:
        return
    progress.metrics_bytes = job.run.flush_metrics()
    checkpoint = Checkpoint(
        step=progress.step,
        weights=weights_to_use(job.model, optimiser),
        optimiser=optimiser_tensors(job.model, optimiser),
        state=asdict(progress),
    )
    job.run.checkpoints.save(checkpoint, keep={progress.best_step, *to_fall_back_on(job.run, progress.step)})


def to_fall_back_on(run: RunFolder, step: int) -> set[int]:
    """The checkpoint before `step` and the best there was then: from these a run goes on if a later one is damaged."""
    for earlier in reversed([found for found in run.steps if found < step]):
        with suppress(RunError):
            return {earlier, run.checkpoints.state(earlier)["best_step"]}
    return set()
