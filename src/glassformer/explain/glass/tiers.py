"""What a page can hold in the bytes that it may have.

Live: all weights, as float32 or, where these do not fit, as float16 (the model is rounded before it is recorded).
Recorded: the values of the steps whose weights are not in the page; the page derives the others. One pass over the
program decides: a step is derived if all its weights are there, because its inputs always are, derived or stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import numpy as np

from glassformer.errors import DataError
from glassformer.explain.glass.chunks import DTYPES, Kind, packed
from glassformer.explain.glass.trace import Array, Arrays, Watched
from glassformer.explain.program import Program
from glassformer.limits import PAGE_MB
from glassformer.printable import shortened

Precision = Literal["float32", "float16"]
KINDS: dict[Precision, Kind] = {"float32": "f32", "float16": "f16"}
MEGABYTE = 1_000_000
MOST_RECORDED = 2_000_000  # bytes of the tapped values in a live page
SMALL = 4096  # numbers: weights up to this size (norms, biases) are in every page
SHRINKS = 0.5  # a page takes at least this share of the bytes of its weights: larger ones need not be tried


@dataclass(frozen=True)
class Stored:
    """The values of one trace that are stored, and the steps that are left out because they are too large."""

    kinds: Mapping[str, Kind]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What a page holds of a model and its traces."""

    tier: Literal["live", "recorded"]
    weights: tuple[str, ...]
    values: tuple[Stored, ...]  # of each trace
    precision: Precision = "float32"  # of the weights


def plan_of(program: Program, weights: Arrays, traces: Sequence[Watched], *, space: int) -> Plan:
    """The best plan for `space` bytes."""
    kept = live_values(traces)
    taken = sum(size_of((one.values[name] for name in own.kinds), "f32") for one, own in zip(traces, kept, strict=True))
    names = tuple(program.weights())
    for precision in KINDS:
        if fits(weights, names, precision, space=space - taken):
            return Plan("live", names, kept, precision)
    return recorded_plan(program, weights, traces, space=space)


def live_values(traces: Sequence[Watched]) -> tuple[Stored, ...]:
    """All tapped values of the first trace, and of the next ones, while they are few."""
    space, found = MOST_RECORDED, []
    for one in traces:
        space -= sum(value.size * 4 for value in one.trace.values.values())
        found.append(Stored(dict.fromkeys(one.trace.values, "f32") if space >= 0 else {}))
    return tuple(found)


def fits(weights: Arrays, names: Sequence[str], precision: Precision, *, space: int) -> bool:
    """Whether these weights fit into `space` bytes of a page, and their numbers into the precision."""
    kind = KINDS[precision]
    raw = sum(weights[name].size for name in names) * np.dtype(DTYPES[kind]).itemsize
    if raw * SHRINKS > space or (kind == "f16" and not all(fits_half(weights[name]) for name in names)):
        return False
    return size_of((weights[name] for name in names), kind) <= space


def fits_half(array: Array) -> bool:
    """Whether no number is too large for float16."""
    return bool(np.abs(array[np.isfinite(array)]).max(initial=0.0) <= np.finfo(np.float16).max)


def size_of(arrays: Iterable[Array], kind: Kind) -> int:
    """The bytes that these arrays take in a page."""
    return sum(len(packed(np.ascontiguousarray(one, dtype=DTYPES[kind]).tobytes())) for one in arrays)


# Recorded


def recorded_plan(program: Program, weights: Arrays, traces: Sequence[Watched], *, space: int) -> Plan:
    """The small weights, the values of the steps that need others, and more weights while they fit."""
    order = sorted(program.weights(), key=lambda name: weights[name].size)
    chosen = [name for name in order if weights[name].size <= SMALL]
    space -= size_of((weights[name] for name in chosen), "f32")
    needed, values = stored_steps(program, {*chosen}), []
    for place, one in enumerate(traces):
        found, used = stored_values(program, needed, one, space=space // (len(traces) - place))
        values.append(found)
        space -= used
    chosen += more_weights(weights, order[len(chosen) :], space=space)
    still = {*stored_steps(program, {*chosen})}
    return Plan(
        "recorded",
        tuple(name for name in program.weights() if name in chosen),
        tuple(only(one, still) for one in values),
    )


def stored_steps(program: Program, weights: AbstractSet[str]) -> list[str]:
    """The steps whose values a page needs, because it lacks a weight of theirs."""
    return [step.name for step in program.steps if not weights >= {*step.weights}]


def stored_values(program: Program, steps: Sequence[str], one: Watched, *, space: int) -> tuple[Stored, int]:
    """These steps as float32; if that is too much, as float16, then without those that no other needs. And their bytes.

    An error if this is too much as well: nothing could be shown.
    """
    exact = dict.fromkeys(steps, KINDS["float32"])
    half: dict[str, Kind] = {name: "f16" if fits_half(one.values[name]) else "f32" for name in steps}
    used_by_others = {name for step in program.steps for name in step.inputs} | {*program.outputs.values()}
    fewer = {name: kind for name, kind in half.items() if name in used_by_others}
    for kinds in (exact, half, fewer):
        used = sum(size_of([one.values[name]], kind) for name, kind in kinds.items())
        if used <= space:
            return Stored(kinds, tuple(name for name in steps if name not in kinds)), used
    need, left = used / MEGABYTE, max(0, space) / MEGABYTE
    raise DataError(
        f"The values of {shortened(one.trace.text, width=40)!r} need {need:,.2g} million bytes; the page has "
        f"{left:,.2g} left for them. Allow a larger page (--max-mb, at most {PAGE_MB}), or give a shorter text."
    )


def more_weights(weights: Arrays, names: Sequence[str], *, space: int) -> list[str]:
    """The first of these, smallest first, that fit together."""
    found = []
    for name in names:
        raw = weights[name].size * 4
        size = size_of([weights[name]], "f32") if raw * SHRINKS <= space else space + 1
        if size > space:
            break
        space -= size
        found.append(name)
    return found


def only(stored: Stored, steps: AbstractSet[str]) -> Stored:
    kept = {name: kind for name, kind in stored.kinds.items() if name in steps}
    return Stored(kept, tuple(name for name in stored.left_out if name in steps))
