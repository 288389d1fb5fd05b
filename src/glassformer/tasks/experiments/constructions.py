"""Labelled texts from the built-in phrasebook: which construction a sentence has. Runs without any download."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from glassformer.data.phrasebook import Phrase, phrasebook
from glassformer.store import files
from glassformer.tasks.experiments.transfer import TransferData

CLASSES, EACH = 16, 8  # classes, and labelled sentences of each
TEXTS, TESTED = 30_000, 1_000
NAMES = ("labelled.tsv", "test.tsv", "texts.jsonl")


def written_constructions(folder: Path, *, progress: Callable[[int, int], None] | None = None) -> TransferData:
    """Writes labelled.tsv, test.tsv and texts.jsonl. Test sentences are combinations that no other file has."""
    given = [(str(folder / name),) for name in NAMES]
    data = TransferData(given[0], given[1], given[2], columns="text,label", text_column="text")
    if all((folder / name).is_file() for name in NAMES):
        return data
    book = phrasebook(train=TEXTS, valid=0, test=TESTED, progress=progress)
    common = [name for name, _ in Counter(one.construction for one in book.train).most_common(CLASSES)]
    labelled = [one for name in common for one in [p for p in book.train if p.construction == name][:EACH]]
    test = [one for one in book.test if one.construction in common]
    texts = "".join(json.dumps({"text": one.source}) + "\n" for one in book.train)
    for name, text in zip(NAMES, (table(labelled), table(test), texts), strict=True):
        files.make_parents(folder / name)
        files.write_atomically(folder / name, text.encode())
    return data


def table(phrases: Sequence[Phrase]) -> str:
    return "text\tlabel\n" + "".join(f"{one.source}\t{one.construction}\n" for one in phrases)
