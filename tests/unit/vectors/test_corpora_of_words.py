"""Words of a text: any script, rare ones left out, the same from memory and from a stream."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from glassformer.errors import DataError
from glassformer.vectors.corpus import END, corpus_of, read_corpus
from glassformer.vectors.words import splitter

TEXT = "The cat sat.\nThe dog, the CAT!\n\nA mouse"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop: 3.5 x_y", ["don't", "stop", "3", "5", "x", "y"]),
        ("L’eau — naïve", ["l’eau", "naïve"]),
        ("नमस्ते दुनिया!", ["नमस्ते", "दुनिया"]),
        ("வணக்கம், உலகம்", ["வணக்கம்", "உலகம்"]),
        ("你好world", ["你", "好", "world"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("a\nb", ["a", "\n", "b"]),
    ],
)
def test_words_of_any_script(text: str, words: list[str]) -> None:
    assert splitter()(text) == words


def test_spaces_keep_what_is_between_them() -> None:
    assert splitter(split="spaces", lower=False)("The <unk> , end.\n") == ["The", "<unk>", ",", "end.", "\n"]


def test_words_are_numbered_by_frequency_and_lines_end() -> None:
    corpus = corpus_of([f"{TEXT}\n"], min_count=1)
    assert corpus.words == ("the", "cat", "a", "dog", "mouse", "sat")
    assert corpus.counts.tolist() == [3, 2, 1, 1, 1, 1]
    assert corpus.ids.tolist() == [0, 1, 5, END, 0, 3, 0, 1, END, END, 2, 4, END]


def test_rare_words_are_left_out_of_the_text() -> None:
    corpus = corpus_of([f"{TEXT}\n"], min_count=2)
    assert corpus.words == ("the", "cat")
    assert (corpus.tokens, corpus.read, corpus.distinct) == (5, 9, 6)
    assert corpus.ids.tolist() == [0, 1, END, 0, 0, 1, END, END, END]
    assert corpus_of([TEXT], min_count=1, most_words=1).words == ("the",)


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_equals_memory(tmp_path: Path, packed: bool) -> None:
    text = "".join(f"word{i % 7} and word{i % 11} again\n" for i in range(3000))
    path = tmp_path / ("text.gz" if packed else "text.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    told: list[tuple[int, int]] = []
    streamed = read_corpus([str(path)], in_memory=100, folder=tmp_path, progress=lambda *at: told.append(at))
    whole = corpus_of([text])
    assert isinstance(streamed.ids, np.memmap)
    assert np.array_equal(streamed.ids, whole.ids)
    assert streamed.words == whole.words
    assert told[-1][0] == told[-1][1] == path.stat().st_size
    assert [one.name for one in tmp_path.iterdir()] == [path.name], "the temporary file has no name"


def test_a_column_of_a_table_and_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("year\ttext\n1900\tone two\n1901\ttwo\n", encoding="utf-8")
    read = read_corpus([str(table)], columns=("text",), min_count=1)
    assert (read.words, read.ids.tolist()) == (("two", "one"), [1, 0, END, 0, END])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one two\ntwo\n\xff\n")))
    piped = read_corpus(["-"], min_count=1)
    assert piped.ids.tolist() == read.ids.tolist()
    assert piped.unusable == 1


@pytest.mark.parametrize(
    ("text", "told"), [("", "no words"), ("... !!!", "no words"), ("a b c", "no word occurs 5 times")]
)
def test_nothing_to_learn_from(text: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        corpus_of([text])
