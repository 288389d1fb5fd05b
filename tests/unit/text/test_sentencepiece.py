"""SentencePiece files: the ids are those that the library of that name gives for the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.errors import TokenizerError
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, frame_of, with_frame
from glassformer.text.sentencepiece import read_sentencepiece, tokenizer_of
from spm_files import BPE, BYTES, SPECIAL, scored, write_spm

TEXTS = ["the cat sat on the mat.", "  a  dog,  hating ", "ßig 日本 ing", "", "the\tdog", "<s> he </s>"]
HAT = ("hat", 0.0, 4)
RECORDED = {  # by sentencepiece 0.2.2
    "unigram": [
        [4, 6, 7, 8, 4, 9, 19], [5, 33, 20, 29, 24, 26], [35, 21, 22, 3, 0, 3, 26], [], [4, 0, 23, 32],
        [3, 0, 15, 0, 28, 3, 0, 15, 0],
    ],
    "bpe": [
        [30, 11, 12, 6, 3, 15, 24, 3, 16, 17, 30, 11, 12, 3, 18, 24, 19], [5, 3, 23, 32, 20, 29, 24, 26],
        [35, 21, 22, 3, 0, 3, 26], [], [30, 11, 12, 0, 23, 32], [3, 0, 15, 0, 28, 3, 0, 15, 0],
    ],
    "bpe, bytes, spaces kept": [
        [286, 267, 268, 262, 259, 271, 280, 259, 272, 273, 286, 267, 268, 259, 274, 280, 275],
        [259, 259, 261, 259, 259, 279, 288, 276, 259, 285, 280, 282, 259],
        [291, 277, 278, 259, 233, 154, 168, 233, 159, 175, 259, 282], [], [286, 267, 268, 12, 279, 288],
        [259, 63, 271, 65, 284, 259, 63, 50, 271, 65],
    ],
    "unigram, bytes, no space before": [
        [266, 267, 268, 262, 263, 264, 260, 265, 275], [270, 289, 276, 285, 280, 282],
        [290, 277, 278, 259, 233, 154, 168, 233, 159, 175, 259, 282], [], [266, 267, 268, 12, 279, 288],
        [63, 271, 65, 284, 259, 63, 50, 271, 65],
    ],
    "unigram, hat": [
        [4, 6, 7, 8, 4, 9, 19], [5, 33, 20, 3, 36, 26], [35, 21, 22, 3, 0, 3, 26], [], [4, 0, 23, 32],
        [3, 0, 15, 0, 28, 3, 0, 15, 0],
    ],
    "bpe, hat": [
        [30, 11, 12, 6, 3, 15, 24, 3, 16, 17, 30, 11, 12, 3, 18, 24, 19], [5, 3, 23, 32, 20, 3, 36, 26],
        [35, 21, 22, 3, 0, 3, 26], [], [30, 11, 12, 0, 23, 32], [3, 0, 15, 0, 28, 3, 0, 15, 0],
    ],
}  # fmt: skip
SETTINGS: dict[str, dict] = {
    "unigram": {},
    "bpe": {"kind": BPE},
    "bpe, bytes, spaces kept": {"kind": BPE, "byte_fallback": True, "remove_spaces": False},
    "unigram, bytes, no space before": {"byte_fallback": True, "dummy_prefix": False},
    "unigram, hat": {},
    "bpe, hat": {"kind": BPE},
}


def written(name: str, path: Path) -> Path:
    pieces = [*SPECIAL, *(BYTES if "bytes" in name else []), *scored(), *([HAT] if "hat" in name else [])]
    write_spm(path, pieces, **SETTINGS[name])
    return path


@pytest.mark.parametrize("name", SETTINGS)
def test_the_ids_are_those_of_the_library(tmp_path: Path, name: str) -> None:
    tokenizer = Tokenizer(tokenizer_of(read_sentencepiece(written(name, tmp_path / "spiece.model"))))
    assert [tokenizer.encode(text) for text in TEXTS] == RECORDED[name]
    assert tokenizer.encode_batch(TEXTS) == RECORDED[name]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_records_are_right(tmp_path: Path, name: str) -> None:
    library = pytest.importorskip("sentencepiece", reason="the records were made with it")
    processor = library.SentencePieceProcessor(model_file=str(written(name, tmp_path / "spiece.model")))
    assert [processor.encode(text) for text in TEXTS] == RECORDED[name]


def test_text_comes_back_with_its_bytes(tmp_path: Path) -> None:
    path = written("bpe, bytes, spaces kept", tmp_path / "tokenizer.model")
    tokenizer = Tokenizer(tokenizer_of(read_sentencepiece(path)))
    for text in ("the cat 日本", "  two  spaces ", "ß\n"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_file_survives_being_saved(tmp_path: Path) -> None:
    for name in SETTINGS:
        tokenizer = Tokenizer(tokenizer_of(read_sentencepiece(written(name, tmp_path / "spiece.model"))))
        tokenizer.save(tmp_path / "tokenizer.json")
        assert [Tokenizer.load(tmp_path / "tokenizer.json").encode(text) for text in TEXTS] == RECORDED[name]


def test_numbers_of_another_vocabulary(tmp_path: Path) -> None:
    """Entries that the model does not have are found only where nothing else fits."""
    model = read_sentencepiece(written("unigram", tmp_path / "source.spm"))
    ids = {"</s>": 0, "<unk>": 1, "▁the": 5, "▁": 3, "日": 7, "▁cat": 2, "cat日": 4}
    tokenizer = Tokenizer(tokenizer_of(model.with_ids(ids)))
    assert len(tokenizer) == 8
    assert tokenizer.encode("the cat") == [5, 2]
    assert tokenizer.encode("the 日") == [5, 3, 7]
    assert tokenizer.token(5) == "▁the"


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x0a\xff\xff", b"not a model", b"\x0f\x01", b"\x12\x02\x18\x03"])
def test_a_file_that_is_not_a_model_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "spiece.model").write_bytes(content)
    with pytest.raises(TokenizerError, match=r"spiece.model is not a SentencePiece model"):
        read_sentencepiece(tmp_path / "spiece.model")


def test_a_truncated_model_is_reported(tmp_path: Path) -> None:
    path = written("unigram", tmp_path / "spiece.model")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(TokenizerError, match="in the middle of a field"):
        read_sentencepiece(path)
    with pytest.raises(TokenizerError, match="is missing"):
        read_sentencepiece(tmp_path / "gone.model")


FRAMES = [Frame((1,), (2, 2), (2,)), Frame((), (), (2,)), Frame((1,)), Frame()]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_is_written_and_read(tmp_path: Path, frame: Frame) -> None:
    plain = Tokenizer(tokenizer_of(read_sentencepiece(written("unigram", tmp_path / "spiece.model"))))
    framed = with_frame(plain, frame)
    assert frame_of(framed) == frame
    assert framed.encode("the cat") == plain.encode("the cat") == [4, 6]
    assert frame.single([4]) == [*frame.before, 4, *frame.after]
    assert frame.pair([4], [6, 7])[1] == [0] * (1 + len(frame.before + frame.between)) + [1] * (2 + len(frame.after))


def test_a_frame_of_a_missing_token_is_reported(tmp_path: Path) -> None:
    plain = Tokenizer(tokenizer_of(read_sentencepiece(written("unigram", tmp_path / "spiece.model"))))
    with pytest.raises(TokenizerError, match="special id 99 is not in the vocabulary of 36"):
        with_frame(plain, Frame((99,)))
