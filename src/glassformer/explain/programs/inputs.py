"""Steps of the inputs: token vectors and positions."""

from __future__ import annotations

from torch import nn

from glassformer.explain.code_lines import line_in
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
