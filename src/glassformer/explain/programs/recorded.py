"""From a model's own terms to those of its program: inputs, weights and recorded values without a batch axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor, nn

from glassformer.explain.ops import Array
from glassformer.explain.program import Program
from glassformer.models.batches import casing_of


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
        return batch.ids * 0 if found is None else found
    return getattr(batch, {"target": "target_in", "image": "images"}.get(name, name))


def weights_of(program: Program, model: nn.Module) -> dict[str, Array]:
    """The weights that the program needs, in the model's own precision."""
    state = model.state_dict()
    return {name: array(state[name]) for name in program.weights()}


def tapped_values(program: Program, recorded: Mapping[str, Tensor], inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The recorded value of each tapped step, in the shape that the step declares."""
    found = {}
    for step in program.steps:
        if step.tapped:
            value = array(recorded[step.name])
            value = value[0] if value.ndim > len(step.shape) else value
            shape = tuple(size if isinstance(size, int) else len(inputs[size]) for size in step.shape)
            found[step.name] = np.broadcast_to(value, shape)
    return found


def array(value: Tensor) -> Array:
    value = value.detach().cpu()
    return np.asarray(
        value.float().numpy() if value.dtype.itemsize == 2 and value.is_floating_point() else value.numpy()
    )
