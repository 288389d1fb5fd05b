"""Which weights a run keeps: the latest ones, unless they are significantly worse than the best.

The loss on all held-out examples has little noise; a score on a sample of them has much. Both are measured on the same
examples at every validation, so the standard error of a difference can be computed (evaluate/significance.py,
`paired_gap`). Only a difference that is large compared with its error counts. Any other difference may be chance, and
then the later weights are kept: the learning rate falls towards the end of a schedule, so its last weights are the best
guess.

Everything here is a pure function of measured numbers, so all ranks make the same decision, and so does a resumed run.
Metrics are looked up by their keys (`evaluate.metric.by_key`); the loss is one of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from glassformer.evaluate.metric import AUTO, LOSS, Counts, Measured, Metric, headline
from glassformer.evaluate.significance import paired_gap

SURE = 3.0  # standard errors; in 20 validations, chance alone reaches 2 in about every second run
FEWEST = 50  # examples; with fewer, a score and its error mean very little
DECAYING = ("linear", "cosine", "stable-decay")  # schedules that end at a rate of zero
PREFIX = "choice."  # of the tensors in a checkpoint

Outcome = Literal["best", "as good", "worse"]
Metrics = Mapping[str, Metric]  # by key, with the loss
Evidence = Mapping[str, Measured]  # by the key of the metric


@dataclass(frozen=True)
class Gap:
    """How much better one validation is than another, by one metric."""

    gain: float  # above 0: better
    error: float  # standard error of the gain
    margin: float = 0.0

    @property
    def is_clearly_better(self) -> bool:
        return self.gain > max(SURE * self.error, self.margin)

    @property
    def is_clearly_worse(self) -> bool:
        return self.gain < -max(SURE * self.error, self.margin)


@dataclass
class Leader:
    """The best validation so far, which later ones are compared with."""

    step: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    counts: dict[str, Counts] = field(default_factory=dict)

    def tensors(self) -> dict[str, Tensor]:
        """The counts for a checkpoint."""
        return {PREFIX + name: torch.from_numpy(counts) for name, counts in self.counts.items()}


def counts_in(tensors: Mapping[str, Tensor]) -> dict[str, Counts]:
    """The counts that `Leader.tensors` put into a checkpoint."""
    return {
        name.removeprefix(PREFIX): tensor.numpy().astype(np.float64)
        for name, tensor in tensors.items()
        if name.startswith(PREFIX)
    }


@dataclass(frozen=True)
class Ruling:
    """The result of comparing a validation with the best one before it."""

    outcome: Outcome
    leads: bool  # later validations are now compared with this one
    gaps: Mapping[str, Gap] = field(default_factory=dict)

    @property
    def keeps(self) -> bool:
        """Whether its weights are kept, until later ones replace them."""
        return self.outcome != "worse"


def deciding(best_by: str, metrics: Metrics) -> tuple[Metric, ...]:
    """The metrics that decide: the one that the user named, or the loss and the headline metric together."""
    if best_by != AUTO:
        return (metrics[best_by],)
    first = headline(metrics.values())
    return (LOSS,) if first is None else (LOSS, first)


def judge(best_by: str, leader: Leader, scores: Mapping[str, Any], evidence: Evidence, metrics: Metrics) -> Ruling:
    """Compares a validation with the best before it."""
    known = [metric for metric in deciding(best_by, metrics) if metric.key in scores]
    if not all(math.isfinite(scores[metric.key]) for metric in known):
        return Ruling("worse", leads=False)
    if not leader.scores:
        return Ruling("best", leads=True)
    gaps = {one.key: gap(one, leader, float(scores[one.key]), evidence.get(one.key)) for one in known}
    if best_by != AUTO:
        return by_one(gaps[best_by], gaps)
    other = next((metric.key for metric in known if metric.key != LOSS.key), "")
    few = other in evidence and len(evidence[other].values) < FEWEST
    return by_both(gaps[LOSS.key], None if few else gaps.get(other), gaps)


def gap(metric: Metric, leader: Leader, value: float, measured: Measured | None) -> Gap:
    """How much better a score is than the leader's, and its error: 0 (unknown) without counts for each example."""
    before, error = leader.counts.get(metric.key), 0.0
    gain = metric.gain(leader.scores[metric.key], value)
    if measured is not None and before is not None and before.shape == measured.values.shape:
        difference, error = paired_gap(before, measured.values, metric.score)
        gain = metric.gain(0.0, difference)
    return Gap(gain, error, metric.margin)


def by_one(found: Gap, gaps: Mapping[str, Gap]) -> Ruling:
    """A metric that the user named decides alone, however small the difference; in a tie, the later one is kept."""
    better = found.gain >= 0
    return Ruling("best" if better else "worse", leads=better, gaps=gaps)


def by_both(loss: Gap, score: Gap | None, gaps: Mapping[str, Gap]) -> Ruling:
    """A clear difference in loss decides, then a clear difference in score; if both may be chance, the later is kept.

    A clearly higher loss does not outweigh a clearly better score: a model that has become too confident has a high
    loss, and may still make better predictions.
    """
    if loss.is_clearly_worse:
        better = score is not None and score.is_clearly_better
        return Ruling("best" if better else "worse", leads=better, gaps=gaps)
    if not loss.is_clearly_better and score is not None and score.is_clearly_worse:
        return Ruling("worse", leads=False, gaps=gaps)
    leads = loss.gain >= 0
    return Ruling("best" if leads else "as good", leads=leads, gaps=gaps)


def is_against_patience(ruling: Ruling, *, best_by: str, schedule: str) -> bool:
    """Whether a validation counts towards `train.patience`.

    If the schedule falls to zero, no progress is no reason to stop, because the last steps gain most: only a validation
    that is clearly worse counts. With other schedules, every validation that is not the best so far counts.
    """
    if schedule not in DECAYING:
        return not ruling.leads
    if not ruling.gaps or best_by == AUTO:
        return not ruling.keeps
    return ruling.gaps[best_by].is_clearly_worse


def doubt(best_by: str, step: int, leader: Leader, ruling: Ruling, metrics: Metrics) -> str:
    """A message if the metric that the user named decided by a difference that may be chance; empty if not."""
    found = ruling.gaps.get(best_by)
    if best_by == AUTO or found is None or found.is_clearly_better or found.is_clearly_worse or not found.error:
        return ""
    metric = metrics[best_by]
    return (
        f"steps {leader.step:,} and {step:,} differ by {metric.shown(abs(found.gain))} in {metric.label}, "
        f"which is within chance (standard error {metric.shown(found.error)})"
    )


def too_few(examples: int, best_by: str, unit: str = "sentence") -> str:
    """A message for before step 1 if there are too few held-out examples to choose by; empty if there are enough."""
    if examples >= FEWEST:
        return ""
    few = f"Only {examples:,} validation {unit}{'' if examples == 1 else 's'}: too few to distinguish weights reliably."
    if best_by not in (AUTO, LOSS.key):
        return f"Warning: {few} train.best_by = {best_by} will choose by chance; leave it unset, or hold out more"
    return f"{few} The last weights are kept unless their loss is clearly higher. Hold out more with --valid FILE"


class Account(Protocol):
    """The fields of `Progress` that record the choice; all of them are saved."""

    step: int
    best_step: int
    best_score: float | None
    validations_since_best: int
    leader_step: int
    leader_scores: dict[str, float]
    doubt: str


def choose(
    account: Account, leader: Leader, scores: dict[str, Any], *, best_by: str, schedule: str, metrics: Metrics
) -> Ruling:
    """Decides whether to keep these weights, and records the decision; removes the evidence from `scores`."""
    evidence = scores.pop("evidence", {})
    ruling = judge(best_by, leader, scores, evidence, metrics)
    unsure = doubt(best_by, account.step, leader, ruling, metrics)
    account.doubt = unsure if unsure or ruling.leads else account.doubt
    known = [metric for metric in deciding(best_by, metrics) if metric.key in scores]
    if ruling.keeps:
        first = known[0]
        account.best_step, account.best_score = account.step, first.gain(0.0, float(scores[first.key]))
    if ruling.leads:
        leader.step = account.leader_step = account.step
        leader.scores = account.leader_scores = {metric.key: float(scores[metric.key]) for metric in known}
        leader.counts = {metric.key: evidence[metric.key].values for metric in known if metric.key in evidence}
    against = is_against_patience(ruling, best_by=best_by, schedule=schedule)
    account.validations_since_best = account.validations_since_best + 1 if against else 0
    return ruling


def shown_gaps(ruling: Ruling) -> dict[str, dict[str, float]]:
    """For metrics.jsonl: how much better than the best before it, with the standard error where it is known."""
    known = {name: gap for name, gap in ruling.gaps.items() if 0 < gap.error < float("inf")}
    return {name: {"better_by": round(gap.gain, 4), "error": round(gap.error, 4)} for name, gap in known.items()}
