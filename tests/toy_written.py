"""Small text-to-text tasks: say the last words of a sentence, and sentence pairs as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

from toy_corpus import toy_pairs
from toy_texts import sentences


def write_last_words(path: Path, *, count: int = 60) -> Path:
    """A sentence, and the adjective in it."""
    rows = [text for text, _ in sentences(count, seed=2)]
    path.write_text("".join(f"{text}\t{text.split()[3]}\n" for text in rows))
    return path


def write_written(path: Path) -> Path:
    """Pairs with the usual keys; every fifth input is a list of sentences, every third output two references."""
    rows = []
    for number, (source, target) in enumerate(toy_pairs()):
        first = [source, source] if number % 5 == 0 else source
        second = [target, f"{target} so"] if number % 3 == 0 else target
        rows.append(json.dumps({"source": first, "target": second}, ensure_ascii=False))
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path
