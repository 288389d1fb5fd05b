"""A training that has diverged: which batch it was, and all that is needed to look at it afterwards.

A step is a function of weights, batch and (seed, step), so it can be made again, up to the update that never came.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import torch
from torch import nn

from glassformer.data.batches import Batch
from glassformer.errors import GlassformerError, RankError, RunError
from glassformer.store.files import pack_tensors, to_json
from glassformer.store.run import RunFolder
from glassformer.store.weights import weights_of
from glassformer.train.distributed import Replica
from glassformer.train.ranks import ALONE, Ranks
from glassformer.train.step import Diverged, Loss

FOLDER = "diverged"
Show = Callable[[Batch], list[tuple[str, str]]]  # the sentence pairs of a batch as text

README = """The step that diverged, before it could change the weights.

diverged.json       the step, its batches with every sentence pair, their losses, the norm of each weight's gradient
model.safetensors   the weights before that step (from safetensors.torch import load_file)

A gradient that is huge or not a number only in some layers points to the weights there; in all of them, to the
sentences or to a learning rate that is too high. Nothing reads this folder: remove it when it has told what it can.
"""


def ids_as_text(batch: Batch) -> list[tuple[str, str]]:
    """Where nobody can turn ids into text."""
    rows = zip(batch.source.tolist(), batch.target_out.tolist(), strict=True)
    return [(str(source), str(target)) for source, target in rows]


def name_the_batch(
    error: Diverged,
    model: nn.Module,
    batches: Sequence[Batch],
    *,
    again: Callable[[], list[float]],
    step: int,
    show: Show,
    run: RunFolder,
    ranks: Ranks = ALONE,
) -> GlassformerError:
    """The error with the batch in it. The step, made `again` without its update, goes into the run's `diverged`.

    Of several ranks each tells its batches, and the writer writes and says it all.
    """
    losses = again()
    norms = {n: p.grad.norm().item() for n, p in model.named_parameters() if p.grad is not None}
    own = [
        {"loss": number(lost), "pairs": numbered(batch, show(batch))}
        for batch, lost in zip(batches, losses, strict=True)
    ]
    of_all = ranks.united(own)
    if not ranks.is_writer:
        return RankError("")
    told = {
        "update": step + 1,
        "batches": of_all,
        "gradient_norms": {name: number(norm) for name, norm in norms.items()},
        "weights_not_finite": [name for name, p in model.named_parameters() if not bool(torch.isfinite(p).all())],
    }
    content = {
        "diverged.json": to_json(told),
        "model.safetensors": pack_tensors(weights_of(model)),
        "README.txt": README.encode(),
    }
    shown = next((one for one in of_all if isinstance(one["loss"], str)), of_all[0])["pairs"][0]
    where = ""
    with suppress(RunError):  # a full disk must not hide what happened
        where = f" All of it, the weights and each gradient's norm are in {run.keep_aside(FOLDER, content)}."
    count = sum(len(one["pairs"]) for one in of_all)
    return Diverged(
        f"Update {step + 1:,}: {error} Its batch of {count:,} sentence pairs begins with {short(shown['source'])} → "
        f"{short(shown['target'])}.{where}"
    )


def gradients_again(
    model: nn.Module,
    batches: Sequence[Batch | None],
    *,
    loss: Loss,
    target_tokens: int,
    autocast: AbstractContextManager[Any],
    replica: Replica,
) -> list[float]:
    """Leaves the gradients of the update in the model, not clipped; gives each batch's loss per target token."""
    model.zero_grad(set_to_none=True)
    losses = []
    for number, batch in enumerate(batches, 1):
        with replica.summing(number == len(batches)):
            if batch is not None:
                with autocast:
                    summed, tokens = loss(batch)
                (summed / target_tokens).backward()
                losses.append(summed.item() / tokens)
    return losses


def numbered(batch: Batch, texts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    rows = zip(batch.index.tolist(), texts, strict=True)
    return [{"index": index, "source": source, "target": target} for index, (source, target) in rows]


def number(value: float) -> float | str:
    """JSON has no word for what is not a number."""
    return value if math.isfinite(value) else str(value)


def short(text: str) -> str:
    return json.dumps(text if len(text) <= 40 else text[:37] + "...", ensure_ascii=False)
