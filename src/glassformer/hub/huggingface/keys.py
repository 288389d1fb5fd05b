"""Key maps: their tensors' names <-> ours. A map is a list of lines, read in both directions.

    Line("blocks.{i}.norm.gain", "{p}h.{i}.ln_1.weight")                 one to one, for every block i
    Line("blocks.{i}.up.weight", "{p}h.{i}.c_fc.weight", "transposed")   changed on the way
    Line("blocks.{i}.qkv.weight", ("q.{i}", "k.{i}", "v.{i}"))           several of theirs stacked by rows in ours
    Line("blocks.{i}.experts.up", "{p}h.{i}.experts.{e}.up")             a counter that only theirs has: stacked in ours

`counts` says how far each counter runs, and has the numbers that a change needs (`head_width`). `{p}` is the prefix
that some files have before the names of the body.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

Counts = Mapping[str, int]
PREFIX = "p"


class Change(NamedTuple):
    """A reversible change of one tensor."""

    to_ours: Callable[[Tensor, Counts], Tensor]
    to_theirs: Callable[[Tensor, Counts], Tensor]


def pairs(x: Tensor, counts: Counts) -> Tensor:
    """Rows of each head: first halves and second halves -> neighbouring pairs, which our rotary positions rotate."""
    heads = x.unflatten(0, (-1, 2, counts["head_width"] // 2))  # (H, 2, E/2, ...)
    return heads.transpose(1, 2).flatten(0, 2)


def halves(x: Tensor, counts: Counts) -> Tensor:
    heads = x.unflatten(0, (-1, counts["head_width"] // 2, 2))  # (H, E/2, 2, ...)
    return heads.transpose(1, 2).flatten(0, 2)


def patch_rows(x: Tensor, _: Counts) -> Tensor:
    """A convolution whose stride is its own size (D, C, h, w) -> the equivalent matrix (D, C*h*w)."""
    return x.flatten(1)


def patch_squares(x: Tensor, counts: Counts) -> Tensor:
    return x.unflatten(1, (counts["channels"], counts["patch_height"], counts["patch_width"]))


CHANGES: dict[str, Change] = {
    "same": Change(lambda x, _: x, lambda x, _: x),
    "transposed": Change(lambda x, _: x.mT, lambda x, _: x.mT),
    "pairs": Change(pairs, halves),
    "row": Change(lambda x, _: x[0], lambda x, _: x[None]),  # (1, ...) -> (...)
    "vector": Change(lambda x, _: x[0, 0], lambda x, _: x[None, None]),  # (1, 1, D) -> (D,)
    "after_two": Change(lambda x, _: x[2:], lambda x, _: torch.cat([x.new_zeros(2, x.size(1)), x])),  # unused rows
    "patches": Change(patch_rows, patch_squares),
}


@dataclass(frozen=True)
class Line:
    """One of our tensors and the tensors of theirs that it corresponds to."""

    ours: str
    theirs: str | tuple[str, ...]  # several: stacked along the rows of ours
    how: str | tuple[str, ...] = "same"  # names in CHANGES: one for all parts, or one for each
    rows: tuple[str, ...] = ()  # names in counts: how many rows each part has; empty: all have the same number


class Match(NamedTuple):
    """A line with its counters filled in: `theirs` has rows of parts, one row if nothing is stacked."""

    ours: str
    theirs: list[tuple[str, ...]]
    stacked: bool
    changes: tuple[Change, ...]
    rows: tuple[int, ...]


def matches(lines: Sequence[Line], counts: Counts, *, prefix: str = "") -> Iterator[Match]:
    """Every line for every value of its counters."""
    for line in lines:
        names = (line.theirs,) if isinstance(line.theirs, str) else line.theirs
        hows = (line.how,) * len(names) if isinstance(line.how, str) else line.how
        own, changes = counters(line.ours), tuple(CHANGES[how] for how in hows)
        inner = [counter for counter in counters(*names) if counter not in own]
        for values in runs(own, counts):
            rows = [tuple(name.format(**values, **more, p=prefix) for name in names) for more in runs(inner, counts)]
            sizes = tuple(counts[name] for name in line.rows)
            yield Match(line.ours.format(**values), rows, bool(inner), changes, sizes)


def counters(*names: str) -> list[str]:
    """The counters in some names, in order, without the prefix."""
    fields = [field for name in names for _, field, _, _ in string.Formatter().parse(name) if field]
    return [field for field in dict.fromkeys(fields) if field != PREFIX]


def runs(names: Sequence[str], counts: Counts) -> Iterator[dict[str, int]]:
    """Every combination of values of some counters; one empty combination if there are none."""
    for values in itertools.product(*(range(counts[name]) for name in names)):
        yield dict(zip(names, values, strict=True))


def to_ours(
    lines: Sequence[Line], tensors: Mapping[str, Tensor], counts: Counts, *, prefix: str = ""
) -> Iterator[tuple[str, Tensor]]:
    """Our tensors one after the other, each made from theirs. All tensors that the map names must exist."""
    for match in matches(lines, counts, prefix=prefix):
        layers = [joined([tensors[name] for name in names], match, counts) for names in match.theirs]
        yield match.ours, torch.stack(layers) if match.stacked else layers[0]


def joined(parts: Sequence[Tensor], match: Match, counts: Counts) -> Tensor:
    changed = [change.to_ours(part, counts) for part, change in zip(parts, match.changes, strict=True)]
    return changed[0] if len(changed) == 1 else torch.cat(changed)


def to_theirs(
    lines: Sequence[Line], weights: Mapping[str, Tensor], counts: Counts, *, prefix: str = ""
) -> Iterator[tuple[str, Tensor]]:
    """Their tensors one after the other, cut out of ours. Also works without values (torch's meta device)."""
    for match in matches(lines, counts, prefix=prefix):
        yield from to_theirs_of(match, weights[match.ours], counts)


def to_theirs_of(match: Match, weight: Tensor, counts: Counts) -> Iterator[tuple[str, Tensor]]:
    """Their tensors, cut out of one of ours."""
    for names, layer in zip(match.theirs, weight.unbind() if match.stacked else [weight], strict=True):
        parts = layer.split(match.rows) if match.rows else layer.chunk(len(names)) if len(names) > 1 else [layer]
        for name, part, change in zip(names, parts, match.changes, strict=True):
            yield name, change.to_theirs(part, counts)
