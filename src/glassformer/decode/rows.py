"""The state of a search: the open hypotheses, and the complete ones.

It is kept in numpy, on the CPU: a few numbers per row, for which tensors would be slower.
Shapes: B open sentences, k slots for hypotheses of each, t tokens so far. The model sees R rows: only the slots with a
live hypothesis, sentence by sentence.
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

DEAD = float("-inf")  # the score of an empty slot


@dataclass(frozen=True)
class Choice:
    """How each sentence continues: k' continuations, with the score DEAD where it has fewer."""

    parent: Ints  # (B, k') the slot of the hypothesis that continues
    token: Ints  # (B, k')
    log_prob: Floats  # (B, k') the model's log-probability of the token
    scores: Floats  # (B, k') of the whole hypothesis


@dataclass
class Rows:
    """The open hypotheses of the open sentences."""

    sentence: Ints  # (B,) its index in the batch
    left: Ints  # (B,) how many hypotheses are still to be followed to their end
    scores: Floats  # (B, k) log-probability so far
    tokens: Ints  # (B, k, t)
    log_probs: Floats  # (B, k, t) of each token

    @classmethod
    def first(cls, sentences: Ints, *, left: Ints) -> Rows:
        """Every sentence starts with one empty hypothesis."""
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

    def row_numbers(self) -> Ints:
        """The row of each slot, (B, k); an empty slot gets an arbitrary one."""
        return np.maximum(self.alive.ravel().cumsum() - 1, 0).reshape(self.scores.shape)

    def to_grid(self, values: NDArray[T], filling: float) -> NDArray[T]:
        """Values of each row, (R, n) -> in their slots, (B, k, n)."""
        if len(values) == self.scores.size:
            return values.reshape(*self.scores.shape, -1)
        grid = np.full((*self.scores.shape, values.shape[1]), filling, dtype=values.dtype)
        grid[self.alive] = values
        return grid

    def extended(self, choice: Choice) -> Rows:
        """The rows with one more token each."""
        return Rows(
            sentence=self.sentence,
            left=self.left,
            scores=choice.scores,
            tokens=appended(self.tokens, choice.parent, choice.token),
            log_probs=appended(self.log_probs, choice.parent, choice.log_prob),
        )

    def keep(self, sentences: NDArray[np.bool_]) -> Rows:
        """Only the rows of the sentences that the mask (B,) selects."""
        return Rows(*(getattr(self, name)[sentences] for name in self.__dataclass_fields__))


def appended(past: NDArray[T], parent: Ints, latest: NDArray[T]) -> NDArray[T]:
    """The parents' values (B, k, t) with the latest ones (B, k') appended: (B, k', t+1)."""
    if past.shape[1] == parent.shape[1] == 1:
        return np.concatenate((past, latest[:, :, None]), axis=2)
    longer = np.empty((*parent.shape, past.shape[2] + 1), past.dtype)
    longer[:, :, :-1] = past[np.arange(len(parent))[:, None], parent]
    longer[:, :, -1] = latest
    return longer


@dataclass
class Completed:
    """The complete hypotheses of one sentence: they reached the end mark, or were cut."""

    all: list[Hypothesis] = field(default_factory=list)

    def best(self, n: int, *, cut_last: bool = True) -> list[Hypothesis]:
        """The n best by score; with `cut_last` those that were cut come after the finished ones."""
        return sorted(self.all, key=lambda h: (cut_last and not h.finished, -h.score))[:n]

    def settled(self, n: int, attainable: float) -> bool:
        """Whether no open hypothesis can enter the n best: none can reach the n-th best finished score."""
        scores = sorted((h.score for h in self.all if h.finished), reverse=True)
        return len(scores) >= n and scores[n - 1] >= attainable
