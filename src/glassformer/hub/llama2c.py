"""llama2.c's files: a Llama's weights in one .bin file (version 0), the vocabulary in another. Also packed as .xz.

    model       seven whole numbers, then float32 tensors one after the other (see `tensors`)
    vocabulary  the length of the longest piece, then of each piece its score, its length and its bytes

Both llama2.c and our models rotate neighbouring pairs for rotary positions, so no rows need to be reordered.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.checkpoint import finite, raise_all
from glassformer.hub.huggingface.filling import HALF_PRECISION
from glassformer.hub.unpacking import read_unpacked
from glassformer.models.llama import Llama, LlamaConfig
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.store.weights import load_weights
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, with_frame
from glassformer.text.pieces import MARK
from glassformer.text.sentencepiece import BPE, BYTE, CONTROL, NORMAL, UNKNOWN, Piece, SentencePieceModel, tokenizer_of

HEADER = "<7i"
LATER = 0x616B3432  # what files of later versions begin with
ENDINGS = (".bin", ".bin.xz")
OTHERS = "pytorch_model"  # pickles
VOCABULARY_BYTES = 1 << 28
THETA = 10000.0  # of the rotary angles: the file has no field for it
UNK, BOS, EOS = 0, 1, 2
NAMES = {UNK: "<unk>", BOS: "<s>", EOS: "</s>"}


@dataclass(frozen=True)
class Shape:
    """The numbers that a file begins with."""

    d: int
    d_ff: int
    N: int
    h: int
    kv_heads: int
    vocabulary: int
    max_length: int
    tied: bool

    def config(self) -> LlamaConfig:
        return LlamaConfig(**{name: getattr(self, name) for name in self.__dataclass_fields__})

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The tensors that follow, in order: our name, or the purpose, and the shape."""
        width = self.d // self.h
        keys = self.kv_heads * width
        yield "embedding", (self.vocabulary, self.d)
        yield "attention_norm", (self.N, self.d)
        yield "q", (self.N, self.d, self.d)
        yield "k", (self.N, keys, self.d)
        yield "v", (self.N, keys, self.d)
        yield "out", (self.N, self.d, self.d)
        yield "feed_forward_norm", (self.N, self.d)
        yield "gate", (self.N, self.d_ff, self.d)
        yield "down", (self.N, self.d, self.d_ff)
        yield "up", (self.N, self.d_ff, self.d)
        yield "final_norm", (self.d,)
        yield "cosines", (self.max_length, width // 2)
        yield "sines", (self.max_length, width // 2)
        if not self.tied:
            yield "head", (self.vocabulary, self.d)


def is_llama2c(path: Path) -> bool:
    """Whether this may be such a file, or a folder with one."""
    if path.is_dir():
        return bool(models_in(path))
    return path.name.endswith(ENDINGS) and not path.name.startswith(OTHERS)


def read_llama2c(path: str | Path) -> Bundle:
    """The model in a file, or in a folder, with the vocabulary beside it."""
    place = Path(path)
    file = model_file(place)
    shape, content = parsed(file)
    parts = tensors_in(content, shape)
    problems = [problem for name, tensor in parts.items() for problem in finite(name, tensor)]
    raise_all([*problems, *other_tables(parts, shape)], origin=str(file))
    model = Llama(shape.config())
    load_weights(model, dict(ours(parts, shape)), origin=str(file))
    tokenizer = read_vocabulary(vocabulary_file(file, shape.vocabulary), shape.vocabulary)
    marks = SpecialIds(bos=BOS, eos=EOS, unk=UNK)
    return Bundle("llama", model.eval(), tokenizer, marks, extras={"model_type": "llama2.c"})


# The model


def model_file(place: Path) -> Path:
    if not place.is_dir():
        return place
    found = models_in(place)
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        raise ImportingError(f"{place} has {len(found)} models of llama2.c ({names}). Name one of the files.")
    return found[0]


def models_in(folder: Path) -> list[Path]:
    """The .bin files of a folder that are not vocabularies."""
    files = sorted(path for path in folder.iterdir() if path.name.endswith(ENDINGS))
    return [path for path in files if not path.name.startswith(("tok", OTHERS))]


def parsed(file: Path) -> tuple[Shape, bytes]:
    """The shape, and the bytes that follow it."""
    content = read_unpacked(file)
    size = struct.calcsize(HEADER)
    if len(content) < size or struct.unpack_from("<I", content)[0] == LATER:
        raise ImportingError(f"{file} is not a model of llama2.c's first version. Export it with --version 0.")
    d, d_ff, blocks, heads, kv_heads, vocabulary, longest = struct.unpack_from(HEADER, content)
    numbers = (d, d_ff, blocks, heads, kv_heads, abs(vocabulary), longest)
    if min(numbers) < 1 or d % (2 * heads) or heads % kv_heads:  # rotary positions rotate pairs
        raise ImportingError(
            f"{file} is not a model of llama2.c: it begins with {numbers}, which is not a valid shape."
        )
    shape = Shape(*numbers, tied=vocabulary > 0)
    needed = size + 4 * sum(prod(one) for _, one in shape.tensors())
    if len(content) != needed:
        raise ImportingError(
            f"{file} has {len(content):,} bytes; a model of its shape has {needed:,}. It is damaged, or not a model."
        )
    return shape, content[size:]


def tensors_in(content: bytes, shape: Shape) -> dict[str, Tensor]:
    """The tensors by purpose."""
    flat, at, parts = np.frombuffer(content, dtype="<f4"), 0, {}
    for name, size in shape.tensors():
        parts[name] = torch.from_numpy(flat[at : at + prod(size)].reshape(size).astype(np.float32))
        at += prod(size)
    return parts


def other_tables(parts: Mapping[str, Tensor], shape: Shape) -> list[str]:
    """Tables of rotary angles that differ from those that our model computes."""
    width = shape.d // shape.h
    speeds = THETA ** -(torch.arange(0, width - 1, 2, dtype=torch.float64) / width)
    angles = torch.arange(shape.max_length, dtype=torch.float64)[:, None] * speeds  # (positions, E/2)
    expected = {"cosines": angles.cos(), "sines": angles.sin()}
    return [
        f"{name} is not the expected table of rotary angles"
        for name, table in expected.items()
        if not torch.allclose(parts[name].double(), table, rtol=0, atol=HALF_PRECISION)
    ]


def ours(parts: Mapping[str, Tensor], shape: Shape) -> Iterator[tuple[str, Tensor]]:
    """The weights under our names."""
    yield "inputs.embedding.weight", parts["embedding"]
    for i in range(shape.N):
        block = f"blocks.{i}"
        yield f"{block}.attention.qkv.weight", torch.cat([parts[name][i] for name in "qkv"])
        yield f"{block}.attention.out.linear.weight", parts["out"][i]
        for name in ("gate", "down", "up"):
            yield f"{block}.feed_forward.{name}.weight", parts[name][i]
        for name in ("attention", "feed_forward"):
            yield f"{block}.{name}_residual.norm.gain", parts[f"{name}_norm"][i]
    yield "final_norm.gain", parts["final_norm"]
    if not shape.tied:
        yield "head.weight", parts["head"]


# The vocabulary


def vocabulary_file(model: Path, size: int) -> Path:
    options = [model.parent / f"{name}{ending}" for name in (f"tok{size}", "tokenizer") for ending in ENDINGS]
    for option in options:
        if option.is_file():
            return option
    raise ImportingError(
        f"{model.parent} has no vocabulary for {model.name}: put tok{size}.bin or tokenizer.bin beside it."
    )


def read_vocabulary(file: Path, size: int) -> Tokenizer:
    """Its pieces with their scores, joined as SentencePiece joins them; a text begins with its mark."""
    pieces = tuple(pieces_of(read_unpacked(file, limit=VOCABULARY_BYTES), size, origin=file))
    model = SentencePieceModel(pieces, kind=BPE, byte_fallback=True, remove_spaces=False)
    return with_frame(Tokenizer(tokenizer_of(model)), Frame(before=(BOS,)))


def pieces_of(content: bytes, size: int, *, origin: Path) -> Iterator[Piece]:
    at = 4
    try:
        for number in range(size):
            score, length = struct.unpack_from("<fi", content, at)
            if length < 0 or not math.isfinite(score):
                raise ImportingError(f"{origin}: piece {number:,} has the length {length} and the score {score}.")
            text = content[at + 8 : at + 8 + length].decode("utf-8")
            at += 8 + length
            yield piece(number, text, score)
    except (struct.error, UnicodeDecodeError):
        raise ImportingError(f"{origin} is not a vocabulary of {size:,} pieces of llama2.c.") from None
    if at != len(content):
        raise ImportingError(f"{origin} has more than the {size:,} pieces of the model: it belongs to another.")


def piece(number: int, text: str, score: float) -> Piece:
    if number in NAMES:
        return Piece(NAMES[number], score, UNKNOWN if number == UNK else CONTROL)
    byte = len(text) == 6 and text.startswith("<0x") and text.endswith(">")
    return Piece(text if byte else text.replace(" ", MARK), score, BYTE if byte else NORMAL)
