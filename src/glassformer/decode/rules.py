"""Rules: what may not, must or should rather not be said. Each looks at what a row has said so far.

Shapes: R rows, t tokens so far, V vocabulary. A rule changes the log-probabilities (R, V) in place; -inf forbids.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.rows import DEAD, Ints, Rows


@dataclass(frozen=True)
class AtLeast:
    """No end before so many tokens."""

    lengths: Ints  # of each sentence, without the end mark
    eos: int

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        early = rows.length < self.lengths[rows.owners()]  # (R,)
        if early.any():
            allowed[torch.as_tensor(early, device=allowed.device), self.eos] = DEAD


@dataclass(frozen=True)
class NoRepeat:
    """No n tokens in a row twice."""

    n: int

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        if rows.length < self.n:
            return
        said = rows.history()  # (R, t)
        windows = np.lib.stride_tricks.sliding_window_view(said, self.n, axis=1)  # (R, t-n+1, n)
        latest = said[:, said.shape[1] - self.n + 1 :]  # (R, n-1)
        again = (windows[:, :, :-1] == latest[:, None]).all(axis=2)  # (R, t-n+1)
        row, place = again.nonzero()
        forbid(allowed, row, windows[row, place, -1])


@dataclass(frozen=True)
class RepetitionPenalty:
    """What was said before is less likely: its log-probability is multiplied by `factor`.

    (Keskar et al. 2019 do so with logits, whose sign then matters.)
    """

    factor: float

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        if not rows.length:
            return
        said = torch.as_tensor(rows.history(), device=allowed.device)  # (R, t)
        allowed.scatter_(1, said, allowed.gather(1, said) * self.factor)  # one that occurs twice gets the same value


@dataclass(frozen=True)
class Unsaid:
    """Some words are never said, however they are spelled.

    What would complete such a word is forbidden, so longer words are said only where they are spelled otherwise. (To
    let the word be completed and then only go on makes nonsense words: by then all hypotheses may have said it.)
    """

    words: Sequence[bytes]  # as they stand in a text
    surfaces: Sequence[bytes]  # what each token adds to the text

    @cached_property
    def ending(self) -> Mapping[bytes, list[int]]:
        """By the rest of a word: the tokens that say this rest, and then nothing or what is not of the word."""
        rests = {word[i:] for word in self.words for i in range(len(word))}
        found: dict[bytes, list[int]] = defaultdict(list)
        for token, surface in enumerate(self.surfaces):
            for i in range(1, len(surface) + 1):
                if surface[:i] in rests and not goes_on(surface[i:]):
                    found[surface[:i]].append(token)
        return found

    @cached_property
    def holding(self) -> list[int]:
        """The tokens that hold such a word whole, with something before it."""
        return [i for i, text in enumerate(self.surfaces) if any(holds(text, word) for word in self.words)]

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        if self.holding:
            allowed[:, torch.as_tensor(self.holding, device=allowed.device)] = DEAD
        longest = 1 + max(map(len, self.words))
        for row, history in enumerate(rows.history().tolist()):
            text = tail(history, self.surfaces, longest)
            tokens = [t for word in self.words for i in begun(text, word) for t in self.ending.get(word[i:], ())]
            forbid(allowed, np.full(len(tokens), row), np.array(tokens, dtype=np.int64))


def tail(history: Sequence[int], surfaces: Sequence[bytes], size: int) -> bytes:
    """The last bytes of what a row says, with one more before them to see where a word begins."""
    text = b""
    for token in reversed(history):
        text = surfaces[token] + text
        if len(text) > size:
            return text
    return b" " + text  # nothing stands before the first word


def begun(text: bytes, word: bytes) -> list[int]:
    """How many bytes of a word a text may have said already, where it is in the midst of it."""
    return [i for i in range(len(word)) if text.endswith(word[:i]) and not is_letter_before(text, i)]


def holds(text: bytes, word: bytes) -> bool:
    """Whether a word stands in a text, not at its very beginning."""
    places = (i for i in range(1, len(text) - len(word) + 1) if text[i : i + len(word)] == word)
    return any(not goes_on(text[i + len(word) :]) and not is_letter_before(text[:i], 0) for i in places)


def is_letter_before(text: bytes, size: int) -> bool:
    """Whether a letter stands right before the last `size` bytes."""
    before = text[: len(text) - size].decode("utf-8", errors="replace")[-1:]
    return bool(before) and (before.isalnum() or before == "_")


def goes_on(text: bytes) -> bool:
    """Whether a text begins with a letter, or with part of one."""
    if not text:
        return False
    first = text.decode("utf-8", errors="replace")[0]
    return first.isalnum() or first in "_\ufffd" or unicodedata.category(first).startswith("M")


@dataclass(frozen=True)
class Prefix:
    """Every sentence begins with given tokens, whatever other rules say. Comes last."""

    prefixes: Sequence[Sequence[int]]  # of each sentence

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:
        owners = rows.owners()
        bound = np.array([len(self.prefixes[sentence]) > rows.length for sentence in owners], dtype=bool)
        row = bound.nonzero()[0]
        if not len(row):
            return
        token = np.array([self.prefixes[owners[r]][rows.length] for r in row])
        places, tokens = (torch.as_tensor(x, device=allowed.device) for x in (row, token))
        allowed[places] = DEAD
        allowed[places, tokens] = log_probs[places, tokens]


def forbid(allowed: Tensor, row: Ints, token: Ints) -> None:
    """These tokens of these rows."""
    if len(row):
        allowed[torch.as_tensor(row, device=allowed.device), torch.as_tensor(token, device=allowed.device)] = DEAD
