"""The training loop: take batches, step, validate, save; a stopped run resumes exactly where it was."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from glassformer.data.batches import Taken, take_batches
from glassformer.errors import DataError
from glassformer.evaluate.metric import by_key
from glassformer.nn.lora import merged
from glassformer.training.choice import Leader, choose, shown_gaps
from glassformer.training.course import Course
from glassformer.training.distributed import Replica, share_weights, wrap
from glassformer.training.divergence import gradients_again, name_the_batch
from glassformer.training.job import Job, Progress
from glassformer.training.optimiser import Optimisers, make_optimiser
from glassformer.training.saved_state import restore, save
from glassformer.training.settings import TrainSettings
from glassformer.training.sharded import Trainee, shard
from glassformer.training.steering import Steering
from glassformer.training.step import Diverged, StepReport, autocast_for, seed_step, train_step
from glassformer.training.stopping import StopRequest, stop_on_signals

EARLY = 0.1  # share of a budget; if a run ends with more than this left, it was not the time that ended it


def train_loop(job: Job) -> Progress:
    """Trains until all steps are done, patience runs out or a stop is requested; returns the progress."""
    share_weights(job.ranks, job.model)
    is_sharded = job.settings.shard and job.ranks.world > 1
    job = shard(job) if is_sharded else job
    optimiser = make_optimiser(job.model, job.settings)
    progress, leader = restore(job, optimiser)
    steering = Steering(job, progress)
    course = steering.course
    replica = Replica(ranks=job.ranks) if is_sharded else wrap(job.model, job.ranks)
    batches = job_batches(job, skip=progress.batches)
    last_save, most_steps = time.monotonic(), job.limit.most_steps if job.limit else 0
    with stop_on_signals(breakable=job.ranks.world == 1) as stop:
        asked = job.ranks.any(stop.asked)
        while not asked:
            validates = is_due(job.settings, progress, course)
            if validates:
                late = measure(job, optimiser, progress, leader, stop)
            elif why_stop(job.settings, progress, most_steps=most_steps):
                break
            else:
                advance(job, optimiser, progress, batches, replica, steering)
                steering.after_step(progress)
                # When to save never changes what is computed, so a clock may decide it.
                waited = time.monotonic() - last_save > 60 * job.settings.save_minutes
                late = waited and not is_due(job.settings, progress, course)
            asked = job.ranks.any(stop.asked)  # all ranks stop at the same step
            if (late or asked) and progress.step:  # at step 0 the recipe alone gives the same state
                steering.note_time(progress)
                save(job, optimiser, progress, leader)
                last_save = time.monotonic()
            if validates or late:
                steering.after_pause(validated=validates)
    return replace(progress, stopped="" if asked else why_stop(job.settings, progress, most_steps=most_steps))


def is_due(settings: TrainSettings, progress: Progress, course: Course) -> bool:
    """Whether this step needs a validation that it has not had yet; an interrupted validation is repeated.

    Validations are counted in steps of the first plan, so their number stays the same if the machine gets slower.
    """
    every = settings.valid_every or course.first
    on_time = course.crosses(progress.measured_at, progress.step, every) or progress.step >= course.steps
    return on_time and progress.step > progress.measured_at


def why_stop(settings: TrainSettings, progress: Progress, *, most_steps: int = 0) -> str:
    """Why training has ended, in words; empty if it has not. `most_steps`: more do not help; 0: no such limit."""
    if settings.patience and progress.validations_since_best >= settings.patience:
        return (
            f"no better {'loss' if settings.best_by == 'auto' else settings.best_by} in {settings.patience} validations"
        )
    ends = progress.validation_seconds + progress.closing_seconds
    early = most_steps > 0 and (progress.left or 0.0) > ends + EARLY * progress.limit
    done = "the time is used" if progress.limit and not early else "all steps done"
    return done if progress.step >= progress.steps else ""


def job_batches(job: Job, *, skip: int) -> Iterator[Taken]:
    settings, ranks = job.settings, job.ranks
    return take_batches(
        job.examples, tokens=settings.batch_tokens, seed=settings.seed, skip=skip, rank=ranks.rank, world=ranks.world
    )


def advance(
    job: Job,
    optimiser: Optimisers,
    progress: Progress,
    batches: Iterator[Taken],
    replica: Replica,
    steering: Steering,
) -> None:
    """Makes one update and records it."""
    settings, began = job.settings, time.perf_counter()
    chosen = [next(batches) for _ in range(settings.accumulate)]
    progress.batches += len(chosen) * job.ranks.world
    size = size_of_update(job, chosen)
    if not size.weight or (settings.shard and size.is_ragged):
        skip(progress, epoch=size.epoch)
        return
    lr = steering.rate(progress.step)
    report = update(job, optimiser, progress, [one.batch for one in chosen], size.weight, replica, lr)
    seconds = time.perf_counter() - began
    progress.step += 1
    if optimiser.average:
        optimiser.average.update(progress.step, pace=steering.course.pace())
    progress.epoch = size.epoch
    progress.tokens += size.tokens
    progress.flops += size.flops
    progress.window_loss += report.loss * report.weight
    progress.window_tokens += report.weight
    progress.seconds += seconds
    job.watcher.on_step(progress, report, seconds)
    if progress.step % max(1, (settings.steps or 1) // 200) == 0:
        note(job, training_record(progress, lr))


class UpdateSize(NamedTuple):
    """The size of an update, on all ranks together."""

    weight: int
    tokens: int  # in batches that have targets
    epoch: int  # of the last batch
    flops: float
    is_ragged: bool  # some rank has a batch without targets, and would not take part in a sharded update


def size_of_update(job: Job, chosen: Sequence[Taken]) -> UpdateSize:
    learnt = [(one.batch.weight, one.batch.tokens, one.lengths) for one in chosen if one.batch.weight]
    targets, tokens = sum(weight for weight, _, _ in learnt), sum(tokens for _, tokens, _ in learnt)
    flops = sum(job.cost.of(lengths, weight) for weight, _, lengths in learnt)
    rows = job.ranks.table([targets, tokens, flops, len(chosen) - len(learnt), chosen[-1].epoch])
    targets, tokens, flops, empty = (sum(row[i] for row in rows) for i in range(4))
    return UpdateSize(int(targets), int(tokens), int(rows[-1][4]), flops, is_ragged=empty > 0)


def note(job: Job, record: Mapping[str, Any]) -> None:
    """Appends a line to metrics.jsonl; only the writer does."""
    if job.ranks.is_writer:
        job.run.append_metrics(record)


def skip(progress: Progress, *, epoch: int) -> None:
    """Counts batches without any target: nothing can be learned from them, so there is no update and no step."""
    progress.skipped += 1
    if epoch > progress.epoch + 1:
        raise DataError("No batch of a whole epoch has a target: there is nothing to learn. Check the data.")


def update(
    job: Job,
    optimiser: Optimisers,
    progress: Progress,
    batches: list[Any],
    weight: int,
    replica: Replica,
    lr: float,
) -> StepReport:
    """Changes the weights once; if the step diverges, the error names the batch and saves it."""
    settings, step = job.settings, progress.step
    autocast = autocast_for(job.device, settings.precision)
    full = [batch.to(job.device) if batch.weight else None for batch in batches]
    if not job.model.training:  # calling train() at every step would cost 2 ms
        job.model.train()
    seed_step(settings.seed, step, job.ranks.rank)
    try:
        return train_step(
            optimiser,
            full,
            loss=job.loss,
            lr=lr,
            clip=settings.clip,
            weight=weight,
            autocast=autocast,
            replica=replica,
        )
    except Diverged as error:
        if isinstance(job.loss, Trainee):  # no rank has all weights, which the report on a batch needs
            raise
        again = partial(
            gradients_again,
            job.model,
            full,
            loss=job.loss,
            weight=weight,
            autocast=autocast,
            replica=replica,
        )
        seed_step(settings.seed, step, job.ranks.rank)
        learnt = [batch for batch in full if batch is not None]
        raise name_the_batch(
            error, job.model, learnt, again=again, step=step, show=job.show, run=job.run, ranks=job.ranks
        ) from None


def training_record(progress: Progress, lr: float) -> dict[str, Any]:
    """A line of metrics.jsonl: the mean training loss since the last such line."""
    record = {
        "step": progress.step,
        "epoch": progress.epoch,
        "train_loss": progress.window_loss / max(progress.window_tokens, 1),
        "lr": lr,
        "tokens_per_second": round(progress.tokens / max(progress.seconds, 1e-9)),
        **({"skipped": progress.skipped} if progress.skipped else {}),
    }
    progress.window_loss, progress.window_tokens = 0.0, 0
    return record


def measure(job: Job, optimiser: Optimisers, progress: Progress, leader: Leader, stop: StopRequest) -> bool:
    """Validates, and decides which weights to keep; False if it was interrupted."""
    job.model.eval()
    began = time.perf_counter()
    with optimiser.average.in_place() if optimiser.average and progress.step else nullcontext(), merged(job.model):
        found = stop.finishes(job.validate)
    if found is None:
        return False
    scores = dict(found)
    best_by, schedule = job.settings.best_by, job.settings.schedule
    ruling = choose(progress, leader, scores, best_by=best_by, schedule=schedule, metrics=by_key(job.metrics))
    # The writer decides: another kind of processor may round differently, and all ranks must stop together.
    decided = job.ranks.from_writer([progress.best_step, progress.validations_since_best])
    progress.best_step, progress.validations_since_best = decided
    taken = time.perf_counter() - began
    progress.validating += taken
    progress.measured_at = progress.step
    record = {
        "step": progress.step,
        "epoch": progress.epoch,
        **{f"valid_{name}": value for name, value in scores.items()},
        "best": ruling.keeps,
        "choice": ruling.outcome,
        **({"against_best": gaps} if (gaps := shown_gaps(ruling)) else {}),
        "seconds": round(progress.seconds, 2),
        "validation_seconds": round(taken, 2),
        "elapsed_seconds": round(progress.seconds + progress.validating, 2),
        "steps": progress.steps,
    }
    note(job, record)
    job.watcher.on_validation(record)
    return True
