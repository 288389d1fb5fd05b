"""The tokenizers that the page's engine is tested with give the ids that Python's library gives now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from glass_tokenizer_cases import FILE, of_text

from glassformer.text import Tokenizer

CASES = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[one["name"] for one in CASES])
def test_the_stored_ids_are_those_of_the_library(case: dict[str, Any]) -> None:
    tokenizer = Tokenizer.from_json(json.dumps(case["file"]), origin="the fixture")
    for text, ids, words, _ in case["texts"]:
        assert of_text(tokenizer, text)[:2] == (ids, words)
