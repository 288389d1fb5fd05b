"""When a run diverges: which batch caused it, and everything needed to examine it afterwards.

A step is a function of weights, batch and (seed, step), so it can be repeated up to the update, which never happened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import torch
from torch import nn

from glassformer.errors import GlassformerError, RankError, RunError
from glassformer.printable import counted
from glassformer.store.files import pack_tensors, to_json
from glassformer.store.run import RunFolder
from glassformer.store.weights import weights_of
from glassformer.training.distributed import Replica
from glassformer.training.ranks import ALONE, Ranks
from glassformer.training.step import Diverged, Loss

FOLDER = "diverged"
Show = Callable[[Any], list[dict[str, str]]]  # the examples of a batch as text, by the names of their parts

README = """The step that diverged, before it could change the weights.

diverged.json       the step, its batches with every example, their losses, the norm of each weight's gradient
model.safetensors   the weights before that step (from safetensors.torch import load_file)

If the gradient is huge or NaN in some layers only, look at the weights there. If it is so in all layers, look at the
data, or lower the learning rate. Glassformer does not read this folder: remove it when you are done.
"""


def numbers_only(batch: Any) -> list[dict[str, str]]:
    """No text for any example: used if ids cannot be turned into text."""
    return [{} for _ in batch.index]


def name_the_batch(
    error: Diverged,
    model: nn.Module,
    batches: Sequence[Any],
    *,
    again: Callable[[], list[float]],
    step: int,
    show: Show,
    run: RunFolder,
    ranks: Ranks = ALONE,
) -> GlassformerError:
    """Returns the error with its batch. `again` repeats the step without its update, for the run's folder `diverged`.

    Every rank sends its batches to the writer, which writes the folder and the message.
    """
    losses = again()
    norms = {n: p.grad.norm().item() for n, p in model.named_parameters() if p.grad is not None}
    own = [
        {"loss": number(lost), "examples": numbered(batch, show(batch))}
        for batch, lost in zip(batches, losses, strict=True)
    ]
    of_all = ranks.united(own)
    if not ranks.is_writer:
        return RankError("")
    details = {
        "update": step + 1,
        "batches": of_all,
        "gradient_norms": {name: number(norm) for name, norm in norms.items()},
        "weights_not_finite": [name for name, p in model.named_parameters() if not bool(torch.isfinite(p).all())],
    }
    content = {
        "diverged.json": to_json(details),
        "model.safetensors": pack_tensors(weights_of(model)),
        "README.txt": README.encode(),
    }
    shown = next((one for one in of_all if isinstance(one["loss"], str)), of_all[0])["examples"][0]
    where = ""
    with suppress(RunError):  # a full disk must not hide what happened
        where = f" The whole batch, the weights and the norm of each gradient are in {run.keep_aside(FOLDER, content)}."
    count = sum(len(one["examples"]) for one in of_all)
    return Diverged(
        f"Update {step + 1:,}: {error} Its batch of {counted(count, 'example')} begins with "
        f"{first_words(shown)}.{where}"
    )


def gradients_again(
    model: nn.Module,
    batches: Sequence[Any],
    *,
    loss: Loss,
    weight: int,
    autocast: AbstractContextManager[Any],
    replica: Replica,
) -> list[float]:
    """Computes the gradients of the update without clipping; returns each batch's loss per target token."""
    model.zero_grad(set_to_none=True)
    losses = []
    for number, batch in enumerate(batches, 1):
        with replica.summing(number == len(batches)):
            if batch is not None:
                with autocast:
                    summed, tokens = loss(batch)
                (summed / weight).backward()
                losses.append(summed.item() / tokens)
    return losses


def numbered(batch: Any, texts: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    return [{"index": index, **parts} for index, parts in zip(batch.index.tolist(), texts, strict=True)]


def first_words(example: Mapping[str, Any]) -> str:
    """`"the dog" → "der Hund"`, or the number of an example that has no text."""
    parts = [short(str(text)) for name, text in example.items() if name != "index"]
    return " → ".join(parts) or f"number {example['index']:,}"


def number(value: float) -> float | str:
    """A number for JSON, which has no NaN and no infinity: these become text."""
    return value if math.isfinite(value) else str(value)


def short(text: str) -> str:
    return json.dumps(text if len(text) <= 40 else text[:37] + "...", ensure_ascii=False)
