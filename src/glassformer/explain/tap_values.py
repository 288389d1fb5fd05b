"""The values of one pass through any model, read at its taps: its stacks of blocks, and what each block did.

This file knows no particular model; the names of the taps are enough. `decoder.blocks.3.cross_attention.core.pattern`
is an attention of the fourth block of the stack `decoder`; in a model with a single stack, names begin with `blocks.`.
Shapes: N blocks, H heads, T queries, K keys, D width.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.nn.taps import listen

Values = Mapping[str, Tensor]  # by the dotted name of the tap

BLOCK = re.compile(r"(?:(?P<stack>.+)\.)?blocks\.(?P<block>\d+)\.(?P<rest>.+)")
PATTERN = re.compile(r"(?:(?P<kind>self|cross)_)?attention\.core\.pattern")
RESIDUAL = re.compile(r"(?P<name>\w+)_residual\.(?P<what>before|added|after|norm\.scale)")
INPUTS = ("token", "segment", "position", "sum")


def recorded_pass(model: nn.Module, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
    """The model's output and the value at every tap, from one pass in evaluation mode.

    If a tap is used several times (weights shared between layers), its name gets a number from the second time on.
    """
    with torch.no_grad(), evaluating(model), listen(model) as recorded:
        output = model(batch)
    values = ((name, i, value) for name, several in recorded.items() for i, value in enumerate(several))
    named = ((name if i == 0 else f"{name}#{i}", value) for name, i, value in values)
    return output, dict(named)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode (no dropout) while open; afterwards the mode that the model had before."""
    if not model.training:  # nothing to change, and other threads may be using it
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()


# Attention


def attentions(values: Values) -> dict[tuple[str, str], Tensor]:
    """Every attention: (stack, "self" or "cross") -> its patterns (N, H, T, K), in the order of the pass."""
    found: dict[tuple[str, str], dict[int, Tensor]] = {}
    for name, value in values.items():
        place = BLOCK.fullmatch(name)
        kind = place and PATTERN.fullmatch(place["rest"])
        if place and kind:
            found.setdefault((place["stack"] or "", kind["kind"] or "self"), {})[int(place["block"])] = value[0]
    return {key: torch.stack([blocks[i] for i in sorted(blocks)]).float().cpu() for key, blocks in found.items()}


# The residual stream


@dataclass(frozen=True)
class Sublayer:
    """What one sub-layer of a block did to the residual stream: lengths of vectors, one for each token."""

    stack: str
    block: int
    name: str  # attention, self_attention, cross_attention or feed_forward
    before: tuple[float, ...]
    added: tuple[float, ...]
    after: tuple[float, ...]
    scale: tuple[float, ...] = ()  # the number that the norm divided each token's vector by
    active: float | None = None  # feed-forward: the share of inner values above 0 before the activation
    experts: tuple[int, ...] = ()  # the number of tokens sent to each expert, if there are experts


def sublayers(values: Values) -> list[Sublayer]:
    """All sub-layers, in the order of the pass."""
    found: dict[tuple[str, int, str], dict[str, Tensor]] = {}
    for name, value in values.items():
        place = BLOCK.fullmatch(name)
        match = place and RESIDUAL.fullmatch(place["rest"])
        if place and match:
            key = (place["stack"] or "", int(place["block"]), match["name"])
            found.setdefault(key, {})[match["what"]] = value
    return [sublayer(values, *key, residual) for key, residual in found.items()]


def sublayer(values: Values, stack: str, block: int, name: str, residual: Mapping[str, Tensor]) -> Sublayer:
    prefix = f"{stack}.blocks.{block}.{name}" if stack else f"blocks.{block}.{name}"
    scale = residual.get("norm.scale")
    return Sublayer(
        stack,
        block,
        name,
        **{what: lengths(residual[what]) for what in ("before", "added", "after")},
        scale=() if scale is None else tuple(scale.flatten().tolist()),
        active=active(values, prefix),
        experts=experts(values, prefix),
    )


def active(values: Values, prefix: str) -> float | None:
    """The share of a feed-forward network's inner values above 0; with experts, over all experts that were used."""
    inner = re.compile(re.escape(prefix) + r"(?:\.each\.\d+)?\.pre")
    parts = [value.flatten() > 0 for name, value in values.items() if inner.fullmatch(name)]
    return float(torch.cat(parts).float().mean()) if parts else None


def experts(values: Values, prefix: str) -> tuple[int, ...]:
    chosen, scores = (values.get(f"{prefix}.router.{what}") for what in ("chosen", "scores"))
    if chosen is None or scores is None:
        return ()
    return tuple(torch.bincount(chosen.flatten(), minlength=scores.size(-1)).tolist())


def lengths(vectors: Tensor) -> tuple[float, ...]:
    """(1, T, D) or (T, D) -> |x| of each token."""
    return tuple(vectors.float().norm(dim=-1).flatten().tolist())


# Inputs


def inputs(values: Values, stack: str) -> dict[str, tuple[float, ...]]:
    """The lengths of the vectors added for each token before the first block: token, segment, position, their sum."""
    prefix = f"{stack}.inputs." if stack else "inputs."
    found = {name: lengths(values[prefix + name]) for name in INPUTS if prefix + name in values}
    count = len(found.get("sum", ()))
    return {name: numbers * count if len(numbers) == 1 else numbers for name, numbers in found.items()}
