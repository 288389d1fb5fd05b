"""From a model's own terms to those of its program: inputs, weights and recorded values without a batch axis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor, nn

from glassformer.errors import ModelError
from glassformer.explain.op_functions import Array
from glassformer.explain.program import Program
from glassformer.models.batches import casing_of
from glassformer.nn.lora import merged_weights

EXPERT = re.compile(r"(.+)\.each\.(\d+)\.(?:pre|post)")  # taps that only the tokens of one expert pass


def inputs_of(program: Program, batch: Any) -> dict[str, Array]:
    """The sequences of a batch of one input, without padding."""
    return {name: array(sequence_of(name, batch)[0]) for name in program.sequences}


def sequence_of(name: str, batch: Any) -> Tensor:
    if name == "text":
        return batch.ids
    if name == "segments":
        return batch.ids * 0 if batch.segments is None else batch.segments
    if name == "casing":
        found = casing_of(batch)
        if found is None:
            raise ModelError("This model also reads the capitals of each word: the batch needs `casing`.")
        return found
    return getattr(batch, {"target": "target_in", "image": "images"}.get(name, name))


def weights_of(program: Program, model: nn.Module) -> dict[str, Array]:
    """The weights that the program needs, in the model's own precision; adapters are part of their matrices."""
    state = merged_weights(model, model.state_dict())
    return {name: array(state[name]) for name in program.weights()}


def tapped_values(program: Program, recorded: Mapping[str, Tensor], inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The recorded value of each tapped step, in the shape that the step declares."""
    found = {}
    for step in program.steps:
        if step.tapped:
            shape = tuple(size if isinstance(size, int) else len(inputs[size]) for size in step.shape)
            found[step.name] = value_of(step.name, recorded, shape)
    return found


def value_of(name: str, recorded: Mapping[str, Tensor], shape: tuple[int, ...]) -> Array:
    if expert := EXPERT.fullmatch(name):
        return rows_of_expert(name, array(recorded[f"{expert[1]}.router.chosen"]) == int(expert[2]), recorded, shape)
    value = array(recorded[name])
    value = value[0] if value.ndim > len(shape) else value
    return np.broadcast_to(value, shape)


def rows_of_expert(name: str, sent: Array, recorded: Mapping[str, Tensor], shape: tuple[int, ...]) -> Array:
    """What an expert computed for the tokens sent to it, (M, F) of those alone, as rows of all tokens."""
    found = np.zeros(shape)
    if name in recorded:
        found[np.nonzero(sent)[0]] = array(recorded[name])
    return found


def array(value: Tensor) -> Array:
    value = value.detach().cpu()
    return np.asarray(
        value.float().numpy() if value.dtype.itemsize == 2 and value.is_floating_point() else value.numpy()
    )
