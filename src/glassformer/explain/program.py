"""A model's forward pass as a program: a flat list of steps, each one operation with a name.

The program names the weights and contains no numbers, so it is small, can be read by another language, and can be run
with changed values in between. `Program.run` is the reference: numpy in float64, one input without a batch axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import ModelError
from glassformer.explain.op_functions import Array
from glassformer.explain.ops import OPS

Setting = float | int | str | bool | tuple[Any, ...]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One operation of a forward pass."""

    name: str  # of its tap, if it has one
    op: str  # of OPS
    inputs: tuple[str, ...]  # earlier steps, or sequences
    weights: tuple[str, ...]  # of the state dict; a tied weight by its first name
    axes: tuple[str, ...]  # what each axis means: ("head", "target", "source")
    shape: tuple[int | str, ...]  # a number, or the sequence whose length it is
    settings: Mapping[str, Setting]
    part: str  # place in the figure: decoder.1.cross_attention
    tapped: bool
    code: str  # nn/attention.py:74


@dataclass(frozen=True)
class Patch:
    """A change to one step's result, made as soon as it is computed. What is not selected is everything."""

    step: str
    how: Literal["zero", "mean", "set", "hide"]
    head: int | None = None
    row: int | None = None
    column: int | None = None
    value: float = 0.0


@dataclass(frozen=True)
class Program:
    """The steps in an order in which they can be computed."""

    kind: str
    sequences: Mapping[str, str]  # name -> ids, segments, image or numbers
    steps: tuple[Step, ...]
    outputs: Mapping[str, str]  # name -> step
    causal: tuple[str, ...] = field(default=())  # sequences whose later rows never change earlier ones

    def run(
        self, inputs: Mapping[str, Array], weights: Mapping[str, Array], patches: Iterable[Patch] = ()
    ) -> dict[str, Floats]:
        """The value of every step, in float64."""
        if missing := self.sequences.keys() - inputs.keys():
            raise ModelError(f"The program also reads {min(missing)!r}; it got {', '.join(inputs) or 'nothing'}.")
        values: dict[str, Any] = {name: np.asarray(inputs[name]) for name in self.sequences}
        changes: dict[str, list[Patch]] = {}
        for patch in patches:
            changes.setdefault(patch.step, []).append(patch)
        if unknown := changes.keys() - {step.name for step in self.steps}:
            raise ModelError(f"There is no step {min(unknown)!r} in this program.")
        for step in self.steps:
            # One step's weights at a time: all of them in float64 would double the memory of a large model.
            needed = (np.asarray(weights[name], dtype=np.float64) for name in step.weights)
            given = (*(values[name] for name in step.inputs), *needed)
            with np.errstate(invalid="ignore", over="ignore"):  # a damaged model has NaN here as in torch
                value = OPS[step.op].function(*given, **step.settings)
            for patch in changes.get(step.name, ()):
                value = patched(value, step.axes, patch)
            values[step.name] = value
        return {step.name: values[step.name] for step in self.steps}

    def weights(self) -> list[str]:
        """The names of all weights it needs, in the order of first use."""
        return list(dict.fromkeys(name for step in self.steps for name in step.weights))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def patched(value: Floats, axes: tuple[str, ...], patch: Patch) -> Floats:
    """A copy with the selected part zeroed, hidden, set to a value, or set to its mean over the rows."""
    picked: list[Any] = [slice(None)] * value.ndim
    if patch.head is not None:
        picked[axes.index("head")] = patch.head
    if patch.row is not None:
        picked[-2] = patch.row
    if patch.column is not None:
        picked[-1] = patch.column
    new: Any = {"zero": 0.0, "hide": -np.inf, "set": patch.value}.get(patch.how)
    if patch.how == "mean":
        new = np.broadcast_to(value.mean(axis=-2, keepdims=True), value.shape)[tuple(picked)]
    result = value.copy()
    result[tuple(picked)] = new
    return result
