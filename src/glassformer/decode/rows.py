"""The books of a search: the open hypotheses, and those that have ended.

They are kept in numpy, on the CPU: a few numbers a row, which arrays of a step's logits would only slow down.
Shapes: B sentences still open, k places for hypotheses of each, t tokens so far. The model sees R rows: only those
places where a hypothesis is alive, sentence by sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from glassformer.decode.protocol import Hypothesis

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

T = TypeVar("T", bound=np.generic)

DEAD = float("-inf")  # the score where no hypothesis is


@dataclass(frozen=True)
class Choice:
    """How each sentence goes on: k' continuations, dead where it has fewer."""

    parent: Ints  # (B, k') which of the sentence's hypotheses
    token: Ints  # (B, k')
    log_prob: Floats  # (B, k') of the token, as the model has it
    scores: Floats  # (B, k') of the whole


@dataclass
class Rows:
    """The open hypotheses of the open sentences."""

    sentence: Ints  # (B,) its place in the batch
    left: Ints  # (B,) how many hypotheses are still to be followed to their end
    scores: Floats  # (B, k) log-probability so far
    tokens: Ints  # (B, k, t)
    log_probs: Floats  # (B, k, t) of each token

    @classmethod
    def first(cls, sentences: Ints, *, left: Ints) -> Rows:
        """Every sentence starts with one hypothesis, the empty one."""
        empty = np.zeros((len(sentences), 1, 0))
        return cls(sentences, left, np.zeros((len(sentences), 1)), empty.astype(np.int64), empty)

    @property
    def width(self) -> int:
        return self.scores.shape[1]

    @property
    def length(self) -> int:
        return self.tokens.shape[2]

    @property
    def alive(self) -> NDArray[np.bool_]:
        """(B, k)"""
        return self.scores > DEAD

    def history(self) -> Ints:
        """The tokens of every row, (R, t)."""
        return self.tokens[self.alive]

    def owners(self) -> Ints:
        """The sentence of every row, (R,)."""
        return self.sentence[self.alive.nonzero()[0]]

    def numbers(self) -> Ints:
        """The row of each hypothesis, (B, k); of a dead one, some row."""
        return np.maximum(self.alive.ravel().cumsum() - 1, 0).reshape(self.scores.shape)

    def placed(self, values: NDArray[T], filling: float) -> NDArray[T]:
        """What was found of each row, (R, n), in its place, (B, k, n)."""
        if len(values) == self.scores.size:
            return values.reshape(*self.scores.shape, -1)
        room = np.full((*self.scores.shape, values.shape[1]), filling, dtype=values.dtype)
        room[self.alive] = values
        return room

    def grown(self, choice: Choice) -> Rows:
        """One token further."""
        return Rows(
            sentence=self.sentence,
            left=self.left,
            scores=choice.scores,
            tokens=extended(self.tokens, choice.parent, choice.token),
            log_probs=extended(self.log_probs, choice.parent, choice.log_prob),
        )

    def keep(self, sentences: NDArray[np.bool_]) -> Rows:
        """Those of some sentences only (B,)."""
        return Rows(*(getattr(self, name)[sentences] for name in self.__dataclass_fields__))


def extended(past: NDArray[T], parent: Ints, latest: NDArray[T]) -> NDArray[T]:
    """(B, k, t) of the parents, and what came last (B, k') -> (B, k', t+1)."""
    if past.shape[1] == parent.shape[1] == 1:  # only children
        return np.concatenate((past, latest[:, :, None]), axis=2)
    longer = np.empty((*parent.shape, past.shape[2] + 1), past.dtype)
    longer[:, :, :-1] = past[np.arange(len(parent))[:, None], parent]
    longer[:, :, -1] = latest
    return longer


@dataclass
class Ended:
    """The hypotheses of one sentence that have come to their end, or were cut."""

    all: list[Hypothesis] = field(default_factory=list)

    def best(self, n: int, *, cut_last: bool = True) -> list[Hypothesis]:
        """By score, finished ones first if so wished."""
        return sorted(self.all, key=lambda h: (cut_last and not h.finished, -h.score))[:n]

    def settled(self, n: int, attainable: float) -> bool:
        """Whether no open hypothesis can still enter the n best: none reaches the n-th best finished score."""
        scores = sorted((h.score for h in self.all if h.finished), reverse=True)
        return len(scores) >= n and scores[n - 1] >= attainable
