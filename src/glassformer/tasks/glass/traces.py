"""The trace of one explanation: what was recorded, in the terms of the model's program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from glassformer.explain.explanation import Explanation, Tokens
from glassformer.explain.glass.trace import Side, Subject, Trace
from glassformer.explain.programs.recorded import inputs_of, tapped_values
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.generation import LanguageModel
from glassformer.tasks.glass.readers import merges_of, side_of, spans_of, words_in
from glassformer.tasks.glass.writing import continuation, search_record
from glassformer.tasks.model import LoadedModel
from glassformer.tasks.translation.translator import Translator
from glassformer.text import Tokenizer

NOT_TOKENS = ("segments", "casing")  # sequences that say more about the tokens of another


def trace_of(model: LoadedModel, subject: Subject, found: Explanation, shown: Any, *, beam: int | None = None) -> Trace:
    inputs = inputs_of(subject.program, found.batch)
    values = tapped_values(subject.program, found.values, inputs)
    names = [name for name in subject.program.sequences if name not in NOT_TOKENS]
    sides, merges = {}, {}
    for name, tokens in zip(names, found.tokens.values(), strict=True):
        text = text_of(model, found, name)
        sides[name], merges[name] = looked_at(tokens, text, tokenizer_of(model, name), traced=name != "target")
    trace = Trace(
        text=found.text,
        answer=found.answer,
        inputs=inputs,
        sides=sides,
        values={name: np.ascontiguousarray(one, dtype=np.float32) for name, one in values.items()},
        written=found.written,
        predictions=found.predictions,
        score=found.score,
        merges={name: one for name, one in merges.items() if one},
        search=search_record(model, shown, beam=beam),
    )
    return continued(model, trace) if isinstance(model, LanguageModel) and model.continues_prompt else trace


def looked_at(
    tokens: Tokens, text: str | None, tokenizer: Tokenizer | None, *, traced: bool
) -> tuple[Side, list[dict[str, Any]]]:
    """The tokens of a sequence, and, if they are those of a text, how each of its words became its pieces."""
    side = side_of(tokens.pieces, tokens.ids, text, tokenizer)
    if not traced or text is None or tokenizer is None or words_in(text, tokens.ids, tokenizer) is None:
        return side, []
    side = replace(side, spans=tuple(spans_of(text, side, tokenizer)))
    return side, merges_of(text, side, tokens.ids, tokenizer)


def continued(model: LanguageModel, trace: Trace) -> Trace:
    """With what the model writes after the text; it is not part of the recorded pass."""
    answer, ids = continuation(model, trace.text)
    written = Tokens("target", tuple(model.tokenizer.pieces_of(ids)), tuple(ids))
    return replace(trace, answer=answer, written=written)


def tokenizer_of(model: LoadedModel, name: str) -> Tokenizer | None:
    """What turns the texts of a sequence into ids."""
    if name == "image":
        return None
    bundle = model.bundle
    return bundle.target or bundle.tokenizer if name == "target" else bundle.tokenizer


def text_of(model: LoadedModel, found: Explanation, name: str) -> str | None:
    """The text that the tokenizer saw for a sequence; None if it was not one text."""
    if name == "image":
        return None
    if name == "target":
        return found.answer
    if isinstance(model, Translator):
        return found.text.strip()
    return model.prepared(found.text) if isinstance(model, TextEncoder) else found.text
