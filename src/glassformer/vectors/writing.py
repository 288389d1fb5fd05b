"""Files of word vectors that word2vec, gensim, fastText, GloVe and others read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from glassformer.errors import DataError
from glassformer.store.files import write_new
from glassformer.vectors.word_vectors import WordVectors

BINARY, GLOVE = ".bin", ".glove"
PACKED = (".gz", ".xz", ".bz2", ".zst")
AT_A_TIME = 2048  # words


def check_name(path: Path) -> None:
    """Raises an error if no file can be written under this name."""
    if path.suffix in PACKED:
        raise DataError(f"{path}: compressed files are read, not written. Name a .vec or .bin file, and compress it.")
    if path.exists():
        raise DataError(f"{path} already exists. Name a new file, or remove it first.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}. Create it first, or name another file.")


def write_vectors(vectors: WordVectors, path: Path) -> None:
    """Writes a new file, complete or not at all: .bin is binary, others text with 9 digits, which are exact.

    GloVe's text (.glove) has no first line with the numbers of words and columns.
    """
    check_name(path)
    odd = next((word for word in vectors.words if not word or any(sign in word for sign in " \n\t")), None)
    if odd is not None:
        raise DataError(f"{path}: the word {odd!r} is empty or contains spaces, which these formats cannot hold.")
    rows = binary_rows(vectors) if path.suffix == BINARY else text_rows(vectors, counted=path.suffix != GLOVE)
    write_new(path, rows)


def text_rows(vectors: WordVectors, *, counted: bool) -> Iterator[bytes]:
    if counted:
        yield f"{len(vectors)} {vectors.width}\n".encode()
    row = " ".join(["%.9g"] * vectors.width)
    for start in range(0, len(vectors), AT_A_TIME):
        lines = [
            f"{word} {row % tuple(numbers)}\n"
            for word, numbers in zip(
                vectors.words[start : start + AT_A_TIME],
                vectors.matrix[start : start + AT_A_TIME].tolist(),
                strict=True,
            )
        ]
        yield "".join(lines).encode()


def binary_rows(vectors: WordVectors) -> Iterator[bytes]:
    """gensim's layout: no line end after the numbers."""
    yield f"{len(vectors)} {vectors.width}\n".encode()
    matrix = vectors.matrix.astype("<f4", copy=False)
    for start in range(0, len(vectors), AT_A_TIME):
        rows = np.ascontiguousarray(matrix[start : start + AT_A_TIME])
        words = vectors.words[start : start + AT_A_TIME]
        yield b"".join(word.encode() + b" " + row.tobytes() for word, row in zip(words, rows, strict=True))
