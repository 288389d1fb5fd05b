"""SentencePiece models (Kudo and Richardson 2018, arXiv 1808.06226), read without their library.

The file is a protobuf message: pieces with scores, how they were trained, how text is normalised. It becomes a
tokenizer of the `tokenizers` library that gives the same pieces.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from glassformer.errors import TokenizerError
from glassformer.text.pieces import MARK

UNIGRAM, BPE = 1, 2
KINDS = {UNIGRAM: "unigram", BPE: "bpe", 3: "word", 4: "char"}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # types of pieces

# Numbers of fields in the messages that are read here.
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_PIECE, _SCORE, _TYPE = 1, 2, 3
_MODEL_TYPE, _SUFFIX, _BYTE_FALLBACK = 3, 24, 35
_CHARACTERS, _DUMMY_PREFIX, _REMOVE_SPACES = 2, 3, 4


@dataclass(frozen=True)
class Piece:
    text: str
    score: float
    type: int = NORMAL


@dataclass(frozen=True)
class SentencePieceModel:
    """What a model file says, as far as it matters for text to pieces and back."""

    pieces: tuple[Piece, ...]
    kind: int = UNIGRAM
    byte_fallback: bool = False
    characters: bytes = b""  # the table by which characters are replaced, compiled
    dummy_prefix: bool = True  # a space before the text
    remove_spaces: bool = True  # at both ends, and all but one of several

    def with_ids(self, ids: Mapping[str, int]) -> SentencePieceModel:
        """The same model numbered by another vocabulary, where that has entries that are not the model's.

        Those stand far below all others: they are found only where nothing else is. Of several unknown characters in
        a row each is looked for (Marian looks for all of them as one).
        """
        own = {piece.text: piece for piece in self.pieces}
        lowest = min((piece.score for piece in self.pieces), default=0.0)
        holes = range(max(ids.values(), default=-1) + 1)  # names that no text has
        found = [Piece(f"\uffff {number}", lowest - 1000, UNUSED) for number in holes]
        for text, number in ids.items():
            foreign = Piece(text, lowest - (10 if len(text) == 1 else 1000))
            found[number] = own.get(text, foreign)
        return replace(self, pieces=tuple(found))


# The file


def read_sentencepiece(path: str | Path) -> SentencePieceModel:
    """The model in a file (spiece.model, tokenizer.model, source.spm)."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise TokenizerError(f"{path}: cannot be read ({error.strerror}).") from None
    try:
        found = parse(content)
    except (ValueError, IndexError, struct.error, KeyError) as error:
        raise TokenizerError(f"{path} is not a SentencePiece model ({error}). Fetch it again.") from None
    if not found.pieces:
        raise TokenizerError(f"{path} is not a SentencePiece model: it has no pieces.")
    return found


def parse(content: bytes) -> SentencePieceModel:
    pieces, trainer, normalizer = [], {}, {}
    for number, value in fields(content):
        if number == _PIECES:
            pieces.append(piece_of(dict(fields(value))))
        elif number == _TRAINER:
            trainer = dict(fields(value))
        elif number == _NORMALIZER:
            normalizer = dict(fields(value))
    kind = trainer.get(_MODEL_TYPE, UNIGRAM)
    if kind not in (UNIGRAM, BPE) or trainer.get(_SUFFIX):
        what = "spaces at the end of words" if trainer.get(_SUFFIX) else f"pieces of the kind {KINDS.get(kind, kind)!r}"
        raise ValueError(f"{what}; only unigram and bpe models with spaces before words can be read")
    return SentencePieceModel(
        pieces=tuple(pieces),
        kind=kind,
        byte_fallback=bool(trainer.get(_BYTE_FALLBACK, False)),
        characters=normalizer.get(_CHARACTERS, b""),
        dummy_prefix=bool(normalizer.get(_DUMMY_PREFIX, True)),
        remove_spaces=bool(normalizer.get(_REMOVE_SPACES, True)),
    )


def piece_of(message: Mapping[int, Any]) -> Piece:
    return Piece(message.get(_PIECE, b"").decode("utf-8"), message.get(_SCORE, 0.0), message.get(_TYPE, NORMAL))


def fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: their numbers, and numbers or bytes."""
    at = 0
    while at < len(content):
        key, at = varint(content, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(content, at)
            yield key >> 3, value
            continue
        if wire == 2:
            size, at = varint(content, at)
        else:
            size = {1: 8, 5: 4}[wire]
        part, at = content[at : at + size], at + size
        if at > len(content):
            raise ValueError(f"it ends after {len(content):,} bytes in the middle of a field")
        yield key >> 3, part if wire == 2 else struct.unpack("<f" if wire == 5 else "<d", part)[0]


def varint(content: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where the next thing begins."""
    value = shift = 0
    while True:
        byte = content[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


# The tokenizer


def tokenizer_of(model: SentencePieceModel, *, more: Sequence[str] = ()) -> tokenizers.Tokenizer:
    """A tokenizer of the library that gives the same pieces; `more` special tokens are numbered after the model's."""
    pieces = (*model.pieces, *(Piece(text, 0.0, CONTROL) for text in more))
    inner = tokenizers.Tokenizer(unigram(model, pieces) if model.kind == UNIGRAM else bpe(model, pieces))
    inner.normalizer = normalizers.Sequence(normalizer_steps(model))
    inner.pre_tokenizer = splitter_of(model, pieces)
    inner.decoder = decoder_of(model)
    special = [piece.text for piece in pieces if piece.type in (CONTROL, UNKNOWN)]
    inner.add_special_tokens([tokenizers.AddedToken(text, normalized=False, special=True) for text in special])
    return inner


def splitter_of(model: SentencePieceModel, pieces: Sequence[Piece]) -> Any:
    """Cuts out what users have defined; and before words where no piece goes beyond one, which is only faster."""
    wanted = sorted((piece.text for piece in pieces if piece.type == USER_DEFINED), key=len, reverse=True)
    cuts: list[Any] = []
    if wanted:
        cuts.append(pre_tokenizers.Split(Regex("|".join(map(re.escape, wanted))), "isolated"))
    if not any(MARK in piece.text[1:] for piece in pieces) and not (wanted and model.kind == BPE):
        cuts.append(pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="never", split=True))
    return pre_tokenizers.Sequence(cuts) if cuts else None


def unigram(model: SentencePieceModel, pieces: Sequence[Piece]) -> models.Unigram:
    """What users have defined was cut out, and must then be the best way to write itself: 0 is above all others."""
    unknown = next((i for i, piece in enumerate(pieces) if piece.type == UNKNOWN), None)
    scored = [(piece.text, 0.0 if piece.type == USER_DEFINED else piece.score) for piece in pieces]
    return models.Unigram(scored, unk_id=unknown, byte_fallback=model.byte_fallback)


def bpe(model: SentencePieceModel, pieces: Sequence[Piece]) -> models.BPE:
    return models.BPE(
        vocab={piece.text: i for i, piece in enumerate(pieces)},
        merges=merges_of(pieces),
        unk_token=next((piece.text for piece in pieces if piece.type == UNKNOWN), None),
        fuse_unk=True,
        byte_fallback=model.byte_fallback,
        ignore_merges=any(piece.type == USER_DEFINED for piece in pieces),  # they are cut out whole
    )


def merges_of(pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    """The model joins the neighbours that give the piece of the highest score: each way to make it is a merge."""
    known = {piece.text for piece in pieces if piece.type in (NORMAL, USER_DEFINED)}
    ranked = sorted((piece for piece in pieces if piece.type == NORMAL), key=lambda piece: -piece.score)
    return [
        (piece.text[:i], piece.text[i:])
        for piece in ranked
        for i in range(1, len(piece.text))
        if piece.text[:i] in known and piece.text[i:] in known
    ]


def normalizer_steps(model: SentencePieceModel) -> list[Any]:
    steps: list[Any] = [normalizers.Precompiled(model.characters)] if model.characters else []
    if model.remove_spaces:
        steps += [normalizers.Replace(Regex(r"\A +| +\z"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    if model.dummy_prefix:
        steps.append(normalizers.Prepend(MARK))
    return [*steps, normalizers.Replace(" ", MARK)]


def decoder_of(model: SentencePieceModel) -> Any:
    steps = [decoders.Replace(MARK, " "), *([decoders.ByteFallback()] if model.byte_fallback else []), decoders.Fuse()]
    if model.dummy_prefix:
        steps.append(decoders.Strip(content=" ", left=1, right=0))
    return decoders.Sequence(steps)
