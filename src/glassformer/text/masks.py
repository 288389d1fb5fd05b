"""Mask tokens: each replaces one thing that a translation must keep unchanged, such as a placeholder.

A vocabulary has them only if it was trained with them. They are special tokens, so no text is ever encoded as one: what
looks like their names in a text stays text. Code that needs masks writes the characters `MASKS`, which Unicode reserves
for use inside programs, and encodes with `MaskCodec`. `MaskCodec` checks nothing: callers must first use `has_masks` to
find texts that already contain these characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from glassformer.text.tokenizer import Tokenizer

MASKS = ("\ufdd0", "\ufdd1", "\ufdd2")
MASK_TOKENS = ("<mask1>", "<mask2>", "<mask3>")
_MASK = re.compile(f"[{MASKS[0]}-{MASKS[-1]}]")
_SPACED_MASK = re.compile(f" ?({_MASK.pattern})")


def has_masks(text: str) -> bool:
    """Whether a text contains mask characters."""
    return _MASK.search(text) is not None


def mask_ids(tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of the mask tokens; none if the vocabulary was not trained for masks."""
    found = [tokenizer.id(token) for token in MASK_TOKENS]
    known = tuple(number for number in found if number is not None and tokenizer.is_special(number))
    return known if len(known) == len(MASKS) else ()


class MaskCodec:
    """Texts with mask characters to ids and back; the space before a mask belongs to it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids = dict(zip(MASKS, mask_ids(tokenizer), strict=True))
        self._characters = {number: mask for mask, number in self._ids.items()}

    def __len__(self) -> int:
        return len(self._tokenizer)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, one for each mask."""
        first, *rest = _SPACED_MASK.split(text)
        ids = self._tokenizer.encode(first)
        for mask, piece in zip(rest[::2], rest[1::2], strict=True):
            ids += [self._ids[mask], *self._continued(piece)]
        return ids

    def encode_flat(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Like `Tokenizer.encode_flat`."""
        masked = {i: np.array(self.encode(text), dtype=np.uint32) for i, text in enumerate(texts) if has_masks(text)}
        flat, lengths = self._tokenizer.encode_flat([text for i, text in enumerate(texts) if i not in masked])
        if not masked:
            return flat, lengths
        plain = iter(np.split(flat, np.cumsum(lengths)[:-1]))
        rows = [masked[i] if i in masked else next(plain) for i in range(len(texts))]
        return np.concatenate(rows), np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids with a character for each mask, and a space before it unless it comes first."""
        text = ""
        for is_mask, group in groupby(ids, key=self._characters.__contains__):
            own = list(group)
            if is_mask:
                for number in own:
                    text += f" {self._characters[number]}" if text else self._characters[number]
            elif not text:
                text = self._tokenizer.decode(own)
            else:
                text += self._tokenizer.decode([self._tokenizer.anchor, *own])[len(self._before) :]
        return text

    @cached_property
    def _before(self) -> str:
        """A word that other text can follow."""
        return self._tokenizer.decode([self._tokenizer.anchor])

    def _continued(self, piece: str) -> list[int]:
        """The ids of a text that follows a mask, encoded as if it followed a word."""
        if not piece:
            return []
        ids = self._tokenizer.encode(self._before + piece)
        return ids[1:] if ids[:1] == [self._tokenizer.anchor] else self._tokenizer.encode(piece)


def mask_codecs(source: Tokenizer, target: Tokenizer) -> tuple[MaskCodec, MaskCodec] | None:
    """The codecs of both sides; None unless both vocabularies have masks."""
    return (MaskCodec(source), MaskCodec(target)) if mask_ids(source) and mask_ids(target) else None
