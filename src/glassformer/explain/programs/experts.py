"""Steps of a mixture of experts. Every expert is written for all tokens; the rows of tokens that are not sent to it are
zero, and so is what it makes of them."""

from __future__ import annotations

from typing import cast

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.layers import feed_forward, linear
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.experts import Experts, Router
from glassformer.nn.feed_forward import FeedForward


def experts(w: Writer, module: Experts, x: Value) -> Value:
    chosen, shares = router(w, module.router, x)
    axes, shape, parts = (x.axes[0], "one"), (x.shape[0], 1), []
    for number, each in enumerate(module.each):
        name, settings = w.name(each), {"expert": number}
        code = line_in(Experts.forward, "self.each[number](tokens[token])")
        sent = w.step(f"{name}.sent", "sent", [x, chosen], settings=settings, code=code)
        found = feed_forward(w, cast(FeedForward, each), sent)
        share = w.step(f"{name}.share", "share", [shares, chosen], settings=settings, axes=axes, shape=shape, code=code)
        parts.append(w.step(f"{name}.weighted", "multiply", [found, share], code=code))
    return w.step(f"{w.name(module)}.mixed", "add", parts, code=line_in(Experts.forward, "mixed.index_add_"))


def router(w: Writer, module: Router, x: Value) -> tuple[Value, Value]:
    """The experts chosen for each token, and their shares, both (T, k)."""
    name, source = w.name(module), Router.forward
    code = line_in(source, "self.scores(")
    scores = w.tap(
        linear(w, f"{name}.linear.out", x, module.linear.weight, None, axis="expert", code=code),
        module.scores,
        code=code,
    )
    code = line_in(source, "self.probabilities(")
    probabilities = w.tap(w.step(f"{name}.softmax", "softmax", [scores], code=code), module.probabilities, code=code)
    count = {"count": module.per_token}
    axes, shape = (x.axes[0], "choice"), (x.shape[0], module.per_token)
    code = line_in(source, "probabilities.topk(")
    chosen = w.step(f"{name}.largest", "largest", [probabilities], settings=count, axes=axes, shape=shape, code=code)
    chosen = w.tap(chosen, module.chosen, code=code)
    code = line_in(source, "top.values / ")
    shares = w.step(f"{name}.shares", "shares", [probabilities, chosen], axes=axes, shape=shape, code=code)
    return chosen, w.tap(shares, module.weights, code=code)
