"""`explain` for translators: one text recorded at all taps, and the tree of its beam search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glassformer.config import check_arguments
from glassformer.data.batches import EncodedPairs, Ragged
from glassformer.decode.settings import GenerationSettings
from glassformer.decode.tree import Branching, Continuing, watched
from glassformer.errors import DataError
from glassformer.explain.beam_tree import BeamTree, Option, Row, beginnings_of
from glassformer.explain.explanation import Explanation
from glassformer.explain.recording import names_of, record_writing, tokens_of
from glassformer.tasks.translation.constraints import Request, Sentences
from glassformer.tasks.translation.translator import Translator
from glassformer.text import Tokenizer

TREE_BEAM = 5  # instead of 1: a greedy search has no branches


def explain(translator: Translator, text: str, *, beam: int | None, top: int) -> Explanation:
    """Records one pass over a text and its translation."""
    check_arguments(GenerationSettings, {"top": top})
    row = row_of(translator, text)
    best = translator.search_ids([row], beam=beam)[0][0]
    marks = translator.source_marks, translator.target_marks
    written = [*best.ids, *([marks[1].eos] if best.finished else [])]
    read = [*row, marks[0].eos]
    if getattr(translator.recipe.model, "reverse_source", False):
        read.reverse()  # the order in which the model reads it
    pair = EncodedPairs(Ragged.of([row]), Ragged.of([written[:-1]]), *marks)
    return record_writing(
        translator.model,
        pair.batch(np.array([0])).to(translator.device),
        kind=translator.kind_name,
        text=text,
        answer=translator.target.decode(best.ids),
        source=tokens_of("source", read, names_of(translator.source)),
        start=marks[1].bos,
        written=written,
        name=names_of(translator.target),
        top=top,
    )


def row_of(translator: Translator, text: str) -> list[int]:
    row = translator.source.encode(text.strip())
    if not row:
        raise DataError("Nothing to explain: the text is blank.")
    return row


def beam_tree(translator: Translator, text: str, *, beam: int | None) -> BeamTree:
    """Every hypothesis that the search for this text's translation followed. A beam of 1 becomes `TREE_BEAM`."""
    request, widened = widened_request(translator, beam)
    task, target = translator.task(Sentences.of_ids([row_of(translator, text)]), request), translator.target
    tree, found = watched(task)
    best, nodes, eos = found[0][0], tree.nodes.get(0, [])[1:], task.eos
    return BeamTree(
        text=text,
        translation=target.decode(best.ids),
        beam=request.width,
        widened=widened,
        beginnings=beginnings_of(
            nodes,
            target.pieces_of([node.token for node in nodes]),
            [math.exp(node.log_prob) for node in nodes],
            eos=eos,
            best=(*best.ids, *((eos,) if best.finished else ())),
        ),
        steps=named_steps(tree.steps.get(0, []), target),
    )


def widened_request(translator: Translator, beam: int | None) -> tuple[Request, bool]:
    """The usual request, but with at least `TREE_BEAM` hypotheses instead of one; and whether it is wider."""
    asked = Request(translator.recipe.decode, beam=beam)
    return (asked, False) if asked.width > 1 else (replace(asked, beam=TREE_BEAM), True)


def named_steps(steps: Sequence[Sequence[Branching]], target: Tokenizer) -> tuple[tuple[Row, ...], ...]:
    """The candidates of each step, as pieces."""

    def option(one: Continuing) -> Option:
        (piece,) = target.pieces_of([one.token])
        return Option(piece, math.exp(one.log_prob), one.sum, one.fate, one.rule, one.node)

    return tuple(tuple(Row(row.node, tuple(map(option, row.candidates))) for row in step) for step in steps)
