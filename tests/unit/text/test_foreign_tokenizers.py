"""Files that others made: GPT-2, BERT, Unigram, and what their special tokens are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from glassformer.errors import TokenizerError
from glassformer.text import Tokenizer
from glassformer.text.vocabulary_files import bert_tokenizer, gpt2_tokenizer

GPT2_IDS = {"!": 0, "Hello": 15496, "ĠDeep": 10766, "ĠLearning": 18252, "<|endoftext|>": 20000}


def _gpt2_files(folder: Path) -> tuple[Path, Path]:
    """A small vocabulary in GPT-2's format, with four of GPT-2's tokens under GPT-2's own ids."""
    words = [token for token in GPT2_IDS if token[-1].isalpha()]
    merges = [(word[:end], word[end]) for word in words for end in range(1, len(word))]
    needed = {piece for pair in merges for piece in (*pair, "".join(pair))} - set(GPT2_IDS)
    free = (number for number in range(20001) if number not in GPT2_IDS.values())
    vocabulary = GPT2_IDS | dict(zip(sorted(needed), free, strict=False))
    vocabulary |= {f"unused{number}": number for number in free}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges), ""]
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder / "vocab.json", folder / "merges.txt"


def test_gpt2_files(tmp_path: Path) -> None:
    gpt2 = gpt2_tokenizer(*_gpt2_files(tmp_path))
    text = "Hello Deep Learning!"
    assert gpt2.encode(text) == [15496, 10766, 18252, 0]
    assert [gpt2.token(number) for number in gpt2.encode(text)] == ["Hello", "ĠDeep", "ĠLearning", "!"]
    assert gpt2.pieces(text) == ["Hello", "▁Deep", "▁Learning", "!"]
    assert gpt2.decode(gpt2.encode(text)) == text
    assert (gpt2.kind, gpt2.pad_id, gpt2.unk_id, gpt2.bos_id, gpt2.eos_id) == ("bpe", None, None, 20000, 20000)
    assert gpt2.trace(text).steps[-1].after == ("Hello", "▁Deep", "▁Learning", "!")


def test_gpt2_files_that_do_not_fit(tmp_path: Path) -> None:
    vocabulary, merges = _gpt2_files(tmp_path)
    merges.write_text("no such pair of pieces\n", encoding="utf-8")
    with pytest.raises(TokenizerError, match="not GPT-2's vocabulary and merges"):
        gpt2_tokenizer(vocabulary, merges)


def test_bert_vocab(tmp_path: Path) -> None:
    pieces = [
        "[PAD]",
        "[unused0]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "hello",
        "deep",
        "learn",
        "##ing",
        "!",
        "[",
        "]",
    ]
    (tmp_path / "vocab.txt").write_text("\n".join([*pieces, ""]), encoding="utf-8")
    bert = bert_tokenizer(tmp_path / "vocab.txt", lowercase=True)
    assert len(bert) == len(pieces)
    assert bert.pieces("Hello Deep Learning!") == ["hello", "deep", "learn", "##ing", "!"]
    assert bert.decode(bert.encode("Hello Deep Learning!")) == "hello deep learning!"
    assert (bert.kind, bert.pad_id, bert.unk_id, bert.bos_id, bert.eos_id) == ("wordpiece", 0, 2, 3, 4)
    assert not {0, 3, 4, 5} & set(bert.encode("[CLS] hello [SEP] [PAD] [MASK]"))
    assert bert.trace("learning").steps[0].tried == ("learning", "learnin", "learni", "learn")
    assert bert.trace("learning").steps[0].after == ("learn", "##ing")
    assert bert_tokenizer(tmp_path / "vocab.txt", lowercase=False).pieces("Deep") == ["[UNK]"]


def test_bert_vocab_without_unknown(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("hello\n", encoding="utf-8")
    with pytest.raises(TokenizerError, match=r"has no \[UNK\]"):
        bert_tokenizer(tmp_path / "vocab.txt")


@pytest.fixture(scope="module")
def unigram_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Unigram tokenizer as SentencePiece users have it: made with the library alone."""
    inner = tokenizers.Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=["<unk>", "<pad>", "</s>"], unk_token="<unk>", show_progress=False
    )
    inner.train_from_iterator(["the lowest newest and widest slower tests </>"] * 20, trainer)
    inner.enable_padding(length=30)
    inner.enable_truncation(3)
    path = tmp_path_factory.mktemp("unigram") / "tokenizer.json"
    inner.save(str(path))
    return path


def test_unigram_files(unigram_file: Path) -> None:
    unigram = Tokenizer.load(unigram_file)
    assert unigram.kind == "unigram"
    assert (unigram.pad_id, unigram.unk_id, unigram.bos_id, unigram.eos_id) == (1, 0, None, 2)
    text = "the slowest tests and the widest"
    assert unigram.decode(unigram.encode(text)) == text  # the file's own padding and truncation are not used
    assert unigram.pieces("the")[0].startswith("▁")


def test_unigram_trace_adds_up(unigram_file: Path) -> None:
    trace = Tokenizer.load(unigram_file).trace("slowest")
    assert trace.steps[-1].after == trace.pieces
    assert all(step.score is not None and step.score < 0 for step in trace.steps)


def test_text_never_makes_special_tokens_of_a_unigram_file(unigram_file: Path) -> None:
    """Its vocabulary holds `</s>` beside the ordinary pieces, so a plain lookup would find it."""
    unigram = Tokenizer.load(unigram_file)
    for text in ("</s>", "the </s> test<pad>"):
        for ids in (unigram.encode(text), unigram.encode_batch([text, "the"])[0]):
            assert not {1, 2} & set(ids)
    assert unigram.decode(unigram.encode("the </s>")) == "the </s>"


def test_special_tokens_that_a_file_adds_are_not_added(tmp_path: Path) -> None:
    inner = tokenizers.Tokenizer(models.WordLevel({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    inner.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    inner.save(str(tmp_path / "tokenizer.json"))
    word = Tokenizer.load(tmp_path / "tokenizer.json")
    assert word.kind == "word"
    assert word.encode("a a") == [3, 3]
    assert word.encode("a [SEP] a") == [3, 0, 3]


def test_text_never_makes_special_tokens_of_a_bpe_file(tmp_path: Path) -> None:
    """Merges that lead to a special token, as training on text that holds it can make."""
    vocabulary = {"<": 0, "s": 1, ">": 2, "<s": 3, "<s>": 4}
    inner = tokenizers.Tokenizer(models.BPE(vocabulary, [("<", "s"), ("<s", ">")]))
    inner.add_special_tokens(["<s>"])
    inner.save(str(tmp_path / "tokenizer.json"))
    bpe = Tokenizer.load(tmp_path / "tokenizer.json")
    assert bpe.bos_id == 4
    assert bpe.encode("<s>") == bpe.encode_batch(["<s>"])[0] == [3, 2]


def test_files_from_windows(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\r\nhello\r\n")
    assert bert_tokenizer(tmp_path / "vocab.txt").encode("hello") == [1]


def test_a_regular_expression_that_takes_too_long_is_called_so() -> None:
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("(a+)+$"), "isolated")
    for encode in (lambda text: Tokenizer(inner).encode(text), lambda text: Tokenizer(inner).encode_batch([text])):
        with pytest.raises(TokenizerError, match=r"regular expression of the tokenizer takes too long on this text"):
            encode("a" * 40 + "!")
