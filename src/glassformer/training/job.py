"""What the training loop is given, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn

from glassformer.data.columns import Pools
from glassformer.evaluate.metric import Metric
from glassformer.models.flops import TrainingCost
from glassformer.store.run import RunFolder
from glassformer.training.divergence import Show, numbers_only
from glassformer.training.ranks import ALONE, Ranks
from glassformer.training.settings import TrainSettings
from glassformer.training.step import Loss, StepReport
from glassformer.training.timekeeper import TimeLimit

# Scores by name; "samples": predictions for a few examples, for people to read; "evidence": the counts of each example
# that the scores are computed from (training/choice.py).
Scores = Mapping[str, Any]


class Watcher(Protocol):
    """Is notified of each step and each validation."""

    def on_step(self, progress: Progress, report: StepReport, seconds: float) -> None:
        """Called after every update."""

    def on_validation(self, record: Mapping[str, Any]) -> None:
        """Called after every validation."""


@dataclass
class Progress:
    """How far a run is. All fields are saved, so a resumed run has the same history."""

    step: int = 0  # updates done
    batches: int = 0  # batches taken from the stream
    epoch: int = 0
    tokens: int = 0  # real tokens seen so far
    flops: float = 0.0  # of all updates so far, forward and backward (models/flops.py)
    window_loss: float = 0.0  # summed since the last record
    window_tokens: int = 0
    best_step: int = 0  # the step whose weights are kept
    best_score: float | None = None  # their score; higher is better, so a loss is negated
    validations_since_best: int = 0
    leader_step: int = 0  # of the best validation; later weights that are as good within chance are kept instead
    leader_scores: dict[str, float] = field(default_factory=dict)
    doubt: str = ""  # a message if chance may have decided the choice
    seconds: float = 0.0  # spent training, in all sessions together
    validating: float = 0.0  # seconds spent on validations, in all sessions together
    stopped: str = field(default="")  # why training ended, once it has
    measured_at: int = 0  # the step of the last validation
    measured_by: str = ""  # names the data and metric of the validations: only scores with the same name compare
    skipped: int = 0  # updates that had nothing to learn from
    metrics_bytes: int = 0  # size of metrics.jsonl at this step
    steps: int = 0  # planned in all
    changes: int = 0  # changes of plan so far
    limit: float = 0.0  # seconds of the budget; 0: none
    used: float = 0.0  # seconds of the budget used, in all sessions together
    step_seconds: float = 0.0  # recent mean; a resumed run with a budget starts from it
    validation_seconds: float = 0.0
    closing_seconds: float = 0.0

    @property
    def left(self) -> float | None:
        """Seconds left of the budget; None without a budget."""
        return self.limit - self.used if self.limit else None


def no_loss(_: nn.Module) -> Loss:
    raise NotImplementedError("this job has no loss for another model")


@dataclass(frozen=True)
class Job:
    """Everything that the training loop needs."""

    model: nn.Module
    examples: Pools
    settings: TrainSettings  # resolved
    loss: Loss
    validate: Callable[[], Scores]  # called in eval mode; returns at least settings.best_by
    run: RunFolder
    watcher: Watcher
    device: torch.device
    show: Show = numbers_only
    measured_by: str = ""  # names what `validate` measures with
    ranks: Ranks = ALONE
    limit: TimeLimit | None = None  # a time budget; without one, only step numbers count
    metrics: tuple[Metric, ...] = ()  # in addition to the loss; settings.best_by names one of them
    loss_of: Callable[[nn.Module], Loss] = no_loss  # the loss of a copy of the model, for sharding
    cost: TrainingCost = field(default_factory=TrainingCost)  # FLOPs of a batch; of nothing by default
    baseline: bool = False  # validate the first weights too, and keep them if no later ones are better
