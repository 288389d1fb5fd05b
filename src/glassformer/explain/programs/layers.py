"""Steps of the layers that most models share: products, norms, residual connections, feed-forward networks."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.activations import Activation
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.linear import linear as product
from glassformer.nn.norms import LayerNorm, RMSNorm
from glassformer.nn.residual import PostNorm, PreNorm

Sublayer = Callable[[Value], Value]


def linear(
    w: Writer,
    name: str,
    x: Value,
    weight: Tensor,
    bias: Tensor | None,
    *,
    code: str = "",
    axis: str = "width",
    rows: tuple[int, int] | None = None,
) -> Value:
    """x W^T + b, of some rows of W and b only if they are given."""
    begin, end = (0, weight.size(0)) if rows is None else rows
    return w.step(
        name,
        "linear",
        [x],
        weights=[weight, bias],
        axes=(*x.axes[:-1], axis),
        shape=(*x.shape[:-1], end - begin),
        settings={} if rows is None else {"begin": begin, "end": end},
        code=code or line_in(product, "F.linear(x, weight, bias)"),
    )


def activation(w: Writer, name: str, x: Value, kind: str, *, code: str) -> Value:
    return w.step(name, "activation", [x], settings={"kind": kind}, code=code)


def norm(w: Writer, module: nn.Module, x: Value) -> Value:
    """LayerNorm or RMSNorm; no norm at all is no step."""
    if isinstance(module, nn.Identity):
        return x
    assert isinstance(module, LayerNorm | RMSNorm)
    name = w.name(module)
    layer = isinstance(module, LayerNorm)
    source = LayerNorm.plain if layer else RMSNorm.forward
    squares, divided = ("centred.square()", "centred / scale") if layer else ("x.square()", "x / scale")
    if layer:
        x = w.step(f"{name}.centred", "center", [x], code=line_in(source, "x - x.mean"))
    code = line_in(source, squares)
    axes, shape = (*x.axes[:-1], "one"), (*x.shape[:-1], 1)
    size = w.step(f"{name}.rms", "rms", [x], axes=axes, shape=shape, settings={"eps": module.eps}, code=code)
    size = w.tap(size, module.scale, code=code)
    code = line_in(source, divided)
    x = w.tap(w.step(f"{name}.divided", "divide", [x, size], code=code), module.normalized, code=code)
    bias = module.bias if isinstance(module, LayerNorm) else None
    return w.step(f"{name}.out", "gain", [x], weights=[module.gain, bias], code=line_in(source, "* self.gain"))


def residual(w: Writer, module: nn.Module, x: Value, sublayer: Sublayer) -> Value:
    """The sub-layer's result added to its input, with the norm before the sub-layer or after the sum."""
    assert isinstance(module, PreNorm | PostNorm)
    pre, name, source = isinstance(module, PreNorm), w.name(module), type(module).forward
    x = w.tap(x, module.before, code=line_in(source, "self.before(x)"))
    code = line_in(source, "self.added(")
    added = w.tap(sublayer(norm(w, module.norm, x) if pre else x), module.added, code=code)
    result = w.step(f"{name}.sum", "add", [x, added], code=code)
    return w.tap(result if pre else norm(w, module.norm, result), module.after, code=code)


def feed_forward(w: Writer, module: FeedForward, x: Value) -> Value:
    """One inner layer, gated or not."""
    name, kind = w.name(module), module.activation.name
    up, gate, down = module.up, module.gate, module.down
    first = up if gate is None else gate
    gated = gate is not None
    code = line_in(FeedForward.forward, "self.pre(self.gate(x))" if gated else "self.pre(self.up(x))")
    pre = linear(w, f"{w.name(first)}.out", x, first.weight, first.bias, axis="inner", code=code)
    pre = w.tap(pre, module.pre, code=code)
    inner = activation(w, f"{name}.activated", pre, kind, code=code)
    if gated:
        other = linear(w, f"{w.name(up)}.out", x, up.weight, up.bias, axis="inner", code=code)
        inner = w.step(f"{name}.gated", "multiply", [inner, other], code=code)
    code = line_in(FeedForward.forward, "self.post(inner)")
    inner = w.tap(inner, module.post, code=code)
    return linear(w, f"{w.name(down)}.out", inner, down.weight, down.bias, code=code)


def activation_name(function: object) -> str:
    """The name of a module's activation: one of ours, or a function of torch."""
    return function.name if isinstance(function, Activation) else str(getattr(function, "__name__", ""))
