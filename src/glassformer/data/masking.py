"""Which tokens of a text are masked, and what is shown instead (BERT, section 3.1: 80% masks, 10% random tokens).

Shapes: B windows, T tokens, V vocabulary.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from glassformer.text import Tokenizer

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]

REPLACED, RANDOM = 0.8, 0.1  # shares of the masked tokens; the rest is shown as it is
HELD_RATE, HELD_SEED = 0.15, 15  # of held-out texts: the same in every run, so that runs can be compared


@dataclass(frozen=True)
class Masking:
    """The rules by which tokens are masked. Special tokens never are."""

    mask: int
    special: Flags  # (V,) whether a token is special
    rate: float
    edges: tuple[Flags, Flags] | None = None  # whole words: whether a token begins, ends with a letter or digit (V,)

    @classmethod
    def of(cls, tokenizer: Tokenizer, mask: int, *, rate: float, whole_words: bool) -> Masking:
        special = np.array([tokenizer.is_special(i) or not tokenizer.token(i) for i in range(len(tokenizer))])
        special[[i for i in (tokenizer.unk_id, mask) if i is not None]] = True
        return cls(mask, special, rate, word_edges(tokenizer) if whole_words else None)

    def drawn(self, ids: Ids, lengths: Ids, random: np.random.Generator) -> tuple[Ids, Flags]:
        """(B, T) ids -> the ids that the model sees, and which tokens are masked (B, T).

        `rate` of each window's tokens are masked, at least one. Whole words are masked until it is reached.
        """
        scores = self.scores(ids, random)
        allowed = (np.arange(ids.shape[1]) < lengths[:, None]) & ~self.special[ids]
        scores[~allowed] = np.inf
        wanted = np.maximum(1, np.rint(self.rate * allowed.sum(1))).astype(np.int64)  # (B,)
        last = np.sort(scores, axis=1)[np.arange(len(ids)), wanted - 1]
        masked: Flags = allowed & (scores <= last[:, None])
        return self.shown(ids, masked, random), masked

    def scores(self, ids: Ids, random: np.random.Generator) -> NDArray[np.float64]:
        """(B, T) random numbers; the lowest are masked. With whole words, all tokens of a word have the same."""
        scores = random.random(ids.shape)
        if self.edges is None:
            return scores
        begins, ends = self.edges
        continues = np.zeros(ids.shape, dtype=bool)
        continues[:, 1:] = begins[ids[:, 1:]] & ends[ids[:, :-1]]
        word = np.cumsum(~continues, axis=1) - 1  # (B, T) the number of the word
        return np.take_along_axis(scores, word, axis=1)

    def shown(self, ids: Ids, masked: Flags, random: np.random.Generator) -> Ids:
        """The ids with most of the masked tokens replaced."""
        kind, shown = random.random(ids.shape), ids.copy()
        shown[masked & (kind < REPLACED)] = self.mask
        other = masked & (kind >= REPLACED) & (kind < REPLACED + RANDOM)
        shown[other] = self.ordinary[random.integers(len(self.ordinary), size=int(other.sum()))]
        return shown

    @cached_property
    def ordinary(self) -> Ids:
        """The ids that a random token is drawn from."""
        return np.flatnonzero(~self.special)

    def held(self, ids: Ids) -> tuple[Ids, Ids]:
        """One held-out window (T,) -> what the model sees (T,), and the masked places; a function of its ids alone."""
        random = np.random.default_rng([HELD_SEED, zlib.crc32(ids.astype(np.int32).tobytes())])
        fixed = replace(self, rate=HELD_RATE, edges=None)
        shown, masked = fixed.drawn(ids[None], np.array([len(ids)]), random)
        return shown[0], np.flatnonzero(masked[0])


def word_edges(tokenizer: Tokenizer) -> tuple[Flags, Flags]:
    """(V,) and (V,): whether the text of a token begins, and ends, with a letter or digit.

    A token continues the word before it if it begins with one and the token before it ends with one. A byte of a
    longer character counts as a letter.
    """
    surfaces = tokenizer.surfaces
    begins = np.array([bool(text) and in_word(text[0]) for text in surfaces])
    ends = np.array([bool(text) and in_word(text[-1]) for text in surfaces])
    return begins, ends


def in_word(byte: int) -> bool:
    return byte >= 0x80 or chr(byte).isalnum()
