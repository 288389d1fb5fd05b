"""The wiring of the recurrent translator with attention.

The states of the decoder are one step over all target tokens. What each of them read of the source is then written out
in steps of its own, from the state before it, as for other attention.
"""

from __future__ import annotations

from typing import cast

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program
from glassformer.explain.programs.heads import picked
from glassformer.explain.programs.inputs import token_vectors
from glassformer.explain.programs.layers import activation, linear
from glassformer.explain.programs.lstm import next_tokens
from glassformer.explain.programs.recurrent import (
    both_ways,
    columns,
    gru_taps,
    part,
    parts,
    product,
    together,
)
from glassformer.explain.programs.writer import Value, Writer
from glassformer.models.rnn_attention import Decoder, Readout, RnnAttention
from glassformer.nn.additive import AdditiveAttention, AdditiveScores, AttentiveGRU
from glassformer.nn.attention import split_heads
from glassformer.nn.recurrent import BothWays


def write_rnn_attention(w: Writer, model: RnnAttention) -> Program:
    source, target = w.sequence("source"), w.sequence("target")
    w.part = "encoder.inputs"
    x = token_vectors(w, model.encoder.inputs, source)
    x = both_ways(w, cast(BothWays, model.encoder.blocks[0]), x, place="encoder.0")
    memory = w.tap(x, model.memory, code=line_in(RnnAttention.encode, "self.memory(memory)"))
    w.part = "decoder.inputs"
    y = token_vectors(w, model.decoder.inputs, target)
    start = first_state(w, model.decoder, memory)
    states, contexts = attentive(w, model.decoder.block, y, start, memory, source)
    w.part = "decoder.readout"
    return next_tokens(w, model, readout(w, model.decoder.readout, states, y, contexts), causal="target")


def first_state(w: Writer, module: Decoder, memory: Value) -> Value:
    w.part, width = "decoder.first", int(memory.shape[-1])
    code = line_in(Decoder.begin, "backward = memory")
    row = picked(w, "decoder.first.row", memory, at=0, code=code)
    backward = columns(w, "decoder.first.backward", row, width // 2, width, code=code)
    code = line_in(Decoder.begin, "self.first(backward).tanh()")
    x = linear(w, "decoder.first.out", backward, module.first.weight, module.first.bias, axis="unit", code=code)
    return activation(w, "decoder.first.state", x, "tanh", code=code)


def attentive(
    w: Writer, module: AttentiveGRU, y: Value, start: Value, memory: Value, source: Value
) -> tuple[Value, Value]:
    """The states (T, H) of the decoder, and what was read for each of them, (T, M)."""
    attention, gru = module.cross_attention, module.gru
    name, place = w.name(attention), "decoder.0"
    w.part = f"{place}.cross_attention"
    code = line_in(AdditiveAttention.read, "self.key(memory)")
    keys = linear(w, f"{name}.key.out", memory, attention.key.weight, attention.key.bias, code=code)
    code, axes, shape = (
        line_in(AdditiveScores.forward, "a = torch.softmax("),
        ("one", source.axes[0]),
        (1, source.shape[0]),
    )
    mask = w.step(f"{name}.core.masked", "nothing_hidden", [source], axes=axes, shape=shape, code=code)
    w.part = f"{place}.recurrent"
    given = product(w, gru.input, y, code=line_in(AttentiveGRU.plain, "given = gru.input(y)"))
    weights = [
        attention.query.weight,
        attention.core.v,
        module.context.weight,
        gru.recurrent.weight,
        gru.recurrent.bias,
    ]
    inputs, code = [given, start, keys, memory, mask], line_in(AttentiveGRU.step, "given + self.context(c)")
    both = together(w, gru, inputs, "attentive_gru", weights, count=4, units=gru.units, code=code)
    *_, states = parts(w, gru, both, gru_taps())
    w.part = f"{place}.cross_attention"
    return states, contexts(w, attention, part(w, f"{name}.states", both, 3, code=code), start, keys, memory, mask)


def contexts(
    w: Writer, module: AdditiveAttention, states: Value, start: Value, keys: Value, memory: Value, mask: Value
) -> Value:
    """What each state's predecessor read: scores, shares, mixture, as one head."""
    name, core, source = w.name(module), module.core, AdditiveScores.forward
    code = line_in(AttentiveGRU.step, "attention.query(state)")
    previous = w.step(f"{name}.before", "before", [states, start], code=code)
    query = linear(w, f"{name}.query.out", previous, module.query.weight, None, code=code)
    code = line_in(source, "torch.tanh(keys + query")
    axes, shape = ("head", states.axes[0], keys.axes[0]), (1, states.shape[0], keys.shape[0])
    e = w.step(f"{name}.e", "additive_scores", [keys, query], weights=[core.v], axes=axes, shape=shape, code=code)
    e, code = w.tap(e, core.scores, code=code), line_in(source, "a = torch.softmax(")
    seen = w.step(f"{name}.core.seen", "add", [e, mask], code=code)
    a = w.tap(w.step(f"{name}.softmax", "softmax", [seen], code=code), core.pattern, code=code)
    width, code = memory.shape[-1], line_in(source, "(a[:, None] @ values)")
    axes, shape, one = ("head", memory.axes[0], "width"), (1, memory.shape[0], width), {"heads": 1}
    whole = line_in(split_heads, "x.unflatten")
    values = w.step(f"{name}.values", "split_heads", [memory], settings=one, axes=axes, shape=shape, code=whole)
    axes, shape = ("head", states.axes[0], "width"), (1, states.shape[0], width)
    z = w.tap(w.step(f"{name}.mixed", "mix", [a, values], axes=axes, shape=shape, code=code), core.z, code=code)
    return w.step(f"{name}.context", "join_heads", [z], axes=z.axes[1:], shape=z.shape[1:], code=code)


def readout(w: Writer, module: Readout, states: Value, y: Value, context: Value) -> Value:
    name, source = w.name(module), Readout.forward
    parts_of = [states, y, context]
    code, shape = line_in(source, "self.pre("), (y.shape[0], sum(int(one.shape[-1]) for one in parts_of))
    axes = (y.axes[0], "width")
    both = w.step(f"{name}.both", "beside", parts_of, axes=axes, shape=shape, code=code)
    pairs = linear(w, f"{name}.linear.out", both, module.linear.weight, module.linear.bias, code=code)
    pairs, code = w.tap(pairs, module.pre, code=code), line_in(source, "self.post(")
    shape = (y.shape[0], int(pairs.shape[-1]) // 2)
    return w.tap(w.step(f"{name}.larger", "maxout", [pairs], axes=axes, shape=shape, code=code), module.post, code=code)
