"""Steps of multi-head attention, one for every tap and for what lies between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.layers import linear
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.attention import CrossAttention, HeadsOut, ScaledDotProduct, SelfAttention
from glassformer.nn.attention import split_heads as splitting
from glassformer.nn.linear import Linear
from glassformer.nn.positions import RotaryPositions, angles, rotate


@dataclass(frozen=True)
class View:
    """What a query may see, and how positions enter the scores."""

    causal: bool = False
    window: int = 0  # 0: no window
    turns: tuple[float, ...] = ()  # rotary: the angle per position of each pair
    bias: Value | None = None  # relative: a number for each head, query and key


def turns_of(rotary: RotaryPositions | None) -> tuple[float, ...]:
    """The angle by which each pair of a head turns from one position to the next."""
    if rotary is None:
        return ()
    known = rotary.turns.make.keywords  # type: ignore[attr-defined]  # a partial
    width, base, stretch = known["width"], known["base"], known["stretch"]
    a_step = angles(2, width, base=base)[1, : width // 2]
    return tuple((a_step if stretch is None else stretch(a_step)).tolist())


def self_attention(w: Writer, module: SelfAttention, x: Value, view: View = View()) -> Value:
    """Queries, keys and values of x itself."""
    name, width, begin, parts = w.name(module), module.head_width, 0, []
    code = line_in(SelfAttention.forward, "self.qkv(x).split")
    taps = {"q": module.q, "k": module.k, "v": module.v}
    for (label, tap), rows in zip(taps.items(), module.rows, strict=True):
        part = projected(w, f"{name}.qkv.{label}", x, module.qkv, (begin, begin + rows), width=width, code=code)
        if view.turns and label != "v":
            turns = {"turns": view.turns}
            part = w.step(
                f"{name}.{label}_rotated", "rotate", [part], settings=turns, code=line_in(rotate, "even * cos")
            )
        parts.append(w.tap(part, tap, code=line_in(SelfAttention.forward, "self.q(q), self.k(k), self.v(v)")))
        begin += rows
    q, k, v = parts
    return heads_out(w, module.out, core(w, module.core, q, k, v, view))


def cross_attention(w: Writer, module: CrossAttention, x: Value, memory: Value) -> Value:
    """Queries of x, keys and values of a memory."""
    name, width, (keys, values) = w.name(module), module.head_width, module.rows
    code = line_in(CrossAttention.forward, "self.query(queries)")
    q = w.tap(projected(w, f"{name}.query.q", x, module.query, None, width=width, code=code), module.q, code=code)
    both, code = module.key_value, line_in(CrossAttention.read, "self.key_value(memory)")
    tapped = line_in(CrossAttention.read, "self.k(k), self.v(v)")
    k = projected(w, f"{name}.key_value.k", memory, both, (0, keys), width=width, code=code)
    k = w.tap(k, module.k, code=tapped)
    v = projected(w, f"{name}.key_value.v", memory, both, (keys, keys + values), width=width, code=code)
    v = w.tap(v, module.v, code=tapped)
    return heads_out(w, module.out, core(w, module.core, q, k, v, View()))


def projected(
    w: Writer, name: str, x: Value, module: Linear, rows: tuple[int, int] | None, *, width: int, code: str
) -> Value:
    """Some rows of a projection, cut into heads: (T, D) -> (H, T, E)."""
    flat = linear(w, name, x, module.weight, module.bias, rows=rows, code=code)
    heads = int(flat.shape[-1]) // width
    return w.step(
        f"{name}_heads",
        "split_heads",
        [flat],
        axes=("head", x.axes[0], "head_width"),
        shape=(heads, x.shape[0], width),
        settings={"heads": heads},
        code=line_in(splitting, "x.unflatten"),
    )


def core(w: Writer, module: ScaledDotProduct, q: Value, k: Value, v: Value, view: View) -> Value:
    """Scores, scaled, masked, softmax, mixture: (H, T, E) and twice (G, K, E) -> z (H, T, E)."""
    name, plain = w.name(module), ScaledDotProduct.plain
    axes, shape = ("head", q.axes[1], k.axes[1]), (q.shape[0], q.shape[1], k.shape[1])
    code = line_in(plain, "self.scores(q @ k.mT)")
    x = w.tap(w.step(f"{name}.products", "scores", [q, k], axes=axes, shape=shape, code=code), module.scores, code=code)
    factor = 1 / math.sqrt(int(q.shape[2])) if module.scale is None else module.scale
    code = line_in(plain, "self.scaled(")
    x = w.tap(w.step(f"{name}.shorter", "scale", [x], settings={"factor": factor}, code=code), module.scaled, code=code)
    code = line_in(plain, "self.masked(")
    if view.bias is not None:
        x = w.step(f"{name}.biased", "add", [x, view.bias], code=code)
    hidden = {"causal": view.causal, "window": view.window}
    x = w.tap(w.step(f"{name}.seen", "mask", [x], settings=hidden, code=code), module.masked, code=code)
    code = line_in(plain, "self.pattern(")
    x = w.tap(w.step(f"{name}.shares", "softmax", [x], code=code), module.pattern, code=code)
    return w.step(f"{name}.mixed", "mix", [x, v], axes=q.axes, shape=q.shape, code=line_in(plain, "pattern @ v"))


def heads_out(w: Writer, module: HeadsOut, z: Value) -> Value:
    """What each head adds by itself, and all of them together: (H, T, E) -> (T, D)."""
    name, weight, bias = w.name(module), module.linear.weight, module.linear.bias
    z = w.tap(z, module.z, code=line_in(HeadsOut.forward, "self.z(z)"))
    width = weight.size(0)
    code = line_in(HeadsOut.forward, "torch.einsum(")
    axes, shape = ("head", z.axes[1], "width"), (z.shape[0], z.shape[1], width)
    each = w.step(f"{name}.each", "head_results", [z], weights=[weight], axes=axes, shape=shape, code=code)
    w.tap(each, module.head_result, code=code)
    joined = w.step(
        f"{name}.joined",
        "join_heads",
        [z],
        axes=(z.axes[1], "width"),
        shape=(z.shape[1], weight.size(1)),
        code=line_in(HeadsOut.forward, "joined = z.transpose"),
    )
    return linear(w, f"{name}.linear.out", joined, weight, bias, code=line_in(HeadsOut.forward, "self.linear(joined"))
