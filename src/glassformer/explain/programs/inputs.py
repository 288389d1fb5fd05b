"""Steps of the inputs: token vectors and positions."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.layers import norm
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.embedding import Embedding
from glassformer.nn.positions import FixedPositions, LearnedPositions, sinusoidal, sinusoidal_halves
from glassformer.nn.taps import Tap

ORDERS = {sinusoidal: "pairs", sinusoidal_halves: "halves"}


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


def token_vectors(w: Writer, inputs: nn.Module, ids: Value, embedding: Embedding, tap: Tap) -> Value:
    vectors = embedded(w, f"{w.name(inputs)}.vectors", ids, embedding)
    return w.tap(vectors, tap, code=line_in(type(inputs).forward, "self.token("))


def positions(
    w: Writer, inputs: nn.Module, ids: Value, module: FixedPositions | LearnedPositions, tap: Tap, *, start: int = 0
) -> Value:
    """The vector of each position, (T, D)."""
    name, axes = f"{w.name(inputs)}.places", (ids.axes[0], "width")
    if isinstance(module, LearnedPositions):
        vectors = w.step(
            name,
            "rows",
            [ids],
            weights=[module.weight],
            axes=axes,
            shape=(ids.shape[0], module.weight.size(1)),
            settings={"start": start},
            code=line_in(LearnedPositions.forward, "return self.weight["),
        )
    else:
        make, width = module.make.func, module.make.keywords["width"]  # type: ignore[attr-defined]  # a partial
        code = line_in(make, "torch.stack(" if make is sinusoidal else "torch.cat(")
        settings = {"width": width, "base": 10000.0, "order": ORDERS[make], "start": start}
        shape = (ids.shape[0], width)
        vectors = w.step(name, "sinusoidal", [ids], axes=axes, shape=shape, settings=settings, code=code)
    return w.tap(vectors, tap, code=line_in(type(inputs).forward, "self.position("))


def segments(w: Writer, inputs: nn.Module, text: Value, module: Embedding, tap: Tap) -> Value:
    """The vector of each token's segment; with a single segment, one vector for all."""
    code = line_in(type(inputs).forward, "self.segments.weight[0]")
    if module.weight.size(0) == 1:
        shape = (1, module.weight.size(1))
        name, axes = f"{w.name(inputs)}.only_segment", ("one", "width")
        vectors = w.step(name, "constant", [], weights=[module.weight], axes=axes, shape=shape, code=code)
    else:
        found = embedded(w, f"{w.name(inputs)}.parts", along(w, text, "segments", "segments"), module)
        vectors = found
    return w.tap(vectors, tap, code=code)


def capitals(w: Writer, inputs: nn.Module, text: Value, module: Embedding | None) -> list[Value]:
    """The vector of the pattern of capitals of each token's word, in models that have it."""
    if module is None:
        return []
    return [embedded(w, f"{w.name(inputs)}.capitals", along(w, text, "casing", "ids"), module)]


def along(w: Writer, text: Value, name: str, what: str) -> Value:
    """A sequence with one entry for each token of the text."""
    return Value(w.sequence(name, what).name, text.axes, text.shape)


def added(w: Writer, inputs: nn.Module, parts: Sequence[Value]) -> Value:
    """The sum of all vectors of a token."""
    if len(parts) == 1:
        return parts[0]
    code = line_in(type(inputs).forward, "self.position(" if "positions" in inputs._modules else "self.token(")
    return w.step(f"{w.name(inputs)}.added", "add", parts, code=code)


def summed(
    w: Writer, inputs: nn.Module, parts: Sequence[Value], tap: Tap, *, norm_of: nn.Module | None = None
) -> Value:
    """What enters the first block: the sum, after a norm where there is one."""
    x = added(w, inputs, parts)
    x = x if norm_of is None else norm(w, norm_of, x)
    return w.tap(x, tap, code=line_in(type(inputs).forward, "self.sum("))
