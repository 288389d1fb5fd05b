"""What a model must offer to be decoded, and what decoding returns. No concrete model is named here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

Ranked = Callable[[float, int], float]  # log-probability and length -> the score that hypotheses are ranked by


class Generator(Protocol):
    """A model that generates: encoder-decoders, decoder-only models and recurrent models all implement this.

    The batch and the state are the model's own; decoding only passes them on. The R rows are the open hypotheses. At
    the start there is one row per sentence of the batch; later a sentence has any number of rows, always adjacent.

    A model may also offer `step_to_best(ids, state, n)`, which computes only the n most likely next tokens of each row:
    ((log-probabilities, ids), next state), most likely first, both (R, n). It returns None, and changes nothing, where
    it cannot. The search then calls `step`.
    """

    def start(self, batch: Any) -> Any:
        """Reads the batch (runs the encoder, once) and returns the state before the first token."""

    def step(self, ids: Tensor, state: Any, *, want_attention: bool = False) -> tuple[Tensor, Any, Tensor | None]:
        """The last token of each row (R,) -> logits (R, V), the next state, attention if wanted and available."""

    def select(self, state: Any, rows: Tensor) -> Any:
        """The state whose row i is the old row rows[i]: reorders, drops or repeats hypotheses."""


@dataclass(frozen=True)
class Hypothesis:
    """One output: its tokens without the end mark, and their log-probabilities."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]  # of each token, and of the end mark if it was reached
    score: float  # hypotheses are ranked by it: the sum of log_probs, normalised by length; rules may lower it
    finished: bool  # False: cut at the length limit

    @property
    def log_prob(self) -> float:
        """The log-probability of the whole output."""
        return sum(self.log_probs)


def by_length(log_prob: float, length: int, *, alpha: float) -> float:
    """log P(y|x) / |y|^alpha: alpha 0 prefers short outputs, 1 compares the mean per token."""
    return log_prob / max(length, 1) ** alpha


def mean_per_token(log_prob: float, length: int) -> float:
    return by_length(log_prob, length, alpha=1.0)


def by_gnmt(log_prob: float, length: int, *, alpha: float) -> float:
    """log P(y|x) / ((5 + |y|) / 6)^alpha (Wu et al. 2016, equation 14, without coverage)."""
    return log_prob / ((5 + length) / 6) ** alpha


def make_hypothesis(ids: Sequence[int], log_probs: Sequence[float], *, ranked: Ranked, finished: bool) -> Hypothesis:
    """Scored by the model's log-probabilities alone."""
    return Hypothesis(tuple(ids), tuple(log_probs), ranked(sum(log_probs), len(log_probs)), finished)
