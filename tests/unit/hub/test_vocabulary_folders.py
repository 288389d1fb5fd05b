"""Folders with nothing but tokenizer files, as GPT-2 and BERT were published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.tokenizers import tokenizer_in

MERGES = "#version: 0.2\nl o\nlo w\n"


@pytest.mark.parametrize("names", [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")])
def test_gpt2_files(tmp_path: Path, names: tuple[str, str]) -> None:
    ids = {piece: number for number, piece in enumerate(["l", "o", "w", "lo", "low", "Ġ"])}
    (tmp_path / names[0]).write_text(json.dumps(ids))
    (tmp_path / names[1]).write_text(MERGES)
    tokenizer = tokenizer_in(tmp_path)
    assert tokenizer.encode("low lo") == [4, 5, 3]
    assert [step.merged for step in tokenizer.trace("low").steps] == [("l", "o"), ("lo", "w")]


def test_bert_files(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlow\n##est\n")
    assert tokenizer_in(tmp_path).pieces("lowest") == ["low", "##est"]


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing")
    with pytest.raises(ImportingError, match=r"has no tokenizer\. It has notes\.md\. Expected tokenizer\.json"):
        tokenizer_in(tmp_path)
