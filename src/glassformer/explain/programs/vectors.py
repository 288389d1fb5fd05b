"""The vector of a whole text, which is made from an encoder's hidden states outside of the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program, Setting, Step
from glassformer.nn.pooling import first, last, mean

PLACE = "pooling"
POOLED: dict[str, tuple[Callable[..., Tensor], str, dict[str, Setting]]] = {
    "mean": (mean, "mean_rows", {}),
    "cls": (first, "pick", {"at": 0}),
    "last": (last, "pick", {"at": -1}),
}


def with_vector(program: Program, *, pooling: str, normalised_at: str | None = None) -> Program:
    """The program with the steps of its pooling: the mean (`mean`), the first (`cls`) or the last token (`last`).

    `normalised_at` is the line of code that then divides the vector by its length. A program without hidden states as
    its output, or with another pooling, stays as it is.
    """
    if pooling not in POOLED or "hidden" not in program.outputs:
        return program
    hidden = next(step for step in program.steps if step.name == program.outputs["hidden"])
    function, op, settings = POOLED[pooling]
    width = hidden.shape[-1]
    vector = Step(
        name="pooled",
        op=op,
        inputs=(hidden.name,),
        weights=(),
        axes=("one", "width"),
        shape=(1, width),
        settings=settings,
        part=PLACE,
        tapped=False,
        code=line_in(function, "return "),
    )
    steps = [vector] if normalised_at is None else [vector, *normalised(vector, int(width), code=normalised_at)]
    outputs = {**program.outputs, "vector": steps[-1].name}
    return replace(program, steps=(*program.steps, *steps), outputs=outputs)


def normalised(vector: Step, width: int, *, code: str) -> list[Step]:
    """x / |x|, with |x| = sqrt(D) sqrt(mean(x^2))."""
    size = replace(
        vector,
        name="pooled.rms",
        op="rms",
        inputs=("pooled",),
        axes=("one", "one"),
        shape=(1, 1),
        settings={"eps": 0.0},
        code=code,
    )
    factor = {"factor": math.sqrt(width)}
    length = replace(size, name="pooled.length", op="scale", inputs=(size.name,), settings=factor)
    last_step = replace(vector, name="vector", op="divide", inputs=("pooled", length.name), settings={}, code=code)
    return [size, length, last_step]
