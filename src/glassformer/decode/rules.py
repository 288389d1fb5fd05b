"""Rules: which tokens an output must not, must or preferably should not contain, given its tokens so far.

Shapes: R rows, t tokens so far, V vocabulary. A rule changes the log-probabilities (R, V) in place; -inf forbids a
token.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.rows import DEAD, Ints, Rows
from glassformer.decode.search import Rule


@dataclass(frozen=True)
class MinLength:
    """The end mark is forbidden until an output has its minimum length."""

    lengths: Ints  # of each sentence, without the end mark
    eos: int

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        early = rows.length < self.lengths[rows.owners()]  # (R,)
        if early.any():
            allowed[torch.as_tensor(early, device=allowed.device), self.eos] = DEAD


@dataclass(frozen=True)
class Forbidden:
    """Tokens that no output may contain: those a model must not produce, and ids that the tokenizer does not know."""

    tokens: tuple[int, ...]

    @cached_property
    def index(self) -> Tensor:
        return torch.tensor(self.tokens)

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        allowed[:, self.index.to(allowed.device)] = DEAD


@dataclass(frozen=True)
class MergedEnds:
    """Merges all end tokens into one, `eos`: their maximum in a search, their sum in sampling."""

    eos: int
    ends: tuple[int, ...]
    sampled: bool = False

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        ends = torch.tensor(self.ends, device=allowed.device)
        for values in (allowed, log_probs):  # the reported log-probability of the end is that of all of them
            merged = values[:, ends].logsumexp(dim=1) if self.sampled else values[:, ends].amax(dim=1)
            values[:, ends] = DEAD
            values[:, self.eos] = merged


@dataclass(frozen=True)
class AtMostOnce:
    """Each output may contain only the first few of the given tokens, and each of these only once."""

    tokens: tuple[int, ...]
    counts: Ints  # how many of the tokens each sentence's output may have

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        counts, history = self.counts[rows.owners()], rows.history()  # (R,), (R, t)
        for place, token in enumerate(self.tokens):
            forbidden = (counts <= place) | (history == token).any(axis=1)  # (R,)
            allowed[torch.as_tensor(forbidden, device=allowed.device), token] = DEAD


@dataclass(frozen=True)
class NoRepeatNgram:
    """No n-gram occurs twice."""

    n: int

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        if rows.length < self.n:
            return
        history = rows.history()  # (R, t)
        windows = np.lib.stride_tricks.sliding_window_view(history, self.n, axis=1)  # (R, t-n+1, n)
        latest = history[:, history.shape[1] - self.n + 1 :]  # (R, n-1)
        same = (windows[:, :, :-1] == latest[:, None]).all(axis=2)  # (R, t-n+1)
        row, place = same.nonzero()
        forbid(allowed, row, windows[row, place, -1])


@dataclass(frozen=True)
class RepetitionPenalty:
    """Tokens that the output already has are less likely: their log-probability is multiplied by `factor`.

    (Keskar et al. 2019 multiply or divide logits instead, depending on their sign.)
    """

    factor: float

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        if not rows.length:
            return
        history = torch.as_tensor(rows.history(), device=allowed.device)  # (R, t)
        # A token that occurs twice is written twice, with the same value.
        allowed.scatter_(1, history, allowed.gather(1, history) * self.factor)


@dataclass(frozen=True)
class BannedWords:
    """Words that no output may contain, whichever tokens spell them.

    A token that would complete such a word is forbidden. So a longer word that starts with it is only possible with
    other tokens. (Allowing the word and then forcing it to continue makes nonsense words: by then every hypothesis may
    contain it.)
    """

    words: Sequence[bytes]  # as written in a text
    surfaces: Sequence[bytes]  # what each token adds to the text

    @cached_property
    def ending(self) -> Mapping[bytes, list[int]]:
        """Rest of a word -> the tokens that complete the word: the rest, then nothing or no further letter."""
        rests = {word[i:] for word in self.words for i in range(len(word))}
        found: dict[bytes, list[int]] = defaultdict(list)
        for token, surface in enumerate(self.surfaces):
            for i in range(1, len(surface) + 1):
                if surface[:i] in rests and not continues_word(surface[i:]):
                    found[surface[:i]].append(token)
        return found

    @cached_property
    def containing(self) -> list[int]:
        """The tokens that contain a whole banned word after something else."""
        return [i for i, text in enumerate(self.surfaces) if any(contains(text, word) for word in self.words)]

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        if self.containing:
            allowed[:, torch.as_tensor(self.containing, device=allowed.device)] = DEAD
        longest = 1 + max(map(len, self.words))
        for row, history in enumerate(rows.history().tolist()):
            text = tail(history, self.surfaces, longest)
            tokens = [t for word in self.words for i in started(text, word) for t in self.ending.get(word[i:], ())]
            forbid(allowed, np.full(len(tokens), row), np.array(tokens, dtype=np.int64))


def tail(history: Sequence[int], surfaces: Sequence[bytes], size: int) -> bytes:
    """The last bytes of a row's text, with at least one more before them to see where a word begins."""
    text = b""
    for token in reversed(history):
        text = surfaces[token] + text
        if len(text) > size:
            return text
    return b" " + text  # nothing comes before the first word


def started(text: bytes, word: bytes) -> list[int]:
    """How many bytes of a word may already be at the end of a text."""
    return [i for i in range(len(word)) if text.endswith(word[:i]) and not is_letter_before(text, i)]


def contains(text: bytes, word: bytes) -> bool:
    """Whether a text contains a word after its first byte."""
    places = (i for i in range(1, len(text) - len(word) + 1) if text[i : i + len(word)] == word)
    return any(not continues_word(text[i + len(word) :]) and not is_letter_before(text[:i], 0) for i in places)


def is_letter_before(text: bytes, size: int) -> bool:
    """Whether a letter comes right before the last `size` bytes."""
    before = text[: len(text) - size].decode("utf-8", errors="replace")[-1:]
    return bool(before) and (before.isalnum() or before == "_")


def continues_word(text: bytes) -> bool:
    """Whether a text begins with a letter, or with part of one: then it continues the word before it."""
    if not text:
        return False
    first = text.decode("utf-8", errors="replace")[0]
    return first.isalnum() or first in "_\ufffd" or unicodedata.category(first).startswith("M")


@dataclass(frozen=True)
class ForcedPrefix:
    """Every output begins with given tokens, whatever other rules say. Must be the last rule."""

    prefixes: Sequence[Sequence[int]]  # of each sentence

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:
        owners = rows.owners()
        forced = np.array([len(self.prefixes[sentence]) > rows.length for sentence in owners], dtype=bool)
        row = forced.nonzero()[0]
        if not len(row):
            return
        token = np.array([self.prefixes[owners[r]][rows.length] for r in row])
        index, tokens = (torch.as_tensor(x, device=allowed.device) for x in (row, token))
        allowed[index] = DEAD
        allowed[index, tokens] = log_probs[index, tokens]


@dataclass(frozen=True)
class StopTexts:
    """An output that contains one of the stop texts ends, at no cost. Must be the last rule."""

    stops: Sequence[bytes]
    surfaces: Sequence[bytes]  # what each token adds to the text
    eos: int

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        stopped = [row for row, history in enumerate(rows.history().tolist()) if self.stops_after(history)]
        if stopped:
            allowed[stopped] = DEAD
            allowed[stopped, self.eos] = 0.0

    def stops_after(self, history: Sequence[int]) -> bool:
        """Whether the last token completed a stop text: an earlier one would have ended the output."""
        if not history:
            return False
        longest = max(map(len, self.stops)) + len(self.surfaces[history[-1]])
        text = tail(history, self.surfaces, longest)
        return any(stop in text for stop in self.stops)


@dataclass(frozen=True)
class WithPrompts:
    """A rule that also sees the prompts: their tokens count as part of the output."""

    rule: Rule
    prompts: Sequence[Sequence[int]]  # of each sentence

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:
        first = 0
        for b, count in enumerate(rows.alive.sum(axis=1).tolist()):
            if count:  # the rows of a sentence are adjacent
                own = slice(first, first + count)
                self.rule.apply(allowed[own], log_probs[own], self.with_prompt(rows, b))
            first += count

    def with_prompt(self, rows: Rows, b: int) -> Rows:
        """The rows of one sentence with its prompt before them."""
        only = rows.keep(np.arange(len(rows.sentence)) == b)
        prompt = np.array(self.prompts[rows.sentence[b]], dtype=np.int64)
        before = np.broadcast_to(prompt, (1, rows.width, len(prompt)))
        return replace(only, tokens=np.concatenate([before, only.tokens], axis=2))


def forbid(allowed: Tensor, row: Ints, token: Ints) -> None:
    """Forbids each token in its row: token[i] in row[i]."""
    if len(row):
        allowed[torch.as_tensor(row, device=allowed.device), torch.as_tensor(token, device=allowed.device)] = DEAD
