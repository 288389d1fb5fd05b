"""How to train."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from glassformer.config import Settings
from glassformer.train.machine import precision_on
from glassformer.train.schedule import Schedule


def seconds_of(budget: str) -> float:
    """30m, 1h30m, 90s, 2h as seconds."""
    found = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?", budget.replace(" ", ""))
    if not found or not any(found.groups()):
        raise ValueError("a length of time, such as 30m, 1h30m or 90s")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return 3600 * hours + 60 * minutes + seconds


def _checked_budget(value: Any) -> str:
    """A bare number is minutes."""
    bare = isinstance(value, int | float) or str(value).strip().isdecimal()
    budget = f"{str(value).strip()}m" if bare else str(value).strip()
    if seconds_of(budget) <= 0:
        raise ValueError("a budget is longer than no time at all")
    return budget


Budget = Annotated[str, BeforeValidator(_checked_budget)]


class TrainSettings(Settings):
    """Length, step size, regularisation and checks of a training. What is left open is resolved before step 1."""

    budget: Budget | None = Field(
        None,
        description="Time for everything, e.g. 30m, 1h30m or 90s; a bare number is minutes. Chooses all that is not "
        "set, to end at its best then.",
    )
    start_from: str | None = Field(
        None, description="Folder of a run whose weights, vocabulary and shape to start from (fine-tuning)."
    )
    epochs: float = Field(20.0, gt=0, description="Passes over the data; decides `steps` where that is not given.")
    steps: int | None = Field(None, ge=1, description="Updates of the weights in all.")
    batch_tokens: int = Field(4096, ge=16, description="Tokens in a batch, both sides and padding included.")
    accumulate: int = Field(
        1, ge=1, description="Batches whose gradients are added up for one update, on each of several ranks."
    )
    lr: float = Field(2e-3, gt=0, description="Highest learning rate, reached at the end of the warm-up.")
    warmup: int | None = Field(
        None, ge=0, description="Updates until the highest rate; if open a twentieth, at most 400."
    )
    schedule: Schedule = Field(
        "linear",
        description="After the warm-up: linear or cosine down to zero, the paper's inverse-sqrt(step), stable-decay "
        "(constant, down to zero at the end) or constant.",
    )
    decay: float = Field(0.2, gt=0, le=1, description="stable-decay: share of the updates in which the rate falls.")
    ema: float = Field(
        0.0, ge=0, lt=1, description="Use a moving average of the weights with this memory, e.g. 0.999; 0: the weights."
    )
    average_last: int = Field(
        0, ge=0, description="Use the mean of the weights at the last so many validations (checkpoint averaging)."
    )
    first_vectors: Literal["random", "pairs"] = Field(
        "random", description="Token vectors before step 1: random, or from which tokens occur in the same pairs."
    )
    optimiser: Literal["adamw", "muon"] = Field(
        "adamw", description="muon: orthogonal updates for the inner matrices (AdamW for the rest); learns from less."
    )
    momentum: float = Field(0.95, ge=0, lt=1, description="Muon: memory of the mean gradient.")
    beta1: float = Field(0.9, ge=0, lt=1, description="AdamW: memory of the mean gradient.")
    beta2: float = Field(0.98, ge=0, lt=1, description="AdamW: memory of its square.")
    weight_decay: float = Field(0.01, ge=0, description="Pull of matrices towards zero.")
    clip: float = Field(1.0, gt=0, description="Gradients with a larger norm are scaled down to this.")
    label_smoothing: float = Field(0.1, ge=0, lt=1, description="Share of the target spread over all tokens.")
    valid_every: int | None = Field(
        None, ge=1, description="Updates between validations; 20 in all if open, but not within 10 updates."
    )
    valid_sentences: int = Field(300, ge=1, description="Sentences translated at each validation, for BLEU.")
    save_minutes: float = Field(
        5.0, gt=0, description="Minutes after which a checkpoint is saved between validations: all that a crash costs."
    )
    best_by: Literal["bleu", "chrf", "loss"] = Field("bleu", description="What the best weights are chosen by.")
    patience: int = Field(8, ge=0, description="Stop after so many validations without a better one; 0: never.")
    seed: int = Field(
        1, ge=0, lt=2**63, description="Decides the first weights, the order of the data and the dropout."
    )
    threads: int | None = Field(None, ge=1, description="CPU threads of each process; all cores if open.")
    ranks: int | None = Field(None, ge=1, description="Processes that train together; as many as torchrun starts.")
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1, mps. auto takes a GPU where there is one.")
    compile: bool = Field(
        False, description="torch.compile; pays on GPUs and in long trainings, is slower on small models on CPUs."
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="bf16: autocast; auto: that on GPUs and CPUs whose hardware has it, else fp32."
    )

    @model_validator(mode="after")
    def _one_average(self) -> TrainSettings:
        if self.ema and self.average_last:
            raise ValueError(f"ema = {self.ema} and average_last = {self.average_last} both average; choose one")
        return self

    def resolved(self, *, batches_per_epoch: int, threads: int, device: str, ranks: int = 1) -> TrainSettings:
        """With everything decided: from here on only step numbers count."""
        steps = self.steps or max(1, round(self.epochs * batches_per_epoch / (self.accumulate * ranks)))
        open_warmup = self.warmup is None or "warmup" not in self.model_fields_set  # a budget changes the steps
        decided = {
            "steps": steps,
            "warmup": min(400, steps // 20) if open_warmup else self.warmup,
            "valid_every": self.valid_every or min(steps, max(10, -(-steps // 20))),
            "threads": threads,
            "ranks": ranks,
            "device": device,
            "precision": precision_on(device) if self.precision == "auto" else self.precision,
        }
        return self.decided(decided)
