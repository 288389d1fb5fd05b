"""How to train."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from glassformer import limits
from glassformer.config import Settings
from glassformer.training.machine import precision_on
from glassformer.training.schedule import Schedule


def seconds_of(budget: str) -> float:
    """A budget such as 30m, 1h30m, 90s or 2h in seconds."""
    found = re.fullmatch(
        r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?", budget.replace(" ", ""), re.ASCII
    )
    if not found or not any(found.groups()):
        raise ValueError("a length of time, such as 30m, 1h30m or 90s")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return 3600 * hours + 60 * minutes + seconds


def _checked_budget(value: Any) -> str:
    """The budget with its unit; a bare number is minutes."""
    bare = isinstance(value, int | float) or re.fullmatch(r"\d+", str(value).strip(), re.ASCII) is not None
    budget = f"{str(value).strip()}m" if bare else str(value).strip()
    if not 0 < seconds_of(budget) <= 60 * limits.MINUTES:
        raise ValueError("a budget is more than 0 and at most a year (8760h)")
    return budget


Budget = Annotated[str, BeforeValidator(_checked_budget)]


def _split_names(value: Any) -> Any:
    """Names separated by commas, as on the command line."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split_names)]


class TrainSettings(Settings):
    """Length, step size, regularisation and checks of a run. Unset values are decided before step 1."""

    budget: Budget | None = Field(
        None,
        description="Time for the whole run, e.g. 30m, 1h30m or 90s; a bare number is minutes. All settings that are "
        "not set are chosen for this time.",
    )
    start_from: str | None = Field(
        None, description="Fine-tuning: folder of the run whose weights, vocabulary and shape to start from."
    )
    old_share: float | None = Field(
        None,
        ge=0,
        le=0.99,
        description="Fine-tuning: share of the tokens taken from the data of the run it starts from, so that less is "
        "forgotten. Default 0.5, or 0 if that data is gone.",
    )
    freeze: Names = Field(
        (),
        description="Parts of the model that are not trained, by name: inputs, blocks.0-3, encoder, body (all but the "
        "heads). `glassformer show` lists the names.",
    )
    extend_vocabulary: Names = Field(
        (),
        description="Fine-tuning: words that become tokens of their own. Their vectors start as the mean of "
        "those of the pieces they were, or of all tokens if they were unknown; all other tokens stay.",
    )
    layer_decay: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Lower rates for lower layers, e.g. 0.9: block i of N has the rate lr x 0.9^(N - i), counted from "
        "0, what is before the blocks lr x 0.9^(N + 1), the heads lr.",
    )
    lora: int = Field(
        0,
        ge=0,
        le=limits.WIDTH,
        description="Fine-tuning by low-rank adapters of this rank, e.g. 8; all other weights are frozen. 0: none.",
    )
    lora_alpha: float | None = Field(
        None, gt=0, le=limits.RATIO, description="LoRA: adapters count alpha / rank times. Default: 2 x rank."
    )
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="LoRA: dropout of what the adapters read.")
    lora_on: Literal["all", "attention", "feed-forward"] = Field(
        "all", description="LoRA: which matrices of each block have adapters."
    )
    epochs: float = Field(
        20.0, gt=0, le=limits.EPOCHS, description="Passes over the data; decides `steps` if that is not set."
    )
    steps: int | None = Field(None, ge=1, le=limits.STEPS, description="Total number of updates of the weights.")
    batch_tokens: int = Field(
        4096, ge=16, le=limits.BATCH_TOKENS, description="Tokens in a batch, including both sides and padding."
    )
    accumulate: int = Field(
        1,
        ge=1,
        le=limits.ACCUMULATE,
        description="Batches whose gradients are summed for one update; with several ranks, batches of each rank.",
    )
    lr: float = Field(2e-3, gt=0, le=1000, description="Highest learning rate, reached at the end of the warm-up.")
    warmup: int | None = Field(
        None,
        ge=0,
        le=limits.STEPS,
        description="Updates until the highest learning rate. Default: a twentieth of all updates, at most 400.",
    )
    schedule: Schedule = Field(
        "linear",
        description="Learning rate after the warm-up: linear or cosine down to zero, the paper's inverse-sqrt(step), "
        "stable-decay (constant, then down to zero at the end) or constant.",
    )
    decay: float = Field(0.2, gt=0, le=1, description="stable-decay: share of the updates in which the rate falls.")
    ema: float = Field(
        0.0, ge=0, lt=1, description="Use a moving average of the weights with this memory, e.g. 0.999; 0: no average."
    )
    average_last: int = Field(
        0,
        ge=0,
        le=limits.STEPS,
        description="Use the mean of the weights at this many last validations (checkpoint averaging); 0: no average.",
    )
    first_vectors: Literal["random", "pairs", "labels"] = Field(
        "random",
        description="Token vectors before step 1: random, or computed from which tokens occur in the same pairs, or "
        "(classes of texts, model.pooling = mean) from how often each token occurs with each label.",
    )
    optimiser: Literal["adamw", "muon"] = Field(
        "adamw",
        description="muon: orthogonal updates for the inner matrices (AdamW for the rest); learns from less data.",
    )
    momentum: float = Field(0.95, ge=0, lt=1, description="Muon: decay rate of the mean gradient.")
    beta1: float = Field(0.9, ge=0, lt=1, description="AdamW: decay rate of the mean gradient.")
    beta2: float = Field(0.98, ge=0, lt=1, description="AdamW: decay rate of the mean squared gradient.")
    weight_decay: float = Field(0.01, ge=0, le=1000, description="How strongly matrices are pulled towards zero.")
    clip: float = Field(1.0, gt=0, le=limits.RATIO, description="Gradients with a larger norm are scaled down to this.")
    label_smoothing: float = Field(
        0.1, ge=0, lt=1, description="Share of the target probability that is spread over all tokens."
    )
    auxiliary: float = Field(
        0.0,
        ge=0,
        le=limits.RATIO,
        description="Classifying with gpt or llama: also learn to predict each next token of the texts, with this "
        "weight (0.5 in the paper on GPT); 0: no.",
    )
    valid_every: int | None = Field(
        None,
        ge=1,
        le=limits.STEPS,
        description="Updates between validations. Default: 20 validations in all, but at least 10 updates apart.",
    )
    valid_sentences: int = Field(
        300, ge=1, le=limits.TOKENS, description="Validation examples that are predicted and scored each time."
    )
    save_minutes: float = Field(
        5.0,
        gt=0,
        le=limits.MINUTES,
        description="Minutes between checkpoints, besides those at validations; a crash loses no more than this.",
    )
    best_by: str = Field(
        "auto",
        description="Which weights to keep: the best by loss or by a metric of the task. auto: by the loss and the "
        "task's main metric; if a difference may be chance, the latest weights.",
    )
    patience: int = Field(
        8,
        ge=0,
        le=limits.STEPS,
        description="Stop after this many validations in a row that are clearly worse; 0: never.",
    )
    seed: int = Field(
        1, ge=0, le=limits.SEED, description="Decides the first weights, the order of the data and the dropout."
    )
    threads: int | None = Field(
        None, ge=1, le=limits.THREADS, description="CPU threads of each process. Default: all cores."
    )
    ranks: int | None = Field(
        None, ge=1, le=limits.RANKS, description="Processes that train together: the number that torchrun starts."
    )
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1 or mps. auto uses a GPU if there is one.")
    recompute: bool = Field(
        False,
        description="Keep only the input of each block in the forward pass and compute the block again in the backward "
        "pass: the same gradients with less memory, about a third slower.",
    )
    shard: bool = Field(
        False,
        description="With several ranks: each trains only its share of the weights, with their gradients and the "
        "optimiser's state (FSDP2), for models that are too large for one process.",
    )
    compile: bool = Field(
        False, description="Use torch.compile: faster on GPUs and in long runs, slower for small models on CPUs."
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="fp32, or bf16 with autocast. auto: bf16 on GPUs that multiply in it, else fp32."
    )

    @model_validator(mode="after")
    def _old_pairs_of_a_run(self) -> TrainSettings:
        if self.old_share is not None and self.start_from is None:
            raise ValueError(f"old_share = {self.old_share:g} needs a run to start from (--from RUN)")
        return self

    @model_validator(mode="after")
    def _adapters_of_a_model(self) -> TrainSettings:
        if self.lora and self.start_from is None:
            raise ValueError(f"lora = {self.lora} needs a model to start from (--from MODEL)")
        if self.lora and self.optimiser != "adamw":
            raise ValueError(f"lora = {self.lora}: adapters are trained by adamw, not {self.optimiser}")
        return self

    @model_validator(mode="after")
    def _shards(self) -> TrainSettings:
        others = {
            "optimiser = 'muon' needs whole matrices": self.optimiser == "muon",
            "ema and average_last keep whole averages": bool(self.ema or self.average_last),
            "lora needs whole matrices, and little memory anyway": bool(self.lora),
            "budget chooses muon and an average; set steps or epochs instead": bool(self.budget),
            "compile has not been tried with it": self.compile,
        }
        if self.shard and any(others.values()):
            raise ValueError(f"shard = true: {next(why for why, is_set in others.items() if is_set)}")
        return self

    @model_validator(mode="after")
    def _vocabulary_of_a_model(self) -> TrainSettings:
        if self.extend_vocabulary and self.start_from is None:
            raise ValueError("extend_vocabulary needs a model to start from (--from MODEL)")
        if self.extend_vocabulary and self.lora:
            raise ValueError(
                f"lora = {self.lora} does not train the vectors of tokens, so those of extend_vocabulary would never "
                "learn; leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _one_average(self) -> TrainSettings:
        if self.ema and self.average_last:
            raise ValueError(f"ema = {self.ema} and average_last = {self.average_last} both average; choose one")
        return self

    def resolved(self, *, batches_per_epoch: int, threads: int, device: str, ranks: int = 1) -> TrainSettings:
        """The settings with everything decided. From here on only step numbers count."""
        steps = self.steps or max(1, round(self.epochs * batches_per_epoch / (self.accumulate * ranks)))
        open_warmup = self.warmup is None or "warmup" not in self.model_fields_set  # a budget changes the steps
        decided = {
            "steps": steps,
            "warmup": min(400, steps // (10 if self.start_from else 20)) if open_warmup else self.warmup,
            "valid_every": self.valid_every or min(steps, max(10, -(-steps // 20))),
            "threads": threads,
            "ranks": ranks,
            "device": device,
            "precision": precision_on(device) if self.precision == "auto" else self.precision,
        }
        return self.decided(decided)
