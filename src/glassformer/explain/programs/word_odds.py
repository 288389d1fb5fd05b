"""Steps of what the words of a text say by themselves about its class."""

from __future__ import annotations

from glassformer.explain.code_lines import line_in
from glassformer.explain.programs.writer import Value, Writer
from glassformer.nn.word_odds import WordOdds


def with_word_odds(w: Writer, module: WordOdds, logits: Value, text: Value) -> Value:
    name, table = w.name(module), module.table
    code = line_in(WordOdds.forward, "self.table[rows]")
    axes, shape = ("one", "class"), (1, table.size(1))
    odds = w.step(f"{name}.summed", "word_odds", [text], weights=[table], axes=axes, shape=shape, code=code)
    odds = w.tap(odds, module.log_odds, code=code)
    weights, code = [module.sure, module.shares], line_in(WordOdds.mixed, "self.sure * logits")
    return w.step(f"{name}.mixed", "with_odds", [logits, odds], weights=weights, code=code)
