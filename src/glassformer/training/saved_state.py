"""The state of a run on disk: saved at a step, and restored by the next session."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from glassformer.errors import RunError
from glassformer.nn.lora import adapted
from glassformer.store.checkpoints import Checkpoint
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_weights
from glassformer.training.choice import Leader, counts_in
from glassformer.training.distributed import shared_checkpoint
from glassformer.training.job import Job, Progress
from glassformer.training.optimiser import Optimisers, load_optimiser, optimiser_tensors, weights_to_use
from glassformer.training.sharded import Trainee, gathered_all, load_shares, whole


def restore(job: Job, optimiser: Optimisers) -> tuple[Progress, Leader]:
    """The state of the latest checkpoint, or of a new run; the same on all ranks."""
    checkpoint = shared_checkpoint(job.ranks, latest(job) if job.ranks.is_writer else None)
    if checkpoint is None:
        return Progress(measured_by=job.measured_by, measured_at=-1 if job.baseline else 0), Leader()
    if isinstance(job.loss, Trainee):
        load_shares(job.model, checkpoint.weights)
    elif not adapted(job.model):  # where there are adapters, all weights are beside the optimiser's state
        load_weights(job.model, checkpoint.weights, origin=f"checkpoint {checkpoint.step}")
    load_optimiser(job.model, optimiser, checkpoint.optimiser)
    progress = restored(checkpoint.state)
    return progress, Leader(progress.leader_step, progress.leader_scores, counts_in(checkpoint.optimiser))


def latest(job: Job) -> Checkpoint | None:
    """The checkpoint to resume from, read by the writer. Also cuts metrics.jsonl to what was measured by then."""
    if not job.run.steps:
        job.run.cut_metrics(0)
        return None
    checkpoint = job.run.checkpoints.read(job.run.steps[-1])
    progress = restored(checkpoint.state)
    job.run.cut_metrics(progress.metrics_bytes)
    kept = {*job.run.steps, *([0] if job.baseline else [])}
    if progress.measured_by != job.measured_by or progress.best_step not in kept:
        # Scores are no longer comparable, or the kept weights were damaged and set aside: the choice starts again here.
        progress = replace(progress, best_step=0, best_score=None, leader_scores={}, measured_by=job.measured_by)
    return replace(checkpoint, state=asdict(progress))


def restored(state: Mapping[str, Any]) -> Progress:
    unknown = [name for name in state if name not in Progress.__dataclass_fields__]
    if unknown:
        raise RunError(
            f"The checkpoint has {unknown[0]!r}, which this version does not know. Use the version that wrote it."
        )
    return Progress(**state)


def save(job: Job, optimiser: Optimisers, progress: Progress, leader: Leader) -> None:
    """Saves a checkpoint of this step, after the measurements before it are safe on disk."""
    if isinstance(job.loss, Trainee):  # every rank gives its share
        weights, state = whole(job.model), gathered_all(optimiser_tensors(job.model, optimiser))
    elif job.ranks.is_writer:
        weights, state = dict(weights_to_use(job.model, optimiser)), optimiser_tensors(job.model, optimiser)
    if not job.ranks.is_writer:
        return
    progress.metrics_bytes = job.run.flush_metrics()
    checkpoint = Checkpoint(
        step=progress.step,
        weights=weights,
        optimiser={**state, **leader.tensors()},
        state=asdict(progress),
    )
    job.run.checkpoints.save(checkpoint, keep={progress.best_step, *fallback_steps(job.run, progress.step)})


def fallback_steps(run: RunFolder, step: int) -> set[int]:
    """The checkpoint before `step` and the best one at that time: used to resume if a later one is damaged."""
    for earlier in reversed([found for found in run.steps if found < step]):
        with suppress(RunError):
            return {earlier, run.checkpoints.state(earlier)["best_step"]}
    return set()
