"""Steps of the inputs: the vectors of tokens, segments and positions, and their sum.

The inputs of every model have the same names for the same parts: embedding, positions, segments, casing and their taps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.layers import norm
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.embedding import Embedding
from glassformer.nn.positions import LearnedPositions, sinusoidal, sinusoidal_halves

ORDERS = {sinusoidal: "pairs", sinusoidal_halves: "halves"}
BASE = 10000.0

Inputs = Any  # a module with the names above


def token_and_position(w: Writer, inputs: Inputs, ids: Value, *, then: nn.Module | None = None) -> Value:
    """What enters the first block of a model whose inputs are these two; `then` is a norm."""
    parts = [token_vectors(w, inputs, ids)]
    if inputs.positions is not None:
        parts.append(positions(w, inputs, ids))
    return summed(w, inputs, parts, then=then)


def token_vectors(w: Writer, inputs: Inputs, ids: Value) -> Value:
    vectors = embedded(w, f"{w.name(inputs)}.vectors", ids, inputs.embedding)
    return w.tap(vectors, inputs.token, code=line_in(type(inputs).forward, "self.token("))


def embedded(w: Writer, name: str, ids: Value, module: Embedding) -> Value:
    """The vector of each token, (T, D)."""
    return w.step(
        name,
        "embed",
        [ids],
        weights=[module.weight],
        axes=(ids.axes[0], "width"),
        shape=(ids.shape[0], module.weight.size(1)),
        settings={"scale": module.scale},
        code=line_in(Embedding.forward, "F.embedding(ids, self.weight)"),
    )


def positions(w: Writer, inputs: Inputs, ids: Value, *, start: int = 0) -> Value:
    """The vector of each position, (T, D)."""
    name, axes, module = f"{w.name(inputs)}.places", (ids.axes[0], "width"), inputs.positions
    if isinstance(module, LearnedPositions):
        shape, code = (ids.shape[0], module.weight.size(1)), line_in(LearnedPositions.forward, "return self.weight[")
        settings, weights = {"start": start}, [module.weight]
        x = w.step(name, "rows", [ids], weights=weights, axes=axes, shape=shape, settings=settings, code=code)
    else:
        make, width = module.make.func, module.make.keywords["width"]
        shape, code = (ids.shape[0], width), line_in(make, "torch.stack(" if make is sinusoidal else "torch.cat(")
        waves = {"width": width, "base": BASE, "order": ORDERS[make], "start": start}
        x = w.step(name, "sinusoidal", [ids], axes=axes, shape=shape, settings=waves, code=code)
    return w.tap(x, inputs.position, code=line_in(type(inputs).forward, "self.position("))


def segments(w: Writer, inputs: Inputs, text: Value) -> list[Value]:
    """The vector of each token's segment; with a single segment, one vector for all; none without segments."""
    module = inputs.segments
    if module is None:
        return []
    name, code = f"{w.name(inputs)}.parts", line_in(type(inputs).forward, "self.segments.weight[0]")
    if module.weight.size(0) == 1:
        axes, shape = ("one", "width"), (1, module.weight.size(1))
        vectors = w.step(name, "constant", [], weights=[module.weight], axes=axes, shape=shape, code=code)
    else:
        vectors = embedded(w, name, along(w, text, "segments", "segments"), module)
    return [w.tap(vectors, inputs.segment, code=code)]


def capitals(w: Writer, inputs: Inputs, text: Value) -> list[Value]:
    """The vector of the pattern of capitals of each token's word, in models that have it."""
    if inputs.casing is None:
        return []
    return [embedded(w, f"{w.name(inputs)}.capitals", along(w, text, "casing", "ids"), inputs.casing)]


def along(w: Writer, text: Value, name: str, what: str) -> Value:
    """A sequence with one entry for each token of the text."""
    return Value(w.sequence(name, what).name, text.axes, text.shape)


def added(w: Writer, inputs: Inputs, parts: Sequence[Value]) -> Value:
    """The sum of all vectors of a token."""
    if len(parts) == 1:
        return parts[0]
    code = line_in(type(inputs).forward, "self.position(" if hasattr(inputs, "positions") else "self.token(")
    return w.step(f"{w.name(inputs)}.added", "add", parts, code=code)


def summed(w: Writer, inputs: Inputs, parts: Sequence[Value], *, then: nn.Module | None = None) -> Value:
    """What enters the first block: the sum, after a norm where there is one."""
    x = added(w, inputs, parts)
    x = x if then is None else norm(w, then, x)
    return w.tap(x, inputs.sum, code=line_in(type(inputs).forward, "self.sum("))
