"""Steps of what reads the last hidden states."""

from __future__ import annotations

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.layers import linear
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.heads import VocabularyHead


def vocabulary(w: Writer, module: VocabularyHead, x: Value) -> Value:
    """The logit of every token of the vocabulary."""
    code = line_in(VocabularyHead.forward, "linear(hidden, self.weight")
    return linear(w, f"{w.name(module)}.out", x, module.weight, module.bias, axis="vocabulary", code=code)
