"""Steps of recurrent layers. A layer is one step over all tokens; its gates and states are parts of its value."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.layers import linear
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.linear import Linear
from glassformer.nn.recurrent import GRU, LSTM, BothWays, gated, reversed_texts
from glassformer.nn.taps import Tap

FROM_END = "_from_end"  # ends the name of an axis whose tokens are read from the last to the first


def lstm(w: Writer, module: LSTM, x: Value, start: Sequence[Value] = ()) -> tuple[Value, Value]:
    """The hidden states and the cells of all tokens, each (T, H). The start is a hidden state and a cell, (1, H)."""
    given = product(w, module.input, x, code=line_in(LSTM.plain, "given, (h, c), seen = self.input(x)"))
    weights = [module.recurrent.weight]
    code = line_in(LSTM.step, "given + self.recurrent(h)")
    both = together(w, module, [given, *start], "lstm", weights, count=6, units=module.units, code=code)
    gates, state = line_in(LSTM.step, "i.sigmoid(), f.sigmoid()"), line_in(LSTM.step, "o * c.tanh()")
    taps = {"input_gate": gates, "forget_gate": gates, "candidate": gates, "output_gate": gates}
    taps |= {"cell": line_in(LSTM.step, "c = f * c + i * g"), "hidden": state}
    *_, cell, hidden = parts(w, module, both, taps)
    return hidden, cell


def gru(w: Writer, module: GRU, x: Value, start: Sequence[Value] = ()) -> Value:
    """The hidden states of all tokens, (T, H)."""
    given = product(w, module.input, x, code=line_in(GRU.plain, "self.input(x)"))
    weights, code = [module.recurrent.weight, module.recurrent.bias], line_in(GRU.step, "self.recurrent(before)")
    both = together(w, module, [given, *start], "gru", weights, count=4, units=module.units, code=code)
    return parts(w, module, both, gru_taps())[-1]


def gru_taps() -> dict[str, str]:
    """The taps of a gated unit, in the order of its values, and the lines that compute them."""
    gates = line_in(gated, "r, z = (r + r_h).sigmoid()")
    last = {"candidate": line_in(gated, "n = (n + r * n_h).tanh()"), "hidden": line_in(gated, "n + z * (before - n)")}
    return {"reset_gate": gates, "update_gate": gates, **last}


def product(w: Writer, module: Linear, x: Value, *, code: str) -> Value:
    return linear(w, f"{w.name(module)}.out", x, module.weight, module.bias, axis="gates", code=code)


def together(
    w: Writer,
    module: nn.Module,
    inputs: Sequence[Value],
    op: str,
    weights: Sequence[Tensor],
    *,
    count: int,
    units: int,
    code: str,
) -> Value:
    """A whole layer as one step: (count, T, H)."""
    x = inputs[0]
    axes, shape = ("gate", x.axes[0], "unit"), (count, x.shape[0], units)
    return w.step(f"{w.name(module)}.all", op, inputs, weights=weights, axes=axes, shape=shape, code=code)


def parts(w: Writer, module: nn.Module, both: Value, taps: dict[str, str]) -> list[Value]:
    """Each gate and state by itself, (T, H)."""
    found = []
    for at, (label, code) in enumerate(taps.items()):
        tap = getattr(module, label)
        assert isinstance(tap, Tap)
        found.append(w.tap(part(w, f"{w.name(module)}.part_{label}", both, at, code=code), tap, code=code))
    return found


def part(w: Writer, name: str, x: Value, at: int, *, code: str) -> Value:
    return w.step(name, "part", [x], settings={"at": at}, axes=x.axes[1:], shape=x.shape[1:], code=code)


def both_ways(w: Writer, module: BothWays, x: Value, *, place: str) -> Value:
    """The hidden states of both directions side by side, (T, 2H)."""
    w.part, name = f"{place}.forwards", w.name(module)
    ahead = layer(w, module.forwards, x)
    w.part = f"{place}.backwards"
    back = from_start(w, f"{name}.back", layer(w, module.backwards, from_end(w, f"{name}.reversed", x)))
    shape = (*x.shape[:1], int(ahead.shape[-1]) + int(back.shape[-1]))
    code = line_in(BothWays.forward, "torch.cat([ahead")
    return w.step(f"{name}.out", "beside", [ahead, back], axes=(x.axes[0], "width"), shape=shape, code=code)


def layer(w: Writer, module: LSTM | GRU, x: Value) -> Value:
    return lstm(w, module, x)[0] if isinstance(module, LSTM) else gru(w, module, x)


def from_end(w: Writer, name: str, x: Value) -> Value:
    """The tokens of a text from its end to its start."""
    axes = (f"{x.axes[0]}{FROM_END}", *x.axes[1:])
    return w.step(name, "reverse", [x], axes=axes, shape=x.shape, code=line_in(reversed_texts, "x.flip(1)"))


def from_start(w: Writer, name: str, x: Value) -> Value:
    axes = (x.axes[0].removesuffix(FROM_END), *x.axes[1:])
    return w.step(name, "reverse", [x], axes=axes, shape=x.shape, code=line_in(reversed_texts, "x.flip(1)"))


def columns(w: Writer, name: str, x: Value, begin: int, end: int, *, code: str) -> Value:
    settings, shape = {"begin": begin, "end": end}, (*x.shape[:-1], end - begin)
    return w.step(name, "columns", [x], settings=settings, axes=x.axes, shape=shape, code=code)
