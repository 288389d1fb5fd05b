"""Applies changes of plan to a run: recorded ones are repeated, new ones are recorded before they take effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from glassformer.errors import RunError
from glassformer.training.course import Change, Course
from glassformer.training.schedule import learning_rate
from glassformer.training.timekeeper import TimeKeeper

if TYPE_CHECKING:
    from glassformer.training.job import Job, Progress


class Steering:
    """The course of a new or resumed run, and the clock that may change it."""

    def __init__(self, job: Job, progress: Progress) -> None:
        self.job = job
        self.course = restored_course(job, progress)
        self.keeper = TimeKeeper(job.limit, used_before=progress.used) if job.limit else None
        self.tokens = progress.tokens
        progress.limit = job.limit.seconds if job.limit else 0.0
        if self.keeper is None and (progress.changes or self.course.coming):
            self.give_up_the_budget(progress)
        self.apply(progress)

    def after_step(self, progress: Progress) -> None:
        """Makes the change that was recorded for this step, or one that the clock requires."""
        if self.keeper is not None:
            self.keeper.on_step(progress.tokens - self.tokens)
            self.tokens = progress.tokens
            self.note_time(progress)
        while change := self.course.due(progress.step):
            self.course.take(change)
        self.apply(progress)
        if self.keeper is not None and not self.course.is_replayed and not self.course.has_ended:
            self.check_clock(progress, self.keeper)

    def after_pause(self, *, validated: bool) -> None:
        """Called after a validation or a checkpoint."""
        if self.keeper is not None:
            self.keeper.on_pause(validated=validated)

    def check_clock(self, progress: Progress, keeper: TimeKeeper) -> None:
        """Changes the plan if the clock requires it; the writer's clock decides for all ranks."""
        ranks, course = self.job.ranks, self.course
        if progress.step >= course.steps:
            self.take(progress, Change(progress.step, progress.step, course.threads, keeper.used))
            return
        every = self.job.settings.valid_every or course.first
        found = keeper.change(course, progress.step, every=every) if ranks.is_writer else None
        if ranks.any(found is not None):
            steps, threads = ranks.table([found.steps, found.threads] if found else [0, 0])[0]
            self.take(progress, Change(progress.step, int(steps), int(threads), keeper.used))

    def rate(self, step: int) -> float:
        """The learning rate of update `step`, counted from 0."""
        settings = self.job.settings
        return learning_rate(
            self.course.position(step),
            peak=settings.lr,
            warmup=settings.warmup or 0,
            steps=self.course.first,
            schedule=settings.schedule,
            decay=settings.decay,
        )

    def note_time(self, progress: Progress) -> None:
        """Records the time used and the speeds, for watchers and for the next session."""
        if (keeper := self.keeper) is not None:
            progress.used, progress.step_seconds = keeper.used, keeper.steps.mean
            progress.validation_seconds, progress.closing_seconds = keeper.validation_seconds, keeper.closing_seconds

    def take(self, progress: Progress, change: Change) -> None:
        """Records a change of plan, then makes it."""
        if self.job.ranks.is_writer:
            self.job.run.record_change(change.record())
        self.course.take(change)
        self.apply(progress)

    def apply(self, progress: Progress) -> None:
        """Sets progress and torch to the steps and threads of the course."""
        progress.steps, progress.changes = self.course.steps, self.course.taken
        if self.course.threads != torch.get_num_threads():
            torch.set_num_threads(self.course.threads)

    def give_up_the_budget(self, progress: Progress) -> None:
        """Plans all steps of a run that now continues with a number of steps instead of a time.

        Changes that were recorded for later steps are also removed from the file, which stays in the order of steps.
        """
        steps = self.job.settings.steps or 1
        if self.course.coming and self.job.ranks.is_writer:
            self.job.run.cut_plan(self.course.taken)
        del self.course.coming[:]
        if progress.step < steps != self.course.steps:
            self.take(progress, Change(progress.step, steps, self.course.threads, progress.used))


def restored_course(job: Job, progress: Progress) -> Course:
    """The first plan with the changes up to this step; changes that were recorded for later steps are still to come."""
    settings, ranks = job.settings, job.ranks
    changes = [Change.of(record) for record in ranks.from_writer(job.run.plan_changes() if ranks.is_writer else None)]
    course = Course(steps=settings.steps or 1, threads=settings.threads or torch.get_num_threads(), changes=changes)
    while progress.step and (change := course.due(progress.step)):
        course.take(change)
    if course.taken < progress.changes:
        raise RunError(
            f"{job.run.path}/plan.jsonl has {course.taken} changes of plan up to step {progress.step:,}, but the "
            f"checkpoint was saved after {progress.changes}. Restore the file from a copy."
        )
    return course
