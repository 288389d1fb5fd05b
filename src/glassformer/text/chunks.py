"""Encodes many texts at once with byte-level BPE: each chunk between two spaces is encoded once and remembered.

Byte-level pre-tokenization joins a single space to what follows it, and neither a normal form nor a merge reaches
across it. So a text's ids are those of its chunks, one after another, as long as only single plain spaces separate
them; the library encodes any other text as a whole. Few chunks are new, so most of the library's work is saved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from glassformer.text.byte_level import cuts_at_spaces

MOST = 200_000  # chunks remembered, so that memory stays flat
NORMAL_FORMS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}

EncodeBatch = Callable[[Sequence[str]], list[list[int]]]


def can_be_chunked(inner: tokenizers.Tokenizer) -> bool:
    """Whether the ids of a text are those of its chunks: byte-level BPE with nothing that looks across a space."""
    content: dict[str, Any] = json.loads(inner.to_str())
    before, model = content["pre_tokenizer"] or {}, content["model"]
    normalizer = content["normalizer"] or {"type": "Sequence", "normalizers": []}
    forms = {part["type"] for part in normalizer.get("normalizers", [normalizer])}
    return (
        model["type"] == "BPE"
        and not model.get("dropout")
        and cuts_at_spaces(before)
        and forms <= NORMAL_FORMS
        and all(token["special"] for token in content["added_tokens"])
    )


class ChunkEncoder:
    """Encodes texts chunk by chunk. `encode_batch` and `normalize` are those of the tokenizer."""

    def __init__(self, encode_batch: EncodeBatch, normalize: Callable[[str], str]) -> None:
        self._encode_batch, self._normalize = encode_batch, normalize
        self._known: dict[str, bytes | None] = {}  # chunks with the space before them; None: encode the text as a whole

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of all texts one after another, and how many each has."""
        chunked = [text.replace(" ", "\n ").split("\n") for text in texts]
        known = self._learned(set(chain.from_iterable(chunked)))
        rows = [self._row(known, chunks, text) for chunks, text in zip(chunked, texts, strict=True)]
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)) // 4
        return np.frombuffer(b"".join(rows), dtype=np.uint32), lengths

    def _learned(self, chunks: set[str]) -> Mapping[str, bytes | None]:
        """The table of known chunks, including these. New ones are encoded in one call, in the library's own threads.

        Other threads may do the same at the same time; an entry never changes, and a full table is replaced.
        """
        if len(self._known) > MOST:
            self._known = {}
        known = self._known
        new = [chunk for chunk in chunks if chunk not in known]
        good = [chunk for chunk in new if self._is_independent(chunk)]
        found: dict[str, bytes | None] = dict.fromkeys(new)
        found.update(zip(good, map(_packed, self._encode_batch(good)), strict=True))
        known.update(found)
        return known

    def _is_independent(self, chunk: str) -> bool:
        """False if it is empty (from a doubled space) or contains another kind of white space."""
        bare = chunk[1:] if chunk[:1] == " " else chunk
        if bare.isascii():
            return bare.isprintable() and bool(bare)  # printable ASCII has no other white space than the plain space
        return not any(map(str.isspace, bare)) and not any(map(str.isspace, self._normalize(bare)))

    def _row(self, known: Mapping[str, bytes | None], chunks: Sequence[str], text: str) -> bytes:
        """The ids of one text as bytes, 4 for each."""
        found = [known[chunk] for chunk in chunks]
        if None in found or "\n" in text:
            return _packed(self._encode_batch([text])[0])
        return b"".join(found)  # type: ignore[arg-type]


def _packed(ids: Sequence[int]) -> bytes:
    return np.array(ids, dtype=np.uint32).tobytes()
