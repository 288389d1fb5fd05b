"""The wiring of the LSTM models: the translator, the language model, the encoder in both directions."""

from __future__ import annotations

from typing import cast

from torch import nn

from glassformer.explain.code_lines import line_in
from glassformer.explain.program import Program
from glassformer.explain.programs.heads import head, picked, vocabulary
from glassformer.explain.programs.inputs import added, capitals, token_vectors
from glassformer.explain.programs.layers import linear
from glassformer.explain.programs.recurrent import both_ways, columns, from_end, lstm, part
from glassformer.explain.programs.writer import Value, Writer
from glassformer.models.bilstm import BiLstm
from glassformer.models.decoding.recurrent import Recurrent, RecurrentDecoder
from glassformer.models.lstm import Lstm, Stack
from glassformer.models.lstm_lm import LstmLm
from glassformer.nn.additive import AttentivePooling
from glassformer.nn.recurrent import LSTM, BothWays


def write_lstm(w: Writer, model: Lstm) -> Program:
    source, target = w.sequence("source"), w.sequence("target")
    w.part = "encoder.inputs"
    read = from_end(w, "encoder.reversed", source) if model.encoder.reverse else source
    _, ends = layers(w, model.encoder.blocks, token_vectors(w, model.encoder.inputs, read), stack="encoder")
    w.part, code = "encoder.context", line_in(Lstm.encode, "self.context(")
    last = [picked(w, f"{end.name}.last", end, at=-1, code=code) for pair in ends for end in pair]
    count, units = len(ends), last[0].shape[-1]
    axes, shape = ("layer", "state", "unit"), (count, 2, units)
    context = w.step("encoder.ends", "stack", last, settings={"groups": count}, axes=axes, shape=shape, code=code)
    context = w.tap(context, model.context, code=code)
    w.part = "decoder.inputs"
    x, _ = layers(
        w, model.decoder.blocks, token_vectors(w, model.decoder.inputs, target), stack="decoder", context=context
    )
    return next_tokens(w, model, x, causal="target")


def layers(
    w: Writer, blocks: nn.ModuleList, x: Value, *, stack: str = "", context: Value | None = None
) -> tuple[Value, list[tuple[Value, Value]]]:
    """Layers that each read the hidden states of the one below; also the hidden states and cells of each."""
    ends = []
    for i, block in enumerate(blocks):
        w.part, start = f"{stack}.{i}.recurrent" if stack else f"{i}.recurrent", []
        if context is not None:
            code, name = line_in(Stack.forward, "starts[layer]"), w.name(block)
            state = part(w, f"{name}.start", context, i, code=code)
            start = [
                picked(w, f"{name}.start_{label}", state, at=at, code=code)
                for at, label in enumerate(("hidden", "cell"))
            ]
        x, cell = lstm(w, cast(LSTM, block), x, start)
        ends.append((x, cell))
    return x, ends


def next_tokens(w: Writer, model: Recurrent, x: Value, *, causal: str) -> Program:
    w.part = "output"
    source = RecurrentDecoder.next_tokens if isinstance(model, RecurrentDecoder) else Recurrent.forward
    logits = w.tap(vocabulary(w, model.head, x), model.logits, code=line_in(source, "self.logits("))
    return w.program(outputs={"logits": logits}, causal=(causal,))


def write_lstm_lm(w: Writer, model: LstmLm) -> Program:
    text, w.part = w.sequence("text"), "inputs"
    x, _ = layers(w, model.blocks, token_vectors(w, model.inputs, text))
    if model.classifier is None:
        return next_tokens(w, model, x, causal="text")
    w.part, code = "output", line_in(RecurrentDecoder.forward, "self.logits(")
    logits = w.tap(head(w, model.classifier, x), model.logits, code=code)
    return w.program(outputs={"logits": logits}, causal=("text",))


def write_bilstm(w: Writer, model: BiLstm) -> Program:
    text, inputs, w.part = w.sequence("text"), model.inputs, "inputs"
    token = token_vectors(w, inputs, text)
    x = added(w, inputs, [token, *capitals(w, inputs, text)])
    for i, block in enumerate(model.blocks):
        x = both_ways(w, cast(BothWays, block), x, place=str(i))
    w.part = "output"
    if model.head is None:
        return w.program(outputs={"hidden": x})
    if model.config.head == "sentence":
        x = whole(w, model, x)
    logits = w.tap(head(w, model.head, x), model.logits, code=line_in(BiLstm.forward, "self.logits("))
    return w.program(outputs={"logits": logits})


def whole(w: Writer, model: BiLstm, x: Value) -> Value:
    """The vector of a text: the last state of each direction, or a weighted mean of all states."""
    if model.attention is not None:
        code = line_in(BiLstm.whole, "self.attention(hidden, lengths)")
        return w.tap(attentive_pooling(w, model.attention, x), model.pooled, code=code)
    width, code = int(x.shape[-1]), line_in(BiLstm.whole, "ahead, back = ")
    last, first = (picked(w, f"pooled.{name}", x, at=at, code=code) for name, at in (("last", -1), ("first", 0)))
    ahead = columns(w, "pooled.ahead", last, 0, width // 2, code=code)
    back = columns(w, "pooled.back", first, width // 2, width, code=code)
    code = line_in(BiLstm.whole, "torch.cat([ahead, back]")
    both = w.step("pooled.both", "beside", [ahead, back], shape=(1, width), code=code)
    return w.tap(both, model.pooled, code=code)


def attentive_pooling(w: Writer, module: AttentivePooling, x: Value) -> Value:
    name, code = w.name(module), line_in(AttentivePooling.forward, "torch.tanh(self.key(hidden)) @ self.v")
    keys = linear(w, f"{name}.key.out", x, module.key.weight, module.key.bias, code=code)
    axes, shape = ("one", x.axes[0]), (1, x.shape[0])
    e = w.step(f"{name}.e", "additive_scores", [keys], weights=[module.v], axes=axes, shape=shape, code=code)
    code = line_in(AttentivePooling.forward, "self.weights(")
    a = w.step(f"{name}.softmax", "softmax", [w.tap(e, module.scores, code=code)], code=code)
    a = w.tap(a, module.weights, code=code)
    code, shape = line_in(AttentivePooling.forward, "@ hidden)"), (1, x.shape[-1])
    return w.step(f"{name}.mean", "weigh", [a, x], axes=("one", "width"), shape=shape, code=code)
