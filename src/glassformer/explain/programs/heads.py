"""Steps of what reads the last hidden states."""

from __future__ import annotations

from torch import nn

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.layers import activation, activation_name, linear, norm
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.heads import (
    ClassHead,
    FirstTokenHead,
    LastTokenHead,
    MaskedWordsHead,
    SpanHead,
    VocabularyHead,
)


def vocabulary(w: Writer, module: VocabularyHead, x: Value) -> Value:
    """The logit of every token of the vocabulary."""
    code = line_in(VocabularyHead.forward, "linear(hidden, self.weight")
    return linear(w, f"{w.name(module)}.out", x, module.weight, module.bias, axis="vocabulary", code=code)


def picked(w: Writer, name: str, x: Value, *, at: int, code: str) -> Value:
    """One row as a matrix of one row."""
    axes, shape = ("one", *x.axes[1:]), (1, *x.shape[1:])
    return w.step(name, "pick", [x], settings={"at": at}, axes=axes, shape=shape, code=code)


def pooler(w: Writer, module: FirstTokenHead, x: Value) -> Value:
    """A vector for the whole input, from its first token."""
    name, code = w.name(module), line_in(FirstTokenHead.forward, "self.linear(hidden[:, 0])")
    x = picked(w, f"{name}.first", x, at=0, code=code)
    x = linear(w, f"{name}.linear.out", x, module.linear.weight, module.linear.bias, code=code)
    return activation(w, f"{name}.out", x, activation_name(module.activation), code=code)


def head(w: Writer, module: nn.Module, x: Value) -> Value:
    """The logits of a head: of words, of classes, of a span's ends."""
    if isinstance(module, MaskedWordsHead):
        return masked_words(w, module, x)
    if isinstance(module, LastTokenHead):
        code = line_in(LastTokenHead.forward, "last = hidden[")
        x = picked(w, f"{w.name(module)}.last", x, at=-1, code=code)
    assert isinstance(module, ClassHead | SpanHead | LastTokenHead)
    code = line_in(type(module).forward, "self.linear(")
    axis = "end" if isinstance(module, SpanHead) else "class"
    return linear(w, f"{w.name(module)}.out", x, module.linear.weight, module.linear.bias, axis=axis, code=code)


def masked_words(w: Writer, module: MaskedWordsHead, x: Value) -> Value:
    name, code = w.name(module), line_in(MaskedWordsHead.transformed, "self.norm(self.activation(")
    x = linear(w, f"{name}.linear.out", x, module.linear.weight, module.linear.bias, code=code)
    x = activation(w, f"{name}.activated", x, activation_name(module.activation), code=code)
    return vocabulary(w, module.vocabulary, norm(w, module.norm, x))
