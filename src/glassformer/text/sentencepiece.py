"""SentencePiece models (Kudo and Richardson 2018, arXiv 1808.06226), read without the SentencePiece library.

The file is a protobuf message: pieces with scores, how they were trained, how text is normalised. It becomes a
tokenizer of the `tokenizers` library that produces the same pieces.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from glassformer.errors import TokenizerError
from glassformer.text.foreign import read_regular
from glassformer.text.library import check_character_table, guarded
from glassformer.text.pieces import MARK

T = TypeVar("T")

MODEL_BYTES = 1 << 28  # the largest have a few MB
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
    """The content of a model file that matters for text to pieces and back."""

    pieces: tuple[Piece, ...]
    kind: int = UNIGRAM
    byte_fallback: bool = False
    characters: bytes = b""  # the table by which characters are replaced, compiled
    dummy_prefix: bool = True  # a space before the text
    remove_spaces: bool = True  # at both ends, and all but one of several

    def with_ids(self, ids: Mapping[str, int]) -> SentencePieceModel:
        """The same model with the ids of another vocabulary, which may have entries that are not in the model.

        These entries get far lower scores than all others, so they are used only if nothing else fits. Each unknown
        character is looked up on its own (Marian looks up several in a row as one).
        """
        own = {piece.text: piece for piece in self.pieces}
        lowest = min((piece.score for piece in self.pieces), default=0.0)
        holes = range(max(ids.values(), default=-1) + 1)  # ids without a piece get names that no text contains
        found = [Piece(f"\uffff {number}", lowest - 1000, UNUSED) for number in holes]
        for text, number in ids.items():
            foreign = Piece(text, lowest - (10 if len(text) == 1 else 1000))
            found[number] = own.get(text, foreign)
        return replace(self, pieces=tuple(found))


# The file


def read_sentencepiece(path: str | Path) -> SentencePieceModel:
    """The model in a file (spiece.model, tokenizer.model, source.spm)."""
    content = read_regular(path, limit=MODEL_BYTES)
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
            pieces.append(piece_of(message_of(value)))
        elif number == _TRAINER:
            trainer = message_of(value)
        elif number == _NORMALIZER:
            normalizer = message_of(value)
    kind = typed(trainer, _MODEL_TYPE, UNIGRAM)
    if kind not in (UNIGRAM, BPE) or trainer.get(_SUFFIX):
        what = "spaces at the end of words" if trainer.get(_SUFFIX) else f"pieces of the kind {KINDS.get(kind, kind)!r}"
        raise ValueError(f"{what}; only unigram and bpe models with spaces before words can be read")
    return SentencePieceModel(
        pieces=tuple(pieces),
        kind=kind,
        byte_fallback=bool(typed(trainer, _BYTE_FALLBACK, 0)),
        characters=typed(normalizer, _CHARACTERS, b""),
        dummy_prefix=bool(typed(normalizer, _DUMMY_PREFIX, 1)),
        remove_spaces=bool(typed(normalizer, _REMOVE_SPACES, 1)),
    )


def piece_of(message: Mapping[int, Any]) -> Piece:
    score = typed(message, _SCORE, 0.0)
    if not math.isfinite(score):
        raise ValueError(f"a piece has the score {score}")
    return Piece(typed(message, _PIECE, b"").decode("utf-8"), score, typed(message, _TYPE, NORMAL))


def message_of(value: Any) -> dict[int, Any]:
    """The fields of a message inside the message."""
    if not isinstance(value, bytes):
        raise ValueError("a number where a message should be")
    return dict(fields(value))


def typed(message: Mapping[int, Any], number: int, default: T) -> T:
    """The value of a field, which must have the type of the default."""
    value = message.get(number, default)
    if not isinstance(value, type(default)):
        raise ValueError(f"field {number} has the wrong type")
    return value


def fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: their numbers, and their values (numbers or bytes)."""
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
    """A number stored in at most ten groups of seven bits, and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        value, at = value | (byte & 127) << shift, at + 1
        if byte < 128:
            return value, at
    raise ValueError("a number has more than ten bytes")


# The tokenizer


def tokenizer_of(model: SentencePieceModel, *, more: Sequence[str] = ()) -> tokenizers.Tokenizer:
    """A tokenizer of the library that produces the same pieces; `more` special tokens get the ids after the model's."""
    if model.characters:
        check_character_table(model.characters, origin="the SentencePiece model")
    with guarded("the SentencePiece model cannot be used"):
        return _tokenizer_of(model, more)


def _tokenizer_of(model: SentencePieceModel, more: Sequence[str]) -> tokenizers.Tokenizer:
    pieces = (*model.pieces, *(Piece(text, 0.0, CONTROL) for text in more))
    inner = tokenizers.Tokenizer(unigram(model, pieces) if model.kind == UNIGRAM else bpe(model, pieces))
    inner.normalizer = normalizers.Sequence(normalizer_steps(model))
    inner.pre_tokenizer = splitter_of(model, pieces)
    inner.decoder = decoder_of(model)
    special = [piece.text for piece in pieces if piece.type in (CONTROL, UNKNOWN)]
    inner.add_special_tokens([tokenizers.AddedToken(text, normalized=False, special=True) for text in special])
    return inner


def splitter_of(model: SentencePieceModel, pieces: Sequence[Piece]) -> Any:
    """Cuts out user-defined pieces. Also cuts before words if no piece spans two of them, which is only faster."""
    wanted = sorted((piece.text for piece in pieces if piece.type == USER_DEFINED), key=len, reverse=True)
    cuts: list[Any] = []
    if wanted:
        cuts.append(pre_tokenizers.Split(Regex("|".join(map(re.escape, wanted))), "isolated"))
    if not any(MARK in piece.text[1:] for piece in pieces) and not (wanted and model.kind == BPE):
        cuts.append(pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="never", split=True))
    return pre_tokenizers.Sequence(cuts) if cuts else None


def unigram(model: SentencePieceModel, pieces: Sequence[Piece]) -> models.Unigram:
    """User-defined pieces were cut out and must stay whole, so they get the highest score, 0."""
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
        ignore_merges=any(piece.type == USER_DEFINED for piece in pieces),  # they were cut out and must stay whole
    )


def merges_of(pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    """The model joins the neighbours whose joint piece has the highest score: each way to make a piece is a merge."""
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
