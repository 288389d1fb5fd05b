"""What the report of a tagger shows: scores by type, confusion of types, and the sentences with the most mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassformer.data.schemes import Span, spans_of
from glassformer.evaluate.classes import confusion
from glassformer.evaluate.entities import MISSED, scores_by_type, type_confusion
from glassformer.explain.report import ShownTable
from glassformer.tasks.evaluating import Evaluation

MOST_TYPES, MOST_WRONG, MOST_WORDS = 20, 15, 80  # limits for the report
NOTHING = "no entity"


def tag_tables(found: Evaluation, *, plain: bool) -> list[ShownTable]:
    """All tables of a report."""
    if plain:
        return [plain_confusion(found), *worst_sentences(found, plain=True)]
    return [type_table(found), confusion_table(found), *worst_sentences(found, plain=False)]


def type_table(found: Evaluation) -> ShownTable:
    rows = tuple(
        (one.kind, f"{one.f1:.1f}%", f"{one.precision:.1f}%", f"{one.recall:.1f}%", one.true, one.predicted)
        for one in scores_by_type(found.predictions, found.examples)
    )
    head = ("Type", "F1", "Precision", "Recall", "True entities", "Predicted")
    note = "An entity is right if its type, its first and its last word are right."
    return ShownTable("types", "Scores by type", note, head, rows)


def confusion_table(found: Evaluation) -> ShownTable:
    names, table = type_confusion(found.predictions, found.examples)
    note = "Words. Rows: the true type. Columns: the predicted type. Shaded by the share of the row."
    return shaded("Which types are confused", note, [name if name != MISSED else NOTHING for name in names], table)


def plain_confusion(found: Evaluation) -> ShownTable:
    """Words of all sentences, one by one."""
    predicted = [label for labels in found.predictions for label in labels]
    true = [(label,) for example in found.examples for label in example[-1]]
    names, table = confusion(predicted, true)
    note = "Words. Rows: the true label. Columns: the predicted label. Shaded by the share of the row."
    return shaded("Which labels are confused", note, [str(name) for name in names], table)


def shaded(title: str, note: str, names: Sequence[str], table: Any) -> ShownTable:
    often = sorted(np.argsort(-table.sum(axis=1), kind="stable")[:MOST_TYPES].tolist())
    rows: tuple[tuple[str | int, ...], ...] = tuple((names[i], *(int(table[i, j]) for j in often)) for i in often)
    cut = f" The {MOST_TYPES} most frequent of {len(names)}." if len(often) < len(names) else ""
    return ShownTable("confusion", title, note + cut, ("", *(names[j] for j in often)), rows, True)


def worst_sentences(found: Evaluation, *, plain: bool) -> list[ShownTable]:
    """The sentences with the most mistakes, with the words marked."""
    judged = [
        (mistakes(labels, example[-1], plain=plain), example, labels)
        for labels, example in zip(found.predictions, found.examples, strict=True)
    ]
    wrong = sorted((one for one in judged if one[0]), key=lambda one: -one[0])[:MOST_WRONG]
    rows = tuple(
        (count, marked(example[1], example[2], plain=plain), marked(example[1], labels, plain=plain))
        for count, example, labels in wrong
    )
    note = "[type words] is an entity." if not plain else "Each word has its label after a slash."
    head = ("Mistakes", "True", "Predicted")
    return [ShownTable("wrong", "The worst sentences", note, head, rows)] if rows else []


def mistakes(labels: Sequence[str], true: Sequence[str], *, plain: bool) -> int:
    """Entities that are missed or wrong, or words with a wrong label."""
    if plain:
        return sum(a != b for a, b in zip(labels, true, strict=True))
    ours, theirs = Counter(spans_of(labels)), Counter(spans_of(true))
    return (ours - theirs).total() + (theirs - ours).total()


def marked(words: Sequence[str], labels: Sequence[str], *, plain: bool) -> str:
    """`[PER Angela Merkel] visited [LOC Paris] .`"""
    if plain:
        parts = [f"{word}/{label}" for word, label in zip(words, labels, strict=True)]
    else:
        begins = {span[1]: span for span in spans_of(labels)}
        parts, at = [], 0
        while at < len(words):
            span: Span = begins.get(at, ("", at, at + 1))
            text = " ".join(words[at : span[2]])
            parts.append(f"[{span[0]} {text}]" if at in begins else text)
            at = span[2]
    return " ".join(parts[:MOST_WORDS]) + (" ..." if len(parts) > MOST_WORDS else "")
