"""Encoding, decoding, pieces and files of tokenizers that we train."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import tokenizers

from glassformer.errors import TokenizerError
from glassformer.text import BOS, EOS, PAD, SPECIAL_TOKENS, TOKENIZERS, UNK, Tokenizer, train_tokenizer

TEXTS = [
    "The cat, the dog (and a bird) don't mind: they're well-fed!",
    "Die Katze schläft – “gut”, sagt der Hund.",
    "बिल्ली क्षिप्र है। பூனை தூங்குகிறது.",
    "القطة نائمة، והחתול ישן. แมวหลับ 猫が寝ている。",
    "👨‍👩‍👧‍👦 and 🇩🇪 👍🏽 1️⃣",
] * 3


@pytest.fixture(scope="module", params=list(TOKENIZERS))
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(request.param, TEXTS, vocab_size=600)


def test_special_tokens_come_first(tokenizer: Tokenizer) -> None:
    assert [tokenizer.id(token) for token in (PAD, UNK, BOS, EOS)] == [0, 1, 2, 3]
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 1, 2, 3)
    assert [tokenizer.token(number) for number in range(4)] == list(SPECIAL_TOKENS)


def test_every_script_comes_back(tokenizer: Tokenizer) -> None:
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalize(text) == text


def test_spacing_comes_back(tokenizer: Tokenizer) -> None:
    for text in ("", " ", "The cat", " The  cat ", "   The dog   "):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_batches_equal_singles(tokenizer: Tokenizer) -> None:
    rows = tokenizer.encode_batch(TEXTS)
    assert rows == [tokenizer.encode(text) for text in TEXTS]
    assert tokenizer.decode_batch(rows) == TEXTS
    assert tokenizer.encode_batch([]) == tokenizer.decode_batch([]) == []


def test_one_piece_word_and_span_per_id(tokenizer: Tokenizer) -> None:
    for text in TEXTS:
        ids = tokenizer.encode(text)
        assert len(tokenizer.pieces(text)) == len(tokenizer.offsets(text)) == len(tokenizer.word_ids(text)) == len(ids)
        assert tokenizer.word_ids(text) == sorted(tokenizer.word_ids(text))
        spans = tokenizer.offsets(text)
        assert spans[0][0] == 0
        assert spans[-1][1] == len(text)
        assert all(start <= end <= len(text) for start, end in spans)


def test_decoding_leaves_special_tokens_out(tokenizer: Tokenizer) -> None:
    ids = [tokenizer.bos_id, *tokenizer.encode("The cat"), tokenizer.eos_id, tokenizer.pad_id]
    assert tokenizer.decode(ids) == "The cat"
    assert tokenizer.decode(np.array(ids)) == "The cat"


@pytest.mark.parametrize("text", ["</s>", "a<pad>b", "<s> The cat </s>", "<unk>", "The<s>cat"])
def test_text_never_makes_special_tokens(tokenizer: Tokenizer, text: str, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    for one in (tokenizer, Tokenizer.load(tmp_path / "tokenizer.json")):
        assert not {0, 2, 3} & set(one.encode(text))
        assert not {0, 2, 3} & set(one.encode_batch([text])[0])


def test_special_looking_text_comes_back_from_bpe() -> None:
    texts = ["<s> one </s> <pad> <unk>"] * 9  # even where training sees nothing else
    bpe = train_tokenizer("bpe", texts, vocab_size=400)
    assert bpe.decode(bpe.encode(texts[0])) == texts[0]
    assert not {0, 1, 2, 3} & set(bpe.encode(texts[0]))


def test_same_ids_after_save_and_load(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    again = Tokenizer.load(path)
    assert again.kind == tokenizer.kind
    assert len(again) == len(tokenizer)
    assert again.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)
    assert again.decode_batch(again.encode_batch(TEXTS)) == TEXTS
    assert again.fingerprint() == tokenizer.fingerprint()
    assert str(again.trace("Katze")) == str(tokenizer.trace("Katze"))
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_copies_and_other_processes_get_the_same(tokenizer: Tokenizer) -> None:
    for again in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert again.encode("The cat </s>") == tokenizer.encode("The cat </s>")
        assert str(again.trace("Katze")) == str(tokenizer.trace("Katze"))


def test_the_library_reads_the_file_alone(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in TEXTS:
        assert theirs.encode(text).ids == tokenizer.encode(text)
        assert theirs.decode(theirs.encode(text).ids) == text


def test_fingerprints_distinguish_tokenizers(tokenizer: Tokenizer) -> None:
    other = train_tokenizer(tokenizer.kind, TEXTS, vocab_size=600, lowercase=True)
    assert len(tokenizer.fingerprint()) == 64
    assert other.fingerprint() != tokenizer.fingerprint()


def test_unknown_words_and_characters() -> None:
    for kind in ("word", "char", "wordpiece"):
        one = train_tokenizer(kind, ["a b c d"] * 2, vocab_size=50)
        assert one.encode("a ж")[-1] == one.unk_id
        assert one.pieces("ж")[-1] == "<unk>"


def test_pieces_show_spaces_and_bytes() -> None:
    bpe = train_tokenizer("bpe", ["low lower"] * 3, vocab_size=300)
    assert bpe.pieces("low lower") == ["low", "▁lower"]
    assert bpe.pieces("é\n\t") == ["\\xc3", "\\xa9", "⏎", "⇥"]
    assert bpe.token(bpe.encode(" lower")[0]) == "Ġlower"
    char = train_tokenizer("char", ["a b\u0085"] * 2)
    assert char.pieces("a b\u0085") == ["a", "▁", "b", "\\x85"]


def test_word_keeps_words_and_attaches_punctuation() -> None:
    word = train_tokenizer("word", ["Hello, (big) world! It's well-known."] * 2)
    assert word.pieces("Hello, world!") == ["▁Hello", ",", "▁world", "!"]
    assert word.decode(word.encode("Hello, (big) world! It's well-known.")) == "Hello, (big) world! It's well-known."
    assert word.word_ids("Hello, world!") == [0, 1, 2, 3]
    assert word.offsets("Hello, world!") == [(0, 5), (5, 6), (6, 12), (12, 13)]


def test_long_words_are_no_danger() -> None:
    one = train_tokenizer("wordpiece", ["แมวหลับ"] * 2, vocab_size=50)
    text = "แมวหลับ" * 300
    assert one.decode(one.encode(text)) == text


def test_a_mark_in_the_text_becomes_a_low_line() -> None:
    one = train_tokenizer("word", ["a_b"] * 2)
    assert one.normalize("a▁b") == "a_b"
    assert one.decode(one.encode("a▁b")) == "a_b"


def test_normalize() -> None:
    assert train_tokenizer("bpe", TEXTS, vocab_size=300).normalize("e\u0301") == "é"
    assert train_tokenizer("bpe", TEXTS, vocab_size=300, normalization="none").normalize("e\u0301") == "e\u0301"
    assert train_tokenizer("word", TEXTS, normalization="NFKC", lowercase=True).normalize("ﬁX  y") == "fix  y"


@pytest.mark.parametrize("wrong", [-1, 10**6])
def test_ids_out_of_range(tokenizer: Tokenizer, wrong: int) -> None:
    for use in (tokenizer.token, lambda number: tokenizer.decode([0, number])):
        with pytest.raises(TokenizerError, match=f"id {wrong} is out of range: .* ids 0 to {len(tokenizer) - 1}"):
            use(wrong)
    with pytest.raises(TokenizerError, match="out of range"):
        tokenizer.decode_batch([[0], [wrong]])


@pytest.mark.parametrize("wrong", ["half \ud83d", None, 3, ["a"], ("a", "b")])
def test_what_is_no_text(tokenizer: Tokenizer, wrong: str) -> None:
    for use in (
        tokenizer.encode,
        tokenizer.normalize,
        tokenizer.pieces,
        lambda text: tokenizer.encode_batch(["a", text]),
    ):
        with pytest.raises(TokenizerError, match=r"surrogate|expected a text"):
            use(wrong)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "is not JSON"),
        (b"[1, 2]", "not a tokenizer"),
        (b'{"a": 1}', "not a tokenizer"),
        (b'{"model": {"type": "Nothing"}}', "not a tokenizer"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_files_that_are_no_tokenizer(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=message) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"there is no file .*nowhere\.json"):
        Tokenizer.load(tmp_path / "nowhere.json")


def test_merges_of_wordpiece_are_in_the_file(tmp_path: Path) -> None:
    train_tokenizer("wordpiece", ["low lower"] * 3, vocab_size=60).save(tmp_path / "tokenizer.json")
    merges = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["model"]["glassformer_merges"]
    assert merges[0].split(" ")[:2] == ["##e", "##r"]
