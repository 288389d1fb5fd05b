"""Small tokenizers with the ids of odd texts: a page must give the same ids (glass/test/tokenize.test.ts).

`python tests/unit/explain/glass_tokenizer_cases.py` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glassformer.tasks.glass.readers import PROBES, read_by
from glassformer.text import Tokenizer
from glassformer.text.training import train_tokenizer

FILE = Path(__file__).parents[3] / "glass" / "test" / "fixtures" / "tokenizers.json"
LINES = (
    "the old dog sees the cat",
    "größer naïve don't 12 345",
    "你好 日本語 한국어",
    "नमस्ते 👍🏽 e\u0301a",
    "a b c A B C . , ; !",
)
TEXTS = LINES * 3
ODD = ("👩‍👩‍👧 🇩🇪🇫🇷 ❤️ x", "e\u0301\u0308e", "\r\n\u0301", "각한", " ▁ ", "İstanbul ẞ", "\u200d\u200c", "1️⃣ ©️")


def made() -> Iterator[dict[str, Any]]:
    for kind, lowercase in (("bpe", False), ("wordpiece", True), ("word", True), ("char", False)):
        size = 300 if kind == "bpe" else 150
        yield case(train_tokenizer(kind, TEXTS, vocab_size=size, lowercase=lowercase), kind)


def case(tokenizer: Tokenizer, name: str) -> dict[str, Any]:
    found = read_by(tokenizer)
    texts = [text for text in (*PROBES, *ODD) if text]
    return {
        "name": name,
        "file": json.loads(found.file),
        "shown": list(found.shown),
        "silent": list(found.silent),
        "texts": [[text, *of_text(tokenizer, text)] for text in texts],
    }


def of_text(tokenizer: Tokenizer, text: str) -> tuple[list[int], list[int], str]:
    ids = tokenizer.encode(text)
    return ids, tokenizer.word_ids(text), tokenizer.decode(ids)


if __name__ == "__main__":
    FILE.write_text(json.dumps(list(made()), separators=(",", ":")) + "\n")
