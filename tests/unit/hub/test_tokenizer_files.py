"""Tokenizer files of Hugging Face folders give the ids that `transformers` gives for them, and back."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import transformers
from torch import nn

from glassformer.errors import ImportingError, TokenizerError
from glassformer.hub.huggingface.marks import read_marks
from glassformer.hub.huggingface.tokenizers import read_tokenizers, tokenizer_files
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, frame_of
from marian_files import marian_tokenizer_files
from spm_files import BPE, BYTES, SPECIAL, WORDS, scored, write_spm

TEXTS = ["the Cat sät", "a 中文 dog's", "", "  he  sat.", "thing on", "日 ß"]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "Cat", "sat", "s", "##ät", "##at", "a", "中", "文"]
BERT += ["中文", "dog", "'", ".", "he", "th", "##ing", "on", "sät"]


def write(folder: Path, **files: Any) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    return frame_of(tokenizer).single(tokenizer.encode(text))


def check(folder: Path, theirs: Any, *, model_type: str, texts: list[str] = TEXTS) -> Tokenizer:
    """Ours of the folder, whose ids must be theirs, of texts and of pairs of texts, also after being written."""
    tokenizer, target = read_tokenizers(folder, {"model_type": model_type})
    assert tokenizer is not None
    assert target is None
    assert [ids_of(tokenizer, text) for text in texts] == [theirs(text)["input_ids"] for text in texts]
    pair = frame_of(tokenizer).pair(tokenizer.encode(texts[0]), tokenizer.encode(texts[1]))[0]
    assert pair == theirs(texts[0], texts[1])["input_ids"]
    marks = read_marks(folder, {}, tokenizer)
    again = written(tokenizer, marks, folder / "again", model_type)
    assert [again(text)["input_ids"] for text in texts] == [theirs(text)["input_ids"] for text in texts]
    assert {name: getattr(again, f"{name}_token") for name in ("cls", "eos", "pad")} == {
        name: getattr(theirs, f"{name}_token") if getattr(marks, name) is not None else None
        for name in ("cls", "eos", "pad")
    }
    return tokenizer


def written(tokenizer: Tokenizer, marks: SpecialIds, folder: Path, model_type: str) -> Any:
    """Our files, read by `transformers`."""
    folder.mkdir()
    for name, content in tokenizer_files(Bundle("gpt", nn.Identity(), tokenizer, marks)).items():
        (folder / name).write_bytes(content)
    write(folder, config__json={"model_type": model_type})
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize(
    "flags",
    [{}, {"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False}, {"unk_token": "[UNK]"}],
)
def test_bert(tmp_path: Path, flags: dict) -> None:
    config = {"tokenizer_class": "BertTokenizer", **flags}
    write(tmp_path, vocab__txt="\n".join(BERT) + "\n", tokenizer_config__json=config, config__json={})
    tokenizer = check(tmp_path, transformers.BertTokenizer.from_pretrained(tmp_path), model_type="bert")
    assert frame_of(tokenizer) == Frame((2,), (3,), (3,))
    assert tokenizer.id("中文") in tokenizer.encode("中文") or "tokenize_chinese_chars" not in flags


def gpt2_files(folder: Path, special: list[str], **config: Any) -> Path:
    merges = ["t h", "th e", "Ġ s", "Ġs a", "i n", "in g", "Ġ c", "Ġ the"]
    alphabet = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]
    vocab = [*special, *alphabet, *(merge.replace(" ", "") for merge in merges)]
    return write(
        folder,
        vocab__json={token: i for i, token in enumerate(vocab)},
        merges__txt="#version: 0.2\n" + "\n".join(merges) + "\n",
        tokenizer_config__json=config,
        config__json={},
    )


@pytest.mark.parametrize("config", [{}, {"add_prefix_space": True}, {"add_bos_token": True}])
def test_gpt2(tmp_path: Path, config: dict) -> None:
    gpt2_files(tmp_path, ["<|endoftext|>"], **config)
    check(tmp_path, transformers.GPT2Tokenizer.from_pretrained(tmp_path), model_type="gpt2")


def test_roberta(tmp_path: Path) -> None:
    gpt2_files(tmp_path, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], tokenizer_class="RobertaTokenizer")
    tokenizer = check(tmp_path, transformers.RobertaTokenizer.from_pretrained(tmp_path), model_type="roberta")
    assert frame_of(tokenizer) == Frame((0,), (2, 2), (2,))


def test_a_tokenizer_json_wins_over_other_files(tmp_path: Path) -> None:
    write(tmp_path, vocab__txt="\n".join(BERT))
    one = read_tokenizers(tmp_path, {"model_type": "bert"})[0]
    assert one is not None
    one.save(tmp_path / "tokenizer.json")
    write(tmp_path, vocab__txt="nonsense")
    again = read_tokenizers(tmp_path, {"model_type": "bert"})[0]
    assert again is not None
    assert frame_of(again) == Frame((2,), (3,), (3,))
    assert again.encode("the cat") == one.encode("the cat")


@pytest.mark.parametrize("flags", [{"add_bos_token": False}, {"add_eos_token": True}])
def test_a_tokenizer_json_wins_over_flags(tmp_path: Path, flags: dict) -> None:
    write_spm(tmp_path / "tokenizer.model", [*SPECIAL, *scored()], kind=BPE)
    framed = read_tokenizers(tmp_path, {"model_type": "llama"})[0]
    assert framed is not None
    framed.save(tmp_path / "tokenizer.json")
    write(tmp_path, tokenizer_config__json={"bos_token": "<s>", "eos_token": "</s>", **flags}, config__json={})
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    tokenizer = check(tmp_path, theirs, model_type="llama", texts=["the cat", "he sat on the mat", "a dog"])
    assert frame_of(tokenizer) == Frame((1,), (1,), ())


@pytest.mark.parametrize(
    ("flags", "frame"),
    [({}, Frame((1,), (1,))), ({"add_bos_token": False, "add_eos_token": True}, Frame((), (2,), (2,)))],
)
def test_flags_where_no_tokenizer_json_is(tmp_path: Path, flags: dict, frame: Frame) -> None:
    write_spm(tmp_path / "tokenizer.model", [*SPECIAL, *scored()], kind=BPE)
    write(tmp_path, tokenizer_config__json=flags)
    tokenizer = read_tokenizers(tmp_path, {"model_type": "llama"})[0]
    assert tokenizer is not None
    assert frame_of(tokenizer) == frame


SPM_TEXTS = ["the cat sat on the mat.", "a dog, he", "ß ing", "日 on"]


def test_llama_from_its_sentencepiece_file(tmp_path: Path) -> None:
    write_spm(
        tmp_path / "tokenizer.model", [*SPECIAL, *BYTES, *scored()], kind=BPE, byte_fallback=True, remove_spaces=False
    )
    tokenizer, _ = read_tokenizers(tmp_path, {"model_type": "llama"})
    assert tokenizer is not None
    assert frame_of(tokenizer) == Frame((1,), (1,), ())
    assert ids_of(tokenizer, "the cat ") == [1, 286, 267, 268, 262, 259]
    marks = read_marks(tmp_path, {"bos_token_id": 1, "eos_token_id": [2, 7]}, tokenizer)
    assert (marks.bos, marks.eos, marks.pad) == (1, 2, None)
    again = written(tokenizer, marks, tmp_path / "again", "llama")
    assert [again(text)["input_ids"] for text in SPM_TEXTS] == [ids_of(tokenizer, text) for text in SPM_TEXTS]


def t5_files(folder: Path) -> None:
    pieces = [("<pad>", 0.0, 3), ("</s>", 0.0, 3), ("<unk>", 0.0, 2), *scored()]
    write_spm(folder / "spiece.model", pieces)
    write(folder, tokenizer_config__json={"extra_ids": 7, "eos_token": "</s>"}, config__json={})


def test_t5_from_its_sentencepiece_file(tmp_path: Path) -> None:
    t5_files(tmp_path)
    tokenizer, _ = read_tokenizers(tmp_path, {"model_type": "t5"})
    assert tokenizer is not None
    assert len(tokenizer) == 3 + len(WORDS) + 7
    assert (tokenizer.id("<extra_id_6>"), tokenizer.id("<extra_id_0>")) == (36, 42)
    assert ids_of(tokenizer, "the cat sat on the mat.") == [4, 6, 7, 8, 4, 9, 19, 1]


def test_t5_and_llama_as_transformers_reads_them(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece", reason="transformers reads these files with it")
    pytest.importorskip("google.protobuf", reason="transformers reads these files with it")
    t5_files(tmp_path)
    theirs = transformers.T5Tokenizer.from_pretrained(tmp_path, extra_ids=7)
    tokenizer, _ = read_tokenizers(tmp_path, {"model_type": "t5"})
    assert tokenizer is not None
    assert [theirs(text)["input_ids"] for text in SPM_TEXTS] == [ids_of(tokenizer, text) for text in SPM_TEXTS]
    (tmp_path / "spiece.model").unlink()
    write_spm(
        tmp_path / "tokenizer.model", [*SPECIAL, *BYTES, *scored()], kind=BPE, byte_fallback=True, remove_spaces=False
    )
    write(tmp_path, tokenizer_config__json={"add_bos_token": True})
    llama = transformers.LlamaTokenizer.from_pretrained(tmp_path)
    tokenizer, _ = read_tokenizers(tmp_path, {"model_type": "llama"})
    assert tokenizer is not None
    assert [llama(text)["input_ids"] for text in SPM_TEXTS] == [ids_of(tokenizer, text) for text in SPM_TEXTS]


MARIAN = ["the cat sat on the mat.", "die Katze saß auf", "a dot, der Hut", ">>deu<< the dot", "日 x"]


def test_marian(tmp_path: Path) -> None:
    marian_tokenizer_files(tmp_path)
    source, target = read_tokenizers(tmp_path, {"model_type": "marian"})
    assert source is not None
    assert target is not None
    assert len(source) == len(target)
    assert [source.token(i) for i in ids_of(source, MARIAN[3])] == [">>deu<<", "▁the", "▁", "d", "o", "t", "</s>"]
    assert [target.token(i) for i in ids_of(target, MARIAN[1])] == ["▁die", "▁Katze", "▁saß", "▁a", "uf", "</s>"]
    assert target.decode(target.encode(MARIAN[1])) == MARIAN[1]
    marks = read_marks(tmp_path, {"decoder_start_token_id": len(source) - 1}, source)
    assert (marks.eos, marks.unk, marks.pad, marks.start, marks.bos) == (None, None, None, len(source) - 1, None)


def test_marian_as_transformers_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece", reason="transformers reads these files with it")
    marian_tokenizer_files(tmp_path)
    with warnings.catch_warnings():  # it misses a package that it does not need
        warnings.simplefilter("ignore")
        theirs = transformers.MarianTokenizer.from_pretrained(tmp_path)
    source, target = read_tokenizers(tmp_path, {"model_type": "marian"})
    assert source is not None
    assert target is not None
    for text in MARIAN:  # no two neighbouring letters that a side does not know: those are taken one by one here
        if text != MARIAN[1] and text != MARIAN[2]:
            assert ids_of(source, text) == theirs(text)["input_ids"]
        assert ids_of(target, text) == theirs(text_target=text)["input_ids"]


def test_added_tokens_go_on_with_the_numbers(tmp_path: Path) -> None:
    write(tmp_path, vocab__txt="\n".join(BERT), added_tokens__json={"<new>": len(BERT), "<newer>": len(BERT) + 1})
    tokenizer, _ = read_tokenizers(tmp_path, {"model_type": "bert"})
    assert tokenizer is not None
    assert (len(tokenizer), tokenizer.id("<newer>")) == (len(BERT) + 2, len(BERT) + 1)
    write(tmp_path, added_tokens__json={"<new>": len(BERT) + 5})
    with pytest.raises(ImportingError, match="'<new>' should have the id 29, but ids end before it"):
        read_tokenizers(tmp_path, {"model_type": "bert"})


def test_errors_say_what_is_wrong(tmp_path: Path) -> None:
    assert read_tokenizers(tmp_path, {"model_type": "vit"}) == (None, None)
    write(tmp_path, vocab__txt="[PAD]\n[UNK]\nthe")
    with pytest.raises(ImportingError, match=r"has no \[CLS\]"):
        read_tokenizers(tmp_path, {"model_type": "bert"})
    write(tmp_path, tokenizer__json="{")
    with pytest.raises(TokenizerError, match="is not JSON"):
        read_tokenizers(tmp_path, {"model_type": "bert"})


def test_ids_that_are_not_those_of_the_file_need_the_other_file(tmp_path: Path) -> None:
    write_spm(tmp_path / "sentencepiece.bpe.model", [*SPECIAL, *scored()])
    with pytest.raises(ImportingError, match=r"tokenizer.json is needed"):
        read_tokenizers(tmp_path, {"model_type": "xlm-roberta"})
